"""Columns of facts about a task: those from /proc, and the kind of those that are measured only while shown."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from turbotui.dataclass import dataclass
from turbotui.machine.tasks.proc_facts import ALLOWED_SECONDS, TaskFacts
from turbotui.machine.tasks.process_stats import TICKS
from turbotui.quantities.columns import Value
from turbotui.quantities.facts import FactFile
from turbotui.quantities.unavailable import Unavailable

M = TypeVar("M")
B = TypeVar("B")

PROC: Final = "/proc"
"""What such a column is made of."""
ARGUMENTS: Final = "Args"
"""The id of the column that takes what room the others leave."""
_MIB: Final = 2 ** 20
_FILE: Final = FactFile("features/tasks/columns.toml")


@dataclass(frozen=True, slots=True)
class TaskFact:
    """A fact from /proc about a task: a table of `columns.toml`, which says what its keys are."""

    id: str  # of its column
    of: Callable[[TaskFacts], Value]  # gives the value
    width: int
    priority: int
    help: str
    default: bool = False
    decimals: int = -1
    unit: str = ""


class MeasuredCell(NamedTuple):
    """A row's value, or the reason why it is unknown."""

    value: Value
    why: Unavailable | None = None
    estimated: bool = False  # it is of a part of what it says, inferred, or of too few samples


@dataclass(frozen=True, slots=True)
class MeasuredFact(Generic[M, B]):
    """One column of what is measured of tasks only while one of its columns is shown, likewise."""

    id: str  # its name
    # its value by what was measured of a row, and the number that this is compared with
    of: Callable[[M, B], MeasuredCell]
    unit: str
    decimals: int
    width: int
    help: str
    document: str
    accumulates: bool = False


@functools.cache
def _tables() -> Mapping[str, dict[str, Any]]:
    return {name: cast("dict[str, Any]", table) for name, table in _FILE.tables()}


def _written(name: str, **limits: object) -> Mapping[str, Any]:
    """The table of a column, with the limits that its help names."""
    table = _tables()[name]
    return {**table, "help": table["help"].format(**limits)}


def measured_facts(values: Mapping[str, Callable[[M, B], MeasuredCell]],
                   **limits: object) -> tuple[MeasuredFact[M, B], ...]:
    """The facts of some columns, in their order."""
    return tuple(MeasuredFact(name, of, **_written(name, **limits)) for name, of in values.items())


def _proc_facts(values: Mapping[str, Callable[[TaskFacts], Value]]) -> tuple[TaskFact, ...]:
    return tuple(TaskFact(name, of, **_written(name, seconds=ALLOWED_SECONDS)) for name, of in values.items())


FIRST_FACTS: Final = _proc_facts({
    "S": lambda facts: facts.stat.state,
    "User": lambda facts: facts.user or None,
})
"""Beside the name."""
LAST_FACTS: Final = _proc_facts({
    "Total_s": lambda facts: None if facts.stat.ran is None else facts.stat.ran / TICKS,
    "Group": lambda facts: None if facts.group is None else facts.group.text,
    "Cgroup": lambda facts: None if facts.group is None else facts.group.path,
    "Process": lambda facts: facts.process,
    "PPID": lambda facts: facts.stat.parent,
    "Threads": lambda facts: facts.stat.threads,
    "Mem": lambda facts: None if facts.stat.memory is None else facts.stat.memory / _MIB,
    "Nice": lambda facts: facts.stat.nice,
    "Prio": lambda facts: facts.stat.priority,
    "Allowed": lambda facts: facts.stat.allowed,
    "Sched": lambda facts: facts.stat.policy,
    ARGUMENTS: lambda facts: facts.arguments or None,
})
"""Right of the numbers."""
