"""Where a cell comes from: its arithmetic over the readings of one interval, and each raw reading."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import CounterColumn, Inputs, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.traced import Number, ReadingKind, Term, Traced, TracedOperation, TracedReading, readings_of
from turbotui.sampling.frame import Frame
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.row_inputs import RowInputs

_WORDS = {Reduce.SUM: "Σ", Reduce.MEAN: "mean ", Reduce.MAX: "max ", Reduce.MIN: "min ", Reduce.UNION: "all bits of "}


@dataclass(frozen=True, slots=True)
class CellArithmetic:
    """A cell with its arithmetic."""

    cell: Value  # as in the frame
    term: Term | None  # the arithmetic; None for texts, ids and unknown values
    numbers: dict[TracedReading, float]  # the number of every reading in the term

    @property
    def signals(self) -> frozenset[SignalId]:
        """The signals whose readings the term contains."""
        return frozenset() if self.term is None else frozenset(reading.signal for reading in readings_of(self.term))


@dataclass(frozen=True, slots=True)
class EvidencePart:
    """One instance's part in a reading."""

    row: RowId  # the instance
    cpu: int  # the CPU that read it or, if one read covers all CPUs, the CPU that it belongs to
    alone: bool  # whether that CPU read only its own value
    value: float | None  # SI; the increase of a counter, the value of a gauge; None if unknown, and for texts
    # the value computed from the raw words by the signal's scale and width; None if it is the raw word
    term: Term | None
    # older, newer: raw words at the ends of the interval, exactly as read; a gauge has only the newer
    older: Raw
    newer: Raw
    stamp_ns: int  # host monotonic clock at the middle of the newer reading; 0 without a reading
    seconds: float | None  # between the two readings of a counter


@dataclass(frozen=True, slots=True)
class Evidence:
    """One signal's part in a cell: what was read, where, and the resulting value."""

    signal: Signal
    label: str  # its name in the formula
    source: str  # title of the chosen source
    others: tuple[tuple[str, str], ...]  # usable sources that come next, with what they would read
    value: float | None  # reduced to the row; None if unknown, and for texts
    count: int  # instances inside the row
    parts: tuple[EvidencePart, ...]  # the first of these instances


class TracedInputs:
    """`columns.Inputs` of one row of a column, whose numbers remember their origin."""

    def __init__(self, frame: Frame, column: CounterColumn, row: RowId) -> None:
        self._frame = frame
        self._inputs: RowInputs = frame.inputs_of(column, row)
        self._row = row
        self.numbers: dict[TracedReading, float] = {}

    def offers(self, signal: SignalId) -> bool:
        return self._inputs.offers(signal)

    def delta(self, signal: SignalId) -> float | None:
        return self._traced(signal, ReadingKind.DELTA, self._inputs.delta(signal), self._reduced(signal, f"Δ{signal}"))

    def total(self, signal: SignalId) -> float | None:
        label = f"ΣΔ{signal}" if self._count(signal) > 1 else f"Δ{signal}"
        return self._traced(signal, ReadingKind.TOTAL, self._inputs.total(signal), label)

    def rate(self, signal: SignalId) -> float | None:
        if self._count(signal) == 1:
            increase, seconds = self.delta(signal), self.elapsed(signal)
            return None if increase is None or not seconds else increase / seconds
        label = self._reduced(signal, f"(Δ{signal} / interval)")
        return self._traced(signal, ReadingKind.RATE, self._inputs.rate(signal), label)

    def total_rate(self, signal: SignalId) -> float | None:
        if self._count(signal) == 1:
            increase, seconds = self.total(signal), self.elapsed(signal)
            return None if increase is None or not seconds else increase / seconds
        label = f"Σ(Δ{signal} / interval)"
        return self._traced(signal, ReadingKind.TOTAL_RATE, self._inputs.total_rate(signal), label)

    def together(self, *signals: SignalId) -> bool:
        return self._inputs.together(*signals)

    def value(self, signal: SignalId) -> float | None:
        return self._traced(signal, ReadingKind.VALUE, self._inputs.value(signal), self._reduced(signal, signal))

    def elapsed(self, signal: SignalId) -> float | None:
        return self._traced(signal, ReadingKind.ELAPSED, self._inputs.elapsed(signal), "interval")

    def text(self, signal: SignalId) -> str | None:
        return self._inputs.text(signal)

    def place(self, scope: Scope) -> int | None:
        return self._inputs.place(scope)

    def core_type(self) -> str | None:
        return self._inputs.core_type()

    def each(self, scope: Scope) -> Iterable[Inputs]:
        """Inputs of each instance as plain numbers: the arithmetic of many rows would be a line of many terms."""
        return (self,) if self._row.scope.rank <= scope.rank else self._inputs.each(scope)

    def _traced(self, signal: SignalId, kind: ReadingKind, value: float | None, label: str) -> float | None:
        if value is None:
            return None
        reading = TracedReading(signal, kind, label)
        self.numbers[reading] = value
        return Traced(value, reading)

    def _count(self, name: SignalId) -> int:
        signal = self._frame.capabilities.signals.get(name)
        return 0 if signal is None else len(_places(self._frame, self._inputs, signal))

    def _reduced(self, name: SignalId, label: str) -> str:
        if self._count(name) <= 1:
            return label
        return _WORDS.get(self._frame.capabilities.signals[name].reduce, "") + label


def cell_arithmetic(frame: Frame, column: CounterColumn, row: RowId) -> CellArithmetic:
    """Compute a cell again and record its arithmetic.

    Args:
        row: of the cell; a row finer than the column's scope has the value of the instance that contains it.
    """
    cell = frame.cell(column, row)
    home = frame.home(column, row)
    if cell is None or isinstance(cell, str) or home is None:
        return CellArithmetic(cell, None, {})
    inputs = TracedInputs(frame, column, home)
    value = column.compute(inputs)
    return CellArithmetic(cell, value.term, inputs.numbers) if isinstance(value, Traced) else CellArithmetic(cell,
                                                                                                             None, {})


def evidence(frame: Frame, column: CounterColumn, row: RowId, *, most: int = 4) -> tuple[Evidence, ...]:
    """The signals behind a cell with what was read in this interval, in `most` instances each."""
    if (home := frame.home(column, row)) is None:
        return ()
    names = (name for name in (*column.needs, *column.wants) if name in frame.capabilities.signals)
    return tuple(_evidence(frame, column, frame.capabilities.signals[name], home, most) for name in names)


def _evidence(frame: Frame, column: CounterColumn, signal: Signal, row: RowId, most: int) -> Evidence:
    inputs, traced = frame.inputs_of(column, row), TracedInputs(frame, column, row)
    places = _places(frame, inputs, signal)
    counter = signal.behavior is Behavior.COUNTER
    (traced.delta if counter else traced.value)(signal.id)
    label = next((reading.label for reading in traced.numbers), f"Δ{signal.id}" if counter else signal.id)
    chosen = frame.capabilities.provider[signal.id]
    probes = [(source, frame.capabilities.probes.get(source.id)) for source in frame.capabilities.sources]
    others = [(source.title, entry.origin) for source, probe in probes if source is not chosen and probe is not None
              and isinstance(entry := probe.signals.get(signal.id), Signal)]
    return Evidence(signal=signal, label=label, source=chosen.title, others=tuple(others),
                    value=inputs.delta(signal.id) if counter else inputs.value(signal.id), count=len(places),
                    parts=tuple(_parts(frame, signal, places[:most])))


def _places(frame: Frame, inputs: RowInputs, signal: Signal) -> Sequence[int]:
    places = inputs.positions(signal)
    return range(len(frame.topology.instances(signal.scope))) if places is None else places


def _parts(frame: Frame, signal: Signal, places: Sequence[int]) -> Iterator[EvidencePart]:
    newer = frame.newer
    instances = frame.topology.instances(signal.scope)
    constant = signal.behavior is Behavior.CONSTANT
    counter = signal.behavior is Behavior.COUNTER
    alone = not constant and not frame.capabilities.provider[signal.id].shared
    cpus = reading_cpus(signal, frame.topology)
    now = newer.values.get(signal.id, ())
    before = frame.older_values(signal.id) if counter else None
    stamps = newer.stamps.get(signal.id, ())
    for at in places:
        last: Raw = signal.constant if constant else now[at] if now else None
        first: Raw = before[at] if before is not None else None
        value = frame.deltas(signal.id)[at] if counter else frame.levels(signal.id)[at]
        term = None if value is None else _term(frame, signal, at, value, (first, last))
        yield EvidencePart(row=instances[at].row, cpu=cpus[at], alone=alone, value=value, term=term, older=first,
            newer=last, stamp_ns=stamps[at] if stamps else 0, seconds=frame.spans(signal.id)[at] if counter else None)


def _term(frame: Frame, signal: Signal, at: int, value: float, raws: tuple[Raw, Raw]) -> Term | None:
    """A part's arithmetic; None if it is the raw word."""
    if signal.made_of:
        parts = [frame.deltas(name)[at] or 0.0 for name in signal.made_of]
        if not math.isclose(math.fsum(parts), value):
            return Number(value)  # the interval itself
        terms: list[Term] = [Number(part) for part in parts]
        return reduce(lambda first, second: TracedOperation("+", (first, second)), terms)
    return _increase(frame, signal, at, *raws) if signal.behavior is Behavior.COUNTER else _level(signal, raws[1])


def _level(signal: Signal, raw: Raw) -> Term | None:
    """A gauge or constant: offset + scale x field (signals.Signal)."""
    if not isinstance(raw, int):
        return None
    field = raw if signal.width_bits >= 64 and signal.low_bit == 0 else signal.bits(raw)
    if signal.scale == 1.0 and not signal.offset:
        return None if field == raw else Number(field)
    if signal.scale == -1.0:
        return TracedOperation("-", (Number(signal.offset), Number(field)))
    scaled: Term = Number(field) if signal.scale == 1.0 else TracedOperation("*", (Number(field), Number(signal.scale)))
    return TracedOperation("+", (Number(signal.offset), scaled)) if signal.offset else scaled


def _increase(frame: Frame, signal: Signal, at: int, first: Raw, last: Raw) -> Term | None:
    """A counter: (newer - older, and what passed zero between them) x scale x enabled / running (signals.Signal)."""
    if not isinstance(first, int) or not isinstance(last, int):
        return None
    term: Term
    if signal.width_bits >= 64:
        term = TracedOperation("-", (Number(last), Number(first)))
    else:
        fields = (Number(signal.bits(last)), Number(signal.bits(first)))
        term = TracedOperation("-", fields)
        wraps = frame.wrapped(signal.id)[at]
        passed = int(fields[0].value < fields[1].value) if wraps is None else wraps
        if passed:
            around: Term = Number(signal.size) if passed == 1 else TracedOperation(
                "*", (Number(passed), Number(signal.size)))
            term = TracedOperation("+", (term, around))
    if signal.scale != 1.0:
        term = TracedOperation("*", (term, Number(signal.scale)))
    if signal.running:
        enabled, running = frame.deltas(signal.enabled)[at], frame.deltas(signal.running)[at]
        if enabled is not None and running and enabled != running:
            term = TracedOperation("/", (TracedOperation("*", (term, Number(enabled))), Number(running)))
    return term
