"""Charts of a row of frames, for screens without a table that leave room, and for those with nothing to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.app import scales
from turbotui.app.watch import Watch
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.absence import absence_lines
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_charts import LEAST, ChartedRow, RowCharts
from turbotui.widgets.table_view import TableView

_KERNEL: Final = ("Load%", "user%", "sys%", "iowait%", "steal%", "CSW/s", "IRQ")
"""Columns that need no counter, and whose files are read anyway: the kernel tells them to everybody."""


class FrameCharts:
    """Draws the past of a row's cells."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._charts: RowCharts[FrameContent, CounterColumn, RowId] = RowCharts(watch.recent)
        self._content: FrameContent | None = None
        self._pushed = -1
        self._view: TableView[CounterColumn, RowId] = TableView()

    def let_go(self) -> None:
        """Release the frame that was drawn last."""
        self._content = None
        self._charts.let_go()

    def machine_lines(self, width: int, height: int) -> Sequence[list[TextSegment]]:
        """Charts of what the kernel tells of the whole machine; none where there is no room for two."""
        kernel = (self._watch.session.catalog.get(name) for name in _KERNEL)
        columns = tuple(column for column in kernel if column is not None and self._watch.why_absent(column) is None)
        drawn = self.lines((columns[0], SYSTEM_ROW), columns, width, height - 2) if columns else ()
        return [[], [("  Meanwhile, of the whole machine, by the kernel", StyleRole.DIM)], *drawn] if drawn else ()

    def absence(self, title: str, why: Unavailable, width: int, height: int) -> list[list[TextSegment]]:
        """What is missing and why, with charts of the machine below it where there is room."""
        lines = absence_lines(title, why, width)
        return [*lines, *self.machine_lines(width, height - len(lines))]

    def lines(self, chosen: tuple[CounterColumn, RowId], columns: tuple[CounterColumn, ...], width: int,
              height: int) -> Sequence[list[TextSegment]]:
        """The charts; none where there is no room, or no frame."""
        frame = self._watch.frame
        if height < LEAST or frame is None:
            return ()
        history = self._watch.history
        if self._content is None or self._content.frame is not frame or self._pushed != history.pushed:
            self._content, self._pushed = FrameContent(frame), history.pushed
        if self._view.columns != columns:
            self._view = TableView(columns, tops=scales.tops(self._watch))
        return self._charts.lines(ChartedRow(self._content, self._view, columns, *chosen, self._watch.interval, width,
                                             height))
