"""Throttling of the clock event, which rests while frequent switches of threads give enough samples.

A counter in a task's group costs every switch of the task 0.2 us, and the timer of a sampling one as much again
(bench.tasks). If threads leave their CPU thousands of times a second, their switches give all samples that the clock
would, so the clock rests. A thread that then stays on the CPU is found by the next poll, which wakes the clock.
"""

from __future__ import annotations

from typing import Final

POLL_NS: Final = 20_000_000
"""How often to poll the rings while a clock rests, and before it is known whether it can; with the clock's period
(`sets.TICK_NS`) this bounds how long a thread runs unseen."""
_OFTEN: Final = 5_000  # samples a second from which the clock rests, which would add 0.2 % of a CPU
_SELDOM: Final = 1_000  # samples a second below which the clock wakes
_SHORT_NS: Final = POLL_NS // 2  # ns; shorter times are not judged
_AWAKE_NS: Final = 1_000_000_000  # ns awake after waking, because a switch of the clock touches every thread of the set


class ClockThrottle:
    """Decides from the rate of samples in one ring whether the clock event may rest."""

    __slots__ = ("_count", "_known", "_seen", "_since", "_until", "resting")

    def __init__(self, now_ns: int) -> None:
        self._since = self._until = self._seen = now_ns
        self._count = 0
        self._known = False
        self.resting = False

    @property
    def close(self) -> bool:
        """Whether the next poll must come within `POLL_NS`."""
        return self.resting or not self._known

    def update(self, now_ns: int, samples: int) -> bool:
        """Count the samples of one poll; return True if `resting` has changed."""
        self._count += samples
        if samples:
            self._seen = now_ns
        spent = now_ns - self._since
        if spent < _SHORT_NS:
            return False
        rate = self._count * 1e9 / spent
        self._since, self._count, self._known = now_ns, 0, True
        if self.resting and (rate < _SELDOM or now_ns - self._seen >= POLL_NS):  # without samples, it drops at once
            self.resting = False
            self._until = now_ns + _AWAKE_NS
            return True
        if not self.resting and samples and rate > _OFTEN and now_ns >= self._until:
            self.resting = True
            return True
        return False
