"""Totals of sampled threads: each difference of two samples is added once; the final read completes the totals.

Counters are cumulative, so a lost record loses time resolution and nothing else where counters belong to a thread. On
whole CPUs a lost switch would book two threads' counts on one: what was counted across a loss has a row of its
own.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from operator import add, itemgetter, sub
from sys import intern
from typing import Final

from turbotui.features.tasks.task_regions import TaskRegions
from turbotui.features.tasks.thread_totals import SWITCHES, ThreadTotals
from turbotui.features.tasks.timeline import Timeline
from turbotui.features.tasks.totals_table import (
    ALIVE,
    ENDED,
    IN_NO_ROW,
    LOST,
    MISNUMBERED,
    OTHERS,
    OUTSIDE,
    MultiplexedSets,
    TotalsTable,
)
from turbotui.machine.perf_records import (
    NOBODY,
    CounterReopened,
    Exited,
    Forked,
    GroupReading,
    LastCounts,
    Lost,
    Misnumbered,
    Record,
    Sample,
    Switched,
    ThreadNamed,
    Throttled,
)
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.parallelism import Parallelism
from turbotui.machine.tasks.sets import LONGEST_NS, Mode, SamplingMoment, TaskSampling
from turbotui.machine.tasks.tracer import Closing

Thread = tuple[int, int]
"""The thread whose counters wrote the record, and the thread that it is about."""


class Slices:
    """The switch-in times of running threads, in ns of the perf clock."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: dict[Thread, int] = {}

    def on(self, thread: Thread, time: int) -> None:
        """Record that a thread is switched in."""
        self._since[thread] = time

    def booked(self, thread: Thread, time: int) -> None:
        """Restart a thread's slice: its run time up to now is accounted for elsewhere."""
        if thread in self._since:
            self._since[thread] = time

    def off(self, thread: Thread, time: int) -> int:
        """End a thread's slice and return its start; `time` if the start is unknown."""
        return min(time, self._since.pop(thread, time))

    def knows(self, thread: Thread) -> bool:
        """Whether the thread is known to be running."""
        return thread in self._since

    @property
    def first(self) -> int | None:
        """The earliest beginning of a slice that is under way; None without one."""
        return min(self._since.values(), default=None)

    def forget(self) -> None:
        """Forget all slices after a loss of records: the threads may have left their CPUs."""
        self._since.clear()


_TIME: Final = itemgetter(0)
_DYING: Final = 16  # threads remembered a CPU between their end and their last switch-out
_BIRTHS: Final = 65_536  # processes whose parent is remembered
_CARRIED_NS: Final = 2 * LONGEST_NS
"""Run time that a sample may bring into an interval from before it: what there may be between two samples."""


class SampleAggregator(TotalsTable):
    """Adds up the samples of one event set into totals per thread.

    Args:
        roots: by the identifier of a sample: the thread whose set took it (`TaskTracer.roots`, which grows).
        multiplexed: what the aggregators of event sets that are multiplexed with this one share; None for one set.
        kept: of whole CPUs the threads that have entries from their exec(2) on, with all that they make; None: all.
        scheduled: whether CPU time is booked beside perf's task clock; not with multiplexed sets.

    Attributes:
        lost: samples that found no room.
        throttled: times that the kernel held samples back.
        misnumbered: samples whose thread is unknown because another program's sampler numbered them.
        forked: numbers of threads of mode A that came into being.
        births: the parent of each process that came into being, of the latest ones.
        children: processes of mode A that came into being, whose threads are to be found.
        tail: what the final read showed and no entry has.
        read: the final read; None before it.
        newest: time of the latest record.
        regions: takes what threads did in each slice of time; None where the application marks no regions.
        parallel: takes when threads ran, to weigh it by how many did; None where nobody asks.
        began: since when the interval is that records are booked in, by the perf clock; 0: nothing is too old.
    """

    def __init__(self, choice: TaskSampling, roots: Mapping[int, int], timeline: Timeline | None = None, *,
                 ended: int = ENDED, alive: int = ALIVE, multiplexed: MultiplexedSets | None = None,
                 kept: Iterable[int] | None = None, scheduled: bool = False) -> None:
        super().__init__(choice, roots, timeline, ended=ended, alive=alive, multiplexed=multiplexed,
                         scheduled=scheduled)
        self.throttled = 0
        self.misnumbered = 0
        self.forked: set[int] = set()
        self.children: set[int] = set()
        self.births: OrderedDict[int, int] = OrderedDict()
        self.tail: tuple[int, ...] = self._zero
        self.read: tuple[int, ...] | None = None
        self.began = 0
        self.regions: TaskRegions | None = None
        self.parallel: Parallelism | None = None
        self._creators: set[int] = set()
        self._width = choice.width
        self._named = len(choice.names)
        self._switches = self.names.index(SWITCHES) if SWITCHES in self.names else None
        self._load = self.names.index("cycles") if "cycles" in self.names else self._run
        if multiplexed is not None:
            multiplexed.listeners.append(self.book)
        self._heirs: dict[tuple[int, int], list[int]] = {}
        self._dying: dict[int, deque[tuple[int, int]]] = {}
        self._gaps: dict[int, int] = {}
        self._kept = None if kept is None else set()
        self._awaited = frozenset(kept or ())
        # a set that rests hears of no switch
        self._slices = Slices() if choice.switch_records and multiplexed is None else None

    def feed(self, taken: Iterable[RingRecords]) -> None:
        """Add a batch of records, in time order across rings."""
        rows: list[tuple[int, int, Record]] = [(record.time, ring.cpu, record) for ring in taken
                                               for record in ring.records]
        rows.sort(key=_TIME)
        for _time, cpu, record in rows:
            if type(record) is Sample:
                self._sample(cpu, record)
            elif type(record) is Switched:
                if record.out:
                    self._off(cpu, record)
                elif self._slices is not None:
                    self._slices.on((self._roots.get(record.event, record.tid), record.tid), record.time)
            elif type(record) is LastCounts:
                self._last_counts(cpu, record)
            elif self._multiplexed is not None and isinstance(record, (ThreadNamed, Forked, Exited)):
                for book in self._multiplexed.listeners:  # a set that rests does not hear of it
                    book(cpu, record)
            else:
                self.book(cpu, record)
        if rows:
            self.newest = max(self.newest, rows[-1][0])

    def close(self, closings: Sequence[Closing]) -> None:
        """Add the final readings: the counts after the last samples.

        A thread's own counters go to the thread. Where the kernel only gives the sum over all threads that inherited a
        set, what these have not counted is the first thread's, if all of them are known to the end; else, and over a
        CPU, it goes to `tail`: it is not known whose it is.
        """
        if self.choice.mode is Mode.PROC:
            return  # the last look is all that there is
        tail, total = [0] * len(self.names), [0] * len(self.names)
        lost = 0
        for closing in closings:
            if closing.root in self._twice:
                continue
            values = self._values(closing.reading)
            lost += sum(closing.reading.lost)
            for number, value in enumerate(values):
                total[number] += value
            if self.choice.mode is Mode.THREADS or self._knows_heirs(closing.root):
                entry = self._entry(closing.root, closing.root, closing.root)
                cpu = closing.cpu if closing.cpu >= 0 else entry.last_cpu
                if (heirs := self._heirs.get((closing.root, closing.cpu))) is not None:
                    values = tuple(value - theirs for value, theirs in zip(values, heirs, strict=True))
                else:
                    self._note_window(entry, closing.cpu, closing.reading)
                ran = self._book(entry, (closing.root, closing.root, closing.cpu), values, cpu,
                                 entry.ended_ns or entry.read_ns or self.newest)
                if ran > 0 and entry.ended and cpu >= 0:  # from its last sample to its end
                    self._draw(entry, cpu, entry.ended_ns - ran, entry.ended_ns)
        if self.choice.mode is not Mode.THREADS:
            booked = self.sums()
            tail = [value - known for value, known in zip(total, booked, strict=True)]
            if self.time is not None:  # no counter has it
                total[self.time.place], tail[self.time.place] = booked[self.time.place], 0
        self.lost = max(self.lost, lost)
        if self._kept is None:
            self.tail, self.read = tuple(tail), tuple(total)

    def _knows_heirs(self, root: int) -> bool:
        """Whether the last counts of all threads that inherited this thread's events have been added.

        Without such counts a lost FORK record, or one between two time slices, would have hidden an heir.
        """
        if self.choice.mode is not Mode.INHERITED or self._multiplexed is not None:
            return False
        if not self.choice.last:
            return root not in self._creators and not self.lost
        return (not any(parent == root for parent, _tid in (*self._unseen, *self._merged))
                and all(entry.closed for entry in self._entries.values() if entry.root == root and entry.tid != root))

    def book(self, cpu: int, record: Record) -> None:
        """Process a record without counts from a CPU's ring."""
        if isinstance(record, Lost):
            self.lost += record.count
            self._gaps[cpu] = LOST
            if self._slices is not None:
                self._slices.forget()
        elif isinstance(record, Misnumbered):
            self.misnumbered += record.count
            self._gaps.setdefault(cpu, MISNUMBERED)
        elif isinstance(record, (ThreadNamed, Forked, Exited)) and not record.tid:
            if isinstance(record, Exited):  # of a task outside this pid namespace, as all of thread 0
                self._note_end(cpu, -1, OUTSIDE)
        elif isinstance(record, ThreadNamed):
            self._note_name(record)
        elif isinstance(record, Forked):
            self._forked(record)
        elif isinstance(record, Exited):
            self._note_end(cpu, record.pid, record.tid)
            self._off(cpu, record)
            if self.choice.mode is not Mode.CPUS and self._has_set(record.tid):
                # a thread that never left its CPU has no sample: the final reading has its counts, up to this time
                self._entry(record.tid, record.pid, record.tid)
            for entry in self._by_tid.get(record.tid, ()):
                entry.ended_ns = record.time
            self._forget_names(record.tid)
        elif isinstance(record, Throttled):
            self.throttled += record.on
        elif isinstance(record, CounterReopened):
            self._last.pop((-1, -1, cpu), None)
            self._enabled.pop((cpu, -1), None)

    def _note_name(self, record: ThreadNamed) -> None:
        self._known[record.tid] = intern(record.name)
        for entry in self._by_tid.get(record.tid, ()):
            entry.name = self._known[record.tid]
        if record.executed and self._kept is not None and record.tid in self._awaited:
            self._kept.add(record.tid)
        if self._slices is not None and record.executed:
            thread = (self._roots.get(record.event, record.tid), record.tid)
            if not self._slices.knows(thread):  # its counters began with this exec
                self._slices.on(thread, record.time)

    def _note_end(self, cpu: int, pid: int, tid: int) -> None:
        """Remember whose last switch-out, which has no number any more, comes next on a CPU."""
        self._dying.setdefault(cpu, deque(maxlen=_DYING)).append((pid, tid))

    def _forked(self, record: Forked) -> None:
        """Start a new entry for a reused thread id.

        Rings are taken one after the other, so that its first samples, and its end, may have come before.
        """
        for entry in [early for early in self._by_tid.get(record.tid, ()) if 0 < early.ended_ns < record.time]:
            self._finished.append(self._forget((entry.root, entry.tid)))
        self._forget_merged(record.tid)
        if record.pid != record.parent_pid:
            self.births[record.pid] = record.parent_pid
            if len(self.births) > _BIRTHS:
                self.births.popitem(last=False)
        name = self._known.get(record.parent_tid, "")
        if record.tid not in self._by_tid:
            self._known[record.tid] = name
        elif record.tid not in self._known:
            self.rename(record.tid, name)
        root = self._roots.get(record.event)
        if self.choice.mode is Mode.THREADS:
            self.forked.add(record.tid)
            self._begins(record.tid)
            if record.pid == record.tid:
                self.children.add(record.pid)
        elif self.choice.mode is Mode.INHERITED:
            if record.parent_tid == root or root is None:
                self._creators.add(record.parent_tid)
            self._begins(record.tid)
            if self.choice.last and root is not None and (root, record.tid) not in self._entries:
                self._unseen.add((root, record.tid))
        elif self._kept is not None and record.parent_tid in self._kept:
            self._kept.add(record.tid)

    def _begins(self, tid: int) -> None:
        if self.time is not None and tid not in self._by_tid:
            self.time.base(tid, 0)

    def _off(self, cpu: int, record: Switched | Exited) -> None:
        """Add the run time of a thread that was switched out, since it was switched in."""
        if self._slices is None:
            return
        root = self._roots.get(record.event, record.tid)
        since = self._slices.off((root, record.tid), record.time)
        if (ran := record.time - since) > 0:
            entry = self._entry(root, record.pid, record.tid)
            key = (root, record.tid, cpu)
            values = list(self._last.get(key, self._zero))
            values[self._run] += ran
            self._place(entry, record.cpu)
            entry.seen_ns = record.time
            self._book(entry, key, tuple(values), record.cpu, record.time)
            self._draw(entry, record.cpu, since, record.time)

    def _draw(self, entry: ThreadTotals, cpu: int, start: int, end: int) -> None:
        """Note when a thread ran, and where."""
        self.timeline.add(entry.serial, cpu, start, end)
        if self.parallel is not None:
            self.parallel.add(entry.serial, start, end)

    @property
    def open_since(self) -> int | None:
        """Since when the thread runs that has run longest without a report; None where records do not say who runs."""
        return None if self._slices is None else self._slices.first

    def _sample(self, ring_cpu: int, sample: Sample) -> None:
        reading = sample.reading
        if len(reading.values) != self._width:
            return  # a group is cut short while its events are being opened one by one
        pid, tid, cpu = sample.pid, sample.tid, sample.cpu
        if tid == NOBODY:
            pid, tid = self._who_died(ring_cpu, pid)
        if self.choice.mode is Mode.CPUS:
            root, key = -1, (-1, -1, ring_cpu)
            if ring_cpu in self._gaps:
                pid, tid = -1, self._gaps.pop(ring_cpu)
            elif self._kept is not None and tid not in self._kept and tid not in (0, OUTSIDE):
                pid, tid = -1, OTHERS
        else:
            # what /proc tells has no event: each thread is its own root
            root = self._roots.get(sample.event, sample.tid if self.choice.mode is Mode.PROC else -1)
            if root < 0 and (root := self._root_of(tid)) < 0:
                self.misnumbered += 1  # its counts come with the thread's next sample, of its clock or its end
                return
            key = (root, tid, ring_cpu)
        entry = self._entries.get((root, tid)) or self._entry(root, pid, tid)
        entry.pid = pid
        entry.samples += 1
        if entry.samples == 1 and tid > 0 and (pid, tid) in self._dying.get(ring_cpu, ()):
            entry.ended_ns = sample.time  # its only slice ended with it
        self._place(entry, cpu)
        ran = self._add(entry, key, reading, cpu, sample.time)
        entry.seen_ns = sample.time
        if self._slices is not None:
            self._slices.booked((root, tid), sample.time)
        if ran > 0 and tid not in IN_NO_ROW:
            self._draw(entry, cpu, sample.time - ran, sample.time)

    def _root_of(self, tid: int) -> int:
        """The thread whose set a sample is of that has another program's identifier; -1 if nobody here is that thread.

        In another pid namespace the number is most likely nobody's.
        """
        if self._has_set(tid):
            return tid
        known = {entry.root for entry in self._by_tid.get(tid, ())} | {root for root,
                                                                       child in self._unseen if child == tid}
        if not known and tid in self._known:
            known = set(self._with_sets)
        return known.pop() if len(known) == 1 else -1

    def _last_counts(self, ring_cpu: int, record: LastCounts) -> None:
        """Add the counts that an exiting thread had on one CPU."""
        reading = record.reading
        if len(reading.values) != self._width:
            return
        root = self._roots.get(record.event, record.tid)
        entry = self._entry(root, record.pid, record.tid)
        entry.closed = True
        entry.ended_ns = entry.ended_ns or record.time
        if self._slices is not None:
            self._slices.off((root, record.tid), record.time)
        if not reading.running and not any(reading.values):
            return
        ran = self._add(entry, (root, record.tid, ring_cpu), reading, ring_cpu, entry.ended_ns)
        if ran > 0:
            self._place(entry, ring_cpu)
            self._draw(entry, ring_cpu, entry.ended_ns - ran, entry.ended_ns)

    def _place(self, entry: ThreadTotals, cpu: int) -> None:
        if self._multiplexed is not None:
            entry.migrations += self._multiplexed.moved(entry.tid, cpu)
        elif entry.last_cpu not in (cpu, -1):
            entry.migrations += 1
        if entry.last_cpu != cpu:
            entry.last_cpu = cpu
            entry.places |= 1 << cpu

    def _who_died(self, ring_cpu: int, pid: int) -> tuple[int, int]:
        """The process and thread that last exited on this CPU, restricted to this process if it is known."""
        for owner, tid in reversed(self._dying.get(ring_cpu, ())):
            if pid in (owner, NOBODY):
                return owner, tid
        return (-1 if pid == NOBODY else pid), -1

    def _values(self, reading: GroupReading) -> tuple[int, ...]:
        """Counts by `names`; run time is the time the set was scheduled, for its clock may pause (`clock_throttle`)."""
        values, run = reading.values, self._run
        whole = (*values[:run], reading.running, *values[run + 1 : self._named])
        return whole if self.time is None else (*whole, 0)

    def _add(self, entry: ThreadTotals, key: tuple[int, int, int], reading: GroupReading, cpu: int, time: int) -> int:
        """Book the difference to the reading before, up to a time; returns the run time in it."""
        totals = entry.totals
        before = totals[:]
        ran = self._book(entry, key, self._values(reading), cpu, time)
        self._note_window(entry, key[2], reading)
        if self.began and (over := ran - max(0, time - self.began)) > _CARRIED_NS:
            early = self._early.setdefault(entry.serial, [0] * len(self.names))
            for number, (new, old) in enumerate(zip(totals, before, strict=True)):
                early[number] += (new - old) * over // ran
        return ran

    def _note_window(self, entry: ThreadTotals, cpu: int, reading: GroupReading) -> None:
        """Record how long a thread's counters were enabled beside how long they ran.

        A CPU's counters are everybody's: what was added to their time is the thread's. A thread's own set of one CPU
        is enabled wherever the thread runs, so that the longest time is that of the thread.
        """
        if self.choice.when is not SamplingMoment.SWITCHES:
            return  # ticks come too seldom for the sum over CPUs to be whole
        key = (cpu, -1) if self.choice.mode is Mode.CPUS else (entry.root, entry.tid)
        if (more := reading.enabled - self._enabled.get(key, 0)) > 0:
            entry.enabled += more
            self._enabled[key] = reading.enabled

    def _book(self, entry: ThreadTotals, key: tuple[int, int, int], new: tuple[int, ...], cpu: int, time: int) -> int:
        """Add the increase of counts since the previous ones, up to a time; return the run time in it.

        Counts do not fall, nor does anything that is told of them: rings may be taken a little out of order, and an
        older reading has nothing to add. What is a thread's own after its heirs' is taken away begins at zero too.
        """
        old = self._last.get(key) or self._zero
        more: tuple[int, ...] = tuple(map(sub, new, old))
        if min(more) < 0:
            more = tuple([max(0, value) for value in more])
            new = tuple(map(add, old, more))
        self._last[key] = new
        entry.totals[:] = map(add, entry.totals, more)
        if entry.tid != key[0] >= 0:
            heirs = self._heirs.setdefault((key[0], key[2]), [0] * len(self.names))
            for number, value in enumerate(more):
                heirs[number] += value
        if cpu >= 0 and any(new):  # a set that counts on one CPU is read at the end wherever its thread ran
            entry.places |= 1 << cpu
        entry.add_load(cpu, more[self._load])
        if self.time is not None:
            slices = 1 if self._switches is None else more[self._switches]
            self.time.book(entry, cpu, more[self._run], time, slices)
        if self.regions is not None and entry.tid > 0 and any(more):
            self.regions.add(time - more[self._run], time, more)
        return more[self._run]
