"""A look at every process: who used CPU time, waited for storage or faulted between two looks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.rules import Whose
from turbotui.machine.host import Host, HostError
from turbotui.machine.tasks.group_names import CGROUP, UNIT, group_name
from turbotui.machine.tasks.process_stats import TICKS, ProcessStat, process_stat
from turbotui.untrusted import one_line

_IS_ID: Final = re.compile("[0-9a-f]{32,}")
"""A group that has only a number for a name."""
_SHORT: Final = 12
"""Digits of such a name that are told, as of containers."""

_NAMED: Final = 3  # of those who have to do with a finding
_ASKED: Final = 10  # of the busiest, for what is in a file of each process
_LEAST: Final = 0.05  # of a CPU: less is nobody's doing
_LEAST_FAULTS: Final = 1.0  # a second
_LEAST_WAKES: Final = 1000.0  # a second
_COUNTED: Final = 24  # processes, the busiest, whose sleeps are read: another file of each
_LEAST_BYTES: Final = 100_000.0  # a second
_SLEEPS: Final = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)", re.MULTILINE)
_BYTES: Final = re.compile(r"^(?:read|write)_bytes: (\d+)", re.MULTILINE)


_CONTROLLERS: Final[Mapping[Whose, tuple[str, ...]]] = {
    Whose.FAULTS: ("memory", "cpu"), Whose.IO: ("blkio", "memory", "cpu"),
    Whose.BYTES: ("blkio", "memory", "cpu"),
}  # fmt: skip
"""Of control groups of version 1, by what a cause is about."""


@dataclass(frozen=True, slots=True)
class TaskUse:
    """Processes of one name: what they did between two looks.

    Attributes:
        name: of the processes, as it may reach a terminal.
        pids: of those that did anything of this, the busiest first.
        faulting: of those that had major page faults, the most first.
        waiting: of those that waited for storage, the longest first.
        ran: CPUs' worth of time, 1 for a whole CPU.
        faults: major page faults a second.
        waited: of them that waited for storage at the second look, and seconds of such waits a second.
        wakes: times a second that their main threads went to sleep by themselves; 0 of those that nobody asked.
        moved: bytes a second that they had read from storage or wrote to files there; likewise.
    """

    name: str
    pids: tuple[int, ...]
    ran: float
    faults: float
    waited: float
    wakes: float = 0.0
    moved: float = 0.0
    faulting: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()

    def members(self, whose: Whose) -> tuple[int, ...]:
        """The processes that have to do with a cause, those with the most of it first."""
        return {Whose.FAULTS: self.faulting, Whose.IO: self.waiting}.get(whose, self.pids)

    def part(self, whose: Whose) -> float:
        """How much of a cause is theirs."""
        return {Whose.FAULTS: self.faults, Whose.IO: self.waited, Whose.WAKES: self.wakes,
                Whose.BYTES: self.moved}.get(whose, self.ran)

    def said(self, whose: Whose, unit: str) -> str:
        """Name, number of processes, and what they used."""
        members = self.members(whose)
        several = len(members) > 1
        many, which = (f"{len(members)} x ", "") if several else ("", f" {members[0]}")
        amount = {
            Whose.FAULTS: f"{self.faults:,.0f} major faults/s",
            Whose.IO: f"{'wait' if several else 'waits'} for storage",
            Whose.BYTES: f"{1e-6 * self.moved:,.1f} MB/s to and from storage",
            Whose.WAKES: f"wakes {self.wakes:,.0f} times/s, {100 * self.ran:,.0f} % CPU",
        }.get(whose, f"{100 * self.ran:,.0f} % CPU")  # fmt: skip
        return f"{many}{self.name}{which} ({f'{unit}, ' if unit else ''}{amount})"


class TaskLook:
    """Looks at the processes of a host; on one that has none to show nobody is found."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._began = 0.0  # of the reading before, in seconds
        self._before: Mapping[int, ProcessStat] = {}
        self._threads: tuple[int, float, Mapping[int, ProcessStat]] = (0, 0.0, {})  # of whom, since when, what
        self._uses: tuple[TaskUse, ...] = ()
        self._single: tuple[str, float] | None = None
        self._counts: Mapping[int, tuple[int | None, int | None]] = {}
        self._units: dict[tuple[int, Whose], str] = {}

    def look(self, processes: Mapping[int, ProcessStat], began_ns: int | None = None) -> None:
        """Compare the counts of every process with those of the look before, and read the threads of the busiest one.

        A machine that swaps takes seconds for a reading: what a process did is divided by the time from the beginning
        of the one reading to the end of the other, so that nobody is told to have done more than can be.

        Args:
            processes: what was just read of them.
            began_ns: when that reading began, by the host's clock; None for now.
        """
        now, found = self._host.now_ns() * 1e-9, dict(processes)
        self._units = {}
        seconds = now - self._began
        if self._before and seconds > 0:
            self._uses = self._with_counts(_uses(self._before, found, seconds), seconds)
        busiest = max(self._uses, key=lambda use: use.ran, default=None)
        self._single = None
        if busiest is not None and busiest.ran >= _LEAST:
            pid = busiest.pids[0]
            asked = self._host.now_ns()
            threads = dict(self._read(f"/proc/{pid}/task"))
            before, since, counts = self._threads
            if before == pid:
                self._single = _busiest_thread(counts, threads, self._host.now_ns() * 1e-9 - since)
            self._threads = pid, asked * 1e-9, threads
        self._began, self._before = now if began_ns is None else began_ns * 1e-9, found

    @property
    def busiest(self) -> tuple[str, float] | None:
        """The thread with the most CPU time between the looks, and its share of a CPU; None where nobody stands out."""
        return self._single

    def name(self, finding: Finding) -> Finding:
        """A finding with those who have to do with it, the most of it first."""
        whose = finding.rule.whose
        if whose is Whose.NOBODY:
            return finding
        if whose is Whose.IO and not any(use.waited for use in self._uses):
            # nobody waited at the instant of the look: who moves bytes does, and a major fault is such a wait, too
            whose = Whose.BYTES if any(use.moved > _LEAST_BYTES for use in self._uses) else Whose.FAULTS
        if whose is Whose.WAKES and all(use.wakes <= _LEAST_WAKES for use in self._uses):
            whose = Whose.CPU  # interrupts that wake nobody whose sleeps were counted
        least = {Whose.FAULTS: _LEAST_FAULTS, Whose.IO: 0.0, Whose.WAKES: _LEAST_WAKES,
                 Whose.BYTES: _LEAST_BYTES}.get(whose, _LEAST)
        ranked = sorted(self._uses, key=lambda use: -use.part(whose))
        most = [use for use in ranked if use.part(whose) > least]
        if whose is Whose.VECTORS:
            most = [use for use in most[:_ASKED] if self._used_vectors(use.pids[0])] or most
        most = most[:_NAMED]
        for use in most:  # asked for at every frame, and looked at again with the processes themselves
            first = use.members(whose)[0]
            if (first, whose) not in self._units:
                self._units[first, whose] = self._unit(first, whose)
        named = tuple(use.said(whose, self._units[use.members(whose)[0], whose]) for use in most)
        return replace(finding, who=(*finding.who, *named))

    def _read(self, folder: str) -> Iterable[tuple[int, ProcessStat]]:
        """The counts of the threads below a folder."""
        try:
            tids = [int(name) for name in self._host.list_dir(folder) if name.isdigit()]
        except HostError:
            return
        for tid in tids:
            try:
                found = process_stat(self._host.read_text(f"{folder}/{tid}/stat").encode())
            except HostError:
                continue  # it has ended meanwhile
            if found is not None:
                yield tid, found

    def _used_vectors(self, pid: int) -> bool:
        """Whether the kernel has ever met AVX-512 state of a process's main thread (proc.rst, arch_status).

        It does of all that use strings of glibc, too: so this only rules tasks out.
        """
        try:
            text = self._host.read_text(f"/proc/{pid}/arch_status")
        except HostError:
            return False
        return any(line.startswith("AVX512_elapsed_ms:") and not line.endswith("-1") for line in text.splitlines())

    def _with_counts(self, uses: tuple[TaskUse, ...], seconds: float) -> tuple[TaskUse, ...]:
        """The uses with the sleeps and the bytes of their busiest processes, once there are two looks at them."""
        before = self._counts
        busiest = sorted(uses, key=lambda use: -use.ran)
        pids = [pid for use in busiest for pid in use.pids][:_COUNTED]
        self._counts = now = {
            pid: (self._sum(f"/proc/{pid}/status", _SLEEPS), self._sum(f"/proc/{pid}/io", _BYTES)) for pid in pids}

        def rate(use: TaskUse, kind: int) -> float:
            pairs = ((before[pid][kind], now[pid][kind]) for pid in use.pids if pid in before and pid in now)
            return sum(new - old for old, new in pairs if old is not None and new is not None) / seconds

        return tuple(replace(use, wakes=rate(use, 0), moved=rate(use, 1)) for use in uses)

    def _sum(self, path: str, counts: re.Pattern[str]) -> int | None:
        """The sum of some counts in a file of a process; None where it cannot be read: it has ended, or is not ours."""
        try:
            return sum(map(int, counts.findall(self._host.read_text(path))))
        except HostError:
            return None

    def _unit(self, pid: int, whose: Whose) -> str:
        """The kind and name of a process's control group: a service, a scope, a container; "" for a slice.

        Where a process has one of version 1 too, that is told whose controller has to do with the cause.
        """
        try:
            lines = self._host.read_text(f"/proc/{pid}/cgroup").splitlines()
        except HostError:
            return ""
        paths = {name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")}
        controllers = ("", *_CONTROLLERS.get(whose, ("cpu",)), "name=systemd")
        path = next((paths[name] for name in controllers if paths.get(name, "/") != "/"), "")
        last = path.rstrip("/").rpartition("/")[2]
        known = group_name((path,))
        if known is not None and known.kind not in (UNIT, CGROUP):
            last = known.text
        elif _IS_ID.fullmatch(last):
            last = f"group {last[:_SHORT]}"
        return "" if last.endswith(".slice") else one_line(last)[:40]


def _uses(before: Mapping[int, ProcessStat], now: Mapping[int, ProcessStat], seconds: float) -> tuple[TaskUse, ...]:
    groups: dict[str, list[tuple[int, int, ProcessStat, ProcessStat]]] = defaultdict(list)
    for pid, counts in now.items():
        old = before.get(pid)
        if old is not None and old.started == counts.started and (counts is not old or counts.state == "D"):
            groups[counts.name].append((counts.ran - old.ran, pid, old, counts))
    found: list[TaskUse] = []
    for name, members in groups.items():
        active = sorted((one for one in members if one[0] > 0 or one[3].state == "D" or one[3].faults > one[2].faults),
                        key=lambda one: -one[0])
        if active:
            faults = {pid: (new.faults - old.faults) / seconds for _, pid, old, new in active}
            waits = {pid: (new.delayed - old.delayed) / TICKS / seconds + (new.state == "D")
                     for _, pid, old, new in active}
            found.append(TaskUse(
                one_line(name), tuple(pid for _, pid, _, _ in active), sum(ran for ran, *_ in active) / TICKS / seconds,
                sum(faults.values()), sum(waits.values()), faulting=_most_first(faults), waiting=_most_first(waits)))
    return tuple(found)


def _most_first(parts: Mapping[int, float]) -> tuple[int, ...]:
    """The processes that have a part, the greatest first."""
    return tuple(sorted((pid for pid, part in parts.items() if part > 0), key=lambda pid: -parts[pid]))


def _busiest_thread(before: Mapping[int, ProcessStat], now: Mapping[int, ProcessStat],
                    seconds: float) -> tuple[str, float] | None:
    ran = {tid: counts.ran - before[tid].ran for tid, counts in now.items() if tid in before}
    tid = max(ran, key=lambda one: ran[one], default=None)
    if tid is None or seconds <= 0:
        return None
    # a tick more or less: 10 % of 0.1 s
    return f"{one_line(now[tid].name)} {tid}", min(1.0, ran[tid] / TICKS / seconds)
