"""Mouse actions on the titles of a table: sort, move columns, change their widths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from textual import events

from turbotui.quantities.columns import Column
from turbotui.widgets.cached_strips import CachedStrips
from turbotui.widgets.headings import Drag, Heading, border_at, heading_at
from turbotui.widgets.table_messages import ColumnDragged, TitleClicked, WidthDragged

if TYPE_CHECKING:
    from turbotui.widgets.table_widget import TableWidget


class TitleMouse(CachedStrips):
    """A table whose titles are clicked and dragged; a dropped column moves, and a width changes while it is dragged."""

    _drag: Drag | None = None

    @property
    def headings(self) -> Sequence[Heading]:
        """The drawn titles."""
        return self._canvas.painter.headings(self._canvas.geometry)

    def width_of(self, column: Column[Any]) -> int | None:
        """Characters of a column's values as drawn, or as they would be; None if the column is not in the table."""
        slots = (*self._canvas.painter.fixed, *self._canvas.painter.moving)
        return next((slot.width for slot in slots if slot.column.id == column.id and not slot.spark), None)

    @property
    def _as_table(self) -> TableWidget[Any, Any, Any]:
        return cast("TableWidget[Any, Any, Any]", self)

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
            self.post_message(WidthDragged(self._as_table, drag.heading.slot.column, drag.width(event.x)))
        else:
            self._dragged(drag, event.x, dropped=False)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Drop the column at the mouse."""
        drag = self._drag
        if drag is None:
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
            self.post_message(ColumnDragged(self._as_table, column, over.slot.column, dropped))

    def title_clicked(self, event: events.Click) -> None:
        """Post the click on a title; a dragged title is not clicked, and a border needs two clicks."""
        drag, self._drag = self._drag, None
        if drag is not None and drag.is_moved:
            return
        border = border_at(self.headings, event.x)
        heading = heading_at(self.headings, event.x)
        if border is not None and event.chain == 2:
            self.post_message(WidthDragged(self._as_table, border.slot.column, None))
        elif border is None and heading is not None:
            self.post_message(TitleClicked(self._as_table, heading.slot.column))
