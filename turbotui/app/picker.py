"""F2: every known column with its meaning; Space shows and hides it in the table behind at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from turbotui.app.arranging import MovableColumns
from turbotui.app.list_window import NAME_ROOM, PickWindow, pick_line, search_words
from turbotui.app.watch import Watch
from turbotui.cell_widths import cell_count, flush_left
from turbotui.errors import UsageError
from turbotui.events.set_files import EventSet
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.event_columns import SET
from turbotui.quantities.formula_text import formula_of
from turbotui.tables.row_names import scope_word
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing


class Picker(PickWindow):
    """Window in which columns are searched, read about, shown and hidden."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "show_or_hide", "show or hide", priority=True)]

    DEFAULT_CSS = """
    Picker > .window { width: 50%; min-width: 64; }
    Picker #about { height: 9; }
    """

    def __init__(self, watch: Watch, changed: Callable[[], None], current: str, arranges: MovableColumns) -> None:
        super().__init__(arranges)
        self._watch = watch
        self._changed = changed
        self.first = current
        self._outcome = ""
        self._wide = min(NAME_ROOM, max(cell_count(column.id) for column in watch.session.catalog.columns))

    def fill(self) -> None:
        """The columns that match, by category, and the event sets."""
        wanted = self.query_one(Input).value.lower()
        words = search_words(wanted)
        items: list[Item] = []
        for category in Category:
            members = [column for column in self._watch.session.catalog.columns if column.category is category
                and any(self._matches(column, word) for word in words)]
            if members:
                items.append(Item(((category.value, StyleRole.TITLE),)))
                items += [self._item(column) for column in members]
        self.show_items([*items, *self._sets(wanted)])

    def show_only(self) -> str:
        words = search_words(self.query_one(Input).value)
        there = [column for column in self._watch.session.catalog.columns
                 if not column.identity and self._watch.why_absent(column) is None]
        named = [column for column in there if any(word in column.id.lower() for word in words)]
        chosen = named or [column for column in there if any(self._matches(column, word) for word in words)]
        if not chosen:
            return "None of these columns is here, so nothing is hidden"
        self._watch.show_only({column.id for column in chosen})
        self._changed()
        return f"Only these are shown: {', '.join(column.id for column in chosen)}"

    def _sets(self, wanted: str) -> list[Item]:
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

    @staticmethod
    def _matches(column: CounterColumn, wanted: str) -> bool:
        return wanted in column.id.lower() or wanted in column.help.lower() or wanted in column.category.value

    def _item(self, column: CounterColumn) -> Item:
        return pick_line(column.id, self._wide, f"{flush_left(column.unit, 4)} {column.help}",
                         self._watch.why_absent(column), is_shown=self._watch.is_visible(column))

    def on_listing_moved(self) -> None:
        """Show what the column means."""
        key = self.query_one(Listing).key
        if self.about_whole():
            self.say(self.about_whole())
            return
        if key.startswith(SET):
            event_set = self._watch.session.find_sets()[key.removeprefix(SET)]
            lines = [f"{event_set.name}: {event_set.title}", ", ".join(column.name for column in event_set.columns),
                     event_set.origin]
            self.say("\n".join((*lines, self._outcome)))
            return
        column = self._watch.session.catalog.get(key)
        if column is None:
            self.say("No column matches")
            return
        unit = f", {column.unit}" if column.unit else ""
        first = f"{column.id}: per {scope_word(column.scope)}{unit}"
        lines = [first, column.help, f"= {formula_of(column)}", column.document]
        why = self._watch.why_absent(column)
        if why is not None:
            lines.insert(1, f"not here: {why.sentence()}")
        self.say("\n".join(lines))

    def action_show_or_hide(self) -> None:
        """Show or hide the column under the cursor; the table behind changes at once."""
        key = self.query_one(Listing).key
        if self.take_whole():
            return
        if key.startswith(SET):
            self._toggle_set(self._watch.session.find_sets()[key.removeprefix(SET)])
            self._changed()
            self.fill()
            self.on_listing_moved()
            return
        column = self._watch.session.catalog.get(key)
        if column is not None and self._watch.toggle(column):
            self._changed()
            self.fill()

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
