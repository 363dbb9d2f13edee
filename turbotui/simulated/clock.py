"""Clocks that a simulated machine can run on."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class SimulatedClock(Protocol):
    """The time of a simulated machine."""

    def now_ns(self) -> int:
        """Monotonic time in ns. Must never go back."""


class RealClock:
    """The monotonic clock of the machine that runs the simulation."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC_RAW in ns, which the NTP daemon does not slew (clock_gettime(2))."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def wall_ns(self) -> int:
        """The time of day in ns since 1970."""
        return time.time_ns()


class ManualClock:
    """A clock that a test moves by hand."""

    def __init__(self, start_ns: int = 0) -> None:
        self._now_ns = start_ns
        self._lock = threading.Lock()

    def now_ns(self) -> int:
        """The time as last set, in ns."""
        return self._now_ns

    def advance(self, seconds: float) -> None:
        """Move the clock forward.

        Raises:
            ValueError: `seconds` is negative; machine time never goes back.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back by {-seconds} s")
        with self._lock:
            self._now_ns += round(seconds * 1e9)
