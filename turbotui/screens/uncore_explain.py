"""e on the uncore screen: where one number comes from, down to the words that perf_event_open gets."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from turbotui.analysis.uncore.board import Board
from turbotui.analysis.uncore.explaining import explanation, said
from turbotui.analysis.uncore.panels import At
from turbotui.analysis.uncore.ports import PortMap
from turbotui.screens.modal import Window
from turbotui.screens.watch import Watch


class ExplainUncore(Window[None]):
    """Explains one cell, and goes on explaining it while frames come."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "close", "close", show=False)]

    def __init__(self, watch: Watch, board: Board, ports: PortMap, at: At) -> None:
        super().__init__()
        self._watch = watch
        self._board = board
        self._ports = ports
        self._at = at

    def compose(self) -> ComposeResult:
        """The text in a window."""
        with VerticalScroll(classes="window", can_focus=True) as window:
            window.border_subtitle = "Esc close"
            yield Static("", id="text", markup=False)

    def on_mount(self) -> None:
        """Show it."""
        self.show_frame()

    def show_frame(self) -> None:
        """Show the numbers of the newest frame."""
        frame = self._watch.frame
        window = self.query_one(".window", VerticalScroll)
        at = self._at
        name = f"{at.panel.kind.title} {at.row.label}"
        if frame is None:
            window.border_title = name
            return
        reading = self._board.reading(frame, at.panel, at.row, at.metric)
        window.border_title = f"{at.metric.title} · {name} · {said(at.metric, reading)}".replace("[", "\\[")
        lines = explanation(self._board, self._ports, frame, at)
        self.query_one("#text", Static).update("\n".join(lines))
