"""Points of the roofline as a table: a row for each row of the machine, or thread, and interval."""

from __future__ import annotations

from collections.abc import Sequence
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

_COLUMNS: Final[tuple[Column[Spot], ...]] = (
    Column("name", "", -1, (), lambda spot: spot.name, help="of the row: machine, cpu 3, a command", identity=True),
    Column("end", "s", 6, (), lambda spot: round(spot.seconds, 6), help="of the interval, from the start of the first",
           identity=True),
    Column("AI", "flop/byte", 6, (), lambda spot: spot.intensity, help="arithmetic intensity"),
    Column("GFLOP/s", "GFLOP/s", 6, (), lambda spot: spot.gflops, help="floating-point operations"),
    Column("GB/s", "GB/s", 6, (), lambda spot: spot.gbytes, help="bytes that its cores load and store"),
    Column("width", "", -1, (), lambda spot: spot.dominant or None, help="of most floating-point instructions"),
    Column("bytes by", "", -1, (), lambda spot: None if spot.width is None else spot.width.value,
           help="how accesses become bytes"),
    Column("length", "s", 9, (), lambda spot: spot.length,
           help="of the interval, or how long the thread ran in it: times a rate, so many operations or bytes"),
    Column("rates per", "", -1, (),
           lambda spot: "second of the thread's run time" if spot.task else "second of the interval",
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


def point_table(spots: Sequence[Spot]) -> AnyTable:
    """Spots of any level, oldest first."""
    return RowTable("roofline", "point", _COLUMNS, spots, judge_spot)
