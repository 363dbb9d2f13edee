"""Columns of facts about a task: those from /proc, and the kind of those that are measured only while shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from turbotui.dataclass import dataclass
from turbotui.machine.tasks.proc_facts import ALLOWED_SECONDS, TaskFacts
from turbotui.machine.tasks.process_stats import TICKS
from turbotui.quantities.columns import Value
from turbotui.quantities.unavailable import Unavailable

M = TypeVar("M")
B = TypeVar("B")

PROC: Final = "/proc"
"""What such a column is made of."""
ARGUMENTS: Final = "Args"
"""The id of the column that takes what room the others leave."""
_MIB: Final = 2 ** 20


@dataclass(frozen=True, slots=True)
class TaskFact:
    """A fact from /proc about a task."""

    id: str  # of its column
    of: Callable[[TaskFacts], Value]  # gives the value
    width: int
    priority: int
    help: str
    default: bool = False
    decimals: int = -1  # 0 for a number, -1 for a text
    unit: str = ""


class MeasuredCell(NamedTuple):
    """A row's value, or the reason why it is unknown."""

    value: Value
    why: Unavailable | None = None
    estimated: bool = False  # it is of a part of what it says, inferred, or of too few samples
    partial: bool = False  # it lacks some of the row's threads


@dataclass(frozen=True, slots=True)
class MeasuredFact(Generic[M, B]):
    """One column of what is measured of tasks only while one of its columns is shown."""

    id: str  # its name
    unit: str  # of its value
    decimals: int  # -1 for a text
    width: int  # in characters
    help: str  # what it says
    # its value by what was measured of a row, and the number that this is compared with
    of: Callable[[M, B], MeasuredCell]
    document: str  # what it follows
    accumulates: bool = False  # as of a column


FIRST_FACTS: Final = (
    TaskFact("S", lambda facts: facts.stat.state, 1, 1,
         "state now: R runs, S sleeps, D waits for a device, T is stopped, t is traced, Z is dead and not waited for, "
         "I is an idle thread of the kernel; of a process that of its first thread", default=True),
    TaskFact("User", lambda facts: facts.user or None, 8, 4, "who it runs as (the effective user)", default=True),
)
"""Beside the name."""
LAST_FACTS: Final = (
    TaskFact("Total_s", lambda facts: None if facts.stat.ran is None else facts.stat.ran / TICKS, 9, 5,
             "CPU time of its process, user and kernel, since the process began (TIME+ of htop and top); of a thread "
             "that of its process, too", default=True, decimals=2, unit="s"),
    TaskFact("Group", lambda facts: None if facts.group is None else facts.group.text, 20, 4,
             "the task's container, pod, job or unit, by the path of its control group", default=True),
    TaskFact("Cgroup", lambda facts: None if facts.group is None else facts.group.path, 30, 7,
             "the path of that container, pod, job or unit among the control groups"),
    TaskFact("Process", lambda facts: facts.process, 15, 6, "the process's name; Command is the thread's own"),
    TaskFact("PPID", lambda facts: facts.stat.parent, 7, 6, "the process that made it, or took it over", decimals=0),
    TaskFact("Threads", lambda facts: facts.stat.threads, 7, 7, "how many threads its process has now", decimals=0),
    TaskFact("Mem", lambda facts: None if facts.stat.memory is None else facts.stat.memory / _MIB, 6, 6,
             "memory of its process that is in RAM now (RSS); pages that processes share are in each of them",
             decimals=0, unit="MiB"),
    TaskFact("Nice", lambda facts: facts.stat.nice, 4, 6, "-20 (first) to 19 (last); real-time policies ignore it",
             decimals=0),
    TaskFact("Prio", lambda facts: facts.stat.priority, 4, 7, "the kernel's priority: 20 + nice; below 0: real-time",
             decimals=0),
    TaskFact("Allowed", lambda facts: facts.stat.allowed, 9, 6,
             "CPUs on which it may run, by its affinity and cpuset (Cpus_allowed_list; taskset changes it), as they "
             f"were at most {ALLOWED_SECONDS} s ago; of a process those of its first thread"),
    TaskFact("Sched", lambda facts: facts.stat.policy, 8, 6, "the scheduler's policy, as chrt calls it"),
    TaskFact(ARGUMENTS, lambda facts: facts.arguments or None, 24, 0,
         "the command line, as the process keeps it; a thread of the kernel has its name in brackets", default=True),
)
"""Right of the numbers."""
