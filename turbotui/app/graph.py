"""g: one cell over time."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from turbotui.app.modal import Window
from turbotui.app.one_cell import OneCell
from turbotui.widgets.cells import StyleRole, said
from turbotui.widgets.painter import TextSegment, nice_top
from turbotui.widgets.plot import braille
from turbotui.widgets.segment_lines import SegmentLines


class Graph(Window[None]):
    """The history of one cell as a curve, from when it was first on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "close", "close", show=False),
        Binding("e", "explain", "explain"),
    ]

    DEFAULT_CSS = """
    Graph > .window { width: 90%; max-width: 140; height: 70%; }
    Graph SegmentLines { height: 1fr; }
    """

    def __init__(self, cell: OneCell) -> None:
        super().__init__()
        self._cell = cell

    def compose(self) -> ComposeResult:
        """The curve in a window."""
        with Vertical(classes="window") as window:
            window.border_subtitle = "e explain · Esc close"
            yield SegmentLines(id="curve")

    def on_mount(self) -> None:
        """Show it."""
        self.show_frame()

    def on_resize(self) -> None:
        """Show it at the new size, once the window has one."""
        self.call_after_refresh(self.show_frame)

    def show_frame(self) -> None:
        """Show the curve up to the newest frame."""
        column = self._cell.column
        window = self.query_one(".window", Vertical)
        window.border_title = self._cell.past_title.replace("[", "\\[")
        curve = self.query_one("#curve", SegmentLines)
        width, height = curve.size
        ring = self._cell.ring
        if width < 20 or height < 4:  # no room for an axis and a curve
            return
        if ring is None or not ring.count or ring.mean is None:
            sentence = "kept from now on: the curve begins with the next interval"
            curve.show([[(sentence if column.decimals >= 0 else "a text has no curve", StyleRole.DIM)]])
            return
        top = self._cell.top
        if top <= 0.0 or top < ring.high:
            top = nice_top(ring.high)
        labels = [said(column, top), said(column, top / 2), said(column, 0.0)]
        margin = max(len(label) for label in labels) + 1
        rows = height - 2
        values = ring.values()
        across = (width - margin - 1) * 2
        if len(values) < across:
            values = [values[at * len(values) // across] for at in range(across)]
        lines: list[list[TextSegment]] = []
        for at, text in enumerate(braille(values, top, width - margin - 1, rows)):
            label = labels[0] if at == 0 else labels[1] if at == rows // 2 else labels[2] if at == rows - 1 else ""
            axis = "┤" if label else "│"
            lines.append(
                [(label.rjust(margin - 1) + " ", StyleRole.DIM), (axis, StyleRole.RULE), (text, StyleRole.SPARK)]
            )
        span = min(ring.length, across) * self._cell.seconds
        axis = f"{span:.0f} s ago".ljust(width - margin - 4) + "now"
        lines.append([(" " * (margin + 1) + axis, StyleRole.DIM)])
        low, mean, high = (said(column, number) for number in (ring.low, ring.mean, ring.high))
        many = "s" if ring.count != 1 else ""
        lines.append([(f" over {ring.count} interval{many}:   min {low}   mean {mean}   max {high}", StyleRole.PLAIN)])
        curve.show(lines)

    def action_explain(self) -> None:
        """The same cell explained."""
        from turbotui.app.explain import Explain  # noqa: PLC0415 - each of the two windows leads to the other

        self.app.switch_screen(Explain(self._cell))
