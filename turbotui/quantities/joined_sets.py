"""Combine event sets that were counted at different times into one record.

Every set counts instructions, which join the sets: an event's rate per instruction is known while its set was counted,
    and is taken from neighbouring intervals while it was not.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SetInterval:
    """Increases of one interval in which one set was counted."""

    seconds: float  # measured length
    instructions: float  # retired; of every set
    counts: Mapping[str, float]  # increases of the events of that set


@dataclass(frozen=True, slots=True)
class Joined:
    """An interval with a count for every event."""

    seconds: float  # measured length
    instructions: float  # retired
    counts: Mapping[str, float]  # increases of every event that was counted at least once
    estimated: frozenset[str]  # keys of the events that were not counted in this interval


def join_rotation(intervals: Sequence[SetInterval]) -> tuple[Joined, ...]:
    """Estimate what each interval did not count.

    Between two intervals that counted an event, its rate per instruction is interpolated linearly over the executed
    instructions, from middle to middle; before the first and after the last such interval the rate is constant. An
    interval without instructions has no rate and no events.
    """
    middles: list[float] = []
    executed = 0.0
    for interval in intervals:
        middles.append(executed + interval.instructions / 2)
        executed += interval.instructions
    keys = dict.fromkeys(key for interval in intervals for key in interval.counts)
    known: dict[str, tuple[list[float], list[float]]] = {}
    for key in keys:
        places: list[float] = []
        rates: list[float] = []
        for middle, interval in zip(middles, intervals, strict=True):
            if key in interval.counts and interval.instructions > 0:
                places.append(middle)
                rates.append(interval.counts[key] / interval.instructions)
        known[key] = places, rates
    joined = []
    for middle, interval in zip(middles, intervals, strict=True):
        missing = [key for key in keys if key not in interval.counts and known[key][0]]
        counts = dict(interval.counts)
        counts.update({key: line(*known[key], middle) * interval.instructions for key in missing})
        joined.append(Joined(interval.seconds, interval.instructions, counts, frozenset(missing)))
    return tuple(joined)


def line(places: Sequence[float], values: Sequence[float], place: float) -> float:
    """A piecewise linear curve through points in ascending order, constant beyond both ends.

    Raises:
        ValueError: there are no points.
    """
    if not places:
        raise ValueError("a curve needs a point")
    after = bisect.bisect_left(places, place)
    if after == 0:
        return values[0]
    if after == len(places):
        return values[-1]
    left, right = places[after - 1], places[after]
    if right == left:
        return values[after]
    share = (place - left) / (right - left)
    return values[after - 1] + share * (values[after] - values[after - 1])
