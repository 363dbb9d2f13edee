"""Counts the slots of regions while a screen shows their rows: at the marks that `RegionCounting` reads.

Nothing is open before rows of regions are shown and a mark has come. What is looked into has counters of its own from
then on, and a span of its own: shares of its deeper levels and of level 1 are of the same time.
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
"""Key of a row, see `CpuSet`."""
ONLY_CORES: Final = ("these cores count slots for both of their CPUs together, and not for what runs on one: screens "
                     "6 and 7 have the regions")


@dataclass(frozen=True, slots=True)
class RegionCount:
    """A region in a span.

    Attributes:
        extent: how often and how long it was open.
        counts: of all threads meanwhile.
    """

    extent: RegionExtent
    counts: Counts


@dataclass(frozen=True, slots=True)
class RegionSpan:
    """Some time in which programs were counted.

    Attributes:
        seconds: how long it is.
        whole: what the programs did in it.
        regions: what they did in each region, longest first.
    """

    seconds: float
    whole: Counts
    regions: tuple[RegionCount, ...]


@dataclass(frozen=True, slots=True)
class RegionInterval:
    """The slots of regions until now.

    Attributes:
        family: whether they are of a command with all that it starts, and not of all that mark in a named FIFO.
        first: since they are counted, level 1 alone; in a recording of `record --tables region-slots` level 2 too.
        deeper: since a row was opened, with what lies below level 1; None where none is.
        opened: the key of that row.
        refused: why programs are not counted, and how many.
        user_only: whether counts leave the kernel out, for want of rights.
        lost: marks that the FIFO had no room for.
        ended: whether nothing is counted any more.
    """

    family: bool
    first: RegionSpan
    deeper: RegionSpan | None = None
    opened: RowKey | None = None
    refused: Mapping[str, int] = field(default_factory=dict)
    user_only: bool = False
    lost: int = 0
    ended: bool = False


class CountsPrograms(Protocol):
    """Counters of programs; `ProgramCounters` is one."""

    @property
    def refused(self) -> Mapping[str, int]:
        """Why programs are not counted, and how many."""

    def add(self, pid: int) -> None:
        """Count a process as well, from now on."""

    @property
    def user_only(self) -> bool:
        """Whether counts of some thread leave the kernel out."""

    def read(self) -> Counts:
        """What was counted since the last time."""

    def close(self) -> None:
        """Close every counter."""


class RegionSums:
    """What is added up for a span.

    Args:
        times: of the regions; those until now are not its own.
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
        """Whether counts can be added: the kernel may take events that are opened anew in other parts."""
        return all(_shape(counts[key]) == _shape(known) for key, known in self.whole.items()
                   if key in counts and not isinstance(known, Unavailable) and not isinstance(counts[key], Unavailable))

    def take(self, counts: Counts, shares: Sequence[RegionShare], seconds: float) -> None:
        """Share out what was counted between two readings; see `CountsAtMarks.take`."""
        self.whole = added(self.whole, counts)
        self.seconds += seconds
        for one in shares:
            self._counts[one.name] = added(self._counts.get(one.name, {}), counts, one.share)
            self._seconds[one.name] = self._seconds.get(one.name, 0.0) + one.seconds
            if one.apportioned:
                self._apportioned[one.name] = self._apportioned.get(one.name, 0.0) + one.seconds
        folded = self._times.folded
        if folded:
            self._before = by_rows(self._before, folded, int.__add__)
            self._counts = by_rows(self._counts, folded, added)
            self._seconds = by_rows(self._seconds, folded, float.__add__)
            self._apportioned = by_rows(self._apportioned, folded, float.__add__)

    def span(self) -> RegionSpan:
        """The span until the last reading."""
        own = self._times.rows
        entered = {name: number - self._before.get(name, 0) for name, number in self._times.entries.items()}
        rows = {name: own.get(name, OTHERS) for name in (*entered, *self._seconds)}
        entries, counts = by_rows(entered, rows, int.__add__), by_rows(self._counts, rows, added)
        seconds, apportioned = (by_rows(one, rows, float.__add__) for one in (self._seconds, self._apportioned))
        names = [name for name in dict.fromkeys(rows.values()) if entries.get(name) or seconds.get(name)]
        found = [RegionCount(RegionExtent(name, entries.get(name, 0), seconds.get(name, 0.0),
                                          apportioned.get(name, 0.0)), counts.get(name, {})) for name in names]
        found.sort(key=lambda one: (one.extent.name == OTHERS, -one.extent.seconds, one.extent.name))
        return RegionSpan(self.seconds, self.whole, tuple(found))


def _shape(parts: tuple[PartCount, ...] | Unavailable) -> list[frozenset[str]]:
    return [] if isinstance(parts, Unavailable) else [frozenset(part.values) for part in parts]


class RegionSlots:
    """The slots of regions from when their rows are shown; counts at the marks as `CountsAtMarks`.

    Args:
        machine: whose programs they are.
        programs: opens counters of programs, with all that these start or without.
        levels: of the tree that are counted of every region from the beginning.

    Attributes:
        counters: the trees, and what is counted below level 1.
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
        """Choose what is counted below level 1, of which row; `open` begins with it."""
        self._opened, self.counters.drill = opened, drill

    def open(self, pids: Sequence[int], times: RegionTimes, *, family: bool) -> None:
        """See `CountsAtMarks.open`; level 1 goes on from what was counted before."""
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
        """See `CountsAtMarks.add`."""
        if self._programs is not None:
            self._programs.add(pid)

    def take(self, shares: Sequence[RegionShare], seconds: float, times: RegionTimes) -> None:
        """See `CountsAtMarks.take`."""
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
        """What is counted of every region, whatever else is opened: the parts of slots of level 2 are in its group."""
        found: dict[GroupKey, tuple[PartCount, ...] | Unavailable] = {}
        for key, parts in counts.items():
            names = self._names.get(key, frozenset())
            if not names:
                continue
            found[key] = parts if isinstance(parts, Unavailable) else tuple(_with(parts, names))
        return found

    def interval(self) -> RegionInterval | None:
        """What was counted until the last reading; None before the first mark."""
        if self._first is None:
            return None
        deeper = None if self._deeper is None else self._deeper.span()
        return RegionInterval(self._family, self._first.span(), deeper, None if deeper is None else self._opened,
                              self._refused, self._user_only, self._lost, self._is_over)

    def close(self) -> None:
        """See `CountsAtMarks.close`; the numbers stay."""
        self._is_over = True
        if self._programs is not None:
            self._programs.close()
        self._programs = None


def _with(parts: Sequence[PartCount], names: frozenset[str]) -> Iterator[PartCount]:
    """The parts that have some of these events, without others."""
    for part in parts:
        values = {name: value for name, value in part.values.items() if name in names}
        if values:
            yield replace(part, values=values)
