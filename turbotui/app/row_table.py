"""A screen whose table is a `RowTable`, with all keys of tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeAlias, TypeVar

from turbotui.app.frame_charts import FrameCharts
from turbotui.app.graph import Graph
from turbotui.app.one_cell import OneCell
from turbotui.app.picker import Picker
from turbotui.app.row_past import RowMoment, RowPast
from turbotui.app.table_keys import TableKeys
from turbotui.app.text_window import TextWindow
from turbotui.app.watch import Watch
from turbotui.quantities.columns import Column, CounterColumn, R
from turbotui.quantities.moments import NS
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.arrangement import USUAL, ColumnArrangement
from turbotui.widgets.comparison import MarkedMoment, marked_moment
from turbotui.widgets.content import Content
from turbotui.widgets.row_charts import RowCharts
from turbotui.widgets.row_content import RowContent, RowPainter, RowView
from turbotui.widgets.row_tree import TreeRows
from turbotui.widgets.slots import HISTORY, row_slots, with_room
from turbotui.widgets.table_view import RowList, TableView
from turbotui.widgets.table_widget import TableWidget

if TYPE_CHECKING:
    from turbotui.quantities.presentation import Limits

M = TypeVar("M")
_WIDEST_TEXT: Final = 40
"""Characters that a last column of texts takes where there is room; charts of a row stand beside it."""
RowWidget: TypeAlias = TableWidget[RowContent[R], Column[R], Hashable]
"""The widget of such a table."""


class RowTableScreen(TableKeys[RowContent[R], Column[R], Hashable], Generic[R]):
    """Screen with a table of rows of any kind, shown by `show_content`."""

    unsorted = "the table's order"
    treeless: ClassVar[str] = "Rows stand in no tree: t changes that"  # what `*` says if rows form no tree
    painter_kind: type[RowPainter[R]] = RowPainter

    def __init__(self, watch: Watch) -> None:
        self.charts = FrameCharts(watch)
        super().__init__(watch)
        self._pasts: dict[str, RowPast[R]] = {}
        self._marked: MarkedMoment | None = None
        self._warned: set[str] = set()

    def new_table(self) -> RowWidget[R]:
        return TableWidget(self.first_view(), self.row_list(), self.painter, seconds=self.watch_state.interval,
                           charts=RowCharts(self.recent, self.charts.machine_lines), id="table")

    def first_view(self) -> RowView[R]:
        """The table's settings before the user changes them."""
        return TableView()

    def row_list(self) -> RowList[RowContent[R], Column[R], Hashable]:
        """The object that filters and sorts rows into lines."""
        return TreeRows()

    def painter(self, view: RowView[R], _seconds: float, width: int) -> RowPainter[R]:
        """A painter of the lines."""
        return self.painter_kind(view, *with_room(view, row_slots(view, width), width, _WIDEST_TEXT), width)

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The columns of the summary alone, because the rows have numbers of their own."""
        return ()

    @property
    def row_at_cursor(self) -> R | None:
        """The row under the cursor; None if there is none."""
        content, current = self._table.content, self._table.current
        return None if content is None or current is None else content.get(current)

    def close(self) -> None:
        """Close what is open only while the screen is shown."""

    def let_go(self) -> None:
        """Close the reader, too."""
        super().let_go()
        self.charts.let_go()
        for past in self._pasts.values():
            past.stop()
        self.close()

    def on_unmount(self) -> None:
        """Close the reader at the end."""
        for past in self._pasts.values():
            past.stop()
        self.close()

    def show_content(self, content: RowContent[R]) -> None:
        """Show newer content, with its columns as the user arranged them."""
        self.fill(self._table, content)
        self.show_mark()
        self.show_status()

    def fill(self, table: RowWidget[R], content: RowContent[R]) -> None:
        """Show newer content in a table, with its columns as the user arranged them."""
        limits = self.watch_state.row_limits.get(content.whole.name)
        if limits is not None and limits is not content.limits:
            self._limit(content, limits)
        if self.watch_state.alerts is not None:
            content.alerted = self.watch_state.alerts.row_cells(content.whole.name)
        arrangement = self.watch_state.arrangements.get(content.whole.name, USUAL)
        columns = tuple(column for column in content.whole.columns
                        if arrangement.is_shown(column.id, usually=column.default))
        if columns != table.view.columns or arrangement != table.view.arrangement:
            view = replace(table.view, columns=columns, arrangement=arrangement)
            table.show_view(view, self.watch_state.interval)
        table.show_content(content)
        if (interval := self._interval) is not None and not self.over_span:
            past = self.past(content)
            past.trim(*table.drawn)
            past.keep(*interval, content, *table.drawn)

    def _limit(self, content: RowContent[R], limits: Mapping[str, Limits]) -> None:
        """Apply the user's marks to a table's columns, and say once which names of the settings it does not have."""
        content.limit(limits)
        name, known = content.whole.name, {column.id.lower()
                                           for column in (*content.whole.columns, *self.known_columns)}
        unknown = [limit for limit in limits if limit not in known]
        if unknown and content.whole.rows and name not in self._warned:
            self._warned.add(name)
            self.notice(f"[thresholds.{name}] of your settings: no column here is called {', '.join(unknown)}")

    # The past

    def moment(self, _frame: Frame, _name: str) -> RowMoment[R] | None:
        """The rows of a table at any kept frame; None if none are known of it."""
        return None

    @property
    def newest_ns(self) -> int | None:
        """End of the newest interval whose rows are known, in ns since 1970; None for the newest frame's."""
        return None

    @property
    def over_span(self) -> bool:
        """Whether the shown rows are of several intervals, so that no moment has their values."""
        return False

    @property
    def shown_ns(self) -> int | None:
        """End of the interval whose rows are shown, in ns since 1970; None if it is none of the kept ones."""
        frame = self.watch_state.frame
        return None if frame is None or frame.older is None else frame.newer.wall_ns

    @property
    def _interval(self) -> tuple[int, int] | None:
        """Start and end of the interval whose rows are shown; None if it is none of the kept ones."""
        end_ns, frame, cursor = self.shown_ns, self.watch_state.frame, self.watch_state.cursor
        if end_ns is None or frame is None:
            return None
        if frame.newer.wall_ns != end_ns:
            times = reversed(self.watch_state.times)
            known = next(((interval.start, interval.end) for interval in times if interval.end == end_ns), None)
            # an interval that came while the screen was busy has no time, and rows that came later than its frame
            frame = None if known is not None or cursor is None else cursor.timeline.frame(end_ns)
            if frame is None or frame.newer.wall_ns != end_ns:
                return known
        return end_ns - round((frame.seconds or 0.0) * NS), end_ns

    def past(self, content: RowContent[R]) -> RowPast[R]:
        """The past of a content's table."""
        name = content.whole.name
        if name not in self._pasts:
            self._pasts[name] = RowPast(self.watch_state, lambda frame: self.moment(frame, name), self._past_read)
        return self._pasts[name]

    def _past_read(self) -> None:
        """Draw what has been read of the past."""
        if self.composed:
            self.redraw_charts()
            self.renew_window()

    def renew_window(self) -> None:
        """Draw the explanation or graph above the screen again, whose numbers may have come between two frames."""
        if isinstance(self.app.screen, TextWindow | Graph):
            self.app.screen.show_frame()

    def undamaged(self, read: Callable[[], M | None]) -> M | None:
        """Return what `read` reads of a recording; None, and a notice, if it is damaged there."""
        try:
            return read()
        except DamagedError as error:
            self.notice(str(error))
            return None

    def redraw_charts(self) -> None:
        """Draw the charts anew, whose past has changed."""
        for table in self.tables:
            table.redraw_charts()

    def recent(self, column: Column[R], row: Hashable, count: int) -> Sequence[float]:
        """The last values of a cell of the table with the cursor, so many at most, the newest last."""
        content = self._table.content
        interval = self._interval
        if content is None or interval is None:
            return ()
        past = self.past(content)
        if not self.over_span:
            past.keep(*interval, content, (column,), (row,))
        return past.series(column, row, interval, count)

    def name_of(self, table: RowWidget[R]) -> str:
        return "" if table.content is None else table.content.whole.name

    def show_view(self, view: RowView[R]) -> None:
        super().show_view(replace(view, arrangement=self.arrangement))

    def find_column(self, name: str) -> Column[R] | None:
        content = self._table.content
        columns = () if content is None else content.whole.columns
        return next((column for column in columns if column.id.lower() == name.lower()), None)

    def cell(self, column: Column[R], row: Hashable) -> OneCell:
        """Return a cell."""
        return RowCell(self, column, row)

    @property
    def marked(self) -> MarkedMoment | None:
        return self._marked

    def compare(self, *, begin: bool) -> None:
        frame = self.watch_state.frame
        self._marked = marked_moment(frame) if begin and frame is not None else None
        for table in self.tables:
            mark = self._reference(table.content) if begin and table.content is not None else None
            table.show_view(replace(table.view, mark=mark), self.watch_state.interval)
        self.show_view(self._table.view)

    def _reference(self, content: RowContent[R]) -> RowContent[R]:
        """The rows with which those of later moments are compared: of the minute, or the shown ones."""
        rows, seconds = self.over_minute(content) or (content, 0.0)
        if seconds and self._marked is not None:
            self._marked = self._marked._replace(seconds=seconds)
        return rows

    def over_minute(self, _content: RowContent[R]) -> tuple[RowContent[R], float] | None:
        """The rows of a content's table over the minute up to the shown moment, and the seconds of it that are kept.

        Rates are means over that time, and amounts those of a mean interval. None where only the shown rows are known.
        """
        return None

    def mean_rows(self, rows_of: Callable[[Frame], RowContent[R] | None]) -> tuple[RowContent[R], float] | None:
        """`over_minute` of rows that are computed from the signals of a frame, as the function does."""
        from turbotui.recording.averages import MeanFrame  # noqa: PLC0415 - most never compare

        mean = self.last_minute(whole=True)
        rows = rows_of(mean) if isinstance(mean, MeanFrame) else None
        return None if rows is None or not isinstance(mean, MeanFrame) else (rows, mean.whole)

    # Trees

    @property
    def outer_rows(self) -> frozenset[Hashable] | None:
        """The rows that `*` folds; None if rows form no tree."""
        content = self._table.content
        return None if content is None or not content.parents else frozenset(content.parents.values())

    def action_sideways(self, by: int) -> None:
        """Fold or unfold the current row while no column is chosen; otherwise go to the next column."""
        if (line := self._table.line) is None or self._table.is_column_chosen:
            super().action_sideways(by)
        elif by > 0 and line.open is False:
            self._fold(line.row, fold=False)
        elif by < 0 and line.open:
            self._fold(line.row, fold=True)
        elif by < 0 and line.parent is not None:
            self._table.select(line.parent)
        else:
            super().action_sideways(by)

    def action_fold_all(self) -> None:
        """Fold every row with children, or unfold all if some are folded."""
        if (outer := self.outer_rows) is None:
            self.notice(self.treeless)
        else:
            self.show_folds(frozenset() if self._table.view.folded else outer)

    # Columns

    @property
    def can_find(self) -> bool:
        return self._table.content is not None

    def hidden_column(self, text: str) -> tuple[str, Unavailable | None] | None:
        column = next((column for column in self.known_columns if column.id.lower() == text.lower()), None)
        return None if column is None or column.identity else (column.id, self.why_absent(column))

    @property
    def known_columns(self) -> Sequence[Column[R]]:
        """Every possible column."""
        return () if self._table.content is None else self._table.content.whole.columns

    def why_absent(self, _column: Column[R]) -> Unavailable | None:
        """Why a column cannot be shown; None if it can."""
        return None

    def section(self, _column: Column[R]) -> str:
        """The picker's heading above a column; "" for none."""
        return ""

    def is_shown(self, column: Column[R]) -> bool:
        """Whether the table shows a column."""
        return any(column.id == shown.id for shown in self._table.view.columns)

    def toggle(self, column: Column[R]) -> None:
        """Show or hide a column."""
        if self._table.content is not None:
            self.show_arrangement(self.arrangement.shown(column.id, shown=not self.is_shown(column)))

    def show_arrangement(self, arrangement: ColumnArrangement) -> None:
        super().show_arrangement(arrangement)
        if self._table.content is not None:
            self.show_content(self._table.content)

    def action_columns(self) -> None:
        """Open the picker."""
        cell = self._table.selected
        self.app.push_screen(Picker(self, cell[0].id if cell else "", self))


class RowCell(OneCell, Generic[R]):
    """A cell of a `RowTableScreen`."""

    in_frames = True

    def __init__(self, screen: RowTableScreen[R], column: Column[R], row: Hashable) -> None:
        self._screen = screen
        self._table = screen.table
        self.column: Column[R] = column
        self.row = row
        self.seconds = screen.watch_state.interval

    @property
    def content(self) -> RowContent[R] | None:
        return self._table.content

    @property
    def mark(self) -> Content[Column[R], Hashable] | None:
        return self._table.view.mark

    @property
    def ring(self) -> HistoryRing | None:
        """The values that led to the shown moment."""
        content = self._table.content
        values = () if self.column.decimals < 0 else self._screen.recent(self.column, self.row, HISTORY)
        ring = HistoryRing(HISTORY)
        for value in values:
            ring.push(None if math.isnan(value) else value)
        ring.last = -1 if content is None else content.seq
        return ring

    @property
    def newest_ns(self) -> int | None:
        return self._screen.newest_ns

    def read(self, frame: Frame) -> float | None:
        content = self._table.content
        rows = None if content is None else self._screen.moment(frame, content.whole.name)
        value = None if rows is None else rows.bare(self.column, self.row)
        return value if isinstance(value, int | float) else None

    @property
    def columns(self) -> Sequence[Column[R]]:
        return self._screen.known_columns

    def why_absent(self, column: Column[R]) -> Unavailable | None:
        return self._screen.why_absent(column)

    def section(self, column: Column[R]) -> str:
        return self._screen.section(column)

    def beside(self, column: Column[R]) -> OneCell:
        return self._screen.cell(column, self.row)
