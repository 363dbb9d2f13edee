"""Cells as text: fixed widths, fixed decimals, marks. Nothing here knows Textual."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final

from turbotui.cell_widths import begin_of, cell_count, flush_left
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, CounterColumn, Value
from turbotui.quantities.scope import Scope

UNKNOWN = "—"
TOO_WIDE = "#"
"""Fills a cell that is too narrow for its number."""
MARK_AMBER = "▲"
MARK_RED = "!"


class StyleRole(Enum):
    """How a segment of a line is styled, by the component class without its prefix."""

    PLAIN = "plain"
    DIM = "dim"
    AMBER = "amber"
    RED = "red"
    SPARK = "spark"
    RULE = "rule"
    TITLE = "title"
    SORTED = "sorted"
    SUMMARY = "summary"
    CURSOR = "cursor"
    CELL = "cell"
    TAGGED = "tagged"
    BANNER = "banner"
    KEY = "key"
    LEVEL_0 = "level-0"
    LEVEL_1 = "level-1"
    LEVEL_2 = "level-2"
    LEVEL_3 = "level-3"
    LEVEL_4 = "level-4"
    LEVEL_5 = "level-5"
    LEVEL_6 = "level-6"
    LEVEL_7 = "level-7"
    LEVEL_8 = "level-8"
    LEVEL_0_FULL = "level-0-full"
    LEVEL_1_FULL = "level-1-full"
    LEVEL_2_FULL = "level-2-full"
    LEVEL_3_FULL = "level-3-full"
    LEVEL_4_FULL = "level-4-full"
    LEVEL_5_FULL = "level-5-full"
    LEVEL_6_FULL = "level-6-full"
    LEVEL_7_FULL = "level-7-full"
    LEVEL_8_FULL = "level-8-full"
    LANE_0 = "lane-0"
    LANE_1 = "lane-1"
    LANE_2 = "lane-2"
    LANE_3 = "lane-3"
    LANE_4 = "lane-4"
    LANE_5 = "lane-5"
    LANE_6 = "lane-6"
    LANE_7 = "lane-7"
    LANE_0_FULL = "lane-0-full"
    LANE_1_FULL = "lane-1-full"
    LANE_2_FULL = "lane-2-full"
    LANE_3_FULL = "lane-3-full"
    LANE_4_FULL = "lane-4-full"
    LANE_5_FULL = "lane-5-full"
    LANE_6_FULL = "lane-6-full"
    LANE_7_FULL = "lane-7-full"

    # Members are compared by identity. Enum's hash is written in Python, and every segment of a line would call it.
    __hash__ = object.__hash__


_LISTED: Final = re.compile(r",(?!\d{3}(?!\d))")
_THOUSAND: Final = 4
"""Characters behind a comma by which it is known to be one of thousands."""
_WIDEST_TITLE: Final = 24
"""Characters of a column's title that a screen shows."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One visible column of a table."""

    column: Any  # a `Column`; the painter knows of which kind
    width: int  # characters of the value, mark not included
    title: str  # the text above it
    spark: bool = False  # whether this is the sparkline of the column's history, beside the column
    is_sort: bool = False  # whether rows are sorted by it: it is the last to be left out where the line is narrow

    @property
    def group(self) -> object:
        """The column's group; a rule separates columns of two groups."""
        return group_of(self.column)

    @property
    def outer(self) -> int:
        """Characters of the value with the mark before it."""
        return self.width + 1


def group_of(column: Column[Any]) -> object:
    """The category of a catalog column; None for any other column."""
    return column.category if isinstance(column, CounterColumn) else None


def slot_for(column: Column[Any], *, stacked: bool = False) -> Slot:
    """Make a column's slot, as wide as its title or widest value; stacked titles use the widest line of the heading."""
    lines = [line if len(line) <= _WIDEST_TITLE else f"…{line[1 - _WIDEST_TITLE:]}"
             for line in (column.heading if stacked else (column.title,))]
    return Slot(column, max(column.width, *(len(line) + stacked for line in lines)), lines[0])


def number(value: float, decimals: int, width: int) -> str:
    """A number with fixed decimals, no wider than `width` if at all possible.

    A value that is too large loses decimals first and is then written in thousands, so that columns never move.
    """
    text = f"{value:.{decimals}f}"
    while len(text) > width and decimals > 0:
        decimals -= 1
        text = f"{value:.{decimals}f}"
    if len(text) <= width:
        return text
    for suffix in "kMGTP":
        value /= 1000
        shorter = f"{value:.1f}{suffix}"
        if len(shorter) > width:
            shorter = f"{value:.0f}{suffix}"
        if not any(digit in shorter for digit in "123456789"):
            return text  # better too wide for its column than a zero
        text = shorter
        if len(text) <= width:
            return text
    return text


def cut_words(text: str, width: int) -> str:
    """A sentence of at most this width, cut after a part or a word, because half a number is another number.

    A number stays with its title and unit, so a whole part is dropped if the cut would fall beside a number. A word
    itself is cut only if it takes more than half of the room, and never beside a digit; a list of numbers ends behind
    the comma of one.
    """
    if cell_count(text) <= width:
        return text
    room = len(begin_of(text, width - 1))
    part, word = text.rfind(" · ", 0, room + 2), text.rfind(" ", 0, room)
    beside = text[:word].rsplit(" ", 1)[-1] + text[word + 1:].split(" ", 1)[0]
    if part > room // 4 and (any(sign.isdigit() for sign in beside) or "·" in beside):
        return f"{text[:part]} …"
    if word >= (room + 1) // 2:
        return f"{text[:word]} …"
    kept = text[:room].rstrip("0123456789.,)")
    return begin_of(f"{kept or text[:_end_in_list(text, room)]}…", width)


def _end_in_list(text: str, room: int) -> int:
    """The end of the last whole number of a list (2,50,98), with its comma; a comma before three digits is none."""
    return max((comma.end() for comma in _LISTED.finditer(text, 0, room + _THOUSAND) if comma.end() <= room), default=0)


def narrowed(text: str, value: float, column: Column[Any], width: int) -> str:
    """Shorten a number that is too wide for its column to a form that cannot be read as another number.

    The form may drop decimals or write thousands with a letter; a number that is still too wide, or would falsely read
    as zero, is hatched.
    """
    if width >= column.width or (len(text) <= width and (not value or any(digit in "123456789" for digit in text))):
        return text
    return TOO_WIDE * width


def cell_text(column: Column[Any], value: Value, width: int) -> str:
    """A cell at its column's width: numbers to the right, texts to the left, unknown as a dash."""
    if value is None:
        return UNKNOWN.rjust(width) if column.decimals >= 0 else UNKNOWN.ljust(width)
    if isinstance(value, str):
        return flush_left(cut_words(value, width), width)
    if column.shown is not None:
        value = column.shown.of(value)
    text = (f"{int(value):x}" if column.hexadecimal
            else column.tiny(value) or number(value, column.decimals_of(value), width))
    return narrowed(text, 0 if column.hexadecimal else value, column, width).rjust(width)


def in_words(column: Column[Any], value: Value) -> str:
    """A cell for use in a sentence: "3,498 MHz", "—"."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    if column.hexadecimal:
        return f"{int(value):#x}"
    return column.amount(value)


def alarm(column: Column[Any], value: Value) -> StyleRole | None:
    """AMBER or RED past the column's thresholds, else None."""
    limits = column.thresholds
    if limits is None or value is None or isinstance(value, str):
        return None
    if limits.low:
        if value <= limits.red:
            return StyleRole.RED
        return StyleRole.AMBER if value <= limits.amber else None
    if value >= limits.red:
        return StyleRole.RED
    return StyleRole.AMBER if value >= limits.amber else None


ALARM_MARKS = {StyleRole.AMBER: MARK_AMBER, StyleRole.RED: MARK_RED}

IDENTITY_SCOPES = {
    "Package": Scope.PACKAGE,
    "Die": Scope.DIE,
    "L3": Scope.L3,
    "Node": Scope.NODE,
    "Module": Scope.MODULE,
    "Core": Scope.CORE,
}
"""What the identity columns number."""
