"""Counts events over a command and its descendants, in multiplexed sets if they do not fit together."""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_abi import DISABLE, ENABLE, control
from turbotui.machine.perf_groups import close_all

# bits of the flag word of struct perf_event_attr (include/uapi/linux/perf_event.h)
_DISABLED: Final = 1 << 0
_INHERIT: Final = 1 << 1
_INHERIT_THREAD: Final = 1 << 35  # Linux 5.13: not to children
_EXCLUDE_KERNEL: Final = 1 << 5
_EXCLUDE_HV: Final = 1 << 6
_ENABLE_ON_EXEC: Final = 1 << 12
_FORMAT: Final = 0b011  # TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING; members of inherited groups are read one by one
_LAYOUT: Final = struct.Struct("=3Q")


@dataclass(frozen=True, slots=True)
class CommandCount:
    """One counter as read, over the command and its descendants.

    Attributes:
        value: counted events.
        enabled: ns for which it was enabled.
        running: ns for which it ran.
    """

    value: int
    enabled: int
    running: int


class CommandCounters:
    """Counters that begin with a command's exec(2) and follow its threads and children.

    Args:
        host: this machine.
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
        self._host = host
        self._heirs = _INHERIT | (_INHERIT_THREAD if threads else 0)
        self._later = frozenset(range(len(sets))) if waits else later
        self._open: list[list[int]] = []
        self.user_only = False
        try:
            self._open_all(sets, pid, 0)
        except HostError as error:
            self.close()
            if error.errno not in (errno.EACCES, errno.EPERM):
                raise
            self.user_only = True
            try:
                self._open_all(sets, pid, _EXCLUDE_KERNEL | _EXCLUDE_HV)
            except HostError:
                self.close()
                raise

    def read(self) -> list[list[CommandCount]]:
        """Read every counter, by sets, in the order given.

        Raises:
            HostError: a counter cannot be read.
        """
        return [self.read_set(position) for position in range(len(self._open))]

    def read_set(self, position: int) -> list[CommandCount]:
        """Read the counters of one set.

        Raises:
            HostError: a counter cannot be read.
        """
        return [CommandCount(*_LAYOUT.unpack(self._host.read_counter(descriptor, _LAYOUT.size)))
                for descriptor in self._open[position]]

    def rotate(self, off: int, on: int) -> None:
        """Enable one set instead of another, in all present and future threads and children.

        A set counts while its leader is enabled; ioctl(2) reaches every inherited copy.

        Raises:
            HostError: as ioctl(2).
        """
        control(self._open[off][0], DISABLE, 0, "a set of counters whose time slice is over")
        control(self._open[on][0], ENABLE, 0, "a set of counters whose time slice begins")

    def enable(self, position: int) -> None:
        """Enable a set in all present and future threads and children.

        Raises:
            HostError: as ioctl(2).
        """
        control(self._open[position][0], ENABLE, 0, "a set of counters that begins")

    def close(self) -> None:
        """Close every counter."""
        for one in self._open:
            close_all(self._host, one)
        self._open = []

    def _open_all(self, sets: Sequence[Sequence[PerfAttr]], pid: int, flags: int) -> None:
        for position, events in enumerate(sets):
            group: list[int] = []
            self._open.append(group)
            for attr in events:
                leader = group[0] if group else -1
                first = _DISABLED if position in self._later else _DISABLED | _ENABLE_ON_EXEC
                start = 0 if group else first  # siblings count while their leader does
                asked = replace(attr, flags=attr.flags | self._heirs | start | flags, read_format=_FORMAT)
                group.append(self._host.perf_event_open(asked, pid, -1, leader))


def estimate(count: CommandCount, expected: int | None = None) -> float | None:
    """Estimate the events that a counter would have counted without pauses; None if it never ran.

    Args:
        count: a count as read, or a difference of two readings.
        expected: ns for which it should have counted; None for those in which it was enabled. On machines with several
            core types a counter of one type pauses while the command runs on another.
    """
    if not count.running:
        return 0.0 if not (count.enabled if expected is None else expected) else None
    return count.value * max(1.0, (count.enabled if expected is None else expected) / count.running)


def difference(newer: CommandCount, older: CommandCount) -> CommandCount:
    """Return the difference of two readings."""
    return CommandCount(newer.value - older.value, newer.enabled - older.enabled, newer.running - older.running)
