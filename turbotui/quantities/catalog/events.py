"""Columns of events and formulas that a user adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from turbotui.quantities.columns import INTERVAL, Category, CounterColumn, Inputs, Value
from turbotui.quantities.event_columns import ELAPSED, EventColumn, EventRequest
from turbotui.quantities.event_traits import EventTraits, KnownUnit, dimension_of, known_unit
from turbotui.quantities.expressions import Dimension, Expression, unit_text
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.units import Unit

_SYMBOLS: Mapping[Unit, str] = {
    Unit.SECOND: "s", Unit.HERTZ: "Hz", Unit.JOULE: "J", Unit.WATT: "W", Unit.CELSIUS: "°C", Unit.BYTE: "B",
}
_ACCURATE = 3
"""Decimals of a quotient unless the user asks for another number."""
_FINEST = 6
"""Most decimals of small quotients: cache misses per instruction are 0.0004."""
_SECONDS: Dimension = {"s": 1}


def event_column(
    column: EventColumn, request: EventRequest, traits: Mapping[str, EventTraits], others: Mapping[SignalId, Signal]
) -> CounterColumn:
    """The column of one event or formula.

    Args:
        traits: what the events are on this machine; an event without traits is treated as a plain count.
        others: the catalog signals that the formula uses, as far as the machine has them.

    Raises:
        UnitError: the formula adds or compares different units.
    """
    if column.formula is None:
        return _plain(column, request, traits.get(column.event, EventTraits()))
    return _derived(column, column.formula, request, traits, others)


def _plain(column: EventColumn, request: EventRequest, traits: EventTraits) -> CounterColumn:
    signal = request.signal(column.event)
    unit = known_unit(traits.unit)
    rate = column.rate and not traits.level
    shown = f"{traits.unit}/s" if rate else traits.unit
    what = "level" if traits.level else "rate" if rate else "count"
    return CounterColumn(
        id=column.name,
        category=Category.OTHER,
        groups=("added",),
        scope=traits.scope,
        unit=shown,
        decimals=2 if traits.scaled else 0,
        needs=(signal,),
        compute=_value(signal, traits, unit, rate=rate),
        formula="value" if traits.level else "Δcount / seconds" if rate else "Δcount",
        help=column.help
        or f"Added by hand: the {what} of {column.event} for each {traits.scope.value}"
        f"{'' if unit.si is Unit.CELSIUS else '; rows above show the sum'}.",
        document=column.document or column.event,
        width=10,
    )


def _value(signal: SignalId, traits: EventTraits, unit: KnownUnit, *, rate: bool) -> Callable[[Inputs], Value]:
    def compute(row: Inputs) -> Value:
        number = row.value(signal) if traits.level else row.rate(signal) if rate else row.delta(signal)
        if number is None:
            return None
        return number / unit.factor if traits.scaled else round(number / unit.factor)

    return compute


def _derived(
    column: EventColumn, formula: Expression, request: EventRequest, traits: Mapping[str, EventTraits],
    others: Mapping[SignalId, Signal],
) -> CounterColumn:
    used = column.names
    known = {name: traits.get(name, EventTraits()) for name in request.events if name in used}
    others = {name: signal for name, signal in others.items() if name in used}
    scopes = [traits.scope for traits in known.values()] + [signal.scope for signal in others.values()]
    values = _Values(request, known, others, column)
    return CounterColumn(
        id=column.name,
        category=Category.OTHER,
        groups=("added",),
        scope=max(scopes, key=lambda scope: scope.rank, default=Scope.CPU),
        unit=column.unit if request.raw else column.unit or _unit(formula, known, others),
        decimals=_ACCURATE if column.decimals is None else column.decimals,
        most_decimals=_FINEST if column.decimals is None else 0,
        needs=(*(request.signal(event) for event in known), *(name for name in request.others if name in used)),
        wants=tuple(request.signal(name) for name in column.rule_names if name in request.events and name not in known),
        compute=lambda row: column.value(values.of(row)),
        doubt=lambda row: column.fault(values.of(row)),
        formula=column.source_text,
        help=column.help or f"Added by hand: {formula.text}, for each row from the counts of all that is in it.",
        document=column.document or "added by hand",
        width=8,
        whole_only=column.whole,
        rule=None if column.rule is None else _rule(column, request, traits, scopes),
    )


def _unit(formula: Expression, known: Mapping[str, EventTraits], others: Mapping[SignalId, Signal]) -> str:
    """The unit of a formula. Raises UnitError if it adds or compares different units."""
    units: dict[str, Dimension] = {name: dimension_of(traits) for name, traits in known.items()}
    units |= {name: {symbol: 1} for name, signal in others.items() if (symbol := _SYMBOLS.get(signal.unit, ""))}
    return unit_text(formula.dimension({**units, ELAPSED: _SECONDS})).removeprefix("1")


def _rule(column: EventColumn, request: EventRequest, traits: Mapping[str, EventTraits],
          scopes: Sequence[Scope]) -> CounterColumn:
    """Build a column that is 1 where the value of another column stands out, and 0 where it does not."""
    used = column.rule_names
    known = {name: traits.get(name, EventTraits()) for name in request.events if name in used}
    values = _Values(request, known, {}, column)
    every = (*scopes, *(traits.scope for traits in known.values()))
    return CounterColumn(id=f"{column.name} stands out", category=Category.OTHER, unit="", decimals=0,
        scope=max(every, key=lambda scope: scope.rank, default=Scope.CPU),
        needs=tuple(request.signal(event) for event in known), compute=lambda row: column.stands_out(values.of(row)))


class _Values:
    """Values of the names in a formula for one row: increases of the interval, levels at its end, and its seconds.

    If the formula divides by counters or seconds of another window, all values refer to the window of the first
        counter: rates times that counter's seconds. Sums of counts remain counts.
    """

    def __init__(self, request: EventRequest, traits: Mapping[str, EventTraits], others: Mapping[SignalId, Signal],
                 column: EventColumn) -> None:
        self._events = [(name, request.signal(name), event_traits.level) for name, event_traits in traits.items()]
        self._others = [(name, signal.behavior is Behavior.COUNTER) for name, signal in others.items()]
        timed = [*(signal for _name, signal, level in self._events if not level),
                 *(name for name, counter in self._others if counter)]
        self._timed = timed
        self._needs_time = ELAPSED in (*column.names, *column.rule_names)
        counters = {name for name, _signal, level in self._events if not level}
        counters |= {name for name, counter in self._others if counter}
        formula = column.formula
        self._divides = bool(column.parts) or (formula is not None and formula.divides_by({*counters, ELAPSED}))

    def of(self, row: Inputs) -> dict[str, float | None]:
        delta: Callable[[SignalId], float | None] = row.delta
        total: Callable[[SignalId], float | None] = row.total
        if self._timed and self._divides and not row.together(*self._timed):
            delta, total = self._in_one_window(row, row.rate), self._in_one_window(row, row.total_rate)
        values = {name: row.value(signal) if level else delta(signal) for name, signal, level in self._events}
        # a clock or an energy is summed over its instances whatever its own rule, because it stands beside sums of
        # counts
        values |= {name: total(name) if counter else row.value(name) for name, counter in self._others}
        if self._needs_time:
            values[ELAPSED] = row.elapsed(self._timed[0] if self._timed else INTERVAL)
        return values

    def _in_one_window(
        self, row: Inputs, rate: Callable[[SignalId], float | None]
    ) -> Callable[[SignalId], float | None]:
        """A counter's increase over the seconds of the formula's first counter."""
        seconds = row.elapsed(self._timed[0])

        def increase(signal: SignalId) -> float | None:
            value = rate(signal)
            return None if value is None or seconds is None else value * seconds

        return increase
