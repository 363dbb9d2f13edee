"""Evidence for cells of the CPU table: the formula with its numbers, and every reading behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.formula_text import formula_of, unrounded
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signal_words import SIGNAL_WORDS
from turbotui.quantities.signals import Behavior, Raw, Reduce, SignalId
from turbotui.quantities.tables import CellEvidence
from turbotui.quantities.traced import ReadingKind, TracedOperation, TracedReading, number_text, written
from turbotui.quantities.units import Unit
from turbotui.sampling.evidence import CellArithmetic, Evidence, EvidencePart, cell_arithmetic, evidence
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name, scope_word

_UNKNOWN: Final = "—"

_SUMMARY = {
    Reduce.SUM: "summed in summary rows",
    Reduce.MEAN: "averaged in summary rows",
    Reduce.MAX: "the greatest in summary rows",
    Reduce.MIN: "the least in summary rows",
    Reduce.UNION: "all bits together in summary rows",
    Reduce.SAME: "in summary rows only if all agree",
    Reduce.NONE: "not in summary rows",
}
_HERE = {
    Reduce.SUM: "the sum",
    Reduce.MEAN: "the mean",
    Reduce.MAX: "the greatest",
    Reduce.MIN: "the least",
    Reduce.UNION: "all bits",
    Reduce.SAME: "the common value",
    Reduce.NONE: "none",
}


_DIGITS: Final = 13
"""Digits of a count that is not whole; the three further digits of a float are noise of the arithmetic."""


def frame_evidence(frame: Frame, column: CounterColumn, row: RowId) -> CellEvidence:
    """The evidence of one cell."""
    home = frame.home(column, row) or row
    used = cell_arithmetic(frame, column, row)
    behind = [
        item for item in evidence(frame, column, row)
        if used.term is None or item.signal.id in column.needs or item.signal.id in used.signals
    ]
    return CellEvidence(
        tuple(_arithmetic(column, row, used, behind)),
        tuple(tuple(_reading_lines(frame, column, item)) for item in behind),
        tuple(_circumstances(frame, column, row, home)),
    )


def _arithmetic(column: CounterColumn, row: RowId, arithmetic: CellArithmetic,
                behind: Sequence[Evidence]) -> Iterator[str]:
    """The formula over names, and the formula with the numbers of the interval."""
    if arithmetic.term is None:
        yield f"= {formula_of(column)}"
        computed = arithmetic.cell is not None and not isinstance(arithmetic.cell, str)
        if not column.formula and computed and row.scope.rank > column.scope.rank:
            yield f"worked out for each {scope_word(column.scope)}, and these put together"
        return
    yield f"= {written(unrounded(arithmetic.term), _label)}"
    if numbers := substituted(arithmetic, behind):
        yield f"= {numbers}"


def substituted(arithmetic: CellArithmetic, behind: Sequence[Evidence]) -> str:
    """The formula of a cell with the interval's numbers in it; "" if the cell is a single number as read.

    Args:
        behind: its evidence: rates of a few instances that were summed are written one by one.
    """
    if arithmetic.term is None:
        return ""
    term = unrounded(arithmetic.term)
    by_signal = {item.signal.id: item for item in behind}

    def number(reading: TracedReading) -> str:
        item = by_signal.get(reading.signal)
        if reading.kind is ReadingKind.RATE and item is not None and item.signal.reduce is Reduce.SUM:
            known = [f"{_clean(item, part.value)} / {number_text(part.seconds)}" for part in item.parts
                     if part.value is not None and part.seconds]
            if len(known) == item.count:
                return f"({' + '.join(known)})"
        return number_text(arithmetic.numbers[reading])

    text = written(term, number)
    if isinstance(term, TracedReading) and term.kind is ReadingKind.RATE:
        return text.removeprefix("(").removesuffix(")")
    return text if isinstance(term, TracedOperation) else ""


def _label(reading: TracedReading) -> str:
    return reading.label


def _reading_lines(frame: Frame, column: CounterColumn, item: Evidence) -> Iterator[str]:
    """Evidence of one signal: its number, the place it was read from, and the raw words."""
    signal = item.signal
    alone = item.parts[0] if item.count == 1 else None
    texts = {part.newer for part in item.parts}
    yield f"{item.label} = {_value_text(column, item, texts.pop() if len(texts) == 1 else None)}"
    if signal.id in SIGNAL_WORDS:
        yield SIGNAL_WORDS[signal.id]
    where = f"{_origin(signal.origin, alone)}, by {item.source}"
    if alone is None:
        where += f": {_HERE[signal.reduce]} of {item.count:,} x {scope_word(signal.scope)}"
    yield f"{where}; per {scope_word(signal.scope)}, {_SUMMARY[signal.reduce]}"
    if signal.id in frame.capabilities.remarks:
        yield frame.capabilities.remarks[signal.id]
    if alone is not None:
        yield from _raw_words(frame, column, signal.id, alone)
    else:
        for part in item.parts:
            yield f"{row_name(frame.topology, part.row)}: {_part_text(column, item, part)}"
        if item.count > len(item.parts):
            yield f"and {item.count - len(item.parts):,} more"
    others = ", ".join(f"{_origin(place, alone)} ({title})" for title, place in item.others)
    if others:
        yield f"else {others}"
    if signal.document:
        yield signal.document


def _origin(origin: str, part: EvidencePart | None) -> str:
    """The readings, each with the CPU that made it."""
    if part is None or "{cpu}" in origin:
        return origin.replace("{cpu}", "N" if part is None else str(part.cpu))
    return f"{origin} on cpu {part.cpu}" if part.alone and not origin.startswith("/") else origin


def _value_text(column: CounterColumn, item: Evidence, raw: Raw) -> str:
    if item.value is None:
        return f'"{raw}"' if isinstance(raw, str) else f"{_UNKNOWN} (unknown in this interval)"
    return _with_unit(column, item, item.value)


def _with_unit(column: CounterColumn, item: Evidence, value: float) -> str:
    unit, shown = item.signal.unit, column.shown
    if shown is not None and unit.value == column.unit:
        return f"{number_text(shown.of(value))} {shown.unit} = {shown.worked(number_text(value))}"
    if unit is Unit.BITS:
        return f"{int(value):#x}"
    return number_text(value) if unit is Unit.RATIO else f"{_clean(item, value)} {unit.value}"


def _clean(item: Evidence, value: float) -> str:
    """A number without the noise of float arithmetic on a count: a rate times its seconds is 549.99999999."""
    broken = item.signal.unit is Unit.COUNT and value != int(value)
    return number_text(float(f"{value:.{_DIGITS}g}") if broken else value)


def _part_text(column: CounterColumn, item: Evidence, part: EvidencePart) -> str:
    if isinstance(part.newer, str):
        return f'"{part.newer}"'
    if part.value is None:
        return f"{_UNKNOWN} (unknown)"
    if part.term is None:
        return _with_unit(column, item, part.value)
    term, shown = written(part.term, _label), column.shown
    if shown is not None and item.signal.unit.value == column.unit:
        return f"{number_text(shown.of(part.value))} {shown.unit} = {shown.worked(f'({term})')}"
    return f"{_with_unit(column, item, part.value)} = {term}"


def _raw_words(frame: Frame, column: CounterColumn, signal: SignalId, part: EvidencePart) -> Iterator[str]:
    """The raw words of one instance, the time they were read, and the meaning of their bits."""
    known = frame.capabilities.signals[signal]
    if part.term is not None:
        yield f"= {written(part.term, _label)}"
    elif part.value is None and isinstance(part.older, int) and isinstance(part.newer, int):
        yield f"as read: {part.newer:,} after {part.older:,}"
    if isinstance(part.newer, int):
        top, low = known.low_bit + known.width_bits - 1, known.low_bit
        if known.bits(part.newer) != part.newer:
            yield f"bits {top}:{low} of {part.newer & (1 << 64) - 1:#x}"
        words = column.bits.get(signal, {})
        set_bits = [f"bit {bit} {word}" for bit, word in words.items() if part.newer >> bit & 1]
        if words:
            yield f"{part.newer:#x}: {', '.join(set_bits) or 'no bit set that has a name'}"
    if known.behavior is Behavior.CONSTANT:
        yield "constant: read once, when watching began"
    elif part.stamp_ns:
        moment = datetime.fromtimestamp((frame.newer.wall_ns + part.stamp_ns - frame.newer.started_ns) / 1e9, UTC)
        over = "" if part.seconds is None else f", {part.seconds:.6f} s after the reading before"
        yield f"read at {moment:%H:%M:%S.%f}Z{over}"


def _circumstances(frame: Frame, column: CounterColumn, row: RowId, home: RowId) -> Iterator[str]:
    """Lines on the row's and the column's scope, the interval, and the document."""
    error = None if column.error is None else frame.cell(column.error, row)
    if column.error is not None and isinstance(error, int | float):
        yield f"± {column.error.amount(error)}, by {column.error.id}: {column.error.help}"
    if home != row:
        yield f"a value of {row_name(frame.topology, home)}, shown on each of its CPUs"
    elif row.scope is not Scope.CPU and row.scope.rank > column.scope.rank and (column.needs or column.wants):
        count = 0 if frame.topology.instance(row) is None else len(frame.topology.parts(row, column.scope))
        yield f"recomputed from the counters of {count:,} x {scope_word(column.scope)}, never a mean of ratios"
    if frame.seconds is not None:
        yield f"over {frame.seconds:.6f} s; the readings took {frame.newer.span_ns / 1e3:,.0f} µs"
