"""Frames: the difference of two snapshots, from which any column of any row is computed on first use.

Rows nest by topology. A row coarser than a signal reduces the signal's instances inside it by the signal's own rule; a
row finer than a signal takes the value of the instance that contains it. Rates divide by each instance's own elapsed
time before they are reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turbotui.machine.topology import Instance, Topology
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.marks import MARKS, OUTSTANDING
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.traced import number_text
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.differences import once
from turbotui.sampling.disagreement import Marks, disagreements
from turbotui.sampling.interval import Interval
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.reasons import problem
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_inputs import RowInputs, WatchedTotals
from turbotui.sampling.snapshot import Snapshot
from turbotui.sampling.sweep import Selection

_SIGNED = tuple(mark for mark in MARKS if mark is not OUTSTANDING)
_NOT_BARE = tuple(mark.name for mark in MARKS if not mark.bare)
_FEW = 2
"""The number of rows below which computing cell by cell costs less than first putting signals in row order."""


class Frame(Interval):
    """All columns of all rows over one interval; cheap to make, computes cells when they are asked for and keeps them.

    `older` is None on the first tick, when gauges and constants are known but deltas are not.
    """

    __slots__ = ("__weakref__", "_cells", "_held", "_held_ends", "_increases", "_kinds", "_lacks", "_latest",
                 "_levels_of", "_marks", "_selections", "_stale")

    def __init__(self, older: Snapshot | None, newer: Snapshot, capabilities: Capabilities,
                 held: tuple[Snapshot, Snapshot] | None = None) -> None:
        super().__init__(older, newer, capabilities)
        self._held_ends = held
        self._held: Frame | None = None
        self._marks: Marks | None = None
        self._cells: dict[ColumnId, dict[RowId, Value]] = {}
        self._lacks: dict[ColumnId, Sequence[SignalId]] = {}
        self._increases: dict[RowId, dict[SignalId, float | None]] = {}
        self._levels_of: dict[Scope, Selection] = {}
        self._selections: dict[tuple[RowId, ...], Selection] = {}
        self._latest: Selection | None = None
        self._kinds: dict[KindId, RowDifferences] = {}
        self._stale: dict[int, tuple[Sequence[int], frozenset[int]]] = {}  # by identity of stamps, kept beside

    @property
    def seq(self) -> int:
        """Number of the newer snapshot's tick."""
        return self.newer.seq

    @property
    def clocks(self) -> tuple[int, int]:
        """Wall clock and monotonic clock of the tick that ended the interval, in ns."""
        return self.newer.wall_ns, self.newer.started_ns

    @property
    def held(self) -> Frame | None:
        """This frame with the last known values of late readers; None if no reader was late, or none had a value.

        The values are for display only: `old` says which cells belong to an earlier interval.
        """
        if self._held is None and self._held_ends is not None:
            self._held = Frame(*self._held_ends, self.capabilities)
        return self._held

    def old(self, column: CounterColumn, row: RowId) -> bool:
        """Whether a reading behind a cell is older than the tick of this frame, because its reader was late."""
        home = self.home(column, row) if self.newer.late else None
        if home is None:
            return False
        inputs = self.inputs(home)
        for name in (*column.needs, *column.wants):
            signal, stamps = self.capabilities.signals.get(name), self.newer.stamps.get(name)
            if signal is None or stamps is None:
                continue
            positions, stale = inputs.positions(signal), self._before_tick(stamps)
            if stale and (positions is None or not stale.isdisjoint(positions)):
                return True
        return False

    def _before_tick(self, stamps: Sequence[int]) -> frozenset[int]:
        """The positions that were read before the tick; looked for once, because cells of a frame share few stamps."""
        known = self._stale.get(id(stamps))
        if known is None:
            began = self.newer.started_ns
            before = frozenset(at for at, stamp in enumerate(stamps) if 0 < stamp < began)
            known = self._stale[id(stamps)] = stamps, before
        return known[1]

    def cell(self, column: CounterColumn, row: RowId) -> Value:
        """The value of a column in a row; None if unknown (`why` gives the reason).

        A row finer than the column's scope shows the instance that contains it.
        """
        cells = self._cells.setdefault(column.id, {})
        if row in cells:
            return cells[row]
        value: Value = None
        if row.scope.rank >= column.scope.rank:
            if not (column.whole_only and row.scope is not Scope.SYSTEM) and self.can(column):
                value = column.compute(self.inputs_of(column, row))
        elif (home := self.home(column, row)) is not None:
            value = self.cell(column, home)
        cells[row] = value
        return value

    def cells(self, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[Value]:
        """The values of a column in many rows, as `cell` returns them, but several times cheaper than one by one.

        Pass the same tuple of rows for one column after the other, and `rows(scope)` for a whole level: work that the
        columns have in common is then done once.
        """
        if len(rows) < _FEW:
            return [self.cell(column, row) for row in rows]
        return self._select(rows).cells(self, column)

    def bare_cells(self, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[Value]:
        """`cells`, with what must not be read without its mark as unknown."""
        values = self.cells(column, rows)
        if not self.newer.late and not self.gaps_behind(column):
            return values
        owners = [None if value is None else self.home(column, row) for row, value in zip(rows, values, strict=True)]
        marked = {home for home in dict.fromkeys(owners)
                  if home is not None and any(getattr(self, name)(column, home) for name in _NOT_BARE)}
        return [None if home in marked else value for home, value in zip(owners, values, strict=True)]

    def is_bare(self, column: CounterColumn) -> bool:
        """Whether all cells of a column may be read without their marks."""
        return not self.newer.late and not self.gaps_behind(column)

    def is_unmarked(self, column: CounterColumn) -> bool:
        """Whether no cell of a column has a mark."""
        return (self.is_bare(column) and not self.disputes(column) and self.ran_throughout(column)
                and column.rule is None)

    def home_cells(self, column: CounterColumn, rows: Sequence[RowId]) -> tuple[Sequence[RowId], Sequence[Value]]:
        """The rows whose values `cells` returns, each once, with these values; rows that do not exist are left out."""
        return self._select(rows).at_owners(self, column) if rows else ((), ())

    def _select(self, rows: Sequence[RowId]) -> Selection:
        if self._latest is not None and self._latest.rows is rows:
            return self._latest
        scope = rows[0].scope
        if rows is self.topology.rows(scope):
            if (level := self._levels_of.get(scope)) is None:
                level = self._levels_of[scope] = Selection(self.topology.rows(scope), whole=True)
            self._latest = level
            return level
        key = tuple(rows)
        if (selection := self._selections.get(key)) is None:
            selection = self._selections[key] = Selection(key)
        self._latest = selection
        return selection

    def known_level(self, column: CounterColumn) -> Sequence[Value] | None:
        """The values of a column in all rows of its own level, if they have been computed before."""
        level = self._levels_of.get(column.scope)
        return None if level is None else level.known(column.id)

    def home(self, column: CounterColumn, row: RowId) -> RowId | None:
        """The row whose value a cell shows: the row itself, or the instance of the column's scope that contains it."""
        if row.scope.rank >= column.scope.rank:
            return row
        instance = self.topology.instance(row)
        return None if instance is None or not instance.cpus else self.topology.row(column.scope, instance.cpus[0])

    def first_of_home(self, column: CounterColumn, row: RowId) -> bool:
        """Whether the row is the first of its instance, where turbostat prints a core's or package's value."""
        home = self.home(column, row)
        if home is None or home == row:
            return home is not None
        outer = self.topology.instance(home)
        inner = self.topology.instance(row)
        return bool(outer and inner and outer.cpus and inner.cpus and outer.cpus[0] == inner.cpus[0])

    def inputs(self, row: RowId) -> RowInputs:
        """The inputs of formulas for one row."""
        return RowInputs(self, row, increases=self._increases.setdefault(row, {}))

    def inputs_of(self, column: CounterColumn, row: RowId) -> RowInputs:
        """The inputs of a column's formula for a row."""
        if row.scope.rank > column.scope.rank and (left_out := self.left_out(column)):
            return RowInputs(self, row, left_out)
        return self.inputs(row)

    def left_out(self, column: CounterColumn) -> frozenset[int]:
        """The CPUs that are left out of a column's coarser rows because one of its signals is unknown there.

        A row's ratio covers the CPUs for which both counters are known: a CPU whose counter went back in this interval
        is taken out of both, and does not spoil the row.
        """
        gaps = self.gaps_behind(column)
        return self._cpus_without(tuple(gaps)) if gaps and len(column.needs + column.wants) > 1 else frozenset()

    @once
    def _cpus_without(self, names: tuple[SignalId, ...]) -> frozenset[int]:
        """The CPUs of all instances for which one of these signals is unknown although it is known for others."""
        cpus: set[int] = set()
        for name in names:
            signal = self.capabilities.signals[name]
            items = self.deltas(name) if signal.behavior is Behavior.COUNTER else self.levels(name)
            instances, reading = self.topology.instances(signal.scope), reading_cpus(signal, self.topology)
            if items.count(None) < len(items):
                cpus.update(*(instance.cpus for instance, item, cpu in zip(instances, items, reading, strict=True)
                              if item is None and cpu not in signal.absent))
        return frozenset(cpus)

    def why(self, column: CounterColumn, row: RowId) -> Unavailable | None:
        """Why a cell is None; None if it has a value."""
        return None if self.cell(column, row) is not None else self.why_unknown(column, row)

    def why_unknown(self, column: CounterColumn, row: RowId) -> Unavailable:
        """Why a cell is None that is known to be, which takes half of the time of `why`."""
        for name in column.needs:
            if name not in self.capabilities.signals:
                return self.capabilities.why_missing(name)
        home = self.home(column, row)
        instance = None if home is None else self.topology.instance(home)
        if instance is None:
            return Unavailable(Reason.OFFLINE, "the CPU is offline")
        if column.whole_only and row.scope is not Scope.SYSTEM:
            return Unavailable(Reason.NO_HARDWARE, f"{column.id} exists once for the whole machine: see the top row")
        refused = None if column.refusal is None else column.refusal(self.inputs(instance.row))
        if refused is not None:
            return refused
        for name in column.needs:
            signal = self.capabilities.signals[name]
            if (reason := problem(self, signal, instance.cpus)) is not None:
                return reason
            if (part := self.inputs(instance.row).unknown_part(name)) is not None:
                return self._part_missing(signal, part)
            if self.inputs(instance.row).differs(name):
                return Unavailable(Reason.OUT_OF_RANGE, f"{signal.id} differs within this row: see the rows inside it")
        return self._why_no_value(column, instance.row)

    def out_of_range(self, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[bool]:
        """Whether each cell is None because a number was read that cannot be, or makes no sensible value.

        What was not read is told by column: of a thousand CPUs without a counter none is looked at alone.
        """
        values = self.cells(column, rows)
        if None not in values:
            return [False] * len(rows)
        unread: Sequence[bool] = [False] * len(rows)
        if len(rows) >= _FEW and self.can(column) and column.refusal is None and not column.whole_only:
            unread = self._select(rows).unread(self, column)
        known: dict[RowId | None, bool] = {}

        def is_impossible(row: RowId) -> bool:
            home = self.home(column, row)
            if home not in known:
                known[home] = self.why_unknown(column, row).reason is Reason.OUT_OF_RANGE
            return known[home]

        return [value is None and not missing and is_impossible(row)
                for row, value, missing in zip(rows, values, unread, strict=True)]

    def _why_no_value(self, column: CounterColumn, row: RowId) -> Unavailable:
        """Why a formula has no value although all its needs are known in part."""
        left_out = self.left_out(column) if row.scope.rank > column.scope.rank else frozenset[int]()
        inputs = WatchedTotals(self, row, left_out)
        doubt = "" if column.doubt is None else column.doubt(inputs)
        if not doubt:
            column.compute(inputs)
            for name in inputs.lacking:
                if (part := inputs.missing_part(name)) is not None:
                    return self._part_missing(self.capabilities.signals[name], part)
        read = []
        for name in column.needs:
            counter = self.capabilities.signals[name].behavior is Behavior.COUNTER
            value = inputs.delta(name) if counter else inputs.value(name)
            if value is not None:
                read.append(f"{'Δ' if counter else ''}{name} = {number_text(value)}")
        detail = f"{formula_of(column)} has no sensible value in this interval{': ' if read else ''}{', '.join(read)}"
        return Unavailable(Reason.OUT_OF_RANGE, doubt or detail)

    def _part_missing(self, signal: Signal, position: int) -> Unavailable:
        part = self.topology.instances(signal.scope)[position]
        reason = problem(self, signal, part.cpus)
        place = _place(part, self.topology)
        if reason is None:
            return Unavailable(Reason.FAILED, f"a part is unknown, {place}: {signal.id}")
        detail = reason.detail if reason.detail.startswith(place) else f"{place}: {reason.detail}"
        return Unavailable(reason.reason, f"a part is unknown, {detail}", reason.remedy)

    def marks(self) -> Marks:
        """Readings that contradict each other without a known culprit, by signal and position."""
        if self._marks is None:
            self._marks = {} if self.older is None else disagreements(self)
        return self._marks

    def disputed(self, column: CounterColumn, row: RowId) -> tuple[str, ...]:
        """Sentences about readings that contradict the numbers behind a cell; empty if there are none."""
        if not (marks := self.marks()):
            return ()
        if (home := self.home(column, row)) is None:
            return ()
        inputs = self.inputs(home)
        whys: dict[str, None] = {}
        for name in (*column.needs, *column.wants):
            if at := marks.get(name):
                inside = inputs.positions(self.capabilities.signals[name])
                whys |= dict.fromkeys(text for position, text in at.items() if inside is None or position in inside)
        return tuple(whys)

    def disputes(self, column: CounterColumn) -> bool:
        """Whether some cell of a column may be `disputed`."""
        marks = self.marks()
        return bool(marks) and not marks.keys().isdisjoint((*column.needs, *column.wants))

    def partial(self, column: CounterColumn, row: RowId) -> bool:
        """Whether some instances behind the cell are unknown, so that a sum is too small or a mean incomplete.

        A package column may be made of CPU counters; its own rows can then be incomplete too. CPUs that are offline or
        lack the counter are no part of the row, but a CPU that went offline in this interval is.
        """
        gaps = self.gaps_behind(column)
        home = self.home(column, row) if gaps else None
        signals = self.capabilities.signals
        return home is not None and any(  # a row within an instance has no other part
            signals[name].scope.rank < home.scope.rank and self.inputs(home).incomplete(name) for name in gaps)

    def lost(self, column: CounterColumn, row: RowId) -> bool:
        """Whether a reading behind a cell, or behind a part of it, is unknown."""
        gaps = self.gaps_behind(column)
        home = self.home(column, row) if gaps else None
        return home is not None and any(map(self.inputs(home).lost, gaps))

    def lacking(self, column: CounterColumn, row: RowId) -> Unavailable | None:
        """Why a part of a cell is unknown; None if the cell is not `partial`."""
        if not self.gaps_behind(column) or not self.partial(column, row):
            return None
        home = self.home(column, row) or row
        parts = (self.lacking_part(name, home) for name in self.gaps_behind(column))
        return next(part for part in parts if part is not None)

    def lacking_part(self, name: SignalId, row: RowId) -> Unavailable | None:
        """Why a signal has no number in a part of a row; None if all parts have one, or none."""
        inputs = self.inputs(row)
        if (part := inputs.missing_part(name)) is not None:
            return self._part_missing(self.capabilities.signals[name], part)
        if not (departed := inputs.departed(name)):
            return None
        detail = "it went offline, and what it had done since its last reading was not read"
        return Unavailable(Reason.OFFLINE, f"a part is unknown, {_place(departed[0], self.topology)}: {detail}")

    def gaps_behind(self, column: CounterColumn) -> Sequence[SignalId]:
        """The signals of a column without a number on some instance of the machine."""
        gaps = self._lacks.get(column.id)
        if gaps is None:
            signals = self.capabilities.signals
            gaps = self._lacks[column.id] = [
                name for name in (*column.needs, *column.wants) if name in signals and self.has_gaps(name)]
        return gaps

    def estimated(self, column: CounterColumn, row: RowId) -> bool:
        """Whether the cell was measured in a part of the interval only: sampled, or counted in turns and scaled."""
        if column.error is not None:
            return True
        for name in (*column.needs, *column.wants):
            signal = self.capabilities.signals.get(name)
            if signal is None or not signal.running:
                continue
            inputs = self.inputs(row)
            ran, enabled = inputs.delta(signal.running), inputs.delta(signal.enabled)
            if ran is not None and enabled is not None and ran < enabled:
                return True
        return False

    def ran_throughout(self, column: CounterColumn) -> bool:
        """Whether no counter behind a column was multiplexed in any row, so that no cell is `estimated`."""
        if column.error is not None:
            return False
        signals = (self.capabilities.signals.get(name) for name in (*column.needs, *column.wants))
        return all(self._ran_throughout((signal.enabled, signal.running))
                   for signal in signals if signal is not None and signal.running)

    def signs(self, column: CounterColumn, row: RowId) -> str:
        """The signs of a known cell's marks, but for a metric past its vendor's threshold, whose sign is an alarm's."""
        signs = "".join(mark.sign for mark in _SIGNED if getattr(self, mark.name)(column, row))
        return "" if not signs or self.cell(column, row) is None else signs

    def rows(self, scope: Scope) -> tuple[RowId, ...]:
        """Rows of one level, in topology order."""
        return self.topology.rows(scope)

    def anew(self) -> Frame:
        """This interval with nothing computed yet."""
        return Frame(self.older, self.newer, self.capabilities, self._held_ends)

    def with_rows_of(self, other: Frame) -> Frame:
        """This interval with the rows of another one that ended with it and may be longer."""
        older = self.older
        if older is not None:
            older = replace(older, rows={} if other.older is None else other.older.rows)
        newer = replace(self.newer, rows=other.newer.rows, no_rows=other.newer.no_rows)
        return Frame(older, newer, self.capabilities, self._held_ends)

    def kind(self, kind: KindId) -> RowDifferences | Unavailable:
        """The rows of a kind over this interval, or why they were not read."""
        differences = self._kinds.get(kind)
        if differences is None:
            rows, why = self.newer.rows.get(kind), self.newer.no_rows.get(kind)
            if rows is None:
                return why or Unavailable(Reason.NOT_READ, f"{kind} were not read in this interval")
            older = None if self.older is None else self.older.rows.get(kind)
            differences = self._kinds[kind] = RowDifferences(older, rows, why)
        return differences


def _place(part: Instance, topology: Topology) -> str:
    """The name of an instance in a sentence."""
    place = f"{part.row.scope.value} {part.label if part.label >= 0 else '.'.join(map(str, part.row.key))}"
    if part.row.scope in (Scope.CORE, Scope.DIE) and topology.varies(Scope.PACKAGE):
        place += f" of package {part.row.key[0]}"  # packages number their cores alike
    return place
