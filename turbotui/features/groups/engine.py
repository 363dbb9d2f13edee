"""Watches the groups of a machine: what each did in every interval, and the packages' energy beside it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.event_plans import added_plans
from turbotui.features.groups.files import QUANTITIES, Quantity
from turbotui.features.groups.model import Group, GroupMoment, GroupRow, GroupSample, rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.features.groups.resctrl_reader import ResctrlReader, resctrl_rows
from turbotui.machine.host import Host
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.machine.resctrl import ResctrlInfo
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.energy import ENERGY_SOURCES, Energy, EnergyMeter, energy_signals
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

NO_ENERGY: Final = Energy({}, {}, {})
_WORK: Final = "cpu_usec"
_STAYS: Final = 2.0
"""How many times as busy another group has to be before events are counted for it instead."""


def _used(sample: GroupSample) -> float:
    """Microseconds of CPU time since the group was made; 0 where nobody knows."""
    reading = sample.readings.get(sample.gives.get(_WORK, ""))
    value = None if reading is None else reading.values.get(_WORK)
    return value if isinstance(value, int | float) else 0.0


def _all(group: Group) -> bool:
    del group
    return True


@dataclass(frozen=True, slots=True)
class GroupInterval:
    """What the groups of a machine did in an interval.

    Attributes:
        rows: one for each control group, outer ones before those in them.
        wall_ns: end of the interval, in ns since 1970.
        seconds: its length.
        energy: of the packages, about the same interval.
        complete: whether there are no more groups than these.
        resctrl: one for each group of resctrl, and below it for each of its domains; none where it is not mounted.
        info: what resctrl says of itself; None where it is not mounted.
        counted: the events that are counted for control groups.
        said: for how many groups they are, in a sentence; "" for all of them.
    """

    rows: Sequence[GroupRow]
    wall_ns: int
    seconds: float
    energy: Energy
    complete: bool
    resctrl: Sequence[GroupRow] = ()
    info: ResctrlInfo | None = None
    counted: tuple[CountedEvents, ...] = ()
    said: str = ""


class GroupsReader:
    """Reads control groups and groups of resctrl, interval after interval.

    Args:
        host: the machine.
        wanted: what is to be known of each control group.
        events: counters that are opened for the busiest groups; None for none.
        passing: tells of a group whether its events may be counted.
    """

    def __init__(self, host: Host, wanted: Iterable[Quantity] = QUANTITIES, events: GroupEvents | None = None,
                 passing: Callable[[Group], bool] = _all) -> None:
        wanted = frozenset(wanted) if events is None else frozenset(wanted) | {_WORK}
        self._reader, self._monitors = CgroupReader(host, wanted), ResctrlReader(host)
        self._events, self._passing = events, passing
        self._busiest: tuple[str, ...] = ()
        self._is_mounted = self._monitors.why_none is None
        self._older: tuple[GroupMoment, GroupMoment | None] | None = None

    @property
    def why_none(self) -> Unavailable | None:
        """Why there is neither a control group nor a group of resctrl; None where there is."""
        return None if self._is_mounted else self._reader.why_none

    def read(self, energy: Energy = NO_ENERGY) -> GroupInterval | None:
        """End the interval; None for the first reading, which only begins one.

        Args:
            energy: of the packages, about the same interval.
        """
        older, newer = self._older, self._reader.read()
        if self._events is not None:
            self._events.follow(self._by_use(None if older is None else older[0], newer))
            newer = self._events.merged(newer)
        monitored = self._monitors.read() if self._is_mounted else None
        self._older = newer, monitored
        if older is None:
            return None
        groups = () if monitored is None else resctrl_rows(older[1], monitored)
        plans = () if self._events is None else self._events.plans
        said = "" if self._events is None else self._events.said
        return GroupInterval(rows_between(older[0], newer), newer.wall_ns, (newer.at_ns - older[0].at_ns) * 1e-9,
                             energy, newer.complete, groups, self._monitors.info if self._is_mounted else None,
                             tuple(plan.counted for plan in plans), said)

    def _by_use(self, older: GroupMoment | None, newer: GroupMoment) -> Sequence[str]:
        """Groups by the CPU time that they used last; those of the reading before keep their place for a while."""
        used: dict[str, float] = {}
        for path, sample in newer.samples.items():
            if self._passing(sample.group):
                before = None if older is None else older.samples.get(path)
                used[path] = _used(sample) - (0.0 if before is None else _used(before))
        for path in self._busiest:
            if path in used:
                used[path] *= _STAYS
        found = sorted(used, key=lambda path: -used[path])
        self._busiest = tuple(found[: 0 if self._events is None else self._events.room])
        return found

    def close(self) -> None:
        """Close every file and counter."""
        self._reader.close()
        self._monitors.close()
        if self._events is not None:
            self._events.close()


class GroupWatch:
    """The groups of a machine, and the packages' energy beside them.

    Args:
        machine: real, simulated or recorded.
        seconds: of an interval.
        added: perf events and formulas, as --add takes them, that are counted for control groups.

    Raises:
        UsageError: one of these is none.
    """

    def __init__(self, machine: Machine, seconds: float, added: Iterable[str] = ()) -> None:
        self._machine = machine
        sources = tuple(one for one in SOURCES if one.id in ENERGY_SOURCES)
        self._session = Session(machine, sources, seconds, LinuxHost())
        self._plans = added_plans(machine, self._session.capabilities, added)

    @property
    def counted(self) -> tuple[CountedEvents, ...]:
        """The events that are counted."""
        return tuple(plan.counted for plan in self._plans)

    def intervals(self, many: int | None = None, wanted: Iterable[Quantity] = QUANTITIES,
                  passing: Callable[[Group], bool] = _all) -> Generator[GroupInterval, None, None]:
        """Read every control group and every group of resctrl at the end of each interval; once for a `GroupWatch`.

        The iterator closes the files.

        Args:
            many: how many intervals; None for no end.
            wanted: what is to be known of each group.
            passing: tells of a group whether events may be counted for it.

        Raises:
            MachineError: no tree of control groups is mounted, and no resctrl.
            TurbotuiError: what ended the sampling.
        """
        events = GroupEvents(self._machine, self._plans) if self._plans else None
        reader = GroupsReader(self._machine.host, wanted, events, passing)
        if reader.why_none is not None:
            raise MachineError(reader.why_none.sentence())
        session = self._session
        meter = EnergyMeter(session.capabilities)
        session.want((), energy_signals(session.capabilities))
        try:
            for frame in frames_of(session, many):
                meter.feed(frame)
                interval = reader.read(meter.take())
                if interval is not None:
                    yield interval
        finally:
            reader.close()
