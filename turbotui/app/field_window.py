"""Windows with one line to type into, a sentence below it, and a list of what may be taken from or removed."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from turbotui.app.list_window import ListWindow


class FieldWindow(ListWindow):
    """Window with a field, a sentence and a list, whose line under the cursor can be put into the field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "take", "take over", priority=True),
        Binding("delete", "remove", "remove", priority=True),
    ]

    def action_take(self) -> None:
        """Put what is under the cursor of the list into the field."""
        raise NotImplementedError

    def put(self, text: str) -> None:
        """Put a text into the field, to go on typing behind it."""
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def on_listing_chosen(self) -> None:
        """Put a clicked line of the list into the field."""
        self.action_take()
