"""Facts of /proc on threads and processes beside their counters: user, arguments, state and group.

They are read for visible rows, and kept with the interval, so that ended tasks keep theirs.
Files as proc(5) describes them: /proc/PID/stat, cmdline, status, cgroup.
"""

from __future__ import annotations

import os
import pwd
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Final, TypeAlias

from turbotui.dataclass import copier, dataclass
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.reading import read_bytes
from turbotui.machine.small_files import text_of
from turbotui.machine.tasks.group_names import GroupName, group_of_task
from turbotui.machine.tasks.numa_balancing import ENOUGH, MOST_THREADS, MovedPages, NumaBalancing, moved_of_all
from turbotui.machine.tasks.numa_maps import ONE_NODE, PENDING, NodeMemory, NumaMemory
from turbotui.machine.tasks.process_stats import SHARE
from turbotui.machine.tasks.sight import FOREIGN, TaskSight, task_sight
from turbotui.machine.topology import Topology
from turbotui.quantities.plain_numbers import integer, whole_number
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.untrusted import decoded, one_line

READS: Final = 300
"""The most tasks whose files are read for one interval, some 10 ms."""
_MAPS: Final = 8
"""The most processes whose memory by node is read for one interval."""
_KEPT: Final = 4_096
"""The most processes that are cached."""
_OPEN: Final = 128
"""The most open files, for each of which the kernel keeps a page."""
_PIECE: Final = 2_048
"""Bytes of one read of a stat file: at most 64 for the name, and 20 for each of fifty numbers."""
_WORDS: Final = 4_096
"""The most bytes of a command line."""
ALLOWED_SECONDS: Final = 10
"""For how long the CPUs of a task's affinity are kept: they seldom change, and a read takes 15 us."""
_KERNEL_THREAD: Final = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_POLICIES: Final = {0: "OTHER", 1: "FIFO", 2: "RR", 3: "BATCH", 5: "IDLE", 6: "DEADLINE", 7: "EXT"}
"""SCHED_ of uapi linux/sched.h."""
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

TaskKey: TypeAlias = "tuple[int, int | None]"
"""A thread, or a process with None."""

ENDED: Final = Unavailable(Reason.NOT_READ, "the task had ended before /proc was asked about it")
NOT_THEN: Final = Unavailable(Reason.NOT_READ, "nobody looked at this task when the interval was the newest one")
TOO_MANY: Final = Unavailable(Reason.NOT_READ, f"{READS} tasks have been looked at in this interval",
                              "wait for the next one, or filter rows")


@dataclass(frozen=True, slots=True)
class Stat:
    """Fields of /proc/PID/stat."""

    name: str  # the thread's name, at most 15 characters
    state: str  # a letter: R runs, S sleeps, D waits for a device, Z is dead and not waited for, T is stopped, I idles
    parent: int  # the process that created or adopted it
    started: int  # the start in clock ticks since boot, which with the number identifies a process uniquely
    kernel: bool  # whether it is a thread of the kernel
    priority: int  # the kernel's; below 0 for real-time policies
    nice: int  # -20 to 19
    policy: str  # of the scheduler, as chrt(1) calls it
    threads: int | None = None  # of the whole process; None in recordings that lack it
    memory: int | None = None  # bytes of the process in memory (rss); None in recordings that lack it
    ran: int | None = None  # clock ticks of CPU time, user and kernel, of the whole process; None as above
    allowed: str | None = None  # CPUs on which it may run (status: Cpus_allowed_list); None as above, or unread


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Facts on one thread or process."""

    stat: Stat  # the stat of the thread or process
    process: str  # name of the process
    arguments: str  # the command line; kernel threads have their name in brackets
    user: str  # the user's name, or number if there is no name
    group: GroupName | None  # the control group; None if the kernel has none


_WITH_STAT: Final[Callable[[TaskFacts, Stat], TaskFacts]] = copier(TaskFacts, "stat")
_WITH_TIME: Final[Callable[[Stat, int | None], Stat]] = copier(Stat, "ran")
_WITH_ALLOWED: Final[Callable[[Stat, str | None], Stat]] = copier(Stat, "allowed")


def parse_stat(text: str) -> Stat | None:
    """Parse /proc/PID/stat (proc(5)); None if there are too few words."""
    before, end, rest = text.rpartition(") ")
    words = rest.split()
    if not end or len(words) < 39:
        return None
    try:
        return Stat(name=one_line(before.partition("(")[2]), state=words[0], parent=integer(words[1]),
            started=integer(words[19]), kernel=bool(integer(words[6]) & _KERNEL_THREAD), priority=integer(words[15]),
            nice=integer(words[16]), policy=_POLICIES.get(integer(words[38]), words[38]),
            threads=integer(words[17]), memory=integer(words[21]) * _PAGE, ran=integer(words[11]) + integer(words[12]))
    except ValueError:
        return None


def command_words(host: Host, pid: int) -> list[str] | None:
    """Return a process's command line, fit for a terminal; empty for kernel threads, None if unreadable."""
    try:
        words = read_bytes(host, f"/proc/{pid}/cmdline", _WORDS)
    except HostError:
        return None
    return [one_line(decoded(word)) for word in words.rstrip(b"\0").split(b"\0")] if words else []


class _RecentFiles:
    """Files of tasks that stay open while they are among those read last: that takes a third of opening them again.

    They are closed with the last reference to this object.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: OrderedDict[str, int] = OrderedDict()
        self._most: int | None = None
        weakref.finalize(self, _close_all, host, self._open).atexit = False

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises HostError if it cannot be opened or read."""
        if (descriptor := self._open.get(path)) is not None:
            self._open.move_to_end(path)
            try:
                return self._host.read_at(descriptor, _PIECE)
            except HostError:  # the task has ended; another one may have its number
                self._host.close(self._open.pop(path))
        descriptor = self._open[path] = self._host.open_file(path)
        if self._most is None:
            self._most = min(_OPEN, self._host.privileges().most_descriptors // SHARE)
        if len(self._open) > max(1, self._most):
            self._host.close(self._open.popitem(last=False)[1])
        return self._host.read_at(descriptor, _PIECE)


def _close_all(host: Host, descriptors: OrderedDict[str, int]) -> None:
    while descriptors:
        host.close(descriptors.popitem()[1])


class ProcFacts:
    """Reads facts, and caches those that seldom change while a process and its name are the same.

    Tasks have the numbers that perf gives them: where /proc has those of another pid namespace, nothing is known.

    Args:
        host: the machine of the tasks.
        topology: the machine's; with it the memory of processes by node is known, too.
    """

    def __init__(self, host: Host, topology: Topology | None = None) -> None:
        self._host = host
        self.memory = None if topology is None else NumaMemory(host, topology)
        self.balancing = NumaBalancing(host)
        self._files = _RecentFiles(host)
        self._known: OrderedDict[int, TaskFacts] = OrderedDict()
        # of a task: its start, the time of the read, and the list
        self._allowed: OrderedDict[TaskKey, tuple[int, int, str | None]] = OrderedDict()
        self._users: dict[str, str] = {}

    @cached_property
    def sight(self) -> TaskSight:
        """What this process can see of the machine's tasks."""
        return task_sight(self._host)

    def stat(self, pid: int, tid: int | None = None) -> Stat | None:
        """Return the stat of a process or thread; None if it has ended, or may not be seen."""
        if self.sight.foreign:
            return None
        part = "" if tid is None or tid == pid else f"/task/{tid}"
        try:
            return parse_stat(decoded(self._files.read(f"/proc/{pid}{part}/stat")))
        except HostError:
            return None

    def allowed_stat(self, pid: int, tid: int | None = None) -> Stat | None:
        """Return the stat with the CPUs on which the task may run, as they were at most some seconds ago."""
        if (stat := self.stat(pid, tid)) is None:
            return None
        key, now = (pid, None if tid == pid else tid), self._host.now_ns()
        started, at, cpus = self._allowed.pop(key, (-1, 0, None))
        if started != stat.started or now - at >= ALLOWED_SECONDS * 1_000_000_000:
            at, cpus = now, self._allowed_cpus(pid if key[1] is None else f"{pid}/task/{tid}")
        self._allowed[key] = stat.started, at, cpus
        while len(self._allowed) > _KEPT:
            self._allowed.popitem(last=False)
        return _WITH_ALLOWED(stat, cpus)

    def _allowed_cpus(self, task: int | str) -> str | None:
        for line in text_of(self._host, f"/proc/{task}/status").splitlines():
            if line.startswith("Cpus_allowed_list:"):
                return one_line(line.partition(":")[2].strip()) or None
        return None

    def facts(self, pid: int, tid: int | None = None) -> TaskFacts | None:
        """Return the present facts; None if nothing was ever known."""
        process = self.allowed_stat(pid)
        known = self._known.get(pid)
        if process is None:
            return known
        if known is None or (known.stat.started, known.stat.name) != (process.started, process.name):
            known = TaskFacts(process, process.name, self._arguments(pid, process), self._user(pid), self.group(pid))
            self._known[pid] = known
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        stat = process if tid is None or tid == pid else self.allowed_stat(pid, tid)
        # a thread's file has the thread's own time, and the first thread's the whole process's
        return known if stat is None else _WITH_STAT(known, stat if stat is process else _WITH_TIME(stat, process.ran))

    def group(self, pid: int) -> GroupName | None:
        """Return the control group of a process; None if it has ended or the kernel has none."""
        return group_of_task(self._host, pid)

    def _arguments(self, pid: int, stat: Stat) -> str:
        if (words := command_words(self._host, pid)) is None:
            return ""
        return " ".join(words) or (f"[{stat.name}]" if stat.kernel or not words else "")

    def _user(self, pid: int) -> str:
        lines = text_of(self._host, f"/proc/{pid}/status").splitlines()
        if not lines:
            return ""
        uid = next((line.split()[2] for line in lines if line.startswith("Uid:")), "")  # the effective one
        if uid not in self._users:
            self._users[uid] = self._name(uid)
        return self._users[uid]

    def _name(self, uid: str) -> str:
        """Return a user's name by the machine's own file, and on this machine also by the C library."""
        for line in text_of(self._host, "/etc/passwd").splitlines():
            words = line.split(":")
            if len(words) > 2 and words[2] == uid:
                return one_line(words[0])
        number = whole_number(uid)
        if self._host.kind is HostKind.REAL and number is not None:
            try:
                return one_line(decoded(pwd.getpwuid(number).pw_name.encode("utf-8", "surrogateescape")))
            except (KeyError, OverflowError):  # an id that no user has here
                return uid
        return uid


@dataclass(frozen=True, slots=True)
class MemoryPlaces:
    """What is known of the memory of tasks by node."""

    memory: Mapping[int, NodeMemory | Unavailable] = field(default_factory=dict)  # by process
    moved: Mapping[TaskKey, MovedPages | Unavailable] = field(default_factory=dict)
    node_of: Mapping[int, int] = field(default_factory=dict)  # the node of each CPU


class TaskLooks:
    """Facts about the tasks of one interval, read on first use while the interval is the newest.

    Args:
        reader: the reader; None for an interval that is not read any more.
        seen: facts read already.
        unseen: why a task's facts are unknown if nothing is read any more.
        places: what was read of memory by node, likewise.

    Attributes:
        node_of: the NUMA node of each CPU; empty where memory by node is not known.
    """

    def __init__(self, reader: ProcFacts | None, most: int = READS, *, seen: Mapping[TaskKey, TaskFacts] | None = None,
                 unseen: Unavailable = NOT_THEN, places: MemoryPlaces | None = None) -> None:
        self._reader = reader
        known = MemoryPlaces() if places is None else places
        self.node_of = known.node_of if reader is None or reader.memory is None else reader.memory.node_of
        self._maps_left: int | None = None
        self._mapped: dict[int, NodeMemory | Unavailable] = dict(known.memory)
        self._threads_left = MOST_THREADS
        self._moved: dict[TaskKey, MovedPages | Unavailable] = dict(known.moved)
        self._left = most
        self._unseen = unseen
        self._seen: dict[TaskKey, TaskFacts | None] = dict(seen or {})

    def close(self) -> None:
        """Stop reading, because a newer interval has begun."""
        self._reader = None
        if not self._mapped and not self._moved:
            self.node_of = {}  # intervals are kept

    def at(self, pid: int, tid: int | None = None) -> TaskFacts | Unavailable:
        """Return the facts of a thread or process."""
        key = pid, tid
        if key not in self._seen:
            if self._reader is None:
                return self._unseen
            if not self._left:
                return TOO_MANY
            self._left -= 1
            if self._reader.sight.foreign:
                return FOREIGN
            self._seen[key] = self._reader.facts(pid, tid)
        return self._seen[key] or ENDED

    @property
    def knows_memory(self) -> bool:
        """Whether memory by node can be asked for, or was."""
        return bool(self.node_of)

    def memory_of(self, pid: int) -> NodeMemory | Unavailable:
        """Return the memory of a process by node, as it was when the interval was the newest one."""
        known = self._mapped.get(pid, PENDING)
        if known is not PENDING:
            return known
        memory = None if self._reader is None else self._reader.memory
        if memory is None:
            return self._unseen
        facts = self.at(pid)
        if isinstance(facts, Unavailable):
            return facts
        if self._maps_left is None:
            self._maps_left = _MAPS if memory.rested else 0
        may_read = pid not in self._mapped and self._maps_left > 0
        known, is_read = memory.of(pid, facts.stat.started, read=may_read)
        self._maps_left -= is_read
        self._mapped[pid] = known
        return known

    def moved_for(self, pid: int, tid: int | None = None) -> MovedPages | Unavailable:
        """Return the pages that were moved for a thread, or all threads of a process, since the interval before."""
        key = pid, tid
        if (known := self._moved.get(key)) is not None:
            return known
        if self._reader is None or self._reader.memory is None:
            return self._unseen
        if self._reader.memory.is_single or self._reader.sight.foreign:
            return ONE_NODE if self._reader.memory.is_single else FOREIGN
        if tid is None:
            self._moved[key] = self._moved_for_process(pid, self._reader)
        elif not self._threads_left:
            return ENOUGH
        else:
            self._threads_left -= 1
            self._moved[key] = self._reader.balancing.read(pid, tid)
        return self._moved[key]

    def _moved_for_process(self, pid: int, reader: ProcFacts) -> MovedPages | Unavailable:
        threads = reader.balancing.threads_of(pid)
        if isinstance(threads, Unavailable):
            return threads
        if len(threads) > self._threads_left:
            return ENOUGH
        moved = [self.moved_for(pid, tid) for tid in threads]
        known = [pages for pages in moved if not isinstance(pages, Unavailable)]
        return moved_of_all(known) if known else moved[0]

    @property
    def places(self) -> MemoryPlaces:
        """What was read of memory by node."""
        return MemoryPlaces(self._mapped, self._moved, self.node_of)

    def memory_seen(self, pid: int) -> NodeMemory | Unavailable:
        """Return the memory of a process by node if somebody asked for it; nothing is read."""
        return self._mapped.get(pid, self._unseen)
