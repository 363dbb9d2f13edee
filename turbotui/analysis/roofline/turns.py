"""Sets of events that took turns in a run, much shorter than the intervals that are shown: from turns to intervals."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.analysis.roofline.event_sets import Interval, Joined, join_rotation


def joined_intervals(turns: Sequence[tuple[int, Interval]]) -> tuple[tuple[int, Joined], ...]:
    """What each interval came to: its turns joined by instructions over the whole run, and added up.

    Args:
        turns: in order, each with the number of the interval that it began in.
    """
    found: dict[int, Joined] = {}
    for (number, _turn), one in zip(turns, join_rotation([turn for _number, turn in turns]), strict=True):
        before = found.get(number)
        found[number] = one if before is None else _sum(before, one)
    return tuple(found.items())


def _sum(one: Joined, two: Joined) -> Joined:
    """Both together; an event that one of them lacks is not known of both."""
    counts = {key: count + two.counts[key] for key, count in one.counts.items() if key in two.counts}
    return Joined(one.seconds + two.seconds, one.instructions + two.instructions, counts,
                  one.estimated | two.estimated)
