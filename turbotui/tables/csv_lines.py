"""Comma-separated values (RFC 4180): one header, one line for each row and interval, every cell present.

The columns before the measured ones never change: time in UTC, seconds of the interval, machine, kind (REAL, SIMULATED,
    RECORDED), kind of the row, and the identity words of the table. An empty cell is unknown. With marks, a last column
    for each of `quantities.marks` names the columns whose values have it, separated by semicolons; without, a value
    that must not be read without its mark is unknown.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from turbotui.quantities.columns import Column, Value
from turbotui.quantities.marks import MARKS
from turbotui.quantities.tables import AnyTable, measures
from turbotui.tables.envelope import Envelope
from turbotui.tables.text import number_text

HEADER = ("time", "seconds", "machine", "kind", "row")
"""The columns before the identity words."""


class CsvLines:
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
            yield _line(header)
        seconds = "" if envelope.seconds is None else f"{envelope.seconds:.6f}"
        before = (envelope.time, seconds, envelope.machine, envelope.kind.value)
        for row in table.rows:
            identity = table.identify(row)
            yield _line((*before, identity.kind, *(identity.names.get(name, "") for name in table.identity),
                         *_cells(table, columns, row, marks=self._marks)))

    def end(self) -> Iterator[str]:
        """No lines at the end: every line was complete when written."""
        return iter(())


def csv_text(envelope: Envelope, table: AnyTable) -> str:
    """A table as a CSV file with columns of marks; lines end as in RFC 4180."""
    return "".join(f"{line}\r\n" for line in CsvLines(marks=True).lines(envelope, table))


def _cells(table: AnyTable, columns: Iterable[Column[Any]], row: Any, *, marks: bool) -> Iterator[str]:
    cells = [(column, table.cell(column, row)) for column in columns]
    if not marks:
        yield from (_number(column, cell.bare) for column, cell in cells)
        return
    yield from (_number(column, cell.value) for column, cell in cells)
    titles: dict[str, list[str]] = {mark.name: [] for mark in MARKS}
    for column, cell in cells:
        for mark in cell.marks:
            titles[mark.name].append(column.title)
    yield from map(";".join, titles.values())  # event names contain no semicolon


def _number(column: Column[Any], value: Value) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else number_text(column, value)


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
