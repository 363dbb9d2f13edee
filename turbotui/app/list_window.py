"""Windows with a list: a menu, and a field with a list that follows the typed text."""

from __future__ import annotations

from abc import abstractmethod
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
    """A window with a list and a cursor."""

    heading: str = ""
    hint: str = "Esc close"

    def compose(self) -> ComposeResult:
        """The parts of the window in their frame."""
        with Vertical(classes="window") as window:
            window.border_title = self.heading.replace("[", "\\[")
            window.border_subtitle = self.hint
            yield from self.parts()

    def parts(self) -> Iterable[Widget]:
        """Widgets of the frame, from the top down."""
        return (Listing(),)

    def action_move(self, by: int) -> None:
        """Move the cursor in the list."""
        self.query_one(Listing).move(by)


class MenuWindow(ListingWindow[Result]):
    """A window with a list from which one line is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("enter", "choose", "choose"),
    ]

    page: int = 10  # number of items that the page keys skip

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.action_move(by * self.page)

    def action_choose(self) -> None:
        """Choose the current line; does nothing if no line can be chosen."""

    def on_listing_chosen(self) -> None:
        """Choose the clicked line."""
        self.action_choose()


class SearchField(Input):
    """A field that leaves the space key to the list, because no column's name contains a space."""

    left: tuple[str, ...] = ()  # further keys for the list

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Take every printable key except those of the list."""
        return key not in ("space", *self.left) and super().check_consume_key(key, character)


class ListWindow(ListingWindow[None]):
    """A window with a field and a list that follows the typed text: letters go to the field, arrows to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", priority=True, show=False),
        Binding("down", "move(1)", "down", priority=True, show=False),
        Binding("pageup", "move(-10)", "page up", priority=True, show=False),
        Binding("pagedown", "move(10)", "page down", priority=True, show=False),
    ]

    first: str = ""
    # selector of the widget with the window's sentences
    answer: str = "#answer"

    @abstractmethod
    def fill(self) -> None:
        """Fill the list for the text in the field."""

    def on_mount(self) -> None:
        """Give the field the focus, and fill the list."""
        field = self.query_one(Input)
        field.focus()
        field.cursor_position = len(field.value)
        self.fill()
        if self.first:
            self.query_one(Listing).select(self.first)

    def on_input_changed(self) -> None:
        """Fill the list for the text in the field."""
        self.fill()

    def say(self, text: str) -> None:
        """Show a sentence: a meaning, what was done, or why typed text is refused."""
        self.query_one(self.answer, Static).update(text)
