"""Lines of a table as pieces of text with a tone each. Nothing here knows Textual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from turbotui.machine.topology import Topology
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.sampling.tagged import tagged_cell
from turbotui.widgets.cells import (
    ALARM_MARKS,
    IDENTITY_SCOPES,
    MARK_DISPUTED,
    MARK_ESTIMATED,
    MARK_OLD,
    MARK_PARTIAL,
    UNKNOWN,
    Slot,
    Tone,
    alarm,
    cell_text,
)
from turbotui.widgets.comparison import difference, difference_text
from turbotui.widgets.geometry import MORE_LEFT, MORE_RIGHT, RULE, Geometry, arrange
from turbotui.widgets.rows import Line, row_name
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.spark import spark
from turbotui.widgets.table_view import TAGS_ROW, TableView

Piece: TypeAlias = tuple[str, Tone]

FOLDED, OPEN = "▸", "▾"


def nice_top(peak: float) -> float:
    """The next 1, 2 or 5 times a power of ten: a scale that seldom changes."""
    if not 0 < peak < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(peak))
    return next(step * power for step in (1, 2, 5, 10) if peak <= step * power * (1 + 1e-9))


@dataclass(slots=True)
class Painter:
    """Paints the lines of one table at one width.

    Attributes:
        view: what is shown.
        fixed, moving: identity slots, and the others.
        history: for sparks.
        width: of a line.
        offset: see `geometry.arrange`.
    """

    view: TableView
    fixed: tuple[Slot, ...]
    moving: tuple[Slot, ...]
    history: History
    width: int
    offset: int = 0
    _may_be_scaled: dict[ColumnId, bool] = field(default_factory=dict)
    _standings: dict[tuple[Scope, RowId], Tone | None] = field(default_factory=dict)
    _identities: dict[RowId, list[Piece]] = field(default_factory=dict)
    _topology: Topology | None = None

    @property
    def tree(self) -> bool:
        """Whether rows are labelled by their place in a tree instead of by identity columns."""
        return len(self.view.levels) > 1

    @property
    def edge(self) -> int:
        """Width of the identity part with its rule."""
        return self.label_width + len(RULE)

    @property
    def label_width(self) -> int:
        """Width of the identity part."""
        if self.tree:
            return 13 + 2 * (len(self.view.levels) - 1)
        return sum(slot.outer for slot in self.fixed)

    @property
    def columns(self) -> list[CounterColumn]:
        """All columns from left to right, drawn or not."""
        fixed = () if self.tree else self.fixed
        return [slot.column for slot in (*fixed, *self.moving) if not slot.spark]

    def identity_at(self, x: int) -> CounterColumn | None:
        """The identity column at a character."""
        at = 0
        for slot in () if self.tree else self.fixed:
            if at <= x < at + slot.outer:
                return slot.column
            at += slot.outer
        return None

    def geometry(self) -> Geometry:
        """Where the slots stand."""
        return arrange(self.moving, self.edge, self.width, self.offset)

    def header(self, geometry: Geometry) -> list[Piece]:
        """The line of titles, with the sort mark."""
        pieces: list[Piece] = []
        if self.tree:
            pieces.append((" machine".ljust(self.label_width), Tone.TITLE))
        else:
            for slot in self.fixed:
                self._title(pieces, slot)
        if geometry.more_left:
            pieces.append((f" {MORE_LEFT}", Tone.SORTED))
        else:
            pieces.append((RULE, Tone.RULE))
        before: Slot | None = None
        for slot in geometry.slots:
            if before is not None and before.column.category is not slot.column.category:
                pieces.append((RULE, Tone.RULE))
            self._title(pieces, slot)
            before = slot
        self._finish(pieces, geometry)
        return pieces

    def _title(self, pieces: list[Piece], slot: Slot) -> None:
        is_sorted = self.view.sort is not None and slot.column.id == self.view.sort.id and not slot.spark
        text = slot.title.ljust(slot.width) if slot.spark or slot.column.decimals < 0 else slot.title.rjust(slot.width)
        pieces.append((f" {text[: slot.width]}", Tone.SORTED if is_sorted else Tone.TITLE))

    def _finish(self, pieces: list[Piece], geometry: Geometry) -> None:
        used = sum(len(text) for text, _ in pieces)
        room = self.width - used
        if room <= 0:
            return
        pieces.append((" " * (room - 1), Tone.TITLE))
        pieces.append((MORE_RIGHT if geometry.more_right else " ", Tone.SORTED))

    def lines(self, frame: Frame, lines: Sequence[Line], geometry: Geometry,
              chosen: tuple[RowId, int] | None) -> list[list[Piece]]:
        """Some rows, painted column by column.

        Args:
            frame: whose values.
            lines: which rows, and where in the tree.
            geometry: where the slots stand.
            chosen: the row under the cursor, and the index of the slot.
        """
        self._follow(frame.topology)
        rows = tuple(line.row for line in lines)
        columns: list[Sequence[Piece]] = []
        chosen_at = -1
        before: Slot | None = None
        for slot, index in zip(geometry.slots, geometry.indices, strict=True):
            if before is not None and before.column.category is not slot.column.category:
                columns.append([(RULE, Tone.RULE)] * len(rows))
            before = slot
            if chosen is not None and index == chosen[1]:
                chosen_at = len(columns)
            columns.append(self._column(frame, rows, slot))
        painted: list[list[Piece]] = []
        for line, *cells in zip(lines, *columns, strict=True):
            if chosen_at >= 0 and chosen is not None and line.row == chosen[0]:
                cells[chosen_at] = (cells[chosen_at][0], Tone.CELL)
            if self.tree:
                ids = [(self._label(frame, line), Tone.PLAIN if line.open is None else Tone.TITLE)]
            else:
                ids = self._identity(frame, line.row)
            painted.append(_merged((*ids, (RULE, Tone.RULE), *cells)))
        return painted

    def _follow(self, topology: Topology) -> None:
        """Forget what was known of the rows of another topology."""
        if topology is not self._topology:
            self._topology = topology
            self._standings.clear()
            self._identities.clear()

    def _identity(self, frame: Frame, row: RowId) -> list[Piece]:
        if row in {SYSTEM_ROW, TAGS_ROW}:
            word = "all" if row == SYSTEM_ROW else f"Σ {len(self.view.tags)}"
            return [(word.rjust(self.label_width), Tone.PLAIN)]
        known = self._identities.get(row)
        if known is not None:
            return known
        if frame.topology.instance(row) is None:  # a tagged row that has gone since: its place is known no more
            word = f"{row_name(frame.topology, row)} off"
            word = word if len(word) <= self.label_width else str(row.key[-1])
            return [(word.rjust(self.label_width)[-self.label_width :], Tone.DIM)]
        pieces: list[Piece] = []
        tagged = row in self.view.tags
        for slot in self.fixed:
            value = frame.cell(slot.column, row)
            # Decimal, as in sysfs and in the tree, also where turbostat prints hexadecimal ids.
            text = UNKNOWN if value is None else str(value)
            text = text.ljust(slot.width) if slot.column.decimals < 0 else text.rjust(slot.width)
            own = _first(frame, slot.column, row)
            pieces.append(("•" if tagged and slot is self.fixed[0] else " ", Tone.TAGGED))
            pieces.append((text, Tone.PLAIN if own else Tone.DIM))
        pieces = _merged(pieces)
        if not any(slot.column.needs for slot in self.fixed):  # the others are read, and may not have been yet
            self._identities[row] = pieces
        return pieces

    def _label(self, frame: Frame, line: Line) -> str:
        row = line.row
        if row == SYSTEM_ROW:
            text = " whole machine"
        elif row == TAGS_ROW:
            text = f" Σ {len(self.view.tags)} tagged"
        else:
            name = row_name(frame.topology, row)
            kind = _kind(frame.topology, row)
            name += f" {kind}" if kind else " off" if frame.topology.instance(row) is None else ""
            mark = " " if line.open is None else OPEN if line.open else FOLDED
            tagged = "•" if row in self.view.tags else " "
            text = f"{tagged}{'  ' * line.depth}{mark} {name}"
        return text[: self.label_width].ljust(self.label_width)

    def value(self, frame: Frame, column: CounterColumn, row: RowId) -> Value:
        """A cell, the sum row of the tagged ones included."""
        if row == TAGS_ROW:
            cpus = [cpu for tag in self.view.tags if (found := frame.topology.instance(tag)) for cpu in found.cpus]
            return tagged_cell(frame, column, sorted(set(cpus)))
        return frame.cell(column, row)

    def _column(self, frame: Frame, rows: Sequence[RowId], slot: Slot) -> list[Piece]:
        """The cells of one slot, one below the other."""
        if slot.spark:
            return [(" " + self._spark(frame, row, slot), Tone.SPARK) for row in rows]
        column = slot.column
        blank = (" " * (slot.width + 1), Tone.DIM)
        standings = self._standings_of(frame, column, rows)
        values = frame.cells(column, rows)
        plain = self.view.mark is None and not self._scaled(frame, column) and not frame.newer.late
        texts = _numbers(column, values, slot.width) if plain else None
        if texts is None:
            return [
                blank if standing is None else self._cell(frame, row, slot, standing)
                for row, standing in zip(rows, standings, strict=True)
            ]
        # nearly every column: as below, but with nothing to be looked up for a CPU
        pieces: list[Piece] = []
        alarming = column.thresholds is not None
        for row, standing, text, value in zip(rows, standings, texts, values, strict=True):
            if standing is None:
                pieces.append(blank)
            elif row.scope is not Scope.CPU:
                pieces.append(self._cell(frame, row, slot, standing))
            elif alarming and (tone := alarm(column, value)) is not None:
                pieces.append(_alarmed(text[1:], tone, standing))
            else:
                pieces.append((text, standing))
        return pieces

    def _standings_of(self, frame: Frame, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[Tone | None]:
        """`_standing` of many rows."""
        if column.scope is Scope.CPU and not column.whole_only:
            return [Tone.PLAIN] * len(rows)
        return [self._standing(frame, column, row) for row in rows]

    def _cell(self, frame: Frame, row: RowId, slot: Slot, standing: Tone) -> Piece:
        """One cell with its mark."""
        column = slot.column
        value = self.value(frame, column, row)
        if value is None:
            return " " + cell_text(column, None, slot.width), Tone.DIM
        if self.view.mark is None:
            text = cell_text(column, value, slot.width)
        else:
            then = self.value(self.view.mark, column, row)
            text = difference_text(column, difference(column, value, then), slot.width)
        if row != TAGS_ROW and frame.old(column, row):
            return _marked(MARK_OLD, text), Tone.DIM
        tone = alarm(column, value)
        if tone is not None:
            return _alarmed(text, tone, standing)
        mark = " "
        if row != TAGS_ROW:
            if frame.disputed(column, row):
                mark = MARK_DISPUTED
            elif row.scope is not Scope.CPU and frame.partial(column, row):
                mark = MARK_PARTIAL
            elif self._scaled(frame, column) and frame.estimated(column, row):
                mark = MARK_ESTIMATED
        return _marked(mark, text), standing

    def _standing(self, frame: Frame, column: CounterColumn, row: RowId) -> Tone | None:
        """How a row shows a column: as its own, dimly as the value of what it lies in, or not at all (None)."""
        scope = Scope.SYSTEM if column.whole_only else column.scope
        key = (scope, row)
        if key in self._standings:
            return self._standings[key]
        found: Tone | None = Tone.PLAIN
        if scope is Scope.SYSTEM:  # the top row says it
            found = Tone.PLAIN if row == SYSTEM_ROW else None
        elif row.scope.rank < scope.rank:
            if self.tree and self._repeated(frame, column, row):
                found = None
            elif not frame.first_of_home(column, row):
                found = Tone.DIM
        self._standings[key] = found
        return found

    def _repeated(self, frame: Frame, column: CounterColumn, row: RowId) -> bool:
        """Whether a cell would only repeat a line above it in the tree."""
        topology = frame.topology
        home = frame.home(column, row)
        own, whole = topology.instance(row), None if home is None else topology.instance(home)
        if own is None or whole is None or set(own.cpus) == set(whole.cpus):
            return False
        if not frame.first_of_home(column, row):
            return True
        above = (level for level in self.view.levels if level.rank > row.scope.rank)
        lines = (topology.instance(topology.row(level, own.cpus[0])) for level in above)
        return any(line is not None and set(line.cpus) == set(whole.cpus) for line in lines)

    def _scaled(self, frame: Frame, column: CounterColumn) -> bool:
        """Whether a column has a counter that could be multiplexed at all."""
        known = self._may_be_scaled.get(column.id)
        if known is None:
            signals = (frame.census.signals.get(name) for name in (*column.needs, *column.wants))
            known = any(signal is not None and signal.running for signal in signals)
            if frame.can(column):  # an older frame may not know the column's signals yet
                self._may_be_scaled[column.id] = known
        return known

    def _spark(self, frame: Frame, row: RowId, slot: Slot) -> str:
        column = slot.column
        finer = row.scope.rank < column.scope.rank
        if row == TAGS_ROW or (finer and (self.tree or not frame.first_of_home(column, row))):
            return " " * slot.width
        home = frame.home(column, row) if finer else row
        ring = None if home is None else self.history.ring(column.id, home)
        if ring is None or home is None:
            return " " * slot.width
        top = self.view.tops.get(column.id)
        if top is None or (home.scope is Scope.SYSTEM and column.unit == "W"):
            top = nice_top(self.history.peak(column.id, home.scope) or 0.0)
        return spark(ring.values(HISTORY), top, slot.width, frame.seq)


def _numbers(column: CounterColumn, values: Sequence[Value], width: int) -> list[str] | None:
    """Values as `cell_text` writes them, with a blank before; None if some are no numbers, or too wide."""
    if column.decimals < 0 or column.hexadecimal:
        return None
    shape = f" %{width}.{column.decimals}f"
    try:
        texts = [shape % value for value in values]
    except TypeError:  # None, or a text
        return None
    return texts if all(len(text) == width + 1 for text in texts) else None


def _alarmed(text: str, tone: Tone, standing: Tone) -> Piece:
    """A value past a threshold; the value of what the row lies in stays dim."""
    return _marked(ALARM_MARKS[tone], text), tone if standing is Tone.PLAIN else Tone.DIM


def _kind(topology: Topology, row: RowId) -> str:
    """The core type of a CPU's row; "" for any other row, and for a CPU that is offline."""
    place = topology.places.get(row.key[0]) if row.scope is Scope.CPU else None
    return "" if place is None else place.core_type or ""


def _first(frame: Frame, column: CounterColumn, row: RowId) -> bool:
    """Whether a row is the first of the package, core ... that an identity column numbers."""
    scope = IDENTITY_SCOPES.get(column.id)
    if scope is None or row.scope is not Scope.CPU or row.key[0] not in frame.topology.places:
        return True
    instance = frame.topology.instance(frame.topology.row(scope, row.key[0]))
    return instance is None or instance.cpus[0] == row.key[0]


def _marked(mark: str, text: str) -> str:
    """A mark stands directly before its number."""
    blank = len(text) - len(text.lstrip()) if mark != " " else 0
    return f" {text[: blank - 1]}{mark}{text[blank:]}" if blank else mark + text


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbours of one tone joined: fewer segments are cheaper to draw."""
    merged: list[Piece] = []
    text, tone = "", Tone.PLAIN
    for piece, its_tone in pieces:
        if its_tone is tone:
            text += piece
        else:
            if text:
                merged.append((text, tone))
            text, tone = piece, its_tone
    if text:
        merged.append((text, tone))
    return merged
