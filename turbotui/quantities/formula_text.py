"""The formula of a column as text: its own arithmetic, or its words if nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turbotui.quantities.columns import Column, CounterColumn, Inputs
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.traced import ReadingKind, Term, Traced, TracedOperation, TracedReading, term_of, written

_PARTS = {"stat.whole": 8.0}
"""What is the whole of many parts, each of which is 1, so that the shares of all of them are no more than all."""


class _Anything:
    """`columns.Inputs` of a machine that has every signal: each number is known and carries its name."""

    def offers(self, signal: SignalId) -> bool:
        return bool(signal)

    def delta(self, signal: SignalId) -> float:
        return _named(signal, ReadingKind.DELTA, f"Δ{signal}")

    def total(self, signal: SignalId) -> float:
        return _named(signal, ReadingKind.TOTAL, f"ΣΔ{signal}")

    def rate(self, signal: SignalId) -> float:
        return self.delta(signal) / self.elapsed(signal)

    def total_rate(self, signal: SignalId) -> float:
        return self.total(signal) / self.elapsed(signal)

    def together(self, *signals: SignalId) -> bool:
        """Always true: the formula is written for counters that were read together."""
        return bool(signals)

    def value(self, signal: SignalId) -> float:
        return _named(signal, ReadingKind.VALUE, signal)

    def text(self, signal: SignalId) -> str:
        return signal

    def elapsed(self, signal: SignalId) -> float:
        return _named(signal, ReadingKind.ELAPSED, "interval")

    def place(self, scope: Scope) -> int | None:
        return scope.rank

    def each(self, _scope: Scope) -> Iterable[Inputs]:
        return (self,)

    def core_type(self) -> str | None:
        return None


def _named(signal: SignalId, kind: ReadingKind, label: str) -> Traced:
    return Traced(_PARTS.get(signal, 1.0), TracedReading(signal, kind, label))


def unrounded(term: Term) -> Term:
    """A term without an outer rounding, which the column's decimals already express."""
    return term.parts[0] if isinstance(term, TracedOperation) and term.sign == "round" else term


def formula_of(column: Column[Any]) -> str:
    """How a column is computed: its words, or else its arithmetic over the names of signals.

    The arithmetic is that of a machine that offers every signal that the column wants. Only columns of counters have
    arithmetic; others have words.
    """
    if column.formula or not isinstance(column, CounterColumn):
        return column.formula
    value = column.compute(_Anything())
    if not isinstance(value, Traced):
        return ""
    return written(unrounded(term_of(value)), lambda reading: reading.label)
