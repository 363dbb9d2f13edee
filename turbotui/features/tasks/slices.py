"""Slices of run time by records of switches: a thread ran from its way onto a CPU to its way off, or to its end."""

from __future__ import annotations

Thread = tuple[int, int]
"""The thread whose counters wrote the record, and the thread that it is about."""


class Slices:
    """Since when each thread is on its CPU, in ns of the perf clock."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: dict[Thread, int] = {}

    def on(self, thread: Thread, time: int) -> None:
        """A thread goes on a CPU."""
        self._since[thread] = time

    def booked(self, thread: Thread, time: int) -> None:
        """Until now the run time of a thread is known otherwise."""
        if thread in self._since:
            self._since[thread] = time

    def off(self, thread: Thread, time: int) -> int:
        """A thread leaves its CPU, or ends: since when it ran and is not booked; `time` where that is not known."""
        return min(time, self._since.pop(thread, time))

    def knows(self, thread: Thread) -> bool:
        """Whether it is on a CPU."""
        return thread in self._since

    def forget(self) -> None:
        """Records were lost: who went on a CPU may have left it since."""
        self._since.clear()
