"""Look at every process: which used CPU time, waited for storage or faulted between two looks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.rules import RankedBy, UnseenTasks
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.small_files import names_in, text_of
from turbotui.machine.tasks.group_names import CGROUP, UNIT, group_name
from turbotui.machine.tasks.process_stats import TICKS, ProcessStat, ReadProcesses, process_stat
from turbotui.machine.tasks.sight import MachineTimes, machine_times, task_sight
from turbotui.quantities.plain_numbers import numbers_among
from turbotui.quantities.unavailable import Unavailable
from turbotui.untrusted import one_line

_IS_ID: Final = re.compile("[0-9a-f]{32,}")
"""Matches a group whose name is only a number."""
_SHORT: Final = 12
"""Digits of such a name that are shown, as for containers."""

_NAMED: Final = 3  # number of responsible processes that are named
_ASKED: Final = 10  # number of busiest processes for which a further file each is read
_LEAST: Final = 0.05  # of a CPU; a task with less is not named
_LEAST_REST: Final = 0.2  # of a CPU and of what is seen: /proc/stat and the processes are not read at one instant
_LEAST_FAULTS: Final = 1.0  # a second
_LEAST_WAKES: Final = 1000.0  # a second
_COUNTED: Final = 24  # number of busiest processes whose sleeps are read from another file each
_LEAST_BYTES: Final = 100_000.0  # a second
_SLEEPS: Final = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)", re.MULTILINE)
_BYTES: Final = re.compile(r"^(?:read|write)_bytes: (\d+)", re.MULTILINE)


_BY_TIME: Final = frozenset({RankedBy.CPU, RankedBy.WAIT, RankedBy.THREAD})
"""Figures in which tasks are ranked by their CPU time."""
_CONTROLLERS: Final[Mapping[RankedBy, tuple[str, ...]]] = {
    RankedBy.FAULTS: ("memory", "cpu"), RankedBy.IO: ("blkio", "memory", "cpu"),
    RankedBy.BYTES: ("blkio", "memory", "cpu"),
}
"""Controllers of version 1 by the subject of a cause."""


@dataclass(frozen=True, slots=True)
class TaskUse:
    """Processes with the same name: what they did between two looks."""

    name: str  # of the processes, as safe text
    pids: tuple[int, ...]  # of those that did anything of this, the busiest first
    ran: float  # CPU time in CPUs, 1 for a whole CPU
    faults: float  # major page faults a second
    waited: float  # number that waited for storage at the second look, and seconds of such waits a second
    wakes: float = 0.0  # voluntary sleeps of their main threads a second; 0 for those that were not read
    moved: float = 0.0  # bytes a second read from storage or written to files; 0 for those that were not read
    faulting: tuple[int, ...] = ()  # of those that had major page faults, the most first
    waiting: tuple[int, ...] = ()  # of those that waited for storage, the longest first

    def members(self, whose: RankedBy) -> tuple[int, ...]:
        """The processes behind a cause, those with the largest part first."""
        return {RankedBy.FAULTS: self.faulting, RankedBy.IO: self.waiting}.get(whose, self.pids)

    def words(self, whose: RankedBy, unit: str) -> str:
        """Name, number of processes and usage, in words."""
        members = self.members(whose)
        several = len(members) > 1
        many, which = (f"{len(members)} x ", "") if several else ("", f" {members[0]}")
        amount = {
            RankedBy.FAULTS: f"{self.faults:,.0f} major faults/s",
            RankedBy.IO: f"{'wait' if several else 'waits'} for storage",
            RankedBy.BYTES: f"{1e-6 * self.moved:,.1f} MB/s to and from storage",
            RankedBy.WAKES: f"wakes {self.wakes:,.0f} times/s, {100 * self.ran:,.0f} % CPU",
        }.get(whose, f"{100 * self.ran:,.0f} % CPU")
        return f"{many}{self.name}{which} ({f'{unit}, ' if unit else ''}{amount})"


_PARTS: Final = {RankedBy.FAULTS: attrgetter("faults"), RankedBy.IO: attrgetter("waited"),
                 RankedBy.WAKES: attrgetter("wakes"), RankedBy.BYTES: attrgetter("moved")}
"""A usage's part of a cause, by the figure that ranks it; of others its CPU time."""
_RAN: Final = attrgetter("ran")


class TaskLook:
    """Looks at a host's processes; on a host without processes nobody is found."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._looked = 0.0  # when /proc/stat was read after the previous reading, in seconds
        self._counted = 0.0  # when sleeps and bytes were
        self._before = ReadProcesses()
        self._threads: tuple[int, float, Mapping[int, ProcessStat]] = (0, 0.0, {})  # of whom, since when, what
        self._uses: tuple[TaskUse, ...] = ()
        # the thread with the most CPU time between the looks, and its share of a CPU; None if none stands out
        self.busiest: tuple[str, float] | None = None
        self._counts: Mapping[int, tuple[int | None, int | None]] = {}
        self._units: dict[tuple[int, tuple[str, ...]], str] = {}
        self._why_unseen: Unavailable | None = None
        self._times: MachineTimes | None = None
        self._rest: float | None = None  # CPUs that were busy with tasks that have no usage here

    def look(self, processes: ReadProcesses) -> None:
        """Compare every process's counts with the previous look, and read the threads of the busiest process."""
        now = self._host.now_ns() * 1e-9
        self._units = {}
        if not self._looked:
            self._why_unseen = task_sight(self._host).unseen
        times, earlier = machine_times(self._host), self._times
        if self._before and now > self._looked:
            self._uses = self._with_counts(_uses(self._before, processes))
            if times is not None and earlier is not None and self._host.kind is HostKind.REAL:
                self._rest = max(0.0, (times.busy - earlier.busy) * 1e-9 / (now - self._looked)
                                 - sum(use.ran for use in self._uses))
        self._times, self._looked = times, now
        busiest = max(self._uses, key=lambda use: use.ran, default=None)
        self.busiest = None
        if busiest is not None and busiest.ran >= _LEAST:
            pid = busiest.pids[0]
            asked = self._host.now_ns()
            threads = dict(self._read(f"/proc/{pid}/task"))
            before, since, counts = self._threads
            if before == pid:
                self.busiest = _busiest_thread(counts, threads, self._host.now_ns() * 1e-9 - since)
            self._threads = pid, asked * 1e-9, threads
        self._before = processes

    @property
    def who(self) -> Mapping[RankedBy, tuple[str, ...]]:
        """The tasks behind causes between the looks, the largest part first, by the figure that ranks them."""
        by_time = self._named(RankedBy.CPU)
        named = ((whose, by_time if whose in _BY_TIME else self._named(whose))
                 for whose in RankedBy if whose is not RankedBy.NOBODY)
        return {whose: names for whose, names in named if names}

    @property
    def unseen(self) -> UnseenTasks | None:
        """Tasks that /proc does not list, with the rest of the CPUs' time between the looks; None if it lists all."""
        return None if self._why_unseen is None else UnseenTasks(self._why_unseen, self._rest)

    def _named(self, whose: RankedBy) -> tuple[str, ...]:
        if whose is RankedBy.IO and not any(use.waited for use in self._uses):
            # no task waited at that instant: processes that move bytes do, and a major fault is such a wait too
            whose = RankedBy.BYTES if any(use.moved > _LEAST_BYTES for use in self._uses) else RankedBy.FAULTS
        if whose is RankedBy.WAKES and all(use.wakes <= _LEAST_WAKES for use in self._uses):
            whose = RankedBy.CPU  # interrupts that wake no process whose sleeps were counted
        least = {RankedBy.FAULTS: _LEAST_FAULTS, RankedBy.IO: 0.0, RankedBy.WAKES: _LEAST_WAKES,
                 RankedBy.BYTES: _LEAST_BYTES}.get(whose, _LEAST)
        part = _PARTS.get(whose, _RAN)
        most = sorted((use for use in self._uses if part(use) > least), key=part, reverse=True)
        if whose is RankedBy.VECTORS:
            most = [use for use in most[:_ASKED] if self._used_vectors(use.pids[0])] or most
        names = [use.words(whose, self._unit_of(use.members(whose)[0], whose)) for use in most[:_NAMED]]
        rest, unseen = self._rest or 0.0, self.unseen
        if whose in _BY_TIME and rest >= max(_LEAST_REST, _LEAST_REST * sum(use.ran for use in self._uses)):
            words = f"tasks that began or ended meanwhile ({100 * rest:,.0f} % CPU)" if unseen is None else unseen.words
            names.insert(sum(use.ran >= rest for use in most[:_NAMED]), words)
        elif unseen is not None and whose not in _BY_TIME and not names:
            names.append(UnseenTasks(unseen.why).words)
        return tuple(names)

    def _unit_of(self, pid: int, whose: RankedBy) -> str:
        """The unit of a process as `_unit` names it, read once a look for all causes."""
        key = pid, _CONTROLLERS.get(whose, ("cpu",))
        if key not in self._units:
            self._units[key] = self._unit(*key)
        return self._units[key]

    def _read(self, folder: str) -> Iterable[tuple[int, ProcessStat]]:
        for tid in numbers_among(names_in(self._host, folder)):
            if (stat := process_stat(text_of(self._host, f"{folder}/{tid}/stat").encode())) is not None:
                yield tid, stat

    def _used_vectors(self, pid: int) -> bool:
        """Whether the kernel has ever seen AVX-512 state of a process's main thread (proc.rst, arch_status)."""
        text = text_of(self._host, f"/proc/{pid}/arch_status")
        # users of glibc's string functions have AVX-512 state too, so it can only rule tasks out
        return any(line.startswith("AVX512_elapsed_ms:") and not line.endswith("-1") for line in text.splitlines())

    def _with_counts(self, uses: tuple[TaskUse, ...]) -> tuple[TaskUse, ...]:
        """The usages with sleeps and bytes of the busiest processes, once there are two looks at them."""
        before, now_s = self._counts, self._host.now_ns() * 1e-9
        seconds, self._counted = now_s - self._counted, now_s
        pids = [pid for use in sorted(uses, key=lambda use: -use.ran) for pid in use.pids][:_COUNTED]
        self._counts = now = {
            pid: (self._sum(f"/proc/{pid}/status", _SLEEPS), self._sum(f"/proc/{pid}/io", _BYTES)) for pid in pids}

        def rate(use: TaskUse, kind: int) -> float:
            pairs = ((before[pid][kind], now[pid][kind]) for pid in use.pids if pid in before and pid in now)
            return sum(new - old for old, new in pairs if old is not None and new is not None) / seconds

        return tuple(replace(use, wakes=rate(use, 0), moved=rate(use, 1)) for use in uses)

    def _sum(self, path: str, counts: re.Pattern[str]) -> int | None:
        """The sum of some counts in a file of a process; None where it cannot be read: it has ended, or is not ours."""
        try:
            return sum(numbers_among(counts.findall(self._host.read_text(path))))
        except HostError:
            return None

    def _unit(self, pid: int, controllers: tuple[str, ...]) -> str:
        """The kind and name of a process's control group: a service, a scope, a container; "" for a slice.

        If a process also has groups of version 1, the one whose controller concerns the cause is used.
        """
        lines = text_of(self._host, f"/proc/{pid}/cgroup").splitlines()
        paths = {name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")}
        names = ("", *controllers, "name=systemd")
        path = next((paths[name] for name in names if paths.get(name, "/") != "/"), "")
        last = path.rstrip("/").rpartition("/")[2]
        if (known := group_name((path,))) is not None and known.kind not in (UNIT, CGROUP):
            last = known.text
        elif _IS_ID.fullmatch(last):
            last = f"group {last[:_SHORT]}"
        return "" if last.endswith(".slice") else one_line(last)[:40]


def _uses(before: ReadProcesses, now: ReadProcesses) -> tuple[TaskUse, ...]:
    groups: dict[str, list[tuple[float, int, ProcessStat, ProcessStat, float]]] = defaultdict(list)
    for pid, counts in now.items():
        old = before.get(pid)
        if old is not None and old.started == counts.started and (counts is not old or counts.state == "D"):
            seconds = now.seconds_since(before, pid)
            if seconds > 0 and (counts.ran > old.ran or counts.state == "D" or counts.faults > old.faults):
                ran = (counts.ran - old.ran) / TICKS / seconds
                groups[counts.name].append((ran, pid, old, counts, seconds))
    uses: list[TaskUse] = []
    for name, active in groups.items():
        active.sort(key=lambda ranked: -ranked[0])
        faults = {pid: (new.faults - old.faults) / seconds for _, pid, old, new, seconds in active}
        waits = {pid: (new.delayed - old.delayed) / TICKS / seconds + (new.state == "D")
                 for _, pid, old, new, seconds in active}
        uses.append(TaskUse(
            one_line(name), tuple(pid for _, pid, *_ in active), sum(ran for ran, *_ in active),
            sum(faults.values()), sum(waits.values()), faulting=_most_first(faults), waiting=_most_first(waits)))
    return tuple(uses)


def _most_first(parts: Mapping[int, float]) -> tuple[int, ...]:
    return tuple(sorted((pid for pid, part in parts.items() if part > 0), key=lambda pid: -parts[pid]))


def _busiest_thread(before: Mapping[int, ProcessStat], now: Mapping[int, ProcessStat],
                    seconds: float) -> tuple[str, float] | None:
    ran = {tid: counts.ran - before[tid].ran for tid, counts in now.items() if tid in before}
    tid = max(ran, key=lambda thread: ran[thread], default=None)
    if tid is None or seconds <= 0:
        return None
    # one tick more or less: 10 % of 0.1 s
    return f"{one_line(now[tid].name)} {tid}", min(1.0, ran[tid] / TICKS / seconds)
