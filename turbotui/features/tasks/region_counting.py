"""Counts events in the marked regions of a running program: a thread reads the counters at each mark.

Those of a command are opened before its first instruction, for threads and children have the counters of who made them
only where these are there by then (perf_event_open(2), inherit), and begin to count with the first mark: a command that
marks nothing takes no counter from others. Processes that run already and mark regions in a FIFO that a person named
are counted from the first mark of each on (`marking_processes`).
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, Protocol, runtime_checkable

from turbotui.counting.commands import CommandCounters
from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.tasks.marking_processes import MarkingProcesses
from turbotui.features.tasks.region_kinds import Counters, KindChange, KindCounters
from turbotui.features.tasks.region_totals import CountedRegion, KindCounts, RegionTotals
from turbotui.machine.core_metrics import CountedCoreType, core_types_of
from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.machine.region_pipes import MarkPipe, RegionProcesses
from turbotui.machine.regions import RegionExtent, RegionShare, RegionTimes, by_rows
from turbotui.machine.tasks.processes import running_threads
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.threads import NamedThread

_TASK_CLOCK: Final = PerfAttr(1, 1)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK: ns on any CPU
_SLICE: Final = 0.05  # seconds in which a set counts before the next one does


@dataclass(slots=True)
class _Sums:
    """The counts of a region so far, by core type and event set."""

    run_ns: float = 0.0
    estimated: bool = False
    base: list[list[float]] = field(default_factory=list)
    sets: list[dict[int, SetInterval]] = field(default_factory=list)

    def plus(self, other: _Sums) -> _Sums:
        """The sum of the counts of two regions."""
        more, less = (self, other) if len(self.base) >= len(other.base) else (other, self)
        sums = _Sums(self.run_ns + other.run_ns, self.estimated or other.estimated, [[*row] for row in more.base],
                     [{**counts} for counts in more.sets])
        for base, sets, old, new in zip(sums.base, sums.sets, less.base, less.sets, strict=False):
            base[:] = [here + two for here, two in zip(base, old, strict=True)]
            for at, interval in new.items():
                sets[at] = _joined(sets.get(at), interval, 1.0)
        return sums


class CountsAtMarks(Protocol):
    """The interface of counters that are read at the marks of programs, beside `RegionCounting`.

    No method raises: what cannot be counted is told with the numbers that lack.
    """

    def open(self, pids: Sequence[int], times: RegionTimes, *, family: bool) -> None:
        """Begin to count, or begin again from zero.

        Args:
            family: whether all that they start is counted, too.
        """

    def add(self, pid: int) -> None:
        """Also count another running program."""

    def take(self, shares: Sequence[RegionShare], seconds: float, times: RegionTimes) -> None:
        """Divide the counts since the last reading among the open regions.

        Args:
            shares: the regions that were open since then.
        """

    def close(self) -> None:
        """Close the counters; nothing is read after that."""


class RegionCounting:
    """Counts the regions of a program from its first mark to its end.

    Args:
        core_types: kinds of core, each with a definition that counts operations; None: those of the machine.
    """

    def __init__(self, machine: Machine, pipe: MarkPipe, core_types: Sequence[CountedCoreType] | None = None) -> None:
        self._machine = machine
        self._types = tuple(core_type for core_type in (core_types_of(machine) if core_types is None else core_types)
                            if core_type.definition.flops)
        self._pipe = pipe
        self._lock = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._over = False
        self._counters: Counters | None = None
        self._processes = RegionProcesses(machine.host, pipe)
        self._kinds: list[KindCounters] = []
        self._why: Unavailable | None = None
        self._times: RegionTimes | None = None
        self._clock: int | None = None
        self._regions: dict[str, _Sums] = {}
        self._run_ns = 0.0
        self._began_ns = self._last_ns = self._turned_ns = 0
        self._pid = 0
        self._also: CountsAtMarks | None = None
        self._also_counts = False
        self._orders: deque[Callable[[], None]] = deque()
        self._door = threading.Lock()
        self._left = False
        self._thread = NamedThread(target=self._run, name="regions", daemon=True)

    def open(self, pid: int) -> None:
        """Open the counters of a process that waits before exec; refused counters are reported with the totals."""
        self._pid = pid
        self._open_first(lambda sets: CommandCounters(self._machine.host, sets, pid, waits=True))

    def _open_first(self, opened: Callable[[Sequence[Sequence[PerfAttr]]], Counters]) -> None:
        """Open the first choice of counters that the kernel accepts."""
        for kinds in self._choices():
            groups = [[_TASK_CLOCK], *(group for kind in kinds for group in kind.attrs())]
            try:
                self._counters = opened(groups)
            except HostError as error:
                self._why = self._why or self._refused(error, groups[-1][-1].type)
                continue
            self._kinds = kinds
            if any(kind.core_type is not None for kind in kinds):
                self._why = None
            return

    def _refused(self, error: HostError, kind: int) -> Unavailable:
        return explain_perf(error, "counters of the regions of a program", circumstances(self._machine), kind)

    def _adopt(self, tids: Sequence[int]) -> None:
        if self._counters is None:
            def added(sets: Sequence[Sequence[PerfAttr]]) -> MarkingProcesses:
                processes = MarkingProcesses(self._machine.host, sets)
                processes.add(tids)
                return processes

            self._open_first(added)
        elif isinstance(self._counters, MarkingProcesses):
            try:
                self._counters.add(tids)
            except HostError as error:
                self._why = self._refused(error, _TASK_CLOCK.type)

    def _choices(self) -> Iterator[list[KindCounters]]:
        """The choices in order: operations, then instructions and cycles, then CPU time alone."""
        several = len(self._types) > 1
        for cycles in (True, False) if self._types else ():
            kinds: list[KindCounters] = []
            for core_type in self._types:
                first = 1 + sum(1 + len(kind.sets) for kind in kinds)
                kinds.append(KindCounters(core_type, first, core_type.pmu.type if several else 0, scaled=not several,
                                          cycles=cycles))
            yield kinds
        yield [KindCounters(None, 1, 0, scaled=True)]
        yield []

    def start(self) -> None:
        """Read marks from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Read the last marks and counters, and close the counters; the totals stay."""
        with self._lock:
            if self._over:
                return
            self._take_marks(rotate=False)
            self._over = True
            if self._counters is not None:
                self._counters.close()
            self._exchange(None)
        os.eventfd_write(self._wake, 1)
        if self._thread.ident is not None:
            self._thread.join()
        with self._door:
            self._left = True
            os.close(self._wake)

    def count_also(self, other: CountsAtMarks | None) -> bool:
        """Count something else at the marks from now on, or from the first mark; replaces an earlier request.

        Args:
            other: what counts; the same again is opened anew; None ends it.

        Returns:
            Whether there are marks to come: nothing is opened for a program that has ended.
        """
        return self.ask(lambda: self._exchange(other))

    def ask(self, order: Callable[[], None]) -> bool:
        """Call a function on the thread that reads marks after the next reading, which comes at once.

        Args:
            order: is called between two readings.

        Returns:
            Whether marks are still read: else it is never called.
        """
        with self._door:
            if self._left:
                return False
            self._orders.append(order)
            os.eventfd_write(self._wake, 1)
            return True

    def _exchange(self, other: CountsAtMarks | None) -> None:
        if self._also is not None and self._also is not other:
            self._also.close()
        self._also, self._also_counts = other, False
        if self._times is not None:
            self._begin_also(self._times)

    def _begin_also(self, times: RegionTimes) -> None:
        """Open the additional counters; what happens meanwhile is not counted by them."""
        if self._also is not None:
            pids = (self._pid,) if self._pid else self._processes.counted
            self._also.open(pids, times, family=bool(self._pid))
            try:
                self._book(times, rotate=False)
            except HostError as error:
                self._fail(error)
            self._also_counts = True

    def totals(self) -> RegionTotals:
        """The totals counted so far."""
        with self._lock:
            if not self._over:
                self._take_marks(rotate=False)
            return self._totals()

    @property
    def seconds(self) -> float:
        """Seconds since the first mark."""
        return (self._last_ns - self._began_ns) / 1e9

    @property
    def over(self) -> bool:
        return self._processes.over

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._pipe.descriptor, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        rest = select.poll()
        rest.register(self._wake, select.POLLIN)
        while True:
            multiplexed = any(len(kind.sets) > 1 for kind in self._kinds)
            poll.poll(1e3 * _SLICE if multiplexed and self._times is not None and self._times.still_open else None)
            with self._lock:
                if self._over:
                    return
                self._take_marks(rotate=time.monotonic_ns() - self._turned_ns >= _SLICE * 1e9)
                with contextlib.suppress(BlockingIOError):  # no wake-up was sent: a mark came
                    os.eventfd_read(self._wake)
                while self._orders:
                    self._orders.popleft()()
                pause = self._pipe.rest()
            rest.poll(1e3 * pause)

    def _take_marks(self, *, rotate: bool) -> None:
        """Read the new marks from the pipe, and add the counts since the last reading to the regions that were open."""
        try:
            marks, fresh = self._processes.take()
            for pid in fresh:
                self._adopt(sorted(running_threads(self._machine.host, pid)))
                if self._also is not None and self._also_counts:
                    self._also.add(pid)
            are_first = bool(marks) and self._times is None
            if are_first:
                if self._counters is not None:
                    self._counters.enable(0)
                    self._clock = self._counters.read_set(0)[-1]
                    for kind in self._kinds:
                        kind.begin(self._counters)
                self._began_ns = self._last_ns = self._turned_ns = time.monotonic_ns()
                self._times = RegionTimes(self._began_ns)
            if self._times is None:
                return
            for mark in marks:
                self._times.take(mark)
            self._processes.close_ended(self._times)
            self._book(self._times, rotate=rotate)
            if are_first:
                self._begin_also(self._times)
        except (HostError, MachineError) as error:
            self._fail(error)

    def _fail(self, error: HostError | MachineError) -> None:
        self._why = Unavailable(Reason.FAILED, f"counters of regions: {error}")
        if self._counters is not None:
            self._counters.close()
        self._counters, self._clock = None, None

    def _book(self, times: RegionTimes, *, rotate: bool) -> None:
        now, counters = time.monotonic_ns(), self._counters
        seconds, self._last_ns = (now - self._last_ns) / 1e9, now
        run, changes = 0.0, []
        if counters is not None and self._clock is not None:  # else times alone are known
            clock = counters.read_set(0)[-1]
            run, self._clock = float(clock - self._clock), clock
            changes = [kind.read(counters, seconds, rotate=rotate) for kind in self._kinds]
        if rotate:
            self._turned_ns = now
        self._run_ns += run
        shares = times.until(now)
        for share in shares:
            self._add(share, run, changes)
        if self._also is not None and self._also_counts:
            self._also.take(shares, seconds, times)
        if times.folded:
            self._regions = by_rows(self._regions, times.folded, _Sums.plus)

    def _add(self, share: RegionShare, run: float, changes: Sequence[KindChange]) -> None:
        sums = self._regions.setdefault(share.name, _Sums())
        sums.run_ns += run * share.share
        while len(sums.base) < len(changes):
            sums.base.append([0.0, 0.0])
            sums.sets.append({})
        for base, sets, change in zip(sums.base, sums.sets, changes, strict=False):
            base[:] = [old + new * share.share for old, new in zip(base, (*change.base, 0.0), strict=False)]
            sums.estimated |= change.estimated
            if change.interval is not None:
                sets[change.at] = _joined(sets.get(change.at), change.interval, share.share)

    def _totals(self) -> RegionTotals:
        if (times := self._times) is None:
            return RegionTotals(unread=self._pipe.unread, why=self._why, strangers=self._pipe.strangers)
        sums = by_rows(self._regions, times.rows, _Sums.plus)
        slugs = [kind.core_type.definition.slug if kind.core_type is not None else "" for kind in self._kinds]
        return RegionTotals(
            self.seconds, self._run_ns if self._clock is not None else None,
            tuple(_region(extent, sums.get(extent.name, _Sums()), slugs) for extent in times.extents()),
            times.lost, times.unmatched, times.still_open + times.left_open, self._pipe.unread,
            self._counters is not None and self._counters.user_only, self._why, self._pipe.strangers)


def _joined(old: SetInterval | None, new: SetInterval, share: float) -> SetInterval:
    before: Mapping[str, float] = {} if old is None else old.counts
    counts = {key: before.get(key, 0.0) + count * share for key, count in new.counts.items()}
    return SetInterval((0.0 if old is None else old.seconds) + new.seconds * share,
                       (0.0 if old is None else old.instructions) + new.instructions * share, counts)


def _region(extent: RegionExtent, sums: _Sums, slugs: Sequence[str]) -> CountedRegion:
    kinds = tuple(KindCounts(slug, base[0], base[1], tuple(sets[at] for at in sorted(sets)))
                  for slug, base, sets in zip(slugs, sums.base, sums.sets, strict=False))
    return CountedRegion(extent.name, extent.entries, extent.seconds, extent.apportioned, sums.run_ns, sums.estimated,
                         kinds)


@runtime_checkable
class MarkedCommand(Protocol):
    """A command beside the dashboard, or programs named by the user, whose regions are counted."""

    @property
    def regions(self) -> RegionCounting | None:
        """The counting of the regions; None before the counters are open."""


@dataclass(frozen=True, slots=True)
class MarkedPrograms:
    """Programs that mark regions in a FIFO named by the user."""

    regions: RegionCounting
