"""Windows with one line to type into, a sentence below it, and a list to accept from or remove from."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from turbotui.app.list_window import ListWindow


class FieldWindow(ListWindow):
    """A window with a field, a sentence and a list, whose current line can be put into the field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "take", "take over", priority=True),
        Binding("delete", "remove", "remove", priority=True),
    ]

    def action_take(self) -> None:
        """Put the current line of the list into the field."""
        raise NotImplementedError

    def put(self, text: str) -> None:
        """Put a text into the field and continue typing after it."""
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def on_listing_chosen(self) -> None:
        """Put a clicked line of the list into the field."""
        self.action_take()
