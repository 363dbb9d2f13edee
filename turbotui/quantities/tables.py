"""Tables: rows of one kind, columns that describe them, and cells that hold a value, an estimate or a reason.

Everything that the program reports is a table. Code that shows, writes or explains a `Table` knows nothing of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from operator import attrgetter
from typing import Any, Final, Generic, Protocol, Self, TypeAlias, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, R, Value
from turbotui.quantities.formula_text import unrounded
from turbotui.quantities.marks import MARKS, CellMark, above_peak
from turbotui.quantities.traced import (
    ReadingKind,
    Traced,
    TracedOperation,
    TracedReading,
    number_text,
    term_of,
    written,
)
from turbotui.quantities.unavailable import Reason, Unavailable

_FLAGS: Final = attrgetter(*(mark.name for mark in MARKS))  # of a cell


def arithmetic_lines(column: Column[R], row: R) -> tuple[str, ...]:
    """The formula of a column with the names of fields and counts, and the same with the numbers of a row.

    Args:
        column: whose `compute` is run.
        row: a dataclass; its numbers, and those of dataclasses and mappings in its fields, are named.

    Returns:
        The words of `Column.formula` if nothing is computed; an empty result if there are no words.
    """
    if column.decimals >= 0 and not column.identity:
        numbers: dict[TracedReading, float] = {}
        value = column.compute(_traced_fields(row, numbers, inner=True))
        term = unrounded(term_of(value)) if isinstance(value, Traced) else None
        if isinstance(term, TracedOperation):
            return (f"= {written(term, lambda reading: reading.label)}",
                    f"= {written(term, lambda reading: number_text(numbers[reading]))}")
    return (f"= {column.formula}",) if column.formula else ()


def _traced_fields(row: Any, numbers: dict[TracedReading, float], *, inner: bool) -> Any:
    if not is_dataclass(row) or isinstance(row, type):
        return row
    traced: dict[str, object] = {}
    for column in fields(row):
        value = getattr(row, column.name)
        if not column.init:
            continue
        if inner and is_dataclass(value):
            traced[column.name] = _traced_fields(value, numbers, inner=False)
        elif isinstance(value, Mapping):
            traced[column.name] = {key: _traced(number, str(key), numbers) for key, number in value.items()}
        else:
            traced[column.name] = _traced(value, column.name.replace("_", " "), numbers)
    return replace(row, **traced)


def _traced(value: object, label: str, numbers: dict[TracedReading, float]) -> object:
    if type(value) not in {int, float}:  # booleans and texts stay as they are
        return value
    reading = TracedReading(label, ReadingKind.VALUE, label)
    numbers[reading] = value  # type: ignore[assignment]  # a number, as above
    return Traced(value, reading)  # type: ignore[arg-type]  # as above


C = TypeVar("C", bound=Column[Any])
"""The type of a table's columns."""
K = TypeVar("K")
"""Names a row; only the table knows what it means."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a row: its keys by name."""

    kind: str  # "cpu", "package", "thread", "machine"
    # values of the table's `identity` words, as far as they are known: {"cpu": 3}
    names: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with everything that is known about it."""

    value: Value  # in the column's display unit; None is unknown
    why: Unavailable | None = None  # the reason where the value, or a part of it, is unknown
    estimated: bool = False  # measured in a part of the interval only: scaled up, or a sample
    partial: bool = False  # a sum, mean or maximum some of whose parts are missing
    disputed: tuple[str, ...] = ()  # what contradicts the value, one sentence each
    old: bool = False  # a CPU behind the value did not answer in time; the value is from its previous answer
    outstanding: bool = False  # the value is past the threshold set by its metric's vendor

    def held_against(self, column: Column[Any]) -> Cell:
        """The cell with what its column alone says against its value."""
        if not column.of_peak or not isinstance(self.value, (int, float)):
            return self
        return replace(self, disputed=(*self.disputed, *above_peak(self.value / 100)))

    @property
    def marks(self) -> Sequence[CellMark]:
        """The marks of the value, in the order of `MARKS`; what is unknown has none."""
        if self.value is None or not any(flags := _FLAGS(self)):  # nearly every cell
            return []
        return [mark for mark, flag in zip(MARKS, flags, strict=True) if flag]

    @property
    def signs(self) -> str:
        """The signs of these marks."""
        return "".join(mark.sign for mark in self.marks)

    @property
    def bare(self) -> Value:
        """The value for formats without a place for marks; unknown if it must not be read without its mark."""
        return self.value if not (marks := self.marks) or all(mark.bare for mark in marks) else None


@dataclass(frozen=True, slots=True)
class CellColumn:
    """The cells of a column in many rows: nearly all are a value of which nothing else is known."""

    values: Sequence[Value]  # `Cell.value` of each row
    noted: Mapping[int, Cell]  # the cells that have a mark or a reason, by their place among the values

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Self:
        """Make a column of cells that were computed one by one."""
        return cls([cell.value for cell in cells],
                   {at: cell for at, cell in enumerate(cells) if cell.why is not None or cell.marks})

    @property
    def bare(self) -> Sequence[Value]:
        """`Cell.bare` of each row."""
        bare = list(self.values)
        for at, cell in self.noted.items():
            bare[at] = cell.bare
        return bare


@dataclass(frozen=True, slots=True)
class CellEvidence:
    """What a cell rests on, as lines of any length that the caller wraps."""

    # the formula, "= Δinstructions / Δcycles", and the same with the numbers of the interval in it
    arithmetic: tuple[str, ...] = ()
    # what was read or counted: one line each, followed by the lines that belong to it
    readings: tuple[tuple[str, ...], ...] = ()
    remarks: tuple[str, ...] = ()  # how the value was measured, and what it covers


class Table(Protocol[C, K]):
    """Rows and columns of one kind."""

    @property
    def name(self) -> str:
        """One word, as machine formats have it: "cpus", "tasks"."""

    @property
    def identity(self) -> Sequence[str]:
        """The words that identify a row, coarse to fine; machine formats have them before the measured columns."""

    @property
    def columns(self) -> Sequence[C]:
        """The columns in print order."""

    @property
    def rows(self) -> Sequence[K]:
        """The rows in print order."""

    def identify(self, row: K) -> Identity:
        """The identity of a row: its keys by name."""

    def values(self, column: C, rows: Sequence[K]) -> Sequence[Value]:
        """The values of a column in many rows."""

    def cell(self, column: C, row: K) -> Cell:
        """One value with its marks and its reason."""

    def cells(self, column: C, rows: Sequence[K]) -> CellColumn:
        """The cells of a column in many rows, as writers need them."""

    def bare(self, column: C, rows: Sequence[K]) -> Sequence[Value]:
        """`CellColumn.bare`, without looking for reasons."""

    def evidence(self, column: C, row: K) -> CellEvidence:
        """The evidence of a cell."""

    def own_rows(self, column: C) -> Sequence[K]:
        """Rows that hold each value of a column once: for a package's column, the packages."""

    def formula(self, column: C) -> str:
        """The formula of a column, in words or arithmetic."""


AnyTable: TypeAlias = Table[Any, Any]
"""A table as seen by code that shows or writes it, whatever its rows are and its columns compute from."""


def measures(table: AnyTable) -> tuple[Column[Any], ...]:
    """The columns that measure, without those that identify a row."""
    return tuple(column for column in table.columns if not column.identity)


_NOTHING = Unavailable(Reason.NOT_READ, "this row has no such value")


def _as_computed(_column: Column[Any], _row: Any, value: Value) -> Cell:
    return Cell(value, _NOTHING if value is None else None)


def _nothing_beside(_column: Column[Any], _row: Any) -> CellEvidence:
    return CellEvidence()


@dataclass(frozen=True)  # no slots: CPython issue 90562
class RowTable(Generic[R]):
    """A table whose columns compute directly from its rows."""

    name: str
    kind: str  # of every row
    columns: tuple[Column[R], ...]  # identity columns name the row in machine formats by their id in lower case
    rows: Sequence[R]  # in print order
    # adds marks and the reason to a value; takes the column, the row and the result of `compute`
    judge: Callable[[Column[R], R, Value], Cell] = _as_computed
    # the readings and remarks behind a cell; without arithmetic of its own, `compute` gives the arithmetic
    basis: Callable[[Column[R], R], CellEvidence] = _nothing_beside

    @property
    def identity(self) -> Sequence[str]:
        return tuple(column.id.lower() for column in self.columns if column.identity)

    def identify(self, row: R) -> Identity:
        identity = ((column.id.lower(), column.compute(row)) for column in self.columns if column.identity)
        return Identity(self.kind, {name: value for name, value in identity if value is not None})

    def values(self, column: Column[R], rows: Sequence[R]) -> Sequence[Value]:
        return [column.compute(row) for row in rows]

    @property
    def known_columns(self) -> tuple[Column[R], ...]:
        """The columns of which some row has a value."""
        return tuple(column for column in self.columns
                     if any(value is not None for value in self.values(column, self.rows)))

    def cell(self, column: Column[R], row: R) -> Cell:
        cell = self.judge(column, row, column.compute(row))
        return cell.held_against(column) if column.of_peak else cell

    def cells(self, column: Column[R], rows: Sequence[R]) -> CellColumn:
        return CellColumn.of([self.cell(column, row) for row in rows])

    def bare(self, column: Column[R], rows: Sequence[R]) -> Sequence[Value]:
        return self.cells(column, rows).bare

    def evidence(self, column: Column[R], row: R) -> CellEvidence:
        evidence = self.basis(column, row)
        return evidence if evidence.arithmetic else replace(evidence, arithmetic=arithmetic_lines(column, row))

    def own_rows(self, _column: Column[R]) -> Sequence[R]:
        """All rows, because each has values of its own."""
        return self.rows

    def formula(self, column: Column[R]) -> str:
        return column.formula
