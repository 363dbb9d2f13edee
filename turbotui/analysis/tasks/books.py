"""The books of one application: one ledger, or several whose sets take turns and are joined by instructions.

While a set is on, nothing else of the application is counted: what every set counts is added up, and what only one
counts is brought to all instructions of the row (carm-spec, joining event sets; Antao et al.).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.analysis.tasks.accounts import Mark
from turbotui.analysis.tasks.ledger import Ledger
from turbotui.analysis.tasks.tables import Grouping, TaskRow, task_rows
from turbotui.machine.tasks.sets import Choice

REFERENCE: Final = "instructions"
"""What sets that take turns are joined by; each of them counts it."""


def turns_sentence(turns: int) -> str:
    """What has to be said of numbers of sets that take turns."""
    return (f"~ the events of FLOPs and bytes do not fit into one set: {turns} sets take turns and are joined by "
            "instructions, so these are estimates")


class Books:
    """What was counted of an application.

    Args:
        ledgers: one for each set.

    Attributes:
        choice: how the threads are sampled; of its counters those of the first set.
        names: of everything that a set counts.
        always: of what every set counts.
        timeline: where threads ran.
    """

    def __init__(self, ledgers: Sequence[Ledger]) -> None:
        self._ledgers = tuple(ledgers)
        first = ledgers[0]
        self.choice: Choice = first.choice
        self.timeline = first.timeline
        self.names = tuple(dict.fromkeys(name for one in ledgers for name in one.names))
        self.always = frozenset(self.names).intersection(*(one.names for one in ledgers))

    @property
    def turns(self) -> int:
        """How many sets take turns; 1 where none does."""
        return len(self._ledgers)

    @property
    def lost(self) -> int:
        """Samples that found no room."""
        return sum(one.lost for one in self._ledgers)

    @property
    def throttled(self) -> int:
        """Times that the kernel held samples back."""
        return sum(one.throttled for one in self._ledgers)

    @property
    def samples(self) -> int:
        """Samples that were booked."""
        return sum(account.samples for one in self._ledgers for account in one.accounts())

    @property
    def tail(self) -> tuple[int, ...]:
        """What no sample showed and the final read did, by `names`; of each set while it was on."""
        return self._added([one.tail for one in self._ledgers])

    @property
    def read(self) -> tuple[int, ...] | None:
        """The final read, likewise; None before it."""
        found = [one.read for one in self._ledgers if one.read is not None]
        return self._added(found) if len(found) == len(self._ledgers) else None

    def sums(self) -> tuple[int, ...]:
        """Over all accounts, likewise."""
        return self._added([one.sums() for one in self._ledgers])

    def marks(self) -> tuple[Mapping[int, Mark], ...]:
        """What every account has now."""
        return tuple(one.marks() for one in self._ledgers)

    def tidy(self) -> tuple[Mapping[int, int], ...]:
        """Put the oldest of very many ended threads together; see `Ledger.tidy`."""
        return tuple(one.tidy() for one in self._ledgers)

    def rows(self, by: Grouping, since: Sequence[Mapping[int, Mark]] | None = None,
             application: str = "") -> list[TaskRow]:
        """Rows by falling run time.

        Args:
            by: what a row stands for.
            since: marks of an instant before; None: from the beginning.
            application: goes into every row.
        """
        marks: Sequence[Mapping[int, Mark] | None] = [None] * len(self._ledgers) if since is None else since
        several = len(self._ledgers) > 1
        parts = [task_rows(one, by, mark, application, idle=several)
                 for one, mark in zip(self._ledgers, marks, strict=True)]
        if not several:
            return parts[0]
        rows = joined(parts, self.names, self.always)
        return rows if since is None else [row for row in rows if any(row.counts.values())]

    def _added(self, values: Sequence[Sequence[int]]) -> tuple[int, ...]:
        totals = dict.fromkeys(self.names, 0)
        for one, numbers in zip(self._ledgers, values, strict=True):
            for name, number in zip(one.names, numbers, strict=True):
                totals[name] += number
        return tuple(totals.values())


def joined(parts: Sequence[Sequence[TaskRow]], names: Sequence[str], always: frozenset[str]) -> list[TaskRow]:
    """One row for each thread, process or command out of those of sets that took turns.

    Args:
        parts: rows of each set.
        names: of everything that a set counts.
        always: of what every set counts.
    """
    found: dict[object, list[TaskRow]] = {}
    for rows in parts:
        for row in rows:
            key = row.name if row.pid is None else (row.pid, row.tid)
            found.setdefault(key, []).append(row)
    together = [_together(rows, names, always) for rows in found.values()]
    return sorted(together, key=lambda row: (-row.run_seconds, row.pid or 0, row.tid or 0))


def _together(rows: Sequence[TaskRow], names: Sequence[str], always: frozenset[str]) -> TaskRow:
    most = max(rows, key=lambda row: row.run_seconds)
    loads: dict[int, int] = {}
    for row in rows:
        for cpu, load in row.loads.items():
            loads[cpu] = loads.get(cpu, 0) + load
    everything = sum(row.counts[REFERENCE] for row in rows)
    counts: dict[str, int] = {}
    for name in names:
        value = sum(row.counts[name] for row in rows if name in row.counts)
        if name not in always:
            # rows of the sets that count it
            beside = sum(row.counts[REFERENCE] for row in rows if name in row.counts)
            if not beside and everything:
                continue  # it did not run while it was counted
            value = round(value * everything / beside) if beside else 0
        counts[name] = value
    return replace(
        most,
        threads=max(row.threads for row in rows),
        cpus=tuple(sorted(set().union(*(row.cpus for row in rows)))),
        counts=counts,
        migrations=sum(row.migrations for row in rows),
        loads=loads,
        whole_run=sum(row.whole_run for row in rows),
        incomplete=any(row.incomplete for row in rows),
        ended=any(row.ended for row in rows),
        serials=frozenset().union(*(row.serials for row in rows)),
        estimated=frozenset(names) - always,
    )
