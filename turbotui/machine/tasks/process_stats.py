"""Counts of every process by a file of each (proc_pid_stat(5)): kept open, parsed where it says something new.

Of 190 processes on two CPUs, most of which sleep, one reading takes 0.6 ms; 1.3 where each file of counts is read, and
3 where it is opened anew and all of it parsed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import Final, NamedTuple

from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import read_bytes
from turbotui.machine.tasks.processes import processes
from turbotui.untrusted import decoded

TICKS: Final = os.sysconf("SC_CLK_TCK")
"""Of a second, in which the kernel tells times to programs (proc(5))."""
_PIECE: Final = 2048
"""Bytes of one read: the name has 64 at most, the fifty numbers 20 each."""
_KEPT: Final = 512
"""Files that are kept open at most: the kernel keeps a page for each."""
_SHARE: Final = 64
"""The part of the descriptors there are that these files may take: counters have all but 64 (sampling/plan.py)."""
_WORDS: Final = 40
"""Words after the name, up to the delays."""
_NEVER_RAN: Final = b"0 0 0\n"
"""The schedstat of a process that never ran, and of each where the kernel keeps none (fs/proc/base.c)."""


class ProcessStat(NamedTuple):
    """Counts of a process or thread (proc_pid_stat(5)).

    Attributes:
        name: visible, at most 64 characters; it may contain anything.
        state: a letter, at the instant of reading: R runs, S sleeps, D waits for a device.
        faults: major page faults.
        ran: clock ticks of CPU time, of itself and of the kernel for it.
        threads: how many it has.
        started: when, in clock ticks since boot: with the number, names a process for good.
        pages: of memory that it holds.
        cpu: on which its first thread ran last.
        delayed: clock ticks for which it waited for block devices, where delays are accounted for.
    """

    name: str
    state: str
    faults: int
    ran: int
    threads: int
    started: int
    pages: int
    cpu: int
    delayed: int


def process_stat(content: bytes) -> ProcessStat | None:
    """The counts in a stat file; None where there are not enough of them."""
    head, found, rest = content.rpartition(b") ")  # a name may contain anything, parentheses too
    words = rest.split()
    if not found or len(words) < _WORDS:
        return None
    try:
        return ProcessStat(
            decoded(head.partition(b"(")[2]), decoded(words[0]), int(words[9]), int(words[11]) + int(words[12]),
            int(words[17]), int(words[19]), int(words[21]), int(words[36]), int(words[39]),
        )  # fmt: skip
    except ValueError:
        return None


class _Files:
    """Descriptors of stat files by the number of their process."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.open: dict[int, int] = {}

    def close(self) -> None:
        """Close every open file."""
        while self.open:
            self.host.close(self.open.popitem()[1])


class ProcessStats:
    """Reads the counts of all processes, again and again, on whichever thread, one reading at a time.

    A process with one thread that has not run since says what it said, but for the pages that it holds. Whether it ran,
    its schedstat tells in a fifth of the time (1 us for 5): how long it ran, how long it waited, and how often it got a
    CPU (Documentation/scheduler/sched-stats.rst), 0 throughout where the kernel keeps none. So of one that sleeps
    `pages` are those of when it ran last.

    An open file goes on to be that of its process when the number is given to another one. Files are closed with the
    last reference to this object.

    Args:
        host: whose processes.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._files = _Files(host)
        self._most: int | None = None
        self._said: dict[int, tuple[bytes, ProcessStat]] = {}
        self._brief: set[int] = set()  # of whom schedstat is open, not stat
        self._silent: set[int] = set()  # whose schedstat says nothing
        weakref.finalize(self, self._files.close).atexit = False

    def read(self) -> Mapping[int, ProcessStat]:
        """The counts of all processes by their numbers.

        Raises:
            HostError: the processes cannot be listed.
        """
        pids, before, said = processes(self._host), self._said, {}
        for pid in pids:
            content = self._content(pid)
            known = before.get(pid)
            if known is not None and known[0] == content:
                said[pid] = known
            elif (found := self._parsed(pid, content)) is not None:
                said[pid] = found
        for pid in self._files.open.keys() - said.keys():
            self._forget(pid)
        if self._silent:
            self._silent &= said.keys()
        self._said = said
        return {pid: found for pid, (_, found) in said.items()}

    def _parsed(self, pid: int, content: bytes) -> tuple[bytes, ProcessStat] | None:
        """What an open file says, which is new, and the counts of its process."""
        if pid not in self._brief:
            found = process_stat(content)
            if found is not None and found.threads == 1 and pid in self._files.open and pid not in self._silent:
                self._exchange(pid, "schedstat")
                content = b""  # what that one says is not known yet
            return None if found is None else (content, found)
        try:
            found = process_stat(read_bytes(self._host, f"/proc/{pid}/stat", _PIECE))  # after its schedstat
        except HostError:
            return None
        if content == _NEVER_RAN:
            self._silent.add(pid)
        if found is not None and (found.threads != 1 or pid in self._silent):
            self._exchange(pid, "stat")
            content = b""
        return None if found is None else (content, found)

    def _exchange(self, pid: int, name: str) -> None:
        """Have another file of a process open from now on; none where that cannot be opened."""
        silent = pid in self._silent
        self._forget(pid)
        try:
            self._files.open[pid] = self._host.open_file(f"/proc/{pid}/{name}")
        except HostError:
            silent = True  # it has no such file, or has ended
        else:
            if name != "stat":
                self._brief.add(pid)
        if silent:
            self._silent.add(pid)

    def _content(self, pid: int) -> bytes:
        """Read the open file of a process; empty for one that has ended."""
        descriptor = self._files.open.get(pid)
        if descriptor is not None:
            try:
                return self._host.read_at(descriptor, _PIECE)
            except HostError:  # it has ended; another one may have its number
                self._forget(pid)
        path = f"/proc/{pid}/stat"
        try:
            if len(self._files.open) >= self._room:
                return read_bytes(self._host, path, _PIECE)
            descriptor = self._files.open[pid] = self._host.open_file(path)
            return self._host.read_at(descriptor, _PIECE)
        except HostError:
            return b""

    @property
    def _room(self) -> int:
        if self._most is None:
            self._most = min(_KEPT, self._host.privileges().descriptors[0] // _SHARE)
        return self._most

    def _forget(self, pid: int) -> None:
        self._brief.discard(pid)
        self._silent.discard(pid)
        self._host.close(self._files.open.pop(pid))
