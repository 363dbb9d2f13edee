"""Bandwidth over size as tables and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.commands.formats import text_lines
from turbotui.dataclass import dataclass
from turbotui.features.roofline.curve import BandwidthCurve, CurvePoint, Plateau
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.tables.envelope import Envelope

CURVE_TABLES: Final = ("curve", "plateaus")
"""The names of `curve_tables`."""
_DISTURBED: Final = "other work ran on a CPU meanwhile"


@dataclass(frozen=True, slots=True)
class _Point:
    curve: BandwidthCurve
    part: CurvePoint


@dataclass(frozen=True, slots=True)
class _Flat:
    curve: BandwidthCurve
    number: int
    part: Plateau


_POINTS: Final[tuple[Column[_Point], ...]] = (
    Column("threads", "", -1, (), lambda row: row.curve.threads, help="one, all, or the CPUs", identity=True),
    Column("kernel", "", -1, (), lambda row: row.curve.kernel, help="operation of the threads", identity=True),
    Column("size", "KiB", 0, (), lambda row: row.part.bytes / 1024, help="working set of each thread", identity=True),
    Column("GB/s", "GB/s", 2, (), lambda row: row.part.rate / 1e9, help="bandwidth of all threads together"),
)
_PLATEAUS: Final[tuple[Column[_Flat], ...]] = (
    Column("threads", "", -1, (), lambda row: row.curve.threads, help="one, all, or the CPUs", identity=True),
    Column("kernel", "", -1, (), lambda row: row.curve.kernel, help="operation of the threads", identity=True),
    Column("plateau", "", 0, (), lambda row: row.number,
           help="number of the plateau, from the smallest set on", identity=True),
    Column("from", "KiB", 0, (), lambda row: row.part.first / 1024, help="smallest working set of a thread"),
    Column("to", "KiB", 0, (), lambda row: row.part.last / 1024, help="largest"),
    Column("GB/s", "GB/s", 2, (), lambda row: row.part.rate / 1e9, help="median, of all threads together"),
    Column("fits", "", -1, (), lambda row: row.part.level, help="the cache, as described, that holds the largest set"),
)


def _judge_point(column: Column[_Point], row: _Point, value: Value) -> Cell:
    return Cell(value, disputed=(_DISTURBED,) if row.part.disturbed and column.id == "GB/s" else ())


def curve_tables(curves: Sequence[BandwidthCurve]) -> tuple[AnyTable, ...]:
    """Return the tables of points and plateaus."""
    points = [_Point(curve, point) for curve in curves for point in curve.points]
    return (RowTable("curve", "size", _POINTS, points, _judge_point), plateau_table(curves))


def plateau_table(curves: Sequence[BandwidthCurve]) -> AnyTable:
    """Make the table of each curve's plateaus."""
    rows = [_Flat(curve, number, plateau) for curve in curves for number, plateau in enumerate(curve.plateaus, 1)]
    return RowTable("plateaus", "plateau", _PLATEAUS, rows)


def curve_lines(envelope: Envelope, curves: Sequence[BandwidthCurve], width: int) -> Iterator[str]:
    """Format each curve as bars over sizes, then the plateaus."""
    for curve in curves:
        yield from curve_bars(curve, width)
        yield ""
    yield "plateaus"
    yield from text_lines(envelope, plateau_table(curves))
    yield from (f"note: {note}" for note in dict.fromkeys(note for curve in curves for note in curve.notes))


def curve_bars(curve: BandwidthCurve, width: int) -> Iterator[str]:
    """Format a curve as a bar for each size, with number and level of its plateau."""
    top = max((point.rate for point in curve.points), default=1.0)
    room = max(10, width - 40)
    yield f"{curve.kernel}, {curve.threads} thread{'' if curve.threads == 'one' else 's'} [GB/s by working set]"
    for curve_point in curve.points:
        mark = next((f" {number} {flat.level}" for number, flat in enumerate(curve.plateaus, 1)
                     if flat.first <= curve_point.bytes <= flat.last), "")
        doubt = "?" if curve_point.disturbed else " "
        bar = "█" * max(1, round(room * curve_point.rate / top))
        yield f"{size_text(curve_point.bytes):>10} {curve_point.rate / 1e9:10.2f}{doubt} {bar}{mark}"


def size_text(size: int) -> str:
    """Format the size of a working set."""
    small = size < 10 << 20 and size % (1 << 20)
    return f"{size / 1024:,.0f} KiB" if small else f"{size / (1 << 20):,.0f} MiB"
