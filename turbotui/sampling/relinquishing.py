"""Reading after root privileges were dropped: counters that are open, and those that any user may open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities

_REMEDY = "start again with the column shown, or without --drop-privileges"


@dataclass(frozen=True, slots=True)
class Relinquished:
    """The counters that must stay open as they are, because they could not be opened again."""

    before: Capabilities  # what the machine offered to root
    held: Mapping[str, frozenset[SignalId]]  # source id -> exactly the signals that the source has open

    def wanted(self, wanted: frozenset[SignalId], offered: Capabilities) -> frozenset[SignalId]:
        """The signals to read without privileges; of sources that cannot be reopened, exactly the open ones."""
        free = {name for name in wanted if name not in offered.provider or offered.provider[name].id not in self.held}
        return frozenset(free.union(*self.held.values()))

    def offered(self, now: Capabilities) -> Capabilities:
        """What the machine offers without root, with a reason for each signal that needs root."""
        signals, provider, missing = dict(now.signals), dict(now.provider), dict(now.missing)
        for name, source in self.before.provider.items():
            if name in self.held.get(source.id, frozenset()):
                signals[name], provider[name] = self.before.signals[name], source
                missing.pop(name, None)
            elif name in provider and provider[name].id in self.held:
                del signals[name], provider[name]
                missing[name] = _given_up(f"{source.title} was opened without it")
        for name, why in missing.items():
            if (name in self.before.signals or why.reason is Reason.NOT_PERMITTED) and why.remedy != _REMEDY:
                missing[name] = _given_up(why.detail)
        return replace(now, signals=signals, provider=provider, missing=missing)


def relinquish(before: Capabilities, now: Capabilities, read: frozenset[SignalId]) -> Relinquished:
    """Find the counters of the signals that are being `read` that must stay open without root."""
    held: dict[str, frozenset[SignalId]] = {}
    for source in before.sources:
        signals = frozenset(name for name in read if name in before.provider and before.provider[name].id == source.id)
        if any(name not in now.provider or now.provider[name].id != source.id for name in signals):
            held[source.id] = signals
    return Relinquished(before, held)


def _given_up(detail: str) -> Unavailable:
    return Unavailable(Reason.NOT_PERMITTED, f"root was given up (--drop-privileges) before it was read: {detail}",
                       _REMEDY)
