"""Encodes, opens and reads counters of threads, as one group or as few parts as the kernel accepts."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.events.leaders import leader_first
from turbotui.features.topdown.engine import EventGroup
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_groups import close_all, open_in_parts
from turbotui.machine.pmus import EventError
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.event_bundles import bundles_of, counting

DISABLED: Final = 1 << 0
INHERIT: Final = 1 << 1
EXCLUDE_KERNEL: Final = 1 << 5
EXCLUDE_HV: Final = 1 << 6
ENABLE_ON_EXEC: Final = 1 << 12
INHERIT_THREAD: Final = 1 << 35  # Linux 5.13: not to children
_TIMES: Final = 0b0011  # TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING
_GROUP: Final = 0b1000 | _TIMES
GroupKey: TypeAlias = tuple[str, str]
"""PMU and node of a group."""
NamedEvents: TypeAlias = "Sequence[tuple[str, EncodedEvent]]"
"""Events in the order of opening, with their names in formulas; "" for a leader that no formula uses."""


@dataclass(frozen=True, slots=True)
class PartCount:
    """The counts of counters that were opened together, over an interval.

    Attributes:
        values: increase of each event, by its name in formulas.
        enabled: ns for which the counted threads ran.
        running: the part of these ns for which the counters ran.
    """

    values: Mapping[str, float]
    enabled: float
    running: float

    def plus(self, other: PartCount) -> PartCount:
        """Add the counts of another interval of the same counters."""
        return PartCount({name: value + other.values.get(name, 0.0) for name, value in self.values.items()},
                         self.enabled + other.enabled, self.running + other.running)

    def times(self, share: float) -> PartCount:
        """Return a share of the counts."""
        return PartCount({name: value * share for name, value in self.values.items()}, self.enabled * share,
                         self.running * share)


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

    def __init__(self, names: Sequence[str], descriptors: Sequence[int]) -> None:
        self.descriptors = descriptors
        self._names = names
        self._layout = struct.Struct(f"={3 + len(names)}Q")  # how many, enabled, running, values
        self._before: Sequence[int] = (0,) * (3 + len(names))

    def read(self, host: Host) -> PartCount:
        """See `OpenPart.read`."""
        now = self._layout.unpack(host.read_counter(self.descriptors[0], self._layout.size))
        _number, enabled, running, *values = (new - old for new, old in zip(now, self._before, strict=True))
        self._before = now
        counted = {name: value for name, value in zip(self._names, values, strict=True) if name}
        return PartCount(counted, enabled, running)


class FamilyPart:
    """Counters of a thread and its descendants, which are read one by one."""

    _LAYOUT: Final = struct.Struct("=3Q")

    def __init__(self, names: Sequence[str], descriptors: Sequence[int]) -> None:
        self.descriptors = descriptors
        self._names = names
        self._before: list[tuple[int, ...]] = [(0, 0, 0)] * len(names)

    def read(self, host: Host) -> PartCount:
        """See `OpenPart.read`."""
        now = [self._LAYOUT.unpack(host.read_counter(one, self._LAYOUT.size)) for one in self.descriptors]
        changes = [tuple(new - old for new, old in zip(one, before, strict=True))
                   for one, before in zip(now, self._before, strict=True)]
        self._before = list(now)
        counted = {name: change[0] for name, change in zip(self._names, changes, strict=True) if name}
        return PartCount(counted, changes[0][1], changes[0][2])


def encoded_events(machine: Machine, group: EventGroup) -> NamedEvents | Unavailable:
    """Encode the events of a group."""
    names = {group.branch.event(name): name for name in group.names}
    try:
        members = [one for bundle in bundles_of(machine, group.request) for one in bundle.members]
    except EventError as error:
        return Unavailable(Reason.NO_HARDWARE, f"{group.request.text}: {error}")
    said = {id(event): names[text] for text, event in members}
    return [(said.get(id(event), ""), event) for event in leader_first([event for _text, event in members])]


def open_parts(host: Host, events: NamedEvents, tid: int, first: int, flags: int) -> list[OpenPart]:
    """Open the events of a group on a thread.

    Args:
        host: this machine.
        events: the group's events.
        tid: the thread.
        first: flags of a leader.
        flags: flags of every event; with INHERIT, new threads and children are counted, too.

    Raises:
        HostError: as perf_event_open(2); then nothing stays open.
    """
    family = bool(flags & INHERIT)
    attrs = [counting(event) for _name, event in events]
    asked = [(replace(attr, flags=attr.flags | flags, read_format=_TIMES if family else _GROUP),
              event.needs_leader is not None) for attr, (_name, event) in zip(attrs, events, strict=True)]
    names = iter([name for name, _event in events])
    return [(FamilyPart if family else ThreadPart)([next(names) for _ in opened], opened)
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
