"""Event sets counted at different times: how they become one record.

Sets are joined by instructions, which every set counts: an event's rate per instruction is known while its set was on,
and is taken from the neighbours while it was not.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SetInterval:
    """Differences of one interval in which one set was on.

    Attributes:
        seconds: measured length.
        instructions: retired; of every set.
        counts: of the events of the set that was on.
    """

    seconds: float
    instructions: float
    counts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Joined:
    """An interval with a count for every event.

    Attributes:
        seconds: measured length.
        instructions: retired.
        counts: of every event that was on at least once.
        estimated: keys of those that were not on in this interval.
    """

    seconds: float
    instructions: float
    counts: Mapping[str, float]
    estimated: frozenset[str]


def join_rotation(intervals: Sequence[SetInterval]) -> tuple[Joined, ...]:
    """Fill in what each interval did not count.

    Between two intervals that counted an event, its rate per instruction is drawn as a line over the instructions
    executed, from middle to middle; before the first and after the last it is held. An interval without instructions
    has no rate and no events.
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
    """A piecewise linear curve through points in ascending order, held at both ends.

    Raises:
        ValueError: there is no point.
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
