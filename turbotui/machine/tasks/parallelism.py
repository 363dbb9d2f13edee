"""Weighs the run time of threads by how many ran at the same moment: whose work makes a program take long.

Parallelism is the number of watched threads that are on a CPU at a moment: the threads of the watched program, or with
whole CPUs all threads of the machine but the idle task. A moment in which n of them run is 1 / n of each one's
wall-clock time, so that the wall-clock times of all threads and the time in which none ran are the time that passed
(kernel tools/perf/Documentation/cpu-and-latency-overheads.txt, `perf record --latency`). This module does no input or
output.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from turbotui.dataclass import dataclass

LAG_NS: Final = 100_000_000
"""Age from which the slices of a moment are known: a thread that stays on its CPU reports every 50 ms."""
_MOST_PENDING: Final = 200_000  # slices that wait for a thread that does not report
_STRETCHES: Final = 64  # longest serial stretches that are kept
_JOINED_NS: Final = 100_000_000  # pause of a thread that runs alone before and after it within one stretch


Piece: TypeAlias = tuple[int, int, int]
"""The start and the end of a span of time, in ns, and how many threads ran all through it, at least one."""


class SerialStretch(NamedTuple):
    """A stretch of time, in ns, in which one thread ran and no other; none may have run for up to 100 ms at a time."""

    start: int
    end: int
    thread: int
    ran: int  # for how long it ran


@dataclass(slots=True)
class ParallelTime:
    """Run time of one or several threads, in ns."""

    ran: float = 0.0  # on a CPU
    weighed: float = 0.0  # each moment divided by the number of threads that ran: the share of wall-clock time
    crowd: float = 0.0  # each moment times that number
    alone: float = 0.0  # while no other thread ran

    def add(self, other: ParallelTime) -> None:
        """Add the time of another thread, or of another span."""
        self.ran += other.ran
        self.weighed += other.weighed
        self.crowd += other.crowd
        self.alone += other.alone


@dataclass(slots=True)
class ParallelSpan:
    """A span of time and what ran in it, in ns; of threads by the numbers that they were added with."""

    span: float = 0.0  # wall-clock time
    ran: float = 0.0  # run time of all threads
    covered: float = 0.0  # in which at least one thread ran
    alone: float = 0.0  # in which exactly one did
    crowded: float = 0.0  # in which more threads ran than there are CPUs, which cannot be
    late: float = 0.0  # run time that was reported after its moment had been settled, and is in no thread's time


class Parallelism:
    """Adds up the slices in which threads ran.

    Args:
        began: when the first span begins, in ns; None: with the first slice.
        cpus: on which threads can run.

    Attributes:
        span: since the last `take`.
        threads: run times since then, by thread.
        keep_stretches: whether serial stretches are kept.
        overrun: whether moments had to be settled while a thread that ran had not reported.
    """

    def __init__(self, began: int | None = None, *, cpus: int = 1 << 20, keep_stretches: bool = False) -> None:
        self.span = ParallelSpan()
        self.threads: defaultdict[int, ParallelTime] = defaultdict(ParallelTime)
        self.stretches: list[tuple[int, SerialStretch]] = []
        self.keep_stretches = keep_stretches
        self.overrun = False
        self._cpus = cpus
        self._began = self.settled = began
        self._slices: list[tuple[int, int, int]] = []
        self._stretch: SerialStretch | None = None

    def add(self, thread: int, start: int, end: int) -> None:
        """Add a slice in which a thread was on a CPU; slices may come in any order, `LAG_NS` after their time."""
        self._slices.append((start, end, thread))

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Give the time of threads to others, which they were merged into."""
        self._slices = [(start, end, numbers.get(thread, thread)) for start, end, thread in self._slices]
        rename_threads(self.threads, numbers)

    def settle(self, until: int, open_since: int | None = None) -> list[Piece]:
        """Add up the slices of all moments before a time, whose slices have all come.

        Args:
            open_since: the beginning of the earliest slice that is known to be under way; moments after it wait.

        Returns:
            The spans by number of threads, in order.
        """
        if open_since is not None and open_since < until:
            if len(self._slices) < _MOST_PENDING:
                until = open_since
            else:
                self.overrun = True
        if self.settled is None:
            first = min((start for start, _end, _thread in self._slices), default=until)
            if until <= first:
                return []
            self._began = self.settled = first
        if until < self.settled:
            if len(self._slices) > _MOST_PENDING:
                self._slices.clear()
                self.overrun = True
            return []
        pieces = self._sweep(self._due(until))
        self.span.span += until - self.settled
        self.settled = until
        return pieces

    def finish(self) -> list[Piece]:
        """Add up all slices; the span ends with the last one."""
        return self.settle(max([self.settled or 0, *(end for _start, end, _thread in self._slices)]))

    def take(self) -> tuple[ParallelSpan, dict[int, ParallelTime]]:
        """Return the span since the last call and the run times of threads in it, and begin the next."""
        taken = self.span, self.threads
        self.span, self.threads = ParallelSpan(), defaultdict(ParallelTime)
        return taken

    def _due(self, until: int) -> list[tuple[int, int, int]]:
        """Take the slices before a time from those that wait; what is left of them waits on."""
        settled, began = self.settled or 0, self._began or 0
        due, later = [], []
        for span in self._slices:
            start, end, thread = span
            if start >= until:
                later.append(span)
                continue
            if end > until:
                later.append((until, end, thread))
                end = until
            if start < settled:
                self.span.late += max(0, min(end, settled) - max(start, began))
                start = settled
            if start < end:
                due.append((start, end, thread))
        self._slices = later
        return due

    def _sweep(self, due: list[tuple[int, int, int]]) -> list[Piece]:
        edges = sorted([2 * start + 1 for start, _end, _thread in due] + [2 * end for _start, end, _thread in due])
        running, at = 0, -1
        weighed = crowd = alone = covered = 0.0
        sums: dict[int, tuple[float, float, float]] = {}
        pieces: list[Piece] = []
        for edge in edges:  # an end stands before a start of the same time
            if (time := edge >> 1) > at:
                if running:
                    length = time - at
                    weighed += length / running
                    crowd += length * running
                    covered += length
                    if running == 1:
                        alone += length
                    elif running > self._cpus:
                        self.span.crowded += length
                    pieces.append((at, time, running))
                at = time
                sums[time] = weighed, crowd, alone
            running += 1 if edge & 1 else -1
        threads = self.threads
        for start, end, thread in due:
            before, after = sums[start], sums[end]
            time_of_thread = threads[thread]
            time_of_thread.ran += end - start
            time_of_thread.weighed += after[0] - before[0]
            time_of_thread.crowd += after[1] - before[1]
            time_of_thread.alone += after[2] - before[2]
        self.span.ran += sum(end - start for start, end, _thread in due)
        self.span.covered += covered
        self.span.alone += alone
        if self.keep_stretches:
            self._note_stretches(due, pieces)
        return pieces

    def _note_stretches(self, due: list[tuple[int, int, int]], pieces: list[Piece]) -> None:
        """Find who ran alone, and join what follows each other."""
        starts = [start for start, _end, _running in pieces]
        owners: dict[int, int] = {}
        for start, end, thread in due:
            at = bisect_left(starts, start)
            while at < len(pieces) and pieces[at][1] <= end:
                if pieces[at][2] == 1:
                    owners[at] = thread
                at += 1
        for at, (begin, stop, _running) in enumerate(pieces):
            owner, stretch = owners.get(at), self._stretch
            if stretch is not None and owner == stretch.thread and begin - stretch.end < _JOINED_NS:
                self._stretch = stretch._replace(end=stop, ran=stretch.ran + stop - begin)
                continue
            if self._stretch is not None:
                push = heapq.heappush if len(self.stretches) < _STRETCHES else heapq.heappushpop
                push(self.stretches, (self._stretch.ran, self._stretch))
            self._stretch = None
            if owner is not None:
                self._stretch = SerialStretch(begin, stop, owner, stop - begin)

    def longest_stretches(self) -> list[SerialStretch]:
        """The longest serial stretches so far, in the order of time."""
        return sorted([stretch for _ran, stretch in self.stretches]
                      + ([] if self._stretch is None else [self._stretch]))


def rename_threads(threads: dict[int, ParallelTime], numbers: Mapping[int, int]) -> None:
    """Give the time of threads to others, which they were merged into."""
    for old, new in numbers.items():
        if (time := threads.pop(old, None)) is not None:
            threads.setdefault(new, ParallelTime()).add(time)
