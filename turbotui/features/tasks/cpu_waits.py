"""The table of waits for each CPU: how long threads waited that got it, and who ran on it meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.fact_columns import MeasuredCell
from turbotui.features.tasks.waits import TAILS, WAIT_BY_ID, Waits
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import Cell, RowTable

CPU_WAITS: Final = "cpu-waits"
"""The name of the table."""


@dataclass(frozen=True, slots=True)
class CpuWaits:
    """The waits that ended on a CPU, with their whole lengths."""

    cpu: int
    waits: Waits
    seconds: float  # of the interval

    def cell(self, column: str) -> MeasuredCell:
        """The value of a column of waits."""
        return WAIT_BY_ID[column].of(self.waits, self.seconds)


def _value(row: CpuWaits, *, column: str) -> Value:
    return row.cell(column).value


_SAME: Final = (*(name for name, _words, _share in TAILS), "WaitMax", "Behind")
_COLUMNS: Final[tuple[Column[CpuWaits], ...]] = (
    Column("CPU", "", 0, (), lambda row: row.cpu, width=4, identity=True, help="the CPU's number"),
    Column("Waits", "", 0, (), lambda row: 0 if row.waits.waited is None else row.waits.waited.times, width=8,
           help="waits for a CPU that ended on this one; without wake-ups those after being pushed off alone"),
    *(Column[CpuWaits](fact.id, fact.unit, fact.decimals, (), partial(_value, column=fact.id), width=fact.width,
                       help=fact.help, document=fact.document) for fact in map(WAIT_BY_ID.__getitem__, _SAME)),
)


def _judged(column: Column[CpuWaits], row: CpuWaits, value: Value) -> Cell:
    if column.id not in _SAME:
        return Cell(value)
    cell = row.cell(column.id)
    return Cell(value, cell.why if value is None else None, estimated=cell.estimated)


def cpu_wait_table(waits: Mapping[int, Waits], seconds: float) -> RowTable[CpuWaits]:
    """A row for each CPU on which waits ended."""
    rows = tuple(CpuWaits(cpu, cpu_waits, seconds) for cpu, cpu_waits in waits.items())
    return RowTable(CPU_WAITS, "CPU", _COLUMNS, rows, _judged)
