"""e: where one number comes from: formula, the numbers of this interval, sources, or why it is missing."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from turbotui.app.one_cell import OneCell
from turbotui.app.text_window import TextWindow


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

    def action_graph(self) -> None:
        """Show the graph of the explained cell."""
        from turbotui.app.graph import Graph  # noqa: PLC0415 - each of the two windows leads to the other

        self.app.switch_screen(Graph(self._cell))
