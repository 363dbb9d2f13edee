"""Arithmetic that several columns share."""

from __future__ import annotations

from turbotui.quantities.columns import Inputs
from turbotui.quantities.signals import SignalId


def percent(part: float | None, whole: float | None) -> float | None:
    """100 * part / whole; unknown where turbostat prints `nan`: negative, no denominator, or above 110 %.

    Counters of one row are read some microseconds apart, so values slightly above 100 are real readings
    (docs/specs/turbostat.md 0).
    """
    if part is None or whole is None or whole <= 0 or part < 0:
        return None
    value = 100.0 * part / whole
    return value if value <= 110.0 else None


def comparable(row: Inputs, *signals: SignalId) -> tuple[float | None, ...]:
    """Increases of counters over one window of time, to be divided or subtracted.

    Their increases where they were read together; else their increases per second, each by its own time. Between two
    readers of a CPU a loaded machine may put a tenth of the interval, and the next time less.
    """
    read = row.delta if row.together(*signals) else row.rate
    return tuple([read(signal) for signal in signals])


def reference_ticks(row: Inputs, ticks: float | None) -> float | None:
    """TSC ticks in the unit that residency counters and MPERF tick in.

    Client parts since Skylake count them at base frequency and the TSC a little beside it: `tsc_tweak` is that ratio
    (docs/specs/turbostat.md 2.1).

    Args:
        row: of which machine.
        ticks: of the TSC, in the interval or per second.
    """
    if ticks is None:
        return None
    tweak = row.value("tsc_tweak")
    return ticks * tweak if tweak else ticks


def residency(row: Inputs, signal: SignalId) -> float | None:
    """Share of the interval that a residency counter advanced, in percent."""
    part, ticks = comparable(row, signal, "tsc")
    return percent(part, reference_ticks(row, ticks))


def count(row: Inputs, signal: SignalId) -> int | None:
    """A counter's increase as a whole number."""
    value = row.delta(signal)
    return None if value is None else round(value)


def mega(value: float | None) -> float | None:
    """Hz as MHz."""
    return None if value is None else value / 1e6
