"""Finds the groups of a bundle's events that the kernel accepts, and why it refuses the other events."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final

from turbotui.counting.counters import TOO_MANY
from turbotui.dataclass import dataclass
from turbotui.events.encoded import FLAGS, EncodedEvent
from turbotui.events.leaders import leader_first
from turbotui.events.names import SOFTWARE
from turbotui.machine.host import HostError
from turbotui.machine.perf_errors import OF_ONE_EVENT, Circumstances, explain_perf
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.event_bundles import RINGS
from turbotui.sources.event_places import Bundle

_NO_KERNEL: Final = 1 << FLAGS["exclude_kernel"]
_KERNELS_OWN: Final = (3, 4, 11)
"""Context switches, migrations, cgroup switches (uapi linux/perf_event.h, enum perf_sw_ids)."""


@dataclass(frozen=True, slots=True)
class AcceptedEvents:
    """What the kernel accepts of a bundle."""

    groups: tuple[tuple[str, ...], ...] = ()  # its events as groups that can be opened
    refused: Mapping[str, Unavailable] = field(default_factory=dict)  # each other event, and why it cannot


def accepted_events(bundle: Bundle, facts: Circumstances,
                    refusal: Callable[[Sequence[str]], HostError | None]) -> AcceptedEvents:
    """Find which events of a bundle the kernel accepts; a bundle that must stay together is accepted as a whole.

    Args:
        facts: of the machine.
        refusal: opens and closes a group of its events once, and returns the error.
    """
    groups: list[tuple[str, ...]] = []
    refused: dict[str, Unavailable] = {}
    for text, event in bundle.members:
        before = groups[-1] if groups else ()
        why, is_its_own = _stays_zero(event), True
        if why is None:
            error = refusal((*before, text))
            if error is None:
                groups[-1:] = [(*before, text)]
                continue
            alone = refusal((text,)) if before else error
            if alone is not None:
                why, is_its_own = _why_alone(alone, event, facts), alone.errno in OF_ONE_EVENT
            elif bundle.weak and error.errno in TOO_MANY:
                groups.append((text,))
                continue
            else:
                why, is_its_own = _why_beside(error, bundle, text, len(before), facts), False
        if not (bundle.weak and is_its_own):
            return AcceptedEvents(refused=dict.fromkeys(bundle.events, why))
        refused[text] = _why_its_leader(bundle, event, refused) or why
    return AcceptedEvents(tuple(groups), refused)


def perf_name(event: EncodedEvent) -> str:
    """Return an event in perf's syntax, with its name where the syntax has only a code."""
    is_a_code = not event.string or "=" in event.string or event.string == event.fstr
    return f"perf {event.fstr}" if is_a_code or "=" not in event.fstr else f"perf {event.fstr} ({event.string})"


def _stays_zero(event: EncodedEvent) -> Unavailable | None:
    """Return why the kernel would count nothing; None if it may count."""
    if event.attr.type == SOFTWARE and event.attr.config in _KERNELS_OWN and event.attr.flags & _NO_KERNEL:
        return Unavailable(
            Reason.OUT_OF_RANGE,
            f"{perf_name(event)}: the kernel itself does this, so without kernel mode the count stays 0",
            "write it without the modifier")
    return None


def _why_alone(error: HostError, event: EncodedEvent, facts: Circumstances) -> Unavailable:
    """Return why an event is refused even alone."""
    if event.uncore and event.attr.flags & RINGS and error.errno == errno.EINVAL:
        return Unavailable(
            Reason.NO_HARDWARE,
            f"{perf_name(event)}: {event.pmu} cannot tell user from kernel mode, nor guest from host",
            "write it without modifiers")
    return explain_perf(error, f"{perf_name(event)}", facts, event.attr.type)


def _why_beside(error: HostError, bundle: Bundle, text: str, before: int, facts: Circumstances) -> Unavailable:
    """Return why an event is refused beside those before it in its group."""
    event = dict(bundle.members)[text]
    if error.errno not in TOO_MANY:
        return explain_perf(error, f"{perf_name(event)}", facts, event.attr.type)
    return Unavailable(
        Reason.IN_USE,
        f"{{{','.join(bundle.events)}}}: {text} finds no counter beside the {before} before it on "
        f"{event.pmu or 'the core'}",
        "make the group smaller, or end it with :W to let it be taken apart")


def _why_its_leader(bundle: Bundle, event: EncodedEvent, refused: Mapping[str, Unavailable]) -> Unavailable | None:
    """Return why the leader that an event needs is refused; None if the leader is not."""
    others = {id(other): text for text, other in bundle.members if text in refused}
    first = leader_first([event, *(other for text, other in bundle.members if text in refused)])[0]
    return refused.get(others.get(id(first), ""))
