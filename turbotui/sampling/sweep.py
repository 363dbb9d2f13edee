"""Compute one column for many rows at once, as a screenful of cells, sorting and histories need every interval.

The numbers are the same as row by row; they come from lists that are put in row order once, not from look-ups for each
cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import NoReturn, TypeVar, cast

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Instance, Topology
from turbotui.quantities.bulk import BulkNumbers, RowsDifferError
from turbotui.quantities.columns import ColumnId, CounterColumn, Inputs, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sampling.arithmetic import Numbers, common
from turbotui.sampling.interval import Interval, TimedInputs

T = TypeVar("T")
_MANY = 6
"""Number of rows from which it pays to try a formula on all rows at once."""


@dataclass(slots=True)
class _Owners:
    """The instances of one scope that own the values of some rows, with their signals in that order."""

    scope: Scope
    instances: Sequence[Instance]  # every instance once
    positions: Sequence[int] | None  # positions of the instances in their scope; None if they are the whole scope
    # index in `instances` for each row, -1 for a row that is coarser or does not exist; None if the rows are the
    # instances
    places: Sequence[int] | None
    # deltas, rates, values, windows, texts: of signals, as far as computed
    deltas: dict[SignalId, Numbers] = field(default_factory=dict)
    rates: dict[SignalId, Numbers] = field(default_factory=dict)
    values: dict[SignalId, Numbers] = field(default_factory=dict)
    windows: dict[SignalId, Numbers] = field(default_factory=dict)
    texts: dict[SignalId, Sequence[str | None]] = field(default_factory=dict)
    # for signals that are divided by each other, whether each instance's were read together
    together: dict[tuple[SignalId, ...], Sequence[bool]] = field(default_factory=dict)
    # scope -> positions of the instances of that scope that contain these
    around: dict[Scope, Sequence[int]] = field(default_factory=dict)
    # the rows whose values are shown, each once, with the index at which each is shown first
    first: tuple[tuple[RowId, ...], tuple[int, ...]] | None = None


class Selection:
    """Rows of one frame that are asked for together, column after column.

    A selection receives the frame as an argument and does not hold it, so that no cycle keeps frames.
    """

    __slots__ = ("_cells", "_owners", "_whole", "rows")

    def __init__(self, rows: tuple[RowId, ...], *, whole: bool = False) -> None:
        """Make a selection; `whole` says that the rows are all rows of their level, in topology order."""
        self.rows = rows
        self._whole = whole
        self._owners: dict[Scope, _Owners] = {}
        self._cells: dict[ColumnId, Sequence[Value]] = {}

    def cells(self, frame: Interval, column: CounterColumn) -> Sequence[Value]:
        """The cells of a column, in the order of the rows."""
        if (cells := self._cells.get(column.id)) is None:
            cells = self._cells[column.id] = self._compute(frame, column)
        return cells

    def at_owners(self, frame: Interval, column: CounterColumn) -> tuple[Sequence[RowId], Sequence[Value]]:
        """The rows whose values the cells show, each once, with these values."""
        cells = self.cells(frame, column)
        owners = self._owners.get(column.scope)
        if owners is None or owners.places is None:
            return self.rows, cells
        if owners.first is None:
            seen: dict[RowId, int] = {}
            for at, (row, place) in enumerate(zip(self.rows, owners.places, strict=True)):
                if place >= 0 or frame.topology.instance(row) is not None:
                    seen.setdefault(row if place < 0 else owners.instances[place].row, at)
            owners.first = (tuple(seen), tuple(seen.values()))
        rows, first = owners.first
        return rows, [cells[at] for at in first]

    def known(self, column: ColumnId) -> Sequence[Value] | None:
        """The cells of a column if they have been computed before."""
        return self._cells.get(column)

    def _compute(self, frame: Interval, column: CounterColumn) -> Sequence[Value]:
        if column.whole_only or not frame.can(column):
            return [frame.cell(column, row) for row in self.rows]
        owners = self._owners.get(column.scope) or self._owners_in(frame.topology, column.scope)
        values = self._at_owners(frame, column, owners)
        if owners.places is None:
            return values
        return [frame.cell(column, row) if place < 0 else values[place]
                for row, place in zip(self.rows, owners.places, strict=True)]

    @staticmethod
    def _at_owners(frame: Interval, column: CounterColumn, owners: _Owners) -> Sequence[Value]:
        if owners.positions is not None and (level := frame.known_level(column)) is not None:
            return [level[position] for position in owners.positions]
        sweep, compute, count = Sweep(frame, owners), column.compute, len(owners.instances)
        if isinstance(compute, ValueOf):
            return compute.every(sweep)
        if count >= _MANY:
            try:
                computed: object = compute(BulkInputs(sweep))
            except (RowsDifferError, TypeError, ZeroDivisionError):
                pass  # row by row: mistakes in the formula itself show up there
            else:
                every = computed.items if isinstance(computed, BulkNumbers) else [computed] * count
                return cast("Sequence[Value]", every)
        values: list[Value] = []
        for at in range(count):
            sweep.at = at
            values.append(compute(sweep))
        return values

    def unread(self, frame: Interval, column: CounterColumn) -> Sequence[bool]:
        """Whether the first of a column's signals without a number was not read; false for rows to be looked at alone.

        The column has no refusal of its own, and the machine has every signal that it needs.
        """
        owners = self._owners_in(frame.topology, column.scope)
        sweep, signals = Sweep(frame, owners), frame.capabilities.signals
        unread, known = [False] * len(owners.instances), [True] * len(owners.instances)
        for name in column.needs:
            unread = [before or (so_far and now) for before, so_far, now in
                      zip(unread, known, sweep.every_unread(name), strict=True)]
            counter = signals[name].behavior is Behavior.COUNTER
            numbers = sweep.every_delta(name) if counter else sweep.every_value(name)
            known = [so_far and number is not None for so_far, number in zip(known, numbers, strict=True)]
        return unread if owners.places is None else [place >= 0 and unread[place] for place in owners.places]

    def _owners_in(self, topology: Topology, scope: Scope) -> _Owners:
        if (owners := self._owners.get(scope)) is None:
            owners = self._owners[scope] = self._find(topology, scope)
        return owners

    def _find(self, topology: Topology, scope: Scope) -> _Owners:
        everything = topology.instances(scope)
        if self._whole and self.rows and self.rows[0].scope is scope:
            return _Owners(scope, everything, None, None)
        places: list[int] = []
        at: dict[int, int] = {}
        for row in self.rows:
            instance = topology.instance(row) if row.scope.rank <= scope.rank else None
            if instance is None or not instance.cpus:
                places.append(-1)
                continue
            places.append(at.setdefault(topology.index(scope, instance.cpus[0]), len(at)))
        positions = tuple(at)
        return _Owners(scope, [everything[position] for position in positions], positions, places)


def each_row(frame: Interval, scope: Scope) -> Iterator[tuple[RowId, Inputs]]:
    """Yield the inputs of every row of a level; each is valid until the next is taken."""
    instances = frame.topology.instances(scope)
    sweep = Sweep(frame, _Owners(scope, instances, None, None))
    for sweep.at, instance in enumerate(instances):
        yield instance.row, sweep


class Sweep:
    """`columns.Inputs` that moves from one instance of a level to the next.

    Attributes:
        at: index of the current instance.
    """

    __slots__ = ("_deltas", "_frame", "_owners", "_rates", "_together", "_values", "at")

    def __init__(self, frame: Interval, owners: _Owners) -> None:
        self.at = 0
        self._frame = frame
        self._owners = owners
        self._deltas = owners.deltas
        self._rates = owners.rates
        self._values = owners.values
        self._together = owners.together

    def offers(self, signal: SignalId) -> bool:
        return self._frame.inputs(self._row).offers(signal)

    def delta(self, signal: SignalId) -> float | None:
        known = self._deltas.get(signal)
        return (self.every_delta(signal) if known is None else known)[self.at]

    def rate(self, signal: SignalId) -> float | None:
        known = self._rates.get(signal)
        return (self.every_rate(signal) if known is None else known)[self.at]

    def value(self, signal: SignalId) -> float | None:
        known = self._values.get(signal)
        return (self.every_value(signal) if known is None else known)[self.at]

    def every_delta(self, signal: SignalId) -> Numbers:
        """`delta` of each row."""
        frame = self._frame
        return self._kept(self._deltas, signal, frame.deltas, frame.deltas_at, lambda row: row.delta(signal))

    def every_rate(self, signal: SignalId) -> Numbers:
        """`rate` of each row."""
        frame = self._frame
        return self._kept(self._rates, signal, frame.rates, frame.rates_at, lambda row: row.rate(signal))

    def every_value(self, signal: SignalId) -> Numbers:
        """`value` of each row."""
        frame = self._frame
        return self._kept(self._values, signal, frame.levels, frame.levels_at, lambda row: row.value(signal))

    def every_unread(self, signal: SignalId) -> Sequence[bool]:
        """Whether no instance of a signal in each row was read."""
        frame = self._frame
        return list(map(bool, self._spread(signal, frame.unread, frame.unread_at, lambda row: row.unread(signal))))

    def constant(self, signal: SignalId) -> bool:
        """Whether a signal has one value in all rows, held by the signal itself."""
        known = self._frame.capabilities.signals.get(signal)
        return known is not None and known.behavior is Behavior.CONSTANT and (
            known.scope.rank >= self._owners.scope.rank)

    def total(self, signal: SignalId) -> float | None:
        return self._frame.inputs(self._row).total(signal)

    def total_rate(self, signal: SignalId) -> float | None:
        return self._frame.inputs(self._row).total_rate(signal)

    def together(self, *signals: SignalId) -> bool:
        return self.every_together(signals)[self.at]

    def every_together(self, signals: tuple[SignalId, ...]) -> Sequence[bool]:
        """`together` of each row."""
        if (known := self._together.get(signals)) is None:
            known = self._together[signals] = self._compared(signals)
        return known

    def text(self, signal: SignalId) -> str | None:
        return self.every_text(signal)[self.at]

    def every_text(self, signal: SignalId) -> Sequence[str | None]:
        """`text` of each row."""
        frame = self._frame
        return self._kept(self._owners.texts, signal, frame.texts, frame.texts_at, lambda row: row.text(signal))

    def elapsed(self, signal: SignalId) -> float | None:
        return self._frame.inputs(self._row).elapsed(signal)

    def place(self, scope: Scope) -> int | None:
        return self._frame.inputs(self._row).place(scope)

    def each(self, scope: Scope) -> Iterable[Inputs]:
        return (self,) if self._owners.scope.rank <= scope.rank else self._frame.inputs(self._row).each(scope)

    def core_type(self) -> str | None:
        return self._frame.inputs(self._row).core_type()

    @property
    def _row(self) -> RowId:
        return self._owners.instances[self.at].row

    def _kept(self, known: dict[SignalId, Sequence[T | None]], name: SignalId,
              whole: Callable[[SignalId], Sequence[T | None]],
              at: Callable[[SignalId, Sequence[int]], Sequence[T | None]],
              reduced: Callable[[TimedInputs], T | None]) -> Sequence[T | None]:
        """What `_spread` gives, once for each signal."""
        if (values := known.get(name)) is None:
            values = known[name] = self._spread(name, whole, at, reduced)
        return values

    def _spread(self, name: SignalId, whole: Callable[[SignalId], Sequence[T | None]],
                at: Callable[[SignalId, Sequence[int]], Sequence[T | None]],
                reduced: Callable[[TimedInputs], T | None]) -> Sequence[T | None]:
        """The values of a signal in row order: in its own order, from the instances around the rows, or reduced."""
        signal, owners = self._frame.capabilities.signals.get(name), self._owners
        if signal is None:
            return [None] * len(owners.instances)
        if signal.scope is owners.scope:
            return whole(name) if owners.positions is None else at(name, owners.positions)
        if signal.scope.rank > owners.scope.rank:
            around = owners.around.get(signal.scope)
            if around is None:
                index, scope = self._frame.topology.index, signal.scope
                around = owners.around[scope] = [index(scope, instance.cpus[0]) for instance in owners.instances]
            return at(name, around)
        return [reduced(self._frame.inputs(instance.row)) for instance in owners.instances]

    def _compared(self, signals: tuple[SignalId, ...]) -> Sequence[bool]:
        """Whether each instance's counters were read together."""
        frame = self._frame
        columns = [self._windows(name) for name in signals if name in frame.capabilities.signals]
        if not columns:
            return [False] * len(self._owners.instances)
        if None not in columns[0] and all(column is columns[0] or column == columns[0] for column in columns):
            return [True] * len(self._owners.instances)
        return [common(windows) is not None for windows in zip(*columns, strict=True)]

    def _windows(self, name: SignalId) -> Numbers:
        """Seconds between the two readings of a counter for each instance; None if they differ inside the instance."""
        frame = self._frame
        return self._kept(self._owners.windows, name, frame.spans, frame.spans_at, lambda row: row.window(name))


@dataclass(frozen=True, slots=True)
class ValueOf:
    """The `compute` of a column that is a signal: a counter's increase, a gauge's or constant's value, or a text.

    Formulas are computed row by row where only some rows have a number; this is not.
    """

    signal: Signal

    def __call__(self, row: Inputs) -> Value:
        name = self.signal.id
        if self.signal.unit is Unit.TEXT:
            return row.text(name)
        return row.delta(name) if self.signal.behavior is Behavior.COUNTER else row.value(name)

    def every(self, sweep: Sweep) -> Sequence[Value]:
        """The values of all rows."""
        name = self.signal.id
        if self.signal.unit is Unit.TEXT:
            return sweep.every_text(name)
        return sweep.every_delta(name) if self.signal.behavior is Behavior.COUNTER else sweep.every_value(name)


class BulkInputs:
    """`columns.Inputs` of all rows of a sweep at once, which returns `BulkNumbers`.

    Raises:
        RowsDifferError: raised by every method if only some rows have a number, or if a single row is asked for.
    """

    __slots__ = ("_sweep",)

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep

    def delta(self, signal: SignalId) -> float | None:
        return _bulk(self._sweep.every_delta(signal))

    def rate(self, signal: SignalId) -> float | None:
        return _bulk(self._sweep.every_rate(signal))

    def value(self, signal: SignalId) -> float | None:
        values = self._sweep.every_value(signal)
        return values[0] if self._sweep.constant(signal) else _bulk(values)

    def together(self, *signals: SignalId) -> bool:
        answers = self._sweep.every_together(signals)
        first = answers[0]
        if answers.count(first) != len(answers):
            raise RowsDifferError
        return first

    def text(self, signal: SignalId) -> str | None:
        texts = self._sweep.every_text(signal)
        if texts.count(texts[0]) != len(texts):
            raise RowsDifferError
        return texts[0]

    def _refused(self, *_asked: object) -> NoReturn:
        """A row's own."""
        raise RowsDifferError

    offers = total = total_rate = elapsed = place = each = core_type = _refused


def _bulk(items: Numbers) -> float | None:
    if None not in items:
        return cast("float", BulkNumbers(cast("Sequence[float]", items)))
    if any(item is not None for item in items):
        raise RowsDifferError
    return None
