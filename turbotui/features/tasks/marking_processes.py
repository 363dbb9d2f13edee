"""Counters of running processes that mark regions in a FIFO named by the user.

Nobody held them before their first instruction, so every thread that is there gets counters when the first mark of its
process comes; threads that it starts later have them by themselves (perf_event_open(2), inherit_thread: Linux 5.13).
Children are counted when they mark regions themselves.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence

from turbotui.counting.commands import CommandCounters
from turbotui.machine.host import Host, HostError, PerfAttr


class MarkingProcesses:
    """The summed counters of several processes with the same event sets, with the interface of `CommandCounters`.

    Args:
        host: this machine.

    Attributes:
        user_only: whether the kernel's part of some thread is left out.
    """

    def __init__(self, host: Host, sets: Sequence[Sequence[PerfAttr]]) -> None:
        self._host = host
        self._sets = [list(group) for group in sets]
        self._counted: list[CommandCounters] = []
        self._on: set[int] = set()
        self.user_only = False

    def add(self, tids: Iterable[int]) -> None:
        """Count these threads too from now on.

        Raises:
            HostError: a counter cannot be opened; no thread of these is counted.
        """
        fresh: list[CommandCounters] = []
        try:
            for tid in tids:
                try:
                    fresh.append(CommandCounters(self._host, self._sets, tid, waits=True, threads=True))
                except HostError as error:
                    if error.errno != errno.ESRCH:  # else it has just ended
                        raise
        except HostError:
            for marking in fresh:
                marking.close()
            raise
        for marking in fresh:
            for position in self._on:
                marking.enable(position)
        self._counted += fresh
        self.user_only |= any(counters.user_only for counters in fresh)

    def read_set(self, position: int) -> Sequence[int]:
        nothing = (0,) * (2 + len(self._sets[position]))
        return list(map(sum, zip(nothing, *(counters.read_set(position) for counters in self._counted), strict=True)))

    def enable(self, position: int) -> None:
        self._on.add(position)
        for counters in self._counted:
            counters.enable(position)

    def rotate(self, off: int, on: int) -> None:
        self._on = (self._on - {off}) | {on}
        for counters in self._counted:
            counters.rotate(off, on)

    def close(self) -> None:
        """Close every counter."""
        for counters in self._counted:
            counters.close()
        self._counted = []
