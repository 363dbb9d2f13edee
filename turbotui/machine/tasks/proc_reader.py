"""Samples of threads by /proc alone, for users whom perf refuses: CPU time at each look, without switches or counters.

/proc/PID/task/TID/schedstat has the CPU time of every user's threads in ns (Documentation/scheduler/sched-stats.rst);
where the kernel keeps none, their stat has it in clock ticks (proc_pid_stat(5)). A thread that ends between two looks
takes with it what it ran since the earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from turbotui.errors import MachineError
from turbotui.machine.host import Host
from turbotui.machine.perf_records import Exited, Forked, GroupReading, Record, Sample
from turbotui.machine.small_files import bytes_of
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.process_stats import TICKS, ProcessStat, ProcessStats, process_stat
from turbotui.machine.tasks.processes import cpu_time, running_threads
from turbotui.machine.tasks.sets import TaskSampling
from turbotui.machine.tasks.tracer import Closing

_LEAST_NS: Final = 50_000_000  # between two looks: some hundred threads take 5 ms
_PIECE: Final = 2048  # bytes of a stat file
_TICK_NS: Final = 1_000_000_000 // TICKS
_PAUSE: Final = 1.0  # seconds; whoever makes a table asks for a look at its end


class ProcReader:
    """A `SampleReader` of /proc; `TaskTracer` documents the methods.

    A process whose counts stand still is not looked into: of several threads they change by clock ticks, so that what a
    thread ran comes up to a tick later, and is never lost.
    """

    def __init__(self, host: Host, choice: TaskSampling) -> None:
        self._host = host
        self._stats: ProcessStats | None = None  # of every process
        self._pids: set[int] = set()
        self._before: Mapping[int, ProcessStat] = {}
        self._ran: dict[int, dict[int, int]] = {}  # ns of each thread by process, at the last look
        self._bases: dict[int, dict[int, int]] = {}  # the same when watching began
        self._next_ns = 0
        self._stopped = False
        self.choice = choice
        self.roots: Mapping[int, int] = {}
        self.followed: frozenset[int] = frozenset()
        self.damaged = self.merged = self.counted_ns = 0
        self.pause = _PAUSE

    def want_slices(self, wanted: bool) -> None:
        """Nothing is merged here."""

    def add_process(self, pid: int, *, on_exec: bool = False) -> int:
        """Watch the threads of a process; later ones are found by each look."""
        del on_exec
        self._pids.add(pid)
        self._begin([pid])
        if not self._ran.get(pid):
            raise MachineError(f"there is no process {pid}: it has ended, or this user cannot see it")
        return len(self._ran[pid])

    def add_cpus(self, cgroup: str | None = None) -> None:
        """Watch every process that this user can see; there are no control groups here."""
        if cgroup is not None:
            raise MachineError("the threads of a control group are found by perf alone")
        self._stats = ProcessStats(self._host)
        self._before = self._stats.read()
        self._begin(self._before)

    def _begin(self, pids: Iterable[int]) -> None:
        for pid in pids:
            self._bases[pid] = self._ran[pid] = self._threads(pid)

    def find_threads(self, pids: Iterable[int]) -> frozenset[int]:  # noqa: ARG002 - the protocol's
        """No process: `take` has found the new threads."""
        return frozenset()

    def take(self) -> Iterator[list[RingRecords]]:
        """Yield a sample of each thread that ran since the last look, and the ends of those that are gone."""
        now = self._host.now_ns()
        if self._stopped or now < self._next_ns:
            return
        self._next_ns = now + _LEAST_NS
        yield [RingRecords(-1, tuple(record for pid in self._changed() for record in self._look(pid, now)))]

    def _changed(self) -> list[int]:
        """The processes that may have run since the last look, and those that are gone."""
        if self._stats is None:
            return sorted(self._pids)
        before, self._before = self._before, self._stats.read()
        moved = [pid for pid, stat in self._before.items() if before.get(pid) is not stat]
        return [*moved, *(before.keys() - self._before.keys())]

    def _look(self, pid: int, now: int) -> Iterator[Record]:
        was, ran = self._ran.get(pid, {}), self._threads(pid)
        if ran.get(pid, 0) < was.get(pid, 0):  # another process has the number now
            yield from (Exited(pid, tid, now - 1) for tid in was)
            was = self._bases[pid] = {}
        bases = self._bases.get(pid, {})
        for tid, spent in ran.items():
            if tid not in was:
                yield Forked(pid, pid, tid, 0, now)  # whoever had the number before is another thread
            if spent > was.get(tid, 0):
                since = spent - bases.get(tid, 0)
                cpu = -1 if (stat := self._stat(pid, tid)) is None else stat.cpu
                yield Sample(0, pid, tid, now, cpu, GroupReading(since, since, (since,)))
        yield from (Exited(pid, tid, now - 1) for tid in was.keys() - ran.keys())
        if ran:
            self._ran[pid] = ran
        else:
            self._ran.pop(pid, None)
            self._bases.pop(pid, None)

    def _threads(self, pid: int) -> dict[int, int]:
        """The CPU time of each thread of a process in ns; none if it has ended."""
        threads: dict[int, int] = {}
        for tid in running_threads(self._host, pid):
            spent = cpu_time(self._host, pid, tid)
            if spent is None:
                stat = self._stat(pid, tid)
                spent = None if stat is None else stat.ran * _TICK_NS
            if spent is not None:
                threads[tid] = spent
        return threads

    def _stat(self, pid: int, tid: int) -> ProcessStat | None:
        return process_stat(bytes_of(self._host, f"/proc/{pid}/task/{tid}/stat", _PIECE))

    def rest(self) -> None:
        """Do nothing: there is one set, which never rests."""

    def take_over(self, before: ProcReader) -> None:
        """Do nothing: there is no other set."""

    def stop(self) -> None:
        """Stop after one more look."""
        self._next_ns = 0

    def final_readings(self) -> list[Closing]:
        """Return no reading: the last look has all that there is."""
        self._stopped = True
        return []

    def close(self) -> None:
        """Forget the processes, with their open files."""
        self._stats = None
        self._before, self._ran, self._bases = {}, {}, {}
