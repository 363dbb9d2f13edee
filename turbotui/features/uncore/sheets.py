"""Sheets: several small tables below each other, each with columns of its own. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.geometry import MORE_LEFT, MORE_RIGHT, RULE
from turbotui.widgets.painter import TextSegment

_NARROWEST = 8
_LABEL = 12
_OPEN, _FOLDED = "▾", "▸"


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """A column: two lines above it."""

    key: str
    heading: tuple[str, str]

    @property
    def width(self) -> int:
        """Of a value; its mark stands directly before the number."""
        return max(_NARROWEST, *(len(text) + 1 for text in self.heading))


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A value as text, and how it is coloured."""

    text: str
    role: StyleRole = StyleRole.PLAIN


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A line; `note` stands behind the columns as far as there is room."""

    key: str
    label: str
    cells: tuple[SheetCell, ...]
    note: str = ""
    is_sum: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table.

    Attributes:
        title, about: on the line above it.
        sort: index of the column it is sorted by, None for the order of the machine.
        folded: whether rows are hidden behind their sums; None where nothing can be folded.
        remark: a sentence in place of columns that nobody chose.
    """

    key: str
    title: str
    about: str
    columns: tuple[SheetColumn, ...]
    rows: tuple[SheetRow, ...]
    sort: int | None = None
    folded: bool | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class LineContent:
    """What is on one line of the whole: a title, a heading, a row (by index) or nothing."""

    sheet: int
    row: int | None = None
    part: str = ""


def contents_of(sheets: Sequence[Sheet]) -> list[LineContent]:
    """The lines of all sheets."""
    found: list[LineContent] = []
    for at, sheet in enumerate(sheets):
        if at:
            found.append(LineContent(at, part="blank"))
        found.append(LineContent(at, part="title"))
        if sheet.columns:
            found += [LineContent(at, part="heading"), LineContent(at, part="unit")]
        found += [LineContent(at, row, "row") for row in range(len(sheet.rows))]
    return found


@dataclass(frozen=True, slots=True)
class ShownColumns:
    """Which columns of a sheet stand where.

    Attributes:
        first, last: indices of the first column and of the one after the last.
        starts: where each of them begins.
    """

    label: int
    first: int
    last: int
    starts: tuple[int, ...]


def arrange(sheet: Sheet, width: int, first: int) -> ShownColumns:
    """Lay out as many columns as there is room for, from `first` on."""
    label = max([_LABEL, *(len(row.label) + 2 for row in sheet.rows)])
    at = label + len(RULE)
    starts: list[int] = []
    last = first
    for column in sheet.columns[first:]:
        if starts and at + column.width + 2 > width:
            break
        starts.append(at)
        at += column.width + 1
        last += 1
    return ShownColumns(label, first, last, tuple(starts))


def keep_in_sight(sheet: Sheet, width: int, first: int, column: int) -> int:
    """The first column to show so that one of them is seen, moving as little as possible."""
    first = max(0, min(first, column))
    while column >= arrange(sheet, width, first).last and first < column:
        first += 1
    return first


def title_line(sheet: Sheet, width: int) -> list[TextSegment]:
    """Fold mark, title, what it is about."""
    mark = " " if sheet.folded is None else _FOLDED if sheet.folded else _OPEN
    segments: list[TextSegment] = [(f"{mark} ", StyleRole.DIM), (sheet.title, StyleRole.SUMMARY)]
    room = width - len(sheet.title) - 4
    return [*segments, (f"  {sheet.about}"[: max(0, room)], StyleRole.DIM)]


def heading_line(sheet: Sheet, shown: ShownColumns, width: int, line: int) -> list[TextSegment]:
    """One of the two lines above the columns; the first has the marks of what is beside."""
    segments: list[TextSegment] = [(" " * shown.label, StyleRole.TITLE), (RULE, StyleRole.RULE)]
    if shown.first and line == 0:
        segments = [(" " * shown.label, StyleRole.TITLE), (f" {MORE_LEFT} "[: len(RULE)], StyleRole.SORTED)]
    used = shown.label + len(RULE)
    for index in range(shown.first, shown.last):
        column = sheet.columns[index]
        role = StyleRole.SORTED if index == sheet.sort else StyleRole.TITLE if line == 0 else StyleRole.DIM
        segments.append((column.heading[line].rjust(column.width) + " ", role))
        used += column.width + 1
    if shown.last < len(sheet.columns) and line == 0:
        segments += [(" " * max(0, width - used - 1), StyleRole.TITLE), (MORE_RIGHT, StyleRole.SORTED)]
    return segments


def row_line(sheet: Sheet, shown: ShownColumns, row: SheetRow, width: int, chosen: int | None) -> list[TextSegment]:
    """A row; `chosen` is the column under the cursor if the cursor is on this row."""
    label_role = StyleRole.SUMMARY if row.is_sum else StyleRole.PLAIN
    segments: list[TextSegment] = [(f" {row.label}".ljust(shown.label), label_role), (RULE, StyleRole.RULE)]
    used = shown.label + len(RULE)
    for index in range(shown.first, shown.last):
        cell, size = row.cells[index], sheet.columns[index].width
        role = StyleRole.CELL if index == chosen else cell.role
        if role is StyleRole.PLAIN and row.is_sum:
            role = StyleRole.SUMMARY
        segments += [(cell.text.rjust(size)[:size], role), (" ", StyleRole.PLAIN)]
        used += size + 1
    note = row.note if sheet.columns else sheet.remark or row.note
    room = width - used - 1
    if note and room > 8:
        segments.append((f" {note}"[:room] if len(note) < room else f" {note[: room - 2]}…", StyleRole.DIM))
    return segments
