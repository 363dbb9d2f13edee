"""F2 on a table: its columns with their meaning; Space shows and hides them in the table behind at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, Protocol

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from turbotui.app.arranging import MovableColumns
from turbotui.app.list_window import ListWindow, SearchField
from turbotui.app.watch import Watch
from turbotui.cell_widths import cell_count, flush_left
from turbotui.errors import UsageError
from turbotui.events.set_files import EventSet
from turbotui.quantities.columns import Category, Column, CounterColumn
from turbotui.quantities.event_columns import SET
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.unavailable import Unavailable
from turbotui.tables.row_names import scope_word
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
    """The words, in lower case, of which a line has to contain one; commas separate them.

    A slash before them is the key by which screens and other windows search.
    """
    return [word for word in text.lower().removeprefix("/").split(",") if word] or [""]


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


class Picker(ListWindow):
    """A window on the right with the columns of a table, and the meaning of the current one.

    Space or a click shows and hides a column; the table behind changes at once.

    Args:
        current: id of the column on which the cursor begins.
        arranges: moves and resizes the columns; None where they have no order.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "show_or_hide", "show or hide", priority=True),
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
    Picker { align: right middle; background: transparent; }
    Picker > .window { width: 50%; min-width: 64; max-width: 100%; height: 100%; max-height: 100%; }
    Picker #about { height: 6; color: $foreground; border-top: solid $tui-rule; padding: 0; }
    """

    heading = "columns"
    hint = "Space show/hide · Esc close"
    answer = "#about"
    placeholder: str = "type to search"  # text in the empty field
    typed: str = ""  # text in the field at first

    def __init__(self, table: ChoosableColumns, current: str, arranges: MovableColumns | None = None) -> None:
        super().__init__()
        self._choosing = table
        self._arranges = arranges
        self._wide = 0  # of the names
        self.first = current
        if arranges is not None:
            self.hint = "Space show · Tab only · < > move · [ ] width · Esc close"

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool:
        """Leave the keys for order and width to the field if the list is not of a table's columns."""
        return self._arranges is not None or action not in {"move_column", "size_column", "only"}

    def parts(self) -> Iterable[Widget]:
        """The search field, the list, and the meaning of the current line."""
        field = SearchField(self.typed, placeholder=self.placeholder, select_on_focus=False)
        field.left = () if self._arranges is None else ARRANGING
        return field, Listing(), Static("", id="about", markup=False)

    def fill(self) -> None:
        """The columns that match."""
        wanted = self.query_one(Input).value.lower()
        words = search_words(wanted)
        columns = self._choosing.known_columns
        self._wide = min(NAME_ROOM, max((cell_count(column.id) for column in columns), default=0))
        items: list[Item] = []
        section = ""
        for column in columns:
            if not any(self.matches(column, word) for word in words):
                continue
            if self._choosing.section(column) != section:
                section = self._choosing.section(column)
                items.append(Item(((section, StyleRole.TITLE),)))
            items.append(pick_line(column.id, self._wide, self.brief(column), self._choosing.why_absent(column),
                                   is_shown=self._choosing.is_shown(column)))
        self.show_items([*items, *self.further(wanted)])

    def show_only(self) -> str:
        """Show the listed columns and no others; returns a sentence about the result."""
        words = search_words(self.query_one(Input).value)
        there = [column for column in self._choosing.known_columns
                 if not column.identity and self._choosing.why_absent(column) is None]
        named = [column for column in there if any(word in column.id.lower() for word in words)]
        chosen = named or [column for column in there if any(self.matches(column, word) for word in words)]
        if not chosen:
            return "None of these columns is here, so nothing is hidden"
        self.hide_others(there, chosen)
        return f"Only these are shown: {', '.join(column.id for column in chosen)}"

    def hide_others(self, there: Sequence[Column[Any]], chosen: Sequence[Column[Any]]) -> None:
        """Show these of the columns that are there, and no others."""
        for column in there:
            if self._choosing.is_shown(column) != (column in chosen):
                self._choosing.toggle(column)

    def begin_with(self, text: str) -> None:
        """Have a text typed when the window opens, with the cursor on the column of that name."""
        self.typed = text
        self.first = next((column.id for column in self._choosing.known_columns
                           if column.id.lower() == text.lower()), self.first)

    def further(self, _wanted: str) -> Sequence[Item]:
        """Lines after those of the columns."""
        return ()

    def matches(self, column: Column[Any], wanted: str) -> bool:
        """Whether a column's name or meaning contains a text, in lower case."""
        return wanted in f"{column.id} {column.help}".lower()

    def brief(self, column: Column[Any]) -> str:
        """What stands beside a column's name."""
        return f"{flush_left(column.unit, 8)}{column.hint}"

    @property
    def _current(self) -> Column[Any] | None:
        key = self.query_one(Listing).key
        return next((column for column in self._choosing.known_columns if column.id == key), None)

    def on_listing_moved(self) -> None:
        """Show the meaning of the current column."""
        column = self._current
        if column is None:
            self.say(" · ".join(_WHOLE.get(self.query_one(Listing).key, ())) or self.about_no_column())
            return
        why = self._choosing.why_absent(column)
        first, *others = self.about(column)
        absent = "" if why is None else f"not here: {why.sentence()}"
        self.say("\n".join(line for line in (first, absent, *others) if line))

    def about(self, column: Column[Any]) -> Sequence[str]:
        """The lines about a column; empty ones are left out."""
        unit = f", {column.unit}" if column.unit else ""
        meaning = column.help if column.help not in column.title else ""
        return f"{column.id}{unit}", meaning, column.formula and f"= {column.formula}", column.document

    def about_no_column(self) -> str:
        """The text for a line that is not a column's."""
        return "No column matches"

    def action_show_or_hide(self) -> None:
        """Show or hide the column under the cursor; the table behind changes at once."""
        if self.take_whole():
            return
        if (column := self._current) is not None and self._choosing.why_absent(column) is None:
            self._choosing.toggle(column)
            self.fill()

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


class _CounterColumns:
    """The columns of frames, by category."""

    def __init__(self, watch: Watch, changed: Callable[[], None]) -> None:
        self._watch = watch
        self._changed = changed

    @property
    def known_columns(self) -> Sequence[CounterColumn]:
        ranks = list(Category)
        return sorted(self._watch.session.catalog.columns, key=lambda column: ranks.index(column.category))

    def _counter(self, column: Column[Any]) -> CounterColumn:
        return self._watch.session.catalog.by_id[column.id]

    def why_absent(self, column: Column[Any]) -> Unavailable | None:
        return self._watch.why_absent(self._counter(column))

    def section(self, column: Column[Any]) -> str:
        return self._counter(column).category.value

    def is_shown(self, column: Column[Any]) -> bool:
        return self._watch.is_visible(self._counter(column))

    def toggle(self, column: Column[Any]) -> None:
        if self._watch.toggle(self._counter(column)):
            self._changed()


class CounterPicker(Picker):
    """The columns of frames, and event sets, each shown and hidden as a whole.

    Args:
        changed: called when other columns are shown.
    """

    DEFAULT_CSS = "CounterPicker #about { height: 9; }"

    def __init__(self, watch: Watch, changed: Callable[[], None], current: str, arranges: MovableColumns) -> None:
        super().__init__(_CounterColumns(watch, changed), current, arranges)
        self._watch = watch
        self._changed = changed
        self._outcome = ""

    def hide_others(self, _there: Sequence[Column[Any]], chosen: Sequence[Column[Any]]) -> None:
        self._watch.show_only({column.id for column in chosen})
        self._changed()

    def further(self, wanted: str) -> Sequence[Item]:
        """Event sets, each shown and hidden as a whole."""
        try:
            sets = self._watch.session.find_sets()
        except UsageError as error:
            return [Item((("event sets", StyleRole.TITLE),)), Item(((f" -  {error}", StyleRole.DIM),))]
        fitting = [known_set for known_set in sets.values()
                   if wanted in f"{SET}{known_set.name} {known_set.title}".lower()]
        items = [Item((("event sets", StyleRole.TITLE),))] if fitting else []
        items += [pick_line(SET + event_set.name, self._wide, event_set.title, is_shown=bool(self._added_of(event_set)))
                  for event_set in fitting]
        return items

    def _added_of(self, event_set: EventSet) -> list[str]:
        names = {name for name, _what in self._watch.session.by_hand()}
        return [column.name for column in event_set.columns if column.name in names]

    def matches(self, column: Column[Any], wanted: str) -> bool:
        return super().matches(column, wanted) or wanted in self._choosing.section(column)

    def brief(self, column: Column[Any]) -> str:
        return f"{flush_left(column.unit, 4)} {column.help}"

    def about(self, column: Column[Any]) -> Sequence[str]:
        counter = self._watch.session.catalog.by_id[column.id]
        unit = f", {column.unit}" if column.unit else ""
        return (f"{column.id}: per {scope_word(counter.scope)}{unit}", column.help, f"= {formula_of(counter)}",
                column.document)

    def about_no_column(self) -> str:
        if (event_set := self._chosen_set) is None:
            return super().about_no_column()
        names = ", ".join(column.name for column in event_set.columns)
        return "\n".join((f"{event_set.name}: {event_set.title}", names, event_set.origin, self._outcome))

    @property
    def _chosen_set(self) -> EventSet | None:
        """The event set under the cursor."""
        key = self.query_one(Listing).key
        return self._watch.session.find_sets()[key.removeprefix(SET)] if key.startswith(SET) else None

    def action_show_or_hide(self) -> None:
        event_set = self._chosen_set
        if event_set is None:
            super().action_show_or_hide()
            return
        self._toggle_set(event_set)
        self._changed()
        self.fill()
        self.on_listing_moved()

    def _toggle_set(self, event_set: EventSet) -> None:
        there = self._added_of(event_set)
        self._outcome = ""
        if there:
            for name in there:
                self._watch.remove(name)
            return
        try:
            columns = self._watch.add(SET + event_set.name)
        except UsageError as error:
            self._outcome = str(error)
            return
        absent = [column.id for column in columns if self._watch.why_absent(column) is not None]
        self._outcome = f"not here, for the reasons above: {', '.join(absent)}" if absent else ""


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
