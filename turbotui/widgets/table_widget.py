"""The table of every screen: a widget with a cursor that draws only visible lines and repaints only changed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from textual import events
from textual.geometry import Size
from textual.strip import Strip

from turbotui.quantities.tables import C, K
from turbotui.widgets.cells import Slot, StyleRole
from turbotui.widgets.content import F, Line
from turbotui.widgets.geometry import Geometry
from turbotui.widgets.row_charts import LEAST, ChartedRow, RowCharts
from turbotui.widgets.row_list import RowList
from turbotui.widgets.table_canvas import Paint, TableCanvas
from turbotui.widgets.table_messages import CellOpened, FoldClicked, Moved
from turbotui.widgets.table_view import Follow, TableView
from turbotui.widgets.title_mouse import TitleMouse


class TableWidget(TitleMouse, Generic[F, C, K]):
    """Rows by columns, with a cursor on one cell and some rows pinned at the top.

    Cursor, tags and folds are stored by the rows' keys and disappear with their row. If the height is `auto`, the
    widget is as high as its rows, and its container scrolls.

    Args:
        charts: draws the row under the cursor where rows leave room; None for no charts.
    """

    DEFAULT_CSS = "TableWidget { scrollbar-gutter: stable; }"

    def __init__(self, view: TableView[C, K], rows: RowList[F, C, K], paint: Paint[C, K, F], *, seconds: float = 1.0,
                 charts: RowCharts[F, C, K] | None = None,
                 id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.view = view
        self.content: F | None = None
        self._rows = rows
        self.cursor: K | None = None
        self._seconds = seconds
        self._slot: int | None = None  # until the user chooses a column
        self._has_cursor = True
        self._canvas = TableCanvas(self, view, paint, seconds)
        self._charts = charts

    # What is shown

    def show_content(self, content: F, *, quietly: bool = False) -> None:
        """Show newer content: rows are rearranged, changed lines repainted, and the cursor keeps its row.

        `quietly` posts no `Moved`, for callers that read the cell under the cursor anyway.
        """
        self.content = content
        self._canvas.new_content()
        self._relist()
        self._repaint(quietly=quietly)

    def show_view(self, view: TableView[C, K], seconds: float | None = None) -> None:
        """Show other columns, another order or other rows."""
        chosen = None if self._slot is None else self._slots[self._slot].column.id
        self.view = view
        self._seconds = seconds or self._seconds
        self._canvas.show(view, self._seconds, self.scrollable_content_region.width, self._canvas.painter.offset)
        self._slot = next((at for at, slot in enumerate(self._slots) if slot.column.id == chosen), None)
        self._canvas.arrange(self._slot)
        self._relist()
        self._repaint(everything=True)

    @property
    def _slots(self) -> tuple[Slot, ...]:
        """The slots after the ids, whether drawn or not."""
        return self._canvas.painter.moving

    @property
    def _geometry(self) -> Geometry:
        return self._canvas.geometry

    def _relist(self) -> None:
        if self.content is None:
            return
        before = self._rows.position(self.cursor)
        self._rows.update(self.content, self.view)
        size = Size(self._canvas.painter.width, self._fixed + len(self.lines))
        if size != self.virtual_size:
            self.virtual_size = size
        self._follow(self.content, before)

    def _follow(self, content: F, before: int | None) -> None:
        """Move the cursor as `Follow` demands after rows have moved."""
        if self.view.follow in self.view.targets:
            target = self._rows.target(content, self.view)
            if target is not None:
                self._go(target)
            return
        if self.cursor is None or self.cursor in self.view.pinned:
            return
        if self.view.follow is Follow.ROW and self._rows.position(self.cursor) is not None:
            self._reveal()
        elif self.lines:
            self._go(self.lines[min(before or 0, len(self.lines) - 1)].row)
        else:
            self.cursor = None

    # Lines and places

    @property
    def _pinned(self) -> tuple[K, ...]:
        """As many pinned rows as leave room for others; all of them if the height follows the rows."""
        pinned = self.view.pinned
        return pinned if self.styles.is_auto_height else pinned[: max(1, self.size.height - self._heads - 3)]

    @property
    def _heads(self) -> int:
        return len(self._canvas.headers())

    @property
    def _fixed(self) -> int:
        return self._heads + len(self._pinned)

    @property
    def lines(self) -> Sequence[Line[K]]:
        """The rows from top to bottom, without pinned ones."""
        return self._rows.lines

    def _line_at(self, y: int) -> Line[K] | None:
        heads = self._heads
        if y < heads:
            return None
        if y < self._fixed:
            return Line(self._pinned[y - heads])
        at = y - self._fixed + self.scroll_offset.y
        return self.lines[at] if at < len(self.lines) else None

    @property
    def columns_in_order(self) -> list[C]:
        """Columns from left to right, including those without room."""
        return self._canvas.painter.columns

    @property
    def drawn(self) -> tuple[list[C], tuple[K, ...]]:
        """Drawn columns and rows, including pinned rows."""
        columns = [slot.column for slot in self._geometry.slots if not slot.spark]
        return columns, tuple(line.row for line in self._lines_drawn())

    @property
    def has_charts(self) -> bool:
        """Whether charts of a row are drawn below the rows."""
        return self._canvas.has_below

    @property
    def page(self) -> int:
        """Number of visible rows, without pinned ones."""
        return max(1, self.size.height - self._fixed)

    @property
    def current(self) -> K | None:
        """The row under the cursor; the first row if none was chosen."""
        if self.cursor is not None:
            return self.cursor
        return self.lines[0].row if self.lines else None

    @property
    def selected(self) -> tuple[C, K] | None:
        """The cell under the cursor."""
        row, slot = self.current, self._chosen_slot
        return None if row is None or slot is None else (self._slots[slot].column, row)

    @property
    def is_column_chosen(self) -> bool:
        """Whether the user put the cursor into a column."""
        return self._slot is not None

    @property
    def _chosen_slot(self) -> int | None:
        """The slot under the cursor: the chosen one, else the sorted one, the busy share, or the first drawn one."""
        if self._slot is not None:
            return self._slot
        return self._canvas.first_choice(self.view.sort, self.view.targets.get(Follow.BUSIEST))

    @property
    def line(self) -> Line[K] | None:
        """The line under the cursor."""
        at = self._rows.position(self.current)
        return None if at is None else self.lines[at]

    @property
    def cursor_y(self) -> int:
        """The widget's line with the cursor; 0 without rows."""
        row, pinned = self.current, self._pinned
        at = self._rows.position(row)
        if at is not None:
            return self._fixed + at - self.scroll_offset.y
        return self._heads + pinned.index(row) if row in pinned else 0

    def show_cursor(self, *, shown: bool) -> None:
        """Draw the cursor, or hide it while keys act on another table."""
        self._has_cursor = shown
        if self.current is not None:
            self._canvas.forget(self.current)
        self._repaint()

    # Moving

    def move(self, by: int) -> None:
        """Move the cursor by lines; the pinned rows come before the first row."""
        row = self.current
        at = self._rows.position(row)
        pinned = self._pinned
        if at is None:
            at = pinned.index(row) - len(pinned) if row in pinned else 0
        target = max(-len(pinned) if abs(by) == 1 else 0, min(len(self.lines) - 1, at + by))
        if not self.lines:
            return
        self.select(pinned[target] if target < 0 else self.lines[target].row)

    def move_to_end(self, *, last: bool) -> None:
        """Move to the first or the last row."""
        if self.lines:
            self.select(self.lines[-1 if last else 0].row)
            if not last:
                # a cursor at the top stays there: a user who has not chosen a row wants to see the first one
                self.cursor = None
                self._repaint()

    def move_column(self, by: int) -> bool:
        """Move to the next column, scrolling sideways if it is hidden; false if there is none."""
        slots = self._slots
        here = self._chosen_slot
        if here is None:
            return False
        at = here + by
        while 0 <= at < len(slots) and slots[at].spark:
            at += by
        if 0 <= at < len(slots):
            self.select_slot(at)
            return True
        if at < 0 and self._canvas.painter.offset:
            # before the first column lies the automatic choice by priority
            self._slot = None
            self._canvas.painter.offset = 0
            self._canvas.arrange(None)
            self._repaint()
            return True
        return False

    def select_column(self, column: C) -> None:
        """Put the cursor into a column."""
        for at, slot in enumerate(self._slots):
            if slot.column.id == column.id:
                self.select_slot(at)
                return

    def select_slot(self, at: int) -> None:
        """Put the cursor into a slot."""
        self._slot = at
        row = self.current
        if not self._canvas.reveal(at) and row is not None:
            self._canvas.forget(row)
        self._repaint()

    def select(self, row: K) -> None:
        """Put the cursor on a row and show it."""
        self._go(row)
        self._repaint(moved=True)

    def _go(self, row: K) -> None:
        old = self.current
        self.cursor = row
        for stale in (old, row):
            if stale is not None:
                self._canvas.forget(stale)
        self._reveal()

    def _reveal(self) -> None:
        at = self._rows.position(self.cursor)
        if at is not None:
            self.reveal(at, at, self.page)

    def find(self, text: str, *, after: bool = False) -> bool:
        """Move to the next row whose ids contain a text, from the cursor on, wrapping around; false without one."""
        if self.content is None or not text:
            return False
        row = self._rows.find(self.content, text, (self._rows.position(self.current) or 0) + after)
        if row is not None:
            self.select(row)
        return row is not None

    # Drawing

    def _repaint(self, *, everything: bool = False, quietly: bool = False, moved: bool = False) -> None:
        """Draw what changed; a `moved` cursor is reported even if it is out of sight, so that the container follows."""
        if not self.is_attached:
            return
        if self.is_out_of_sight:
            self._shown.clear()  # drawn when it is scrolled into view
            if moved:
                self.post_message(Moved(self))
            return
        self.draw_changes(everything=everything)
        if not quietly:
            self.post_message(Moved(self))

    def all_strips(self) -> dict[int, Strip]:
        height, canvas, content = self.size.height, self._canvas, self.content
        strips, row, slot = [*canvas.headers()], self.current if self._has_cursor else None, self._chosen_slot
        if content is not None:
            summaries = frozenset((*self.view.top, *self.view.sums))
            chosen = None if row is None or slot is None else (row, slot)
            strips += canvas.strips(content, [(line, self._base(line.row, summaries)) for line in self._lines_drawn()],
                                    chosen)
            canvas.has_below = self._charts is not None and chosen is not None and height - len(strips) >= LEAST
            if self._charts is not None and chosen is not None and canvas.has_below:
                room = ChartedRow(content, self.view, self.drawn[0], self._slots[chosen[1]].column, chosen[0],
                                  self._seconds, canvas.painter.width, height - len(strips))
                strips += canvas.below(self._charts.lines(room))
        strips += [canvas.blank()] * (height - len(strips))
        return dict(enumerate(strips[:height]))

    def _lines_drawn(self) -> list[Line[K]]:
        """The lines below the titles, pinned ones first."""
        pinned, top, room = self._pinned, self.scroll_offset.y, max(0, self.size.height - self._heads)
        return [*(Line(row) for row in pinned), *self.lines[top : top + max(0, room - len(pinned))]][:room]

    def _base(self, row: K, summaries: frozenset[K]) -> StyleRole:
        if self._has_cursor and row == self.current:
            return StyleRole.CURSOR
        return StyleRole.SUMMARY if row in summaries else StyleRole.PLAIN

    def on_resize(self) -> None:
        """Choose columns for the new width and keep the cursor visible."""
        width = self.scrollable_content_region.width
        if width != self._canvas.painter.width:
            self._canvas.resize(width)
            self._canvas.arrange(self._slot)
        self._relist()
        self._reveal()
        self._repaint(everything=True)

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """Post what was clicked (a title, a group's mark) or move the cursor; a second click opens the cell."""
        if event.y < self._heads:
            self.title_clicked(event)
            return
        slot = self._geometry.at(event.x)
        line = self._line_at(event.y)
        if line is None:
            return
        if line.open is not None and 2 * line.depth <= event.x <= 2 * line.depth + 2:
            self.post_message(FoldClicked(self, line.row))
            return
        if slot is not None:
            self._slot = slot
        self.select(line.row)
        if event.chain == 2:
            self.post_message(CellOpened(self))
