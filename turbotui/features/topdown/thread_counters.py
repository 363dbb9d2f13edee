"""Top-down counters of threads: a group for each thread, on whichever CPU it runs.

The tasks feature samples its counters at switches, below a sampling leader. Intel's slots metrics allow no such leader
(intel_pmu_hw_config in arch/x86/events/intel/core.c), so the groups here only count: they are opened for each thread
and read at the end of an interval. They are not inherited, because read(2) returns the sum over a thread and those that
it created (perf_event_open(2), inherit). New threads are found in /proc; threads that end before are reported.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from turbotui.counting.counters import DISABLED, ENABLE_ON_EXEC, NOT_PERMITTED, CountTarget, as_permitted
from turbotui.dataclass import dataclass
from turbotui.features.topdown.counter_parts import (
    Counts,
    OpenedEvents,
    OpenPart,
    close_parts,
    encoded_events,
    open_accepted,
    read_parts,
)
from turbotui.features.topdown.engine import EventGroup, TopdownCounters
from turbotui.features.topdown.thread_search import BusyThreads, CountedThread, ProcessThreads
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.quantities.unavailable import Reason, Unavailable

_NO_ROOM: Final = (errno.EMFILE, errno.ENFILE)
_GroupId: TypeAlias = tuple[str, str, tuple[str, ...]]
"""PMU, node and events of a group; with level 2, the slots counter has more events."""


@dataclass(frozen=True, slots=True)
class ThreadCounts:
    """The counts of a thread in an interval."""

    thread: CountedThread
    counts: Counts


@dataclass(frozen=True, slots=True)
class ThreadInterval:
    """The counted threads of an interval."""

    threads: tuple[ThreadCounts, ...]
    seconds: float  # the length of the interval
    left_out: int = 0  # the number of threads that ran and were not counted, because there are too many
    # reasons for which threads could not be counted, with their numbers
    refused: Mapping[Unavailable, int] = field(default_factory=dict)
    user_only: bool = False  # whether counts exclude the kernel, for lack of permission
    gone: int | None = None  # the opened thread if it has ended, else None

    @property
    def enabled(self) -> float:
        """The CPU time of all threads in ns, by their counters."""
        return sum(max((part.enabled for parts in thread.counts.values() if not isinstance(parts, Unavailable)
                        for part in parts), default=0.0) for thread in self.threads)


class ThreadCounters:
    """The open counters of threads.

    Attributes:
        only: the thread for which levels below 1 are counted; None for all threads.
        refused: reasons for which threads were not counted at the last poll, with their numbers.
        user_only: whether counts exclude the kernel, for lack of permission.
    """

    def __init__(self, machine: Machine, counters: TopdownCounters, finder: ProcessThreads | BusyThreads) -> None:
        self._machine = machine
        self._host = machine.host
        self._counters = counters
        self._finder = finder
        self._open: dict[CountedThread, dict[_GroupId, list[OpenPart] | Unavailable]] = {}
        self._ended: list[ThreadCounts] = []
        self._encoded: dict[_GroupId, OpenedEvents | Unavailable] = {}
        self._threads: Mapping[int, CountedThread] = {}
        self.refused: dict[Unavailable, int] = {}
        self._began = machine.host.now_ns()
        self.only: int | None = None
        self.user_only = False

    @property
    def ended(self) -> bool:
        """Whether all counted processes have ended."""
        return self._finder.ended

    def look(self, *, on_exec: bool = False) -> None:
        """Open counters for new threads, from exec(2) on if asked, and close those of threads not counted now."""
        threads = self._threads = self._finder.find()
        for thread in [thread for thread in self._open if threads.get(thread.tid) != thread]:
            self._ended.append(self._read(thread))
            self._close(thread)
        self.refused = {}
        every, first = _by_id(self._counters.groups()), _by_id(self._counters.first_groups())
        for thread in threads.values():
            wanted = every if self.only is None or thread.tid == self.only else first
            opened = self._open.pop(thread, {})  # kept under its newest name
            for key in [key for key in opened if key not in wanted]:
                close_parts(opened.pop(key))
            try:
                for key in [key for key in wanted if key not in opened]:
                    opened[key] = self._opened(thread, wanted[key], on_exec=on_exec)
            except HostError as error:
                for parts in opened.values():
                    close_parts(parts)
                if error.errno != errno.ESRCH:  # the thread has ended meanwhile
                    why = self._why(error, thread)
                    self.refused[why] = self.refused.get(why, 0) + 1
                continue
            self._open[thread] = opened

    def measure(self) -> ThreadInterval:
        """End the interval, and return it."""
        self.look()
        ended, self._ended = self._ended, []
        now = self._host.now_ns()
        seconds, self._began = (now - self._began) / 1e9, now
        return ThreadInterval((*ended, *map(self._read, self._open)), seconds, self._finder.left_out,
                              dict(self.refused), self.user_only, None if self.only in self._threads else self.only)

    def close(self) -> None:
        """Close every descriptor."""
        for thread in list(self._open):
            self._close(thread)

    def _read(self, thread: CountedThread) -> ThreadCounts:
        return ThreadCounts(thread, {(pmu, parent): read_parts(parts, thread.name)
                                     for (pmu, parent, _names), parts in self._open[thread].items()})

    def _close(self, thread: CountedThread) -> None:
        for parts in self._open.pop(thread).values():
            close_parts(parts)

    def _opened(self, thread: CountedThread, group: EventGroup, *, on_exec: bool) -> list[OpenPart] | Unavailable:
        """Open the counters of a group on a thread, as one or as few parts as the kernel accepts.

        Raises:
            HostError: ESRCH, the thread has ended; EACCES, EPERM, EMFILE or ENFILE.
        """
        key = _id(group)
        if key not in self._encoded:
            self._encoded[key] = encoded_events(self._machine, group)
        events = self._encoded[key]
        if isinstance(events, Unavailable):
            return events
        first = DISABLED | ENABLE_ON_EXEC if on_exec else 0
        try:
            (parts, self._encoded[_id(group)]), self.user_only = as_permitted(
                lambda flags: open_accepted(self._machine, events, CountTarget(thread.tid, flags=flags, first=first)),
                user_only=self.user_only)  # users may count their own threads without the kernel's part
        except HostError as error:
            if error.errno in (*NOT_PERMITTED, *_NO_ROOM, errno.ESRCH):
                raise
            return explain_perf(error, f"perf {group.request.text}, of a thread", circumstances(self._machine),
                                events.events[0][1].attr.type)
        if not on_exec:
            # a group counts while its members are still being opened: intervals begin once all of them are
            read_parts(parts, thread.name)
        return parts

    def _why(self, error: HostError, thread: CountedThread) -> Unavailable:
        if error.errno in NOT_PERMITTED:
            level = self._machine.privileges.perf_paranoid
            limit = "unknown" if level is None else level
            return Unavailable(Reason.NOT_PERMITTED, f"{thread.name or thread.pid} belongs to another user, or "
                               f"kernel.perf_event_paranoid ({limit}) forbids it", "run as root, or with CAP_PERFMON")
        soft, hard = self._machine.privileges.descriptors or ("unknown", "65536")
        return Unavailable(Reason.NO_DESCRIPTORS, f"no file descriptor left for counters of threads (limit {soft})",
                           f"ulimit -n {hard}, or name fewer processes with --pid")


def _id(group: EventGroup) -> _GroupId:
    return group.branch.pmu, group.parent, group.names


def _by_id(groups: Iterable[EventGroup]) -> Mapping[_GroupId, EventGroup]:
    return {_id(group): group for group in groups}
