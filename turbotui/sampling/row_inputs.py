"""Inputs of a formula for one row of one frame: the signals inside the row, reduced."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from turbotui.machine.topology import Instance
from turbotui.quantities.columns import INTERVAL, Inputs
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sampling.arithmetic import Numbers, common, reduced
from turbotui.sampling.interval import Interval
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.sweep import each_row


class RowInputs:
    """`columns.Inputs` for one row of one frame.

    Args:
        left_out: CPUs that are excluded from reductions because another signal of the formula is unknown there: a sum
            over them divided by a sum without them would be meaningless.
        increases: increases over all CPUs of the row that its formulas have asked for; ten formulas divide by the same.
    """

    __slots__ = ("_cpu", "_frame", "_increases", "_left_out", "_row")

    def __init__(self, frame: Interval, row: RowId, left_out: frozenset[int] = frozenset(),
                 increases: dict[SignalId, float | None] | None = None) -> None:
        self._frame = frame
        self._row = row
        self._left_out = left_out
        self._increases = {} if increases is None else increases
        instance = frame.topology.instance(row)
        self._cpu: int | None = instance.cpus[0] if instance is not None and instance.cpus else None

    def offers(self, signal: SignalId) -> bool:
        known = self._known(signal)
        if known is None or not known.absent:
            return known is not None
        reading, inside = reading_cpus(known, self._frame.topology), self.positions(known)
        cpus = reading if inside is None else [reading[position] for position in inside]
        return not known.absent.keys() >= set(cpus)

    def delta(self, signal: SignalId) -> float | None:
        if signal in self._increases:
            return self._increases[signal]
        value = self._increases[signal] = self._reduced(signal, self._frame.whole_delta, self._frame.deltas_at)
        return value

    def total(self, signal: SignalId) -> float | None:
        if (known := self._known(signal)) is None:
            return None
        items = self._there(self._picked(signal, known, self._frame.deltas, self._frame.deltas_at), known)
        have = [item for item in items if item is not None]
        return math.fsum(have) if have and len(have) == len(items) else None

    def rate(self, signal: SignalId) -> float | None:
        return self._reduced(signal, self._frame.whole_rate, self._frame.rates_at)

    def total_rate(self, signal: SignalId) -> float | None:
        if (known := self._known(signal)) is None:
            return None
        items = self._there(self._picked(signal, known, self._frame.rates, self._frame.rates_at), known)
        have = [item for item in items if item is not None]
        return math.fsum(have) if have and len(have) == len(items) else None

    def together(self, *signals: SignalId) -> bool:
        if first := self._frame.one_clock(signals):
            return self.window(first) is not None
        windows = [self.window(signal) for signal in signals if self._known(signal) is not None]
        return common(windows) is not None

    def window(self, signal: SignalId) -> float | None:
        """Seconds between the two readings of a counter; None unless the same for all its instances in the row."""
        if (known := self._known(signal)) is None:
            return None
        if (positions := self.positions(known)) is None:
            return self._frame.whole_window(signal)
        return common(self._frame.spans_at(signal, positions))

    def unread(self, signal: SignalId) -> bool:
        """Whether no instance of a signal in the row was read."""
        known = self._known(signal)
        positions = None if known is None else self.positions(known)
        return known is not None and all(
            self._frame.unread(signal) if positions is None else self._frame.unread_at(signal, positions))

    def value(self, signal: SignalId) -> float | None:
        return self._reduced(signal, self._frame.whole_level, self._frame.levels_at)

    def elapsed(self, signal: SignalId) -> float | None:
        if signal == INTERVAL:
            return self._frame.seconds
        if (known := self._known(signal)) is None:
            return None
        spans = self._picked(signal, known, self._frame.spans, self._frame.spans_at)
        have = [span for span in spans if span is not None]
        return math.fsum(have) / len(have) if have else None

    def text(self, signal: SignalId) -> str | None:
        if (known := self._known(signal)) is None or not (texts := self._frame.texts(signal)):
            return None
        positions = self.positions(known)
        have = set(texts if positions is None else [texts[position] for position in positions])
        return have.pop() if len(have) == 1 else None

    def place(self, scope: Scope) -> int | None:
        if self._cpu is None or scope.rank < self._row.scope.rank:
            return None
        instance = self._frame.topology.instance(self._frame.topology.row(scope, self._cpu))
        return None if instance is None or instance.label < 0 else instance.label

    def each(self, scope: Scope) -> Iterable[Inputs]:
        """Inputs of each instance; for the whole machine, each is valid until the next one is taken."""
        frame, row = self._frame, self._row
        if row.scope.rank <= scope.rank:
            return (self,)
        if row.scope is Scope.SYSTEM:
            return (inputs for _, inputs in each_row(frame, scope))
        instances = frame.topology.instances(scope)
        return (frame.inputs(instances[position].row) for position in frame.topology.parts(row, scope))

    def incomplete(self, signal: SignalId) -> bool:
        """Whether a signal is known for some instances of the row and unknown for others, or for CPUs that left."""
        items = self._with_gaps(signal)
        return 0 < items.count(None) < len(items)

    def lost(self, signal: SignalId) -> bool:
        """Whether a signal is unknown for some instance of the row that has it."""
        return None in self._with_gaps(signal)

    def _with_gaps(self, signal: SignalId) -> Numbers:
        """The numbers of the instances in the row that have a signal; nothing if the whole machine has no gap."""
        known = self._known(signal)
        frame = self._frame
        if known is None or not frame.has_gaps(signal):
            return ()
        if known.behavior is not Behavior.COUNTER:
            return self._there(self._picked(signal, known, frame.levels, frame.levels_at), known)
        there = self._there(self._picked(signal, known, frame.deltas, frame.deltas_at), known)
        departed = self.departed(signal)
        return [*there, *[None] * len(departed)] if departed else there

    def departed(self, signal: SignalId) -> Sequence[Instance]:
        """The instances of a counter that left the row in this interval."""
        departed, older = self._frame.departed(signal), self._frame.older
        if not departed or older is None:
            return ()
        row = older.topology.instance(self._row)
        return [] if row is None else [instance for instance in departed if instance.cpus[0] in row.cpus]

    def core_type(self) -> str | None:
        if self._cpu is None or self._row.scope.rank > Scope.MODULE.rank:
            return None
        return self._frame.topology.places[self._cpu].core_type

    def _known(self, name: SignalId) -> Signal | None:
        return None if self._cpu is None else self._frame.capabilities.signals.get(name)

    def positions(self, signal: Signal) -> Sequence[int] | None:
        """Positions of the signal's instances inside this row; None for all of them."""
        if self._row.scope is Scope.SYSTEM:
            return None
        topology = self._frame.topology
        if signal.scope.rank >= self._row.scope.rank:
            return () if self._cpu is None else (topology.index(signal.scope, self._cpu),)
        return topology.parts(self._row, signal.scope)

    def _picked(self, name: SignalId, signal: Signal, whole: Callable[[SignalId], Numbers],
                at: Callable[[SignalId, Sequence[int]], Numbers]) -> Numbers:
        positions = self.positions(signal)
        return whole(name) if positions is None else at(name, positions)

    def differs(self, signal: SignalId) -> bool:
        """Whether a signal whose instances must agree has several values in this row."""
        known = self._known(signal)
        if known is None or known.reduce is not Reduce.SAME or known.behavior is not Behavior.GAUGE:
            return False
        positions, texts = self.positions(known), self._frame.texts(signal)
        values = texts if any(texts) else self._frame.levels(signal)
        return len(set(values if positions is None else [values[position] for position in positions])) > 1

    def unknown_part(self, signal: SignalId) -> int | None:
        """The position of the unknown part that makes a sum unknown; None for other signals.

        A row's energy is the energy of all its parts: the sum without a package that did not answer would be wrong.
        """
        known = self._known(signal)
        if known is None or known.unit is not Unit.JOULE or known.reduce is not Reduce.SUM:
            return None
        return self.missing_part(signal)

    def missing_part(self, signal: SignalId) -> int | None:
        """The position of the first instance in the row without a number, if other instances have one."""
        known = self._known(signal)
        if known is None or not self.incomplete(signal):
            return None
        items = self._frame.deltas(signal) if known.behavior is Behavior.COUNTER else self._frame.levels(signal)
        inside, reading = self.positions(known), reading_cpus(known, self._frame.topology)
        return next((at for at in (range(len(items)) if inside is None else inside)
                     if items[at] is None and reading[at] not in known.absent), None)

    def _taking_part(self, signal: Signal, positions: Sequence[int] | None) -> Sequence[int] | None:
        """The instances of a signal that contain a CPU which is not left out."""
        if signal.scope is Scope.SYSTEM:
            return positions
        instances = self._frame.topology.instances(signal.scope)
        inside = range(len(instances)) if positions is None else positions
        return [position for position in inside if not self._left_out.issuperset(instances[position].cpus)]

    def _there(self, items: Numbers, known: Signal) -> Numbers:
        """The instances of a row that have this counter at all."""
        if not known.absent:
            return items
        reading = reading_cpus(known, self._frame.topology)
        positions = self.positions(known)
        cpus = reading if positions is None else [reading[position] for position in positions]
        return [item for item, cpu in zip(items, cpus, strict=True) if cpu not in known.absent]

    def _reduced(self, name: SignalId, whole: Callable[[SignalId], float | None],
                 at: Callable[[SignalId, Sequence[int]], Numbers]) -> float | None:
        if (signal := self._frame.capabilities.signals.get(name)) is None or self._cpu is None:
            return None
        positions = self.positions(signal)
        if self._left_out:
            positions = self._taking_part(signal, positions)
        if signal.unit is Unit.JOULE and self.unknown_part(name) is not None:
            return None
        if positions is None:
            return whole(name)
        return reduced(at(name, positions), signal.reduce)


class WatchedTotals(RowInputs):
    """`RowInputs` that record which totals a formula could not get; the arguments are those of `RowInputs`.

    Attributes:
        lacking: the signals of those totals.
    """

    __slots__ = ("lacking",)

    def __init__(self, frame: Interval, row: RowId, left_out: frozenset[int]) -> None:
        super().__init__(frame, row, left_out)
        self.lacking: list[SignalId] = []

    def total(self, signal: SignalId) -> float | None:
        return self._noted(signal, super().total(signal))

    def total_rate(self, signal: SignalId) -> float | None:
        return self._noted(signal, super().total_rate(signal))

    def _noted(self, signal: SignalId, value: float | None) -> float | None:
        if value is None:
            self.lacking.append(signal)
        return value
