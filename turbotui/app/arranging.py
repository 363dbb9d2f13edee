"""Order and widths of a table's columns, changed by keys for the column under the cursor or by the mouse."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from turbotui.app.modal import Window
from turbotui.cell_widths import cut
from turbotui.quantities.columns import Column, ColumnId
from turbotui.widgets.arrangement import ColumnArrangement
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_widget import TableWidget

_LEAST_NAME: Final = 8
"""Width of a column's name before the keys."""


class MovableColumns(Protocol):
    """A table whose columns can be moved and resized; each method reports what it did."""

    def move_column(self, name: ColumnId, by: int) -> str:
        """Move a column by one place."""

    def size_column(self, name: ColumnId, by: int) -> str:
        """Make a column wider or narrower; 0 restores its natural width."""

    def show_default_columns(self) -> str:
        """Show the columns that a table has before the user changes them, in their order and widths."""


class ArrangedTable(MovableColumns, Protocol):
    """The screen of a table whose columns the user can move and resize."""

    @property
    def arrangement(self) -> ColumnArrangement:
        """Order and widths of the table's columns."""

    @property
    def table(self) -> TableWidget[Any, Any, Any]:
        """The table."""

    def show_arrangement(self, arrangement: ColumnArrangement) -> None:
        """Show the table with another order or other widths."""

    def notice(self, text: str) -> None:
        """Show a sentence on the status line."""


class ArrangeKeys(Window[None]):
    """The key bar for moving and resizing one column, on the last line; the table behind it changes at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h,less_than_sign", "move(-1)", "left", priority=True),
        Binding("right,l,greater_than_sign", "move(1)", "right", priority=True),
        Binding("up,plus,k,right_square_bracket", "size(1)", "wider", priority=True),
        Binding("down,minus,j,left_square_bracket", "size(-1)", "narrower", priority=True),
        Binding("equals_sign", "size(0)", "natural width", priority=True),
        Binding("0", "usual", "usual order and widths", priority=True),
        Binding("shift+left,H", "choose(-1)", "the column before", priority=True),
        Binding("shift+right,L,tab", "choose(1)", "the next column", priority=True),
        Binding("enter,ctrl+j,m,q,f10", "close", "done", priority=True),
        Binding("escape", "undo", "as it was", priority=True),
    ]

    DEFAULT_CSS = """
    ArrangeKeys { align: left bottom; background: transparent; }
    ArrangeKeys > SegmentLines { width: 100%; }
    """

    def __init__(self, screen: ArrangedTable, column: Column[Any]) -> None:
        super().__init__()
        self._below = screen
        self._column = column
        self._before = screen.arrangement

    def compose(self) -> ComposeResult:
        """Lay out the line of keys."""
        yield SegmentLines(base=StyleRole.CURSOR)

    def on_mount(self) -> None:
        """Show the keys."""
        self._show()

    def _show(self) -> None:
        width = self._below.table.width_of(self._column)
        keys = (("← →", "move"), ("↑ ↓", f"width {width}"), ("=", "natural"), ("Tab", "next"),
                ("0", "usual"), ("Enter", "keep"), ("Esc", "undo"))
        gap = "  " if self.app.size.width >= 100 else " "
        segments = [part for key, word in keys for part in ((key, StyleRole.KEY), (f" {word}{gap}", StyleRole.PLAIN))]
        room = self.app.size.width - sum(len(text) for text, _ in segments) - len(gap) - 1
        name = (f" {cut(self._column.id, max(_LEAST_NAME, room))}{gap}", StyleRole.SORTED)
        self.query_one(SegmentLines).show([[name, *segments]])

    def action_move(self, by: int) -> None:
        """Move the column."""
        self._below.notice(self._below.move_column(self._column.id, by))
        self._below.table.select_column(self._column)
        self._show()

    def action_size(self, by: int) -> None:
        """Change the column's width."""
        self._below.notice(self._below.size_column(self._column.id, by))
        self._show()

    def action_choose(self, by: int) -> None:
        """Go to the next column, or the one before."""
        self._below.table.move_column(by)
        if (cell := self._below.table.selected) is not None:
            self._column = cell[0]
        self._show()

    def action_usual(self) -> None:
        """Restore the default order and widths of all columns."""
        self._below.show_arrangement(self._below.arrangement.in_place())
        self._show()

    def action_undo(self) -> None:
        """Restore all columns as they were, and close."""
        self._below.show_arrangement(self._before)
        self.dismiss(None)
