"""g: one cell over time."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.screens.modal import Window
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import Tone, said
from turbotui.widgets.painter import Piece, nice_top
from turbotui.widgets.piece_lines import PieceLines
from turbotui.widgets.plot import braille
from turbotui.widgets.rows import row_name


class Graph(Window[None]):
    """The history of one cell as a curve, from when it was first on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "close", "close", show=False),
        Binding("e", "explain", "explain"),
    ]

    DEFAULT_CSS = """
    Graph > .window { width: 90%; max-width: 140; height: 70%; }
    Graph PieceLines { height: 1fr; }
    """

    def __init__(self, watch: Watch, column: CounterColumn, row: RowId) -> None:
        super().__init__()
        self._watch = watch
        self._column = column
        self._row = row
        frame = watch.frame
        self._home = row if frame is None else frame.home(column, row) or row
        if column.decimals >= 0:
            watch.keep(column, self._home)

    def compose(self) -> ComposeResult:
        """The curve in a window."""
        with Vertical(classes="window") as window:
            window.border_subtitle = "e explain · Esc close"
            yield PieceLines(id="curve")

    def on_mount(self) -> None:
        """Show it."""
        self.show_frame()

    def on_resize(self) -> None:
        """Show it at the new size, once the window has one."""
        self.call_after_refresh(self.show_frame)

    def show_frame(self) -> None:
        """Show the curve up to the newest frame."""
        watch, column, frame = self._watch, self._column, self._watch.frame
        value = None if frame is None else frame.cell(column, self._row)
        name = "" if frame is None else row_name(frame.topology, self._home)
        window = self.query_one(".window", Vertical)
        window.border_title = f"{column.id} · {name} · {said(column, value)}".replace("[", "\\[")
        curve = self.query_one("#curve", PieceLines)
        width, height = curve.size
        ring = watch.history.ring(column.id, self._home)
        if width < 20 or height < 4:  # no room for an axis and a curve
            return
        if ring is None or not ring.count or ring.mean is None:
            sentence = "kept from now on: the curve begins with the next interval"
            curve.show([[(sentence if column.decimals >= 0 else "a text has no curve", Tone.DIM)]])
            return
        top = watch.tops().get(column.id) or 0.0  # 0.0: the column has no end of its scale of its own
        if top <= 0.0 or top < ring.high:
            top = nice_top(ring.high)
        labels = [said(column, top), said(column, top / 2), said(column, 0.0)]
        margin = max(len(label) for label in labels) + 1
        rows = height - 2
        values = ring.values()
        across = (width - margin - 1) * 2
        if len(values) < across:
            values = [values[at * len(values) // across] for at in range(across)]
        lines: list[list[Piece]] = []
        for at, text in enumerate(braille(values, top, width - margin - 1, rows)):
            label = labels[0] if at == 0 else labels[1] if at == rows // 2 else labels[2] if at == rows - 1 else ""
            axis = "┤" if label else "│"
            lines.append([(label.rjust(margin - 1) + " ", Tone.DIM), (axis, Tone.RULE), (text, Tone.SPARK)])
        span = min(ring.length, across) * watch.interval
        axis = f"{span:.0f} s ago".ljust(width - margin - 4) + "now"
        lines.append([(" " * (margin + 1) + axis, Tone.DIM)])
        low, mean, high = (said(column, number) for number in (ring.low, ring.mean, ring.high))
        many = "s" if ring.count != 1 else ""
        lines.append([(f" over {ring.count} interval{many}:   min {low}   mean {mean}   max {high}", Tone.PLAIN)])
        curve.show(lines)

    def action_explain(self) -> None:
        """The same cell explained."""
        from turbotui.screens.explain import Explain  # noqa: PLC0415 - each of the two windows leads to the other

        self.app.switch_screen(Explain(self._watch, self._column, self._row))
