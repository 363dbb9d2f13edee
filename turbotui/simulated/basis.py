"""The integrals from which every simulated counter is computed.

Between two changes of state all rates are constant, so each integral is exactly linear in time. A counter is a
*form*: a weighted sum over the integrals of one CPU, core or package. Two counters of one quantity (a register and a
perf event) use the same form and can therefore never disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass

Form: TypeAlias = tuple[tuple[int, float], ...]
"""(index of an integral, weight) pairs; the value is their weighted sum."""

KINDS: Final = 4
"""The number of kinds of work that a CPU may do."""
IDLE_STATES: Final = 6
"""The most cpuidle states of any simulated machine, POLL included."""

# Integrals of one CPU. Seconds unless said otherwise.
CPU_ONLINE: Final = 0
CPU_BUSY: Final = 1  # .. +KINDS-1: running work of each kind
CPU_CYCLES: Final = CPU_BUSY + KINDS  # unhalted core cycles by kind
CPU_WORK: Final = CPU_CYCLES + KINDS  # cycles by kind, less what the SMT sibling took of the core's throughput
CPU_POLL_CYCLES: Final = CPU_WORK + KINDS  # cycles burnt in the POLL idle state
CPU_IDLE: Final = CPU_POLL_CYCLES + 1  # .. +IDLE_STATES-1: cpuidle's time by state, POLL first
CPU_IOWAIT: Final = CPU_IDLE + IDLE_STATES
CPU_ARRIVALS: Final = CPU_IOWAIT + 1  # threads that migrated here, a count
CPU_C1: Final = CPU_ARRIVALS + 1  # neither in C0 nor the core in a deeper state
CPU_INTEGRALS: Final = CPU_C1 + 1

# Integrals of one core.
CORE_C3: Final = 0
CORE_C6: Final = 1
CORE_C7: Final = 2
CORE_ANY_C0: Final = 3  # at least one thread runs
CORE_JOULES: Final = 4
CORE_THROTTLED: Final = 5
CORE_THROTTLES: Final = 6  # a count
CORE_CYCLES: Final = 7  # in which at least one thread runs
CORE_INTEGRALS: Final = 8

# Integrals of one package.
PKG_SECONDS: Final = 0
PKG_C2: Final = 1
PKG_C3: Final = 2
PKG_C6: Final = 3
PKG_C7: Final = 4
PKG_C8: Final = 5
PKG_C9: Final = 6
PKG_C10: Final = 7
PKG_JOULES: Final = 8
PKG_CORES_JOULES: Final = 9
PKG_GPU_JOULES: Final = 10
PKG_RAM_JOULES: Final = 11
PKG_THROTTLED: Final = 12
PKG_THROTTLES: Final = 13  # a count
PKG_LIMITED: Final = 14  # held below the wanted frequency by a power limit
PKG_READ_BYTES: Final = 15  # from this package's DRAM
PKG_WRITTEN_BYTES: Final = 16
PKG_GPU_BUSY: Final = 17
PKG_GPU_RC6: Final = 18
PKG_ANY_C0: Final = 19
PKG_WEIGHTED_C0: Final = 20  # sum over cores, may grow faster than time
PKG_CORE_AND_GPU_C0: Final = 21
PKG_UNCORE_CYCLES: Final = 22
PKG_IO_READ_BYTES: Final = 23  # PCI Express
PKG_IO_WRITTEN_BYTES: Final = 24
PKG_INTEGRALS: Final = 25

# Integrals of the whole machine.
SYS_JOULES: Final = 0
SYS_STRAIN: Final = 1  # from here on the rates of `strain.Strain.rates`, in their order
SYS_WAITED: Final = 1  # seconds that tasks waited on the run queue of each CPU
SYS_STALLED_CPU: Final = 2  # seconds of pressure: some tasks waited, or all of them (FULL)
SYS_STALLED_MEMORY: Final = 3
SYS_STALLED_MEMORY_FULL: Final = 4
SYS_STALLED_IO: Final = 5
SYS_STALLED_IO_FULL: Final = 6
SYS_STALLED_IRQ: Final = 7
SYS_SWAPPED_IN: Final = 8  # pages
SYS_SWAPPED_OUT: Final = 9
SYS_MAJOR_FAULTS: Final = 10
SYS_DIRECT_RECLAIMS: Final = 11
SYS_OOM_KILLS: Final = 12
SYS_PERIODS: Final = 13  # of the own control group's quota
SYS_THROTTLED: Final = 14
SYS_PSYS_JOULES: Final = 15  # what RAPL's psys counts of SYS_JOULES
SYS_CARD_JOULES: Final = 16  # of a graphics card
SYS_NPU_BUSY: Final = 17  # seconds
SYS_INTEGRALS: Final = 18


class Basis:
    """The integrals of one CPU, core, package or machine: values at `since`, and their rates from then on."""

    __slots__ = ("rate", "since", "start")

    def __init__(self, count: int) -> None:
        self.start: list[float] = [0.0] * count
        self.rate: list[float] = [0.0] * count
        self.since = 0.0

    def turn(self, now: float, rate: list[float]) -> None:
        """Add the time that has passed at the old rates, and continue at new rates."""
        passed = now - self.since
        self.start = [value + speed * passed for value, speed in zip(self.start, self.rate, strict=True)]
        self.rate = rate
        self.since = now

    def at(self, index: int, now: float) -> float:
        """Return the value of one integral at a time."""
        return self.start[index] + self.rate[index] * (now - self.since)

    def value(self, form: Form, now: float) -> float:
        """Return the value of a counter at a time."""
        start, rate, passed = self.start, self.rate, now - self.since
        total = 0.0
        for index, weight in form:
            total += weight * (start[index] + rate[index] * passed)
        return total

    def age(self, seconds: float) -> None:
        """Set the integrals as if the present rates had held for `seconds` already."""
        self.start = [speed * seconds for speed in self.rate]


@dataclass(slots=True)
class Relaxation:
    """A temperature that follows its target with one time constant (a first-order RC circuit)."""

    tau: float
    target: float
    start: float
    since: float = 0.0

    def at(self, now: float) -> float:
        """The temperature at a time, by the exact solution."""
        return self.target + (self.start - self.target) * math.exp((self.since - now) / self.tau)

    def aim(self, now: float, target: float) -> None:
        """Set another target from now on."""
        if target != self.target:
            self.start = self.at(now)
            self.since = now
            self.target = target


def form_of(weights: Mapping[int, float]) -> Form:
    """Make a form, without zero terms."""
    return tuple((index, weight) for index, weight in weights.items() if weight != 0.0)


def scaled(form: Form, factor: float) -> Form:
    """The form times a number."""
    return tuple((index, weight * factor) for index, weight in form)


def sum_of(*forms: Form) -> Form:
    """The sum of forms over the same integrals."""
    weights: dict[int, float] = {}
    for form in forms:
        for index, weight in form:
            weights[index] = weights.get(index, 0.0) + weight
    return form_of(weights)
