"""Windows with a list: a menu, and a field with a list that follows the typed text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from turbotui.app.arranging import MovableColumns
from turbotui.app.modal import Result, Window
from turbotui.cell_widths import flush_left
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

ARRANGING: Final = ("less_than_sign", "greater_than_sign", "left_square_bracket", "right_square_bracket",
                    "equals_sign")
"""Keys that move and resize columns in a list of columns; no column's name contains these characters."""

NAME_ROOM: Final = 14
"""Characters for names of columns; a few names are longer, and what stands beside those begins further right."""


_ONLY, _COLUMNS, _SETTINGS = "=only", "=columns", "=settings"
_WHOLE: Final = {
    _ONLY: ("Only these columns", "Hide every other column. Several names are joined by commas: mhz,watt. Key: Tab."),
    _COLUMNS: ("Default columns", "Show the columns that are visible unless somebody chose others."),
    _SETTINGS: ("Default settings", "Forget theme, interval, screen and columns that Ctrl+S wrote; keys stay."),
}
"""Lines that change more than one column, by their key: title, and what they do."""


_NAMING: Final = 3
"""Characters after which a text that begins a line's title means that line, and not a column."""


def search_words(text: str) -> list[str]:
    """The words, in lower case, of which a line has to contain one; commas separate them."""
    return [word for word in text.lower().split(",") if word] or [""]


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

    def fill(self) -> None:
        """Fill the list for the text in the field."""
        raise NotImplementedError

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


class PickWindow(ListWindow):
    """A window on the right with the list of what can be shown, and the meaning of the current line.

    Space or a click shows and hides an item; the table behind changes at once.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "show_or_hide", "show or hide", priority=True),
        Binding("less_than_sign", "move_column(-1)", "to the left", priority=True),
        Binding("greater_than_sign", "move_column(1)", "to the right", priority=True),
        Binding("left_square_bracket", "size_column(-1)", "narrower", priority=True),
        Binding("right_square_bracket", "size_column(1)", "wider", priority=True),
        Binding("equals_sign", "size_column(0)", "natural width", priority=True),
        Binding("tab", "only", "only these", priority=True),
        Binding("ctrl+s", "remember", "remember", priority=True, show=False),
        Binding("f2,f10", "close", "close", priority=True, show=False),
    ]

    DEFAULT_CSS = """
    PickWindow { align: right middle; background: transparent; }
    PickWindow > .window { max-width: 100%; height: 100%; max-height: 100%; }
    PickWindow #about { color: $foreground; border-top: solid $tui-rule; padding: 0; }
    """

    heading = "columns"
    hint = "type to search · Space show/hide · Esc close"
    answer = "#about"
    placeholder: str = "search"  # text in the empty field

    def __init__(self, arranges: MovableColumns | None) -> None:
        super().__init__()
        self._arranges = arranges
        if arranges is not None:
            self.hint = "type to search · Space show · Tab only these · < > [ ] ="

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Leave the keys for order and width to the field if the list is not of a table's columns."""
        del parameters
        return self._arranges is not None or action not in {"move_column", "size_column", "only"}

    def parts(self) -> Iterable[Widget]:
        """The search field, the list, and the meaning of the current line."""
        field = SearchField(placeholder=self.placeholder, select_on_focus=False)
        field.left = () if self._arranges is None else ARRANGING
        return field, Listing(), Static("", id="about", markup=False)

    def action_show_or_hide(self) -> None:
        """Show or hide what is under the cursor."""
        raise NotImplementedError

    def show_only(self) -> str:
        """Show the listed columns and no others; returns a sentence about the result."""
        raise NotImplementedError

    def show_items(self, items: Sequence[Item]) -> None:
        """List these lines below those that change more than one column, where the columns are a table's."""
        listing, text = self.query_one(Listing), self.query_one(Input).value.lower()
        before = listing.key
        titled = [key for key, (title, _) in _WHOLE.items() if title.lower().startswith(text)]
        whole = [] if self._arranges is None else [_ONLY, *titled] if text else titled[1:]
        listing.show([*(Item(((f"    {_WHOLE[key][0]}", StyleRole.KEY),), key) for key in whole), *items])
        if whole and titled and len(text) > _NAMING:
            listing.select(before if before in titled else titled[0])
        elif whole and listing.key != before:
            listing.select(next((item.key for item in items if item.key), listing.key))

    def about_whole(self) -> str:
        """What the current line does, if it changes more than one column; else ""."""
        return " · ".join(_WHOLE.get(self.query_one(Listing).key, ()))

    def take_whole(self) -> bool:
        """Do what the current line says, if it changes more than one column."""
        key = self.query_one(Listing).key
        if key == _ONLY:
            self.action_only()
        elif key == _COLUMNS and self._arranges is not None:
            self._changed_whole(self._arranges.show_default_columns())
        elif key == _SETTINGS:
            self.app.call_later(self.app.run_action, "app.default_settings")
            self.dismiss(None)
        return key in _WHOLE

    def action_only(self) -> None:
        """Show the listed columns and no others."""
        if self.query_one(Input).value:
            self._changed_whole(f"{self.show_only()} · Ctrl+S keeps the columns for every start")
        else:
            self.say("Type names first, joined by commas: Tab then hides every column that is not listed")

    def _changed_whole(self, sentence: str) -> None:
        self.fill()
        self.call_after_refresh(self.say, sentence)  # after the list has told about its current line

    def action_move_column(self, by: int) -> None:
        """Move the current column in the table behind."""
        if self._arranges is not None:
            self.say(self._arranges.move_column(self.query_one(Listing).key, by))

    def action_size_column(self, by: int) -> None:
        """Make the current column wider or narrower in the table behind."""
        if self._arranges is not None:
            self.say(self._arranges.size_column(self.query_one(Listing).key, by))

    def on_listing_chosen(self) -> None:
        """Show or hide the clicked line."""
        self.action_show_or_hide()


def pick_line(name: str, wide: int, rest: str, why: Unavailable | None = None, *, is_shown: bool) -> Item:
    """The line of an item: a mark if it is shown, its name, and its meaning or why it is unavailable.

    Args:
        name: also the line's key.
        wide: width of the name.
    """
    if why is not None:
        return Item(((f" -  {flush_left(name, wide)} ", StyleRole.DIM), (why.sentence(), StyleRole.DIM)), name)
    mark = (f" {'✓' if is_shown else ' '}  ", StyleRole.KEY)
    return Item((mark, (f"{flush_left(name, wide)} ", StyleRole.PLAIN), (rest, StyleRole.DIM)), name)
