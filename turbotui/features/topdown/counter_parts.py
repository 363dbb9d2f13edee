"""Encodes, opens and reads counters of threads, as one group or as few parts as the kernel accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from turbotui.counting.counters import DISABLED, NOT_PERMITTED, Counters, CountTarget, open_parts
from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.events.leaders import leader_first
from turbotui.features.topdown.engine import EventGroup
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import OF_ONE_EVENT, SUDO, circumstances, explain_perf
from turbotui.machine.pmus import EventError
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.event_bundles import bundles_of, counting
from turbotui.sources.event_trial import perf_name

GroupKey: TypeAlias = tuple[str, str]
"""PMU and node of a group."""


@dataclass(frozen=True, slots=True)
class OpenedEvents:
    """The events of a group as they are opened."""

    # in the order of opening, with their names in formulas; "" for a leader that no formula uses
    events: Sequence[tuple[str, EncodedEvent]]
    # why the kernel refuses other events of the group, by their names in formulas
    refused: Mapping[str, Unavailable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartCount:
    """The counts of counters that were opened together, over an interval."""

    values: Mapping[str, float]  # increase of each event, by its name in formulas
    enabled: float  # ns for which the counted threads ran
    running: float  # the part of these ns for which the counters ran
    # why other events of the group are not counted, by their names in formulas
    refused: Mapping[str, Unavailable] = field(default_factory=dict)

    def plus(self, other: PartCount) -> PartCount:
        """Add the counts of another interval of the same counters."""
        return PartCount({name: value + other.values.get(name, 0.0) for name, value in self.values.items()},
                         self.enabled + other.enabled, self.running + other.running,
                         {**self.refused, **other.refused})

    def times(self, share: float) -> PartCount:
        """Return a share of the counts."""
        return PartCount({name: value * share for name, value in self.values.items()}, self.enabled * share,
                         self.running * share, self.refused)


Counts: TypeAlias = Mapping[GroupKey, "tuple[PartCount, ...] | Unavailable"]
"""The counts of every group in an interval, or why there are none."""


class OpenPart:
    """Open counters of a group.

    Args:
        names: of the events in formulas; "" for a leader that no formula uses.
    """

    def __init__(self, names: Sequence[str], counters: Counters, refused: Mapping[str, Unavailable]) -> None:
        self.counters = counters
        self._names = names
        self._refused = refused

    def read(self) -> PartCount:
        enabled, running, *counts = self.counters.gains()
        counted = {name: count for name, count in zip(self._names, counts, strict=True) if name}
        return PartCount(counted, enabled, running, self._refused)


def encoded_events(machine: Machine, group: EventGroup) -> OpenedEvents | Unavailable:
    """Encode the events of a group."""
    names = {group.branch.event(name): name for name in group.names}
    try:
        members = [member for bundle in bundles_of(machine, group.request) for member in bundle.members]
    except EventError as error:
        return Unavailable(Reason.NO_HARDWARE, f"{group.request.text}: {error}")
    named = {id(event): names[text] for text, event in members}
    return OpenedEvents([(named.get(id(event), ""), event)
                         for event in leader_first([member for _text, member in members])])


def open_accepted(machine: Machine, named: OpenedEvents, target: CountTarget) -> tuple[list[OpenPart], OpenedEvents]:
    """Open the events of a group on a thread, without those that the kernel refuses.

    Returns:
        The open counters, and the events without the refused ones, with which other threads begin.

    Raises:
        HostError: as perf_event_open(2), if it is not due to some events alone; then nothing stays open.
    """
    try:
        return _opened(machine.host, named, target), named
    except HostError as error:
        fewer = _without_refused(machine, named, target) if error.errno in OF_ONE_EVENT else None
        if fewer is None:
            raise
        return _opened(machine.host, fewer, target), fewer


def _without_refused(machine: Machine, named: OpenedEvents, target: CountTarget) -> OpenedEvents | None:
    """Return the events that can be opened alone; None if no event can, or all can.

    Raises:
        HostError: the error is not due to an event.
    """
    accepted: list[tuple[str, EncodedEvent]] = []
    refused: list[tuple[str, EncodedEvent]] = []
    whys = dict(named.refused)
    for name, event in named.events:
        if not name:
            continue  # the leader is opened with each event that needs it
        alone = OpenedEvents([("", member) for member in leader_first([event])])
        try:
            close_parts(_opened(machine.host, alone, replace(target, first=DISABLED)))
        except HostError as error:
            if error.errno not in OF_ONE_EVENT:
                raise
            refused.append((name, event))
            needed = next((needed_by for needed_by, other in refused if leader_first([event, other])[0] is other), name)
            whys[name] = whys.get(needed) or _why_refused(machine, event, error)
            if len(refused) > 1 and not accepted and error.errno in NOT_PERMITTED:
                return None  # so it is the thread that may not be counted: others cost no further calls
        else:
            accepted.append((name, event))
    if not accepted or not refused:
        return None
    names = {id(event): name for name, event in accepted}
    return OpenedEvents([(names.get(id(event), ""), event)
                         for event in leader_first([member for _name, member in accepted])],
                        whys)


def _why_refused(machine: Machine, event: EncodedEvent, error: HostError) -> Unavailable:
    """Return why an event of a thread is refused, although the kernel counts others of the thread."""
    what = f"{perf_name(event)}, of a thread"
    if error.errno in NOT_PERMITTED:
        return Unavailable(Reason.NOT_PERMITTED, f"{what}: the kernel permits others of the thread, and not this event",
                           SUDO)
    return explain_perf(error, what, circumstances(machine), event.attr.type)


def _opened(host: Host, named: OpenedEvents, target: CountTarget) -> list[OpenPart]:
    names = iter([name for name, _event in named.events])
    attrs = [(counting(event), event.needs_leader is not None) for _name, event in named.events]
    return [OpenPart([next(names) for _ in counters.descriptors], counters, named.refused)
            for counters in open_parts(host, attrs, target)]


def read_parts(parts: Sequence[OpenPart] | Unavailable, whose: str) -> tuple[PartCount, ...] | Unavailable:
    """Return what the parts of a group counted since the last time, or why they have no counts."""
    try:
        return parts if isinstance(parts, Unavailable) else tuple(part.read() for part in parts)
    except HostError as error:
        return Unavailable(Reason.FAILED, f"counters of {whose}: {error}")


def close_parts(parts: Sequence[OpenPart] | Unavailable) -> None:
    """Close the counters of a group."""
    for part in () if isinstance(parts, Unavailable) else parts:
        part.counters.close()
