"""Frames: the difference of two snapshots, from which any column of any row is computed on first use.

Rows nest by topology. A row coarser than a signal reduces the signal's instances inside it by the signal's own rule;
a row finer than a signal takes the value of the instance it lies in. Rates divide by each instance's own elapsed time
before they are reduced.
"""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.quantities.columns import Cell, Column, ColumnId
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.census import Census
from turbotui.sampling.interval import Interval
from turbotui.sampling.reasons import problem
from turbotui.sampling.row_inputs import RowInputs
from turbotui.sampling.snapshot import Snapshot
from turbotui.sampling.sweep import Selection

_FEW = 4
"""Rows below which one cell after the other costs less than putting signals in row order first."""


class Frame(Interval):
    """All columns of all rows over one interval. Cheap to make; computes and remembers what is asked.

    `older` is None on the first tick: gauges and constants are known then, deltas are not.
    """

    __slots__ = ("__weakref__", "_cells", "_latest", "_levels_of", "_selections")

    def __init__(self, older: Snapshot | None, newer: Snapshot, census: Census) -> None:
        super().__init__(older, newer, census)
        self._cells: dict[ColumnId, dict[RowId, Cell]] = {}
        self._levels_of: dict[Scope, Selection] = {}
        self._selections: dict[tuple[RowId, ...], Selection] = {}
        self._latest: Selection | None = None

    @property
    def seq(self) -> int:
        """Number of the newer snapshot's tick."""
        return self.newer.seq

    @property
    def seconds(self) -> float | None:
        """Length of the interval from tick to tick, None on the first tick."""
        return None if self.older is None else (self.newer.started_ns - self.older.started_ns) / 1e9

    def cell(self, column: Column, row: RowId) -> Cell:
        """The value of a column in a row, None if unknown (then `why` tells).

        A row finer than the column's scope shows the instance that it lies in.
        """
        cells = self._cells.get(column.id)
        if cells is None:
            cells = self._cells[column.id] = {}
        elif row in cells:
            return cells[row]
        value: Cell = None
        home = self.home(column, row)
        if home is not None:
            if home != row:
                value = self.cell(column, home)
            elif not (column.whole_only and row.scope is not Scope.SYSTEM) and self.can(column):
                value = column.compute(self.inputs(row))
        cells[row] = value
        return value

    def cells(self, column: Column, rows: Sequence[RowId]) -> Sequence[Cell]:
        """The values of a column in many rows, as `cell` gives them: several times cheaper than one after the other.

        Ask with the same tuple of rows for one column after the other, and with `rows(scope)` for a whole level: what
        the columns have in common is then found once.
        """
        if len(rows) < _FEW:
            return [self.cell(column, row) for row in rows]
        return self._select(rows).cells(self, column)

    def home_cells(self, column: Column, rows: Sequence[RowId]) -> tuple[Sequence[RowId], Sequence[Cell]]:
        """The rows whose values `cells` gives, each once, and these values. Rows that are not there are left out."""
        return self._select(rows).at_homes(self, column) if rows else ((), ())

    def _select(self, rows: Sequence[RowId]) -> Selection:
        """Rows that are asked for together."""
        scope = rows[0].scope
        if rows is self.topology.rows(scope):
            level = self._levels_of.get(scope)
            if level is None:
                level = self._levels_of[scope] = Selection(self.topology.rows(scope), whole=True)
            return level
        if self._latest is None or self._latest.rows is not rows:
            key = tuple(rows)
            self._latest = self._selections.get(key)
            if self._latest is None:
                self._latest = self._selections[key] = Selection(key)
        return self._latest

    def known_level(self, column: Column) -> Sequence[Cell] | None:
        """The values of a column in all rows of its own level, if somebody asked for them before."""
        level = self._levels_of.get(column.scope)
        return None if level is None else level.known(column.id)

    def home(self, column: Column, row: RowId) -> RowId | None:
        """The row whose value a cell shows: itself, or the instance of the column's scope that the row lies in."""
        if row.scope.rank >= column.scope.rank:
            return row
        instance = self.topology.instance(row)
        return None if instance is None or not instance.cpus else self.topology.row(column.scope, instance.cpus[0])

    def first_of_home(self, column: Column, row: RowId) -> bool:
        """Whether the row is the first of its instance: where turbostat prints a core's or package's value."""
        home = self.home(column, row)
        if home is None or home == row:
            return home is not None
        outer = self.topology.instance(home)
        inner = self.topology.instance(row)
        return bool(outer and inner and outer.cpus and inner.cpus and outer.cpus[0] == inner.cpus[0])

    def inputs(self, row: RowId) -> RowInputs:
        """What a formula may ask about one row."""
        return RowInputs(self, row)

    def why(self, column: Column, row: RowId) -> Unavailable | None:
        """Why a cell is None; None when it is not."""
        if self.cell(column, row) is not None:
            return None
        for name in column.needs:
            if name not in self.census.signals:
                return self.census.why_missing(name)
        home = self.home(column, row)
        instance = None if home is None else self.topology.instance(home)
        if instance is None:
            return Unavailable(Reason.OFFLINE, "the CPU is offline")
        if column.whole_only and row.scope is not Scope.SYSTEM:
            return Unavailable(Reason.NO_HARDWARE, f"{column.id} exists once for the whole machine: see the top row")
        for name in column.needs:
            found = problem(self, self.census.signals[name], instance.cpus)
            if found is not None:
                return found
        doubt = "" if column.doubt is None else column.doubt(self.inputs(instance.row))
        return Unavailable(Reason.OUT_OF_RANGE, doubt or f"{formula_of(column)} has no sensible value in this interval")

    def partial(self, column: Column, row: RowId) -> bool:
        """Whether some instances inside the row are unknown, so that a sum is too small or a mean incomplete."""
        instance = self.topology.instance(row)
        if instance is None or row.scope.rank <= column.scope.rank:
            return False
        lost = self.newer.late | self.newer.failed
        if lost and not lost.isdisjoint(instance.cpus):
            return True
        return any(self.inputs(row).incomplete(name) for name in column.needs)

    def estimated(self, column: Column, row: RowId) -> bool:
        """Whether a counter behind the cell ran only part of the interval and was scaled (multiplexed)."""
        for name in (*column.needs, *column.wants):
            signal = self.census.signals.get(name)
            if signal is None or not signal.running:
                continue
            inputs = self.inputs(row)
            ran, enabled = inputs.delta(signal.running), inputs.delta(signal.enabled)
            if ran is not None and enabled is not None and ran < enabled:
                return True
        return False

    def rows(self, scope: Scope) -> tuple[RowId, ...]:
        """Rows of one level, in topology order."""
        return self.topology.rows(scope)

    def can(self, column: Column) -> bool:
        """Whether the machine has every signal that a column needs."""
        signals = self.census.signals
        return all(name in signals for name in column.needs)

