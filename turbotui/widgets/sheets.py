"""Sheets: several small tables below each other, each with columns of its own. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turbotui.widgets.cells import Tone
from turbotui.widgets.geometry import MORE_LEFT, MORE_RIGHT, RULE
from turbotui.widgets.painter import Piece

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
    tone: Tone = Tone.PLAIN


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
class Spot:
    """What is on one line of the whole: a title, a heading, a row (by index) or nothing."""

    sheet: int
    row: int | None = None
    part: str = ""


def spots_of(sheets: Sequence[Sheet]) -> list[Spot]:
    """The lines of all sheets."""
    found: list[Spot] = []
    for at, sheet in enumerate(sheets):
        if at:
            found.append(Spot(at, part="blank"))
        found.append(Spot(at, part="title"))
        if sheet.columns:
            found += [Spot(at, part="heading"), Spot(at, part="unit")]
        found += [Spot(at, row, "row") for row in range(len(sheet.rows))]
    return found


@dataclass(frozen=True, slots=True)
class Shown:
    """Which columns of a sheet stand where.

    Attributes:
        first, last: indices of the first column and of the one after the last.
        starts: where each of them begins.
    """

    label: int
    first: int
    last: int
    starts: tuple[int, ...]


def arrange(sheet: Sheet, width: int, first: int) -> Shown:
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
    return Shown(label, first, last, tuple(starts))


def keep_in_sight(sheet: Sheet, width: int, first: int, column: int) -> int:
    """The first column to show so that one of them is seen, moving as little as possible."""
    first = max(0, min(first, column))
    while column >= arrange(sheet, width, first).last and first < column:
        first += 1
    return first


def title_line(sheet: Sheet, width: int) -> list[Piece]:
    """Fold mark, title, what it is about."""
    mark = " " if sheet.folded is None else _FOLDED if sheet.folded else _OPEN
    pieces: list[Piece] = [(f"{mark} ", Tone.DIM), (sheet.title, Tone.SUMMARY)]
    room = width - len(sheet.title) - 4
    return [*pieces, (f"  {sheet.about}"[: max(0, room)], Tone.DIM)]


def heading_line(sheet: Sheet, shown: Shown, width: int, line: int) -> list[Piece]:
    """One of the two lines above the columns; the first has the marks of what is beside."""
    pieces: list[Piece] = [(" " * shown.label, Tone.TITLE), (RULE, Tone.RULE)]
    if shown.first and line == 0:
        pieces = [(" " * shown.label, Tone.TITLE), (f" {MORE_LEFT} "[: len(RULE)], Tone.SORTED)]
    used = shown.label + len(RULE)
    for index in range(shown.first, shown.last):
        column = sheet.columns[index]
        tone = Tone.SORTED if index == sheet.sort else Tone.TITLE if line == 0 else Tone.DIM
        pieces.append((column.heading[line].rjust(column.width) + " ", tone))
        used += column.width + 1
    if shown.last < len(sheet.columns) and line == 0:
        pieces += [(" " * max(0, width - used - 1), Tone.TITLE), (MORE_RIGHT, Tone.SORTED)]
    return pieces


def row_line(sheet: Sheet, shown: Shown, row: SheetRow, width: int, chosen: int | None) -> list[Piece]:
    """A row; `chosen` is the column under the cursor if the cursor is on this row."""
    label_tone = Tone.SUMMARY if row.is_sum else Tone.PLAIN
    pieces: list[Piece] = [(f" {row.label}".ljust(shown.label), label_tone), (RULE, Tone.RULE)]
    used = shown.label + len(RULE)
    for index in range(shown.first, shown.last):
        cell, size = row.cells[index], sheet.columns[index].width
        tone = Tone.CELL if index == chosen else cell.tone
        if tone is Tone.PLAIN and row.is_sum:
            tone = Tone.SUMMARY
        pieces += [(cell.text.rjust(size)[:size], tone), (" ", Tone.PLAIN)]
        used += size + 1
    note = row.note if sheet.columns else sheet.remark or row.note
    room = width - used - 1
    if note and room > 8:
        pieces.append((f" {note}"[:room] if len(note) < room else f" {note[: room - 2]}…", Tone.DIM))
    return pieces
