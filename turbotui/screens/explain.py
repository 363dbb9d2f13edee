"""e: where one number comes from: formula, the numbers of this interval, sources, or why it is missing."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.screens.text_window import TextWindow
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import said
from turbotui.widgets.comparison import difference_said
from turbotui.widgets.explanation import explanation, past_lines
from turbotui.widgets.rows import row_name


def explanation_of(watch: Watch, column: CounterColumn, row: RowId, width: int = 96) -> list[str]:
    """The lines of the window, with what the cell was since the start."""
    frame = watch.frame
    if frame is None:
        return explanation(None, column, row, width=width)
    ring = watch.history.ring(column.id, frame.home(column, row) or row)
    past = past_lines(column, ring, watch.tops().get(column.id), frame.seq)
    if watch.mark is not None:
        words = difference_said(column, frame.cell(column, row), watch.mark.cell(column, row))
        past.append(f"  compared with #{watch.mark.seq}: {words}")
    return explanation(frame, column, row, past, width)


class Explain(TextWindow):
    """Explains one cell, and goes on explaining it while frames come: the answer in bright, the readings below it."""

    DEFAULT_CSS = """
    Explain #text { color: $tui-strong; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "graph", "graph")]
    KEYS = "g graph · Esc close"

    def __init__(self, watch: Watch, column: CounterColumn, row: RowId) -> None:
        super().__init__(self.told)
        self._watch = watch
        self._column = column
        self._row = row
        frame = watch.frame
        home = row if frame is None else frame.home(column, row) or row
        if column.decimals >= 0:
            watch.keep(column, home)

    def told(self, width: int) -> tuple[str, list[str]]:
        """The numbers of the newest frame."""
        frame = self._watch.frame
        name = "" if frame is None else row_name(frame.topology, self._row)
        value = None if frame is None else frame.cell(self._column, self._row)
        title = f"{self._column.id} · {name} · {said(self._column, value)}"
        return title, explanation_of(self._watch, self._column, self._row, width)

    def action_graph(self) -> None:
        """The same cell over time."""
        from turbotui.screens.graph import Graph  # noqa: PLC0415 - each of the two windows leads to the other

        self.app.switch_screen(Graph(self._watch, self._column, self._row))
