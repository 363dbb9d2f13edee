"""Tables of a kind's rows: what a feature declares of it, and the cells of its columns with reasons and evidence."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.feature_list import FEATURES, parts_of
from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Column, ColumnId, Value
from turbotui.quantities.row_kinds import Cost, KindId, Quantity, QuantityId
from turbotui.quantities.signals import Behavior
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.quantities.traced import ReadingKind, Traced, TracedOperation, TracedReading, number_text, written
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_workers import NarrowedSource, RowSource
from turbotui.sampling.rows import Row, RowIdentity, RowSlot

_NO_SUCH = Unavailable(Reason.NOT_READ, "this row has no such value")


class KindRow:
    """A row over one interval: what a column's formula takes, in SI units; None for what is unknown.

    Attributes:
        differences: of the kind.
        row: the row.
    """

    __slots__ = ("differences", "row", "slot")

    def __init__(self, differences: RowDifferences, slot: RowSlot, row: Row) -> None:
        self.differences = differences
        self.slot = slot
        self.row = row

    @property
    def identity(self) -> RowIdentity:
        """Key and serial of the row."""
        return self.row.identity

    def delta(self, name: QuantityId) -> float | None:
        """Increase of a counter over the interval."""
        return self.differences.deltas(name)[self.slot]

    def rate(self, name: QuantityId) -> float | None:
        """Increase per second."""
        increase, seconds = self.delta(name), self.elapsed(name)
        return None if increase is None or not seconds else increase / seconds

    def total(self, name: QuantityId) -> float | None:
        """A counter as it stands at the end of the interval."""
        return self.differences.level(name, self.slot)

    def value(self, name: QuantityId) -> float | None:
        """A gauge at the end of the interval."""
        return self.differences.level(name, self.slot)

    def text(self, name: QuantityId) -> str | None:
        """A text at the end of the interval."""
        return self.differences.text(name, self.slot)

    def elapsed(self, name: QuantityId) -> float | None:
        """Seconds between the two readings of a counter; None, too, where that is too uncertain for a rate."""
        quantity = self.differences.quantities.get(name)
        if quantity is None or self.differences.interrupted(name, self.slot) is not None:
            return None
        return self.differences.spans(quantity.clock)[self.slot]

    @property
    def parts(self) -> Sequence[KindRow]:
        """The rows of the same kind inside this one."""
        rows = self.differences.newer.roster.rows
        return [KindRow(self.differences, slot, rows[slot]) for slot in self.differences.parts.get(self.row.key, ())]

    def seconds_old(self, name: QuantityId) -> float:
        """Seconds from the reading of a quantity to the tick at the end of the interval."""
        newer = self.differences.newer
        stamp = newer.stamps[self.differences.quantities[name].clock][self.slot]
        return max(0.0, (newer.started_ns - stamp) * 1e-9) if stamp else 0.0


RowColumn: TypeAlias = Column[KindRow]
"""A column of a kind; `needs` names quantities."""


class _TracedRow(KindRow):
    """A row whose numbers remember that they were read."""

    __slots__ = ("numbers",)

    def __init__(self, row: KindRow) -> None:
        super().__init__(row.differences, row.slot, row.row)
        self.numbers: dict[TracedReading, float] = {}

    def _traced(self, name: QuantityId, kind: ReadingKind, value: float | None, label: str) -> float | None:
        if value is None:
            return None
        reading = TracedReading(name, kind, label)
        self.numbers[reading] = value
        return Traced(value, reading)

    def delta(self, name: QuantityId) -> float | None:
        return self._traced(name, ReadingKind.DELTA, super().delta(name), f"Δ{name}")

    def total(self, name: QuantityId) -> float | None:
        return self._traced(name, ReadingKind.TOTAL, super().total(name), name)

    def value(self, name: QuantityId) -> float | None:
        return self._traced(name, ReadingKind.VALUE, super().value(name), name)

    def elapsed(self, name: QuantityId) -> float | None:
        return self._traced(name, ReadingKind.ELAPSED, super().elapsed(name), "interval")


@dataclass(frozen=True)  # no slots: see quantities.columns.Column
class KindDefinition:
    """A kind of row as a feature adds it: where its rows come from, and what people read."""

    source: RowSource
    columns: tuple[RowColumn, ...]
    sort: ColumnId  # the column whose greatest values come first; "" for the order in which the rows came
    folded: bool = True  # whether rows inside others are shown on request only
    # the verb's option that adds the rows inside others, and its help; ("", "") for a kind without such rows
    parts: tuple[str, str] = ("", "")
    of_cpus: bool = False  # whether some of the CPUs can be chosen, whose share the rows then are
    kept: bool = False  # whether every recording has these rows; else those that are asked for them by the kind's id

    def asked(self, columns: Iterable[RowColumn]) -> RowSource:
        """The source for whoever looks at some columns: what is read seldom is read for these alone."""
        wanted = {need for column in columns for need in column.needs}
        wanted |= {quantity.id for quantity in self.source.quantities if quantity.cost is not Cost.SELDOM}
        return NarrowedSource(self.source, frozenset(wanted))

    def has_row(self, row: Row, *, parts: bool | None = None) -> bool:
        """Whether a table has a row: one inside another is in those that have `parts`, or unfolded ones."""
        return not (row.parent and self.source.kind.nested and (self.folded if parts is None else not parts))

    def __post_init__(self) -> None:
        """Refuse a definition that no table can be made of, where it is written."""
        if self.sort and self.sort not in {column.id for column in self.columns}:
            raise ValueError(f"the {self.source.kind.title} have no column {self.sort} to be sorted by")


@functools.cache
def known_kinds() -> Mapping[KindId, KindDefinition]:
    """The kinds of all features by their ids; of two with one id, the first."""
    kinds: dict[KindId, KindDefinition] = {}
    for feature in FEATURES:
        for definition in parts_of(feature, "rows", KindDefinition):
            kinds.setdefault(definition.source.kind.id, definition)
    return kinds


def kind_sources(kinds: Iterable[KindId]) -> Sequence[RowSource]:
    """The sources of these kinds for rules, as far as a feature here has them: without what is read seldom."""
    known = known_kinds()
    return [known[kind].asked(()) for kind in kinds if kind in known]


def _cell(column: RowColumn, row: KindRow, value: Value) -> Cell:
    if value is None:
        reasons = (row.differences.why(name, row.row) or row.differences.interrupted(name, row.slot)
                   for name in column.needs)
        doubt = "" if column.doubt is None else column.doubt(row)
        otherwise = Unavailable(Reason.OUT_OF_RANGE, doubt) if doubt else _NO_SUCH
        return Cell(None, next((why for why in reasons if why is not None), otherwise))
    differences = row.differences
    lacks = next(filter(None, (differences.lacks(name, row.slot) for name in column.needs)), "")
    return Cell(value, Unavailable(Reason.NO_HARDWARE, lacks) if lacks else None, partial=bool(lacks),
                old=differences.missed is not None and bool(column.needs),
                estimated=any(_is_scaled(row, differences.quantities[name]) for name in column.needs
                              if name in differences.quantities))


def _is_scaled(row: KindRow, quantity: Quantity) -> bool:
    """Whether a counter ran for a part of the interval only."""
    if not quantity.running:
        return False
    ran, enabled = row.delta(quantity.running), row.delta(quantity.enabled)
    return ran is not None and enabled is not None and ran < enabled


def _evidence(column: RowColumn, row: KindRow) -> CellEvidence:
    traced = _TracedRow(row)
    value = column.compute(traced)
    arithmetic: tuple[str, ...] = ()
    if column.formula:
        arithmetic = (f"= {column.formula}",)
    elif isinstance(value, Traced) and isinstance(value.term, TracedOperation):
        arithmetic = (f"= {written(value.term, lambda label: label.label)}",
                      f"= {written(value.term, lambda label: number_text(traced.numbers[label]))}")
    newer = row.differences.newer
    remarks = [] if row.slot not in newer.died else ["The row ended in this interval."]
    if row.slot in newer.born:
        remarks.append("The row began in this interval, and its counters with it.")
    return CellEvidence(arithmetic, tuple(_reading(row, row.differences.quantities[name]) for name in column.needs
                                          if name in row.differences.quantities),
                        tuple(remarks))


def _reading(row: KindRow, quantity: Quantity) -> tuple[str, ...]:
    """What was read of a quantity: both ends of a counter, and where from."""
    differences = row.differences
    raw = differences.raw(quantity.id, row.slot)
    after = "unknown" if raw is None else raw if isinstance(raw, str) else number_text(raw)
    line = f"{quantity.id} {after}"
    if quantity.behavior is Behavior.COUNTER:
        before, seconds = differences.raw_before(quantity.id, row.slot), row.elapsed(quantity.id)
        line = f"{quantity.id} {'unknown' if before is None else number_text(before)} → {after}"
        line += "" if seconds is None else f" in {seconds:.3f} s"
    why = differences.why(quantity.id, row.row) or differences.interrupted(quantity.id, row.slot)
    old = row.seconds_old(quantity.id)
    return (line, f"  {quantity.origin.replace('{row}', row.row.name or row.row.key)}",
            *([f"  read {old:.0f} s before the end of the interval"] if old >= 1 else []),
            *([f"  {quantity.document}"] if quantity.document else []),
            *([] if why is None else [f"  {why.sentence()}"]))


def row_table(definition: KindDefinition, differences: RowDifferences | None, *, parts: bool | None = None,
              only: Sequence[KindRow] | None = None) -> RowTable[KindRow]:
    """The table of a kind over one interval; without differences it has no rows.

    Args:
        parts: whether rows inside others are rows of the table, too, and follow these; None for what the kind's
            definition says.
        only: its rows, in this order; None for all, sorted.
    """
    kind = definition.source.kind
    if only is not None:
        return RowTable(kind.id, kind.word, definition.columns, only, _cell, _evidence)
    rows = [] if differences is None else [
        KindRow(differences, slot, row) for slot, row in differences.newer.roster.rows.items()
        if definition.has_row(row, parts=parts)]
    by = next((column for column in definition.columns if column.id == definition.sort), None)
    if by is not None:
        rows.sort(key=lambda row: -value if isinstance(value := by.compute(row), (int, float)) else 1.0)
    if kind.nested:
        rows = _tree(rows)
    return RowTable(kind.id, kind.word, definition.columns, rows, _cell, _evidence)


def _tree(rows: Sequence[KindRow]) -> list[KindRow]:
    """Each row followed by those inside it, in their order."""
    inside = lists_by_key((row.row.parent, row) for row in rows)
    tree: list[KindRow] = []
    left = inside.get("", [])[::-1]
    while left:
        row = left.pop()
        tree.append(row)
        left += inside.pop(row.row.key, [])[::-1]
    return [*tree, *(row for key, parts in inside.items() if key for row in parts)]


def omitted_rows(differences: RowDifferences) -> str:
    """A sentence about rows that have no place in the table; "" if all have."""
    count, kind = differences.newer.omitted, differences.newer.kind
    return f"there are {count:,} more {kind.title} than the {kind.most:,} that are read" if count else ""


def kind_notes(definition: KindDefinition, differences: RowDifferences,
               restricted: Collection[int] | None) -> tuple[str, ...]:
    """What is to be said of all rows: of which CPUs they are, what their reader says, and how many are left out.

    Args:
        restricted: the CPUs that were chosen; None for all.
    """
    of_cpus = restricted is not None and definition.of_cpus
    return tuple(filter(None, (f"of CPUs {format_cpulist(restricted or ())} only" if of_cpus else "",
                               *differences.newer.notes, omitted_rows(differences))))


def unknown_columns(table: RowTable[KindRow]) -> tuple[str, ...]:
    """A sentence for each reason for which columns of the table are unknown in all of its rows."""
    unknown: dict[str, list[ColumnId]] = {}
    for column in table.columns:
        cells = [table.cell(column, row) for row in table.rows] if column.needs else []
        why = next((cell.why for cell in cells), None)
        if why is not None and why.reason is not Reason.FIRST_TICK and all(cell.value is None for cell in cells):
            unknown.setdefault(why.sentence(), []).append(column.id)
    return tuple(f"{', '.join(columns)}: {why}" for why, columns in unknown.items())


def words_of(row: KindRow) -> str:
    """The text in which searches and filters look: name, key and all texts of a row."""
    texts = [column[row.slot] for column in row.differences.texts]
    return " ".join(filter(None, (row.row.name, row.row.key, *texts))).lower()
