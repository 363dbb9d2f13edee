"""Regions marked by a watched command: the samples of its threads, divided by the time each region was open.

A region has what all threads of the command did while it was open in at least one of them, as on the roofline and in
top-down analyses. No counter is read for it: samples come at each switch and at least every 50 ms of run time, and a
slice that a region began or ended in is shared out by time, which rows say. Marks are read when samples are.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.cpu_time import CPU_TIME
from turbotui.features.tasks.parallel_columns import PARALLEL, PARALLEL_BY_ID, ParallelWindow, parallel_cell
from turbotui.features.tasks.thread_totals import RUN
from turbotui.machine.region_pipes import MarkPipe, RegionProcesses
from turbotui.machine.regions import RegionMark, RegionNames, by_rows, region_notes
from turbotui.machine.tasks.parallelism import ParallelTime, Piece
from turbotui.machine.timed_reads import clock_offset
from turbotui.quantities.by_key import total_of
from turbotui.quantities.columns import PERCENT, Column, Value
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

REGIONS: Final = "regions"
_EXACT: Final = 0.05
"""Share of a region's run time that may be apportioned without a mark."""
_KEPT: Final = 100_000  # stretches of a region that are remembered: slices of before them are shared out no more
_BY_SLICES: Final = "~ of a region: slices that it began or ended in are shared out by time"
_SETS: Final = Unavailable(Reason.NOT_READ, "counts of multiplexed sets are not shared out to regions",
                           "leave events out (-e), so that one set has them all")
_NO_CYCLES: Final = Unavailable(Reason.NOT_READ, "no time slice of a thread lay in the region")


def _raw_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


@dataclass(frozen=True, slots=True)
class TaskRegion:
    """A region over the whole run."""

    name: str  # as marked, made visible
    entries: int  # how often a thread entered it
    seconds: float  # in which it was open in at least one thread
    counts: dict[str, float]  # of all threads meanwhile, by name; empty where sets are multiplexed
    of_run: float | None  # share of the command's run time, 0 to 1
    apportioned: float  # share of its run time that is its share by time of slices that were not all its own
    parallel: ParallelTime | None = None  # what ran while it was open; None where switches are not seen
    window: ParallelWindow | None = None  # what wall-clock shares are shares of

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle."""
        instructions, cycles = self.counts.get("instructions"), self.counts.get("cycles")
        return None if instructions is None or not cycles else instructions / cycles


class _Stretches:
    """The stretches of time in which a region was open in at least one thread.

    Attributes:
        entries: how often a thread entered it.
        threads: in which it is open.
        since: when it began to be open in one.
        done_ns: for which it was open before.
    """

    def __init__(self) -> None:
        self.entries = 0
        self.threads = 0
        self.since = 0
        self.done_ns = 0
        self._starts: deque[int] = deque(maxlen=_KEPT)
        self._ends: deque[int] = deque(maxlen=_KEPT)

    def begin(self, ns: int) -> None:
        self.entries += 1
        if not self.threads:
            self.since = ns
        self.threads += 1

    def end(self, ns: int) -> None:
        self.threads -= 1
        if not self.threads and ns > self.since:
            self._starts.append(self.since)
            self._ends.append(ns)
            self.done_ns += ns - self.since

    def spans(self, now: int) -> Iterator[tuple[int, int]]:
        """The beginnings and ends of the newest stretches, in the order of time; the one that is open ends now."""
        yield from zip(self._starts, self._ends, strict=True)
        if self.threads:
            yield self.since, now

    def plus(self, other: _Stretches) -> _Stretches:
        """The sums of the entries and of the finished time of both, without the single stretches."""
        stretches = _Stretches()
        stretches.entries, stretches.done_ns = self.entries + other.entries, self.done_ns + other.done_ns
        return stretches

    def overlap(self, start: int, end: int) -> int:
        """The share of a time span that lies in the stretches; 1 for an instant inside one."""
        shared, whole = 0, max(1, end - start)
        stop = max(end, start + 1)
        if self.threads and stop > self.since:
            shared += stop - max(start, self.since)
        at = bisect_right(self._ends, start)
        while at < len(self._starts) and self._starts[at] < stop:
            shared += min(stop, self._ends[at]) - max(start, self._starts[at])
            at += 1
        return min(shared, whole)


class TaskRegions:
    """The regions of one command.

    Args:
        pipe: that its marks come through.
        writers: sees which processes have ended; None: nobody looks.
    """

    def __init__(self, pipe: MarkPipe, names: Sequence[str], sets: int = 1,
                 writers: RegionProcesses | None = None) -> None:
        self._pipe = pipe
        self._writers = writers
        self._names = tuple(names)
        self._run = self._names.index(RUN)
        self._sets = sets
        self._stretches: dict[str, _Stretches] = {}
        self._open: Counter[tuple[tuple[int, int], str]] = Counter()
        self._slices: list[tuple[int, int, tuple[int, ...]]] = []
        self._counts: dict[str, list[float]] = {}
        self._apportioned: Counter[str] = Counter()
        self._kept = RegionNames()
        self._pieces: list[Piece] = []
        self._beside: dict[str, ParallelTime] = {}
        self._whole = 0
        self._lost = self._unmatched = self._left_open = 0

    def add(self, start: int, end: int, counts: tuple[int, ...]) -> None:
        """Record a thread's counts in a slice of time (CLOCK_MONOTONIC_RAW); its marks may still arrive."""
        self._slices.append((start, end, counts))

    def add_pieces(self, pieces: Sequence[Piece]) -> None:
        """Record how many threads ran in spans of time; their marks may still arrive."""
        self._pieces += pieces

    def settle(self) -> None:
        """Read the new marks and divide the slices among regions: every mark of their time has been written."""
        offset = clock_offset(_raw_ns, time.monotonic_ns)
        for mark in sorted(self._pipe.take(), key=lambda mark: mark.ns):
            self._mark(mark, mark.ns + offset)
        if self._writers is not None:
            self._writers.close_ended(self)
        slices, self._slices = self._slices, []
        for start, end, counts in slices:
            self._whole += counts[self._run]
            for name, stretches in self._stretches.items():
                inside = stretches.overlap(start, end)
                if inside:
                    share = inside / max(1, end - start)
                    part = self._counts.setdefault(name, [0.0] * len(self._names))
                    for number, value in enumerate(counts):
                        part[number] += value * share
                    if share < 1.0:
                        self._apportioned[name] += round(counts[self._run] * share)
        pieces, self._pieces = self._pieces, []
        for start, end, threads in pieces:
            for name, stretches in self._stretches.items():
                inside = stretches.overlap(start, end)
                if inside:
                    self._beside.setdefault(name, ParallelTime()).add(ParallelTime(
                        inside * threads, inside, inside * threads * threads, inside * (threads == 1)))
        seconds = {name: float(stretches.done_ns) for name, stretches in self._stretches.items()}
        folded = self._kept.fold(seconds, seconds,
                                 {name for name, stretches in self._stretches.items() if stretches.threads})
        if folded:
            self._stretches = by_rows(self._stretches, folded, _Stretches.plus)
            self._counts = by_rows(self._counts, folded, _sums)
            self._apportioned = Counter(by_rows(self._apportioned, folded, int.__add__))
            self._beside = by_rows(self._beside, folded, _both)

    def _mark(self, mark: RegionMark, ns: int) -> None:
        self._lost += mark.lost
        name = self._kept.counted_as(mark.name, self._stretches)
        stretches = self._stretches.setdefault(name, _Stretches()) if mark.begins else self._stretches.get(name)
        key = mark.thread, name
        if stretches is None or (not mark.begins and not self._open[key]):
            self._unmatched += 1
            return
        if mark.begins:
            self._open[key] += 1
            stretches.begin(ns)
        else:
            self._open[key] -= 1
            stretches.end(ns)

    def processes(self) -> frozenset[int]:
        return frozenset(thread[0] for thread, _name in +self._open)

    def end_process(self, pid: int, ns: int) -> None:
        offset = clock_offset(_raw_ns, time.monotonic_ns)
        for thread, name in [element for element in self._open.elements() if element[0][0] == pid]:
            self._left_open += 1
            self._mark(RegionMark(False, ns, thread, 0, name), ns + offset)

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """When each region was open in at least one thread: name, start and end (CLOCK_MONOTONIC_RAW).

        Of regions that share a row for want of room nothing but the sums is kept.
        """
        now = _raw_ns()
        for name, stretches in self._stretches.items():
            yield from ((name, start, end) for start, end in stretches.spans(now))

    def rows(self, window: ParallelWindow | None = None) -> tuple[TaskRegion, ...]:
        """All regions so far, by decreasing run time; `window` is what their wall-clock shares are shares of."""
        now = _raw_ns()
        open_ns = {name: stretches.done_ns + (now - stretches.since if stretches.threads else 0)
                   for name, stretches in self._stretches.items()}
        of = self._rows()
        nothing, rows = [0.0] * len(self._names), []
        entries = by_rows({name: stretches.entries for name, stretches in self._stretches.items()}, of, int.__add__)
        lengths, every = by_rows(open_ns, of, int.__add__), by_rows(self._counts, of, _sums)
        shared, beside = by_rows(self._apportioned, of, int.__add__), by_rows(self._beside, of, _both)
        for name, entered in entries.items():
            counts = every.get(name, nothing)
            run = counts[self._run]
            rows.append(TaskRegion(
                name, entered, lengths[name] / 1e9,
                dict(zip(self._names, counts, strict=True)) if self._sets == 1 else {},
                run / self._whole if self._whole and self._sets == 1 else None,
                1.0 if self._lost else min(1.0, shared.get(name, 0) / run) if run else 0.0,
                None if window is None else beside.get(name, ParallelTime()), window))
        return tuple(sorted(rows, key=lambda row: (-row.counts.get(RUN, 0.0), -row.seconds, row.name)))

    def _rows(self) -> Mapping[str, str]:
        """The row of each region; only those with the longest run time have rows of their own."""
        ran = {name: counts[self._run] for name, counts in self._counts.items()}
        return self._kept.rows(self._stretches, ran)

    @property
    def notes(self) -> tuple[str, ...]:
        return region_notes(marked=self._rows().values(), estimate=_BY_SLICES if self._stretches else "",
                            lost=self._lost, unmatched=self._unmatched, still_open=self._open.total() + self._left_open,
                            unread=self._pipe.unread, strangers=self._pipe.strangers)


def _both(first: ParallelTime, other: ParallelTime) -> ParallelTime:
    return total_of(ParallelTime(), (first, other))


def _sums(first: list[float], other: list[float]) -> list[float]:
    return [count + more for count, more in zip(first, other, strict=True)]


def _count(name: str) -> Column[TaskRegion]:
    def compute(row: TaskRegion) -> Value:
        return row.counts.get(name)

    return Column(name, "", 0, (), compute, width=max(12, len(name)), help=f"{name} of all threads while it was open")


_FIXED: Final[tuple[Column[TaskRegion], ...]] = (
    Column("Region", "", -1, (), lambda row: row.name, width=16, identity=True,
           help="name of the region, as the command marks it"),
    Column("Entered", "", 0, (), lambda row: row.entries, width=7,
           help="number of times that a thread entered the region"),
    Column("Seconds", "s", 3, (), lambda row: row.seconds, width=8,
           help="in which it was open in at least one thread"),
    Column("Time_s", "s", 6, (), lambda row: row.counts[RUN] / 1e9 if RUN in row.counts else None, width=10,
           help="run time of all threads meanwhile, by perf's task clock"),
    Column("Run%", "%", 1, (), lambda row: None if row.of_run is None else 100.0 * row.of_run, width=6, scale=PERCENT,
           help="share of the command's run time"),
    Column("IPC", "", 2, (), lambda row: row.ipc, width=6, help="instructions of a cycle"),
)
_OWN: Final = ("Region", "Entered", "Seconds")
_BESIDE: Final = tuple(
    Column[TaskRegion](name, fact.unit, fact.decimals, (PARALLEL,),
                       lambda row, name=name: parallel_cell(name, row.parallel, row.window).value,  # type: ignore[misc]
                       width=fact.width, help=text, document=fact.document)
    for name, text in (
        ("Wall%", "share of the run's wall-clock time in which it was open and a thread of the command ran"),
        ("Parallel", "mean number of threads that ran while it was open, weighed by the run time of each"),
        ("Alone%", "share of the run's wall-clock time in which it was open and exactly one thread ran"))
    if (fact := PARALLEL_BY_ID[name]))


def region_table(regions: Sequence[TaskRegion], why: Unavailable | None = None) -> RowTable[TaskRegion]:
    """The table of a command's regions.

    Args:
        why: they have no counts; None: sets of events were multiplexed.
    """
    names = dict.fromkeys(name for row in regions for name in row.counts)
    fixed = _FIXED if any(row.ipc is not None for row in regions) else _FIXED[:-1]
    beside = _BESIDE if any(row.window is not None for row in regions) else ()
    columns = (*fixed, *beside, *(_count(name) for name in names if name not in (RUN, CPU_TIME)))

    def judged(column: Column[TaskRegion], row: TaskRegion, value: Value) -> Cell:
        if column.needs == (PARALLEL,):
            return Cell(value, None if value is not None else parallel_cell(column.id, row.parallel, row.window).why)
        if value is None:
            return Cell(None, _NO_CYCLES if row.counts else why or _SETS)
        return Cell(value, estimated=column.id not in _OWN and row.apportioned > _EXACT)

    return RowTable(REGIONS, "region", columns, regions, judged)
