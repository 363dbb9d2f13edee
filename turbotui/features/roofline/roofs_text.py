"""Roofs as text: tables, and a plot by plotext."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.commands.formats import text_lines
from turbotui.features.roofline.plot import LineKind, Plot, build_plot
from turbotui.features.roofline.roof_tables import bandwidth_table, integer_table, peak_table, ridge_table
from turbotui.features.roofline.roofs import Origin, RoofSet
from turbotui.machine.cpulist import format_cpulist
from turbotui.tables.envelope import Envelope

_PLOT_HEIGHT: Final = 26


def report_lines(envelope: Envelope, sets: Sequence[RoofSet]) -> Iterator[str]:
    """Format the roofs of each set, their ridges, and the attainable performance at a few intensities."""
    for roofs in sets:
        if envelope.label or roofs is not sets[0]:
            yield ""
        yield _heading(roofs)
        for title, table in (("flat roofs", peak_table([roofs])), ("flat roofs of int8", integer_table([roofs])),
                             ("slanted roofs", bandwidth_table([roofs])),
                             ("where they meet [flop/byte], and GFLOP/s attainable at an intensity",
                              ridge_table([roofs]))):
            if table.rows:
                yield from ("", title)
                yield from text_lines(envelope, table, indent="  ")
        yield ""
        yield from (f"note: {note}" for note in roofs.notes)


def _heading(roofs: RoofSet) -> str:
    count = len(roofs.cpus)
    if roofs.origin is Origin.THEORY:
        return f"Roofs of {roofs.machine}: {roofs.origin.words}; {roofs.cores}"
    many = "s" if count != 1 else ""
    threads = f"{count} thread{many} on CPU{many} {format_cpulist(roofs.cpus)}"
    return f"Roofs of {roofs.machine}: measured {roofs.when}, {threads}, clock beside {roofs.hertz / 1e9:.3f} GHz"


def plot_text(roofs: RoofSet, width: int, coloured: bool) -> str:
    """Draw the roofline in text, with a legend of its lines below."""
    plot = build_plot(roofs)
    drawn = draw_plot(plot, width, coloured)
    legend = [f"  {number}  {line.name}" for number, line in enumerate(plot.lines, start=1)]
    meetings = "ridge points (o) [flop/byte]: " + ", ".join(mark.label for mark in plot.ridges)
    return "\n".join([plot.title, drawn, *legend, meetings])


def draw_plot(plot: Plot, width: int, coloured: bool) -> str:
    """Draw the plot by plotext 6, whose untyped figure is used in this function only."""
    figure = importlib.import_module("plotext").figure
    figure.clear()
    figure.plot_size(width, _PLOT_HEIGHT)
    for number, line in enumerate(plot.lines, start=1):
        # the logarithms and ticks of the model's axes, not plotext's own, so that it shows exactly the model
        ends = [(math.log10(x), math.log10(y)) for x, y in (line.start, line.end)]
        xs, ys = [x for x, _ in ends], [y for _, y in ends]
        figure.draw(figure.segment(xs, ys))
        # Slanted roofs are named near their lower end, flat ones near their right end.
        share = 0.2 if line.kind is LineKind.MEMORY else 0.9
        figure.draw(figure.text(xs[0] + share * (xs[1] - xs[0]), ys[0] + share * (ys[1] - ys[0]), str(number)))
    for mark in plot.ridges:
        figure.draw(figure.text(math.log10(mark.intensity), math.log10(mark.gflops), "o"))
    for mark in plot.points:
        figure.draw(figure.text(math.log10(mark.intensity), math.log10(mark.gflops), mark.label or "*"))
    for axis, scale in (("x", plot.x), ("y", plot.y)):
        ruler = figure.ruler(axis)
        ruler.lim(math.log10(scale.low), math.log10(scale.high))
        ticks = scale.ticks()
        ruler.ticks([math.log10(tick.value) for tick in ticks], [tick.label for tick in ticks])
        figure.label(scale.title, axis)
    figure.theme("simple")  # colours for the lines, and the terminal's own background
    return "\n".join(line.rstrip() for line in figure.build().string(colorless=not coloured).splitlines())
