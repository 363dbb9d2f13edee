"""Roofs as text: tables, and a plot by plotext."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Final

from turbotui.analysis.roofline.plot import LineKind, Plot, build_plot
from turbotui.analysis.roofline.roofs import Evidence, Origin, RoofSet, ridges, roof
from turbotui.machine.cpulist import format_cpulist

_CHECK_POINTS: Final = (0.0625, 0.25, 1.0, 8.0)
"""Intensities in flop/byte at which the attainable performance is printed (the paper's own)."""
_PLOT_HEIGHT: Final = 26


def table_text(roofs: RoofSet) -> str:
    """All roofs of a set, their ridge points, and what is attainable at a few intensities."""
    measured = roofs.origin is Origin.MEASURED
    lines = [_heading(roofs), ""]
    lines.append(_row("flat roofs", "GFLOP/s", "flop/cycle", measured, None))
    lines += [
        _row(one.name, f"{one.flops / 1e9:.4g}", _per_cycle(one.flops, one.evidence, roofs), measured, one.evidence)
        for one in roofs.peaks
    ]
    lines += ["", _row("slanted roofs", "GB/s", "byte/cycle", measured, None)]
    for slant in roofs.bandwidths:
        name = f"{slant.level} {slant.mix.word}, {slant.isa}"
        most = "≤ " if slant.at_most else ""
        lines.append(_row(name, f"{most}{slant.rate / 1e9:.5g}", _per_cycle(slant.rate, slant.evidence, roofs),
                          measured, slant.evidence))
    lines += ["", *_ridge_lines(roofs), *_attainable_lines(roofs)]
    lines += [f"note: {note}" for note in roofs.notes]
    return "\n".join(lines)


def _heading(roofs: RoofSet) -> str:
    count = len(roofs.cpus)
    if roofs.origin is Origin.THEORY:
        return f"Roofs of {roofs.machine}: THEORY, not measured; {roofs.cores}"
    many = "s" if count != 1 else ""
    threads = f"{count} thread{many} on CPU{many} {format_cpulist(roofs.cpus)}"
    return f"Roofs of {roofs.machine}: measured {roofs.when}, {threads}, clock beside {roofs.hertz / 1e9:.3f} GHz"


def _per_cycle(rate: float, evidence: Evidence | None, roofs: RoofSet) -> str:
    """Of one core, by the clock beside the very round; nothing for cores of several kinds or clocks together."""
    if len(roofs.groups) > 1:
        return "-"
    hertz = roofs.hertz if evidence is None else evidence.hertz
    return f"{rate / hertz / len(roofs.cpus):.4g}"


def _row(name: str, value: str, cycle: str, measured: bool, evidence: Evidence | None) -> str:
    row = f"  {name:<30} {value:>9} "
    if not measured:
        return f"{row} {cycle:>10}"
    if evidence is None:
        return f"{row} {cycle:>10}  {'median':>9} {'spread':>7} {'rounds':>6} {'loop':>6}  {'bytes/thread':>12}"
    mark = "~" if evidence.disturbed else " "
    size = f"{evidence.bytes:,}" if evidence.bytes else ""
    return (f"{row}{mark}{cycle:>10}  {evidence.median / 1e9:>9.4g} {100 * evidence.spread:>5.0f} % "
            f"{evidence.rounds:>6} {evidence.shape:>6}  {size:>12}").rstrip()


def _ridge_lines(roofs: RoofSet) -> list[str]:
    found = ridges(roofs)
    if not found:
        return []
    words = ", ".join(f"{slant.name} {place:.4g}" for _, slant, place in found)
    return [f"ridge points of {found[0][0].name} [flop/byte]: {words}"]


def _attainable_lines(roofs: RoofSet) -> list[str]:
    """Min(peak, bandwidth times intensity) at the check points, with loads alone as the smallest common roof."""
    peak = roofs.top_peak()
    if peak is None:
        return []
    lines = []
    for slant in roofs.best_bandwidths():
        values = ", ".join(f"{roof(peak.flops, slant.rate, place) / 1e9:.4g} at {place:g}" for place in _CHECK_POINTS)
        lines.append(f"attainable GFLOP/s by {slant.name}: {values}")
    return lines


def plot_text(roofs: RoofSet, width: int, coloured: bool) -> str:
    """The roofline as a plot in text, with what its lines are underneath."""
    plot = build_plot(roofs)
    drawn = draw_plot(plot, width, coloured)
    legend = [f"  {number}  {line.name}" for number, line in enumerate(plot.lines, start=1)]
    meetings = "ridge points (o) [flop/byte]: " + ", ".join(mark.label for mark in plot.ridges)
    return "\n".join([plot.title, drawn, *legend, meetings])


def draw_plot(plot: Plot, width: int, coloured: bool) -> str:
    """The drawing alone, by plotext 6, whose figure has no types: it is met here only.

    Drawn on the axes' own logarithms, with ticks of our own, so that the plot shows exactly what the model says.
    """
    figure = importlib.import_module("plotext").figure
    figure.clear()
    figure.plot_size(width, _PLOT_HEIGHT)
    for number, line in enumerate(plot.lines, start=1):
        ends = [(math.log10(x), math.log10(y)) for x, y in (line.start, line.end)]
        xs, ys = [x for x, _ in ends], [y for _, y in ends]
        figure.draw(figure.segment(xs, ys))
        # A slanted roof is named near its lower end, a flat one near its right end.
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
    return _lines(figure.build().string(colorless=not coloured))


def _lines(text: str) -> str:
    return "\n".join(_trimmed(text.splitlines()))


def _trimmed(lines: Sequence[str]) -> list[str]:
    return [line.rstrip() for line in lines]
