"""The columns of task tables, one table row each; text, JSON and the screen are generated from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.features.tasks.cpu_time import CPU_TIME
from turbotui.features.tasks.energy import METHOD, UNITS
from turbotui.features.tasks.fact_columns import FIRST_FACTS, LAST_FACTS, PROC, MeasuredCell, MeasuredFact, TaskFact
from turbotui.features.tasks.loads import LOAD_BY_ID, LOAD_FACTS, LOADS
from turbotui.features.tasks.loads import NOT_YET as NOT_SAMPLED
from turbotui.features.tasks.memory_places import (
    MAP_BY_ID,
    MAP_FACTS,
    MAPS,
    MOVE_BY_ID,
    MOVE_FACTS,
    nodes_where_it_ran,
)
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.parallel_columns import (
    PARALLEL,
    PARALLEL_BY_ID,
    PARALLEL_FACTS,
    ParallelWindow,
    parallel_cell,
)
from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.thread_totals import RUN, RUN_MEANING, SWITCHES
from turbotui.features.tasks.waits import NOT_YET, WAIT, WAIT_BY_ID, WAIT_FACTS, wait_cell
from turbotui.machine.tasks.proc_facts import TaskFacts, TaskLooks
from turbotui.quantities.columns import PERCENT, Column, Value
from turbotui.quantities.unavailable import Reason, Unavailable

TIMES: Final = frozenset({RUN, CPU_TIME})
"""Counts in ns."""
STANDARD: Final = TIMES | {SWITCHES, "instructions", "cycles", "cache-misses", "faults"}
"""Counters that have columns of their own."""


@dataclass(frozen=True, slots=True)
class TaskInputs:
    """A task row and everything that its columns are computed from."""

    row: TaskRow  # of the interval
    seconds: float  # length of the interval
    numerics: Numerics = field(default_factory=Numerics)  # for FLOPs and bytes
    joules: float | None = None  # the row's share of the energy, None where it cannot be had
    looks: TaskLooks = field(default_factory=lambda: TaskLooks(None))  # what /proc said of the tasks of the interval
    window: ParallelWindow | None = None  # what wall-clock shares are shares of; None where nobody asked

    @property
    def facts(self) -> TaskFacts | Unavailable:
        """Facts about the row's task from /proc, read on first use."""
        return SEVERAL if self.row.pid is None else self.looks.at(self.row.pid, self.row.tid)

    @property
    def nodes(self) -> frozenset[int]:
        """The NUMA nodes where the row ran; empty where nobody knows."""
        return nodes_where_it_ran(self.row.loads, self.row.last_cpu, self.looks.node_of)

    def rate(self, name: str) -> float | None:
        """A count per second."""
        count = self.row.counts.get(name)
        return None if count is None or self.seconds <= 0 else count / self.seconds


SEVERAL: Final = Unavailable(Reason.NOT_READ, "the row is of several processes")
"""Why a row has nothing that /proc says of one process."""

TaskColumn: TypeAlias = Column[TaskInputs]
"""A column of tables of tasks.

`needs` are counters that it is made of, and the words `FLOP`, `BYTE` and `ENERGY` for those of metrics or a meter
gives.
"""


def _percent(inputs: TaskInputs) -> Value:
    return None if inputs.seconds <= 0 else 100 * inputs.row.run_seconds / inputs.seconds


def _scaled(name: str, factor: float) -> Callable[[TaskInputs], Value]:
    def compute(inputs: TaskInputs) -> Value:
        rate = inputs.rate(name)
        return None if rate is None else rate * factor

    return compute


def _gigahertz(inputs: TaskInputs) -> Value:
    cycles, run = inputs.row.counts.get("cycles"), inputs.row.counts[RUN]
    return None if cycles is None or not run else cycles / run  # cycles in a ns


def _flops(inputs: TaskInputs) -> Value:
    value = inputs.numerics.flops(inputs.row.counts)
    return None if value is None or inputs.seconds <= 0 else value / inputs.seconds / 1e9


def _bytes(inputs: TaskInputs) -> Value:
    value = inputs.numerics.bytes(inputs.row.counts)
    return None if value is None or inputs.seconds <= 0 else value / inputs.seconds / 1e9


def _watts(inputs: TaskInputs) -> Value:
    return None if inputs.joules is None or inputs.seconds <= 0 else inputs.joules / inputs.seconds


def _fact_column(fact: TaskFact) -> TaskColumn:
    """Make the column of a fact from /proc."""
    def compute(inputs: TaskInputs) -> Value:
        facts = inputs.facts
        return None if isinstance(facts, Unavailable) else fact.of(facts)

    return TaskColumn(fact.id, fact.unit, fact.decimals, (PROC,), compute, width=fact.width, priority=fact.priority,
                      default=fact.default, help=fact.help)


def _measured_column(fact: MeasuredFact[Any, Any], need: str) -> TaskColumn:
    """Make a column of what is measured only while it is shown."""
    return TaskColumn(fact.id, fact.unit, fact.decimals, (need,), lambda i: measured(fact.id, i).value,
                      width=fact.width, priority=2, default=False, help=fact.help, document=fact.document,
                      accumulates=fact.accumulates)


_CPUS: Final = 6


def _cpus(inputs: TaskInputs) -> Value:
    row = inputs.row
    if row.threads == 1 and row.last_cpu >= 0:
        return str(row.last_cpu)
    text = cpu_ranges(row.cpus)
    return text if len(text) <= _CPUS else f"({len(row.cpus)})"


def cpu_ranges(cpus: tuple[int, ...]) -> str:
    """Write CPU numbers as ranges: 1,2,3,7 as 1-3,7."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in parts)


ENERGY: Final = "energy"
FLOP: Final = "flop"
DOUBLE_FLOP: Final = "double flop"
BYTE: Final = "byte"

TASK_COLUMNS: Final[tuple[TaskColumn, ...]] = (
    TaskColumn("Unit", "", -1, (), lambda i: i.row.name, width=30, priority=0, identity=True,
               help="the container, pod, job or unit, by the path of its control group"),
    TaskColumn("App", "", -1, (), lambda i: i.row.application, width=8, priority=1, identity=True,
               help="application that the row belongs to"),
    TaskColumn("PID", "", 0, (), lambda i: i.row.pid, width=7, priority=0, identity=True,
               help="process id; — if the row has several processes"),
    TaskColumn("TID", "", 0, (), lambda i: i.row.tid, width=7, priority=2, identity=True,
               help="thread id; — if the row has several threads"),
    TaskColumn("Thr", "", 0, (), lambda i: i.row.threads, width=4, priority=4, identity=True,
               help="number of the row's threads that were seen since watching began and did not end before the "
                    "interval; over several intervals the most of one of them"),
    TaskColumn("Command", "", -1, (), lambda i: i.row.name, width=15, priority=0, identity=True,
               help="name of the thread, or of the row's first thread"),
    *map(_fact_column, FIRST_FACTS),
    TaskColumn("CPU", "", -1, (RUN,), _cpus, width=_CPUS, priority=2,
               help="CPU of the last run; of several threads all CPUs on which they ran, or in brackets the "
                    "number of CPUs"),
    TaskColumn("CPU%", "%", 1, (CPU_TIME,), _percent, width=6, priority=0, scale=PERCENT,
               help=f"CPU time in the interval; 100 is one CPU. It is {RUN_MEANING}"),
    TaskColumn("Run_s", "s", 3, (CPU_TIME,), lambda i: None if i.row.whole_run is None else i.row.whole_run / 1e9,
               width=9, priority=3, help="CPU time since watching began, by the same clock as CPU%"),
    *(_measured_column(fact, PARALLEL) for fact in PARALLEL_FACTS),
    TaskColumn("Switch/s", "/s", 0, (SWITCHES,), _scaled(SWITCHES, 1.0), width=8, priority=2,
               help="number of times that it left its CPU, to wait or because it was preempted"),
    TaskColumn("Migr/s", "/s", 1, (SWITCHES,), lambda i: i.row.migrations / i.seconds if i.seconds > 0 else None,
               width=7, priority=3, help="number of times that it continued on another CPU, by its samples"),
    TaskColumn("IPC", "", 2, ("instructions", "cycles"), lambda i: i.row.ipc, width=5, priority=0,
               help="instructions per cycle"),
    TaskColumn("GIPS", "GIPS", 3, ("instructions",), _scaled("instructions", 1e-9), width=7, priority=3,
               help="instructions per second"),
    TaskColumn("GHz", "GHz", 2, ("cycles",), _gigahertz, width=5, priority=4,
               help="cycles per second of counted time (Clock_s)"),
    # arch/x86/events/{intel,amd}/core.c, drivers/perf/arm_pmuv3.c: 0x412e LONGEST_LAT_CACHE.MISS, 0x0964 (L2), 0x03
    # L1D_CACHE_REFILL
    TaskColumn("Miss/s", "M/s", 2, ("cache-misses",), _scaled("cache-misses", 1e-6), width=8, priority=3,
               help="the kernel's cache-misses: of the last level on Intel, of L2 on AMD, of L1 data on Arm"),
    TaskColumn("GFLOP/s", "GFLOP/s", 3, (FLOP,), _flops, width=8, priority=1,
               help="floating-point operations a second, by the core's metric definition"),
    TaskColumn("DPGF/s", "GFLOP/s", 3, (DOUBLE_FLOP,), _flops, width=8, priority=1,
               help="floating-point operations in double precision a second; events of other precisions found "
                    "no counter"),
    TaskColumn("GB/s", "GB/s", 2, (BYTE,), _bytes, width=7, priority=2,
               help="loads and stores of the core a second, by the core's metric definition"),
    TaskColumn("~Watt", "W", 2, (ENERGY,), _watts, width=7, priority=1,
               help=METHOD.format(unit=UNITS)),
    TaskColumn("Fault/s", "/s", 0, ("faults",), _scaled("faults", 1.0), width=7, priority=6,
               help="page faults"),
    *map(_fact_column, LAST_FACTS),
    *(_measured_column(fact, WAIT) for fact in WAIT_FACTS),
    *(_measured_column(fact, LOADS) for fact in LOAD_FACTS),
    *(_measured_column(fact, MAPS) for fact in MAP_FACTS),
    *(_measured_column(fact, MAPS) for fact in MOVE_FACTS),
    # the counts behind the rates above, for sums
    TaskColumn("Time_s", "s", 6, (CPU_TIME,), lambda i: i.row.run_seconds, width=12, default=False,
               accumulates=True, help="CPU time in the interval"),
    TaskColumn("Clock_s", "s", 6, (RUN,), lambda i: i.row.counts[RUN] / 1e9, width=12, default=False,
               accumulates=True,
               help="time in the interval for which its counters counted, by perf's task clock; the divisor of GHz"),
    TaskColumn("Migrations", "", 0, (SWITCHES,), lambda i: i.row.migrations, width=10, default=False,
               accumulates=True, help="number of times that it continued on another CPU, by its samples"),
    TaskColumn("FLOP", "FLOP", 0, (FLOP,), lambda i: i.numerics.flops(i.row.counts), width=14, default=False,
               accumulates=True, help="floating-point operations in the interval"),
    TaskColumn("DPFLOP", "FLOP", 0, (DOUBLE_FLOP,), lambda i: i.numerics.flops(i.row.counts), width=14, default=False,
               accumulates=True, help="floating-point operations in double precision in the interval"),
    TaskColumn("Bytes", "B", 0, (BYTE,), lambda i: i.numerics.bytes(i.row.counts), width=14, default=False,
               accumulates=True, help="loads and stores of the core in the interval"),
    TaskColumn("~J", "J", 3, (ENERGY,), lambda i: i.joules, width=9, default=False,
               accumulates=True, help=METHOD.format(unit=UNITS)),
    TaskColumn("CPUs", "", -1, (RUN,), lambda i: cpu_ranges(i.row.cpus), width=9, default=False,
               help="every CPU on which it was seen"),
)
"""From left to right."""


def names_of_columns(_session: object) -> Sequence[str]:
    """The names of all columns, by which / finds them."""
    return [column.id for column in TASK_COLUMNS]


def is_estimate(column: TaskColumn, inputs: TaskInputs) -> bool:
    """Whether a cell is an estimate: its counts were multiplexed, or its clock reads too low."""
    if CPU_TIME in column.needs:
        return inputs.row.guessed
    if column.id in MEASURED:
        return measured(column.id, inputs).estimated
    estimated = inputs.row.estimated
    if {FLOP, DOUBLE_FLOP, BYTE}.isdisjoint(column.needs):
        return not estimated.isdisjoint(column.needs)
    return not estimated.isdisjoint(inputs.numerics.counted)


MEASURED: Final = WAIT_BY_ID.keys() | LOAD_BY_ID.keys() | PARALLEL_BY_ID.keys() | MAP_BY_ID.keys() | MOVE_BY_ID.keys()
"""Names of columns of what is measured only while one of them is shown."""


def measured(column: str, inputs: TaskInputs) -> MeasuredCell:
    """The value of a column of waits, parallelism, sampled loads or memory by node, or why it is unknown."""
    if column in MAP_BY_ID or column in MOVE_BY_ID:
        return _memory_cell(column, inputs)
    if column in PARALLEL_BY_ID:
        return parallel_cell(column, inputs.row.parallel, inputs.window)
    waits, loads = inputs.row.waits, inputs.row.sampled
    if column in WAIT_BY_ID:
        return MeasuredCell(None, NOT_YET) if waits is None else wait_cell(column, waits, inputs.seconds)
    if loads is None or loads.counts is None:
        return MeasuredCell(None, NOT_SAMPLED if loads is None else loads.why)
    ghz = _gigahertz(inputs)
    return LOAD_BY_ID[column].of(loads.counts, ghz if isinstance(ghz, float) else None)._replace(partial=loads.partial)


def _memory_cell(column: str, inputs: TaskInputs) -> MeasuredCell:
    if inputs.row.pid is None:
        return MeasuredCell(None, SEVERAL)
    if column in MOVE_BY_ID:
        moved = inputs.looks.moved_for(inputs.row.pid, inputs.row.tid)
        return MeasuredCell(None, moved) if isinstance(moved, Unavailable) else MOVE_BY_ID[column].of(moved, None)
    memory = inputs.looks.memory_of(inputs.row.pid)
    return MeasuredCell(None, memory) if isinstance(memory, Unavailable) else MAP_BY_ID[column].of(memory, inputs.nodes)


NOT_ALL_ROWS: Final = Unavailable(
    Reason.NOT_READ, "some of the row's threads did not run in one of the intervals, or have a row with others: what "
    "all of them ran since watching began is not known")
"""Why a row does not tell its CPU time since watching began."""
NOT_SCHEDULED: Final = "did not run while the set that counts it was on"
"""Why a row lacks a number that other rows have."""


def was_not_scheduled(column: TaskColumn, inputs: TaskInputs) -> bool:
    """Whether a cell is unknown because the row did not run while its event set was active."""
    unseen = inputs.row.unseen
    if not unseen or column.compute(inputs) is not None:
        return False
    made = not {FLOP, DOUBLE_FLOP, BYTE}.isdisjoint(column.needs)
    return not unseen.isdisjoint(inputs.numerics.counted if made else column.needs)


def extra_columns(names: tuple[str, ...], definition: frozenset[str] = frozenset()) -> tuple[TaskColumn, ...]:
    """Columns for the counters asked for by name."""
    return tuple(TaskColumn(f"{name}/s", "/s", 0, (name,), _scaled(name, 1.0), width=max(9, len(name) + 2), priority=2,
                            help=f"{name}, as asked for") for name in names if name not in STANDARD | definition)


def count_columns(names: tuple[str, ...]) -> tuple[TaskColumn, ...]:
    """Columns of raw counts, one for every counter of a set."""
    def count(name: str) -> TaskColumn:
        return TaskColumn(name, "", 0, (name,), lambda i: i.row.counts.get(name), width=12, default=False,
                          help=f"{name} in the interval")

    return tuple(count(name) for name in names if name not in TIMES)


def why_missing(column: TaskColumn, names: tuple[str, ...], numerics: Numerics,
                energy: Unavailable | None) -> Unavailable | None:
    """The reason why a column is empty for an application; None if it is not."""
    for need in column.needs:
        if need in (CPU_TIME, PROC, WAIT, LOADS, PARALLEL, MAPS):
            return None  # perf's task clock at least; of the others each row says something, or why not
        if need == ENERGY:
            return energy
        if need == BYTE:
            return None if numerics.has_bytes else numerics.why
        if need in (FLOP, DOUBLE_FLOP) and numerics.double_only is (need == DOUBLE_FLOP):
            return None if numerics.has_flops else numerics.why
        if need in (FLOP, DOUBLE_FLOP):
            return _OTHER_PRECISION[need]
        if need not in names and numerics.refused is not None:
            return numerics.refused
        if need not in names and need in ("instructions", "cycles", "cache-misses") and "cycles" in names:
            return Unavailable(Reason.IN_USE, f"{need} found no counter beside the others, or was not asked for",
                               f"ask for it by the event {need}")
        if need not in names:
            return _NOT_COUNTED.get(need, Unavailable(Reason.NOT_READ, f"{need} is not counted"))
    return None


_OTHER_PRECISION: Final[Mapping[str, Unavailable]] = {
    FLOP: Unavailable(Reason.IN_USE, "only the events of double precision found counters: see DPGF/s",
                      "ask for the event flops"),
    DOUBLE_FLOP: Unavailable(Reason.NOT_READ, "all precisions are counted together: see GFLOP/s",
                             "ask for the event double, which counts double precision and bytes"),
}
_NO_PMU: Final = Unavailable(
    Reason.NO_HARDWARE, "no core PMU answers here, or other events were chosen",
    "ask the host of a virtual machine to pass the PMU through; turbotui events says what counts")
_NOT_COUNTED: Final[Mapping[str, Unavailable]] = {
    "instructions": _NO_PMU,
    "cycles": _NO_PMU,
    "cache-misses": _NO_PMU,
    SWITCHES: Unavailable(Reason.NOT_PERMITTED, "kernel.perf_event_paranoid hides switches from this user",
                          "run as root, or with CAP_PERFMON"),
    "faults": Unavailable(Reason.NOT_READ, "page faults are counted for whole CPUs only: each counter makes every "
                          "switch of a watched thread dearer", "ask for the event faults"),
}
