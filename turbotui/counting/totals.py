"""Scales counts of multiplexed counters, and adds those of many counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import sub

from turbotui.dataclass import dataclass


def difference(newer: Sequence[int], older: Sequence[int]) -> list[int]:
    """Return by how much each total of a group grew."""
    return list(map(sub, newer, older))


def scaled(count: int, enabled: int, running: int) -> float | None:
    """Estimate what a counter would have counted without pauses; None if it never ran.

    Args:
        enabled: ns for which it should have counted.
        running: ns for which it did.
    """
    if running >= enabled:
        return count
    return count * enabled / running if running > 0 else None


@dataclass(slots=True)
class CountTotal:
    """A running count of many counters."""

    count: float = 0  # scaled to the whole time for which they should have counted
    # enabled, running: ns for which they should have counted, and for which they did
    enabled: int = 0
    running: int = 0

    def add(self, gains: Iterable[tuple[int, int, int]]) -> None:
        """Add what each counter counted in the same time: ns enabled, ns running and count.

        A count is scaled by its own counter's times. The mean of the others replaces a counter that never ran; if none
        did, the count stands still while `enabled` continues.
        """
        estimate: float = 0
        covered = missed = 0
        for enabled, running, count in gains:
            self.enabled += enabled
            self.running += running
            whole = scaled(count, enabled, running)
            if whole is None:
                missed += enabled
            else:
                estimate += whole
                covered += enabled
        self.count += estimate * (covered + missed) / covered if missed and covered else estimate
