"""Who uses the CPUs: processes by the time that /proc says they ran, looked at seldom enough to cost nothing.

No counters: the tasks screen watches threads by perf events. Here a list of processes every few seconds is enough.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.tasks.proc_facts import command_words
from turbotui.machine.tasks.process_stats import TICKS, ProcessStat, ProcessStats
from turbotui.untrusted import one_line

T = TypeVar("T")

PAUSE: Final = 3.0
"""Seconds between two looks at least."""
_SHARE: Final = 1 / 500
"""Of the time that may be spent on looking: a look that takes the CPU for 20 ms comes every 10 s."""
_LONGEST: Final = 30.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MOST: Final = 60
_NAMED: Final = 24
"""Processes whose command lines are read: as many as a large screen shows."""
_MEMORY: Final = ("MemTotal", "MemAvailable")
_KIB: Final = 1024
_MUCH: Final = 20.0  # percent of a CPU: who uses less was there, but is not what one sees there


@dataclass(frozen=True, slots=True)
class TopTask:
    """A process and what it used since the look before.

    Attributes:
        pid: its number.
        name: at most 15 characters, fit for a terminal.
        state: proc(5): R, S, D, ...
        threads: how many it has.
        cpu: on which its first thread ran last.
        percent: of one CPU that it used.
        bytes: of memory that it holds.
        running: seconds of CPU time since it began.
        arguments: of its command line, without the folder of the program, and without the program where
            that is the name; "" for those that use little.
    """

    pid: int
    name: str
    state: str
    threads: int
    cpu: int
    percent: float
    bytes: int
    running: float
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class MachineAround:
    """What a person wants to know of a machine beside its CPUs; None where /proc does not tell.

    Attributes:
        load: averages of tasks that run or wait for storage over 1, 5 and 15 minutes (proc_loadavg(5)).
        memory: bytes that are not available to programs, and bytes in all (proc_meminfo(5)).
        up: seconds since the start (proc_uptime(5)).
    """

    load: tuple[float, ...] | None = None
    memory: tuple[int, int] | None = None
    up: float | None = None


@dataclass(frozen=True, slots=True)
class ProcessLook:
    """The processes that one reading of /proc found.

    Attributes:
        at: when it had ended, in ns of the host's clock.
        began: when it had begun, likewise.
        spent: process -> when it began and ticks that it ran, in all.
        tasks: those that ran since the look before, the greatest first; none after the first look.
        count: processes in all.
        machine: the machine around them.
        took: ns of CPU time that it took, and what was looked at beside it.
    """

    at: int
    began: int
    spent: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    tasks: Sequence[TopTask] = ()
    count: int = 0
    machine: MachineAround = field(default_factory=MachineAround)
    took: int = 0

    @property
    def next(self) -> int:
        """When another look may be taken, in ns of the host's clock."""
        if not self.tasks:  # nobody is known yet
            return self.at + round(PAUSE * 1e9)
        return self.at + round(min(_LONGEST * 1e9, max(PAUSE * 1e9, self.took / _SHARE)))

    @property
    def runs(self) -> Mapping[int, str]:
        """Who ran last on a CPU, by its number: of processes with one thread, as only that thread's CPU is told."""
        return {task.cpu: task.name for task in reversed(self.tasks) if task.threads == 1 and task.percent >= _MUCH}


def look(host: Host, processes: Mapping[int, ProcessStat], before: ProcessLook | None,
         began: int | None = None) -> ProcessLook:
    """Look at all processes.

    Args:
        host: the machine.
        processes: what was just read of them; none where they cannot be read.
        before: the look before; None for the first one.
        began: when the reading of the processes began, by the host's clock; None for now.
    """
    now = host.now_ns()
    # Readings take seconds on a machine that swaps: nobody is to be told to have run more than there was time.
    seconds = 0.0 if before is None else (now - before.began) / 1e9
    ran: list[TopTask] = []
    if before is not None and seconds > 0:
        ran = [_task(pid, stat, known[1], seconds) for pid, stat in processes.items()
               if (known := before.spent.get(pid)) is not None and known[0] == stat.started and known[1] < stat.ran]
    ran.sort(key=lambda task: -task.percent)
    top = (*(replace(task, arguments=_arguments(host, task)) for task in ran[:_NAMED]), *ran[_NAMED:_MOST])
    spent = {pid: (stat.started, stat.ran) for pid, stat in processes.items()}
    return ProcessLook(now, now if began is None else began, spent, top, len(spent), _machine(host))


def _task(pid: int, stat: ProcessStat, before: int, seconds: float) -> TopTask:
    """A process that had run for so many ticks at the look before."""
    percent = 100.0 * (stat.ran - before) / TICKS / seconds
    return TopTask(pid, one_line(stat.name), stat.state, stat.threads, stat.cpu, percent, stat.pages * _PAGE,
                   stat.ran / TICKS)


def _arguments(host: Host, task: TopTask) -> str:
    words = command_words(host, task.pid) or []
    program = words[0].rpartition("/")[2] if words else ""
    return " ".join(words[1:] if program[:len(task.name)] == task.name else [program, *words[1:]])


def _machine(host: Host) -> MachineAround:
    """Load, memory and time of a machine, each as far as it is told."""
    load, up = _numbers(host, "/proc/loadavg", 3), _numbers(host, "/proc/uptime", 1)
    memory: dict[str, int] = {}
    try:
        for line in host.read_text("/proc/meminfo").splitlines():
            name, _, rest = line.partition(":")
            if name in _MEMORY and rest.split()[:1]:
                memory[name] = int(rest.split()[0]) * _KIB
    except (HostError, ValueError):
        memory = {}
    total, free = (memory.get(name) for name in _MEMORY)
    return MachineAround(load, None if total is None or free is None else (total - free, total),
                        None if up is None else up[0])


def _numbers(host: Host, path: str, count: int) -> tuple[float, ...] | None:
    """The first words of a file, if so many are numbers."""
    try:
        found = tuple(float(word) for word in host.read_text(path).split()[:count])
    except (HostError, ValueError):
        return None
    return found if len(found) == count else None


def look_and(host: Host, stats: ProcessStats, before: ProcessLook | None,
             beside: Callable[[Mapping[int, ProcessStat], int], T]) -> Callable[[], tuple[ProcessLook, T]]:
    """A call that reads all processes, looks at them, and has somebody else look, whose time counts as well.

    Args:
        host: the machine.
        stats: reads its processes.
        before: the look before; None for the first one.
        beside: is given what was read of the processes, and when the reading began by the host's clock.
    """
    def both() -> tuple[ProcessLook, T]:
        began, began_ns = time.thread_time_ns(), host.now_ns()
        try:
            processes = stats.read()
        except HostError:
            processes = {}
        found, other = look(host, processes, before, began_ns), beside(processes, began_ns)
        return replace(found, took=time.thread_time_ns() - began), other

    return both
