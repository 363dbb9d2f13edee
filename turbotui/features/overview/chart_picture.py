"""Draws a chart as characters: an area in eighths, with its limits; without Textual."""

from __future__ import annotations

from typing import Final

from turbotui.cell_widths import flush_right
from turbotui.features.overview.charts import Chart
from turbotui.widgets.areas import area, roles
from turbotui.widgets.cells import MARK_AMBER, StyleRole
from turbotui.widgets.levels import FULL_LEVELS, LEVELS
from turbotui.widgets.painter import TextSegment, merged
from turbotui.widgets.panel import Line, Span, Target

_DOTTED: Final = "┈"
_CUT: Final = "─"
_AT_LIMIT: Final = 0.97


def picture(chart: Chart, width: int, height: int) -> list[list[TextSegment]]:
    """Draw the area of a chart with its limits, lines in the colour of their level."""
    lines = area(chart.past, chart.top, width, height)
    found: list[list[TextSegment]] = []
    words: dict[int, list[str]] = {}
    for limit in chart.limits:  # limits of one value share a line: "PL1 TDP 700"
        labels = words.setdefault(max(0, height - 1 - int(limit.value / chart.top * height)), [])
        value = f"{chart.target[0].as_shown(limit.value):,.0f}"
        labels[:] = [*labels[:-1], limit.word, value] if labels[-1:] == [value] else [*labels, limit.word, value]
    for at, (text, role) in enumerate(zip(lines, roles(height), strict=True)):
        label = words.get(at)
        found.append([(text, role)] if label is None else _limited(text, role, f" {' '.join(label)} "))
    return found


def _limited(text: str, role: StyleRole, label: str) -> list[TextSegment]:
    """Draw a line of an area with a limit's line through it, and the limit's words at the left."""
    full = FULL_LEVELS[LEVELS.index(role)]
    words = dict(enumerate(label, 1)) if len(label) + 2 <= len(text) else {}
    return merged([(words.get(at, _CUT), full) if char == "█" else (words[at], StyleRole.DIM) if at in words
                   else (_DOTTED, StyleRole.RULE) if char == " " else (char, role) for at, char in enumerate(text)])


def framed(chart: Chart, width: int, height: int, seconds: float, cursor: Target | None) -> list[Line]:
    """Draw a chart in a frame, with its value in the upper edge and its time span in the lower one."""
    inner = max(0, width - 2)
    title, reached = said(chart), chart.ceiling is not None and chart.share >= _AT_LIMIT
    mark = MARK_AMBER if reached else ""
    role = StyleRole.AMBER if reached else StyleRole.SUMMARY
    words = f" {chart.word} "
    room = inner - len(words) - len(mark) - len(title) - 2
    head = (Span("┌", StyleRole.RULE), Span(words, StyleRole.TITLE, chart.target),
            Span(mark + title, StyleRole.CELL if cursor == chart.target else role, chart.target),
            Span(" " + "─" * max(0, room + 1), StyleRole.RULE), Span("┐", StyleRole.RULE))
    edge = Span("│", StyleRole.RULE)
    body = [(edge, *[Span(text, role) for text, role in line], edge) for line in picture(chart, inner, height - 2)]
    length = f" {_span(seconds * inner)} " if seconds else ""
    words = length[:max(0, inner - 1)]
    rule = "─" * max(0, inner - 1 - len(words))
    return [head, *body, (Span("└─"[:inner + 1], StyleRole.RULE), Span(words, StyleRole.DIM),
                          Span(f"{rule}┘", StyleRole.RULE))]


def said(chart: Chart) -> str:
    """Format the value of a chart in a fixed width: "41.0 %"."""
    column = chart.target[0]
    unit = column.shown_unit
    decimals = 1 if unit == "%" else 0
    widest = f"{column.as_shown(chart.top):,.{decimals}f}"
    text = "—" if chart.value is None else f"{column.as_shown(chart.value):,.{decimals}f}"
    return f"{flush_right(chart.signs + text, len(widest))} {unit}"


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 300 else f"{seconds:.0f} s"
