"""Counts events over a command and its descendants, in sets that take turns if they do not fit together."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.counting.counters import (
    DISABLED,
    ENABLE_ON_EXEC,
    INHERIT,
    INHERIT_THREAD,
    Counters,
    CountTarget,
    as_permitted,
    open_counters,
    opened_all,
)
from turbotui.machine.host import Host, PerfAttr


class CommandCounters:
    """Sets of counters that begin with a command's exec(2) and follow its threads and children.

    Args:
        sets: the events of each set, which is a group of its own.
        pid: a process that waits before its exec.
        later: positions of the sets that do not count before `rotate` enables them.
        waits: whether no set counts before `enable`, instead of from the exec on.
        threads: whether `pid` is a running thread, which is counted with the threads that it starts, without children.

    Attributes:
        user_only: whether the kernel's part is excluded, for lack of permission (kernel.perf_event_paranoid).

    Raises:
        HostError: a counter cannot be opened; then none stays open.
    """

    def __init__(self, host: Host, sets: Sequence[Sequence[PerfAttr]], pid: int,
                 later: frozenset[int] = frozenset(), *, waits: bool = False, threads: bool = False) -> None:
        self._open: list[Counters] = []
        heirs = INHERIT | (INHERIT_THREAD if threads else 0)
        first = [DISABLED if waits or at in later else DISABLED | ENABLE_ON_EXEC for at in range(len(sets))]
        self._open, self.user_only = as_permitted(lambda flags: opened_all(
            open_counters(host, attrs, CountTarget(pid, flags=heirs | flags, first=started))
            for attrs, started in zip(sets, first, strict=True)))

    def read(self) -> list[Sequence[int]]:
        """Totals of each set, as `Counters.totals` returns them."""
        return [counters.totals() for counters in self._open]

    def read_set(self, position: int) -> Sequence[int]:
        """Totals of one set."""
        return self._open[position].totals()

    def rotate(self, off: int, on: int) -> None:
        """Enable one set instead of another.

        Raises:
            HostError: as ioctl(2).
        """
        self._open[off].switch("a set of counters whose time slice is over", on=False)
        self._open[on].switch("a set of counters whose time slice begins", on=True)

    def enable(self, position: int) -> None:
        """Enable a set.

        Raises:
            HostError: as ioctl(2).
        """
        self._open[position].switch("a set of counters that begins", on=True)

    def close(self) -> None:
        """Close every counter."""
        for counters in self._open:
            counters.close()
        self._open = []
