"""A `RowTable` as the content of a table widget, and the painter of its lines. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Generic, TypeAlias

from turbotui.cell_widths import cut, flush_left
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, ColumnId, R, Value
from turbotui.quantities.marks import OUTSTANDING
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.widgets.cells import (
    Slot,
    StyleRole,
    alarm,
    cell_text,
)
from turbotui.widgets.comparison import difference, difference_text
from turbotui.widgets.content import Content, Line
from turbotui.widgets.levels import cell_role_of
from turbotui.widgets.painter import FOLDED, OPEN, Painter, TextSegment, alarmed, alerted, marked, merged
from turbotui.widgets.table_view import TableView

if TYPE_CHECKING:
    from turbotui.quantities.presentation import Limits

_DEEPEST: Final = 9  # steps of indentation
_GONE = Unavailable(Reason.NOT_READ, "the row is not there in this interval")


@dataclass(frozen=True)  # no slots: CPython issue 90562
class Naming(Generic[R]):
    """Functions that return a row's key, its search words and its name."""

    key: Callable[[R], Hashable]  # identifies a row in every interval
    words: Callable[[R], str]  # the text in which search and filter look; any case
    title: Callable[[R], str]  # the name for people


class RowContent(Content[Column[R], Hashable], Generic[R]):
    """A table at one moment.

    Args:
        parents: the row above each row of a tree; None if rows stand in no tree.
        heads: rows of it that only gather others: they are shown with one that passes the filter.

    Attributes:
        part: share of the rows' time that an interval is: amounts are those of a mean interval.
        limits: the user's thresholds of columns.
        alerted: roles of cells that belong to alerts, by column and row.
    """

    def __init__(self, whole: RowTable[R], naming: Naming[R], seq: int = 0,
                 parents: Mapping[Hashable, Hashable] | None = None, heads: Collection[Hashable] = ()) -> None:
        self.whole = whole
        self.parents = parents
        self.heads = heads
        self.part = 1.0
        self.limits: Mapping[str, Limits] | None = None
        self.alerted: Mapping[ColumnId, Mapping[Hashable, StyleRole]] = {}
        self._naming = naming
        self._seq = seq
        self._by_key = {naming.key(row): row for row in whole.rows}
        self._keys = tuple(self._by_key)
        self._values: dict[ColumnId, dict[Hashable, Value]] = {}  # kept for sparklines and sorting: computed once
        self._cells: dict[tuple[ColumnId, Hashable], Cell] = {}  # likewise, of what is drawn

    def limit(self, limits: Mapping[str, Limits]) -> None:
        """Set the user's thresholds, by column names in lower case; the computation does not change."""
        from turbotui.quantities.presentation import limited  # noqa: PLC0415 - most people have no values of their own

        columns = tuple(limited(column, limits[column.id.lower()]) if column.id.lower() in limits else column
                        for column in self.whole.columns)
        self.whole, self.limits = replace(self.whole, columns=columns), limits

    @property
    def seq(self) -> int:
        return self._seq

    @property
    def rows(self) -> Sequence[Hashable]:
        return self._keys

    def get(self, key: Hashable) -> R | None:
        """The row of a key; None if it does not exist."""
        return self._by_key.get(key)

    def values(self, column: Column[R], rows: Sequence[Hashable]) -> Sequence[Value]:
        return [self.value(column, row) for row in rows]

    def value(self, column: Column[R], row: Hashable) -> Value:
        known = self._values.setdefault(column.id, {})
        if row not in known:
            if (held := self._by_key.get(row)) is None:
                return None
            value = self.whole.values(column, (held,))[0]
            known[row] = value * self.part if column.accumulates and isinstance(value, (int, float)) else value
        return known[row]

    def value_of(self, name: ColumnId, row: Hashable) -> Value:
        """The value of a column by its name; None if the table has no such column."""
        column = next((column for column in self.whole.columns if column.id == name), None)
        return None if column is None else self.value(column, row)

    def cell(self, column: Column[R], row: Hashable) -> Cell:
        known = self._cells.get((column.id, row))
        if known is None:
            if (held := self._by_key.get(row)) is None:
                return Cell(None, _GONE)
            known = self._cells[column.id, row] = self.whole.cell(column, held)
        return known

    def bare(self, column: Column[R], row: Hashable) -> Value:
        """`Cell.bare`; None if the row does not exist."""
        return self.cell(column, row).bare

    def evidence(self, column: Column[R], row: Hashable) -> CellEvidence:
        held = self._by_key.get(row)
        return CellEvidence() if held is None else self.whole.evidence(column, held)

    def why(self, column: Column[R], row: Hashable) -> Unavailable | None:
        return self.cell(column, row).why

    def words(self, row: Hashable) -> str:
        held = self._by_key.get(row)
        return "" if held is None else self._naming.words(held).lower()

    def title(self, row: Hashable) -> str:
        held = self._by_key.get(row)
        return "gone" if held is None else self._naming.title(held)

    def name(self, _column: Column[R], row: Hashable) -> str:
        return self.title(row)

    def table(self, columns: Sequence[Column[R]], rows: Sequence[Hashable]) -> RowTable[R]:
        rows_here = tuple(self._by_key[row] for row in rows if row in self._by_key)
        return replace(self.whole, columns=tuple(columns), rows=rows_here)


RowView: TypeAlias = TableView[Column[R], Hashable]
"""The `TableView` of such a table."""


class RowPainter(Painter[RowContent[R], Column[R], Hashable], Generic[R]):
    """Paints rows of any kind; zeros are dim, and in a tree the first column is indented, with marks that fold."""

    def begin(self, content: RowContent[R]) -> None:
        """Nothing is computed ahead: a cell is painted from its row alone."""

    def ids(self, content: RowContent[R], line: Line[Hashable]) -> list[TextSegment]:
        tagged, row, is_tree = line.row in self.view.tags, content.get(line.row), content.parents is not None
        if tagged and row is None:
            room = self.label_width - 1
            return [("•", StyleRole.TAGGED), (flush_left("not among these rows"[:room], room), StyleRole.DIM)]
        segments: list[TextSegment] = []
        for at, slot in enumerate(self.fixed):
            value = content.value(slot.column, line.row)
            text, role = cell_text(slot.column, value, slot.width), StyleRole.DIM if value is None else StyleRole.PLAIN
            if is_tree and value is None:
                text = " " * slot.width
            elif row is not None and not at:
                mark = "  " if line.open is None else f"{OPEN if line.open else FOLDED} "
                name = f"{'  ' * min(line.depth, _DEEPEST)}{mark}{value}"
                text = flush_left(cut(name, slot.width), slot.width) if is_tree else text
                role = self.name_role(row, line)
            segments += [("•" if tagged and not at else " ", StyleRole.TAGGED), (text, role)]
        return merged(segments)

    def name_role(self, _row: R, line: Line[Hashable]) -> StyleRole:
        """The role of a row's name: that of a sum where others are inside it."""
        return StyleRole.PLAIN if line.open is None else StyleRole.SUMMARY

    def column(self, content: RowContent[R], rows: Sequence[Hashable], slot: Slot) -> list[TextSegment]:
        return [self.segment(content, row, slot) for row in rows]

    def segment(self, content: RowContent[R], row: Hashable, slot: Slot) -> TextSegment:
        """One cell with its mark; a cut text ends in an ellipsis."""
        segment = self._segment(content, row, slot)
        role = content.alerted.get(slot.column.id, {}).get(row) if content.alerted else None
        return segment if role is None else alerted(segment, role)

    def _segment(self, content: RowContent[R], row: Hashable, slot: Slot) -> TextSegment:
        column: Column[R] = slot.column
        cell = content.cell(column, row)
        if cell.value is None:
            return " " + cell_text(column, None, slot.width), StyleRole.DIM
        if self.view.mark is None:
            text = cell_text(column, cell.value, slot.width)
        else:
            then = self.view.mark.value(column, row)
            text = difference_text(column, difference(column, cell.value, then), slot.width)
        signs = "".join([mark.sign for mark in marks if mark is not OUTSTANDING]) if (marks := cell.marks) else ""
        role = alarm(column, cell.value) or (StyleRole.AMBER if cell.outstanding else None)
        if role is not None:
            return alarmed(text, role, StyleRole.PLAIN, signs)
        if cell.old:
            return marked(signs, text), StyleRole.DIM
        return marked(signs, text), self._level(content, row, column, cell.value) if cell.value else StyleRole.DIM

    def _level(self, content: RowContent[R], row: Hashable, column: Column[R], value: Value) -> StyleRole:
        """The colour level of a value; plain if unknown, and for a difference."""
        if column.scale is None or self.view.mark is not None or not isinstance(value, (int, float)):
            return StyleRole.PLAIN
        ends = column.scale.ends(lambda name: content.value_of(name, row))
        return StyleRole.PLAIN if ends is None else cell_role_of((value - ends[0]) / (ends[1] - ends[0]))
