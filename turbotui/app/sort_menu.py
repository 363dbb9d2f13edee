"""F6: choose the column to sort by from a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from turbotui.app.list_window import MenuWindow
from turbotui.cell_widths import flush_left
from turbotui.quantities.columns import Column
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing


class SortMenu(MenuWindow[str]):
    """The menu of columns to sort by; it returns a column's name, "" for the table's own order, or None for no change.

    Args:
        current: name of the current sort column.
        unsorted: name of the table's own order; "" if it cannot be chosen.
        word: title of the window.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "choose", "choose"),
                                             Binding("o,f6", "close", "close", show=False)]

    DEFAULT_CSS = "SortMenu > .window { width: 50%; min-width: 60; height: 80%; }"

    hint = "Enter choose · Esc close"

    def __init__(self, columns: Sequence[Column[Any]], current: str, unsorted: str = "",
                 word: str = "sort by") -> None:
        super().__init__()
        self.heading = word
        self._unsorted = f"({unsorted})" if unsorted else ""
        self._columns = columns
        self._current = current

    def on_mount(self) -> None:
        """Fill the list, with the cursor on the current sort column."""
        listing = self.query_one(Listing)
        items = [Item(((f" {self._unsorted}", StyleRole.PLAIN),), self._unsorted)] if self._unsorted else []
        wide = max((len(column.id) for column in self._columns), default=0)
        for column in self._columns:
            unit = flush_left(f" {column.unit}" if column.unit else "", 6)
            segments = ((f" {flush_left(column.id, wide)}", StyleRole.PLAIN), (f"{unit}{column.hint}", StyleRole.DIM))
            items.append(Item(segments, column.id))
        listing.show(items)
        listing.select(self._current or self._unsorted)

    def action_choose(self) -> None:
        """Return the column under the cursor."""
        key = self.query_one(Listing).key
        self.dismiss("" if key == self._unsorted else key)
