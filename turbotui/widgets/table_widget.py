"""The table of every screen: a widget with a cursor that draws only visible lines and repaints only changed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import C, K
from turbotui.widgets.cells import Slot, StyleRole
from turbotui.widgets.content import F, Line
from turbotui.widgets.direct_screen import draw_lines
from turbotui.widgets.geometry import RULE, Geometry, arrange
from turbotui.widgets.headings import Drag, Heading, border_at, heading_at
from turbotui.widgets.row_charts import LEAST, ChartedRow, RowCharts
from turbotui.widgets.styled_scroll import StyledScroll
from turbotui.widgets.table_canvas import Paint, TableCanvas
from turbotui.widgets.table_view import Follow, RowList, TableView

BESIDE: Final = 60
"""Characters beside the rows from which charts of a row stand there."""


class TableWidget(StyledScroll, Generic[F, C, K]):
    """Rows by columns, with a cursor on one cell and some rows pinned at the top.

    Cursor, tags and folds are stored by the rows' keys and disappear with their row. If the height is `auto`, the
    widget is as high as its rows, and its container scrolls.

    Args:
        charts: draws the row under the cursor where rows leave room; None for no charts.
    """

    DEFAULT_CSS = "TableWidget { scrollbar-gutter: stable; }"

    @dataclass()
    class Moved(Message):
        """The cursor moved to another cell, or the cell's value changed."""

        table: TableWidget[Any, Any, Any]

    @dataclass()
    class TitleClicked(Message):
        """A column's title was clicked."""

        table: TableWidget[Any, Any, Any]
        column: Column[Any]

    @dataclass()
    class FoldClicked(Message):
        """The mark of a group was clicked."""

        table: TableWidget[Any, Any, Any]
        row: Any

    @dataclass()
    class CellOpened(Message):
        """A cell was clicked twice."""

        table: TableWidget[Any, Any, Any]

    @dataclass()
    class ColumnDragged(Message):
        """A column's title was dragged onto another one, and dropped there if `dropped`."""

        table: TableWidget[Any, Any, Any]
        column: Column[Any]
        to: Column[Any]
        dropped: bool

    @dataclass()
    class WidthDragged(Message):
        """A column's right border was dragged to this width; None after a double click."""

        table: TableWidget[Any, Any, Any]
        column: Column[Any]
        width: int | None

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
        self._end = 0  # the character from which charts stand beside the rows, or the width
        self._shown: dict[int, Strip] = {}
        self._drag: Drag | None = None

    # What is shown

    def show_content(self, content: F, *, quietly: bool = False) -> None:
        """Show newer content: rows are rearranged, changed lines repainted, and the cursor keeps its row.

        `quietly` posts no `Moved`, for callers that read the cell under the cursor anyway.
        """
        self.content = content
        self._canvas.new_content()
        self._relist()
        self._repaint(quietly=quietly)

    def redraw_charts(self) -> None:
        """Draw the charts anew, whose past has changed."""
        if self._charts is not None and self.content is not None:
            self._charts.let_go()
            self.show_content(self.content, quietly=True)

    def let_go(self) -> None:
        """Release the content and the drawn lines until content is shown again; cursor and rows stay."""
        self.content = None
        self._canvas.forget_lines()
        self._shown.clear()
        if self._charts is not None:
            self._charts.let_go()

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
        self.hold(Size(self._canvas.painter.width, self._fixed + len(self.lines)))
        self._follow(self.content, before)

    def _follow(self, content: F, before: int | None) -> None:
        """Move the cursor as `Follow` demands after rows have moved."""
        if self.view.follow in self.view.targets:
            if (target := self._rows.target(content, self.view)) is not None:
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

    def end_in(self, width: int) -> int:
        """The character behind the last column where the table is as wide as this."""
        return arrange(self._canvas.painter.moving, self._canvas.painter.edge, width).end

    @property
    def headings(self) -> Sequence[Heading]:
        """The drawn titles."""
        return self._canvas.painter.headings(self._canvas.geometry)

    def width_of(self, column: Column[Any]) -> int | None:
        """Characters of a column's values as drawn, or as they would be; None if the column is not in the table."""
        slots = (*self._canvas.painter.fixed, *self._canvas.painter.moving)
        return next((slot.width for slot in slots if slot.column.id == column.id and not slot.spark), None)

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
        if (at := self._rows.position(row)) is not None:
            return self._fixed + at - self.scroll_offset.y
        return self._heads + pinned.index(row) if row in pinned else 0

    def show_cursor(self, *, shown: bool) -> None:
        """Draw the cursor, or hide it while keys act on another table."""
        self._has_cursor = shown
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
        here = self._chosen_slot
        order = [slot for slot in self._canvas.order() if slot == here or not self._slots[slot].spark]
        if here not in order:
            return False
        at = order.index(here) + by
        if 0 <= at < len(order):
            self.select_slot(order[at])
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
        self._canvas.reveal(at)
        self._repaint()

    def select(self, row: K) -> None:
        """Put the cursor on a row and show it."""
        self._go(row)
        self._repaint(moved=True)

    def _go(self, row: K) -> None:
        self.cursor = row
        self._reveal()

    def _reveal(self) -> None:
        if (at := self._rows.position(self.cursor)) is not None:
            self.reveal(at, at, self.page)

    def way_back(self) -> Callable[[], None]:
        """Return a function that puts the cursor back to its row and column, or to none chosen, and shows them."""
        cursor, slot, offset = self.cursor, self._slot, self._canvas.painter.offset

        def back() -> None:
            self.cursor, self._slot, self._canvas.painter.offset = cursor, slot, offset
            self._canvas.arrange(slot)
            at = self._rows.position(self.current) or 0
            self.reveal(at, at, self.page)
            self._repaint(moved=True)

        return back

    def find(self, text: str, *, after: bool = False) -> bool:
        """Move to the next row whose ids contain a text, from the cursor on, wrapping around; false without one."""
        if self.content is None or not text:
            return False
        row = self._rows.find(self.content, text, (self._rows.position(self.current) or 0) + after,
                              after=after)
        if row is not None:
            self.select(row)
        return row is not None

    # Drawing

    def _repaint(self, *, everything: bool = False, quietly: bool = False, moved: bool = False) -> None:
        """Draw what changed; a `moved` cursor is reported even if it is out of sight, so that the container follows."""
        if not self.is_attached:
            return
        hidden = self._is_out_of_sight
        if moved or not (hidden or quietly):
            # to the screen, and before drawing: what the screen draws then goes to the terminal in the same update
            self.screen.post_message(self.Moved(self))
        if hidden:
            self._shown.clear()  # drawn when it is scrolled into view
        else:
            fresh = self._all_strips()
            if everything:
                self.refresh()
            # all at once: until Textual draws, rows of a new view would stand below titles of the old one
            dirty = {y: strip for y, strip in fresh.items() if everything or self._shown.get(y) is not strip}
            if dirty:
                draw_lines(self, dirty)
            self._shown = fresh

    @property
    def _is_out_of_sight(self) -> bool:
        """Whether the container was scrolled past the whole widget."""
        place, around = self.virtual_region, self.parent
        if not self.styles.is_auto_height or not isinstance(around, Widget) or not place.area:
            return False
        return not around.scroll_y - place.height < place.y < around.scroll_y + around.size.height

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        strip = self._shown.get(y)
        if strip is None:
            self._shown = self._all_strips()
            strip = self._shown.get(y)
        return self._canvas.blank() if strip is None else strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """Some lines of the widget.

        Textual's own method applies borders, padding and filters to each line, at twice the cost of drawing it; the
        widget has no borders and no padding, and the palette's colours are already filtered.
        """
        strips = [self.render_line(y) for y in crop.line_range]
        covered = self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0
        if crop.x == 0 and crop.right == self._canvas.painter.width + covered:
            return strips
        return [strip.adjust_cell_length(crop.right, self._canvas.ground).crop(crop.x) for strip in strips]

    def notify_style_update(self) -> None:
        """Forget colours after a change of theme."""
        super().notify_style_update()
        self._canvas.forget_colours()
        self._shown.clear()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw all lines, from their cached strips, after scrolling."""
        super().watch_scroll_y(old_value, new_value)
        self._shown.clear()

    def _all_strips(self) -> dict[int, Strip]:
        height, canvas, content = self.size.height, self._canvas, self.content
        strips, row, slot = [*canvas.headers()], self.current if self._has_cursor else None, self._chosen_slot
        if content is not None:
            summaries = frozenset((*self.view.top, *self.view.sums))
            chosen = None if row is None or slot is None else (row, slot)
            strips += canvas.strips(content, [(line, self._base(line.row, summaries)) for line in self._lines_drawn()],
                                    chosen)
            strips = self._with_charts(content, strips, chosen)
        strips += [canvas.blank()] * (height - len(strips))
        return dict(enumerate(strips[:height]))

    def _with_charts(self, content: F, strips: list[Strip], chosen: tuple[K, int] | None) -> list[Strip]:
        """Draw charts of the row under the cursor where rows leave room: below them, or beside many narrow ones."""
        canvas, height, heads = self._canvas, self.size.height, self._heads
        width, below = canvas.painter.width, height - len(strips)
        self._end = width
        if self._charts is None or chosen is None:
            return strips
        at = canvas.geometry.end + 1  # its blank may hold the sort mark
        side = width - at - len(RULE) - 1
        at_side = side >= BESIDE and side * (height - heads) >= 2 * width * below
        if max(below, (height - heads) * at_side) < LEAST:
            return strips
        room = ChartedRow(content, self.view, self.drawn[0], self._slots[chosen[1]].column, chosen[0], self._seconds,
                          side if at_side else width, height - heads if at_side else below)
        lines = self._charts.lines(room)
        if not at_side:
            return [*strips, *canvas.charts(lines, width)]
        self._end = at
        lines = [[(f"{RULE} ", StyleRole.RULE), *line] for line in (*lines, *[[]] * (height - heads - len(lines)))]
        strips += [canvas.blank()] * (height - len(strips))
        return [*strips[:heads], *canvas.beside(strips[heads:], canvas.charts(lines, width - at), at)]

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
        if (width := self.scrollable_content_region.width) != self._canvas.painter.width:
            self._canvas.resize(width)
            self._canvas.arrange(self._slot)
        self._relist()
        self._reveal()
        self._repaint(everything=True)

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """Post what was clicked (a title, a group's mark) or move the cursor; a second click opens the cell."""
        if event.y < self._heads:
            self._title_clicked(event)
            return
        slot = self._geometry.at(event.x)
        if (line := self._line_at(event.y)) is None or event.x >= self._end:
            return
        if line.open is not None and 2 * line.depth <= event.x <= 2 * line.depth + 2:
            self.post_message(self.FoldClicked(self, line.row))
            return
        if slot is not None:
            self._slot = slot
        self.select(line.row)
        if event.chain == 2:
            self.post_message(self.CellOpened(self))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Grab a title or its right border."""
        self._drag = None
        if event.y >= len(self._canvas.headers()) or event.button != 1:
            return
        border = border_at(self.headings, event.x)
        heading = border or heading_at(self.headings, event.x)
        if heading is not None:
            self._drag = Drag(heading, border is not None, event.x)
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Change the width, or show where the column would go."""
        drag = self._drag
        if drag is None or (event.x == drag.pressed and not drag.is_moved):
            return
        if not event.button:  # the button was released where the terminal did not report it
            self._let_go()
            return
        drag.is_moved = True
        if drag.is_border:
            self.post_message(self.WidthDragged(self, drag.heading.slot.column, drag.width(event.x)))
        else:
            self._dragged(drag, event.x, dropped=False)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Drop the column at the mouse."""
        if (drag := self._drag) is None:
            return
        self.release_mouse()
        if drag.is_moved and not drag.is_border:
            self._dragged(drag, event.x, dropped=True)

    def _let_go(self) -> None:
        self._drag = None
        self.release_mouse()

    def _dragged(self, drag: Drag, x: int, *, dropped: bool) -> None:
        """Post the title that a column is dragged over; an identity column stays on its side of the rule."""
        over, column = heading_at(self.headings, x), drag.heading.slot.column
        if over is not None and over.slot.column.identity == column.identity:
            self.post_message(self.ColumnDragged(self, column, over.slot.column, dropped))

    def _title_clicked(self, event: events.Click) -> None:
        """Post the click on a title; a dragged title is not clicked, and a border needs two clicks."""
        drag, self._drag = self._drag, None
        if drag is not None and drag.is_moved:
            return
        border = border_at(self.headings, event.x)
        heading = heading_at(self.headings, event.x)
        if border is not None and event.chain == 2:
            self.post_message(self.WidthDragged(self, border.slot.column, None))
        elif border is None and heading is not None:
            self.post_message(self.TitleClicked(self, heading.slot.column))
