"""Reads the groups of a machine for every interval, together with the packages' energy."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.event_plans import EventPlan, added_plans
from turbotui.features.groups.files import QUANTITIES, Quantity
from turbotui.features.groups.model import Group, GroupMoment, GroupRow, GroupSample, rows_between, rows_over
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

NO_ENERGY: Final = Energy({}, {})
_WORK: Final = "cpu_usec"
_STAYS: Final = 2.0
"""How many times busier another group must be before its events are counted instead."""


def _used(sample: GroupSample) -> float:
    """Return the microseconds of CPU time since the group was made; 0 if unknown."""
    reading = sample.readings.get(sample.gives.get(_WORK, ""))
    value = None if reading is None else reading.values.get(_WORK)
    return value if isinstance(value, (int, float)) else 0.0


def _all(_group: Group) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """What to read of groups."""

    wanted: frozenset[Quantity]  # of each control group
    resctrl: bool  # whether resctrl groups are read
    clocks: tuple[int, int]  # wall and monotonic clock of the tick that ends the interval
    plans: tuple[EventPlan, ...] = ()  # events to count
    followed: tuple[str, ...] = ()  # paths of the groups to count for, the most wanted first


@dataclass(frozen=True, slots=True)
class GroupInterval:
    """The groups of a machine over an interval."""

    # one for each control group, parents before children; of the first reading they have gauges only
    rows: Sequence[GroupRow] = ()
    clocks: tuple[int, int] = (0, 0)  # wall and monotonic clock of the end of the interval
    seconds: float = 0.0  # the interval's length; 0 for the first reading
    energy: Energy = NO_ENERGY  # the packages' energy over about the same interval
    complete: bool = True  # whether all groups of the machine were read
    # one for each resctrl group, followed by its domains; empty if resctrl is not mounted, or not read
    resctrl: Sequence[GroupRow] = ()
    info: ResctrlInfo | None = None  # resctrl's own limits and events; None if resctrl is not mounted, or not read
    counted: tuple[CountedEvents, ...] = ()  # the events that are counted for control groups
    coverage: str = ""  # a sentence on how many groups are counted; "" if all are
    why: Unavailable | None = None  # why there are no control groups; None if there are some
    reads_resctrl: bool = True  # whether resctrl groups were asked for
    why_no_resctrl: Unavailable | None = None  # why there are none; None if there are some, or none were asked for
    # whether no tick has ended the interval: it belongs to no frame, and the next one includes its time
    early: bool = False
    seq: int = 0  # changes with the interval

    @property
    def wall_ns(self) -> int:
        """End of the interval, in ns since 1970."""
        return self.clocks[0]


def mean_interval(intervals: Sequence[GroupInterval]) -> GroupInterval:
    """The mean of some intervals, the newest last, as long as the newest: rates are means over the whole time."""
    newest, whole = intervals[-1], sum(interval.seconds for interval in intervals)
    part = newest.seconds / whole
    energy = reduce(Energy.plus, (interval.energy for interval in intervals))
    return replace(
        newest, rows=rows_over((interval.rows for interval in intervals), part), energy=energy.over(energy.span * part),
        resctrl=rows_over((interval.resctrl for interval in intervals), part))


class GroupsReader:
    """Reads control groups and resctrl groups, interval after interval."""

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
        """Return why there is neither a control group nor a resctrl group; None if there is one."""
        return None if self._is_mounted else self._reader.why_none

    def read(self, energy: Energy = NO_ENERGY, request: GroupRequest | None = None, *,
             ends: bool = True) -> GroupInterval:
        """Return the interval since the last one.

        Args:
            energy: of about that time.
            request: what to read from now on; None for all, with the busiest groups counted.
            ends: whether the next interval begins here.
        """
        if request is not None:
            self._reader.want(request.wanted)
        older, newer = self._older or (None, None), self._reader.read()
        events = self._events
        if events is not None:
            if request is not None:
                events.want(request.plans)
            events.follow(self._by_use(older[0], newer) if request is None else request.followed)
            newer = events.merged(newer)
        monitors, asked = self._monitors, request is None or request.resctrl
        monitored = monitors.read() if self._is_mounted and asked else None
        if ends or self._older is None:
            self._older = newer, monitored
        return GroupInterval(
            rows_between(older[0], newer), (newer.wall_ns, newer.at_ns) if request is None else request.clocks,
            0.0 if older[0] is None else (newer.at_ns - older[0].at_ns) * 1e-9, energy, newer.complete,
            () if monitored is None else resctrl_rows(older[1], monitored),
            None if monitored is None else monitors.info,
            () if events is None else tuple(plan.counted for plan in events.plans),
            "" if events is None else events.coverage, self._reader.why_none, asked,
            monitors.why_none if asked else None, early=not ends)

    def _by_use(self, older: GroupMoment | None, newer: GroupMoment) -> Sequence[str]:
        """Sort groups by their latest CPU time; groups that are counted already are preferred."""
        used: dict[str, float] = {}
        for path, sample in newer.samples.items():
            if self._passing(sample.group):
                before = None if older is None else older.samples.get(path)
                used[path] = _used(sample) - (0.0 if before is None else _used(before))
        for path in self._busiest:
            if path in used:
                used[path] *= _STAYS
        busiest = sorted(used, key=lambda path: -used[path])
        self._busiest = tuple(busiest[: 0 if self._events is None else self._events.room])
        return busiest

    def close(self) -> None:
        """Close every file and counter."""
        self._reader.close()
        self._monitors.close()
        if self._events is not None:
            self._events.close()


class GroupWatch:
    """Watches the groups of a machine together with the packages' energy.

    Args:
        machine: real, simulated or recorded.
        added: perf events and formulas to count for control groups, as --add takes them.

    Raises:
        UsageError: one of these is no valid event.
    """

    def __init__(self, machine: Machine, seconds: float, added: Iterable[str] = ()) -> None:
        self._machine = machine
        sources = tuple(source for source in SOURCES if source.id in ENERGY_SOURCES)
        self._session = Session(machine, sources, seconds, LinuxHost())
        self._plans = added_plans(machine, self._session.capabilities, added)

    @property
    def counted(self) -> tuple[CountedEvents, ...]:
        """The requests of the counted events."""
        return tuple(plan.counted for plan in self._plans)

    def intervals(self, many: int | None = None, wanted: Iterable[Quantity] = QUANTITIES,
                  passing: Callable[[Group], bool] = _all) -> Generator[GroupInterval, None, None]:
        """Yield all control groups and resctrl groups at the end of each interval; call it once for a `GroupWatch`.

        The iterator closes the files at its end.

        Raises:
            MachineError: neither control groups nor resctrl are mounted.
            TurbotuiError: the sampling failed.
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
                if interval.seconds:
                    yield interval
        finally:
            reader.close()
