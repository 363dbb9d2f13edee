"""Slices of run time from context-switch records: from a thread's switch-in to its switch-out or exit."""

from __future__ import annotations

Thread = tuple[int, int]
"""The thread whose counters wrote the record, and the thread that it is about."""


class Slices:
    """The switch-in times of running threads, in ns of the perf clock."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: dict[Thread, int] = {}

    def on(self, thread: Thread, time: int) -> None:
        """Record that a thread is switched in."""
        self._since[thread] = time

    def booked(self, thread: Thread, time: int) -> None:
        """Restart a thread's slice: its run time up to now is accounted for elsewhere."""
        if thread in self._since:
            self._since[thread] = time

    def off(self, thread: Thread, time: int) -> int:
        """End a thread's slice and return its start; `time` if the start is unknown."""
        return min(time, self._since.pop(thread, time))

    def knows(self, thread: Thread) -> bool:
        """Whether the thread is known to be running."""
        return thread in self._since

    def forget(self) -> None:
        """Forget all slices after a loss of records: the threads may have left their CPUs."""
        self._since.clear()
