"""Columns of counters that a user adds in turbostat's grammar (docs/specs/turbostat.md 1.6, 8.4, 9.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from turbotui.errors import UsageError
from turbotui.quantities.added import AddedCounter, EventAt, FileAt, RegisterAt, Shape, TelemetryAt, Ticks
from turbotui.quantities.catalog.formulas import percent, residency
from turbotui.quantities.columns import Category, ColumnId, CounterColumn, Inputs, Value
from turbotui.quantities.scope import Scope

_WORD = "the word at the end of the interval, hexadecimal"
_DIFFERENCE = "the difference of the words at both ends of the interval, hexadecimal"
# The column before which added ones stand: the end of their block in turbostat's order (docs/specs/turbostat.md 1.6,
# 2.3)
_ANCHORS: dict[Scope, tuple[ColumnId, ...]] = {
    Scope.CPU: ("CPU%c1e", "CPU%c1"),
    Scope.CORE: ("PkgTmp",),
    Scope.PACKAGE: ("Die%c6", "SysWatt"),
}
_RANKS = {RegisterAt: 0, FileAt: 0, EventAt: 1, TelemetryAt: 2}  # within a block (docs/specs/turbostat.md 1.6)


def added_column(counter: AddedCounter) -> CounterColumn:
    """The column of one added counter."""
    share = counter.shape is Shape.PERCENT
    by_cycles = share and counter.ticks is Ticks.CYCLES
    return CounterColumn(
        id=counter.name,
        category=Category.OTHER,
        groups=("added",),
        scope=counter.scope,
        unit="%" if share else "",
        decimals=2 if share else -1 if _in_digits(counter) else 0,
        needs=(counter.signal, "tsc") if by_cycles else (counter.signal,),
        wants=("tsc_tweak",) if by_cycles else (),
        compute=_formula(counter),
        formula="" if not _in_digits(counter) else _WORD if counter.shape is Shape.RAW else _DIFFERENCE,
        help=f"Added by hand: {counter.place}, read on each {counter.scope.value}.",
        document=str(counter.place),
        width=16 if _in_digits(counter) and counter.width == 64 else 8,
    )


def _in_digits(counter: AddedCounter) -> bool:
    return counter.shape is Shape.RAW or (counter.shape is Shape.DELTA and isinstance(counter.place, TelemetryAt))


def _formula(counter: AddedCounter) -> Callable[[Inputs], Value]:
    signal = counter.signal
    if counter.shape is Shape.RAW:
        if not isinstance(counter.place, EventAt):
            return lambda row: row.text(signal)
        digits = counter.width // 4
        return lambda row: None if (value := row.value(signal)) is None else f"{int(value):0{digits}x}"
    if counter.shape is Shape.DELTA:
        if not isinstance(counter.place, TelemetryAt):
            return lambda row: _whole(row.delta(signal))
        digits = counter.width // 4  # turbostat prints the difference of a PMT word in hexadecimal too (9.2)
        return lambda row: None if (value := row.delta(signal)) is None else f"{int(value):0{digits}x}"
    if counter.shape is Shape.AVERAGE:
        if isinstance(counter.place, (EventAt, TelemetryAt)):
            return lambda row: _whole(row.delta(signal))  # a count since the counter was opened means nothing by itself
        return lambda row: _whole(row.value(signal))
    if counter.ticks is Ticks.CYCLES:
        return lambda row: residency(row, signal)
    seconds = 1e-6 if counter.ticks is Ticks.USEC else 1.0
    return lambda row: None if (rate := row.rate(signal)) is None else percent(rate * seconds, 1.0)


def _whole(value: float | None) -> int | None:
    """A mean without its fraction, as turbostat's integer division gives it (docs/specs/turbostat.md 1.6)."""
    return None if value is None else math.trunc(value)


def with_events(columns: Sequence[CounterColumn], events: Sequence[CounterColumn]) -> tuple[CounterColumn, ...]:
    """Insert the columns of added events at the end of the block of their level, in the order given.

    Raises:
        UsageError: a name already belongs to another column.
    """
    _refuse_taken(columns, [column.id for column in events], "added one")
    return _placed(columns, [(column.scope if column.scope in _ANCHORS else Scope.PACKAGE, column)
                             for column in events])


def with_added(columns: Sequence[CounterColumn], counters: Sequence[AddedCounter]) -> tuple[CounterColumn, ...]:
    """Insert the columns of added counters into a machine's columns; within a block the last one added comes first.

    Raises:
        UsageError: a name already belongs to another column.
    """
    _refuse_taken(columns, [counter.name for counter in counters], "added counter")
    latest_first = list(counters[::-1])
    latest_first.sort(key=lambda counter: _RANKS[type(counter.place)])
    return _placed(columns, [(counter.scope, added_column(counter)) for counter in latest_first])


def _refuse_taken(columns: Sequence[CounterColumn], names: Sequence[ColumnId], what: str) -> None:
    taken = {column.id for column in columns}
    for name in names:
        if name in taken:
            raise UsageError(f"there is a column {name} already: give the {what} another name")
        taken.add(name)


def _placed(columns: Sequence[CounterColumn],
            added: Sequence[tuple[Scope, CounterColumn]]) -> tuple[CounterColumn, ...]:
    """Columns with others inserted at the ends of the blocks of their levels."""
    result = list(columns)
    for scope, anchors in _ANCHORS.items():
        place = next((index for index, column in enumerate(result) if column.id in anchors), len(result))
        result[place:place] = [column for level, column in added if level is scope]
    return tuple(result)
