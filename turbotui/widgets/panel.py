"""Panels of lines whose numbers can be selected. Nothing here knows Textual."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TypeAlias

from turbotui.cell_widths import begin_of, cell_count
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment

Target: TypeAlias = tuple[CounterColumn, RowId]
"""The cell whose value a segment of text shows, for explanations."""


@dataclass(frozen=True, slots=True)
class Span:
    """A segment of a line, which can be selected if it has a target."""

    text: str
    role: StyleRole = StyleRole.PLAIN
    target: Target | None = None
    action: str = ""  # what a click on it runs, if anything

    @property
    def cells(self) -> int:
        """The cells of a terminal that the text takes."""
        return cell_count(self.text)


Line: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """A frame with lines inside."""

    title: str
    role: StyleRole
    lines: tuple[Line, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        """Selectable targets of the panel from the top left, each once."""
        targets = (span.target for line in self.lines for span in line if span.target is not None)
        return tuple(dict.fromkeys(targets))


@dataclass(frozen=True, slots=True)
class PanelPosition:
    """Position of a panel's frame in the grid, in characters and lines."""

    x: int
    y: int
    width: int
    height: int


def wrapped(text: str, width: int, role: StyleRole, target: Target | None = None, *, most: int) -> list[Line]:
    """A sentence on at most `most` lines; a cut sentence ends in an ellipsis."""
    lines = textwrap.wrap(text, max(8, width), max_lines=most, placeholder=" …")
    return [(Span(line, role, target),) for line in lines]


def plan(panels: Sequence[Panel], width: int, least: int) -> tuple[PanelPosition, ...]:
    """Place panels side by side if each gets at least `least` characters, otherwise below each other.

    All panels of a row are as tall as the tallest.
    """
    across = max(1, min(len(panels), (width + 1) // (least + 1)))
    each = (width - (across - 1)) // across
    positions: list[PanelPosition] = []
    y = 0
    for start in range(0, len(panels), across):
        row = panels[start : start + across]
        height = max(len(panel.lines) for panel in row) + 2
        positions += [PanelPosition(at * (each + 1), y, each, height) for at in range(len(row))]
        y += height
    return tuple(positions)


def inner_width(count: int, width: int, least: int) -> int:
    """Characters inside each of `count` panels as `plan` will place them."""
    across = max(1, min(count, (width + 1) // (least + 1)))
    return max(8, (width - (across - 1)) // across - 4)


def panel_line(panel: Panel, position: PanelPosition, y: int, chosen: Target | None, *,
               here: bool) -> list[TextSegment]:
    """One line of a panel in its frame, exactly as wide as its position; line 0 is the frame's upper edge."""
    inside = position.width - 2
    edge = StyleRole.SORTED if here else StyleRole.RULE
    if y == 0:
        title = begin_of(f" {panel.title} ", inside)
        return [("┌", edge), (title, panel.role), ("─" * (inside - cell_count(title)) + "┐", edge)]
    if y == position.height - 1:
        return [("└" + "─" * inside + "┘", edge)]
    segments: list[TextSegment] = [("│ ", edge)]
    room = inside - 2
    for span in panel.lines[y - 1] if y - 1 < len(panel.lines) else ():
        text = begin_of(span.text, room)
        room -= cell_count(text)
        marked = here and chosen is not None and span.target == chosen
        segments.append((text, StyleRole.CELL if marked else span.role))
    return [*segments, (" " * room, StyleRole.PLAIN), (" │", edge)]


def target_at(panel: Panel, position: PanelPosition, x: int, y: int) -> Target | None:
    """The target under a character of the grid."""
    line = y - position.y - 1
    if not 0 <= line < len(panel.lines):
        return None
    at = position.x + 2
    for span in panel.lines[line]:
        if at <= x < at + span.cells:
            return span.target
        at += span.cells
    return None
