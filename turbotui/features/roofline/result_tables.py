"""The result of `turbotui roofline` as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from turbotui.features.roofline.function_points import FunctionPoint
from turbotui.features.roofline.level_points import NO_LEVEL_ROOF, NO_TRAFFIC, LevelPoint, level_verdict
from turbotui.features.roofline.live import lacking_in
from turbotui.features.roofline.point_table import NO_BYTES, NO_WIDTHS, SCALED, judge_point, point_table
from turbotui.features.roofline.result import JudgedPoint, JudgedRegion, PhaseOfRow, Result
from turbotui.features.roofline.roof_tables import TABLES as ROOF_TABLES
from turbotui.features.roofline.roof_tables import roof_tables
from turbotui.features.roofline.roofs import RoofVerdict
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

TABLES: Final = ("roofline", "totals", "working", "sources", "behaviours", "phases", "levels", "regions", "functions",
                 "energy", *ROOF_TABLES)
"""The names of `result_tables`."""

_ABOVE: Final = "above every roof: the roofs are too low or the counts too high"
_NOT_BELOW: Final = Unavailable(Reason.OUT_OF_RANGE, _ABOVE)
_ABOVE_LEVEL: Final = "more than the level can give: its roof is too low or its events count more than moves"
_NO_LINES: Final = Unavailable(Reason.OUT_OF_RANGE, "no bytes of this level passed, so they have no intensity")
_NOT_SAID: Final = Unavailable(Reason.NOT_READ, "how much of the machine worked for it is not known")
_CHANGE: Final = Unavailable(Reason.NOT_READ, "a change from one behaviour to the next belongs to none")
_NO_TIME: Final = Unavailable(Reason.NOT_READ, "nothing was counted")
_BY_OPERATIONS: Final = frozenset({"cores", "cores beside", "judged by them"})
"""Columns of how much works, which is told by the operations and bytes of each core."""
_VERDICT: Final = frozenset({"bound", "by", "attainable", "of roof", "below"})

J = TypeVar("J", JudgedPoint, PhaseOfRow, JudgedRegion)


def _verdict_columns(of: Callable[[J], RoofVerdict | None]) -> tuple[Column[J], ...]:
    """Make the columns of the verdict: a row's bound, and its distance from it."""
    def column(name: str, unit: str, decimals: int, value: Callable[[RoofVerdict], Value], text: str) -> Column[J]:
        def compute(row: J) -> Value:
            verdict = of(row)
            return None if verdict is None else value(verdict)

        return Column(name, unit, decimals, (), compute, help=text)

    return (
        column("bound", "", -1, lambda verdict: verdict.bound.value, "memory, compute, or none: far below both"),
        column("by", "", -1, lambda verdict: verdict.ceiling, "the lowest roof that is not below it"),
        column("attainable", "GFLOP/s", 3, lambda verdict: verdict.attainable / 1e9, "of that roof at its intensity"),
        column("of roof", "%", 1, lambda verdict: 100.0 * verdict.reached, "the share of that roof that is reached"),
        column("below", "%", 1, lambda verdict: None if verdict.above else 100.0 * (1.0 - verdict.reached),
               "the roof, by so much"),
    )


def _of_total(row: JudgedPoint) -> RoofVerdict | None:
    return row.verdict


def _of_stretch(row: PhaseOfRow) -> RoofVerdict | None:
    return row.verdict


_NAME: Final[Column[JudgedPoint]] = Column("name", "", -1, (), lambda row: row.point.name, identity=True,
                                           help="name of the row: machine, cpu 3, a command")
_TOTALS: Final[tuple[Column[JudgedPoint], ...]] = (
    _NAME,
    Column("AI", "flop/byte", 4, (), lambda row: row.point.intensity, help="arithmetic intensity"),
    Column("GFLOP/s", "GFLOP/s", 6, (), lambda row: row.point.gflops, help="floating-point operations"),
    Column("GB/s", "GB/s", 3, (), lambda row: row.point.gbytes, help="bytes that its cores load and store"),
    Column("width", "", -1, (), lambda row: row.point.dominant or None,
           help="vector width of most floating-point instructions"),
    Column("length", "s", 3, (), lambda row: row.point.length, help="length of the counted intervals"),
    *_verdict_columns(_of_total),
)
_WORKING: Final[tuple[Column[JudgedPoint], ...]] = (
    _NAME,
    Column("cores", "", 1, (), lambda row: None if row.point.working is None else row.point.working.cores,
           help="number of cores that worked, on average"),
    Column("cores beside", "", 1, (), lambda row: None if row.point.working is None else row.point.working.beside,
           help="number of working cores that share the memory, including the row's own"),
    Column("memory", "GB/s", 3, (), lambda row: None if row.point.working is None or row.point.working.traffic is None
           else row.point.working.traffic / 1e9, help="traffic that the controllers of that memory counted"),
    Column("memory used", "%", 1, (), lambda row: None if row.used is None else 100.0 * row.used,
           help="share of the memory's bandwidth, by its controllers"),
    Column("judged by them", "", -1, (), lambda row: None if row.verdict is None else
           "yes" if row.verdict.counted else "no", help="whether the roof is memory according to its controllers' "
           "counts"),
)
_SOURCES: Final[tuple[Column[JudgedPoint], ...]] = (
    _NAME,
    Column("bytes by", "", -1, (), lambda row: None if row.point.width is None else row.point.width.value,
           help="conversion of accesses to bytes"),
    Column("roofs", "", -1, (), lambda row: row.choice.source,
           help="origin of the roofs, or the reason for their absence"),
)
_PLACE: Final[tuple[Column[PhaseOfRow], ...]] = (
    Column("AI", "flop/byte", 4, (), lambda row: row.phase.intensity, help="arithmetic intensity"),
    Column("GFLOP/s", "GFLOP/s", 3, (), lambda row: row.phase.gflops, help="floating-point operations"),
    Column("length", "s", 2, (), lambda row: row.phase.seconds, help="length of the phase's intervals together"),
    Column("intervals", "", 0, (), lambda row: row.phase.intervals, help="number of intervals"),
    Column("width", "", -1, (), lambda row: row.phase.dominant or None,
           help="vector width of most floating-point instructions"),
)
_BEHAVIOURS: Final[tuple[Column[PhaseOfRow], ...]] = (
    Column("name", "", -1, (), lambda row: row.name, help="name of the row", identity=True),
    Column("behaviour", "", 0, (), lambda row: row.number,
           help="number of the behaviour: phases at the same place, by the first of them",
           identity=True),
    *_PLACE, *_verdict_columns(_of_stretch),
)
_PHASES: Final[tuple[Column[PhaseOfRow], ...]] = (
    Column("name", "", -1, (), lambda row: row.name, help="name of the row", identity=True),
    Column("phase", "", 0, (), lambda row: row.at, help="number of the phase, from 1", identity=True),
    Column("start", "s", 2, (), lambda row: row.phase.start, help="start of the phase, from the start of the run"),
    Column("behaviour", "", 0, (), lambda row: row.number, help="number of the behaviour that the phase belongs to"),
    *_PLACE,
)


def _of_region(row: JudgedRegion) -> RoofVerdict | None:
    return None if row.judged is None else row.judged.verdict


_REGIONS: Final[tuple[Column[JudgedRegion], ...]] = (
    Column("region", "", -1, (), lambda row: row.region.name,
           help="name of the region, as the command marks it", identity=True),
    Column("entries", "", 0, (), lambda row: row.region.entries,
           help="number of times that a thread entered the region"),
    Column("open", "s", 3, (), lambda row: row.region.seconds,
           help="time in which the region was open in at least one thread"),
    Column("AI", "flop/byte", 4, (), lambda row: None if row.judged is None else row.judged.point.intensity,
           help="arithmetic intensity"),
    Column("GFLOP/s", "GFLOP/s", 3, (), lambda row: None if row.judged is None else row.judged.point.gflops,
           help="floating-point operations"),
    Column("GB/s", "GB/s", 3, (), lambda row: None if row.judged is None else row.judged.point.gbytes,
           help="bytes that its cores load and store"),
    Column("width", "", -1, (), lambda row: None if row.judged is None else row.judged.point.dominant or None,
           help="vector width of most floating-point instructions"),
    *_verdict_columns(_of_region),
    Column("by time", "%", 1, (), lambda row: 100.0 * row.region.apportioned,
           help="share of its time whose counts are divided by time, because marks came faster than counters are read"),
)
_LEVELS: Final[tuple[Column[LevelPoint], ...]] = (
    Column("name", "", -1, (), lambda row: row.point.name, help="name of the row or region", identity=True),
    Column("level", "", -1, (), lambda row: row.level, help="level of the memory", identity=True),
    Column("AI", "flop/byte", 4, (), lambda row: row.intensity, help="operations divided by the bytes of this level"),
    Column("GFLOP/s", "GFLOP/s", 3, (), lambda row: row.point.gflops, help="floating-point operations"),
    Column("GB/s", "GB/s", 3, (), lambda row: row.gbytes,
           help="traffic of this level: of L1 loads and stores of the cores, of L2 and L3 lines exchanged with the "
           "previous level, of DRAM transfers by its controllers"),
    Column("roof", "GB/s", 1, (), lambda row: row.roof, help="bandwidth that the level offers to the working CPUs"),
    Column("used", "%", 1, (), lambda row: None if row.share is None else 100.0 * row.share, help="share of that roof"),
    Column("binds", "", -1, (), lambda row: "yes" if row.binds else "no",
           help="whether this level is the most used one of those that are known"),
)
_FUNCTIONS: Final[tuple[Column[FunctionPoint], ...]] = (
    Column("function", "", -1, (), lambda row: row.name,
           help="name of the function in the symbol table of its file", identity=True),
    Column("file", "", -1, (), lambda row: row.file, help="file that contains the function", identity=True),
    Column("share", "%", 1, (), lambda row: 100.0 * row.share, help="share of the samples by time"),
    Column("±", "%", 1, (), lambda row: 100.0 * row.error, help="standard deviation of the share"),
    Column("samples", "", 0, (), lambda row: row.samples, help="number of samples by time"),
    Column("AI", "flop/byte", 4, (), lambda row: row.intensity, help="arithmetic intensity, by samples of its events"),
    Column("GFLOP", "GFLOP", 3, (), lambda row: None if row.flops is None else row.flops / 1e9, help="operations"),
    Column("GB", "GB", 3, (), lambda row: None if row.bytes is None else row.bytes / 1e9,
           help="gigabytes loaded and stored"),
)
_ENERGY: Final[tuple[Column[Result], ...]] = (
    Column("energy", "J", 1, (), lambda row: row.joules, help="energy of all packages, including other programs"),
    Column("power", "W", 1, (), lambda row: row.watts, help="power of all packages"),
    Column("efficiency", "GFLOP/J", 4, (), lambda row: row.efficiency, help="GFLOP/s per W"),
)
POINT_COLUMNS: Final[tuple[Column[JudgedPoint], ...]] = (*_TOTALS, *_WORKING[1:], *_SOURCES[1:])
"""All columns of a point."""
_OF_WORKING: Final = frozenset(column.id for column in _WORKING[1:])


def judge_column(column: Column[JudgedPoint], row: JudgedPoint, value: Value) -> Cell:
    """Return a value of `POINT_COLUMNS` with its marks or reason."""
    return (_judge_working if column.id in _OF_WORKING else _judge_total)(column, row, value)


def _judge_total(column: Column[JudgedPoint], row: JudgedPoint, value: Value) -> Cell:
    if column.id in _VERDICT:
        return _judge_verdict(column, row.verdict, row.why, value, row.point.lacking)
    return judge_point(column, row.point, value)


def _judge_working(column: Column[JudgedPoint], row: JudgedPoint, value: Value) -> Cell:
    if value is not None:
        return _without(Cell(value), row.point.lacking if column.id in _BY_OPERATIONS else None)
    if column.id == "judged by them":
        return Cell(None, row.why)
    return Cell(None, _NOT_SAID if row.point.working is None else NO_TRAFFIC)


def _judge_stretch(column: Column[PhaseOfRow], row: PhaseOfRow, value: Value) -> Cell:
    if column.id in _VERDICT:
        return _judge_verdict(column, row.verdict, row.why, value, row.lacking)
    if value is not None:
        return _without(Cell(value), row.lacking if column.unit in SCALED else None)
    return Cell(None, {"width": NO_WIDTHS, "behaviour": _CHANGE}.get(column.id, NO_BYTES))


def _judge_level(column: Column[LevelPoint], row: LevelPoint, value: Value) -> Cell:
    if value is None:
        return Cell(None, NO_LEVEL_ROOF if column.id == "roof" else row.why or _NO_LINES)
    counted = column.id in {"AI", "GB/s", "used", "GFLOP/s"}
    cell = Cell(value, estimated=counted and row.point.estimated,
                disputed=(_ABOVE_LEVEL,) if column.id == "used" and row.above else ())
    by_controllers = row.level == "DRAM" and column.id in {"GB/s", "used"}
    return _without(cell, row.point.lacking if counted and not by_controllers else None)


def _judge_function(column: Column[FunctionPoint], row: FunctionPoint, value: Value) -> Cell:
    return Cell(value, row.why) if value is None else Cell(value, estimated=column.id in {"AI", "GFLOP", "GB"})


def _judge_region(column: Column[JudgedRegion], row: JudgedRegion, value: Value) -> Cell:
    if column.id in {"region", "entries", "open", "by time"}:
        return Cell(value)
    if row.judged is None:
        return Cell(None, row.region.why)
    if column.id in _VERDICT:
        return _judge_verdict(column, row.judged.verdict, row.judged.why, value, row.judged.point.lacking)
    return judge_point(column, row.judged.point, value)


def _without(cell: Cell, lacking: Unavailable | None) -> Cell:
    return cell if lacking is None else replace(cell, why=lacking, partial=True)


def _judge_verdict(column: Column[J], verdict: RoofVerdict | None, why: Unavailable | None, value: Value,
                   lacking: Unavailable | None) -> Cell:
    above = verdict is not None and verdict.above
    if value is None:
        return Cell(None, _NOT_BELOW if above else why)
    return _without(Cell(value, disputed=(_ABOVE,) if above and column.id == "of roof" else ()), lacking)


def _judge_energy(column: Column[Result], row: Result, value: Value) -> Cell:
    if value is None:
        return Cell(None, row.why_no_energy or row.part or _NO_TIME)
    return _without(Cell(value), lacking_in(row.main) if column.id == "efficiency" else None)


def total_table(result: Result) -> AnyTable:
    """Make the table of rows over the whole run, with their bounds."""
    return RowTable("totals", "total", _TOTALS, result.totals(), _judge_total)


def working_table(result: Result) -> AnyTable:
    """Make the table of CPUs and cores that worked for each row, which decide its share of the roofs."""
    return RowTable("working", "total", _WORKING, result.totals(), _judge_working)


def behaviour_table(result: Result, names: list[str]) -> AnyTable:
    """Make the table of behaviours of some rows."""
    rows = [behaviour for name in names for behaviour in result.behaviours(name)]
    return RowTable("behaviours", "behaviour", _BEHAVIOURS, rows, _judge_stretch)


def level_table(result: Result) -> AnyTable:
    """Make the table of rows over the whole run, and regions, by memory level."""
    judged = [*result.totals(), *(region.judged for region in result.judged_regions() if region.judged is not None)]
    wanted = [point for point in judged if result.levels or point.point.levels]
    rows = [level for point in wanted for level in level_verdict(point.point, point.choice).points]
    return RowTable("levels", "level", _LEVELS, rows, _judge_level)


def function_table(result: Result) -> AnyTable:
    """Make the table of a command's functions, the busiest first."""
    return RowTable("functions", "function", _FUNCTIONS, result.functions.points, _judge_function)


def region_table(result: Result) -> AnyTable:
    """Make the table of a command's regions."""
    return RowTable("regions", "region", _REGIONS, result.judged_regions(), _judge_region)


def result_tables(result: Result) -> tuple[AnyTable, ...]:
    """Return every table of one run."""
    names = list(result.rows)
    phases = [phase for name in names for phase in result.phases(name)]
    return (
        point_table(result.points), total_table(result), working_table(result),
        RowTable("sources", "total", _SOURCES, result.totals(), _judge_total),
        behaviour_table(result, names), RowTable("phases", "phase", _PHASES, phases, _judge_stretch),
        level_table(result), region_table(result), function_table(result),
        RowTable("energy", "packages", _ENERGY, [result], _judge_energy),
        *roof_tables(result.sets),
    )
