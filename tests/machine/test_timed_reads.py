"""Clocks that are read by a thread that loses its CPU between two of them."""

from __future__ import annotations

import pytest

from turbotui.machine.timed_reads import clock_offset

AHEAD = 5_000_000_000
LOST = 300_000_000


class Interrupted:
    """Two clocks, five seconds apart, and a thread that loses its CPU before some of its looks at them."""

    def __init__(self, *lost: int) -> None:
        self.now = 0
        self._lost = [*lost]

    def _look(self) -> int:
        self.now += 100 + (self._lost.pop(0) if self._lost else 0)
        return self.now

    def behind(self) -> int:
        return self._look()

    def ahead(self) -> int:
        return self._look() + AHEAD


@pytest.mark.parametrize("lost", [(), (LOST,), (0, LOST), (0, 0, LOST), (LOST, LOST, LOST), (0, LOST, 0, 0, LOST, 0)])
def test_how_far_two_clocks_are_apart_is_known_though_the_thread_loses_its_cpu(lost: tuple[int, ...]) -> None:
    clocks = Interrupted(*lost)
    assert clock_offset(clocks.ahead, clocks.behind) == pytest.approx(AHEAD, abs=1_000)
