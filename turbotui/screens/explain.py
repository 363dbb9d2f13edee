"""e: where one number comes from: formula, the numbers of this interval, sources, or why it is missing."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from turbotui.quantities.columns import Column
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Reduce
from turbotui.quantities.units import Unit
from turbotui.sampling.frame import Evidence
from turbotui.screens.modal import Window
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import said, scope_word
from turbotui.widgets.painter import nice_top
from turbotui.widgets.rows import row_name
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.spark import spark

_SUMMARY = {
    Reduce.SUM: "summed in summary rows",
    Reduce.MEAN: "averaged in summary rows",
    Reduce.MAX: "the greatest in summary rows",
    Reduce.MIN: "the least in summary rows",
    Reduce.UNION: "all bits together in summary rows",
    Reduce.SAME: "in summary rows only if all agree",
    Reduce.NONE: "not in summary rows",
}


def _quantity(evidence: Evidence) -> str:
    if evidence.delta is not None:
        amount = evidence.delta
        name = f"Δ{evidence.signal.id}"
    elif evidence.value is not None:
        amount = evidence.value
        name = evidence.signal.id
    else:
        return f"{evidence.signal.id} = — (unknown in this interval)"
    text = f"{amount:,.0f}" if abs(amount) >= 1000 or amount == int(amount) else f"{amount:.6g}"
    unit = "" if evidence.signal.unit is Unit.RATIO else f" {evidence.signal.unit.value}"
    return f"{name} = {text}{unit}"


def _words(evidence: Evidence, cpu: int | None) -> list[str]:
    signal = evidence.signal
    origin = signal.origin.format(cpu=cpu) if cpu is not None and "{cpu}" in signal.origin else signal.origin
    per = f"per {scope_word(signal.scope)}, {_SUMMARY[signal.reduce]}"
    lines = [_quantity(evidence), f"    {origin}   by {evidence.source}, {per}"]
    if signal.document:
        lines.append(f"    {signal.document}")
    return lines


def explanation(watch: Watch, column: Column, row: RowId) -> list[str]:
    """The lines of the window."""
    frame = watch.frame
    lines = [column.help, f"    {column.id} = {column.formula}"]
    if frame is None:
        return [*lines, "no reading yet"]
    value = frame.cell(column, row)
    home = frame.home(column, row) or row
    instance = frame.topology.instance(home)
    if value is None:
        why = frame.why(column, row)
        lines += ["", f"unknown: {why.sentence()}" if why else "unknown"]
    else:
        marks = [word for word, is_so in (
            ("estimated: a counter ran only part of the interval and was scaled", frame.estimated(column, row)),
            ("partial: a CPU inside this row did not answer", frame.partial(column, row)),
        ) if is_so]
        lines += [f"    {' ' * len(column.id)} = {said(column, value)}", *marks]
    lines.append("")
    cpu = instance.cpus[0] if instance is not None and instance.cpus else None
    for evidence in frame.evidence(column, row):
        lines += _words(evidence, cpu)
    lines.append("")
    if home != row:
        lines.append(f"a value of {row_name(frame.topology, home)}, shown on each of its CPUs")
    elif row.scope is not Scope.CPU and row.scope.rank > column.scope.rank:
        count = 0 if instance is None else len(frame.topology.parts(row, column.scope))
        lines.append(f"recomputed from the counters of {count} x {scope_word(column.scope)}, never a mean of ratios")
    seconds = frame.seconds
    if seconds is not None:
        lines.append(f"over {seconds:.6f} s, #{frame.seq}; the readings took {frame.newer.span_ns / 1e3:,.0f} µs")
    lines.append(f"follows {column.document}")
    ring = watch.history.ring(column.id, home)
    if ring is not None and ring.count and ring.mean is not None:
        top = watch.tops().get(column.id) or nice_top(ring.high)
        low, mean, high = (said(column, number) for number in (ring.low, ring.mean, ring.high))
        lines.append(f"over {ring.count} intervals: min {low}  mean {mean}  max {high}")
        lines.append(f"{spark(ring.values(HISTORY), top, 30, frame.seq)}  0 to {said(column, top)}")
    return lines


class Explain(Window[None]):
    """Explains one cell, and goes on explaining it while frames come."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "close", "close", show=False),
        Binding("g", "graph", "graph"),
    ]

    def __init__(self, watch: Watch, column: Column, row: RowId) -> None:
        super().__init__()
        self._watch = watch
        self._column = column
        self._row = row
        frame = watch.frame
        home = row if frame is None else frame.home(column, row) or row
        if column.decimals >= 0:
            watch.keep(column, home)

    def compose(self) -> ComposeResult:
        """The text in a window."""
        with VerticalScroll(classes="window", can_focus=True) as window:
            window.border_subtitle = "g graph · Esc close"
            yield Static("", id="text", markup=False)

    def on_mount(self) -> None:
        """Show it."""
        self.show_frame()

    def show_frame(self) -> None:
        """Show the numbers of the newest frame."""
        frame = self._watch.frame
        name = "" if frame is None else row_name(frame.topology, self._row)
        value = None if frame is None else frame.cell(self._column, self._row)
        window = self.query_one(".window", VerticalScroll)
        window.border_title = f"{self._column.id} · {name} · {said(self._column, value)}".replace("[", "\\[")
        self.query_one("#text", Static).update("\n".join(explanation(self._watch, self._column, self._row)))

    def action_graph(self) -> None:
        """The same cell over time."""
        from turbotui.screens.graph import Graph  # noqa: PLC0415 - each of the two windows leads to the other

        self.app.switch_screen(Graph(self._watch, self._column, self._row))
