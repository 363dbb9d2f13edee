"""What tasks did in earlier intervals, as long as somebody watched them: coarser the longer ago it is, and bounded."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.live import TaskSnapshot
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.sampling.energy import Energy

_MOST_ROWS: Final = 20_000
"""Rows of all intervals together: some 20 MB."""


@dataclass(frozen=True, slots=True)
class PastTasks:
    """The snapshot of one interval, with its time and energy.

    Attributes:
        time_ns: when it ended, in ns since 1970.
        snapshot: the tasks.
        spent: energy of the interval.
        seq: its number.
        looks: what /proc said of them.
    """

    time_ns: int
    snapshot: TaskSnapshot
    spent: Energy
    seq: int
    looks: TaskLooks = field(default_factory=lambda: TaskLooks(None))

    @property
    def size(self) -> int:
        """Rows, and one for the rest."""
        return 1 + sum(len(report.rows) for report in self.snapshot.reports)


class TaskPast:
    """Intervals in the order of time. Of too many rows those go that leave the least gap for their age."""

    def __init__(self) -> None:
        self._kept: list[PastTasks] = []
        self._rows = 0

    def keep(self, one: PastTasks) -> None:
        """Keep an interval, the newest one; the same number again replaces it."""
        if self._kept and self._kept[-1].seq == one.seq:
            self._rows -= self._kept.pop().size
        self._kept.append(one)
        self._rows += one.size
        while self._rows > _MOST_ROWS and len(self._kept) > 1:
            self._rows -= self._kept.pop(self._least_missed()).size

    def _least_missed(self) -> int:
        """Position of the interval whose neighbours are closest together, beside how long ago it was."""
        times = [kept.time_ns for kept in self._kept]
        now = times[-1] + 1
        gaps = [(after - before) / (now - at) for before, at, after in zip(times, times[1:], times[2:], strict=False)]
        return 1 + gaps.index(min(gaps)) if gaps else 0

    def at(self, start_ns: int, end_ns: int) -> PastTasks | None:
        """The last interval that ended after one time, and not after another; None if none is kept."""
        index = bisect_right(self._kept, end_ns, key=lambda kept: kept.time_ns) - 1
        found = self._kept[index] if index >= 0 else None
        return found if found is not None and found.time_ns > start_ns else None

    @property
    def first_ns(self) -> int | None:
        """When the earliest kept interval ended; None if none is kept."""
        return self._kept[0].time_ns if self._kept else None
