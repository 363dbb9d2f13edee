"""Finds the threads of a top-down analysis: those of some processes and their descendants, or the busiest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import text_of
from turbotui.machine.tasks.process_stats import ProcessStats
from turbotui.machine.tasks.processes import cpu_time, name_of, running_threads
from turbotui.quantities.plain_numbers import numbers_among

MOST: Final = 64
"""The most threads that are counted if no process was named, because each needs a counter for every event."""
_RENAMED: Final = 20
"""The number of polls of a new thread in which its name is read."""
_STAYS: Final = 1.5
"""The ratio of CPU times above which a thread replaces a counted one, to avoid reopening counters needlessly."""


@dataclass(frozen=True, slots=True)
class CountedThread:
    """A counted thread."""

    # pid, tid: numbers
    pid: int
    tid: int
    name: str = field(compare=False)  # as the kernel has it, made visible


class ProcessThreads:
    """The threads of some processes, with or without their descendants.

    Raises:
        MachineError: there is no such process.
    """

    def __init__(self, host: Host, pids: Sequence[int], *, family: bool = False) -> None:
        self._host = host
        self._pids = tuple(pids)
        self._family = family
        self._known: dict[int, tuple[CountedThread, int]] = {}
        self.left_out = 0
        gone = next((pid for pid in pids if not running_threads(host, pid)), None)
        if gone is not None:
            raise MachineError(f"there is no process {gone}: it has ended, or this user cannot see it")

    def find(self) -> Mapping[int, CountedThread]:
        """Return the present threads by number."""
        threads: dict[int, CountedThread] = {}
        waiting, seen = list(self._pids), set(self._pids)
        while waiting:
            pid = waiting.pop()
            for tid in running_threads(self._host, pid):
                threads[tid] = self._named(pid, tid)
                if self._family:
                    waiting += (child for child in self._children(pid, tid) if child not in seen)
                    seen.update(waiting)
        self._known = {tid: known for tid, known in self._known.items() if tid in threads}
        return threads

    def _named(self, pid: int, tid: int) -> CountedThread:
        """Return a thread with its name, which new threads soon change: by exec(2), or by themselves."""
        known, looks = self._known.get(tid, (None, 0))
        if known is None or looks < _RENAMED:
            known = CountedThread(pid, tid, name_of(self._host, pid, tid) or (known.name if known else ""))
            self._known[tid] = known, looks + 1
        return known

    def _children(self, pid: int, tid: int) -> list[int]:
        """Return the children of a thread (proc(5), children: CONFIG_PROC_CHILDREN)."""
        return list(numbers_among(text_of(self._host, f"/proc/{pid}/task/{tid}/children").split()))

    @property
    def ended(self) -> bool:
        """Tell whether all processes have ended."""
        return not any(running_threads(self._host, pid) for pid in self._pids)


class BusyThreads:
    """Finds the threads with the most CPU time since the last poll; the first poll finds none.

    Attributes:
        kept: a thread that stays counted until it ends, however little it runs; None for none.
        left_out: the number of other threads that ran.
    """

    def __init__(self, host: Host, most: int = MOST) -> None:
        self._host = host
        self._most = most
        self._stats = ProcessStats(host)
        self._processes: Mapping[int, int] | None = None
        self._times: dict[int, dict[int, int]] = {}
        self._chosen: dict[int, CountedThread] = {}
        self.kept: int | None = None
        self.left_out = 0

    def find(self) -> Mapping[int, CountedThread]:
        """Return the busiest threads by number; counted threads stay unless others run clearly more.

        Raises:
            HostError: /proc cannot be listed, and never could be.
        """
        try:
            now = {pid: stat.ran for pid, stat in self._stats.read().items()}
        except HostError:
            if self._processes is None:
                raise
            return self._chosen  # it could not be listed this time
        before, self._processes = self._processes, now
        self._times = {pid: times for pid, times in self._times.items() if pid in now}
        spent: dict[int, int] = {}
        of: dict[int, int] = {}
        # processes that did not run are left out: each of their threads is a file to read
        for pid in (pid for pid, ticks in now.items() if before is None or ticks > before.get(pid, -1)):
            times = {tid: cpu_time(self._host, pid, tid) or 0 for tid in running_threads(self._host, pid)}
            known = times if before is None else self._times.get(pid, {})
            spent |= {tid: ns - known.get(tid, 0) for tid, ns in times.items()}
            of |= dict.fromkeys(times, pid)
            self._times[pid] = times
        running = [tid for tid, ns in spent.items() if ns > 0]
        order = sorted(running, key=lambda tid: -spent[tid] * (_STAYS if tid in self._chosen else 1.0))
        resting = [tid for tid, thread in self._chosen.items()
                   if tid in self._times.get(thread.pid, ()) and tid not in running]
        self.left_out = max(0, len(order) - self._most)
        of |= {tid: pid for pid, times in self._times.items() for tid in times if tid == self.kept}
        kept = [tid for tid in of if tid == self.kept]  # the thread may just have been displaced
        wanted = list(dict.fromkeys((*kept, *order, *resting)))[: self._most]
        self._chosen = {tid: self._chosen.get(tid) or CountedThread(of[tid], tid, name_of(self._host, of[tid], tid))
                        for tid in wanted}
        return self._chosen

    @property
    def ended(self) -> bool:
        """Return False, because the machine's threads never end."""
        return False
