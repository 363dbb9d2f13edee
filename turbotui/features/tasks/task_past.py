"""The past of watched tasks, bounded in size: the older, the coarser."""

from __future__ import annotations

from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.features.tasks.live import TaskSnapshot
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.sampling.energy import Energy
from turbotui.sampling.kept_intervals import KeptIntervals


@dataclass(frozen=True, slots=True)
class PastTasks:
    """A snapshot of one interval, with its time and energy."""

    time_ns: int  # when it ended, in ns since 1970
    snapshot: TaskSnapshot
    spent: Energy  # energy of the interval
    seq: int  # its number
    looks: TaskLooks = field(default_factory=lambda: TaskLooks(None))  # what /proc said of them

    @property
    def size(self) -> int:
        """Rows, and one for the rest."""
        return 1 + sum(len(report.rows) for report in self.snapshot.reports)


class TaskPast(KeptIntervals[PastTasks]):
    """Earlier intervals of watched tasks."""
