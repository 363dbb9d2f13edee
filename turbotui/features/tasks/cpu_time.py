"""The CPU time of threads, as the kernel's scheduler accounts for it (schedstat, top, time).

perf's task clock counts while a thread's counters are on its CPU, and leaves out the way there, and a process's start
and end. So CPU time has sources of its own, the best one first:

- a thread that lives: its schedstat, read when an interval ends and in between;
- since then: the time between switches of its CPU, where whole CPUs may be watched (`machine.tasks.slices`);
- else perf's task clock: then the time is an estimate, too low.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.thread_totals import ThreadTotals
from turbotui.machine.host import Host
from turbotui.machine.tasks.processes import cpu_time
from turbotui.machine.tasks.slices import RunTimes
from turbotui.machine.tasks.switch_times import SwitchTimes

CPU_TIME: Final = "cpu-time"
"""The name that it has among counts."""
LOOK_NS: Final = 100_000_000  # between two looks at schedstat
_EACH_LOOK: Final = 64  # threads that are read at such a look: 14 us each
_AT_ONCE: Final = 4_000  # at the end of an interval: what has a row of its own
_CLAIMED_LATER: Final = 4_096  # threads whose time comes before their first sample


class CpuTime:
    """Accumulates the CPU time of each thread's entry, at this place among its totals."""

    def __init__(self, place: int) -> None:
        self.place = place
        self._bases: dict[int, int] = {}
        self._unclaimed: dict[int, int] = {}
        self._ran: RunTimes | None = None

    @property
    def until(self) -> int | None:
        """The time up to which context switches are accounted; None if switch times are not recorded."""
        return None if self._ran is None else self._ran.until

    def base(self, tid: int, spent: int) -> None:
        """Record the CPU time that a thread had used when its counters were opened; 0 for a newer thread."""
        self._bases[tid] = spent

    def open(self, entry: ThreadTotals) -> None:
        """Start accounting for a thread, which has an entry from now on."""
        entry.base = self._bases.pop(entry.tid, None)
        entry.totals[self.place] += self._unclaimed.pop(entry.tid, 0)

    def cover(self, ran: RunTimes | None) -> None:
        """Account for the context switches of a time span; call it before the samples of that span."""
        self._ran = ran

    def book(self, entry: ThreadTotals, cpu: int, ran: int, time: int, slices: int = 1) -> None:
        """Add run time by perf's task clock, for threads whose run time is not known more precisely.

        Args:
            ran: ns up to `time`.
            slices: number of slices; of several since the thread was seen last, each ns in between has the same share.
        """
        since = time - ran
        if slices > 1 and 0 < entry.seen_ns < since:
            since = entry.seen_ns
        begin = max(since, min(entry.read_ns, time))
        unknown = time - begin if self._ran is None else self._ran.uncovered(cpu, begin, time)
        if unknown > 0 and ran > 0:
            entry.totals[self.place] += ran * unknown // (time - since)
            entry.guessed = True

    def claim_later(self, tid: int, spent: int) -> None:
        """Keep the run time of a thread until its first sample arrives."""
        self._unclaimed[tid] = self._unclaimed.get(tid, 0) + spent
        if len(self._unclaimed) > _CLAIMED_LATER:
            del self._unclaimed[next(iter(self._unclaimed))]

    def forget(self, tid: int) -> None:
        """Forget a thread that has ended or whose id is reused."""
        self._bases.pop(tid, None)
        self._unclaimed.pop(tid, None)

    def read(self, entry: ThreadTotals, spent: int, now: int) -> None:
        """Correct a thread's CPU time by its schedstat, never below a value already shown."""
        if entry.base is not None:
            entry.totals[self.place] = max(entry.last_totals[self.place], spent - entry.base)
            entry.read_ns = now
            entry.guessed = False


@dataclass(slots=True)
class SchedStats:
    """Reads the CPU time of live threads from schedstat.

    Args:
        host: this machine.
        switches: which has to know what is read; None where there is none.
    """

    host: Host
    switches: SwitchTimes | None = None
    looked_ns: int = 0

    def due(self, now: int) -> bool:
        """Whether schedstat is to be read again before the interval ends."""
        return now - self.looked_ns >= LOOK_NS

    def look(self, entries: Iterable[ThreadTotals], time: CpuTime, children: Sequence[int], *, whole: bool) -> None:
        """Read schedstat of the threads that ran since the last read, the most recent first.

        Args:
            children: processes that nobody else waits for: they can be read after their end.
            whole: whether an interval ends: all that have a row are read.
        """
        since = self.looked_ns - 2 * LOOK_NS  # who has its CPU has no sample for a while
        self.looked_ns = self.host.now_ns()
        ran = [entry for entry in entries if entry.base is not None and entry.tid > 0
               and (entry.tid in children if entry.ended else entry.seen_ns > min(since, entry.read_ns))]
        ran.sort(key=attrgetter("seen_ns"), reverse=True)
        for totals in ran[: _AT_ONCE if whole else _EACH_LOOK]:
            if (spent := cpu_time(self.host, totals.pid, totals.tid)) is not None:
                now = self.host.now_ns()
                time.read(totals, spent, now)
                if self.switches is not None:
                    self.switches.known(totals.tid, now)
