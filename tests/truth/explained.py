"""Formulas that were written for people, worked out again from their text."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping

from turbotui.quantities.columns import CounterColumn, Inputs, Value
from turbotui.quantities.expressions import parse_expression
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.traced import ReadingKind
from turbotui.sampling.frame import Frame

_THOUSANDS = re.compile(r"(?<=\d),(?=\d)")


@functools.cache  # columns of one signal share readings, and so do a machine's rows
def value_of(text: str) -> float:
    """Evaluate a line of numbers: "100 x 1,000 / (2,000 x 1.004)"."""
    plain = _THOUSANDS.sub("", text).replace(" x ", " * ")
    whole = plain.startswith("trunc(")
    value = parse_expression(plain.removeprefix("trunc")).evaluate({})
    assert value is not None, text
    return math.trunc(value) if whole else value


def some_rows(frame: Frame) -> Iterator[RowId]:
    """Return the first and last row of each level, including the whole machine."""
    for scope in Scope:
        rows = frame.rows(scope)
        yield from dict.fromkeys((rows[0], rows[-1]))


def same(column: CounterColumn, cell: Value, value: float) -> bool:
    """Whether a value is what the cell shows; a rounded cell is the rounded value."""
    assert isinstance(cell, float | int), (column.id, cell)
    if isinstance(cell, int) or column.decimals == 0:
        return abs(cell - value) <= 0.5 + 1e-6
    return abs(cell - value) <= 1e-9 * abs(cell) + 1e-8


class Numbers:
    """`columns.Inputs` of given numbers, and nothing else."""

    def __init__(self, numbers: Mapping[tuple[SignalId, ReadingKind], float]) -> None:
        self._numbers = numbers

    def delta(self, signal: SignalId) -> float | None:
        return self._numbers.get((signal, ReadingKind.DELTA))

    def total(self, signal: SignalId) -> float | None:
        return self._numbers.get((signal, ReadingKind.TOTAL))

    def rate(self, signal: SignalId) -> float | None:
        result = self._numbers.get((signal, ReadingKind.RATE))
        increase, seconds = self.delta(signal), self.elapsed(signal)
        return result if increase is None or not seconds else increase / seconds

    def total_rate(self, signal: SignalId) -> float | None:
        result = self._numbers.get((signal, ReadingKind.TOTAL_RATE))
        increase, seconds = self.total(signal), self.elapsed(signal)
        return result if increase is None or not seconds else increase / seconds

    def offers(self, signal: SignalId) -> bool:
        return any(name == signal for name, _kind in self._numbers)

    def together(self, *signals: SignalId) -> bool:
        return not any((signal, kind) in self._numbers for signal in signals
                       for kind in (ReadingKind.RATE, ReadingKind.TOTAL_RATE, ReadingKind.ELAPSED))

    def each(self, scope: Scope) -> Iterator[Inputs]:
        yield self

    def value(self, signal: SignalId) -> float | None:
        return self._numbers.get((signal, ReadingKind.VALUE))

    def elapsed(self, signal: SignalId) -> float | None:
        return self._numbers.get((signal, ReadingKind.ELAPSED))

    def text(self, _signal: SignalId) -> str | None:
        return None

    def place(self, _scope: Scope) -> int | None:
        return None

    def core_type(self) -> str | None:
        return None
