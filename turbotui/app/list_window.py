"""Windows with a list: a menu, and a line to type into with a list that follows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from turbotui.app.modal import Result, Window
from turbotui.widgets.listing import Listing


class ListingWindow(Window[Result]):
    """Window with a list in which one moves.

    Attributes:
        heading, hint: in the window's frame.
    """

    heading: str = ""
    hint: str = "Esc close"

    def compose(self) -> ComposeResult:
        """The parts of the window in their frame."""
        with Vertical(classes="window") as window:
            window.border_title = self.heading.replace("[", "\\[")
            window.border_subtitle = self.hint
            yield from self.parts()

    def parts(self) -> Iterable[Widget]:
        """What stands in the frame, from the top down."""
        return (Listing(),)

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)


class MenuWindow(ListingWindow[Result]):
    """Window with a list from which one line is taken.

    Attributes:
        page: items that the page keys pass over.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("enter", "choose", "choose"),
    ]

    page: int = 10

    def action_page(self, by: int) -> None:
        """Move in the list by pages."""
        self.action_move(by * self.page)

    def action_choose(self) -> None:
        """Take the line under the cursor; without lines to take there is nothing to do."""

    def on_listing_chosen(self) -> None:
        """Take the line that was clicked."""
        self.action_choose()


class SearchField(Input):
    """A field that leaves the space key to the list: no name of a column has one."""

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Take every printable key but space."""
        return key != "space" and super().check_consume_key(key, character)


class ListWindow(ListingWindow[None]):
    """Window with a field and a list that follows what is typed: letters go to the field, arrows to the list.

    Attributes:
        first: the key that the list's cursor begins on; "": the first there is.
        said: selects the widget of the sentences that the window says.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", priority=True, show=False),
        Binding("down", "move(1)", "down", priority=True, show=False),
        Binding("pageup", "move(-10)", "page up", priority=True, show=False),
        Binding("pagedown", "move(10)", "page down", priority=True, show=False),
    ]

    first: str = ""
    said: str = "#said"

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

    def say(self, text: str) -> None:
        """Show a sentence: what is meant, what was done, or why typed text is refused."""
        self.query_one(self.said, Static).update(text)


class PickWindow(ListWindow):
    """On the right: a list of what can be shown, what the line under the cursor means, and the table behind.

    Space or a click shows and hides what is under the cursor; the table changes at once.

    Attributes:
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

    heading = "columns"
    hint = "type to search · Space show/hide · Esc close"
    said = "#about"
    placeholder: str = "search"

    def parts(self) -> Iterable[Widget]:
        """Search field, list, what the line under the cursor means."""
        field = SearchField(placeholder=self.placeholder, select_on_focus=False)
        return field, Listing(), Static("", id="about", markup=False)

    def action_show_or_hide(self) -> None:
        """Show or hide what is under the cursor."""
        raise NotImplementedError

    def on_listing_chosen(self) -> None:
        """Show or hide the clicked line."""
        self.action_show_or_hide()
