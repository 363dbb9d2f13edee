"""C on the uncore screen: what one panel shows: derived values, events by name, and events typed as terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from turbotui.analysis.uncore.board import Board
from turbotui.analysis.uncore.panels import Panel, typed_metric
from turbotui.errors import UsageError
from turbotui.quantities.uncore import Metric
from turbotui.screens.modal import Window
from turbotui.screens.picker import SearchField
from turbotui.widgets.cells import Tone
from turbotui.widgets.listing import Item, Listing


class EventPicker(Window[None]):
    """The panel behind changes at once.

    Args:
        board: what is shown.
        panel: whose columns are chosen.
        changed: called when something else is to be counted.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", priority=True, show=False),
        Binding("down", "move(1)", "down", priority=True, show=False),
        Binding("pageup", "move(-10)", "page up", priority=True, show=False),
        Binding("pagedown", "move(10)", "page down", priority=True, show=False),
        Binding("space", "show_or_hide", "show or hide", priority=True),
        Binding("f2,f10", "close", "close", priority=True, show=False),
    ]

    DEFAULT_CSS = """
    EventPicker { align: right middle; background: transparent; }
    EventPicker > .window { width: 72; max-width: 100%; height: 100%; max-height: 100%; }
    EventPicker #about { height: 6; border-top: solid $tui-rule; }
    """

    def __init__(self, board: Board, panel: Panel, changed: Callable[[], None]) -> None:
        super().__init__()
        self._board = board
        self._panel = panel
        self._changed = changed
        self._typed: list[Metric] = [
            one for one in board.shown(panel) if one not in panel.metrics and one not in panel.raw
        ]

    def compose(self) -> ComposeResult:
        """Search field, list, what the line under the cursor means."""
        with Vertical(classes="window") as window:
            window.border_title = f"columns of {self._panel.kind.title}"
            window.border_subtitle = "Space show/hide · Enter adds terms · Esc close"
            yield SearchField(placeholder="search, or terms: event=0x1,umask=0x2", select_on_focus=False)
            yield Listing()
            yield Static("", id="about", markup=False)

    def on_mount(self) -> None:
        """Fill the list; typing goes into the search field."""
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()
        self._fill()

    def _sections(self) -> tuple[tuple[str, list[Metric]], ...]:
        panel = self._panel
        return ("derived", list(panel.metrics)), ("typed", self._typed), ("events, each as a rate", list(panel.raw))

    def _fill(self) -> None:
        wanted = self.query_one(Input).value.strip().lower()
        shown = self._board.shown(self._panel)
        items: list[Item] = []
        for title, metrics in self._sections():
            found = [one for one in metrics if "=" in wanted or wanted in one.key.lower()]
            if found:
                items.append(Item(((title, Tone.TITLE),)))
            for one in found:
                mark = "✓" if one in shown else " "
                name = (f"{one.title:<28} ", Tone.PLAIN)
                items.append(Item(((f" {mark}  ", Tone.KEY), name, (f"{one.unit:<8}", Tone.DIM)), one.key))
        self.query_one(Listing).show(items)

    def _under_cursor(self) -> Metric | None:
        key = self.query_one(Listing).key
        return next((one for _, metrics in self._sections() for one in metrics if one.key == key), None)

    def on_input_changed(self) -> None:
        """Search as one types."""
        self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Show the event that was typed as terms, or what is under the cursor."""
        if "=" not in event.value:
            self.action_show_or_hide()
            return
        try:
            metric = typed_metric(self._panel, event.value)
        except UsageError as error:
            self.query_one("#about", Static).update(str(error))
            return
        if metric not in self._typed:
            self._typed.append(metric)
        self._show([*self._board.shown(self._panel), metric])
        self.query_one(Input).value = ""

    def on_listing_moved(self) -> None:
        """Say what the value is."""
        metric = self._under_cursor()
        text = "nothing matches: terms such as event=0x1 are added with Enter"
        if metric is not None:
            written = [self._panel.pmu.events[name].text if name in self._panel.pmu.events else name
                       for name in metric.events]
            text = f"{metric.title} [{metric.unit}]\n= {metric.formula.text}\n{'; '.join(written)}\n{metric.document}"
        self.query_one("#about", Static).update(text)

    def on_listing_chosen(self) -> None:
        """A click shows and hides too."""
        self.action_show_or_hide()

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)

    def action_show_or_hide(self) -> None:
        """Show or hide what is under the cursor."""
        metric = self._under_cursor()
        if metric is None:
            return
        shown = list(self._board.shown(self._panel))
        if metric in shown:
            shown.remove(metric)
        else:
            shown.append(metric)
        self._show(shown)

    def _show(self, metrics: list[Metric]) -> None:
        self._board.show(self._panel, metrics)
        self._changed()
        self._fill()
