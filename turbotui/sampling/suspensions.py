"""Measures for how long the machine was suspended while it was watched, because hardware may count meanwhile.

A clock that stops in suspend (CLOCK_MONOTONIC_RAW) gives the time in which programs ran. Counters of energy, idle and
low-power states continue in suspend-to-idle, so an interval with a sleep is as long as turbostat's, which uses
gettimeofday(2).
"""

from __future__ import annotations

from typing import Final

from turbotui.machine.host import Host, SuspendableHost

_SHORTEST_NS: Final = 10_000_000  # shorter sleeps are noise of two clocks: suspending and resuming devices takes longer


class Suspensions:
    """The suspensions of one machine since the first check; `ns` is the total time asleep."""

    def __init__(self, host: Host) -> None:
        self._host = host if isinstance(host, SuspendableHost) else None
        self._before = self._total()
        self.ns = 0

    def look(self) -> bool:
        """Tell whether the machine was suspended since the last check."""
        passed = self._total() - self._before
        if passed - self.ns < _SHORTEST_NS:
            return False
        self.ns = passed
        return True

    def _total(self) -> int:
        return 0 if self._host is None else self._host.suspended_ns()
