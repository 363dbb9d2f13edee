"""Pages that automatic NUMA balancing moved for threads: /proc/PID/task/TID/sched (kernel kernel/sched/debug.c).

The kernel counts them for the thread on whose access it moved them (task_numa_fault, kernel/sched/fair.c), and keeps
there which node it prefers for the thread. A read takes 11 us.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Final, NamedTuple

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import closing, read_bytes
from turbotui.machine.small_files import names_in
from turbotui.quantities.plain_numbers import decimal, integer_or_none
from turbotui.quantities.unavailable import Reason, Unavailable

MOST_THREADS: Final = 1_000
"""The most threads whose files are read for one interval, some 11 ms."""
_SIZE: Final = 16_384  # bytes of a file: some 3,000, and a line for each node
_FRESH_NS: Final = 50_000_000
_KEPT: Final = 4_096  # threads whose last reading is kept

ENDED: Final = Unavailable(Reason.NOT_READ, "the task had ended before its /proc/PID/task/TID/sched was read")
NO_COUNT: Final = Unavailable(Reason.NO_DRIVER, "/proc/PID/task/TID/sched has no numa_pages_migrated: the kernel was "
                              "built without automatic NUMA balancing, or before 6.15 without CONFIG_SCHED_DEBUG")
ENOUGH: Final = Unavailable(Reason.NOT_READ, f"{MOST_THREADS:,} threads have been read in this interval",
                            "wait for the next one, or filter rows")
MANY: Final = Unavailable(Reason.NOT_READ, f"the process has more than {MOST_THREADS:,} threads, each of which would "
                          "have to be read", "watch its threads")


class SchedCounts(NamedTuple):
    """What the file of a thread says."""

    pages: int  # moved since it began
    node: int  # that is preferred; -1 for none
    ran: float  # ms of run time, which tells a thread from a later one of its number


@dataclass(frozen=True, slots=True)
class MovedPages:
    """Pages that were moved for a thread, or the threads of a process, between two reads."""

    pages: int
    ns: int  # between the reads; 0 where there was no read before
    nodes: tuple[int, ...]  # that the kernel prefers; none if it prefers none
    before: int  # pages moved until the second read since the threads began

    def plus(self, later: MovedPages) -> MovedPages:
        """Add the time that follows."""
        return MovedPages(self.pages + later.pages, self.ns + later.ns, later.nodes, later.before)


def moved_of_all(threads: Iterable[MovedPages]) -> MovedPages:
    """Sum what was moved for several threads in the same interval."""
    parts = tuple(threads)
    return MovedPages(sum(part.pages for part in parts), max((part.ns for part in parts), default=0),
                      tuple(sorted({node for part in parts for node in part.nodes})),
                      sum(part.before for part in parts))


def parse_sched(text: bytes) -> SchedCounts | None:
    """Return what is counted of a thread; None if the file has no count of pages."""
    lines = (line.partition(b":") for line in text.split(b"\n"))
    numbers = {name.strip(): value.strip() for name, _colon, value in lines}
    pages, node = (integer_or_none(numbers.get(name)) for name in (b"numa_pages_migrated", b"numa_preferred_nid"))
    try:
        ran = decimal(numbers.get(b"se.sum_exec_runtime", b""))
    except ValueError:
        return None
    return None if pages is None or node is None or pages < 0 else SchedCounts(pages, node, ran)


class NumaBalancing:
    """Reads the counts of threads, and keeps them for the next read."""

    def __init__(self, host: Host) -> None:
        self._host = host
        # of a thread: time of the read, what it said, and what was moved since the one before
        self._known: dict[tuple[int, int], tuple[int, SchedCounts, MovedPages]] = {}

    def threads_of(self, pid: int) -> tuple[int, ...] | Unavailable:
        """The threads of a process, or why they are not read."""
        names = names_in(self._host, f"/proc/{pid}/task")
        threads = tuple(number for name in names if (number := integer_or_none(name)) is not None)
        return (threads or ENDED) if len(threads) <= MOST_THREADS else MANY

    def read(self, pid: int, tid: int) -> MovedPages | Unavailable:
        """Return what was moved for a thread since it was read before; nothing is read twice in 50 ms."""
        now, known = self._host.now_ns(), self._known.pop((pid, tid), None)
        if known is not None and now - known[0] < _FRESH_NS:
            self._known[pid, tid] = known
            return known[2]
        counts = self._counts(pid, tid)
        if isinstance(counts, Unavailable):
            return counts
        nodes = () if counts.node < 0 else (counts.node,)
        moved = MovedPages(0, 0, nodes, counts.pages)
        if known is not None and known[1].pages <= counts.pages and known[1].ran <= counts.ran:
            moved = MovedPages(counts.pages - known[1].pages, now - known[0], nodes, counts.pages)
        self._known[pid, tid] = now, counts, moved
        while len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return moved

    def _counts(self, pid: int, tid: int) -> SchedCounts | Unavailable:
        try:
            text = read_bytes(self._host, f"/proc/{pid}/task/{tid}/sched", _SIZE)
        except HostError as error:
            if error.errno in (errno.ENOENT, errno.ESRCH):
                return ENDED if not self._lives(pid, tid) else NO_COUNT
            denied = error.errno in (errno.EACCES, errno.EPERM)
            return Unavailable(Reason.NOT_PERMITTED if denied else Reason.FAILED, str(error))
        return parse_sched(text) or NO_COUNT

    def _lives(self, pid: int, tid: int) -> bool:
        try:
            with closing(self._host, self._host.open_file(f"/proc/{pid}/task/{tid}/stat")):
                return True
        except HostError:
            return False
