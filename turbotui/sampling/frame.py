"""Frames: the difference of two snapshots, from which any column of any row is computed on first use.

Rows nest by topology. A row coarser than a signal reduces the signal's instances inside it by the signal's own rule;
a row finer than a signal takes the value of the instance it lies in. Rates divide by each instance's own elapsed time
before they are reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from turbotui.machine.topology import Topology
from turbotui.quantities.columns import Cell, Column, ColumnId
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.signals import Behavior, Raw, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.arithmetic import REDUCERS, Numbers, increases, seconds
from turbotui.sampling.census import Census
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.reasons import problem
from turbotui.sampling.snapshot import Snapshot
from turbotui.sampling.sweep import Sweep

T = TypeVar("T")

_MANY = 16
"""Rows from which computing a column for its whole level costs less than one cell after the other."""


class Frame:
    """All columns of all rows over one interval. Cheap to make; computes and remembers what is asked.

    `older` is None on the first tick: gauges and constants are known then, deltas are not.
    """

    __slots__ = (
        "_cells", "_deltas", "_elapsed", "_gaps", "_rates", "_shared_spans", "_texts", "_values", "census", "newer",
        "older", "topology",
    )

    def __init__(self, older: Snapshot | None, newer: Snapshot, census: Census) -> None:
        self.older = older
        self.newer = newer
        self.census = census
        self.topology: Topology = newer.topology
        self._deltas: dict[SignalId, Numbers] = {}
        self._shared_spans: dict[tuple[int, int], Numbers] = {}
        self._rates: dict[SignalId, Numbers] = {}
        self._values: dict[SignalId, Numbers] = {}
        self._elapsed: dict[SignalId, Numbers] = {}
        self._texts: dict[SignalId, Sequence[str | None]] = {}
        self._gaps: dict[SignalId, bool] = {}
        self._cells: dict[ColumnId, dict[RowId, Cell]] = {}

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
            elif not (column.whole_only and row.scope is not Scope.SYSTEM) and self._can(column):
                value = column.compute(self.inputs(row))
        cells[row] = value
        return value

    def fill(self, column: Column, rows: int) -> None:
        """Compute a column for every row of its own level at once; `cell` then only looks up.

        For whoever needs all rows (sorting, histories): several times cheaper than one cell after the other. Does
        nothing for few rows.

        Args:
            column: which one.
            rows: how many rows will be asked for.
        """
        scope = column.scope
        instances = self.topology.instances(scope)
        if rows < _MANY or rows * 3 < len(instances) or column.whole_only or not self._can(column):
            return
        cells = self._cells.setdefault(column.id, {})
        if instances[-1].row in cells:
            return
        sweep = Sweep(self, scope)
        compute = column.compute
        for position, instance in enumerate(instances):
            sweep.at = position
            cells[instance.row] = compute(sweep)

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
        # not kept: it knows the frame, and a frame in a cycle outlives its interval by minutes of readings
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
        return tuple(instance.row for instance in self.topology.instances(scope))

    def deltas(self, name: SignalId) -> Numbers:
        """Increase of a counter per instance of its scope; None where unknown."""
        found = self._deltas.get(name)
        if found is None:
            found = self._deltas[name] = self._difference(self.census.signals[name])
        return found

    def spans(self, name: SignalId) -> Numbers:
        """Seconds between the two readings per instance of the signal's scope."""
        found = self._elapsed.get(name)
        if found is None:
            newer = self.newer.stamps.get(name)
            stamps = None if self.older is None else self.older.stamps.get(name)
            older = self.before(stamps, name)
            if newer is None or older is None:
                found = [None] * len(self.topology.instances(self.census.signals[name].scope))
            else:
                # signals that are read together share their stamps, and so these
                key = (id(older), id(newer))
                shared = self._shared_spans.get(key) if older is stamps else None
                found = seconds(older, newer) if shared is None else shared
                if older is stamps:
                    self._shared_spans[key] = found
            self._elapsed[name] = found
        return found

    def rates(self, name: SignalId) -> Numbers:
        """Increase per second per instance of the signal's scope."""
        found = self._rates.get(name)
        if found is None:
            found = self._rates[name] = [
                None if d is None or not t else d / t for d, t in zip(self.deltas(name), self.spans(name), strict=True)
            ]
        return found

    def levels(self, name: SignalId) -> Numbers:
        """A gauge at the newer snapshot (or a constant) per instance of the signal's scope."""
        found = self._values.get(name)
        if found is None:
            signal = self.census.signals[name]
            if signal.behavior is Behavior.CONSTANT:
                constant = signal.value(signal.constant)
                found = [constant] * len(self.topology.instances(signal.scope))
            else:
                raw = self.newer.values.get(name)
                found = (
                    [None] * len(self.topology.instances(signal.scope))
                    if raw is None
                    else [signal.value(item) for item in raw]
                )
            self._values[name] = found
        return found

    def texts(self, name: SignalId) -> Sequence[str | None]:
        """A text gauge per instance of the signal's scope."""
        found = self._texts.get(name)
        if found is None:
            signal = self.census.signals[name]
            raw: Sequence[Raw] = self.newer.values.get(name, ())
            if signal.behavior is Behavior.CONSTANT:
                raw = [signal.constant] * len(self.topology.instances(signal.scope))
            found = self._texts[name] = [item if isinstance(item, str) else None for item in raw]
        return found

    def has_gaps(self, name: SignalId) -> bool:
        """Whether a number of this signal is unknown for some instance of the machine."""
        found = self._gaps.get(name)
        if found is None:
            counter = self.census.signals[name].behavior is Behavior.COUNTER
            found = self._gaps[name] = None in (self.deltas(name) if counter else self.levels(name))
        return found

    def _can(self, column: Column) -> bool:
        signals = self.census.signals
        return all(name in signals for name in column.needs)

    def before(self, items: Sequence[T] | None, name: SignalId) -> Sequence[T | None] | None:
        """Items of the older snapshot in the newer one's order; None where there was none or the counter is new."""
        if items is None or self.older is None:
            return None
        fresh = self.newer.fresh.get(name, ())
        if self.older.topology is self.topology:
            if not fresh:
                return items
            found: list[T | None] = list(items)
        else:
            scope = self.census.signals[name].scope
            rows = (instance.row for instance in self.older.topology.instances(scope))
            place = dict(zip(rows, items, strict=True))
            found = [place.get(instance.row) for instance in self.topology.instances(scope)]
        for position in fresh:
            found[position] = None
        return found

    def _difference(self, signal: Signal) -> Numbers:
        newer = self.newer.values.get(signal.id)
        older = None if self.older is None else self.before(self.older.values.get(signal.id), signal.id)
        if newer is None or older is None:
            return [None] * len(self.topology.instances(signal.scope))
        plain: Numbers
        if signal.width_bits >= 64 and signal.low_bit == 0:
            plain = increases(older, newer, signal.scale)
        else:
            plain = [
                signal.delta(a, b, turns) for a, b, turns in zip(older, newer, self.turned(signal.id), strict=True)
            ]
            missed = self.newer.unsure.get(signal.id)
            if missed:
                plain = [None if position in missed else item for position, item in enumerate(plain)]
        if not signal.running:
            return plain
        return [
            None if value is None or not ran or enabled is None else value * enabled / ran
            for value, enabled, ran in
            zip(plain, self.deltas(signal.enabled), self.deltas(signal.running), strict=True)
        ]

    def turned(self, name: SignalId) -> Sequence[int | None]:
        """How often each instance's counter passed zero between the two snapshots; None where nobody counted."""
        newer = self.newer.turns.get(name)
        older = None if self.older is None else self.before(self.older.turns.get(name), name)
        if newer is None or older is None:
            return [None] * len(self.topology.instances(self.census.signals[name].scope))
        return [None if a is None else b - a for a, b in zip(older, newer, strict=True)]


class RowInputs:
    """`columns.Inputs` for one row of one frame."""

    __slots__ = ("_cpu", "_frame", "_row")

    def __init__(self, frame: Frame, row: RowId) -> None:
        self._frame = frame
        self._row = row
        instance = frame.topology.instance(row)
        self._cpu: int | None = instance.cpus[0] if instance is not None and instance.cpus else None

    def delta(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.delta`."""
        return self._reduced(signal, self._frame.deltas)

    def total(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.total`."""
        known = self._known(signal)
        if known is None:
            return None
        items = self._there(self._pick(self._frame.deltas(signal), known), known)
        have = [item for item in items if item is not None]
        return sum(have) if have and len(have) == len(items) else None

    def rate(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.rate`."""
        return self._reduced(signal, self._frame.rates)

    def value(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.value`."""
        return self._reduced(signal, self._frame.levels)

    def elapsed(self, signal: SignalId) -> float | None:
        """See `columns.Inputs.elapsed`."""
        known = self._known(signal)
        if known is None:
            return None
        spans = self._pick(self._frame.spans(signal), known)
        have = [span for span in spans if span is not None]
        return sum(have) / len(have) if have else None

    def text(self, signal: SignalId) -> str | None:
        """See `columns.Inputs.text`."""
        known = self._known(signal)
        if known is None:
            return None
        texts = self._frame.texts(signal)
        if not texts:
            return None
        have = set(self._pick(texts, known))
        return have.pop() if len(have) == 1 else None

    def place(self, scope: Scope) -> int | None:
        """See `columns.Inputs.place`."""
        if self._cpu is None or scope.rank < self._row.scope.rank:
            return None
        instance = self._frame.topology.instance(self._frame.topology.row(scope, self._cpu))
        return None if instance is None or instance.label < 0 else instance.label

    def each(self, scope: Scope) -> Iterable[RowInputs]:
        """See `columns.Inputs.each`."""
        frame, row = self._frame, self._row
        if row.scope.rank <= scope.rank:
            return (self,)
        instances = frame.topology.instances(scope)
        if row.scope is Scope.SYSTEM:
            return (frame.inputs(one.row) for one in instances)
        return (frame.inputs(instances[position].row) for position in frame.topology.parts(row, scope))

    def incomplete(self, signal: SignalId) -> bool:
        """Whether a number of this signal is known for some instances of the row and unknown for others."""
        known = self._known(signal)
        frame = self._frame
        if known is None or not frame.has_gaps(signal):
            return False
        items = self._pick(frame.deltas(signal) if known.behavior is Behavior.COUNTER else frame.levels(signal), known)
        items = self._there(items, known)
        return None in items and any(item is not None for item in items)

    def core_type(self) -> str | None:
        """See `columns.Inputs.core_type`."""
        if self._cpu is None or self._row.scope.rank > Scope.MODULE.rank:
            return None
        return self._frame.topology.places[self._cpu].core_type

    def _known(self, name: SignalId) -> Signal | None:
        return None if self._cpu is None else self._frame.census.signals.get(name)

    def positions(self, signal: Signal) -> Sequence[int] | None:
        """Positions of the signal's instances inside this row; None for all of them."""
        if self._row is SYSTEM_ROW or self._row.scope is Scope.SYSTEM:
            return None
        topology = self._frame.topology
        if signal.scope.rank >= self._row.scope.rank:
            if self._cpu is None:
                return ()
            return (topology.index(signal.scope, self._cpu),)
        return topology.parts(self._row, signal.scope)

    def _pick(self, items: Sequence[T], signal: Signal) -> Sequence[T]:
        positions = self.positions(signal)
        return items if positions is None else [items[position] for position in positions]

    def _there(self, items: Sequence[T], known: Signal) -> Sequence[T]:
        """Those of a row's instances that have such a counter at all."""
        if not known.absent:
            return items
        reading = self._pick(reading_cpus(known, self._frame.topology), known)
        return [item for item, cpu in zip(items, reading, strict=True) if cpu not in known.absent]

    def _reduced(self, name: SignalId, values: Callable[[SignalId], Numbers]) -> float | None:
        signal = self._known(name)
        if signal is None:
            return None
        scope = self._row.scope
        if self._cpu is not None and scope is not Scope.SYSTEM and signal.scope.rank >= scope.rank:
            # One instance, nothing to reduce: by far the most frequent case.
            return values(name)[self._frame.topology.index(signal.scope, self._cpu)]
        picked = self._pick(values(name), signal)
        have = [item for item in picked if item is not None] if None in picked else cast("Sequence[float]", picked)
        if not have:
            return None
        return have[0] if len(have) == 1 else REDUCERS[signal.reduce](have)
