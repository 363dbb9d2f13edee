"""The totals of one thread so far, by the events of its set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import add, sub
from typing import Final, NamedTuple

from turbotui.dataclass import dataclass

RUN: Final = "run"
SWITCHES: Final = "switches"
RUN_MEANING: Final = (
    "the scheduler's own account (schedstat, as top and time have it); since that was read, and for a thread that has "
    "ended, the time between the switches of its CPU, if this user may watch whole CPUs (root, CAP_PERFMON); otherwise "
    "perf's task clock, which is too low and marked ~; that clock leaves out the way onto a CPU (0.4 us, up to 30 us "
    "from an idle one) and 50 us of a process's start and end; with --all, --cgroup and multiplexed sets, perf's clock "
    "alone"
)
"""What CPU time is, and where it comes from.

Measured with Linux 6.18 in a KVM guest beside wait4(2) or schedstat: 2,000 x /bin/true 1.01 to 1.06 of it, four lanes
of processes as of a parallel build 1.01, a thread that sleeps in each pass 0.99; by perf's task clock 0.86 to 0.95,
0.91 to 0.97, and 0.37 to 0.65. What is beyond 1 is not in wait4: a parent that reaps its child on another CPU is
faster than the entry of the child's last switch. A slice ends where the next one begins; the kernel gives some us
before it to the next thread where that thread's wake-up led to the switch (rq_clock_skip_update(),
kernel/sched/core.c): the last 15 us of a process to its parent, and the way out of an idle CPU, which whole CPUs
(--all) count as idle, to who woke there.
"""
_WHOLE: Final = 0.98  # of the enabled time; less is no longer what reading the two clocks one after the other explains
_SHORT_NS: Final = 1_000_000  # nothing is said of less than a millisecond


class Thread(NamedTuple):
    """The ids of a thread."""

    pid: int
    tid: int


@dataclass(slots=True)
class LoadByCpu:
    """A thread's load by CPU, by which energy is divided; a thread on one CPU needs no table."""

    cpu: int = -1  # the first one
    load: int = 0
    others: dict[int, int] | None = None

    def add(self, cpu: int, more: int) -> None:
        """Add to the load on a CPU."""
        if cpu == self.cpu:
            self.load += more
        elif self.cpu < 0 and not self.load:
            self.cpu, self.load = cpu, more
        else:
            self.others = self.others or {}
            self.others[cpu] = self.others.get(cpu, 0) + more

    def by_cpu(self) -> dict[int, int]:
        """The loads as a mapping from CPU."""
        first = {self.cpu: self.load} if self.cpu >= 0 or self.load else {}
        return first | (self.others or {})

    def plus(self, other: LoadByCpu) -> LoadByCpu:
        """The sum of the loads of two threads; neither is changed."""
        both = self.copy()
        for cpu, load in other.by_cpu().items():
            both.add(cpu, load)
        return both

    def copy(self) -> LoadByCpu:
        """A copy of the loads."""
        return LoadByCpu(self.cpu, self.load, None if self.others is None else dict(self.others))


@dataclass(slots=True)
class ThreadTotals:
    """One thread's totals in the order of the set's names; run time in ns."""

    serial: int  # its own for good; numbers of threads are used again
    pid: int
    tid: int
    root: int  # the thread whose set counted it
    name: str
    totals: list[int]
    samples: int = 0
    last_cpu: int = -1  # where it was seen last, -1 before
    places: int = 0  # a mask of the CPUs where it was seen, or had counts
    loads: LoadByCpu | None = None  # cycles where they are counted, else ns of run time
    migrations: int = 0  # samples on another CPU than the sample before
    ended_ns: int = 0  # when it ended by the perf clock; 0 while it lives
    enabled: int = 0  # ns for which its counters were to count; run time says for how long they did
    threads: int = 1  # how many it stands for: more than one where threads were put together
    cut: bool = False  # whether one of those that it took over is incomplete
    closed: bool = False  # whether the kernel reported its counts at its end
    seen_ns: int = 0  # time of its latest sample by the perf clock
    base: int | None = None  # its CPU time by schedstat when its counters were opened; None where that is not known
    read_ns: int = 0  # up to when its CPU time is known by its schedstat
    guessed: bool = False  # whether a part of its CPU time is known by perf's task clock only
    resumed: bool = False  # whether what it did at first is in an entry of several threads
    held: list[int] | None = None  # counts of after the end of the interval, for the next one; None for none
    _marked: Mark | None = None

    def since(self, mark: Mark | None) -> Mark:
        """What was added since a mark; everything without one."""
        if mark is None:
            return self.mark()
        had, loads = mark.loads_by_cpu(), LoadByCpu()
        for cpu, load in () if self.loads is None else self.loads.by_cpu().items():
            loads.add(cpu, load - had.get(cpu, 0))
        return Mark(tuple(map(sub, self.totals, mark.totals)), self.migrations - mark.migrations, loads)

    @property
    def ended(self) -> bool:
        """Whether the end of the thread was seen."""
        return self.ended_ns > 0

    def is_incomplete(self, run: int) -> bool:
        """Whether the set was multiplexed with another user's counters, so that counts are too low.

        Args:
            run: place of the run time among the totals.
        """
        ran = self.totals[run] + (0 if self.held is None else self.held[run])
        return self.cut or ran < _WHOLE * self.enabled - _SHORT_NS

    def shrink(self, name: str) -> None:
        """Turn this entry into the one that ended threads of the same name are merged into."""
        self.pid = self.tid = self.root = -1
        self.name = name

    def mark(self) -> Mark:
        """The totals so far, to be subtracted later; the same object until something is added."""
        totals = tuple(self.totals)
        if self._marked is None or self._marked.totals != totals or self._marked.migrations != self.migrations:
            self._marked = Mark(totals, self.migrations, None if self.loads is None else self.loads.copy())
        return self._marked

    @property
    def last_totals(self) -> Sequence[int]:
        """The totals as of the end of the last interval."""
        return self._marked.totals if self._marked is not None else [0] * len(self.totals)

    def hold(self, counts: Sequence[int]) -> None:
        """Leave counts to the next interval: they are not in the totals until `go_on`."""
        self.held = list(counts) if self.held is None else list(map(add, self.held, counts))
        self.totals[:] = map(sub, self.totals, counts)

    def go_on(self) -> None:
        """Put back what was held."""
        if self.held is not None:
            self.totals[:] = map(add, self.totals, self.held)
            self.held = None

    def add_load(self, cpu: int, more: int) -> None:
        """Add to the load on a CPU."""
        if self.loads is None:
            self.loads = LoadByCpu(cpu, more)
        else:
            self.loads.add(cpu, more)

    @property
    def cpus(self) -> set[int]:
        """The CPUs on which the thread was seen."""
        return set(places_of(self.places))

    def add_thread(self, other: ThreadTotals, run: int) -> None:
        """Add the totals of another thread; `run` is the position of the run time among them."""
        self.cut = self.is_incomplete(run) or other.is_incomplete(run)
        self.totals = [total + more for total, more in zip(self.totals, other.totals, strict=True)]
        self.guessed |= other.guessed
        if other.held is not None:
            self.held = other.held if self.held is None else list(map(add, self.held, other.held))
        self.enabled += other.enabled
        self.samples += other.samples
        self.places |= other.places
        self.migrations += other.migrations
        self.threads += other.threads
        self.loads = added(self.loads, other.loads)


def places_of(mask: int) -> Iterator[int]:
    """The CPU numbers of a bit mask."""
    return (cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def added(first: LoadByCpu | None, other: LoadByCpu | None) -> LoadByCpu | None:
    """Add two loads."""
    return first if other is None else other.copy() if first is None else first.plus(other)


@dataclass(frozen=True, slots=True)
class Mark:
    """The totals of an entry at one instant."""

    totals: tuple[int, ...]
    migrations: int
    loads: LoadByCpu | None = None

    def plus(self, other: Mark) -> Mark:
        """Add the marks of two entries that were merged."""
        totals = tuple(map(sum, zip(self.totals, other.totals, strict=True)))
        return Mark(totals, self.migrations + other.migrations, added(self.loads, other.loads))

    def loads_by_cpu(self) -> Mapping[int, int]:
        """The loads by CPU, by which energy was shared."""
        return {} if self.loads is None else self.loads.by_cpu()
