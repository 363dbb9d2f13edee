"""The table of roofline points: one row for each row of the machine, or thread, and interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.live import RooflinePoint
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

NO_BYTES: Final = Unavailable(Reason.NOT_READ, "the bytes that cores load and store are not known here",
                              "give the width of an access: --width BYTES")
_NO_ACCESS: Final = Unavailable(Reason.OUT_OF_RANGE, "nothing was loaded or stored")
_NOT_SCHEDULED: Final = Unavailable(Reason.NEVER_RAN, "the task did not run while the sets for bytes counted")
NO_WIDTHS: Final = Unavailable(Reason.NOT_READ, "the widths of floating-point instructions are not counted")
_SEVERAL: Final = Unavailable(Reason.NOT_READ, "bytes come in several ways, or are not known")
SCALED: Final = frozenset({"flop/byte", "GFLOP/s", "GB/s"})
"""The units of values computed from counts, which may be estimates."""


@dataclass(frozen=True, slots=True)
class _Numbered:
    number: int
    point: RooflinePoint


_COLUMNS: Final[tuple[Column[_Numbered], ...]] = (
    Column("name", "", -1, (), lambda row: row.point.name,
           help="name of the row: machine, cpu 3, a command", identity=True),
    Column("interval", "", 0, (), lambda row: row.number, help="number of the interval, from 1", identity=True),
    Column("end", "s", 6, (), lambda row: row.point.seconds, help="end of the interval, from the start of the first"),
    Column("AI", "flop/byte", 6, (), lambda row: row.point.intensity, help="arithmetic intensity"),
    Column("GFLOP/s", "GFLOP/s", 6, (), lambda row: row.point.gflops, help="floating-point operations"),
    Column("GB/s", "GB/s", 6, (), lambda row: row.point.gbytes, help="bytes that its cores load and store"),
    Column("width", "", -1, (), lambda row: row.point.dominant or None,
           help="vector width of most floating-point instructions"),
    Column("bytes by", "", -1, (), lambda row: None if row.point.width is None else row.point.width.value,
           help="conversion of accesses to bytes"),
    Column("length", "s", 9, (), lambda row: row.point.length,
           help="length of the interval, or run time of the thread in it; times a rate, it gives operations or bytes"),
    Column("rates per", "", -1, (),
           lambda row: "second of the thread's run time" if row.point.task else "second of the interval",
           help="time that a second of GFLOP/s and GB/s means"),
)


def why_unplaced(point: RooflinePoint) -> Unavailable | None:
    """Return why a point has no intensity; None if it has one."""
    if point.intensity is not None:
        return None
    return _NOT_SCHEDULED if point.not_scheduled else NO_BYTES if point.gbytes is None else _NO_ACCESS


def judge_point(column: Column[Any], point: RooflinePoint, value: Value) -> Cell:
    """Return a value of a point with its marks, or the reason why it is unknown."""
    if value is not None:
        counted = column.unit in SCALED
        return Cell(value, point.lacking if counted else None, estimated=counted and point.estimated,
                    partial=counted and point.lacking is not None)
    if column.id == "width":
        return Cell(None, NO_WIDTHS)
    return Cell(None, _SEVERAL if column.id == "bytes by" else why_unplaced(point))


def point_table(points: Iterable[RooflinePoint]) -> AnyTable:
    """Make the table of points of any level, oldest first."""
    seen: Counter[object] = Counter()
    rows = []
    for point in points:
        seen[point.identity] += 1
        rows.append(_Numbered(seen[point.identity], point))
    return RowTable("roofline", "point", _COLUMNS, rows,
                    lambda column, row, value: judge_point(column, row.point, value))
