"""Encodes, opens and reads counters of threads, as one group or as few parts as the kernel accepts."""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Protocol, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.events.leaders import leader_first
from turbotui.features.topdown.engine import EventGroup
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import OF_ONE_EVENT, SUDO, circumstances, explain_perf
from turbotui.machine.perf_groups import close_all, open_in_parts
from turbotui.machine.pmus import EventError
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.event_bundles import bundles_of, counting
from turbotui.sources.event_trial import perf_name

DISABLED: Final = 1 << 0
INHERIT: Final = 1 << 1
EXCLUDE_KERNEL: Final = 1 << 5
EXCLUDE_HV: Final = 1 << 6
ENABLE_ON_EXEC: Final = 1 << 12
INHERIT_THREAD: Final = 1 << 35  # Linux 5.13: not to children
_TIMES: Final = 0b0011  # TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING
_GROUP: Final = 0b1000 | _TIMES
_NOT_PERMITTED: Final = (errno.EACCES, errno.EPERM)
GroupKey: TypeAlias = tuple[str, str]
"""PMU and node of a group."""


@dataclass(frozen=True, slots=True)
class OpenedEvents:
    """The events of a group as they are opened.

    Attributes:
        events: in the order of opening, with their names in formulas; "" for a leader that no formula uses.
        refused: why the kernel refuses other events of the group, by their names in formulas.
    """

    events: Sequence[tuple[str, EncodedEvent]]
    refused: Mapping[str, Unavailable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartCount:
    """The counts of counters that were opened together, over an interval.

    Attributes:
        values: increase of each event, by its name in formulas.
        enabled: ns for which the counted threads ran.
        running: the part of these ns for which the counters ran.
        refused: why other events of the group are not counted, by their names in formulas.
    """

    values: Mapping[str, float]
    enabled: float
    running: float
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


class OpenPart(Protocol):
    """Open counters of a group."""

    @property
    def descriptors(self) -> Sequence[int]:
        """The descriptors, the leader first."""

    def read(self, host: Host) -> PartCount:
        """Return the counts since the last reading.

        Raises:
            HostError: as read(2).
        """


class ThreadPart:
    """Counters of one thread, read by one read(2)."""

    def __init__(self, names: Sequence[str], descriptors: Sequence[int], refused: Mapping[str, Unavailable]) -> None:
        self.descriptors = descriptors
        self._names = names
        self._refused = refused
        self._layout = struct.Struct(f"={3 + len(names)}Q")  # how many, enabled, running, values
        self._before: Sequence[int] = (0,) * (3 + len(names))

    def read(self, host: Host) -> PartCount:
        """See `OpenPart.read`."""
        now = self._layout.unpack(host.read_counter(self.descriptors[0], self._layout.size))
        _number, enabled, running, *values = (new - old for new, old in zip(now, self._before, strict=True))
        self._before = now
        counted = {name: value for name, value in zip(self._names, values, strict=True) if name}
        return PartCount(counted, enabled, running, self._refused)


class FamilyPart:
    """Counters of a thread and its descendants, which are read one by one."""

    _LAYOUT: Final = struct.Struct("=3Q")

    def __init__(self, names: Sequence[str], descriptors: Sequence[int], refused: Mapping[str, Unavailable]) -> None:
        self.descriptors = descriptors
        self._names = names
        self._refused = refused
        self._before: list[tuple[int, ...]] = [(0, 0, 0)] * len(names)

    def read(self, host: Host) -> PartCount:
        """See `OpenPart.read`."""
        now = [self._LAYOUT.unpack(host.read_counter(one, self._LAYOUT.size)) for one in self.descriptors]
        changes = [tuple(new - old for new, old in zip(one, before, strict=True))
                   for one, before in zip(now, self._before, strict=True)]
        self._before = list(now)
        counted = {name: change[0] for name, change in zip(self._names, changes, strict=True) if name}
        return PartCount(counted, changes[0][1], changes[0][2], self._refused)


def encoded_events(machine: Machine, group: EventGroup) -> OpenedEvents | Unavailable:
    """Encode the events of a group."""
    names = {group.branch.event(name): name for name in group.names}
    try:
        members = [one for bundle in bundles_of(machine, group.request) for one in bundle.members]
    except EventError as error:
        return Unavailable(Reason.NO_HARDWARE, f"{group.request.text}: {error}")
    said = {id(event): names[text] for text, event in members}
    return OpenedEvents([(said.get(id(event), ""), event) for event in leader_first([one for _text, one in members])])


def open_accepted(machine: Machine, named: OpenedEvents, tid: int, first: int,
                  flags: int) -> tuple[list[OpenPart], OpenedEvents]:
    """Open the events of a group on a thread, without those that the kernel refuses.

    Args:
        machine: this machine.
        named: the group's events.
        tid: see `open_parts`.
        first: likewise.
        flags: likewise.

    Returns:
        The open counters, and the events without the refused ones, with which other threads begin.

    Raises:
        HostError: as perf_event_open(2), if it is not due to some events alone; then nothing stays open.
    """
    try:
        return open_parts(machine.host, named, tid, first, flags), named
    except HostError as error:
        fewer = _without_refused(machine, named, tid, flags) if error.errno in OF_ONE_EVENT else None
        if fewer is None:
            raise
        return open_parts(machine.host, fewer, tid, first, flags), fewer


def _without_refused(machine: Machine, named: OpenedEvents, tid: int, flags: int) -> OpenedEvents | None:
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
        alone = leader_first([event])
        try:
            for part in open_parts(machine.host, OpenedEvents([("", one) for one in alone]), tid, DISABLED, flags):
                close_all(machine.host, part.descriptors)
        except HostError as error:
            if error.errno not in OF_ONE_EVENT:
                raise
            refused.append((name, event))
            needed = next((one for one, other in refused if leader_first([event, other])[0] is other), name)
            whys[name] = whys.get(needed) or _why_refused(machine, event, error)
            if len(refused) > 1 and not accepted and error.errno in _NOT_PERMITTED:
                return None  # so it is the thread that may not be counted: others cost no further calls
        else:
            accepted.append((name, event))
    if not accepted or not refused:
        return None
    names = {id(event): name for name, event in accepted}
    return OpenedEvents([(names.get(id(event), ""), event) for event in leader_first([one for _name, one in accepted])],
                       whys)


def _why_refused(machine: Machine, event: EncodedEvent, error: HostError) -> Unavailable:
    """Return why an event of a thread is refused, although the kernel counts others of the thread."""
    what = f"{perf_name(event)}, of a thread"
    if error.errno in _NOT_PERMITTED:
        return Unavailable(Reason.NOT_PERMITTED, f"{what}: the kernel permits others of the thread, and not this event",
                           SUDO)
    return explain_perf(error, what, circumstances(machine), event.attr.type)


def open_parts(host: Host, named: OpenedEvents, tid: int, first: int, flags: int) -> list[OpenPart]:
    """Open the events of a group on a thread.

    Args:
        host: this machine.
        named: the group's events.
        tid: the thread.
        first: flags of a leader.
        flags: flags of every event; with INHERIT, new threads and children are counted, too.

    Raises:
        HostError: as perf_event_open(2); then nothing stays open.
    """
    family = bool(flags & INHERIT)
    attrs = [counting(event) for _name, event in named.events]
    asked = [(replace(attr, flags=attr.flags | flags, read_format=_TIMES if family else _GROUP),
              event.needs_leader is not None) for attr, (_name, event) in zip(attrs, named.events, strict=True)]
    names = iter([name for name, _event in named.events])
    return [(FamilyPart if family else ThreadPart)([next(names) for _ in opened], opened, named.refused)
            for opened in open_in_parts(host, asked, tid, first)]


def read_parts(host: Host, parts: Sequence[OpenPart] | Unavailable, whose: str) -> tuple[PartCount, ...] | Unavailable:
    """Return what the parts of a group counted since the last time, or why they have no counts."""
    try:
        return parts if isinstance(parts, Unavailable) else tuple(part.read(host) for part in parts)
    except HostError as error:
        return Unavailable(Reason.FAILED, f"counters of {whose}: {error}")


def close_parts(host: Host, parts: Sequence[OpenPart] | Unavailable) -> None:
    """Close the counters of a group."""
    for part in () if isinstance(parts, Unavailable) else parts:
        close_all(host, part.descriptors)
