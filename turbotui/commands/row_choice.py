"""--show, --filter, --sort and --top of verbs: the columns and rows of a table, and their order."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError, nearest_or_all
from turbotui.quantities.columns import Column, ColumnId, R, Value
from turbotui.quantities.filters import Filter, FilterError, parse_filter
from turbotui.quantities.tables import RowTable
from turbotui.tables.formats import TEXT

_STEP, _DEEPEST = "· ", 12
"""Characters of indentation for each level of a tree in text, and the most levels."""


@dataclass(frozen=True)  # no slots: CPython issue 90562
class RowChoice(Generic[R]):
    """Chosen columns and rows of a table."""

    columns: tuple[Column[R], ...]  # of the table
    passing: Filter[Column[R]]
    by: Column[R] | None  # the sort column, greatest first; None for the table's own order
    top: int | None  # maximum number of rows; None for all
    words: Callable[[R], str]  # the lower-case text in which the filter looks

    @property
    def used(self) -> tuple[Column[R], ...]:
        """Every column that is shown, filtered or sorted by."""
        return (*self.columns, *self.passing.columns, *(() if self.by is None else (self.by,)))

    @property
    def keeps_order(self) -> bool:
        """Whether chosen rows of a tree stand in it, each with those above it."""
        return self.by is None and not self.passing.text

    def of(self, table: RowTable[R]) -> RowTable[R]:
        """The table with these rows, in this order."""
        rows = list(table.rows)
        if self.passing.text:
            rows = [row for row in rows if self.passing.passes(self.words(row), partial(_value, row))]
        if (by := self.by) is not None:
            rows.sort(key=lambda row: _falling(by.compute(row)))
        return replace(table, rows=tuple(rows[: self.top]))


def row_choice(arguments: argparse.Namespace, known: Sequence[Column[R]], rows: str, words: Callable[[R], str], *,
               always: Sequence[Column[R]], busiest: str = "") -> RowChoice[R]:
    """Parse the choice of a command line.

    Args:
        always: columns that precede those chosen by name.
        busiest: the column by which --top selects without --sort.

    Raises:
        UsageError: there is no such column, or the filter is malformed.
    """
    by_name = {column.id.lower(): column for column in reversed(known)}

    def column_of(name: str) -> Column[R]:
        if (known_column := by_name.get(name.strip().lower())) is None:
            names = [column.id for column in known]
            raise UsageError(f"there is no column {name.strip()!r} of {rows}{nearest_or_all(name.strip(), names)}")
        return known_column

    if arguments.show == "all" or (not arguments.show and arguments.format != TEXT):
        columns = tuple(known)
    elif not arguments.show:
        columns = tuple(column for column in known if column.default)
    else:
        chosen = [column_of(name) for name in arguments.show.split(",") if name.strip()]
        columns = tuple(dict.fromkeys((*always, *chosen)))
    sort = arguments.sort or (busiest if arguments.top else "")
    try:
        passing = parse_filter(arguments.filter, lambda name: by_name.get(name.lower()))
    except FilterError as error:
        raise UsageError(f"--filter: {error}") from error
    return RowChoice(columns, passing, column_of(sort) if sort else None, arguments.top, words)


def indented(columns: Sequence[Column[R]], name: ColumnId, depth: Callable[[R], int]) -> tuple[Column[R], ...]:
    """Columns of which one, that of the names, is indented by the depth in the tree."""
    def compute(column: Column[R], row: R) -> Value:
        return f"{_STEP * min(depth(row), _DEEPEST)}{column.compute(row)}"

    return tuple(replace(column, compute=partial(compute, column)) if column.id == name else column
                 for column in columns)


def _value(row: R, column: Column[R]) -> Value:
    return column.compute(row)


def _falling(value: Value) -> tuple[bool, float, str]:
    """Sort values in descending order, unknown ones last."""
    return (False, -value, "") if isinstance(value, int | float) else (value is None, 0.0, str(value))
