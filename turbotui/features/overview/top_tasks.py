"""Polls the processes that use the CPUs in /proc, seldom enough to cost almost nothing.

This needs no counters: the tasks screen watches threads by perf events, here a list of processes every few seconds is
enough.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.diagnosis.rules import MemoryTotal
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import memory_of
from turbotui.machine.tasks.proc_facts import command_words
from turbotui.machine.tasks.process_stats import TICKS, ProcessStat, ProcessStats, ReadProcesses
from turbotui.quantities.plain_numbers import decimal
from turbotui.untrusted import one_line

T = TypeVar("T")

_SOON: Final = (0.2, 0.8)
"""Seconds after the first poll, so that a screen has tasks as soon as it has numbers, and after the second one, whose
shares are of few clock ticks."""
PAUSE: Final = 3.0
"""The least seconds between two polls."""
_SHARE: Final = 1 / 500
"""The share of the time for polls: a poll that takes 20 ms of CPU time is repeated after 10 s."""
_LONGEST: Final = 30.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MOST: Final = 60
_NAMED: Final = 24
"""The number of processes whose command lines are read, as many as a large screen shows."""
_KIB: Final = 1024
_MUCH: Final = 20.0  # percent of a CPU below which a process is not the one that runs there


@dataclass(frozen=True, slots=True)
class TopTask:
    """A process, and its use of CPUs since the previous poll."""

    pid: int  # the process's number
    name: str  # at most 15 characters, fit for a terminal
    state: str  # proc(5): R, S, D, ...
    threads: int  # the number of threads
    cpu: int  # the CPU on which its first thread ran last
    percent: float  # CPU use in percent of one CPU
    bytes: int  # resident memory
    running: float  # seconds of CPU time since its start
    # the command line without the program's directory, and without the program if its name is `name`; "" for processes
    # that use little
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """Facts of a machine beside its CPUs; None if /proc does not tell."""

    # averages of tasks that run or wait for storage over 1, 5 and 15 minutes (proc_loadavg(5))
    load: tuple[float, ...] | None = None
    # bytes that are not available to programs, and bytes in all (proc_meminfo(5))
    memory: tuple[int, int] | None = None
    up: float | None = None  # seconds since the start (proc_uptime(5))
    swap: tuple[int, int] | None = None  # bytes of swap space that are used, and bytes in all; None without any
    threads: tuple[int, int] | None = None  # that run or want to, and all there are (proc_loadavg(5))
    traffic: MemoryTotal | None = None  # what memory moved, by resctrl or by its controllers


@dataclass(frozen=True, slots=True)
class ProcessLook:
    """The result of one poll of /proc."""

    at: int  # the end of the poll, in ns of the host's clock
    read: ReadProcesses = field(default_factory=ReadProcesses)  # all processes
    # processes that ran since the previous poll, busiest first; none after the first poll
    tasks: Sequence[TopTask] = ()
    count: int = 0  # the number of all processes
    machine: MachineStatus = field(default_factory=MachineStatus)  # facts of the machine
    before: int = 0  # the number of polls before: the second one tells who runs
    took: int = 0  # ns of CPU time of the poll, including what was polled together with it
    seconds: float = 0.0  # since the previous poll: the time of the tasks' shares

    @property
    def next(self) -> int:
        """The earliest time of the next poll, in ns of the host's clock."""
        if self.before < len(_SOON):
            return self.at + round(_SOON[self.before] * 1e9)
        if not self.tasks:  # no process is known yet
            return self.at + round(PAUSE * 1e9)
        return self.at + round(min(_LONGEST * 1e9, max(PAUSE * 1e9, self.took / _SHARE)))

    @property
    def runs(self) -> Mapping[int, str]:
        """The process that ran last on each CPU; only processes with one thread, whose CPU /proc tells."""
        return {task.cpu: task.name for task in reversed(self.tasks)
                if task.threads == 1 and task.cpu >= 0 and task.percent >= _MUCH}


def look(host: Host, processes: ReadProcesses, before: ProcessLook | None) -> ProcessLook:
    """Evaluate a reading of all processes."""
    earlier = ReadProcesses() if before is None else before.read
    ran = [_task(pid, stat, stat.ran - old.ran, seconds) for pid, stat in processes.items()
           if (old := earlier.get(pid)) is not None and old.started == stat.started and old.ran < stat.ran
           and (seconds := processes.seconds_since(earlier, pid)) > 0]
    ran.sort(key=lambda task: -task.percent)
    top = (*(replace(task, arguments=_arguments(host, task)) for task in ran[:_NAMED]), *ran[_NAMED:_MOST])
    result = ProcessLook(host.now_ns(), processes, top, len(processes), machine_status(host))
    return result if before is None else replace(result, before=before.before + 1,
                                                 seconds=(result.at - before.at) / 1e9)


def _task(pid: int, stat: ProcessStat, ticks: int, seconds: float) -> TopTask:
    """Make the task of a process that ran for so many ticks since the previous poll."""
    percent = 100.0 * ticks / TICKS / seconds
    return TopTask(pid, one_line(stat.name), stat.state, stat.threads, stat.cpu, percent, stat.pages * _PAGE,
                   stat.ran / TICKS)


def _arguments(host: Host, task: TopTask) -> str:
    words = command_words(host, task.pid) or []
    program = words[0].rpartition("/")[2] if words else ""
    return " ".join(words[1:] if program[:len(task.name)] == task.name else [program, *words[1:]])


def machine_status(host: Host) -> MachineStatus:
    """Read the facts from /proc, all but what memory moved."""
    load, up = _numbers(host, "/proc/loadavg", 3), _numbers(host, "/proc/uptime", 1)
    memory = memory_of(host)
    total, free = (memory.get(name) for name in ("MemTotal", "MemAvailable"))
    swap, unused = memory.get("SwapTotal", 0), memory.get("SwapFree", -1)  # -1: not told
    threads = _numbers(host, "/proc/loadavg", 5, "/")
    return MachineStatus(load, None if total is None or free is None else ((total - free) * _KIB, total * _KIB),
                         None if up is None else up[0],
                         ((swap - unused) * _KIB, swap * _KIB) if 0 <= unused <= swap > 0 else None,
                         None if threads is None else (int(threads[3]), int(threads[4])))


def _numbers(host: Host, path: str, count: int, between: str = " ") -> tuple[float, ...] | None:
    """Return the first `count` words of a file as numbers, if they are numbers; `between` stands for a blank."""
    try:
        values = tuple(decimal(word) for word in host.read_text(path).replace(between, " ").split()[:count])
    except (HostError, ValueError):
        return None
    return values if len(values) == count else None


def make_poll(host: Host, stats: ProcessStats, before: ProcessLook | None,
              beside: Callable[[ReadProcesses], T]) -> Callable[[], tuple[ProcessLook, T]]:
    """Make a call that reads and evaluates all processes, and passes them on; the time of both counts.

    Args:
        beside: called with the processes read.
    """
    def both() -> tuple[ProcessLook, T]:
        began = time.thread_time_ns()
        try:
            processes = stats.read()
        except HostError:
            processes = ReadProcesses()
        looks, other = look(host, processes, before), beside(processes)
        return replace(looks, took=time.thread_time_ns() - began), other

    return both
