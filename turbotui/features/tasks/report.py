"""Report on an application over one interval: its rows, their sum, and what is in no row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from turbotui.dataclass import dataclass
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.cpu_time import CPU_TIME
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.parallel_columns import ParallelWindow, alone_by_name
from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.features.tasks.totals_table import EITHER_PART, IDLE_PART, OUTSIDE_PART
from turbotui.features.tasks.waits import Waits
from turbotui.machine.tasks.sets import TaskSampling
from turbotui.quantities.unavailable import Unavailable


class Apart(NamedTuple):
    """Counts of whole CPUs that are in no row."""

    counts: dict[str, int]  # by name; what lacks is unknown
    loads: dict[int, int]  # by CPU, what its energy is shared by, as `TaskRow.loads`; empty where that is unknown


@dataclass(frozen=True, slots=True)
class Report:
    """An application's rows over one interval, with the notes that belong to them."""

    application: Application
    choice: TaskSampling | None = None
    numerics: Numerics = field(default_factory=Numerics)  # what FLOPs and bytes are made of
    rows: tuple[TaskRow, ...] = ()  # by falling run time
    seconds: float = 0.0  # length of the interval
    lost: int = 0  # samples that found no room, since the beginning
    throttled: int = 0  # times that the kernel held samples back
    damaged: int = 0  # records that could not be understood
    missed: int = 0  # threads of mode A that ended unseen
    ended: bool = False  # whether nothing of it is left
    error: str = ""  # why it is not watched; "" when it is
    names: tuple[str, ...] = ()  # of what is counted; () when it is not watched
    set_count: int = 1  # how many event sets are multiplexed; 1 where none is
    # seconds of run time that were seen in this interval and lie before it; they are in the whole run only
    early: float = 0.0
    sets: tuple[Mapping[str, int], ...] = ()  # counts by name over the rows, of each set while it was on
    # what was counted on whole CPUs and is in no row, by what it is
    apart: Mapping[str, Apart] = field(default_factory=dict)
    # CPU time of a command that has ended, and of all that it waited for; None where that is not known
    used_ns: int | None = None
    # records of switches that found no room, of which waits are made; None where waits are not read
    waits_lost: int | None = None
    sampling: str = ""  # how loads are sampled, or why not; "" where nobody asked
    cpu_waits: Mapping[int, Waits] = field(default_factory=dict)  # waits that ended on each CPU
    parallel: ParallelWindow | None = None  # what wall-clock shares are shares of; None where nobody asked
    # why tasks outside what may be seen are in no row; None where all are seen that were asked for
    unseen: Unavailable | None = None

    @property
    def sums(self) -> dict[str, int]:
        """Sums over all rows of the events that every set counts."""
        known = [name for name in self.names if not any(name in row.estimated for row in self.rows)]
        return {name: sum(row.counts[name] for row in self.rows) for name in known}

    def unseen_note(self, *, remedy: bool = True) -> str:
        """How much tasks ran that may not be seen, why, and what would show them; "" if all are seen."""
        if self.unseen is None:
            return ""
        why = self.unseen.sentence() if remedy else self.unseen.detail
        apart = {what: cpu_seconds(part.counts) for what, part in self.apart.items()}
        whole = cpu_seconds(self.sums) + math.fsum(apart.values())
        parts = (f"{what}: {apart[what]:.3f} s, {apart[what] / whole:.0%} of the CPUs' time"
                 for what in (OUTSIDE_PART, EITHER_PART) if whole and apart.get(what))
        return f"{'; '.join(parts) or f'{OUTSIDE_PART}: nothing'} ({why})"

    def numerics_note(self) -> str:
        """Why FLOPs or bytes are unknown; "" if they are known."""
        why = self.numerics.why
        return "" if why is None else (
            f"no {'bytes' if self.numerics.has_flops else 'FLOPs and bytes'}: {why.sentence()}")

    @property
    def serial_part(self) -> str:
        """Who ran alone for what share of the time, or why that is unknown; "" if nobody asked, or nothing ran."""
        if self.parallel is None:
            return ""
        return self.parallel.sentence(alone_by_name((row.name, row.parallel) for row in self.rows))

    def sums_sentence(self) -> str:
        """Sums over all rows and counts beside them, without the events of FLOPs and bytes."""
        apart = "; ".join(f"{what} {self._listed(part.counts)}" for what, part in self.apart.items()
                          if any(part.counts.values()))
        return f"sum of the rows: {self._listed(self.sums)}{f'; in no row: {apart}' if apart else ''}"

    def _listed(self, counts: Mapping[str, int]) -> str:
        others = (f"{name} {count}" for name, count in counts.items()
                  if name not in {RUN, CPU_TIME, *self.numerics.counters})
        return ", ".join((f"run {cpu_seconds(counts):.6f} s", *others))


def cpu_seconds(counts: Mapping[str, int]) -> float:
    """CPU seconds among counts; perf's task clock if no better clock is there."""
    return counts.get(CPU_TIME, counts.get(RUN, 0)) / 1e9


def idle_apart(apart: Mapping[str, Apart], idle_ns: int | None, *, by_cycles: bool) -> dict[str, Apart]:
    """Tell the idle task from tasks that perf has no number for, of which it says the same.

    Args:
        apart: what was counted on whole CPUs and is in no row.
        idle_ns: for how long the CPUs idled; None where that is unknown.
        by_cycles: whether loads are cycles, of which the idle task has next to none.

    Returns:
        The run time of both, because other counts are of both together; all counts of both as one where the idle time
        is unknown.
    """
    parts, nothing = dict(apart), Apart({RUN: 0}, {})
    either, outside = parts.pop(IDLE_PART, nothing), parts.pop(OUTSIDE_PART, nothing)
    if idle_ns is None:
        return parts | {EITHER_PART: either, OUTSIDE_PART: outside}
    both = either.counts[RUN]
    idle = min(idle_ns, both)
    idle_loads = {} if by_cycles else {cpu: load * idle // both for cpu, load in either.loads.items() if both}
    loads = {cpu: either.loads.get(cpu, 0) + outside.loads.get(cpu, 0) - idle_loads.get(cpu, 0)
             for cpu in {**either.loads, **outside.loads}}
    return parts | {IDLE_PART: Apart({RUN: idle}, idle_loads),
                    OUTSIDE_PART: Apart({RUN: both - idle + outside.counts[RUN]}, loads)}


def rest_apart(rest_ns: int, idle_ns: int | None, cpus: Sequence[int], word: str) -> dict[str, Apart]:
    """Divide the time of CPUs that no row has, with loads as if it were the same on each.

    Args:
        idle_ns: for how long the CPUs idled; None where that is unknown.
        word: what was not idle.
    """
    idle = min(rest_ns, idle_ns or 0)
    parts = {EITHER_PART: rest_ns} if idle_ns is None else {IDLE_PART: idle, word: rest_ns - idle}
    return {what: Apart({RUN: ns}, dict.fromkeys(cpus, ns // max(1, len(cpus)))) for what, ns in parts.items()}
