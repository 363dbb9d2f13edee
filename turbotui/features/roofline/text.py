"""The text output of `turbotui roofline`: tables and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import Final

from turbotui.commands.formats import text_lines
from turbotui.features.roofline.level_points import level_verdict
from turbotui.features.roofline.live import RooflinePoint, total_of
from turbotui.features.roofline.plot import Plot, PlotMark, build_plot
from turbotui.features.roofline.region_points import RegionPoint
from turbotui.features.roofline.result import Result
from turbotui.features.roofline.result_tables import (
    behaviour_table,
    function_table,
    level_table,
    region_table,
    total_table,
    working_table,
)
from turbotui.features.roofline.roofs import BINDING, NOTHING_BINDS, Bound, RoofSet
from turbotui.features.roofline.roofs_text import draw_plot
from turbotui.features.roofline.verdicts import precision_of
from turbotui.tables.envelope import Envelope

_SHOWN: Final = 12
"""The most phases that are listed in text."""
_MARKS = {"scalar": "s", "SSE": "x", "NEON": "x", "AVX": "a", "AVX-512": "z", "SVE": "z"}


def report_lines(envelope: Envelope, result: Result, *, plot: bool, width: int, coloured: bool) -> Iterator[str]:
    """Format the whole report."""
    yield f"{result.title}; {result.counted}"
    yield from (f"roofs: {words}" for words in dict.fromkeys(choice.source for choice in result.roofs.values()))
    main = result.main
    if main:
        yield ""
        yield from text_lines(envelope, total_table(result))
        if any(total.verdict is not None and total.verdict.bound is Bound.NONE for total in result.totals()):
            yield (f"{NOTHING_BINDS}: less than {100 * BINDING:.0f} % of the nearest roof, which is named, is reached")
        yield ""
        yield from text_lines(envelope, working_table(result))
        yield ""
        yield from course_lines(envelope, result)
    judged = [total for total in result.totals() if result.levels or total.point.levels]
    if judged:
        yield "points by memory level"
        yield from text_lines(envelope, level_table(result))
        yield from (f"{point.point.name}: {level_verdict(point.point, point.choice).sentence}" for point in judged)
        yield ""
    if result.regions.points:
        yield "marked regions"
        yield from text_lines(envelope, region_table(result))
        yield ""
    if result.functions.points:
        yield "functions"
        yield from text_lines(envelope, function_table(result))
        yield ""
    yield _energy(result)
    yield from (f"note: {note}" for note in result.notes)
    roofs = result.drawn(main) if main else None
    if plot and roofs is not None:
        drawn = plot_of(roofs, main, result.regions.points)
        yield from ("", drawn.title, draw_plot(drawn, width, coloured), *_legend(drawn, result.regions.points))


def plot_of(roofs: RoofSet, points: Sequence[RooflinePoint], regions: Sequence[RegionPoint] = ()) -> Plot:
    """Plot the roofs with every interval as a point, and each region as a capital letter."""
    marks = [PlotMark(point.intensity or 0.0, point.gflops, _MARKS.get(point.dominant, "*")) for point in points]
    marks += [PlotMark(point.intensity or 0.0, point.gflops, letter) for letter, point in _lettered(regions)]
    total = total_of(points)
    return build_plot(roofs, marks, precision=None if total is None else precision_of(total))


def _lettered(regions: Sequence[RegionPoint]) -> list[tuple[str, RooflinePoint]]:
    placed = [region.point for region in regions if region.point is not None and region.point.has_place]
    return list(zip(ascii_uppercase, placed, strict=False))


def _legend(plot: Plot, regions: Sequence[RegionPoint]) -> list[str]:
    used = {mark.label for mark in plot.points}
    words = [f"{mark} {'/'.join(name for name in _MARKS if _MARKS[name] == mark)}"
             for mark in dict.fromkeys(_MARKS.values()) if mark in used]
    lines = [f"  {number}  {line.name}" for number, line in enumerate(plot.lines, start=1)]
    meetings = "ridge points (o) [flop/byte]: " + ", ".join(mark.label for mark in plot.ridges)
    letters = ", ".join(f"{letter} {point.name}" for letter, point in _lettered(regions))
    return [*lines, meetings, *(["intervals by dominating width: " + ", ".join(words)] if words else []),
            *([f"regions: {letters}"] if letters else [])]


def course_lines(envelope: Envelope, result: Result) -> Iterator[str]:
    """Format the behaviours of the main row and their times; nothing if there is only one."""
    name = result.main[0].name
    phases = result.phases(name)
    if len(phases) < 2:
        return
    yield f"phases of {name}, by place and width"
    yield from text_lines(envelope, behaviour_table(result, [name]))
    changes = [phase.phase.seconds for phase in phases if phase.number is None]
    if changes:
        yield f"{math.fsum(changes):.2f} s of change between them belong to none"
    steady = [phase for phase in phases if phase.phase.intervals > 1]
    if steady:
        course = ", ".join(f"{row.phase.start:.1f} s: {row.number}" for row in steady[:_SHOWN])
        yield f"course: {course}{f' and {len(steady) - _SHOWN} more' if len(steady) > _SHOWN else ''}"
    yield ""


def _energy(result: Result) -> str:
    if result.joules is None:
        return f"energy: not known{f': {result.why_no_energy.sentence()}' if result.why_no_energy else ''}"
    watts = "" if result.watts is None else f", {result.watts:.1f} W"
    efficiency = "" if result.efficiency is None else f"; {result.efficiency:.4g} GFLOP/s per W"
    return f"energy of all packages: {result.joules:.1f} J{watts}{efficiency}"
