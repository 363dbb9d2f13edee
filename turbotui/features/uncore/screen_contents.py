"""What the uncore screen's tables show: a content for each kind of unit, and charts of a unit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from turbotui.app.row_table import RowWidget
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow
from turbotui.features.uncore.ports import PortMap
from turbotui.features.uncore.screen_rows import NO_EVENTS, content_of
from turbotui.features.uncore.tables import uncore_table
from turbotui.quantities.columns import Column, Value
from turbotui.sampling.frame import Frame
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_charts import LEAST, ChartedRow, Past, RowCharts
from turbotui.widgets.row_content import RowContent
from turbotui.widgets.segment_lines import SegmentLines


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
