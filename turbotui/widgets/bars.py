"""Bars with marks on them, and stacked pictures of the past, in plain characters that need no colour.

Nothing here knows Textual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from turbotui.dataclass import dataclass

FULL, EMPTY, MARK = "█", "─", "┃"
_EIGHTHS = " ▏▎▍▌▋▊▉"
LAYERS = "█▓▒░"
"""Characters of stacked layers, from the bottom up."""


@dataclass(frozen=True, slots=True)
class BarMark:
    """A value to mark on a bar, with the words below it."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class BarLabel:
    """A label below a bar: its mark, its start and its text."""

    at: int
    text: str
    mark: int


def bar(value: float | None, top: float, width: int, marks: Sequence[float] = ()) -> str:
    """A horizontal bar of `width` characters from 0 to `top` in steps of an eighth, with marks that stay visible.

    Args:
        value: the filled length; None leaves the bar empty.
        top: the value at its right end.
    """
    if width <= 0 or top <= 0:
        return ""
    eighths = 0 if value is None else max(0, min(width * 8, round(value / top * width * 8)))
    full, rest = divmod(eighths, 8)
    cells = list(FULL * full + (_EIGHTHS[rest] if rest else "")) + [EMPTY] * width
    for mark in marks:
        if 0 <= mark <= top:
            cells[_place(mark, top, width)] = MARK
    return "".join(cells[:width])


def _place(value: float, top: float, width: int) -> int:
    return max(0, min(width - 1, math.ceil(value / top * width) - 1))


def labels(marks: Sequence[BarMark], top: float, width: int) -> list[BarLabel]:
    """Place the words below a bar so that each ends below its mark if possible and none touches another.

    Args:
        marks: in any order; a mark beyond `top` has no place.

    Returns:
        The labels from left to right. Labels that do not fit are left out, the last ones first.
    """
    placed: list[BarLabel] = []
    free = 0
    order = sorted((index for index, mark in enumerate(marks) if 0 <= mark.value <= top),
                   key=lambda index: marks[index].value)
    for position, index in enumerate(order):
        text = marks[index].label
        later = sum(len(marks[other].label) + 2 for other in order[position + 1 :])
        at = max(free, min(_place(marks[index].value, top, width) - len(text) + 1, width - later - len(text)))
        if at + len(text) > width:
            break
        placed.append(BarLabel(at, text, index))
        free = at + len(text) + 2
    return placed


def stacked(histories: Sequence[Sequence[float]], top: float, width: int, height: int) -> list[str]:
    """Layers stacked over time, newest at the right.

    Args:
        histories: one for each layer, oldest first, of equal length; NaN is a gap in time.
        width: characters, one for each of the last intervals.
        height: lines.

    Returns:
        `height` lines of `width` characters, the upper one first.
    """
    recent = [list(history[-width:]) for history in histories]
    length = min((len(history) for history in recent), default=0)
    columns = [[history[at - length] for history in recent] for at in range(length)]
    lines = []
    for line in range(height):
        middle = (height - line - 0.5) * top / height
        lines.append("".join(_layer(column, middle) for column in columns).rjust(width))
    return lines


def _layer(values: Sequence[float], at: float) -> str:
    total = 0.0
    for value, character in zip(values, LAYERS, strict=False):
        if math.isnan(value):
            return " "
        total += max(0.0, value)
        if at <= total:
            return character
    return " "
