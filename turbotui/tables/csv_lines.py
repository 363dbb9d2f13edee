"""Comma-separated values (RFC 4180): one header, one line for each row and interval, every cell present.

The columns before the measured ones never change: time in UTC, seconds of the interval, machine, kind (REAL, SIMULATED,
    RECORDED), kind of the row, and the identity words of the table. An empty cell is unknown. With marks, a last column
    for each of `quantities.marks` names the columns whose values have it, separated by semicolons; without, a value
    that must not be read without its mark is unknown.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from turbotui.quantities.columns import Column, Value
from turbotui.quantities.marks import MARKS
from turbotui.quantities.tables import AnyTable, Cell, measures
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import Format
from turbotui.tables.text import bulk_text, number_text

HEADER = ("time", "seconds", "machine", "kind", "row")
"""The columns before the identity words."""


class CsvLines(Format):
    """CSV lines; the header is repeated only when the columns change."""

    def __init__(self, *, marks: bool = False) -> None:
        self._marks = marks
        self._header: tuple[str, ...] = ()

    def lines(self, envelope: Envelope, table: AnyTable) -> Iterator[str]:
        """The rows of one interval, after the header if it is due."""
        columns = measures(table)
        header = (*HEADER, *table.identity, *(column.title for column in columns),
                  *((mark.name for mark in MARKS) if self._marks else ()))
        if header != self._header:
            self._header = header
            yield csv_line(header)
        seconds = "" if envelope.seconds is None else f"{envelope.seconds:.6f}"
        before = (envelope.time, seconds, envelope.machine, envelope.kind.value)
        rows, names = table.rows, table.identity
        texts: list[Sequence[str]] = []
        marked: list[tuple[str, Mapping[int, Cell]]] = []
        for column in columns:
            if self._marks:
                cells = table.cells(column, rows)
                marked.append((column.title, cells.noted))
                values = cells.values
            else:
                values = table.bare(column, rows)
            texts.append(bulk_text(column, values, _text))
        for at, row in enumerate(rows):
            identity = table.identify(row)
            yield csv_line((*before, identity.kind, *(identity.names.get(name, "") for name in names),
                            *(text[at] for text in texts), *(_marked(marked, at) if self._marks else ())))


def csv_text(envelope: Envelope, table: AnyTable) -> str:
    """A table as a CSV file with columns of marks; lines end as in RFC 4180."""
    return "".join(f"{line}\r\n" for line in CsvLines(marks=True).lines(envelope, table))


def _marked(columns: Iterable[tuple[str, Mapping[int, Cell]]], at: int) -> Iterable[str]:
    """For each mark the titles of the columns whose value in a row has it."""
    titles: dict[str, list[str]] = {mark.name: [] for mark in MARKS}
    for title, noted in columns:
        for mark in noted[at].marks if at in noted else ():
            titles[mark.name].append(title)
    return map(";".join, titles.values())  # event names contain no semicolon


def _text(column: Column[Any], value: Value) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else number_text(column, value)


class _Lines(list[str]):
    """The file of a csv.writer, each of whose writes is a line."""

    write = list.append


def csv_lines(rows: Iterable[Iterable[object]]) -> list[str]:
    """Return a line for each row of cells, of which None is an empty one, without the line's end."""
    lines = _Lines()
    csv.writer(lines, lineterminator="").writerows(rows)
    return lines


def csv_line(cells: Iterable[object]) -> str:
    """`csv_lines` of one row."""
    return csv_lines((cells,))[0]
