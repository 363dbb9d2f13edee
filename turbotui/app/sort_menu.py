"""F6: the column to sort by, from a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from turbotui.app.modal import Window
from turbotui.quantities.columns import Column
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing


class SortMenu(Window[str]):
    """Gives a column's name, "" for the table's own order, None for no change.

    Args:
        columns: to choose from.
        current: name of the present one.
        unsorted: what the table's own order is called; "" where it cannot be chosen.
        word: title of the window.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "move(-10)", "page up", show=False),
        Binding("pagedown", "move(10)", "page down", show=False),
        Binding("enter,space", "choose", "choose"),
        Binding("o,f6", "close", "close", show=False),
    ]

    DEFAULT_CSS = """
    SortMenu > .window { width: 60; height: 80%; }
    """

    def __init__(self, columns: Sequence[Column[Any]], current: str, unsorted: str = "",
                 word: str = "sort by") -> None:
        super().__init__()
        self._word = word
        self._unsorted = f"({unsorted})" if unsorted else ""
        self._columns = columns
        self._current = current

    def compose(self) -> ComposeResult:
        """Lay out the list of columns."""
        with Vertical(classes="window") as window:
            window.border_title = self._word
            window.border_subtitle = "Enter choose · Esc close"
            yield Listing()

    def on_mount(self) -> None:
        """Fill the list, with the cursor on the column that is sorted by."""
        listing = self.query_one(Listing)
        items = [Item(((f" {self._unsorted}", StyleRole.PLAIN),), self._unsorted)] if self._unsorted else []
        wide = max((len(column.id) for column in self._columns), default=0)
        for column in self._columns:
            unit = f" {column.unit}" if column.unit else ""
            segments = ((f" {column.id:<{wide}}", StyleRole.PLAIN), (f"{unit:<6}{column.hint}", StyleRole.DIM))
            items.append(Item(segments, column.id))
        listing.show(items)
        listing.select(self._current or self._unsorted)

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)

    def action_choose(self) -> None:
        """Take the column under the cursor."""
        key = self.query_one(Listing).key
        self.dismiss("" if key == self._unsorted else key)

    def on_listing_chosen(self) -> None:
        """Sort by the clicked column."""
        self.action_choose()
