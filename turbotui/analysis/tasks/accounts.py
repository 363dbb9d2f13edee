"""An account: what one thread has done so far, by everything that its set counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from turbotui.machine.perf_records import Reading

RUN: Final = "run"
SWITCHES: Final = "switches"
_WHOLE: Final = 0.98  # of the enabled time; less is no longer what reading the two clocks one after the other explains
_SHORT_NS: Final = 1_000_000  # nothing is said of less than a millisecond


@dataclass(slots=True)
class Account:
    """One thread's totals, in the order of the names of the set; run time in ns.

    Attributes:
        serial: its own for good; numbers of threads are used again.
        root: the thread whose set counted it.
        last_cpu: where it was seen last, -1 before.
        loads: by CPU: what the energy of the CPU is shared by, cycles where they are counted, else ns of run time.
        migrations: samples on another CPU than the sample before.
        ended_ns: when it ended by the perf clock; 0 while it lives.
        windows: by CPU of the set: the last reading, which says how long it was enabled and how long it counted.
        threads: how many it stands for: more than one where ended threads were put together.
        closed: whether the kernel reported its counts at its end.
        seen_ns: time of its latest sample by the perf clock.
    """

    serial: int
    pid: int
    tid: int
    root: int
    name: str
    totals: list[int]
    samples: int = 0
    last_cpu: int = -1
    places: int = 0
    loads: dict[int, int] = field(default_factory=dict)
    migrations: int = 0
    ended_ns: int = 0
    windows: dict[int, tuple[int, int]] = field(default_factory=dict)
    threads: int = 1
    closed: bool = False
    seen_ns: int = 0
    _marked: Mark | None = None

    @property
    def ended(self) -> bool:
        """Whether its end was seen."""
        return self.ended_ns > 0

    @property
    def incomplete(self) -> bool:
        """Whether the set had to take turns with somebody else's counters, so that counts are too low.

        A set of one CPU counts only while the thread is there, so it is the sum over CPUs that has to be whole.
        """
        enabled = max((window[0] for window in self.windows.values()), default=0)
        running = sum(window[1] for window in self.windows.values())
        return running < _WHOLE * enabled - _SHORT_NS

    def saw(self, cpu: int, reading: Reading) -> None:
        """Keep the latest reading of the set of a CPU."""
        before = self.windows.get(cpu)
        if before is None or reading.enabled >= before[0]:
            self.windows[cpu] = (reading.enabled, reading.running)

    def shrink(self, name: str) -> None:
        """Become what ended threads of a name are put together in."""
        self.pid = self.tid = self.root = -1
        self.name = name

    def mark(self) -> Mark:
        """What it has done so far, to be subtracted later; the same one while nothing is added, as of who ended."""
        totals = tuple(self.totals)
        if self._marked is None or self._marked.totals != totals or self._marked.migrations != self.migrations:
            self._marked = Mark(totals, self.migrations, dict(self.loads))
        return self._marked

    @property
    def cpus(self) -> set[int]:
        """Where it was seen."""
        return {cpu for cpu in range(self.places.bit_length()) if self.places >> cpu & 1}

    def settle(self) -> None:
        """It has ended and its last counts have come: what says whether it is complete is kept only where it is not."""
        if not self.incomplete:
            self.windows.clear()

    def swallow(self, other: Account) -> None:
        """Take over what an ended thread did."""
        self.totals = [mine + more for mine, more in zip(self.totals, other.totals, strict=True)]
        self.samples += other.samples
        self.places |= other.places
        self.migrations += other.migrations
        self.threads += other.threads
        for cpu, load in other.loads.items():
            self.loads[cpu] = self.loads.get(cpu, 0) + load


@dataclass(frozen=True, slots=True)
class Mark:
    """Totals of an account at one instant."""

    totals: tuple[int, ...]
    migrations: int
    loads: dict[int, int]

    def plus(self, other: Mark) -> Mark:
        """Of two accounts that have become one."""
        cpus = self.loads.keys() | other.loads.keys()
        loads = {cpu: self.loads.get(cpu, 0) + other.loads.get(cpu, 0) for cpu in cpus}
        totals = tuple(map(sum, zip(self.totals, other.totals, strict=True)))
        return Mark(totals, self.migrations + other.migrations, loads)
