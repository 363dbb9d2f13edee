"""Windows with a line to type into and a list that follows it: letters go to the field, arrows to the list."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from turbotui.app.modal import Window
from turbotui.widgets.listing import Listing


class SearchField(Input):
    """A field that leaves the space key to the list: no name of a column has one."""

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Take every printable key but space."""
        return key != "space" and super().check_consume_key(key, character)


class ListWindow(Window[None]):
    """Window with a field and a list that follows what is typed.

    Attributes:
        first: the key that the list's cursor begins on; "": the first there is.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", priority=True, show=False),
        Binding("down", "move(1)", "down", priority=True, show=False),
        Binding("pageup", "move(-10)", "page up", priority=True, show=False),
        Binding("pagedown", "move(10)", "page down", priority=True, show=False),
    ]

    first: str = ""

    def fill(self) -> None:
        """Show what the list has for the text in the field."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Give the field the focus, and fill the list."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        field.cursor_position = len(field.value)
        self.fill()
        if self.first:
            self.query_one(Listing).select(self.first)

    def on_input_changed(self) -> None:
        """Fill the list for the text in the field."""
        self.fill()

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)


class PickWindow(ListWindow):
    """On the right: a list of what can be shown, what the line under the cursor means, and the table behind.

    Space or a click shows and hides what is under the cursor; the table changes at once.

    Attributes:
        heading, hint: in the window's frame.
        placeholder: in the empty field.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "show_or_hide", "show or hide", priority=True),
        Binding("f2,f10", "close", "close", priority=True, show=False),
    ]

    DEFAULT_CSS = """
    PickWindow { align: right middle; background: transparent; }
    PickWindow > .window { max-width: 100%; height: 100%; max-height: 100%; }
    PickWindow #about { color: $foreground; border-top: solid $tui-rule; padding: 0; }
    """

    heading: str = "columns"
    hint: str = "type to search · Space show/hide · Esc close"
    placeholder: str = "search"

    def compose(self) -> ComposeResult:
        """Search field, list, what the line under the cursor means."""
        with Vertical(classes="window") as window:
            window.border_title = self.heading
            window.border_subtitle = self.hint
            yield SearchField(placeholder=self.placeholder, select_on_focus=False)
            yield Listing()
            yield Static("", id="about", markup=False)

    def action_show_or_hide(self) -> None:
        """Show or hide what is under the cursor."""
        raise NotImplementedError

    def on_listing_chosen(self) -> None:
        """Show or hide the clicked line."""
        self.action_show_or_hide()

    def say(self, text: str) -> None:
        """Show what the line under the cursor means, or why typed text is refused."""
        self.query_one("#about", Static).update(text)
