"""a: a form that adds a counter by hand as --add takes it, completes what is typed, and removes what was added."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from turbotui.errors import UsageError
from turbotui.quantities.columns import Column
from turbotui.sampling.completion import complete_added
from turbotui.screens.modal import Window
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import Tone
from turbotui.widgets.listing import Item, Listing

_REMOVE = "remove "
_INTRODUCTION = "perf/PMU/EVENT, msr0xADDRESS, /sys/PATH or pmt,...; then ,NAME ,cpu|core|package ,raw|delta|percent"


class AddCounter(Window[None]):
    """Gives nothing; the table behind changes at once.

    Args:
        watch: where the counters go.
        changed: called when a column came or went, with the one that came.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", priority=True, show=False),
        Binding("down", "move(1)", "down", priority=True, show=False),
        Binding("pageup", "move(-10)", "page up", priority=True, show=False),
        Binding("pagedown", "move(10)", "page down", priority=True, show=False),
        Binding("tab", "take", "complete", priority=True),
        Binding("delete", "remove", "remove", priority=True),
    ]

    DEFAULT_CSS = """
    AddCounter > .window { width: 90; max-width: 100%; height: 70%; }
    AddCounter #said { height: auto; max-height: 4; color: $tui-dim; }
    """

    def __init__(self, watch: Watch, changed: Callable[[Column | None], None]) -> None:
        super().__init__()
        self._watch = watch
        self._changed = changed

    def compose(self) -> ComposeResult:
        """Field, sentence, completions and added counters."""
        with Vertical(classes="window") as window:
            window.border_title = "add a counter"
            window.border_subtitle = "Tab complete · Enter add · Delete remove · Esc close"
            yield Input(placeholder="perf/ msr0x /sys/ pmt,", select_on_focus=False)
            yield Static(_INTRODUCTION, id="said", markup=False)
            yield Listing()

    def on_mount(self) -> None:
        """Type at once."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._fill()

    def _fill(self) -> None:
        items: list[Item] = []
        added = self._watch.session.added
        if added:
            items.append(Item((("added", Tone.TITLE),)))
            items += [
                Item(((f" {one.name}", Tone.PLAIN), (f"  {one.place}", Tone.DIM)), f"{_REMOVE}{one.name}")
                for one in added
            ]
        found = complete_added(self._watch.session.machine.host, self.query_one(Input).value)
        items.append(Item(((("may follow" if found else "nothing is known to follow"), Tone.TITLE),)))
        items += [Item(((f" {text}", Tone.PLAIN),), text) for text in found]
        listing = self.query_one(Listing)
        listing.show(items)
        if found and not listing.key.startswith(tuple(found)):
            listing.select(found[0])

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(text)

    def on_input_changed(self) -> None:
        """Complete as one types."""
        self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Add it, or say what is wrong with it."""
        if not event.value:
            return
        try:
            column = self._watch.add(event.value)
        except UsageError as error:
            self._say(str(error))
            return
        why = self._watch.why_absent(column)
        self._say(f"{column.id} is shown" if why is None else f"{column.id} cannot be had: {why.sentence()}")
        self.query_one(Input).value = ""
        self._changed(column)
        self._fill()

    def on_listing_chosen(self) -> None:
        """A click completes too."""
        self.action_take()

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)

    def action_take(self) -> None:
        """Take the completion under the cursor."""
        key = self.query_one(Listing).key
        if key and not key.startswith(_REMOVE):
            field = self.query_one(Input)
            field.value = key
            field.cursor_position = len(key)

    def action_remove(self) -> None:
        """Take the added counter under the cursor away."""
        key = self.query_one(Listing).key
        if key.startswith(_REMOVE):
            name = key.removeprefix(_REMOVE)
            self._watch.remove(name)
            self._say(f"{name} is removed")
            self._changed(None)
            self._fill()
