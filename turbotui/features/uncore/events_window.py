"""C on the uncore screen: what one panel shows: derived values, events by name, and events typed as terms."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import Input

from turbotui.app.list_window import PickWindow
from turbotui.errors import UsageError
from turbotui.features.uncore.board import Board
from turbotui.features.uncore.panels import UncoreUnits, typed_metric
from turbotui.quantities.uncore import Metric
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing


class EventPicker(PickWindow):
    """The panel behind changes at once.

    Args:
        board: what is shown.
        panel: whose columns are chosen.
        changed: called when something else is to be counted.
    """

    DEFAULT_CSS = """
    EventPicker > .window { width: 72; }
    EventPicker #about { height: 6; }
    """

    hint = "Space show/hide · Enter adds terms · Esc close"
    placeholder = "search, or terms: event=0x1,umask=0x2"

    def __init__(self, board: Board, panel: UncoreUnits, changed: Callable[[], None]) -> None:
        super().__init__()
        self.heading = f"columns of {panel.kind.title}"
        self._board = board
        self._panel = panel
        self._changed = changed
        self._typed: list[Metric] = [
            one for one in board.shown(panel) if one not in panel.metrics and one not in panel.raw
        ]

    def _sections(self) -> tuple[tuple[str, list[Metric]], ...]:
        panel = self._panel
        return ("derived", list(panel.metrics)), ("typed", self._typed), ("events, each as a rate", list(panel.raw))

    def fill(self) -> None:
        """What matches, by kind; terms that are being typed hide nothing."""
        wanted = self.query_one(Input).value.strip().lower()
        shown = self._board.shown(self._panel)
        items: list[Item] = []
        for title, metrics in self._sections():
            found = [one for one in metrics if "=" in wanted or wanted in one.id.lower()]
            if found:
                items.append(Item(((title, StyleRole.TITLE),)))
            for one in found:
                mark = "✓" if one in shown else " "
                name = (f"{one.what:<28} ", StyleRole.PLAIN)
                items.append(Item(((f" {mark}  ", StyleRole.KEY), name, (f"{one.unit:<8}", StyleRole.DIM)), one.id))
        self.query_one(Listing).show(items)

    def _under_cursor(self) -> Metric | None:
        key = self.query_one(Listing).key
        return next((one for _, metrics in self._sections() for one in metrics if one.id == key), None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Show the event that was typed as terms, or what is under the cursor."""
        if "=" not in event.value:
            self.action_show_or_hide()
            return
        try:
            metric = typed_metric(self._panel, event.value)
        except UsageError as error:
            self.say(str(error))
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
                       for name in metric.needs]
            text = f"{metric.what} [{metric.unit}]\n= {metric.formula}\n{'; '.join(written)}\n{metric.document}"
        self.say(text)

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
        self.fill()
