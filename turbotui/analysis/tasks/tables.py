"""Tables of sampled threads: one row a thread, a process, or a command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from turbotui.analysis.tasks.ledger import RUN, Account, Ledger


class Grouping(Enum):
    """What a row stands for."""

    THREAD = "thread"
    PROCESS = "process"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One row.

    Attributes:
        pid: of the process, None for a command that several processes ran.
        tid: of the thread, None for a row of several.
        name: the command's; of a process that of its first thread.
        threads: how many are in the row.
        cpus: that they were seen on.
        counts: by the names of the set; run time in ns.
        incomplete: the counters were shared with somebody else: counts are too low.
    """

    pid: int | None
    tid: int | None
    name: str
    threads: int
    cpus: tuple[int, ...]
    counts: dict[str, int]
    incomplete: bool

    @property
    def run_seconds(self) -> float:
        """Time on CPUs."""
        return self.counts[RUN] / 1e9

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle, None where they are not counted."""
        instructions, cycles = self.counts.get("instructions"), self.counts.get("cycles")
        return None if instructions is None or not cycles else instructions / cycles


_KEYS: Final[dict[Grouping, Callable[[Account], object]]] = {
    Grouping.THREAD: id,
    Grouping.PROCESS: lambda one: one.pid,
    Grouping.COMMAND: lambda one: one.name,
}


def task_rows(ledger: Ledger, by: Grouping) -> list[TaskRow]:
    """Rows by falling run time; the idle task of mode C is left out, for it is no work."""
    groups: dict[object, list[Account]] = {}
    for account in ledger.accounts():
        if account.tid:
            groups.setdefault(_KEYS[by](account), []).append(account)
    rows = [_row(ledger.names, group, by) for group in groups.values()]
    return sorted(rows, key=lambda row: (-row.counts[RUN], row.pid or 0, row.tid or 0))


def _row(names: Sequence[str], group: Sequence[Account], by: Grouping) -> TaskRow:
    pids = {one.pid for one in group}
    first = next((one for one in group if one.tid == one.pid), group[0])
    return TaskRow(
        pid=first.pid if len(pids) == 1 else None,
        tid=first.tid if by is Grouping.THREAD else None,
        name=first.name,
        threads=len(group),
        cpus=tuple(sorted(set().union(*(one.cpus for one in group)))),
        counts={name: sum(one.totals[number] for one in group) for number, name in enumerate(names)},
        incomplete=any(one.incomplete for one in group),
    )


def difference(newer: Sequence[TaskRow], older: Sequence[TaskRow]) -> list[TaskRow]:
    """What happened between two tables of the same grouping; rows that did nothing are left out."""
    before = {(row.pid, row.tid, row.name): row.counts for row in older}
    found = []
    for row in newer:
        old = before.get((row.pid, row.tid, row.name), {})
        counts = {name: value - old.get(name, 0) for name, value in row.counts.items()}
        if any(counts.values()):
            found.append(TaskRow(row.pid, row.tid, row.name, row.threads, row.cpus, counts, row.incomplete))
    return sorted(found, key=lambda row: -row.counts[RUN])
