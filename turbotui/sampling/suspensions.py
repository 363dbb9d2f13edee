"""Measure how long the machine slept while it was watched; its hardware may have counted on in that time.

A clock that stops in suspend (CLOCK_MONOTONIC_RAW) gives the time in which programs ran. Counters of energy, idle and
low-power states continue in suspend-to-idle, so an interval with a sleep is as long as turbostat's, which uses
gettimeofday(2).
"""

from __future__ import annotations

from typing import Final

from turbotui.machine.host import Host, SuspendableHost

_SHORTEST_NS: Final = 10_000_000  # shorter sleeps are noise of two clocks: suspending and resuming devices takes longer


class Suspensions:
    """Sleeps of one machine since the first look.

    Attributes:
        ns: total time asleep.
    """

    def __init__(self, host: Host) -> None:
        self._host = host if isinstance(host, SuspendableHost) else None
        self._before = self._total()
        self.ns = 0

    def look(self) -> bool:
        """Whether the machine slept since the last look."""
        passed = self._total() - self._before
        if passed - self.ns < _SHORTEST_NS:
            return False
        self.ns = passed
        return True

    def _total(self) -> int:
        return 0 if self._host is None else self._host.suspended_ns()
