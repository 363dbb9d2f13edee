"""Opens perf counters of CPUs, threads, heirs and control groups, and reads what they counted.

A group is read by one read(2): how many counters, ns enabled, ns running, and a count for each. Inherited counters are
read one by one, because read(2) of their group is refused (perf_event_open(2), inherit).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from turbotui.counting.totals import difference
from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_abi import DISABLE, ENABLE, control
from turbotui.machine.perf_groups import close_all
from turbotui.machine.timed_reads import SLOW_READ_NS, is_interrupted, undisturbed

# bits of the flag word of perf_event_attr (uapi linux/perf_event.h)
DISABLED: Final = 1 << 0
INHERIT: Final = 1 << 1
ENABLE_ON_EXEC: Final = 1 << 12
INHERIT_THREAD: Final = 1 << 35  # Linux 5.13: not to children
USER_ONLY: Final = 1 << 5 | 1 << 6  # exclude_kernel, exclude_hv
_PID_CGROUP: Final = 4  # PERF_FLAG_PID_CGROUP
_TIMES: Final = 0b0011  # read_format: TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING
NOT_PERMITTED: Final = (errno.EACCES, errno.EPERM)
ENABLED, RUNNING, FIRST_COUNT = 1, 2, 3  # words of a read of a group
TOO_MANY: Final = (errno.EINVAL, errno.ENOSPC)  # of a sibling that finds no counter beside those before it
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CountTarget:
    """What is counted."""

    pid: int = -1  # a thread, or the descriptor of a control group's directory; -1 for whatever runs on the CPU
    cpu: int = -1  # the CPU; -1 for any
    # of every counter. INHERIT counts what the thread starts from then on, USER_ONLY leaves the kernel out.
    flags: int = 0
    first: int = 0  # further flags of the leader of a group, whose other counters count while it does
    is_group: bool = False  # whether `pid` is a control group

    def asked(self, attr: PerfAttr, *, leads: bool) -> PerfAttr:
        """Return an event's attribute with this target."""
        if not (self.flags or self.first or self.is_group):
            return attr
        flags = attr.flags | self.flags | (self.first if leads else 0)
        return replace(attr, flags=flags, read_format=_TIMES if self.flags & INHERIT else attr.read_format,
                       target_flags=_PID_CGROUP if self.is_group else attr.target_flags)


class LostCounterError(HostError):
    """A pinned counter lost its place, or the kernel took the group apart."""


class Counters:
    """Counters of one group.

    Attributes:
        host: where they count.
        descriptors: in the order of opening, the leader first.
    """

    __slots__ = ("_before", "_inherited", "_layout", "_quickest", "_read_ns", "_target", "descriptors", "host")

    def __init__(self, host: Host, target: CountTarget) -> None:
        self.host = host
        self._target = target
        self._inherited = bool(target.flags & INHERIT)
        self._layout = _words(3)
        self._before: Sequence[int] = ()  # `totals` at the last reading of gains
        self._read_ns: tuple[int, int] | None = None
        self._quickest = 0
        self.descriptors: list[int] = []

    def add(self, attr: PerfAttr) -> None:
        """Open one more counter; the first leads the others.

        Raises:
            HostError: as perf_event_open(2).
        """
        target, leader = self._target, self.descriptors[0] if self.descriptors else -1
        asked = target.asked(attr, leads=leader == -1)
        self.descriptors.append(self.host.perf_event_open(asked, target.pid, target.cpu, leader))
        if self._before:
            self._before = (*self._before, 0)
        if not self._inherited:
            self._layout = _words(3 + len(self.descriptors))

    def keep(self, number: int) -> None:
        """Close the counters after the first few, the newest first."""
        close_all(self.host, self.descriptors[number:])
        del self.descriptors[number:]
        self._before = self._before[: 2 + number]
        if not self._inherited:
            self._layout = _words(3 + number)

    def totals(self) -> Sequence[int]:
        """Return ns enabled, ns running, and each counter's count, since the opening.

        Raises:
            LostCounterError: a counter lost its place.
            HostError: as read(2).
        """
        if not self._inherited:
            return self._read(self.descriptors[0])[1:]
        each = [self._read(descriptor) for descriptor in self.descriptors]
        return each[0][1], each[0][2], *(count for count, _enabled, _running in each)

    def gains(self) -> Sequence[int]:
        """Return by how much each of `totals` grew since the previous call; raises as `totals` does."""
        before, self._before = self._before, self.totals()
        return difference(self._before, before) if before else self._before

    def timed_gains(self, began: int) -> tuple[Sequence[int], int, int, int]:
        """Return `gains`, and the time between the two readings: counters of many CPUs are read one after the other.

        Args:
            began: ns on the host's clock, from just before this call.

        Returns:
            The gains; ns between the readings, and how far that may be off, both 0 at the first; ns after the reading.
            Raises as `totals` does.
        """
        totals = self.totals()
        ended = self.host.now_ns()
        if ended - began > self._quickest and is_interrupted(ended - began, self._quickest):
            began, totals, ended = undisturbed(self.totals, self._quickest or SLOW_READ_NS, self.host.now_ns)
        if not ended - began > self._quickest > 0:
            self._quickest = ended - began
        gains = difference(totals, self._before) if self._before else totals
        before, self._before, self._read_ns = self._read_ns, totals, (began, ended)
        if before is None:
            return gains, 0, 0, ended
        # a counter is enabled for no longer than the time between its readings, whenever in these they were
        least, most = max(began - before[1], gains[0]), ended - before[0]
        passed = max((began + ended - before[0] - before[1]) >> 1, least)
        return gains, passed, max(passed - least, most - passed), ended

    def switch(self, what: str, *, on: bool) -> None:
        """Let the group count or not, in all present and future heirs: ioctl(2) reaches every inherited copy.

        Raises:
            HostError: as ioctl(2), of `what`.
        """
        control(self.descriptors[0], ENABLE if on else DISABLE, 0, what)

    def close(self) -> None:
        """Close every counter, the leader last."""
        self.keep(0)

    def capture(self) -> bytes:
        """One raw read of a group, which `words` decodes later. Raises as read(2)."""
        return self.host.read_counter(self.descriptors[0], self._layout.size)

    def words(self, content: bytes) -> tuple[int, ...]:
        """The words of a raw read: of a group their number, ns enabled, ns running, and each counter's count.

        Raises:
            LostCounterError: a counter lost its place.
        """
        if len(content) != self._layout.size:
            # end of file: the counter is in error state (perf_event_open(2)); a shorter read: the kernel took the group
            # apart, as it does when the CPU goes offline
            raise LostCounterError(errno.ENODATA, "a counter that lost its place")
        return self._layout.unpack(content)

    def _read(self, descriptor: int) -> tuple[int, ...]:
        return self.words(self.host.read_counter(descriptor, self._layout.size))


@lru_cache(maxsize=64)
def _words(number: int) -> struct.Struct:
    return struct.Struct(f"={number}Q")


def open_counters(host: Host, attrs: Iterable[PerfAttr], target: CountTarget) -> Counters:
    """Open counters as one group, led by the first.

    Raises:
        HostError: as perf_event_open(2); nothing stays open.
    """
    return open_parts(host, ((attr, True) for attr in attrs), target)[0]


def open_parts(host: Host, attrs: Iterable[tuple[PerfAttr, bool]], target: CountTarget) -> list[Counters]:
    """Open counters as one group, or as few groups as the kernel accepts.

    Args:
        attrs: of each counter, and whether it has to stay below the first one.

    Raises:
        HostError: as perf_event_open(2); nothing stays open.
    """
    parts = [Counters(host, target)]
    try:
        for attr, bound in attrs:
            try:
                parts[-1].add(attr)
            except HostError as error:
                if not parts[-1].descriptors or bound or error.errno not in TOO_MANY:
                    raise
                parts.append(Counters(host, target))
                parts[-1].add(attr)
    except HostError:
        for opened in parts:
            opened.close()
        raise
    return parts


def opened_all(groups: Iterable[Counters]) -> list[Counters]:
    """Return groups that are opened while they are iterated over; where one is refused, none stays open."""
    opened: list[Counters] = []
    try:
        for group in groups:
            opened.append(group)  # noqa: PERF402 - those before a refusal have to be known
    except HostError:
        for group in opened:
            group.close()
        raise
    return opened


def as_permitted(opens: Callable[[int], _T], *, user_only: bool = False) -> tuple[_T, bool]:
    """Open counters, without the kernel's part if only that is permitted (kernel.perf_event_paranoid).

    Args:
        opens: opens them with further flags.
        user_only: whether the kernel's part is known not to be permitted.

    Returns:
        What was opened, and whether the kernel's part is left out.

    Raises:
        HostError: as perf_event_open(2).
    """
    if not user_only:
        try:
            return opens(0), False
        except HostError as error:
            if error.errno not in NOT_PERMITTED:
                raise
    return opens(USER_ONLY), True
