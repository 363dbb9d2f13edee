"""Scales counts of multiplexed counters, and adds those of many counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import mul, sub, truediv
from typing import cast

from turbotui.dataclass import dataclass


def difference(newer: Sequence[int], older: Sequence[int]) -> list[int]:
    """Return by how much each total of a group grew."""
    return list(map(sub, newer, older))


def scaled(count: float, enabled: float, running: float) -> float | None:
    """Estimate what a counter would have counted without pauses; None if it never ran.

    Args:
        enabled: the time for which it should have counted.
        running: the time for which it did, in the same unit.
    """
    if running >= enabled:
        return count
    return count * enabled / running if running > 0 else None


def scaled_columns(counts: Sequence[float | None], enabled: Sequence[float | None],
                   running: Sequence[float | None]) -> list[float | None]:
    """Scale many counts (`scaled`); None also where a number is unknown."""
    try:
        counted = map(mul, cast("Sequence[float]", counts), cast("Sequence[float]", enabled))
        return list(map(truediv, counted, cast("Sequence[float]", running)))
    except (TypeError, ZeroDivisionError):  # one is unknown, or never ran
        return [None if count is None or due is None or ran is None else scaled(count, due, ran)
                for count, due, ran in zip(counts, enabled, running, strict=True)]


@dataclass(slots=True)
class CountTotal:
    """A running count of many counters, each of which is read at a time of its own."""

    count: float = 0  # scaled to the whole time for which they should have counted
    # enabled, running: ns for which they should have counted, and for which they did
    enabled: int = 0
    running: int = 0
    # passed, unsure: ns from the first reading on, and how far they may be off: the increase of `count` divided by that
    # of `passed` is the sum of the counters' rates, each over the time between its own readings
    passed: float = 0
    unsure: float = 0

    def add(self, gains: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Add what each counter counted between its two last readings.

        A count is scaled by its own counter's times. The mean of the others replaces a counter that never ran; if none
        did, the count stands still while `enabled` continues.

        Args:
            gains: ns enabled, ns running, the count, ns between the readings, and how far that may be off.
        """
        estimate: float = 0
        covered = missed = number = passed_sum = unsure_sum = 0
        rate = doubt = 0.0  # counts a ns, and how far they may be off
        for enabled, running, count, passed, unsure in gains:
            self.enabled += enabled
            self.running += running
            number += 1
            passed_sum += passed
            unsure_sum += unsure
            whole = count if running >= enabled else scaled(count, enabled, running)
            if whole is None:
                missed += enabled
                continue
            estimate += whole
            covered += enabled
            if passed:
                rate += whole / passed
                doubt += whole / passed * unsure / passed
        if rate:
            self.passed += estimate / rate
            self.unsure += estimate / rate * doubt / rate
        elif number:
            self.passed += passed_sum / number
            self.unsure += unsure_sum / number
        self.count += estimate * (covered + missed) / covered if missed and covered else estimate
