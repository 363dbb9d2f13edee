"""Reads the counts of every process (proc_pid_stat(5)) from files that stay open and are parsed if changed.

One reading of 190 processes on two CPUs, most of which sleep, takes 0.6 ms; 1.3 ms if each file of counts is
read, and 3 ms if all are opened and parsed again.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from functools import cached_property
from operator import itemgetter
from typing import Final, NamedTuple

from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import read_bytes
from turbotui.quantities.plain_numbers import numbers_among, whole_numbers
from turbotui.untrusted import decoded

TICKS: Final = os.sysconf("SC_CLK_TCK")
"""Clock ticks per second in the kernel's files (proc(5))."""
_PIECE: Final = 2048
"""Bytes of one read: at most 64 for the name, and 20 for each of fifty numbers."""
_KEPT: Final = 512
"""The most open files, for each of which the kernel keeps a page."""
SHARE: Final = 64
"""These files may take one in this many of all descriptors; counters have all but 64 (sampling/plan.py)."""
_WORDS: Final = 40
"""Words after the name, up to the delays."""
_BLOCK: Final = 32
"""Processes read between two looks at the clock: some 100 us."""
_NEVER_RAN: Final = b"0 0 0\n"
"""The schedstat of a process that never ran, and of all if the kernel keeps none (fs/proc/base.c)."""
_NUMBERS: Final = 8
_PLACES: Final = itemgetter(9, 11, 12, 17, 19, 21, 36, 39)
"""majflt, utime, stime, num_threads, starttime, rss, processor and delayacct_blkio_ticks after the name (proc(5))."""


class ProcessStat(NamedTuple):
    """Counts of a process or thread (proc_pid_stat(5))."""

    name: str  # visible, at most 64 characters; it may contain anything
    state: str  # a letter, at the instant of reading: R runs, S sleeps, D waits for a device
    faults: int  # major page faults
    ran: int  # clock ticks of CPU time in user and kernel mode
    threads: int  # the number of threads
    started: int  # the start in clock ticks since boot, which with the number identifies a process uniquely
    pages: int  # resident pages of memory
    cpu: int  # the CPU on which its first thread ran last; -1 if unknown
    delayed: int  # clock ticks for which it waited for block devices, if delay accounting is on


def process_stat(content: bytes) -> ProcessStat | None:
    """Parse a stat file; None if there are too few values."""
    head, end, rest = content.rpartition(b") ")  # a name may contain anything, parentheses too
    words = rest.split()
    if not end or len(words) < _WORDS:
        return None
    numbers = [number for number in whole_numbers(_PLACES(words)) if number is not None]
    if len(numbers) < _NUMBERS:
        return None
    faults, user, kernel, *others = numbers
    return ProcessStat(decoded(head.partition(b"(")[2]), decoded(words[0]), faults, user + kernel, *others)


class _Files:
    def __init__(self, host: Host) -> None:
        self.host = host
        self.open: dict[int, int] = {}

    def close(self) -> None:
        while self.open:
            self.host.close(self.open.popitem()[1])


class ReadProcesses(dict[int, ProcessStat]):
    """The counts of all processes by number, at one reading.

    Attributes:
        times: ns on the host's clock before and after each was read; some that are read one after the other share them.
    """

    def __init__(self, counts: Mapping[int, ProcessStat] | None = None,
                 times: Mapping[int, tuple[int, int]] | None = None) -> None:
        super().__init__(counts or {})
        self.times = times or {}

    def seconds_since(self, before: ReadProcesses, pid: int) -> float:
        """The longest time that may lie between two readings of a process: it cannot have run for longer.

        A reading of all takes seconds on a swapping machine.
        """
        return (self.times[pid][1] - before.times[pid][0]) * 1e-9


class ProcessStats:
    """Reads the counts of all processes periodically, on any thread, one reading at a time.

    The `pages` of a sleeping process are those of its last run. An open file stays that of its process even if
    another process gets the number. Files are closed with the last reference to this object.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._renumbered: bool | None = None
        self._files = _Files(host)
        self._said: dict[int, tuple[bytes, ProcessStat]] = {}
        self._brief: set[int] = set()  # processes whose schedstat is open instead of stat
        self._silent: set[int] = set()  # processes without a usable schedstat
        weakref.finalize(self, self._files.close).atexit = False

    def read(self) -> ReadProcesses:
        """Return the counts of all processes. Raises HostError if the processes cannot be listed."""
        pids, before, stats = numbers_among(self._host.list_dir("/proc")), self._said, {}
        times: dict[int, tuple[int, int]] = {}
        for at in range(0, len(pids), _BLOCK):
            block, began_ns = pids[at:at + _BLOCK], self._host.now_ns()
            for pid in block:
                content = self._content(pid)
                if (known := before.get(pid)) is not None and known[0] == content:
                    stats[pid] = known
                elif (parsed := self._parsed(pid, content)) is not None:
                    stats[pid] = parsed
            times.update(dict.fromkeys(block, (began_ns, self._host.now_ns())))
        for pid in self._files.open.keys() - stats.keys():
            self._forget(pid)
        if self._silent:
            self._silent &= stats.keys()
        self._said = stats
        return ReadProcesses({pid: stat for pid, (_, stat) in stats.items()}, times)

    def _parsed(self, pid: int, content: bytes) -> tuple[bytes, ProcessStat] | None:
        """Parse the changed content of an open file, and return the counts of its process."""
        if pid not in self._brief:
            stat = self._stat(content)
            if stat is not None and stat.threads == 1 and pid in self._files.open and pid not in self._silent:
                # with one thread, counts change only if the process runs (but for its resident pages), and schedstat
                # tells that in a fifth of the time (1 us instead of 5): CPU time, waiting time and time slices
                # (Documentation/scheduler/sched-stats.rst), all 0 if the kernel keeps none
                self._exchange(pid, "schedstat")
                content = b""  # the other file's content is not known yet
            return None if stat is None else (content, stat)
        try:
            stat = self._stat(read_bytes(self._host, f"/proc/{pid}/stat", _PIECE))  # after its schedstat
        except HostError:
            return None
        if content == _NEVER_RAN:
            self._silent.add(pid)
        if stat is not None and (stat.threads != 1 or pid in self._silent):
            self._exchange(pid, "stat")
            content = b""
        return None if stat is None else (content, stat)

    def _stat(self, content: bytes) -> ProcessStat | None:
        """Parse a stat file; a container's rows have other numbers than the CPU there."""
        stat = process_stat(content)
        if self._renumbered is None:
            self._renumbered = self._host.privileges().renumbered
        return stat._replace(cpu=-1) if self._renumbered and stat is not None else stat

    def _exchange(self, pid: int, name: str) -> None:
        """Replace the open file of a process; no file if it cannot be opened."""
        silent = pid in self._silent
        self._forget(pid)
        try:
            self._files.open[pid] = self._host.open_file(f"/proc/{pid}/{name}")
        except HostError:
            silent = True  # the process has no such file, or has ended
        else:
            if name != "stat":
                self._brief.add(pid)
        if silent:
            self._silent.add(pid)

    def _content(self, pid: int) -> bytes:
        """Read the open file of a process; empty if it has ended."""
        descriptor = self._files.open.get(pid)
        if descriptor is not None:
            try:
                return self._host.read_at(descriptor, _PIECE)
            except HostError:  # the process has ended; another one may have its number
                self._forget(pid)
        path = f"/proc/{pid}/stat"
        try:
            if len(self._files.open) >= self._room:
                return read_bytes(self._host, path, _PIECE)
            descriptor = self._files.open[pid] = self._host.open_file(path)
            return self._host.read_at(descriptor, _PIECE)
        except HostError:
            return b""

    @cached_property
    def _room(self) -> int:
        return min(_KEPT, self._host.privileges().most_descriptors // SHARE)

    def _forget(self, pid: int) -> None:
        self._brief.discard(pid)
        self._silent.discard(pid)
        self._host.close(self._files.open.pop(pid))
