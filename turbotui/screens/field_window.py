"""Windows with one line to type into, a sentence below it, and a list of what may be taken from or removed."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from turbotui.screens.modal import Window
from turbotui.widgets.listing import Listing


class FieldWindow(Window[None]):
    """Has an `Input`, a `Static` with the id "said" and a `Listing`; keys go to the field, arrows to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", priority=True, show=False),
        Binding("down", "move(1)", "down", priority=True, show=False),
        Binding("pageup", "move(-10)", "page up", priority=True, show=False),
        Binding("pagedown", "move(10)", "page down", priority=True, show=False),
        Binding("tab", "take", "take over", priority=True),
        Binding("delete", "remove", "remove", priority=True),
    ]

    def fill(self) -> None:
        """Show what the list has for the text in the field."""
        raise NotImplementedError

    def action_take(self) -> None:
        """Put what is under the cursor of the list into the field."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Type at once."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        field.cursor_position = len(field.value)
        self.fill()

    def say(self, text: str) -> None:
        """A sentence below the field."""
        self.query_one("#said", Static).update(text)

    def put(self, text: str) -> None:
        """Put a text into the field, to go on typing behind it."""
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def on_input_changed(self) -> None:
        """Complete as one types."""
        self.fill()

    def on_listing_chosen(self) -> None:
        """A click takes over too."""
        self.action_take()

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)
