"""One cell in lines: formula, the numbers of the interval in it, every reading behind it, or why it is missing.

Nothing here knows Textual.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.formula_text import formula_of, unrounded
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, SignalId
from turbotui.quantities.traced import ReadingKind, TracedOperation, TracedReading, number_text, written
from turbotui.quantities.units import Unit
from turbotui.sampling.evidence import Evidence, EvidencePart, Worked, evidence, worked
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.cells import UNKNOWN, said, scope_word
from turbotui.widgets.painter import nice_top
from turbotui.widgets.rows import row_name
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.spark import spark

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
"""Of a count that is no whole number: a float has three more, which are those of the arithmetic."""


def explanation(frame: Frame | None, column: CounterColumn, row: RowId, past: Sequence[str] = (),
                width: int = 96) -> list[str]:
    """The lines that explain one cell.

    Args:
        frame: the interval; None before the first reading.
        column: of the cell.
        row: of the cell.
        past: `past_lines` of the cell.
        width: characters of a line.
    """
    lines = textwrap.wrap(column.help, width)
    if frame is None:
        return [*lines, *_hanging("  ", f"{column.id} = {formula_of(column)}", width), "no reading yet"]
    home = frame.home(column, row) or row
    used = worked(frame, column, row)
    found = [
        item for item in evidence(frame, column, row)
        if used.term is None or item.signal.id in column.needs or item.signal.id in used.signals
    ]
    lines += _arithmetic(frame, column, row, found, width)
    lines += _marks(frame, column, row)
    for text in frame.disputed(column, row):
        lines += _hanging("  ", f"? disputed: {text}", width)
    lines += past
    if found:
        lines.append("")
    for item in found:
        lines += _reading_lines(frame, column, item, width)
    lines.append("")
    lines += [line for text in _circumstances(frame, column, row, home) for line in textwrap.wrap(text, width)]
    return lines


def past_lines(column: Column[Any], ring: HistoryRing | None, top: float | None, seq: int) -> list[str]:
    """What a cell was since counting of least, greatest and mean began.

    Args:
        column: of the cell.
        ring: its history; None if it was not kept.
        top: of the spark's scale; None for its peak.
        seq: number of the frame.
    """
    if ring is None or not ring.count or ring.mean is None:
        return [] if column.decimals < 0 else ["  min, mean and max are kept from now on"]
    shown = top or nice_top(ring.high)
    low, mean, high = (said(column, number) for number in (ring.low, ring.mean, ring.high))
    return [
        f"  over {ring.count} interval{'s' * (ring.count != 1)}: min {low}  mean {mean}  max {high}",
        f"  {spark(ring.values(HISTORY), shown, 30, seq)}  0 to {said(column, shown)}",
    ]


def _hanging(start: str, text: str, width: int) -> list[str]:
    """A formula over several lines, broken at its blanks, with what follows below the first word after `start`."""
    return textwrap.wrap(text, max(30, width), initial_indent=start, subsequent_indent=" " * (len(start) + 2),
                         break_long_words=False, break_on_hyphens=False)


def _arithmetic(frame: Frame, column: CounterColumn, row: RowId, behind: Sequence[Evidence], width: int) -> list[str]:
    """The formula, the same with numbers, and what it came to."""
    found = worked(frame, column, row)
    start = f"  {column.id} "
    margin = " " * len(start)
    if found.term is None:
        lines = _hanging(start, f"= {formula_of(column)}", width)
        if found.cell is None:
            why = frame.why(column, row)
            return [*lines, *textwrap.wrap(f"unknown: {why.sentence()}" if why else "unknown", width)]
        if not column.formula and not isinstance(found.cell, str) and row.scope.rank > column.scope.rank:
            lines += _hanging(margin, f"worked out for each {scope_word(column.scope)}, and these put together", width)
        return [*lines, f"{margin}= {said(column, found.cell)}"]
    term = unrounded(found.term)
    lines = _hanging("  ", column.formula, width) if column.formula else []
    lines += _hanging(start, f"= {written(term, _label)}", width)
    numbers = substituted(found, behind)
    if numbers:
        lines += _hanging(margin, f"= {numbers}", width)
    return [*lines, f"{margin}= {said(column, found.cell)}"]


def substituted(found: Worked, behind: Sequence[Evidence]) -> str:
    """The formula of a cell with the numbers of the interval in it; "" where it is one number as it was read.

    Args:
        found: the cell.
        behind: its evidence: rates of a few instances that were added up are written one by one.
    """
    if found.term is None:
        return ""
    term = unrounded(found.term)
    by_signal = {item.signal.id: item for item in behind}

    def number(reading: TracedReading) -> str:
        item = by_signal.get(reading.signal)
        if reading.kind is ReadingKind.RATE and item is not None and item.signal.reduce is Reduce.SUM:
            known = [f"{_clean(item, part.value)} / {number_text(part.seconds)}" for part in item.parts
                     if part.value is not None and part.seconds]
            if len(known) == item.count:
                return f"({' + '.join(known)})"
        return number_text(found.numbers[reading])

    text = written(term, number)
    if isinstance(term, TracedReading) and term.kind is ReadingKind.RATE:
        return text.removeprefix("(").removesuffix(")")
    return text if isinstance(term, TracedOperation) else ""


def _label(reading: TracedReading) -> str:
    return reading.label


def _marks(frame: Frame, column: CounterColumn, row: RowId) -> list[str]:
    if frame.cell(column, row) is None:
        return []
    return [word for word, is_so in (
        ("  ~ estimated: a counter ran part of the interval, and was scaled", frame.estimated(column, row)),
        ("  ‹ old: a CPU behind it did not answer in time; this is what it said last", frame.old(column, row)),
        ("  * partial: a CPU inside this row did not answer", frame.partial(column, row)),
    ) if is_so]


def _reading_lines(frame: Frame, column: CounterColumn, item: Evidence, width: int) -> Iterator[str]:
    """What one signal gave: its number, where it was read, the raw words."""
    signal = item.signal
    alone = item.parts[0] if item.count == 1 else None
    texts = {part.newer for part in item.parts}
    value = _value_text(item, texts.pop() if len(texts) == 1 else None)
    yield from _hanging("", f"{item.label} = {value}", width)
    origin = _origin(signal.origin, alone)
    where = f"{origin}, by {item.source}"
    if alone is None:
        where += f": {_HERE[signal.reduce]} of {item.count:,} x {scope_word(signal.scope)}"
    yield from _hanging("    ", f"{where}; per {scope_word(signal.scope)}, {_SUMMARY[signal.reduce]}", width)
    if signal.id in frame.capabilities.remarks:
        yield from _hanging("    ", frame.capabilities.remarks[signal.id], width)
    if alone is not None:
        for text in _raw_words(frame, column, signal.id, alone):
            yield from _hanging("    ", text, width)
    else:
        for part in item.parts:
            yield from _hanging("    ", f"{row_name(frame.topology, part.row)}: {_part_text(item, part)}", width)
        if item.count > len(item.parts):
            yield f"    and {item.count - len(item.parts):,} more"
    others = ", ".join(f"{_origin(place, alone)} ({title})" for title, place in item.others)
    if others:
        yield from _hanging("    ", f"else {others}", width)
    if signal.document:
        yield from _hanging("    ", signal.document, width)


def _origin(origin: str, part: EvidencePart | None) -> str:
    """What was read, with the CPU that read it."""
    if part is None or "{cpu}" in origin:
        return origin.replace("{cpu}", "N" if part is None else str(part.cpu))
    return f"{origin} on cpu {part.cpu}" if part.alone and not origin.startswith("/") else origin


def _value_text(item: Evidence, raw: Raw) -> str:
    if item.value is None:
        return f'"{raw}"' if isinstance(raw, str) else f"{UNKNOWN} (unknown in this interval)"
    return _with_unit(item, item.value)


def _with_unit(item: Evidence, value: float) -> str:
    unit = item.signal.unit
    if unit is Unit.BITS:
        return f"{int(value):#x}"
    return number_text(value) if unit is Unit.RATIO else f"{_clean(item, value)} {unit.value}"


def _clean(item: Evidence, value: float) -> str:
    """A number without what the arithmetic of floats adds to a count: a rate times its seconds is 549.99999999."""
    broken = item.signal.unit is Unit.COUNT and value != int(value)
    return number_text(float(f"{value:.{_DIGITS}g}") if broken else value)


def _part_text(item: Evidence, part: EvidencePart) -> str:
    if isinstance(part.newer, str):
        return f'"{part.newer}"'
    if part.value is None:
        return f"{UNKNOWN} (unknown)"
    if part.term is None:
        return _with_unit(item, part.value)
    return f"{_with_unit(item, part.value)} = {written(part.term, _label)}"


def _raw_words(frame: Frame, column: CounterColumn, signal: SignalId, part: EvidencePart) -> Iterator[str]:
    """The raw words of one instance, when they were read, and what their bits mean."""
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
        said_bits = [f"bit {bit} {word}" for bit, word in words.items() if part.newer >> bit & 1]
        if words:
            yield f"{part.newer:#x}: {', '.join(said_bits) or 'no bit set that has a name'}"
    if known.behavior is Behavior.CONSTANT:
        yield "constant: read once, when watching began"
    elif part.stamp_ns:
        moment = datetime.fromtimestamp((frame.newer.wall_ns + part.stamp_ns - frame.newer.started_ns) / 1e9, UTC)
        over = "" if part.seconds is None else f", {part.seconds:.6f} s after the reading before"
        yield f"read at {moment:%H:%M:%S.%f}Z{over}"


def _circumstances(frame: Frame, column: CounterColumn, row: RowId, home: RowId) -> Iterator[str]:
    """What the row has to do with the column's scope, the interval, and the document."""
    if home != row:
        yield f"a value of {row_name(frame.topology, home)}, shown on each of its CPUs"
    elif row.scope is not Scope.CPU and row.scope.rank > column.scope.rank and (column.needs or column.wants):
        instance = frame.topology.instance(row)
        count = 0 if instance is None else len(frame.topology.parts(row, column.scope))
        yield f"recomputed from the counters of {count:,} x {scope_word(column.scope)}, never a mean of ratios"
    if frame.seconds is not None:
        yield f"over {frame.seconds:.6f} s, #{frame.seq}; the readings took {frame.newer.span_ns / 1e3:,.0f} µs"
    yield f"follows {column.document}"
