"""Joins time slices of multiplexed event sets to the longer intervals that are shown."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.quantities.joined_sets import Joined, SetInterval, join_rotation


def joined_intervals(slices: Sequence[tuple[int, SetInterval]]) -> tuple[tuple[int, Joined], ...]:
    """Join the numbered time slices of each interval by instructions over the whole run, and add them up."""
    found: dict[int, Joined] = {}
    for (number, _slice), one in zip(slices, join_rotation([part for _number, part in slices]), strict=True):
        before = found.get(number)
        found[number] = one if before is None else _sum(before, one)
    return tuple(found.items())


def _sum(one: Joined, two: Joined) -> Joined:
    """Add two time slices, without events that one of them lacks."""
    counts = {key: count + two.counts[key] for key, count in one.counts.items() if key in two.counts}
    return Joined(one.seconds + two.seconds, one.instructions + two.instructions, counts,
                  one.estimated | two.estimated)
