"""Report on an application over one interval: its rows, their sum, and what is in no row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.cpu_time import CPU_TIME
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.machine.tasks.sets import TaskSampling


@dataclass(frozen=True, slots=True)
class Report:
    """An application's rows over one interval, with the notes that belong to them.

    Attributes:
        application: which one.
        choice: how it is sampled.
        numerics: what FLOPs and bytes are made of.
        rows: by falling run time.
        seconds: length of the interval.
        lost: samples that found no room, since the beginning.
        throttled: times that the kernel held samples back.
        damaged: records that could not be understood.
        missed: threads of mode A that ended unseen.
        ended: whether nothing of it is left.
        error: why it is not watched; "" when it is.
        names: of what is counted; () when it is not watched.
        set_count: how many event sets are multiplexed; 1 where none is.
        early: seconds of run time that were seen in this interval and lie before it; they are in the whole run only.
        sets: counts by name over the rows, of each set while it was on.
        apart: what was counted on whole CPUs and is in no row, by what it is; see `ApplicationTotals.apart`.
        waits_lost: records of switches that found no room, of which waits are made; None where waits are not read.
        sampling: how loads are sampled, or why not; "" where nobody asked.
        used_ns: CPU time of a command that has ended, and of all that it waited for; None where that is not known.
    """

    application: Application
    choice: TaskSampling | None = None
    numerics: Numerics = field(default_factory=Numerics)
    rows: tuple[TaskRow, ...] = ()
    seconds: float = 0.0
    lost: int = 0
    throttled: int = 0
    damaged: int = 0
    missed: int = 0
    ended: bool = False
    error: str = ""
    names: tuple[str, ...] = ()
    set_count: int = 1
    early: float = 0.0
    sets: tuple[Mapping[str, int], ...] = ()
    apart: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    used_ns: int | None = None
    waits_lost: int | None = None
    sampling: str = ""

    @property
    def sums(self) -> dict[str, int]:
        """Sums over all rows of the events that every set counts."""
        known = [name for name in self.names if not any(name in row.estimated for row in self.rows)]
        return {name: sum(row.counts[name] for row in self.rows) for name in known}

    def numerics_note(self) -> str:
        """Why FLOPs or bytes are unknown; "" if they are known."""
        why = self.numerics.why
        return "" if why is None else (
            f"no {'bytes' if self.numerics.has_flops else 'FLOPs and bytes'}: {why.sentence()}")

    def sums_sentence(self) -> str:
        """Sums over all rows and counts beside them, without the events of FLOPs and bytes."""
        apart = "; ".join(f"{what} {self._listed(counts)}" for what, counts in self.apart.items()
                          if any(counts.values()))
        return f"sum of the rows: {self._listed(self.sums)}{f'; in no row: {apart}' if apart else ''}"

    def _listed(self, counts: Mapping[str, int]) -> str:
        others = (f"{name} {count}" for name, count in counts.items()
                  if name not in {RUN, CPU_TIME, *self.numerics.counters})
        return ", ".join((f"run {cpu_seconds(counts):.6f} s", *others))


def cpu_seconds(counts: Mapping[str, int]) -> float:
    """CPU seconds among counts; perf's task clock if no better clock is there."""
    return counts.get(CPU_TIME, counts.get(RUN, 0)) / 1e9
