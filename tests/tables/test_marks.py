"""Every writer decides about every mark: it shows the mark, or has no value where the value may not stand bare."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
from statscripts import PAIR, SECOND, WALL

from turbotui.app.one_cell import cell_in_words
from turbotui.app.scales import gauges_of
from turbotui.features.diff.series import GatheredSeries
from turbotui.features.export.live.levels import MACHINE, LevelPlaces
from turbotui.features.export.live.machine_metrics import column_metrics
from turbotui.features.export.model import LongColumn
from turbotui.features.export.verb import CsvExport, JsonExport
from turbotui.features.overview.charts import ChartSource, ChartSpec, chart_of
from turbotui.features.overview.cpu_numbers import CpuNumbers, CpuSource, number_span
from turbotui.features.overview.painter import figure_of
from turbotui.machine.host import HostKind
from turbotui.quantities.alerts import AlertRequest, parse_alert
from turbotui.quantities.columns import Category, Column, CounterColumn, Inputs, Value
from turbotui.quantities.marks import DISPUTED, ESTIMATED, MARKS, OLD, OUTSTANDING, PARTIAL, CellMark
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.units import Unit
from turbotui.sampling.alerting import AlertWatch, FrameMoment
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.msr import Msr
from turbotui.tables.csv_lines import csv_text
from turbotui.tables.envelope import Envelope
from turbotui.tables.extremes import Extremes
from turbotui.tables.formats import FORMATS, make_format
from turbotui.tables.frame_table import FrameTable
from turbotui.tables.layout import Layout
from turbotui.tables.turbostat_text import TurbostatText
from turbotui.widgets.content import Content, Line
from turbotui.widgets.explanation import explanation
from turbotui.widgets.frame_painter import FramePainter
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.levels import FrameLevels
from turbotui.widgets.painter import Painter
from turbotui.widgets.row_content import Naming, RowContent, RowPainter
from turbotui.widgets.slots import row_slots
from turbotui.widgets.summary import gauge_line
from turbotui.widgets.table_view import TableView

ENVELOPE = Envelope("here", HostKind.REAL, WALL, 1.0)
_SIGNALS = {signal.id: signal for signal in (
    Signal("x", Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "x", running="ran", enabled="on"),
    Signal("ran", Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "ran"),
    Signal("on", Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "on"))}
_CAPABILITIES = Capabilities((Msr(),), {}, _SIGNALS, dict.fromkeys(_SIGNALS, Msr()), {})


def _increase(row: Inputs) -> Value:
    return row.delta("x")


_BESIDE = CounterColumn("Y", "", 0, (), lambda row: 1.0, category=Category.OTHER, scope=Scope.CPU)
_COLUMN = CounterColumn("X", "", 0, ("x",), _increase, category=Category.OTHER, scope=Scope.CPU, width=8)
_PAST_ITS_LIMIT = replace(_COLUMN, rule=_BESIDE)


def frame_of(mark: CellMark | None) -> tuple[Frame, CounterColumn]:
    """An interval of two CPUs whose machine row has this mark, and the column of it."""
    before = {"x": [0, 0], "ran": [0, 0], "on": [0, 0]}
    values: dict[SignalId, list[Raw]] = {
        "x": [4_000, None if mark is PARTIAL else 321], "ran": [5, 5], "on": [5, 5]}
    if mark is ESTIMATED:
        values |= {"x": [4_000, 107], "ran": [5, 2], "on": [5, 6]}
    began = 2 * SECOND
    stamps = {name: [began + 1, began + (-1 if mark is OLD else 1)] for name in values}
    older = Snapshot(0, WALL, SECOND, PAIR, before, {name: [SECOND] * 2 for name in values})
    newer = Snapshot(1, WALL + SECOND, began, PAIR, values, stamps, late=frozenset({1} if mark is OLD else ()))
    frame = Frame(older, newer, _CAPABILITIES)
    frame._marks = {"x": {1: "y says otherwise"}} if mark is DISPUTED else {}
    return frame, _PAST_ITS_LIMIT if mark is OUTSTANDING else _COLUMN


def cell_of(mark: CellMark | None) -> Cell:
    """A value with this mark."""
    marked: dict[str, Any] = {} if mark is None else {mark.name: ("y says otherwise",) if mark is DISPUTED else True}
    return Cell(4321.0, **marked)


Row = tuple[CellMark | None]
_NAME: Column[Row] = Column("Name", "", -1, (), lambda _row: "a", width=4, identity=True)
_NUMBER: Column[Row] = Column("X", "", 0, (), lambda _row: 4321.0, width=8)


def table_of(mark: CellMark | None) -> RowTable[Row]:
    return RowTable("things", "thing", (_NAME, _NUMBER), ((mark,),),
                    lambda column, row, value: Cell(value) if column.identity else cell_of(*row))


def _formatted(name: str) -> Callable[[AnyTable], str]:
    return lambda table: "\n".join(make_format(name).lines(ENVELOPE, table))


def _copied(table: AnyTable) -> str:
    """The cell and the marks' columns that name it, of the first row."""
    row = next(csv.DictReader(csv_text(ENVELOPE, table).splitlines()))
    return f"{row['X']} {[mark.name for mark in MARKS if row[mark.name] == 'X']}"


def _explained(content: Content[Any, Any], column: Column[Any], row: object) -> str:
    return "\n".join(explanation(content, column, row))


def _drawn(painter: Painter[Any, Any, Any], content: Content[Any, Any], row: object) -> str:
    (pieces,) = painter.lines(content, [Line(row)], painter.geometry())
    return "".join(text for text, _role in pieces)


TABLE_WRITERS: Mapping[str, Callable[[AnyTable], str]] = {
    **{name: _formatted(name) for name in FORMATS}, "copied": _copied}
"""Writers of any table."""


def _of_row(write: Callable[[AnyTable], str]) -> Callable[[CellMark | None], str]:
    return lambda mark: write(table_of(mark))


def _row_drawn(mark: CellMark | None) -> str:
    view: TableView[Any, Any] = TableView((_NAME, _NUMBER))
    content = RowContent(table_of(mark), _NAMING)
    return _drawn(RowPainter(view, *row_slots(view, 60), 60), content, "a")


_NAMING: Naming[Row] = Naming(lambda _row: "a", lambda _row: "a", lambda _row: "a")
ROW_WRITERS: Mapping[str, Callable[[CellMark | None], str]] = {
    **{name: _of_row(write) for name, write in TABLE_WRITERS.items()},
    "screen": _row_drawn,
    "explained": lambda mark: _explained(RowContent(table_of(mark), _NAMING), _NUMBER, "a"),
}
"""Writers of rows of any kind: tasks, groups, units, nodes."""


def _layout(column: CounterColumn) -> Layout:
    return Layout((column,), summary_only=True)


def _of_frame(write: Callable[[AnyTable], str]) -> Callable[[Frame, CounterColumn], str]:
    return lambda frame, column: write(FrameTable(frame, _layout(column)))


def _turbostat(frame: Frame, column: CounterColumn) -> str:
    return "\n".join(TurbostatText(_layout(column)).lines(frame))


def _extremes(frame: Frame, column: CounterColumn) -> str:
    extremes = Extremes(_layout(column))
    extremes.take(frame)
    return "\n".join(extremes.lines())


def _scraped(frame: Frame, column: CounterColumn) -> str:
    (metric,) = column_metrics(frame, [column], MACHINE, LevelPlaces(frame.topology, (MACHINE,)))
    return str([int(value) for _labels, value in metric.samples])


def _exported(kind: type[CsvExport | JsonExport]) -> Callable[[Frame, CounterColumn], str]:
    return lambda frame, column: "\n".join(kind("here", [LongColumn(column, Scope.SYSTEM, {})]).interval(frame))


def _frame_drawn(frame: Frame, column: CounterColumn) -> str:
    view: TableView[Any, Any] = TableView((column,))
    painter = FramePainter(view, *row_slots(view, 60), 60, history=History(), levels=_LEVELS)
    return _drawn(painter, FrameContent(frame), SYSTEM_ROW)


def _alert(frame: Frame, column: CounterColumn) -> str:
    moment = FrameMoment(frame, lambda _topology, _row: "", lambda _topology, _row: "")
    return str([value and round(value) for value in moment.cells(column, (SYSTEM_ROW,)) if not isinstance(value, str)])


def _compared(frame: Frame, column: CounterColumn) -> str:
    gathered = GatheredSeries((column,), Scope.SYSTEM, frame.seconds or 0.0)
    gathered.take(frame)
    return str([round(number) for number in gathered.by_key[column.id, SYSTEM_ROW].numbers])


def _gauge(frame: Frame, column: CounterColumn) -> str:
    watch: Any = SimpleNamespace(frame=frame, busy=column, clock=None, watts=None, heat=None, interrupts=None,
                                 headline=(), columns=(), history=History(), levels=_LEVELS,
                                 session=SimpleNamespace(capabilities=frame.capabilities))
    return "".join(text for text, _role in gauge_line(gauges_of(watch), 80, 0))


def _chart(frame: Frame, column: CounterColumn) -> str:
    return figure_of(chart_of(ChartSource(ChartSpec("X", ("X",)), column, ()), frame, History(), 9))


def _overview(frame: Frame, column: CounterColumn) -> str:
    source = CpuSource(frame, CpuNumbers(None, None, None, ()), History(), {}, None, _LEVELS)
    return number_span(source, column, SYSTEM_ROW, 12, frame.cell(column, SYSTEM_ROW)).text


_LEVELS = FrameLevels(lambda _name: None)
FRAME_WRITERS: Mapping[str, Callable[[Frame, CounterColumn], str]] = {
    **{name: _of_frame(write) for name, write in TABLE_WRITERS.items()},
    "turbostat": _turbostat,
    "extremes": _extremes,
    "scraped": _scraped,
    "exported csv": _exported(CsvExport),
    "exported json": _exported(JsonExport),
    "screen": _frame_drawn,
    "explained": lambda frame, column: _explained(FrameContent(frame), column, SYSTEM_ROW),
    "alert": _alert,
    "compared": _compared,
    "gauge": _gauge,
    "chart": _chart,
    "overview": _overview,
    "in words": lambda frame, column: cell_in_words(frame, column, SYSTEM_ROW),
}
"""Writers of CPUs and of the rows above them."""
BARE = {"csv", "openmetrics", "turbostat", "extremes", "scraped", "exported csv", "alert", "compared"}
"""Writers without a place for marks."""
NO_ALARMS = {"gauge", "chart", "overview", "in words"}
"""Writers of columns that have no vendor's threshold."""


def _decides(name: str, mark: CellMark, number: str, shown: str, unmarked: str) -> None:
    """Check that a writer shows a marked number as it must."""
    if name in BARE:
        assert (number in shown) is mark.bare
        return
    assert number in shown.replace(",", "")
    assert any(word in shown and word not in unmarked for word in (mark.sign, f'"{mark.name}"', f"'{mark.name}'"))


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.name)
@pytest.mark.parametrize("name", ROW_WRITERS)
def test_rows_of_any_kind_are_written_with_their_marks(name: str, mark: CellMark) -> None:
    write = ROW_WRITERS[name]
    assert "4321" in write(None).replace(",", "")
    _decides(name, mark, "4321", write(mark), write(None))


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.name)
@pytest.mark.parametrize("name", FRAME_WRITERS)
def test_intervals_are_written_with_their_marks(name: str, mark: CellMark) -> None:
    write = FRAME_WRITERS[name]
    if mark is OUTSTANDING and name in NO_ALARMS:
        return
    unmarked = write(*frame_of(None))
    assert "4321" in unmarked.replace(",", "")
    _decides(name, mark, {PARTIAL: "4000"}.get(mark, "4321"), write(*frame_of(mark)), unmarked)


def test_a_cell_has_a_value_a_reason_and_the_marks() -> None:
    assert {field.name for field in fields(Cell)} == {"value", "why", *(mark.name for mark in MARKS)}
    assert [cell_of(mark).marks for mark in MARKS] == [[mark] for mark in MARKS]
    assert cell_of(None).marks == []
    assert Cell(None, partial=True).signs == ""


@pytest.mark.parametrize(("condition", "holds"), [
    ("{} > 3000", True), ("{} >= 4000", True), ("{} > 4100", False), ("{} < 4100", False), ("not {} > 4100", False),
    ("not {} > 3000", False), ("{} > 3000 and {} < 4100", False), ("{} < 4100 or {} > 3000", True),
])
def test_an_alert_of_a_greatest_value_that_lacks_a_part_holds_only_if_it_must(condition: str, holds: bool) -> None:
    frame, column = frame_of(PARTIAL)
    signals = {**_SIGNALS, "x": replace(_SIGNALS["x"], reduce=Reduce.MAX)}
    hottest = Frame(frame.older, frame.newer, replace(_CAPABILITIES, signals=signals))
    assert hottest.bare_cells(column, (SYSTEM_ROW,)) == [None]
    rule = parse_alert(AlertRequest(condition.replace("{}", column.id), rows=Scope.SYSTEM.value),
                       lambda name: column if name.lower() == column.id.lower() else None)
    watch = AlertWatch([rule], lambda _topology, _row: "")
    watch.take(hottest)
    assert bool(watch.active) is holds


@pytest.mark.parametrize("mark", [None, *MARKS])
def test_a_value_that_must_not_stand_bare_is_no_point_of_a_curve(mark: CellMark | None) -> None:
    frame, column = frame_of(mark)
    kept, shown, read = History(), History(), History.until(frame, lambda: None)
    kept.push(frame, (column,), (SYSTEM_ROW,))
    shown.push_shown(frame, (column,), (SYSTEM_ROW,))
    read.series(column, SYSTEM_ROW, 1)
    read.fill(frame, column, (SYSTEM_ROW,))
    for history in (kept, shown, read):
        [point] = history.series(column, SYSTEM_ROW, 1)
        assert math.isnan(point) == (mark is not None and not mark.bare)
