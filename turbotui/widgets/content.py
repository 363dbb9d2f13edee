"""A table at one moment, in the form that a table widget draws. Nothing here knows Textual."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Value
from turbotui.quantities.tables import AnyTable, C, Cell, CellEvidence, K
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.comparison import difference


@dataclass(frozen=True, slots=True)
class Line(Generic[K]):
    """One line of a table."""

    row: K  # whose values it shows
    depth: int = 0  # indentation in a tree
    open: bool | None = None  # whether a group is unfolded; None for a row without children
    parent: K | None = None  # the group that contains the row


class Content(ABC, Generic[C, K]):
    """A table at one moment; a row has a key that stays the same from one moment to the next."""

    @property
    @abstractmethod
    def seq(self) -> int:
        """Number of the moment."""

    @property
    @abstractmethod
    def rows(self) -> Sequence[K]:
        """Every row, in the table's own order."""

    @abstractmethod
    def values(self, column: C, rows: Sequence[K]) -> Sequence[Value]:
        """The values of a column in many rows; None if unknown."""

    @abstractmethod
    def value(self, column: C, row: K) -> Value:
        """One value; None if unknown or if the row does not exist."""

    @abstractmethod
    def why(self, column: C, row: K) -> Unavailable | None:
        """Why a value is unknown."""

    @abstractmethod
    def cell(self, column: C, row: K) -> Cell:
        """One value with its marks and its reason."""

    @abstractmethod
    def evidence(self, column: C, row: K) -> CellEvidence:
        """The evidence of a cell; empty if the row does not exist."""

    @abstractmethod
    def words(self, row: K) -> str:
        """Lower-case text in which search and filter look."""

    @abstractmethod
    def name(self, column: C, row: K) -> str:
        """The name of a cell's row, for people."""

    @abstractmethod
    def table(self, columns: Sequence[C], rows: Sequence[K]) -> AnyTable:
        """These columns and rows in the form that formats take."""


F = TypeVar("F", bound=Content[Any, Any])
"""The kind of content of a widget."""


def ordered(content: Content[C, K], rows: Sequence[K], column: C | None, *, reverse: bool,
            mark: Content[C, K] | None = None) -> Sequence[K]:
    """Sort rows by a column in either direction: unknown values come last, equal ones in the table's order.

    Args:
        rows: in the table's order.
        column: to sort by; None for the table's order.
        reverse: whether the greatest comes first.
        mark: sort by the differences from this moment, which are what is shown then.
    """
    if column is None:
        return tuple(reversed(rows)) if reverse else rows
    values = content.values(column, rows)
    if mark is not None and not column.identity:
        values = [difference(column, value, mark.value(column, row)) for row, value in zip(rows, values, strict=True)]
    return ordered_by(rows, values, reverse=reverse)


def ordered_by(rows: Sequence[K], values: Sequence[Value], *, reverse: bool) -> Sequence[K]:
    """Sort rows by a value of each, as `ordered` does."""
    if set(map(type, values)) <= {int, float}:
        numbers = cast("Sequence[float]", values)
        # a sort keeps the order of equal values in both directions
        return [rows[at] for at in sorted(range(len(rows)), key=numbers.__getitem__, reverse=reverse)]
    known: list[tuple[float, K]] = []
    texts: list[tuple[str, K]] = []
    unknown: list[K] = []
    for row, value in zip(rows, values, strict=True):
        if value is None:
            unknown.append(row)
        elif isinstance(value, str):
            texts.append((value.lower(), row))
        else:
            known.append((value, row))
    known.sort(key=itemgetter(0), reverse=reverse)
    texts.sort(key=itemgetter(0), reverse=reverse)
    return [row for _, row in known] + [row for _, row in texts] + unknown
