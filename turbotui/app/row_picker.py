"""F2 on a table of rows: its columns with their meaning; Space shows and hides them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.widgets import Input

from turbotui.app.arranging import MovableColumns
from turbotui.app.list_window import NAME_ROOM, PickWindow, pick_line, search_words
from turbotui.cell_widths import flush_left
from turbotui.quantities.columns import Column
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing


class ChoosableColumns(Protocol):
    """A table whose columns the user chooses."""

    @property
    def known_columns(self) -> Sequence[Column[Any]]:
        """Every possible column."""

    def why_absent(self, column: Column[Any]) -> Unavailable | None:
        """Why a column cannot be shown; None if it can."""

    def section(self, column: Column[Any]) -> str:
        """The heading above a column in the list; "" for none."""

    def is_shown(self, column: Column[Any]) -> bool:
        """Whether the table shows a column."""

    def toggle(self, column: Column[Any]) -> None:
        """Show or hide a column."""


class RowPicker(PickWindow):
    """The columns of one table."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "show_or_hide", "show or hide", priority=True)]

    DEFAULT_CSS = """
    RowPicker > .window { width: 50%; min-width: 64; }
    RowPicker #about { height: 6; }
    """

    def __init__(self, table: ChoosableColumns, current: str, arranges: MovableColumns | None = None) -> None:
        super().__init__(arranges)
        self._choosing = table
        self.first = current

    def fill(self) -> None:
        """The columns that match."""
        wanted = self.query_one(Input).value.lower()
        words = search_words(wanted)
        columns = self._choosing.known_columns
        wide = min(NAME_ROOM, max((len(column.id) for column in columns), default=0))
        items: list[Item] = []
        section = ""
        for column in columns:
            if not any(self.matches(column, word) for word in words):
                continue
            if self._choosing.section(column) != section:
                section = self._choosing.section(column)
                items.append(Item(((section, StyleRole.TITLE),)))
            items.append(self._item(column, wide))
        self.show_items([*items, *self.further(wanted)])

    def show_only(self) -> str:
        words = search_words(self.query_one(Input).value)
        there = [column for column in self._choosing.known_columns
                 if not column.identity and self._choosing.why_absent(column) is None]
        named = [column for column in there if any(word in column.id.lower() for word in words)]
        chosen = named or [column for column in there if any(self.matches(column, word) for word in words)]
        if not chosen:
            return "None of these columns is here, so nothing is hidden"
        for column in there:
            if self._choosing.is_shown(column) != (column in chosen):
                self._choosing.toggle(column)
        return f"Only these are shown: {', '.join(column.id for column in chosen)}"

    def further(self, wanted: str) -> Sequence[Item]:
        """Lines after those of the columns."""
        del wanted
        return ()

    def matches(self, column: Column[Any], wanted: str) -> bool:
        """Whether a column's name or meaning contains a text, in lower case."""
        return wanted in f"{column.id} {column.help}".lower()

    def _item(self, column: Column[Any], wide: int) -> Item:
        return pick_line(column.id, wide, f"{flush_left(column.unit, 8)}{column.hint}",
                         self._choosing.why_absent(column), is_shown=self._choosing.is_shown(column))

    @property
    def _current(self) -> Column[Any] | None:
        key = self.query_one(Listing).key
        return next((column for column in self._choosing.known_columns if column.id == key), None)

    def on_listing_moved(self) -> None:
        """Show the meaning of the current column."""
        column = self._current
        if column is None:
            self.say(self.about_whole() or self.about_no_column())
            return
        why = self._choosing.why_absent(column)
        unit = f", {column.unit}" if column.unit else ""
        meaning = column.help if column.help not in column.title else ""
        lines = [f"{column.id}{unit}", meaning, column.formula and f"= {column.formula}", column.document]
        if why is not None:
            lines.insert(1, f"not here: {why.sentence()}")
        self.say("\n".join(line for line in (*lines, *self.more_about(column)) if line))

    def about_no_column(self) -> str:
        """The text for a line that is not a column's."""
        return "No column matches"

    def more_about(self, column: Column[Any]) -> Sequence[str]:
        """Further lines about a column."""
        del column
        return ()

    def action_show_or_hide(self) -> None:
        """Show or hide the column under the cursor; the table behind changes at once."""
        if self.take_whole():
            return
        column = self._current
        if column is not None and self._choosing.why_absent(column) is None:
            self._choosing.toggle(column)
            self.fill()
