"""Order and widths of a table's columns, changed by keys for the column under the cursor or by the mouse."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Final, Generic, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from turbotui.app.base import WatchScreen
from turbotui.app.modal import Window
from turbotui.cell_widths import cut
from turbotui.quantities.columns import Column, ColumnId
from turbotui.quantities.tables import C, K
from turbotui.widgets.arrangement import USUAL, ColumnArrangement
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.content import F
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_messages import ColumnDragged, WidthDragged
from turbotui.widgets.table_view import TableView
from turbotui.widgets.table_widget import TableWidget

_LEAST_NAME: Final = 8
"""Width of a column's name before the keys."""


class MovableColumns(Protocol):
    """A table whose columns can be moved and resized; each method reports what it did."""

    def move_column(self, name: ColumnId, by: int) -> str:
        """Move a column by one place."""

    def size_column(self, name: ColumnId, by: int) -> str:
        """Make a column wider or narrower; 0 restores its natural width."""


class ArrangedTable(WatchScreen, Generic[F, C, K]):
    """A screen with a table whose columns the user can move and resize."""

    _table: TableWidget[F, C, K]

    @property
    @abstractmethod
    def table_name(self) -> str:
        """The name under which order and widths are stored; "" without a table."""

    @abstractmethod
    def show_view(self, view: TableView[C, K]) -> None:
        """Show the table another way, arranged as `arrangement` says."""

    @abstractmethod
    def enter(self, table: TableWidget[F, C, K]) -> None:
        """Have the keys act on a table."""

    @property
    def arrangement(self) -> ColumnArrangement:
        """Order and widths of the table's columns."""
        return self.watch_state.arrangements.get(self.table_name, USUAL)

    def show_arrangement(self, arrangement: ColumnArrangement) -> None:
        """Show the table with another order or other widths."""
        if arrangement == USUAL:
            self.watch_state.arrangements.pop(self.table_name, None)
        else:
            self.watch_state.arrangements[self.table_name] = arrangement
        self.show_view(self._table.view)

    def move_column(self, name: ColumnId, by: int) -> str:
        """Swaps with the drawn neighbour, or else with the next column."""
        columns = {column.id: column for column in self._table.columns_in_order}
        if name not in columns:
            return f"{name} is not shown: Space shows it"
        drawn = {column.id for column in self._table.drawn[0]}
        beside = [one for one, column in columns.items() if column.identity == columns[name].identity
                  and (one == name or one in drawn or name not in drawn or column.identity)]
        if not 0 <= beside.index(name) + by < len(beside):
            beside = [one for one, column in columns.items() if column.identity == columns[name].identity]
        at = beside.index(name) + by
        if not 0 <= at < len(beside):
            return f"{name} is the {'last' if by > 0 else 'first'} one"
        self.show_arrangement(self.arrangement.moved(list(columns), name, beside[at]))
        return f"{name} stands {'behind' if by > 0 else 'before'} {beside[at]}: Ctrl+S remembers it"

    def size_column(self, name: ColumnId, by: int) -> str:
        column = next((column for column in self._table.columns_in_order if column.id == name), None)
        width = None if column is None else self._table.width_of(column)
        if column is None or width is None:
            return f"{name} is not shown, or has no room"
        self.show_arrangement(self.arrangement.sized(name, width + by if by else None))
        return f"{name} is {self._table.width_of(column) or width} characters wide: Ctrl+S remembers it"

    def action_arrange(self) -> None:
        """Let the next keys move and resize the column under the cursor."""
        cell = self._table.selected
        if cell is None or not self._table.headings:
            self.notice("No column is under the cursor")
            return
        self._table.select_column(cell[0])
        self.app.push_screen(ArrangeKeys(self, cell[0]))

    @property
    def table(self) -> TableWidget[F, C, K]:
        """The table, for tests and the windows."""
        return self._table

    # Mouse

    def on_table_widget_column_dragged(self, message: ColumnDragged) -> None:
        """Show where the column would go, or move it there."""
        name, to = message.column.id, message.to.id
        if not message.dropped:
            self.notice(f"{name}: let it go to put it in the place of {to}" if name != to else f"{name} stays here")
        elif name != to:
            self.enter(message.table)
            names = [column.id for column in self._table.columns_in_order]
            self.show_arrangement(self.arrangement.moved(names, name, to))
            self.notice(f"{name} stands where {to} was: Ctrl+S remembers it")

    def on_table_widget_width_dragged(self, message: WidthDragged) -> None:
        """Give the column the width to which its border was dragged."""
        self.enter(message.table)
        self.show_arrangement(self.arrangement.sized(message.column.id, message.width))
        width = self._table.width_of(message.column)
        self.notice(f"{message.column.id} is {width} characters wide: Ctrl+S remembers it")


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

    def __init__(self, screen: ArrangedTable[Any, Any, Any], column: Column[Any]) -> None:
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
        cell = self._below.table.selected
        if cell is not None:
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
