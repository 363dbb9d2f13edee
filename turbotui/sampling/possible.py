"""Hold every reading against what it can be: `quantities.bounds`, and this machine's own clocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.quantities.bounds import NO_BOUNDS, Bounds, bounds_of, in_words
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.differences import Differences, factor_of
from turbotui.sampling.plan import reading_cpus

READ_SECONDS: Final = 0.02
"""How far the moments of two readings may lie from their time stamps together, on a loaded machine."""
_TURBO: Final = "turbo.single"
_CLOCKS: Final = (_TURBO, "turbo.all", "base_hz", "tsc_hz")
_AT_TURBO: Final = ("aperf", "mperf", "cycles")
_OVER_TURBO: Final = 1.5
"""How much faster than its turbo clock a CPU may be: a favoured core, or a clock that somebody raised."""
_OVER_BASE: Final = 2.0
"""How much faster than its base clock a time-stamp counter may be, where a base clock can be configured."""
_TSC_SHARE: Final = 0.1
"""How far the time-stamp counter may be off its known clock; crystals are off by 1e-4, nominal clocks by a percent."""


def values_beyond(interval: Differences, signal: Signal) -> dict[int, Unavailable]:
    """The positions at which a gauge or a constant has a value that it cannot have, with reasons."""
    bounds = bounds_here(interval, signal)
    if math.isinf(bounds.most):
        return {}
    cpus, levels = reading_cpus(signal, interval.topology), interval.levels_read(signal.id)
    impossible = {level: in_words(level, signal) for level in set(levels)
                  if level is not None and not bounds.admits(level)}
    return {
        at: Unavailable(Reason.OUT_OF_RANGE,
                        f"{signal.origin.format(cpu=cpus[at])} says {impossible[level]}: {bounds.because}")
        for at, level in enumerate(levels) if level is not None and level in impossible
    }


def increases_beyond(interval: Differences, signal: Signal) -> dict[int, Unavailable]:
    """The positions at which a counter rose by more than it can have counted, with reasons."""
    bounds = interval.capabilities.bounds.get(signal.id) or bounds_here(interval, signal)
    if bounds.most == math.inf or interval.older is None:
        return {}
    rose = interval.rose(signal.id)  # in these units, as long as possible: few counters need their increases as floats
    grown = interval.measured(signal.id) if rose is None else rose
    factor = 1.0 if rose is None else factor_of(signal) or 1.0
    most = max(filter(None, grown), default=0.0) * factor
    if most <= bounds.most * READ_SECONDS or most <= bounds.most * (interval.shortest(signal.id) + READ_SECONDS):
        return {}  # a counter of events nearly always at once, whatever the time between its readings
    spans = interval.spans(signal.id)
    cpus = reading_cpus(signal, interval.topology)
    return {
        at: Unavailable(
            Reason.OUT_OF_RANGE,
            f"{signal.origin.format(cpu=cpus[at])} rose by {in_words(step * factor, signal)} in {span:.3g} s, at most"
            f" {in_words(bounds.most, signal)} a second is possible: {bounds.because}")
        for at, (step, span) in enumerate(zip(grown, spans, strict=True))
        if step is not None and span is not None and step * factor > bounds.most * (span + READ_SECONDS)
    }


def bounds_here(interval: Differences, signal: Signal) -> Bounds:
    """What a value or an increase lies within on this machine, whose clocks may be known."""
    if (known := interval.capabilities.bounds.get(signal.id)) is None:
        known = interval.capabilities.bounds[signal.id] = _bounds_here(interval, signal)
    return known


def _bounds_here(interval: Differences, signal: Signal) -> Bounds:
    bounds, name = bounds_of(signal), signal.id
    if name in interval.capabilities.idle_times:
        return NO_BOUNDS  # they are held against the interval together (`conservation`)
    if name in _AT_TURBO and _constant(interval, _TURBO):
        highest, over = _highest(interval, _CLOCKS), _OVER_TURBO
    elif name == "tsc" or name.startswith("cstate."):
        highest, over = _highest(interval, _CLOCKS[2:]), _OVER_BASE
    else:
        return bounds
    if not highest:
        return bounds
    return Bounds(0.0, min(bounds.most, over * highest),
                  f"the highest known clock that it follows is {highest / 1e6:,.0f} MHz")


def _highest(interval: Differences, clocks: Sequence[SignalId]) -> float:
    return max((_constant(interval, clock) or 0.0 for clock in clocks), default=0.0)


def _constant(interval: Differences, name: SignalId) -> float | None:
    signal = interval.capabilities.signals.get(name)
    return None if signal is None or signal.behavior is not Behavior.CONSTANT else signal.value(signal.constant)


def time_stamp_counter(interval: Differences) -> Mapping[SignalId, Mapping[int, Unavailable]]:
    """A time-stamp counter that is off its clock, which CPUID tells: it was set, or the machine stood still."""
    clock = _constant(interval, "tsc_hz")
    if not clock or not interval.was_read("tsc"):
        return {}
    signal = interval.capabilities.signals["tsc"]
    ticks, spans = interval.measured("tsc"), interval.spans("tsc")
    cpus = reading_cpus(signal, interval.topology)
    return {"tsc": {
        at: Unavailable(
            Reason.OUT_OF_RANGE,
            f"{signal.origin.format(cpu=cpus[at])} rose by {grown:,.0f} in {span:.3g} s, and its clock is"
            f" {clock / 1e6:,.0f} MHz: it was set, or the machine stood still meanwhile")
        for at, (grown, span) in enumerate(zip(ticks, spans, strict=True))
        if grown is not None and span is not None
        and abs(grown - clock * span) > clock * (_TSC_SHARE * span + READ_SECONDS)
    }}
