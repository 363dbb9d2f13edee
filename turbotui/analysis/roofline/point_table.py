"""Points of the roofline as a table: a row for each row of the machine, or thread, and interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from turbotui.analysis.roofline.live import Spot
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

NO_BYTES: Final = Unavailable(Reason.NOT_READ, "the bytes that cores load and store are not known here",
                              "--width BYTES gives the width of an access")
_NO_ACCESS: Final = Unavailable(Reason.OUT_OF_RANGE, "nothing was loaded or stored")
_FEW_TURNS: Final = Unavailable(Reason.NEVER_RAN, "it ran in too few turns of the sets for its bytes")
NO_WIDTHS: Final = Unavailable(Reason.NOT_READ, "the widths of floating-point instructions are not counted")
_SEVERAL: Final = Unavailable(Reason.NOT_READ, "bytes come in several ways, or are not known")
SCALED: Final = frozenset({"flop/byte", "GFLOP/s", "GB/s"})
"""Units of what is made of counts, which may be estimates."""


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A spot, and the number of its interval among those of its row or thread, from 1."""

    number: int
    spot: Spot


_COLUMNS: Final[tuple[Column[_Numbered], ...]] = (
    Column("name", "", -1, (), lambda row: row.spot.name, help="of the row: machine, cpu 3, a command", identity=True),
    Column("interval", "", 0, (), lambda row: row.number, help="its number, from 1", identity=True),
    Column("end", "s", 6, (), lambda row: row.spot.seconds, help="of the interval, from the start of the first"),
    Column("AI", "flop/byte", 6, (), lambda row: row.spot.intensity, help="arithmetic intensity"),
    Column("GFLOP/s", "GFLOP/s", 6, (), lambda row: row.spot.gflops, help="floating-point operations"),
    Column("GB/s", "GB/s", 6, (), lambda row: row.spot.gbytes, help="bytes that its cores load and store"),
    Column("width", "", -1, (), lambda row: row.spot.dominant or None, help="of most floating-point instructions"),
    Column("bytes by", "", -1, (), lambda row: None if row.spot.width is None else row.spot.width.value,
           help="how accesses become bytes"),
    Column("length", "s", 9, (), lambda row: row.spot.length,
           help="of the interval, or how long the thread ran in it: times a rate, so many operations or bytes"),
    Column("rates per", "", -1, (),
           lambda row: "second of the thread's run time" if row.spot.task else "second of the interval",
           help="what a second of GFLOP/s and GB/s is of"),
)


def why_unplaced(spot: Spot) -> Unavailable | None:
    """Why a spot has no intensity; None where it has one."""
    if spot.intensity is not None:
        return None
    return _FEW_TURNS if spot.few_turns else NO_BYTES if spot.gbytes is None else _NO_ACCESS


def judge_spot(column: Column[Any], spot: Spot, value: Value) -> Cell:
    """One value of a spot."""
    if value is not None:
        return Cell(value, estimated=spot.estimated and column.unit in SCALED)
    if column.id == "width":
        return Cell(None, NO_WIDTHS)
    return Cell(None, _SEVERAL if column.id == "bytes by" else why_unplaced(spot))


def point_table(spots: Iterable[Spot]) -> AnyTable:
    """Spots of any level, oldest first."""
    seen: Counter[object] = Counter()
    rows = []
    for spot in spots:
        seen[spot.identity] += 1
        rows.append(_Numbered(seen[spot.identity], spot))
    return RowTable("roofline", "point", _COLUMNS, rows, lambda column, row, value: judge_spot(column, row.spot, value))
