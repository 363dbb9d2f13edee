"""A roofline as a drawing (SVG 1.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.plot import LineKind, LogAxis, Plot
from turbotui.quantities.sentences import several

_WIDTH: Final = 960
_HEIGHT: Final = 600
_LEFT: Final = 80
_RIGHT: Final = 24
_TOP: Final = 48
_BOTTOM: Final = 64
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Colours that most people with a colour vision deficiency can distinguish (Okabe and Ito)."""
_SHAPES: Final = {"scalar": "circle", "SSE": "square", "NEON": "square", "AVX": "diamond"}
"""Marks by dominating width; wider ones are triangles."""
_ESCAPED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Escapes of XML 1.0 (2.4); the standard library's function would load HTTP and TLS, 6 MB."""


def svg_text(plot: Plot, points: Sequence[RooflinePoint], *, title: str, notes: Sequence[str] = ()) -> str:
    """Draw roofs and points, one colour for each row, older points paler; a note counts points outside the axes.

    Args:
        points: oldest first.
    """
    shown = [point for point in points if point.has_place and (plot.x.low <= (point.intensity or 0.0) <= plot.x.high)
             and plot.y.low <= point.gflops <= plot.y.high]
    hidden = len(points) - len(shown)
    lines = [
        (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
         f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">'),
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="24" font-size="15">{_escaped(title)}</text>',
        f'<text x="{_LEFT}" y="40" fill="#555">{_escaped(plot.title)}</text>',
        *_axes(plot),
        *_roofs(plot),
        *_points(plot, shown),
    ]
    without = f"not drawn: {several(hidden, 'point')} without a place, or outside the axes"
    remarks = [*notes, *([without] if hidden else [])]
    lines += [f'<text x="{_LEFT}" y="{_HEIGHT - 8 - 13 * (len(remarks) - 1 - at)}" fill="#555" font-size="10">'
              f"{_escaped(note)}</text>" for at, note in enumerate(remarks)]
    return "\n".join([*lines, "</svg>", ""])


def _escaped(text: str) -> str:
    return text.translate(_ESCAPED)


def _x(axis: LogAxis, value: float) -> float:
    return _LEFT + axis.place(value) * (_WIDTH - _LEFT - _RIGHT)


def _y(axis: LogAxis, value: float) -> float:
    return _HEIGHT - _BOTTOM - axis.place(value) * (_HEIGHT - _TOP - _BOTTOM)


def _axes(plot: Plot) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for tick in plot.x.ticks():
        at = _x(plot.x, tick.value)
        yield f'<line x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{bottom}" stroke="#e5e5e5"/>'
        yield f'<text x="{at:.1f}" y="{bottom + 15}" text-anchor="middle">{tick.label}</text>'
    for tick in plot.y.ticks():
        at = _y(plot.y, tick.value)
        yield f'<line x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" stroke="#e5e5e5"/>'
        yield f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick.label}</text>'
    yield (f'<rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}" fill="none" '
           'stroke="#333"/>')
    yield f'<text x="{(_LEFT + right) / 2}" y="{bottom + 32}" text-anchor="middle">{_escaped(plot.x.title)}</text>'
    yield (f'<text transform="translate(20 {(_TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
           f"{_escaped(plot.y.title)}</text>")


def _roofs(plot: Plot) -> Iterator[str]:
    yield (f'<clipPath id="inside"><rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" '
           f'height="{_HEIGHT - _TOP - _BOTTOM}"/></clipPath><g clip-path="url(#inside)">')
    for line in plot.lines:
        x1, y1 = _x(plot.x, line.start[0]), _y(plot.y, line.start[1])
        x2, y2 = _x(plot.x, line.end[0]), _y(plot.y, line.end[1])
        memory = line.kind is LineKind.MEMORY
        dashes = "" if memory else ' stroke-dasharray="6 3"'
        yield (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#333" '
               f'stroke-width="1.5"{dashes}/>')
        if memory:
            turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
            yield (f'<text transform="translate({x1 + 0.05 * (x2 - x1):.1f} {y1 + 0.05 * (y2 - y1):.1f}) '
                   f'rotate({turn:.1f})" dy="-5">{_escaped(line.name)}</text>')
        else:
            yield f'<text x="{x2 - 6:.1f}" y="{y2 - 4:.1f}" text-anchor="end">{_escaped(line.name)}</text>'
    for mark in plot.ridges:
        x, y = _x(plot.x, mark.intensity), _y(plot.y, mark.gflops)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#333"/>'
        yield f'<text x="{x + 3:.1f}" y="{y + 14:.1f}" font-size="10">{_escaped(mark.label)}</text>'
    yield "</g>"


def _points(plot: Plot, points: Sequence[RooflinePoint]) -> Iterator[str]:
    rows = {name: at for at, name in enumerate(dict.fromkeys(point.name for point in points))}
    first = points[0].seconds if points else 0.0
    span = (points[-1].seconds - first) if points else 0.0
    for point in points:
        x, y = _x(plot.x, point.intensity or plot.x.low), _y(plot.y, point.gflops)
        colour = _COLOURS[rows[point.name] % len(_COLOURS)]
        opacity = 0.25 + 0.75 * (point.seconds - first) / span if span > 0 else 1.0
        yield (f'<g fill="{colour}" fill-opacity="{opacity:.2f}">{_mark(point.dominant, x, y)}'
               f"<title>{_escaped(point.name)} {point.seconds:.2f} s, {point.intensity:.4g} flop/byte, "
               f"{point.gflops:.4g} GFLOP/s {_escaped(point.dominant)}</title></g>")
    if 1 < len(rows) <= len(_COLOURS):
        for name, at in rows.items():
            yield (f'<text x="{_WIDTH - _RIGHT - 8}" y="{_HEIGHT - _BOTTOM - 10 - 15 * at}" text-anchor="end" '
                   f'fill="{_COLOURS[at]}">{_escaped(name)}</text>')


def _mark(dominant: str, x: float, y: float) -> str:
    shape = _SHAPES.get(dominant, "triangle" if dominant else "circle")
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)),
        "triangle": ((0, -5), (5, 4), (-5, 4)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}"/>'
