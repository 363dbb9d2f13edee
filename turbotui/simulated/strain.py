"""Strain: a load on a simulated machine that makes its tasks wait, and the kernel's counts of the waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.simulated import basis as b
from turbotui.simulated.basis import Form, form_of, scaled
from turbotui.simulated.kernel_counts import IOWAIT
from turbotui.simulated.workloads import WORKLOADS

PERIODS_PER_SECOND: Final = 10.0
"""The kernel's default period of quotas is 100 ms (Documentation/scheduler/sched-bwc.rst)."""


@dataclass(frozen=True, slots=True)
class Strain:
    """Waits of a machine's tasks beyond those of their work."""

    waiting: float = 0.0  # tasks that wait on the run queue of each CPU, on average
    blocked: int = 0  # tasks that wait for storage
    # memory_some, memory_full, io_some, io_full, irq_full: shares of time, below 0.95
    memory_some: float = 0.0
    memory_full: float = 0.0
    io_some: float = 0.0
    io_full: float = 0.0
    irq_full: float = 0.0
    # swapped_in, swapped_out: pages per second
    swapped_in: float = 0.0
    swapped_out: float = 0.0
    # major_faults, direct_reclaims, oom_kills: per second
    major_faults: float = 0.0
    direct_reclaims: float = 0.0
    oom_kills: float = 0.0
    available: float = 0.75  # share of memory that can still be had
    swap_free: float = 1.0  # share of swap space
    quota: float | None = None  # CPUs that the own control group may use; None: no limit
    throttled: float = 0.0  # share of the quota's periods in which it was used up

    def rates(self) -> list[float]:
        """Return the rates of the whole machine's integrals from `SYS_STRAIN` on."""
        return [self.waiting, min(0.95, self.waiting), self.memory_some, self.memory_full, self.io_some, self.io_full,
            self.irq_full, self.swapped_in, self.swapped_out, self.major_faults, self.direct_reclaims, self.oom_kills,
            0.0 if self.quota is None else PERIODS_PER_SECOND, self.throttled * PERIODS_PER_SECOND]


DELAY: Final[Form] = form_of({b.CPU_BUSY + kind: wait for kind, wait in enumerate((0.002, 0.003, 0.02, 0.03))})
"""Seconds that tasks wait on the run queue for each second of each kind of work, without any strain."""
_HELD_UP: Final[Form] = form_of(
    {b.CPU_BUSY + kind: 0.5 * (work.irq + work.softirq) for kind, work in enumerate(WORKLOADS)})

PRESSURES: Final[Mapping[tuple[str, str], tuple[Form, int]]] = {
    ("cpu", "some"): (DELAY, b.SYS_STALLED_CPU),
    ("memory", "some"): ((), b.SYS_STALLED_MEMORY),
    ("memory", "full"): ((), b.SYS_STALLED_MEMORY_FULL),
    ("io", "some"): (scaled(IOWAIT, 0.4), b.SYS_STALLED_IO),
    ("io", "full"): (scaled(IOWAIT, 0.1), b.SYS_STALLED_IO_FULL),
    ("irq", "full"): (_HELD_UP, b.SYS_STALLED_IRQ),
}
"""Pressure by file and line: a form whose mean over all CPUs is taken, and the integral of strain to add."""
