"""Paint the lines of a table as segments of text with one role each. Nothing here knows Textual."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, Generic, TypeAlias

from turbotui.cell_widths import are_single_cells, begin_of, cell_count, cut, flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import C, K
from turbotui.widgets.cells import ALARM_MARKS, Slot, StyleRole, cut_words
from turbotui.widgets.content import F, Line
from turbotui.widgets.geometry import MORE_LEFT, MORE_RIGHT, RULE, Geometry, arrange
from turbotui.widgets.headings import Heading
from turbotui.widgets.table_view import TableView

TextSegment: TypeAlias = tuple[str, StyleRole]

FOLDED, OPEN = "▸", "▾"


_ROUNDED: Final = 1.02
"""The factor up to which shares that are estimated one by one add up to more than their whole."""


_STEPS: Final = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""Ends of scales within a power of ten."""


def nice_top(peak: float) -> float:
    """The next round number, for a scale that seldom changes and whose curve fills two thirds of it or more."""
    if not 0 < peak < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(peak))
    return next(step * power for step in _STEPS if peak <= step * power * (1 + 1e-9))


def scale_top(natural: float, peak: float) -> float:
    """The end of a scale: the natural one, or what rounding puts slightly above it; otherwise the next nice number.

    Args:
        natural: the greatest sensible value (100 of a percentage); 0 if there is none.
        peak: the greatest value that is shown.
    """
    if natural > 0 and peak <= natural * _ROUNDED:
        return max(natural, peak)
    return nice_top(peak)


@dataclass()
class Painter(ABC, Generic[F, C, K]):
    """Paints the lines of one table at one width."""

    view: TableView[C, K]
    # fixed, moving: slots of columns that identify the row, and the other slots
    fixed: tuple[Slot, ...]
    moving: tuple[Slot, ...]
    width: int
    offset: int = 0

    @property
    def edge(self) -> int:
        """Width of the identity part with its rule."""
        return self.label_width + len(RULE)

    @property
    def label_width(self) -> int:
        """Width of the identity part."""
        return sum(slot.outer for slot in self.fixed)

    @property
    def columns(self) -> list[Any]:
        """All columns from left to right, whether drawn or not."""
        return [slot.column for slot in (*self.fixed, *self.moving) if not slot.spark]

    def headings(self, geometry: Geometry) -> list[Heading]:
        """The drawn titles, from left to right."""
        headings: list[Heading] = []
        at = 0
        for slot in self.fixed:
            headings.append(Heading(slot, at))
            at += slot.outer
        return [*headings, *(Heading(slot, start) for slot, start in zip(geometry.slots, geometry.starts, strict=True))]

    def geometry(self) -> Geometry:
        """Positions of the slots at the current offset."""
        return arrange(self.moving, self.edge, self.width, self.offset)

    def head(self, segments: list[TextSegment]) -> None:
        """The titles of the identity part."""
        for slot in self.fixed:
            self._title(segments, slot)

    def headers(self, geometry: Geometry) -> list[list[TextSegment]]:
        """The lines above the rows, one or more."""
        return [self.header(geometry)]

    def header(self, geometry: Geometry) -> list[TextSegment]:
        """The line of titles, with the sort mark."""
        segments: list[TextSegment] = []
        self.head(segments)
        if geometry.more_left:
            segments.append((f" {MORE_LEFT}", StyleRole.SORTED))
        else:
            segments.append((RULE, StyleRole.RULE))
        before: Slot | None = None
        for slot in geometry.slots:
            if before is not None and before.group is not slot.group:
                segments.append((RULE, StyleRole.RULE))
            self._title(segments, slot)
            before = slot
        self._finish(segments, geometry)
        return segments

    def _title(self, segments: list[TextSegment], slot: Slot) -> None:
        is_sorted = self.view.sort is not None and slot.column.id == self.view.sort.id and not slot.spark
        text = cut(slot.title, slot.width)
        text = flush_left(text, slot.width) if slot.spark or slot.column.decimals < 0 else flush_right(text, slot.width)
        segments.append((f" {text}", StyleRole.SORTED if is_sorted else StyleRole.TITLE))

    def _finish(self, segments: list[TextSegment], geometry: Geometry) -> None:
        room = self.width - sum(cell_count(text) for text, _ in segments)
        if room <= 0:
            return
        segments.append((" " * (room - 1), StyleRole.TITLE))
        segments.append((MORE_RIGHT if geometry.more_right else " ", StyleRole.SORTED))

    def lines(self, content: F, lines: Sequence[Line[K]], geometry: Geometry) -> list[list[TextSegment]]:
        """Some rows, painted column by column: ids, a rule, and the cells of each slot with rules between groups."""
        self.begin(content)
        rows = tuple(line.row for line in lines)
        columns: list[Sequence[TextSegment]] = []
        before: Slot | None = None
        for slot in geometry.slots:
            if before is not None and before.group is not slot.group:
                columns.append([(RULE, StyleRole.RULE)] * len(rows))
            before = slot
            columns.append(self.column(content, rows, slot))
        return [[*self.ids(content, line), (RULE, StyleRole.RULE), *cells]
                for line, *cells in zip(lines, *columns, strict=True)]

    def place(self, geometry: Geometry, index: int) -> int | None:
        """The place of a slot's cell in a line of `lines`, counted from its end (-1 is the last); None if not drawn."""
        if index not in geometry.indices:
            return None
        at = geometry.indices.index(index)
        after = geometry.slots[at:]
        return -len(after) - sum(slot.group is not before.group for before, slot in pairwise(after))

    @abstractmethod
    def begin(self, content: F) -> None:
        """Prepare for the rows of this content."""

    @abstractmethod
    def ids(self, content: F, line: Line[K]) -> list[TextSegment]:
        """Segments left of the rule, which identify the row."""

    @abstractmethod
    def column(self, content: F, rows: Sequence[K], slot: Slot) -> list[TextSegment]:
        """The cells of one slot from top to bottom."""


def fast_numbers(column: Column[Any], values: Sequence[Value], width: int) -> Sequence[str | None]:
    """Values as `cell_text` writes them, preceded by a blank; None for values that are not numbers, or too wide."""
    if column.decimals < 0 or column.hexadecimal or column.shown is not None or column.most_decimals:
        return [None] * len(values)
    shape, outer = f" %{width}.{column.decimals}f", width + 1
    try:
        return [text if len(text := shape % value) == outer else None for value in values]
    except TypeError:  # None, or a text
        return [text if isinstance(value, (int, float)) and len(text := shape % value) == outer else None
                for value in values]


def alarmed(text: str, role: StyleRole, standing: StyleRole, signs: str = "") -> TextSegment:
    """A role for a value past a threshold, with the signs of its marks; an enclosing row's value stays dim."""
    return marked(signs + ALARM_MARKS[role], text), role if standing is StyleRole.PLAIN else StyleRole.DIM


def alerted(segment: TextSegment, role: StyleRole) -> TextSegment:
    """A role for a cell that belongs to an alert; a cell past a worse threshold, or without a value, is unchanged."""
    text, before = segment
    if not text.strip() or before is StyleRole.RED:
        return segment
    return (text, role) if before is StyleRole.AMBER or text[0] != " " else (marked(ALARM_MARKS[role], text[1:]), role)


def marked(signs: str, text: str) -> str:
    """A cell's text with signs directly before the number, as many as there is room for."""
    if not signs:  # nearly every cell
        return f" {text}"
    number = text.lstrip()
    room = len(text) - len(number) + 1
    return flush_right(signs[:room], room) + number


def shortened(segments: Sequence[TextSegment], width: int) -> Sequence[TextSegment]:
    """A line at most this wide: the segment that does not fit ends behind a word, and those behind it go.

    Blanks at the end of the line need no room.
    """
    whole = "".join([text for text, _ in segments])
    if len(whole) <= width and are_single_cells(whole):  # nearly every line
        return segments
    merged_line: list[TextSegment] = []
    left = width
    for at, (text, role) in enumerate(segments):
        size = cell_count(text)
        if size >= left:
            if not any(more.strip() for more, _ in segments[at + 1:]) and cell_count(text.rstrip()) <= left:
                merged_line.append((begin_of(text, left), role))
            else:
                merged_line.append((cut_words(text, left) if size > left else cut(f"{text} ", left), role))
            return merged_line
        merged_line.append((text, role))
        left -= size
    return merged_line


def merged(segments: Sequence[TextSegment]) -> list[TextSegment]:
    """Merge neighbours of one role, because fewer segments are cheaper to draw."""
    merged_line: list[TextSegment] = []
    text, role = "", StyleRole.PLAIN
    for segment, its_role in segments:
        if its_role is role:
            text += segment
        else:
            if text:
                merged_line.append((text, role))
            text, role = segment, its_role
    if text:
        merged_line.append((text, role))
    return merged_line
