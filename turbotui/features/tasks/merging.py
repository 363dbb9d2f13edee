"""Merges process rows: those of a control group, or a process and all its descendants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.tasks.loads import sampled_together
from turbotui.features.tasks.parallel_columns import times_of_all
from turbotui.features.tasks.tables import Grouping, TaskRow, whole_run_of
from turbotui.features.tasks.waits import waits_of_all
from turbotui.machine.tasks.group_names import GroupName
from turbotui.machine.tasks.proc_facts import ProcFacts, Stat
from turbotui.quantities.by_key import lists_by_key, sums_by_key

_DEEPEST: Final = 64
"""Parents that are followed upwards."""
NO_GROUP: Final = "(ended, its group was not seen)"


def merged(rows: Sequence[TaskRow], first: TaskRow | None = None) -> TaskRow:
    """The sum of rows, at least one, named as `first`; a count that is unknown in one row is unknown in it."""
    first = first or rows[0]
    names = dict.fromkeys(name for row in rows for name in row.counts)
    loads = sums_by_key((cpu, load) for row in rows for cpu, load in row.loads.items())
    return replace(
        first,
        threads=sum(row.threads for row in rows),
        cpus=tuple(sorted(set().union(*(row.cpus for row in rows)))),
        last_cpu=max(rows, key=lambda row: row.cpu_ns).last_cpu,
        counts={name: sum(row.counts[name] for row in rows) for name in names
                if all(name in row.counts for row in rows)},
        migrations=sum(row.migrations for row in rows),
        loads=loads,
        whole_run=whole_run_of(rows),
        incomplete=any(row.incomplete for row in rows),
        ended=all(row.ended for row in rows),
        serials=frozenset[int]().union(*(row.serials for row in rows)),
        ran=frozenset[int]().union(*(row.ran for row in rows)),
        died=frozenset[int]().union(*(row.died for row in rows)),
        estimated=frozenset[str]().union(*(row.estimated for row in rows)),
        guessed=any(row.guessed for row in rows),
        waits=waits_of_all([row.waits for row in rows]),
        sampled=sampled_together([row.sampled for row in rows]),
        parallel=times_of_all([row.parallel for row in rows]),
    )


def by_group(rows: Iterable[TaskRow], group_of: Callable[[int], GroupName | None],
             unknown: str = NO_GROUP) -> list[TaskRow]:
    """Merge process rows into one row per container, pod, job or unit, by decreasing run time.

    Args:
        group_of: the control group of a process, None where nobody knows it.
        unknown: what the row of those is called.
    """
    by_group = lists_by_key((None if row.pid is None else group_of(row.pid), row) for row in rows)
    sums = [replace(merged(members), pid=None, tid=None, name=unknown if group is None else group.text,
                    by=Grouping.UNIT, group=group)
            for group, members in by_group.items()]
    return sorted(sums, key=lambda row: (-row.cpu_ns, row.name))


class Lineage:
    """Parents of processes: from /proc while they live, from fork records after they ended."""

    def __init__(self, facts: ProcFacts, births: Mapping[int, int], known: Mapping[int, Stat] | None = None) -> None:
        self._facts = facts
        self._births = births
        self._stats: dict[int, Stat | None] = dict(known or {})

    def stat(self, pid: int) -> Stat | None:
        """The parsed stat file of a process, read once; None if the process has ended."""
        if pid not in self._stats:
            self._stats[pid] = self._facts.stat(pid)
        return self._stats[pid]

    def parent(self, pid: int) -> int | None:
        """The parent of a process, original or adoptive; None at the root or if unknown."""
        stat = self.stat(pid)
        return (self._births.get(pid) if stat is None else stat.parent) or None

    def ancestors(self, pid: int) -> list[int]:
        """The ancestors of a process, its parent first."""
        ancestors: list[int] = []
        above = self.parent(pid)
        while above is not None and above not in ancestors and above != pid and len(ancestors) < _DEEPEST:
            ancestors.append(above)
            above = self.parent(above)
        return ancestors

    def group(self, pid: int) -> GroupName | None:
        """The control group of a process, or its parent's if the process ended before it was read."""
        for ancestor in (pid, *self.ancestors(pid)):
            if (facts := self._facts.facts(ancestor)) is not None:
                return facts.group
        return None
