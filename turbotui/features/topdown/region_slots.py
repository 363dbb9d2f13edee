"""Counts the slots of regions while a screen shows their rows: at the marks that `RegionCounting` reads.

Nothing is open before rows of regions are shown and a mark arrives. An opened row has counters and a span of its own
from then on, so that its shares of deeper levels and of level 1 cover the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Protocol, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.features.topdown.command_counters import ProgramCounters, added
from turbotui.features.topdown.counter_parts import Counts, GroupKey, PartCount
from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.machine.machine import Machine
from turbotui.machine.regions import OTHERS, RegionExtent, RegionShare, RegionTimes, by_rows
from turbotui.quantities.unavailable import Unavailable

RowKey: TypeAlias = "tuple[str, int]"
"""The level of the hardware (such as "core") and the number within it."""
ONLY_CORES: Final = ("these cores count slots for both of their CPUs together, and not for what runs on one: screens "
                     "6 and 7 have the regions")


@dataclass(frozen=True, slots=True)
class RegionCount:
    """A region in a span."""

    extent: RegionExtent  # how often and how long the region was open
    counts: Counts  # the counts of all threads in that time


@dataclass(frozen=True, slots=True)
class RegionSpan:
    """A span of time in which programs were counted."""

    seconds: float  # the length of the span
    whole: Counts  # the counts of the programs
    regions: tuple[RegionCount, ...]  # the counts in each region, longest first


@dataclass(frozen=True, slots=True)
class RegionInterval:
    """The slots of regions until now."""

    family: bool  # whether the programs are a command with its descendants, and not all that mark in a named FIFO
    first: RegionSpan  # the span since counting began, level 1 only; with level 2 in `record --tables region-slots`
    # the span since a row was opened, with its nodes below level 1; None if no row is open
    deeper: RegionSpan | None = None
    opened: RowKey | None = None
    # reasons for which programs are not counted, with their numbers
    refused: Mapping[str, int] = field(default_factory=dict)
    user_only: bool = False  # whether counts exclude the kernel, for lack of permission
    lost: int = 0  # marks for which the FIFO had no room
    ended: bool = False  # whether counting has ended


class CountsPrograms(Protocol):
    """The interface of counters of programs, such as `ProgramCounters`."""

    @property
    def refused(self) -> Mapping[str, int]:
        """Reasons for which programs are not counted, with their numbers."""

    def add(self, pid: int) -> None:
        """Count a process as well, from now on."""

    @property
    def user_only(self) -> bool:
        """Whether counts of some thread exclude the kernel."""

    def read(self) -> Counts:
        """Return the counts since the last reading."""

    def close(self) -> None:
        """Close every counter."""


class RegionSums:
    """The running sums of a span, which begins at these times of the regions.

    Args:
        times: the regions' times until now, which are not part of the span.
    """

    def __init__(self, times: RegionTimes) -> None:
        self._times = times
        self._before: Mapping[str, int] = dict(times.entries)
        self._seconds: dict[str, float] = {}
        self._apportioned: dict[str, float] = {}
        self._counts: dict[str, Counts] = {}
        self.whole: Counts = {}
        self.seconds = 0.0

    def fits(self, counts: Counts) -> bool:
        """Tell whether counts can be added: reopened events may have been accepted in other parts."""
        return all(_shape(counts[key]) == _shape(known) for key, known in self.whole.items()
                   if key in counts and not isinstance(known, Unavailable) and not isinstance(counts[key], Unavailable))

    def take(self, counts: Counts, shares: Sequence[RegionShare], seconds: float) -> None:
        """Apportion the counts between two readings."""
        self.whole = added(self.whole, counts)
        self.seconds += seconds
        for share in shares:
            self._counts[share.name] = added(self._counts.get(share.name, {}), counts, share.share)
            self._seconds[share.name] = self._seconds.get(share.name, 0.0) + share.seconds
            if share.apportioned:
                self._apportioned[share.name] = self._apportioned.get(share.name, 0.0) + share.seconds
        if folded := self._times.folded:
            self._before = by_rows(self._before, folded, int.__add__)
            self._counts = by_rows(self._counts, folded, added)
            self._seconds = by_rows(self._seconds, folded, float.__add__)
            self._apportioned = by_rows(self._apportioned, folded, float.__add__)

    def span(self) -> RegionSpan:
        """Return the span until the last reading."""
        own = self._times.rows
        entered = {name: number - self._before.get(name, 0) for name, number in self._times.entries.items()}
        rows = {name: own.get(name, OTHERS) for name in (*entered, *self._seconds)}
        entries, counts = by_rows(entered, rows, int.__add__), by_rows(self._counts, rows, added)
        seconds, apportioned = (by_rows(by_cpu, rows, float.__add__) for by_cpu in (self._seconds, self._apportioned))
        names = [name for name in dict.fromkeys(rows.values()) if entries.get(name) or seconds.get(name)]
        regions = [RegionCount(RegionExtent(name, entries.get(name, 0), seconds.get(name, 0.0),
                                            apportioned.get(name, 0.0)), counts.get(name, {})) for name in names]
        regions.sort(key=lambda region: (region.extent.name == OTHERS, -region.extent.seconds, region.extent.name))
        return RegionSpan(self.seconds, self.whole, tuple(regions))


def _shape(parts: tuple[PartCount, ...] | Unavailable) -> list[frozenset[str]]:
    return [] if isinstance(parts, Unavailable) else [frozenset(part.values) for part in parts]


class RegionSlots:
    """The slots of regions from when their rows are shown; counts at the marks as `CountsAtMarks`.

    Args:
        programs: opens counters of programs, with or without their descendants.
        levels: the levels of the tree that are counted for every region from the beginning.

    Attributes:
        counters: the trees, and the events counted below level 1.
    """

    def __init__(self, machine: Machine, programs: Callable[[TopdownCounters, bool], CountsPrograms] | None = None,
                 levels: int = 1) -> None:
        self.counters = TopdownCounters(machine)
        self.counters.drill = Drill(self.counters.below(levels))
        self._levels = levels
        self._machine = machine
        self._open_programs = programs or self._running
        self._programs: CountsPrograms | None = None
        self._family = self._is_over = self._user_only = False
        self._refused: Mapping[str, int] = {}
        self._lost = 0
        self._opened: RowKey | None = None
        self._first: RegionSums | None = None
        self._deeper: RegionSums | None = None
        self._names: Mapping[GroupKey, frozenset[str]] = {}

    def _running(self, counters: TopdownCounters, family: bool) -> CountsPrograms:
        return ProgramCounters(self._machine, counters, family=family)

    def drill(self, opened: RowKey | None, drill: Drill) -> None:
        """Choose the nodes below level 1 to count, and their row, for the next `open`."""
        self._opened, self.counters.drill = opened, drill

    def open(self, pids: Sequence[int], times: RegionTimes, *, family: bool) -> None:
        """Begin to count, or begin again from zero; level 1 continues its sums."""
        if self._programs is not None:
            self._programs.close()
        self._family = family
        groups = self.counters.first_groups() if self._levels == 1 else self.counters.groups()
        self._names = {(group.branch.pmu, group.parent): frozenset(group.names) for group in groups}
        self._programs = programs = self._open_programs(self.counters, family)
        for pid in pids:
            programs.add(pid)
        programs.read()  # from now on
        self._first = self._first or RegionSums(times)
        self._deeper = None if self._opened is None else RegionSums(times)
        self._note(times)

    def add(self, pid: int) -> None:
        if self._programs is not None:
            self._programs.add(pid)

    def take(self, shares: Sequence[RegionShare], seconds: float, times: RegionTimes) -> None:
        if self._programs is None or self._first is None:
            return
        counts = self._programs.read()
        first = self._at_first(counts)
        if not self._first.fits(first):
            self._first = RegionSums(times)
        self._first.take(first, shares, seconds)
        if self._deeper is not None:
            self._deeper.take(counts, shares, seconds)
        self._note(times)

    def _note(self, times: RegionTimes) -> None:
        self._lost = times.lost
        if self._programs is not None:
            self._refused, self._user_only = dict(self._programs.refused), self._programs.user_only

    def _at_first(self, counts: Counts) -> Counts:
        """Return the counts of the levels of every region, without other parts of the slots in level 1's group."""
        firsts: dict[GroupKey, tuple[PartCount, ...] | Unavailable] = {}
        for key, parts in counts.items():
            if names := self._names.get(key, frozenset()):
                firsts[key] = parts if isinstance(parts, Unavailable) else tuple(_with(parts, names))
        return firsts

    def interval(self) -> RegionInterval | None:
        """Return the counts until the last reading; None before the first mark."""
        if self._first is None:
            return None
        deeper = None if self._deeper is None else self._deeper.span()
        return RegionInterval(self._family, self._first.span(), deeper, None if deeper is None else self._opened,
                              self._refused, self._user_only, self._lost, self._is_over)

    def close(self) -> None:
        """Close the counters; the numbers stay."""
        self._is_over = True
        if self._programs is not None:
            self._programs.close()
        self._programs = None


def _with(parts: Sequence[PartCount], names: frozenset[str]) -> Iterator[PartCount]:
    """Return the parts with some of these events, without other events."""
    for part in parts:
        values = {name: value for name, value in part.values.items() if name in names}
        if values:
            yield replace(part, values=values)
