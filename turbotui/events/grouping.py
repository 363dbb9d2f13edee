"""Events in braces, as groups that the kernel can schedule: one hardware PMU each (perf_event_open(2), "group_fd")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turbotui.events.encoded import FLAGS, EncodedEvent
from turbotui.events.errors import GroupError
from turbotui.events.leaders import leader_first
from turbotui.events.names import BREAKPOINT, SOFTWARE, TRACEPOINT
from turbotui.events.syntax import WrittenGroup
from turbotui.quantities.by_key import lists_by_key

_FREE = (SOFTWARE, TRACEPOINT, BREAKPOINT)
"""Types of the kernel's own counters: they join the group of any PMU."""
_LEADER_ONLY = 1 << FLAGS["pinned"] | 1 << FLAGS["exclusive"]


def regroup(written: WrittenGroup, members: Sequence[Sequence[EncodedEvent]], first: int) -> list[EncodedEvent]:
    """Make one group for each PMU that the members' names stand for.

    Events of several PMUs become a group for each, as perf makes of them; the kernel's own events join the first.
    A hardware event leads: a counter of the msr PMU stays 0 below a software leader.

    Args:
        members: the counters of each of its events.
        first: number of the first group.

    Raises:
        GroupError: an event of the kernel's own would be counted once for each of several PMUs.
    """
    hardware = [events for events in members if events[0].attr.type not in _FREE]
    free = [event for events in members for event in events if event.attr.type in _FREE]
    if not hardware:
        return _numbered(free, first)
    pmus = [event.pmu for event in hardware[0]]
    if free and len(pmus) > 1 and hardware[0][0].uncore:
        raise GroupError(
            f"The group {written.text} would count {free[0].string} once for each of {len(pmus)} PMUs: name one PMU.")
    alike = all([event.pmu for event in events] == pmus for events in hardware[1:])
    units = list(zip(*hardware, strict=True)) if alike else _by_pmu(hardware)
    encoded_events: list[EncodedEvent] = []
    for index, own in enumerate(units):
        with_free = alike or own[0].pmu in pmus
        joined = [replace(event, cpus=own[0].cpus) for event in free] if with_free else []
        encoded_events += _numbered([event for event in leader_first([*own, *joined]) if event.string], first + index)
    return encoded_events


def _by_pmu(hardware: Sequence[Sequence[EncodedEvent]]) -> list[tuple[EncodedEvent, ...]]:
    units = lists_by_key((event.pmu, replace(event, regrouped=True)) for events in hardware for event in events)
    return list(map(tuple, units.values()))


def _numbered(events: Sequence[EncodedEvent], number: int) -> list[EncodedEvent]:
    numbered = []
    for index, event in enumerate(events):
        attr = event.attr if index == 0 else replace(event.attr, flags=event.attr.flags & ~_LEADER_ONLY)
        numbered.append(replace(event, attr=attr, group=number, leader=index == 0))
    return numbered
