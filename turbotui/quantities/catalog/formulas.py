"""Arithmetic shared by several columns, and the formulas of columns that show a single signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import TypeAlias

from turbotui.quantities.columns import Inputs, Value
from turbotui.quantities.signals import SignalId

Formula: TypeAlias = Callable[[Inputs], Value]
"""The function that computes a column."""


def percent(part: float | None, whole: float | None) -> float | None:
    """100 * part / whole; unknown where turbostat prints `nan`: if negative, without denominator, or above 110 %.

    Counters of one row are read some microseconds apart, so values slightly above 100 are real readings
    (docs/specs/turbostat.md 0).
    """
    value = share(part, whole)
    return value if value is None or value <= 110.0 else None


def share(part: float | None, whole: float | None) -> float | None:
    """100 * part / whole for a part that may exceed its whole, such as watts above a sustained limit."""
    return None if part is None or whole is None or whole <= 0 or part < 0 else 100.0 * part / whole


def total_of(row: Inputs, *signals: SignalId) -> float | None:
    """The sum of counters' increases; unknown if one that the row has is unknown, or if it has none of them."""
    return _added(row, [(signal, row.delta(signal)) for signal in signals])


def total_rate_of(row: Inputs, *signals: SignalId) -> float | None:
    """`total_of` per second."""
    return _added(row, [(signal, row.rate(signal)) for signal in signals])


def _added(row: Inputs, parts: Sequence[tuple[SignalId, float | None]]) -> float | None:
    have = [value for _signal, value in parts if value is not None]
    if len(have) < len(parts) and any(value is None and row.offers(signal) for signal, value in parts):
        return None
    return reduce(add, have) if have else None


def comparable(row: Inputs, *signals: SignalId) -> tuple[float | None, ...]:
    """Increases of counters over one window of time, so that they can be divided or subtracted.

    These are the increases if the counters were read together, and otherwise the increases per second, each by its own
    time. On a loaded machine a tenth of the interval can pass between two readers of a CPU in one interval, and less in
    the next.
    """
    read = row.delta if row.together(*signals) else row.rate
    return tuple([read(signal) for signal in signals])


def reference_ticks(row: Inputs, ticks: float | None) -> float | None:
    """TSC ticks in the unit that residency counters and MPERF tick in.

    Client processors since Skylake count residencies and MPERF at base frequency, and the TSC at a slightly different
    one; `tsc_tweak` is the ratio (docs/specs/turbostat.md 2.1).

    Args:
        ticks: TSC ticks, in the interval or per second.
    """
    if ticks is None:
        return None
    tweak = row.value("tsc_tweak")
    return ticks * tweak if tweak else ticks


def residency(row: Inputs, signal: SignalId) -> float | None:
    """Share of the interval that a residency counter advanced, in percent."""
    part, ticks = comparable(row, signal, "tsc")
    return percent(part, reference_ticks(row, ticks))


def quotient(part: float | None, whole: float | None) -> float | None:
    """The ratio of two numbers; unknown without a denominator."""
    return None if part is None or not whole else part / whole


def count(row: Inputs, signal: SignalId) -> int | None:
    """A counter's increase as a whole number."""
    value = row.delta(signal)
    return None if value is None else round(value)


def mega(value: float | None) -> float | None:
    """Hz as MHz."""
    return None if value is None else value / 1e6


# Formulas of one signal


def value_of(signal: SignalId) -> Formula:
    """A gauge at the end of the interval, or a constant."""
    return lambda row: row.value(signal)


def text_of(signal: SignalId) -> Formula:
    """A text at the end of the interval."""
    return lambda row: row.text(signal)


def whole_of(signal: SignalId) -> Formula:
    """A gauge at the end of the interval as a whole number."""

    def compute(row: Inputs) -> Value:
        value = row.value(signal)
        return None if value is None else round(value)

    return compute


def mega_of(signal: SignalId) -> Formula:
    """A clock at the end of the interval in MHz."""
    return lambda row: mega(row.value(signal))


def rate_of(signal: SignalId) -> Formula:
    """A counter's increase per second."""
    return lambda row: row.rate(signal)


def mega_rate_of(signal: SignalId) -> Formula:
    """A counter's increase per second in millions."""
    return lambda row: mega(row.rate(signal))


def increase_of(signal: SignalId) -> Formula:
    """A counter's increase over the interval."""
    return lambda row: row.delta(signal)


def count_of(signal: SignalId) -> Formula:
    """A counter's increase as a whole number."""
    return lambda row: count(row, signal)


def percent_of_time(signal: SignalId) -> Formula:
    """Share of the interval in which a counter of seconds advanced, limited to 110 % as in `percent`."""
    return lambda row: percent(row.rate(signal), 1.0)


def hundredfold_of(signal: SignalId) -> Formula:
    """Seconds per second of a counter in percent; exceeds 100 because it is summed over CPUs, cores or packages."""

    def compute(row: Inputs) -> Value:
        spent = row.rate(signal)
        return None if spent is None else 100.0 * spent

    return compute


def residency_of(signal: SignalId) -> Formula:
    """Share of the interval that a residency counter advanced, in percent."""
    return lambda row: residency(row, signal)
