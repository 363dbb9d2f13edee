"""Suspensions: the time that a machine slept while it was watched, in which its hardware may have counted on.

A clock that stands still in suspend (CLOCK_MONOTONIC_RAW) tells what programs had. Energy, idle and low-power counters
go on in suspend to idle, so an interval with a sleep in it is as long as turbostat's, which goes by gettimeofday(2).
"""

from __future__ import annotations

from typing import Final

from turbotui.machine.host import Host, Suspends

_SHORTEST_NS: Final = 10_000_000  # shorter ones are noise of two clocks: to suspend and resume devices takes longer


class Suspensions:
    """Sleeps of one machine since it was first looked at.

    Attributes:
        ns: for how long it slept.
    """

    def __init__(self, host: Host) -> None:
        self._host = host if isinstance(host, Suspends) else None
        self._before = self._total()
        self.ns = 0

    def look(self) -> bool:
        """Whether it slept since the last look."""
        passed = self._total() - self._before
        if passed - self.ns < _SHORTEST_NS:
            return False
        self.ns = passed
        return True

    def _total(self) -> int:
        return 0 if self._host is None else self._host.suspended_ns()
