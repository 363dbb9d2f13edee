"""F2: every column this program knows, with what it means; Space shows and hides it in the table behind, at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from turbotui.errors import UsageError
from turbotui.machine.events.set_files import EventSet
from turbotui.quantities.columns import Category, Column
from turbotui.quantities.event_columns import SET
from turbotui.quantities.formula_text import formula_of
from turbotui.screens.modal import Window
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import Tone, scope_word
from turbotui.widgets.listing import Item, Listing


class SearchField(Input):
    """A field that leaves the space key to the list: no name of a column has one."""

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Take every printable key but space."""
        return key != "space" and super().check_consume_key(key, character)


class Picker(Window[None]):
    """The column picker."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", priority=True, show=False),
        Binding("down", "move(1)", "down", priority=True, show=False),
        Binding("pageup", "move(-10)", "page up", priority=True, show=False),
        Binding("pagedown", "move(10)", "page down", priority=True, show=False),
        Binding("space,enter", "show_or_hide", "show or hide", priority=True),
        Binding("f2,f10", "close", "close", priority=True, show=False),
    ]

    DEFAULT_CSS = """
    Picker { align: right middle; background: transparent; }
    Picker > .window { width: 64; max-width: 100%; height: 100%; max-height: 100%; }
    Picker #about { height: 9; color: $foreground; border-top: solid $tui-rule; padding: 0; }
    """

    def __init__(self, watch: Watch, changed: Callable[[], None], current: str) -> None:
        super().__init__()
        self._watch = watch
        self._changed = changed
        self._current = current
        self._said = ""
        self._wide = max(len(column.id) for column in watch.session.catalog.columns)

    def compose(self) -> ComposeResult:
        """Search field, list, what the column under the cursor means."""
        with Vertical(classes="window") as window:
            window.border_title = "columns"
            window.border_subtitle = "type to search · Space show/hide · Esc close"
            yield SearchField(placeholder="search", select_on_focus=False)
            yield Listing()
            yield Static("", id="about", markup=False)

    def on_mount(self) -> None:
        """Fill the list; typing goes into the search field."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._fill()
        self.query_one(Listing).select(self._current)

    def _fill(self) -> None:
        wanted = self.query_one(Input).value.lower()
        items: list[Item] = []
        for category in Category:
            members = [
                column
                for column in self._watch.session.catalog.columns
                if column.category is category and self._matches(column, wanted)
            ]
            if members:
                items.append(Item(((category.value, Tone.TITLE),)))
                items += [self._item(column) for column in members]
        items += self._sets(wanted)
        self.query_one(Listing).show(items)

    def _sets(self, wanted: str) -> list[Item]:
        """Event sets, each shown and hidden as a whole."""
        try:
            sets = self._watch.session.find_sets()
        except UsageError as error:
            return [Item((("event sets", Tone.TITLE),)), Item(((f" -  {error}", Tone.DIM),))]
        found = [one for one in sets.values() if wanted in f"{SET}{one.name} {one.title}".lower()]
        items = [Item((("event sets", Tone.TITLE),))] if found else []
        for one in found:
            mark = "✓" if self._added_of(one) else " "
            name = (f"{SET + one.name:<{self._wide}} ", Tone.PLAIN)
            items.append(Item(((f" {mark}  ", Tone.KEY), name, (one.title, Tone.DIM)), SET + one.name))
        return items

    def _added_of(self, one: EventSet) -> list[str]:
        """The columns of a set that are there."""
        names = {name for name, _what in self._watch.session.by_hand()}
        return [column.name for column in one.columns if column.name in names]

    @staticmethod
    def _matches(column: Column, wanted: str) -> bool:
        return wanted in column.id.lower() or wanted in column.help.lower() or wanted in column.category.value

    def _item(self, column: Column) -> Item:
        why = self._watch.why_absent(column)
        if why is not None:
            return Item(((f" -  {column.id:<{self._wide}} ", Tone.DIM), (why.sentence(), Tone.DIM)), column.id)
        mark = "✓" if self._watch.is_visible(column) else " "
        unit = column.unit or ""
        name = (f"{column.id:<{self._wide}} ", Tone.PLAIN)
        return Item(((f" {mark}  ", Tone.KEY), name, (f"{unit:<4} {column.help}", Tone.DIM)), column.id)

    def on_input_changed(self) -> None:
        """Search as one types."""
        self._fill()

    def on_listing_moved(self) -> None:
        """Say what the column means."""
        key = self.query_one(Listing).key
        if key.startswith(SET):
            one = self._watch.session.find_sets()[key.removeprefix(SET)]
            lines = [f"{one.name}: {one.title}", ", ".join(column.name for column in one.columns), one.origin]
            self.query_one("#about", Static).update("\n".join((*lines, self._said)))
            return
        column = self._watch.session.catalog.get(key)
        if column is None:
            self.query_one("#about", Static).update("no column matches")
            return
        unit = f", {column.unit}" if column.unit else ""
        first = f"{column.id}: per {scope_word(column.scope)}{unit}"
        lines = [first, column.help, f"= {formula_of(column)}", column.document]
        why = self._watch.why_absent(column)
        if why is not None:
            lines.insert(1, f"not here: {why.sentence()}")
        self.query_one("#about", Static).update("\n".join(lines))

    def on_listing_chosen(self) -> None:
        """A click shows and hides too."""
        self.action_show_or_hide()

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)

    def action_show_or_hide(self) -> None:
        """Show or hide the column under the cursor; the table behind changes at once."""
        key = self.query_one(Listing).key
        if key.startswith(SET):
            self._toggle_set(self._watch.session.find_sets()[key.removeprefix(SET)])
            self._changed()
            self._fill()
            self.on_listing_moved()
            return
        column = self._watch.session.catalog.get(key)
        if column is not None and self._watch.toggle(column):
            self._changed()
            self._fill()

    def _toggle_set(self, one: EventSet) -> None:
        """Add a set, or take it away where it is there."""
        there = self._added_of(one)
        self._said = ""
        if there:
            for name in there:
                self._watch.remove(name)
            return
        try:
            columns = self._watch.add(SET + one.name)
        except UsageError as error:
            self._said = str(error)
            return
        absent = [column.id for column in columns if self._watch.why_absent(column) is not None]
        self._said = f"not here, for the reasons above: {', '.join(absent)}" if absent else ""
