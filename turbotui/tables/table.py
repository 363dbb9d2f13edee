"""A table for people: aligned, with every cell present, and with marks.

`-` is an unknown value; the signs of a value's marks (`quantities.marks`) follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from turbotui.cell_widths import cell_count, flush_left, flush_right
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import AnyTable, CellColumn
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import Format
from turbotui.tables.text import format_cells

_GAP = "  "
PIPED: Final = "a pipe gets them all (| less -S)"
"""The way to columns for which a terminal has no room."""


class TableText(Format):
    """A line with the table's name, time and length of the interval, followed by the table; columns never get narrower.

    Args:
        room: characters of a line; columns of the least priority that do not fit are left out and named in a last line.
            None: lines are as long as the table is wide.
        way: how a user gets those, as that line tells.
    """

    def __init__(self, *, headed: bool = True, room: int | None = None, way: str = PIPED) -> None:
        self._headed = headed
        self._room = room
        self._way = way
        self._widths: dict[str, int] = {}

    def lines(self, envelope: Envelope, table: AnyTable) -> Iterator[str]:
        """The first line, the titles and the rows."""
        if self._headed:
            yield envelope.heading(
                table.name, "" if envelope.seconds is None else f"{envelope.seconds:.3f} s", envelope.meaning)
        columns: Sequence[Column[Any]] = table.columns
        rows = table.rows
        every = [_texts(column, table.cells(column, rows)) for column in columns]
        for column, texts in zip(columns, every, strict=True):
            widest = max([*map(cell_count, column.heading), column.width, *map(cell_count, texts)])
            self._widths[column.id] = max(widest, self._widths.get(column.id, 0))
        fitting = self._fitting(columns)
        left_out = [column.id for at, column in enumerate(columns) if at not in fitting]
        columns = [columns[at] for at in fitting]
        headings = [column.heading for column in columns]
        height = max(map(len, headings), default=0)
        for titles in zip(*(("",) * (height - len(lines)) + lines for lines in headings), strict=True):
            yield self._line(columns, titles)
        yield from (self._line(columns, [every[column][at] for column in fitting]) for at in range(len(rows)))
        if left_out:
            yield f"# too wide for {self._room} columns: {', '.join(left_out)}; {self._way}"

    def _fitting(self, columns: Sequence[Column[Any]]) -> list[int]:
        """The columns that fit, those of the lowest priority number first; at least one."""
        if self._room is None:
            return list(range(len(columns)))
        kept: list[int] = []
        room = self._room + len(_GAP)
        for at in sorted(range(len(columns)), key=lambda at: columns[at].priority):
            room -= self._widths[columns[at].id] + len(_GAP)
            if room < 0 and kept:
                break
            kept.append(at)
        return sorted(kept)

    def _line(self, columns: Sequence[Column[Any]], texts: Sequence[str]) -> str:
        placed = ((flush_left if column.decimals < 0 else flush_right)(text, self._widths[column.id])
                  for text, column in zip(texts, columns, strict=True))
        return _GAP.join(placed).rstrip()


def _texts(column: Column[Any], cells: CellColumn) -> list[str]:
    """The text of each cell, with the signs of its marks."""
    texts = format_cells(column, cells.values, hexadecimal=True)
    for at, cell in cells.noted.items():
        texts[at] += cell.signs
    return texts
