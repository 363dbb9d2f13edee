"""e: where one number comes from: formula, the numbers of this interval, sources, or why it is missing."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from turbotui.app.one_cell import OneCell
from turbotui.app.text_window import TextWindow

_PART: Final = 0.004
"""Seconds of reading the past between which keys are heard for as long."""


class Explain(TextWindow):
    """Window that explains one cell, with every frame anew: the answer in bright, the readings below it."""

    DEFAULT_CSS = """
    Explain #text { color: $tui-strong; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "graph", "graph")]
    KEYS = "g graph · y copy · Esc close"

    def __init__(self, cell: OneCell) -> None:
        super().__init__(lambda width: (cell.title, cell.lines(width)))
        self._cell = cell

    def on_mount(self) -> None:
        """Show the text, and read what the cell was before anybody looked at it."""
        super().on_mount()
        # the method, not a coroutine: a worker that is cancelled before it begins would never await that
        self.run_worker(self._read_earlier, group="past", exclusive=True)  # type: ignore[arg-type] # inferred as Never

    async def _read_earlier(self) -> None:
        began = time.monotonic()
        for _ in self._cell.read_earlier():
            if time.monotonic() - began > _PART:
                await asyncio.sleep(_PART)
                began = time.monotonic()
        self.show_frame()

    def action_graph(self) -> None:
        """Show the graph of the explained cell."""
        from turbotui.app.graph import Graph  # noqa: PLC0415 - each of the two windows leads to the other

        self.app.switch_screen(Graph(self._cell))
