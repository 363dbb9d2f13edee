"""The columns of tables of tasks: one row each; text, JSON and the screen walk this table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from turbotui.analysis.tasks.accounts import RUN, SWITCHES
from turbotui.analysis.tasks.energy import METHOD
from turbotui.analysis.tasks.numerics import Numerics
from turbotui.analysis.tasks.tables import TaskRow
from turbotui.quantities.columns import Value
from turbotui.quantities.unavailable import Reason, Unavailable

STANDARD: Final = frozenset({RUN, SWITCHES, "instructions", "cycles", "cache-misses", "faults"})
"""Counters that have columns of their own."""


@dataclass(frozen=True, slots=True)
class TaskInputs:
    """What a column may use.

    Attributes:
        row: of the interval.
        seconds: length of the interval.
        numerics: for FLOPs and bytes.
        joules: the row's share of the energy, None where it cannot be had.
    """

    row: TaskRow
    seconds: float
    numerics: Numerics = field(default_factory=Numerics)
    joules: float | None = None

    def rate(self, name: str) -> float | None:
        """A count per second."""
        count = self.row.counts.get(name)
        return None if count is None or self.seconds <= 0 else count / self.seconds


@dataclass(frozen=True, slots=True)
class TaskColumn:
    """One column.

    Attributes:
        id: its name, and what stands above it.
        unit: of its numbers.
        decimals: fixed; -1 for texts.
        width: of the widest value.
        compute: the cell; None is unknown.
        needs: counters that it is made of: "any" word of `NUMERIC` for those that a recipe or a meter gives.
        help: a sentence.
        rank: 0 stays longest in a narrow table.
        identity: says which row it is rather than what it does.
    """

    id: str
    unit: str
    decimals: int
    width: int
    compute: Callable[[TaskInputs], Value]
    needs: tuple[str, ...]
    help: str
    rank: int = 5
    identity: bool = False

    @property
    def title(self) -> str:
        """What stands above it."""
        return self.id


def _percent(inputs: TaskInputs) -> Value:
    rate = inputs.rate(RUN)
    return None if rate is None else rate / 1e7  # ns a second to percent


def _scaled(name: str, factor: float) -> Callable[[TaskInputs], Value]:
    def compute(inputs: TaskInputs) -> Value:
        rate = inputs.rate(name)
        return None if rate is None else rate * factor

    return compute


def _gigahertz(inputs: TaskInputs) -> Value:
    cycles, run = inputs.row.counts.get("cycles"), inputs.row.counts[RUN]
    return None if cycles is None or not run else cycles / run  # cycles in a ns


def _flops(inputs: TaskInputs) -> Value:
    found = inputs.numerics.flops(inputs.row.counts)
    return None if found is None or inputs.seconds <= 0 else found / inputs.seconds / 1e9


def _bytes(inputs: TaskInputs) -> Value:
    found = inputs.numerics.bytes(inputs.row.counts)
    return None if found is None or inputs.seconds <= 0 else found / inputs.seconds / 1e9


def _watts(inputs: TaskInputs) -> Value:
    return None if inputs.joules is None or inputs.seconds <= 0 else inputs.joules / inputs.seconds


_CPUS: Final = 6


def _cpus(inputs: TaskInputs) -> Value:
    row = inputs.row
    if row.threads == 1 and row.last_cpu >= 0:
        return str(row.last_cpu)
    text = cpu_ranges(row.cpus)
    return text if len(text) <= _CPUS else f"({len(row.cpus)})"


def cpu_ranges(cpus: tuple[int, ...]) -> str:
    """1,2,3,7 as 1-3,7."""
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
    TaskColumn("App", "", -1, 8, lambda i: i.row.application, (), "the application that it belongs to", 1, True),
    TaskColumn("PID", "", 0, 7, lambda i: i.row.pid, (), "process; — where several are in the row", 0, True),
    TaskColumn("TID", "", 0, 7, lambda i: i.row.tid, (), "thread; — where several are in the row", 2, True),
    TaskColumn("Thr", "", 0, 4, lambda i: i.row.threads, (), "threads in the row", 4, True),
    TaskColumn("Command", "", -1, 15, lambda i: i.row.name, (), "name of the thread, or of the first one", 0, True),
    TaskColumn("CPU", "", -1, _CPUS, _cpus, (SWITCHES,), "where it ran last; of several threads everywhere they ran, "
               "or in brackets on how many CPUs", 2),
    TaskColumn("CPU%", "%", 1, 6, _percent, (RUN,), "run time in the interval; 100 is one CPU", 0),
    TaskColumn("Run_s", "s", 3, 9, lambda i: i.row.whole_run / 1e9, (RUN,), "run time since watching began", 3),
    TaskColumn("Switch/s", "/s", 0, 8, _scaled(SWITCHES, 1.0), (SWITCHES,), "times it left its CPU, waiting or pushed",
               1),
    TaskColumn("Migr/s", "/s", 1, 7, lambda i: i.row.migrations / i.seconds if i.seconds > 0 else None, (SWITCHES,),
               "times it went on on another CPU, by its samples", 3),
    TaskColumn("IPC", "", 2, 5, lambda i: i.row.ipc, ("instructions", "cycles"), "instructions a cycle", 0),
    TaskColumn("GIPS", "G/s", 3, 7, _scaled("instructions", 1e-9), ("instructions",), "instructions a second", 3),
    TaskColumn("GHz", "GHz", 2, 5, _gigahertz, ("cycles",), "cycles in a second of its run time", 4),
    # arch/x86/events/{intel,amd}/core.c, drivers/perf/arm_pmuv3.c: 0x412e LONGEST_LAT_CACHE.MISS, 0x0964 (L2), 0x03
    # L1D_CACHE_REFILL
    TaskColumn("Miss/s", "M/s", 2, 8, _scaled("cache-misses", 1e-6), ("cache-misses",),
               "the kernel's cache-misses: of the last level on Intel, of L2 on AMD, of L1 data on Arm", 3),
    TaskColumn("GFLOP/s", "G/s", 3, 8, _flops, (FLOP,), "floating-point operations a second, by the core's recipe", 1),
    TaskColumn("DPGF/s", "G/s", 3, 8, _flops, (DOUBLE_FLOP,), "floating-point operations in double precision a second; "
               "the events of the others found no counter", 1),
    TaskColumn("GB/s", "GB/s", 2, 7, _bytes, (BYTE,), "loads and stores of the core a second, by the core's recipe", 2),
    TaskColumn("~Watt", "W", 2, 7, _watts, (ENERGY,), METHOD.format(unit="cycles, or busy time"), 1),
    TaskColumn("Fault/s", "/s", 0, 7, _scaled("faults", 1.0), ("faults",), "page faults", 6),
)
"""From left to right."""


def is_estimate(column: TaskColumn, inputs: TaskInputs) -> bool:
    """Whether the cell is made of counts that were not counted all the time."""
    estimated = inputs.row.estimated
    if {FLOP, DOUBLE_FLOP, BYTE}.isdisjoint(column.needs):
        return not estimated.isdisjoint(column.needs)
    return not estimated.isdisjoint(inputs.numerics.counted)


NO_TURN: Final = "did not run while the set that counts it was on"
"""Why a row lacks a number that other rows have."""


def had_no_turn(column: TaskColumn, inputs: TaskInputs) -> bool:
    """Whether a cell is unknown because the row did not run while what it is made of was counted."""
    unseen = inputs.row.unseen
    if not unseen or column.compute(inputs) is not None:
        return False
    made = not {FLOP, DOUBLE_FLOP, BYTE}.isdisjoint(column.needs)
    return not unseen.isdisjoint(inputs.numerics.counted if made else column.needs)


def extra_columns(names: tuple[str, ...], recipe: frozenset[str] = frozenset()) -> tuple[TaskColumn, ...]:
    """A column for every counter that was asked for by name."""
    return tuple(
        TaskColumn(f"{name}/s", "/s", 0, max(9, len(name) + 2), _scaled(name, 1.0), (name,), f"{name}, as asked for", 2)
        for name in names if name not in STANDARD | recipe
    )


def why_missing(column: TaskColumn, names: tuple[str, ...], numerics: Numerics,
                energy: Unavailable | None) -> Unavailable | None:
    """Why a column is empty for an application; None when it is not."""
    for need in column.needs:
        if need == ENERGY:
            return energy
        if need == BYTE:
            return None if numerics.has_bytes else numerics.why
        if need in (FLOP, DOUBLE_FLOP) and numerics.double_only is (need == DOUBLE_FLOP):
            return None if numerics.has_flops else numerics.why
        if need in (FLOP, DOUBLE_FLOP):
            return _OTHER_PRECISION[need]
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
                             "the event double counts double precision and bytes"),
}
_NO_PMU: Final = Unavailable(
    Reason.NO_HARDWARE, "no core PMU answers here, or other events were chosen",
    "on a virtual machine: ask its host to pass the PMU through; turbotui events says what counts")
_NOT_COUNTED: Final[Mapping[str, Unavailable]] = {
    "instructions": _NO_PMU,
    "cycles": _NO_PMU,
    "cache-misses": _NO_PMU,
    SWITCHES: Unavailable(Reason.NOT_PERMITTED, "kernel.perf_event_paranoid hides switches from this user",
                          "run as root, or with CAP_PERFMON"),
    "faults": Unavailable(Reason.NOT_READ, "page faults are counted for whole CPUs only: each counter makes every "
                          "switch of a watched thread dearer", "ask for the event faults"),
}
