"""perf raw events of the second-level cache: references and hits, from the table of Intel models.

Each kind of core has its own codes (`machine/data/l2_events.toml`), opened on its own PMU. A code may have bits above
the lowest 32 (an extended unit mask at bit 40): perf_event_attr.config has 64.
"""

from __future__ import annotations

from collections.abc import Iterator

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import AMD_VENDORS
from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.platform_features import L2Events
from turbotui.machine.pmus import Pmu, read_pmu
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.perf_group import GroupEvent, Times
from turbotui.sources.perf_hardware import time_signals
from turbotui.sources.perf_source import Findings, Offer, OfferGroup, PerfSource, count_signal, try_offers

_GROUP = "l2"
_TIMES = Times(f"perf.hw.{_GROUP}.enabled", f"perf.hw.{_GROUP}.running")
_SIGNALS = ("cache.l2.references", "cache.l2.hits")
_IDS = (*_SIGNALS, _TIMES.enabled, _TIMES.running)
_HYBRID = ("cpu_core", "cpu_atom", "cpu_lowpower")  # in the order of a model's events (docs/specs/turbostat.md 3.6)
_PLAIN = "cpu"
_DOCUMENT = "Intel perfmon event files, L2_RQSTS (raw event 0x24)"


@dataclass(frozen=True, slots=True)
class _CoreL2:
    """One kind of core: its PMU and the codes that count its L2."""

    pmu: Pmu
    events: L2Events
    cpus: frozenset[int] | None


class PerfL2(PerfSource):
    """perf's raw L2 events."""

    id = "perf-l2"
    title = "perf L2"
    gives = "references and hits of the second-level cache"

    def _find(self, machine: Machine) -> Findings:
        if not machine.platform.l2:
            reason = Reason.NO_HARDWARE if machine.platform.known else Reason.UNKNOWN_MODEL
            detail = "no L2 events are known for this model"
            if machine.model.vendor in AMD_VENDORS:
                reason, detail = Reason.NO_HARDWARE, "AMD's L2 is counted by perf's generic events: see perf hardware"
            why = Unavailable(reason, detail)
            return Findings((), dict.fromkeys(_IDS, why))
        facts = circumstances(machine)
        signals: dict[SignalId, Signal | Unavailable] = {}
        groups = []
        notes = []
        for core in _cores(machine):
            offers = [Offer(event, core.cpus) for event in _events(core)]
            usable, refused = try_offers(machine, offers, facts)
            for name, why in refused.items():
                signals.setdefault(name, why)
                notes.append(why.detail)
            for offer in usable:
                signals[offer.event.signal] = count_signal(offer.event, _DOCUMENT, _TIMES)
            if usable:
                groups.append(OfferGroup(usable, _TIMES))
                signals |= time_signals(_GROUP, _TIMES)
        absent = next(
            (found for found in signals.values() if isinstance(found, Unavailable)),
            Unavailable(Reason.NO_HARDWARE, "the kernel has no PMU for these cores"),
        )
        for name in _IDS:
            signals.setdefault(name, absent)
        partly = "; ".join(notes) if groups else ""
        return Findings(tuple(groups), signals, f"not on every kind of core: {partly}" if partly else "")


def _cores(machine: Machine) -> Iterator[_CoreL2]:
    """The kinds of core that are measured here and have codes."""
    measured = frozenset(machine.topology.cpus)
    hybrid = [(read_pmu(machine.host, name), number) for number, name in enumerate(_HYBRID)]
    found = [(pmu, number) for pmu, number in hybrid if pmu is not None]
    if not found:
        plain = read_pmu(machine.host, _PLAIN)
        if plain is not None:
            yield _CoreL2(plain, machine.platform.l2[0], None)
        return
    for pmu, number in found:
        cpus = frozenset(pmu.cpus)
        if number < len(machine.platform.l2) and cpus & measured:
            yield _CoreL2(pmu, machine.platform.l2[number], cpus)


def _events(core: _CoreL2) -> Iterator[GroupEvent]:
    for name, config in zip(_SIGNALS, (core.events.references, core.events.hits), strict=True):
        yield GroupEvent(name, PerfAttr(core.pmu.type, config), f"perf {core.pmu.name}/config={config:#x}/")
