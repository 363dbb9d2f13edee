"""What the uncore screen shows: contents of kinds of units, charts of a unit, the map of traffic with its edges."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from textual.containers import Vertical, VerticalScroll

from turbotui.app.row_table import RowWidget
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow
from turbotui.features.uncore.map_picture import draw_map
from turbotui.features.uncore.ports import PortMap
from turbotui.features.uncore.screen_rows import NO_EVENTS, content_of, widened
from turbotui.features.uncore.tables import uncore_table
from turbotui.features.uncore.traffic import NO_EDGES, Traffic, traffic_table
from turbotui.quantities.columns import Column, Value
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_charts import LEAST, ChartedRow, Past, RowCharts
from turbotui.widgets.row_content import Naming, RowContent, RowPainter, RowView
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import RowList, TableView
from turbotui.widgets.table_widget import TableWidget


class KindContents:
    """The contents of the tables of kinds, each made once for a frame."""

    def __init__(self, counters: UncoreCounters, ports: PortMap) -> None:
        self._counters = counters
        self._ports = ports
        self._made: dict[str, tuple[Frame | None, RowContent[UnitRow]]] = {}

    def clear(self) -> None:
        """Forget all contents, because columns or filters changed."""
        self._made.clear()

    def of(self, units: UncoreUnits, frame: Frame | None) -> RowContent[UnitRow]:
        """Return the content of a kind's table for a frame."""
        made_of, content = self._made.get(units.kind.id, (None, None))
        if content is None or made_of is not frame:
            content = self.made(units, frame)
            self._made[units.kind.id] = frame, content
        return content

    def made(self, units: UncoreUnits, frame: Frame | None) -> RowContent[UnitRow]:
        """Make the content of a kind's table for a frame."""
        table = uncore_table(self._counters, units, frame, self._ports)
        if not self._counters.shown(units):
            table = replace(table, columns=(*table.columns, NO_EVENTS))
        return content_of(table)


class UnitMoment:
    """Units or edges of a kept frame, whose counted events are adopted only while a cell is computed."""

    def __init__(self, counters: UncoreCounters, frame: Frame, shown: Frame | None,
                 made: Callable[[], RowContent[Any]]) -> None:
        self._counters = counters
        self._frame = frame
        self._shown = shown
        counters.follow(frame)
        self._content = made()
        counters.follow(shown)

    def bare(self, column: Column[Any], row: Hashable) -> Value:
        """`Cell.bare`; None if there is no such row."""
        self._counters.follow(self._frame)
        value = self._content.bare(column, row)
        self._counters.follow(self._shown)
        return value


class UnitCharts(SegmentLines):
    """Charts of the row under the cursor, below or beside tables that leave room for them."""

    def __init__(self, past: Past[Column[UnitRow], Hashable], *,
                 id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._charts: RowCharts[RowContent[UnitRow], Column[UnitRow], Hashable] = RowCharts(past)

    def let_go(self) -> None:
        """Release the content that was drawn last."""
        self._charts.let_go()

    def draw(self, table: RowWidget[UnitRow], seconds: float, width: int, room: int) -> None:
        """Draw the charts of the row under the table's cursor; nothing where the tables leave too little room."""
        content, cell = table.content, table.selected
        lines: list[list[TextSegment]] = []
        if content is not None and cell is not None and room >= LEAST:
            lines = self._charts.lines(ChartedRow(content, table.view, table.drawn[0], *cell, seconds, width, room))
        if self.styles.height is None or self.styles.height.value != len(lines):
            self.styles.height = len(lines)
        self.show(lines)


EdgeWidget: TypeAlias = TableWidget[RowContent[Any], Column[Any], Hashable]
_EDGES = 6  # least lines for the table: a title and a few edges
_ROOM = 100
"""Least columns of the line above the picture for saying what the share of a sum is."""
_NO_FOLDS = "The map has no sums to fold: t shows the tables"
NO_FILTERS = "Filters are set for units: t shows their tables"


def _painter(view: RowView[Any], _seconds: float, width: int) -> RowPainter[Any]:
    return RowPainter(view, *row_slots(view, width), width)


class MapPanel(Vertical):
    """The picture above the table of edges; the edge under the cursor is highlighted in the picture.

    Attributes:
        no_folds: the notice for the keys that fold.
    """

    no_folds = _NO_FOLDS
    DEFAULT_CSS = """
    MapPanel { height: 1fr; display: none; background: $background; }
    MapPanel #picture { height: auto; scrollbar-size-vertical: 1; background: $background; }
    MapPanel #edges { height: 1fr; margin: 0; }
    """

    def __init__(self, seconds: float) -> None:
        self.table: EdgeWidget = TableWidget(TableView(), RowList(), _painter, seconds=seconds, id="edges")
        self._lines = SegmentLines(id="traffic")
        self._picture = VerticalScroll(self._lines, id="picture", can_focus=False)
        self._traffic: Sequence[Traffic] = ()
        super().__init__(self._picture, self.table)

    def show_traffic(self, counters: UncoreCounters, traffic: Sequence[Traffic], seq: int,
                     fill: Callable[[EdgeWidget, RowContent[Any]], None]) -> None:
        """Show the edges' traffic in a new interval."""
        self._traffic = traffic
        self.table.display = bool(traffic)
        fill(self.table, edges_content(counters, traffic, seq))
        self.draw()

    def draw(self) -> None:
        """Draw the picture, the edge under the cursor marked."""
        lines: list[list[TextSegment]] = [[(f"   {NO_EDGES}", StyleRole.PLAIN)]]
        if self._traffic:
            units = "  GB/s into and out of packages, shares of the peak (of sums: of the fullest)"
            units = units if self.size.width >= _ROOM else units.partition(" (")[0]
            chosen = self.table.current
            drawn = draw_map(self._traffic, self.size.width, max(1, self.size.height - 1 - _EDGES),
                             chosen if isinstance(chosen, str) else "")
            lines = [[("   Traffic", StyleRole.SUMMARY), (units, StyleRole.DIM)], *drawn]
        self._picture.styles.height = min(len(lines), max(1, self.size.height - _EDGES))
        self._lines.styles.height = len(lines)
        self._lines.show(lines)


def edges_content(counters: UncoreCounters, traffic: Sequence[Traffic], seq: int) -> RowContent[Any]:
    """Make the table of edges for the screen, with text columns as wide as their texts."""
    table = traffic_table(counters, traffic)

    def title_of(row: Traffic) -> str:
        return f"{row.edge.start} · {row.edge.end}"

    def words(row: Traffic) -> str:
        return f"{title_of(row)} {row.edge.source} {row.edge.units.kind.title}"

    return RowContent(widened(table), Naming(lambda row: row.edge.key, words, title_of), seq)
