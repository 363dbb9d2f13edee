"""Slices of run time by records of switches: a thread ran from its way onto a CPU to its way off, or to its end."""

from __future__ import annotations

Thread = tuple[int, int]
"""The thread whose counters wrote the record, and the thread that it is about."""


class Slices:
    """The times since which threads are on their CPUs, in ns of the perf clock."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: dict[Thread, int] = {}

    def on(self, thread: Thread, time: int) -> None:
        """Note that a thread goes onto a CPU."""
        self._since[thread] = time

    def booked(self, thread: Thread, time: int) -> None:
        """Note that the run time of a thread up to now is known from elsewhere."""
        if thread in self._since:
            self._since[thread] = time

    def off(self, thread: Thread, time: int) -> int:
        """End the slice of a thread, and return its beginning; `time` where the beginning is not known."""
        return min(time, self._since.pop(thread, time))

    def knows(self, thread: Thread) -> bool:
        """Whether the thread is on a CPU."""
        return thread in self._since

    def forget(self) -> None:
        """Forget all slices after a loss of records: the threads may have left their CPUs."""
        self._since.clear()
