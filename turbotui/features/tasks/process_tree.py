"""The process tree, with sums for folded processes; independent of Textual."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.features.tasks.columns import TaskColumn, TaskInputs
from turbotui.features.tasks.merging import merged
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.quantities.columns import Value
from turbotui.widgets.content import Line
from turbotui.widgets.row_content import RowContent, RowView
from turbotui.widgets.row_tree import row_tree_lines
from turbotui.widgets.table_view import LastOrder, ordered_by


@dataclass(frozen=True, slots=True)
class Ancestry:
    """Parents of the processes in a snapshot."""

    parents: Mapping[int, int] = field(default_factory=dict)  # of each process, and of those above it
    names: Mapping[int, str] = field(default_factory=dict)  # of all of them that live


_SUM: Final = "Σ"
"""Begins the key of a folded process's row: it and all that it made."""


@dataclass(frozen=True)
class ProcessTree:
    """Parent and child rows by their keys."""

    roots: tuple[str, ...] = ()  # processes whose parent is in no row
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what each process made
    parents: Mapping[str, str] = field(default_factory=dict)  # the other way round

    def below(self, key: str) -> list[str]:
        """A process and all its descendants."""
        members = [key]
        for member in members:
            members += self.parts.get(member, ())
        return members


def sum_key(key: str) -> str:
    """The key of the row that sums a process and all its descendants."""
    return f"{_SUM}{key}"


def own_key(key: Hashable) -> str:
    """The key of the process behind a row or behind a summed row."""
    return str(key).removeprefix(_SUM)


def still_rows(rows: Sequence[TaskRow], ancestry: Ancestry) -> list[TaskRow]:
    """Rows of parent processes that did not run in the interval themselves."""
    if not rows:
        return []
    there = {row.pid for row in rows}
    nothing = dict.fromkeys(rows[0].counts, 0)
    return [TaskRow(pid=pid, tid=None, name=name, threads=1, cpus=(), last_cpu=-1, counts=nothing, migrations=0,
                    loads={}, whole_run=0, incomplete=False, application=rows[0].application,
                    by=Grouping.PROCESS)
            for pid, name in ancestry.names.items() if pid not in there]


def tree_of(rows: Iterable[TaskRow], ancestry: Ancestry) -> ProcessTree:
    """Build the tree of the processes that have rows."""
    rows = list(rows)
    keys: dict[tuple[str, int | None], str] = {
        (row.application, row.pid): row.key for row in rows if row.pid is not None}
    parts: dict[str, list[str]] = {}
    parents: dict[str, str] = {}
    roots: list[str] = []
    for row in rows:
        above = None if row.pid is None else keys.get((row.application, ancestry.parents.get(row.pid)))
        if above is None or _leads_to(parents, above, row.key):  # numbers are used again: a ring would have no root
            roots.append(row.key)
        else:
            parts.setdefault(above, []).append(row.key)
            parents[row.key] = above
    return ProcessTree(tuple(roots), {key: tuple(below) for key, below in parts.items()}, parents)


def _leads_to(parents: Mapping[str, str], key: str, goal: str) -> bool:
    above: str | None = key
    while above is not None and above != goal:
        above = parents.get(above)
    return above == goal


def folded_sums(by_key: Mapping[Hashable, TaskInputs], tree: ProcessTree,
                folded: Iterable[Hashable]) -> dict[Hashable, TaskInputs]:
    """Summed rows of folded processes and their descendants, by key."""
    sums: dict[Hashable, TaskInputs] = {}
    for key in map(str, folded):
        members = [by_key[member] for member in tree.below(key) if member in by_key]
        if key not in by_key or len(members) < 2:
            continue
        first = members[0]
        joules = [member.joules for member in members if member.row.cpu_ns]
        known = [joule for joule in joules if joule is not None]
        sums[sum_key(key)] = TaskInputs(merged([member.row for member in members], first.row), first.seconds,
                                        first.numerics,
                                        math.fsum(known) if known and len(known) == len(joules) else None, first.looks,
                                        first.window)
    return sums


def tree_lines(content: RowContent[TaskInputs], tree: ProcessTree, view: RowView[TaskInputs],
               last: LastOrder[Hashable]) -> list[Line[Hashable]]:
    """The tree lines of a view: siblings sorted by their subtree's maximum, filtered rows with their ancestors."""
    ranks = _ranks(content, tree, view)

    def folded_row(key: Hashable) -> Hashable:
        summed = sum_key(str(key))
        return key if content.get(summed) is None else summed

    return row_tree_lines(content, view, cast("Mapping[Hashable, Hashable]", tree.parents), folded_row=folded_row,
                          in_order=lambda rows: _in_order(cast("Sequence[str]", rows), ranks, view, last))


def _ranks(content: RowContent[TaskInputs], tree: ProcessTree, view: RowView[TaskInputs]) -> dict[str, Value]:
    """The sort value of siblings: the maximum of a numeric column below each, otherwise the process's own value."""
    column: TaskColumn | None = view.sort
    keys = [str(key) for key in content.rows]
    if column is None:
        return {}
    ranks = dict(zip(keys, content.values(column, keys), strict=True))
    if column.identity or column.decimals < 0:
        return ranks
    order = [key for root in tree.roots for key in tree.below(root)]
    for key in reversed(order):  # parts before what made them
        above, own = tree.parents.get(key), ranks.get(key)
        if above is not None and isinstance(own, (int, float)):
            theirs = ranks.get(above)
            ranks[above] = own if not isinstance(theirs, (int, float)) else max(own, theirs)
    return ranks


def _in_order(keys: Sequence[str], ranks: Mapping[str, Value], view: RowView[TaskInputs],
              last: LastOrder[Hashable]) -> Sequence[str]:
    """Siblings by sort value, unknown last; in table order if no column is sorted by."""
    if not ranks or view.sort is None:
        return tuple(reversed(keys)) if view.reverse else keys
    values = last.held(view.sort, keys, [ranks.get(key) for key in keys], reverse=view.reverse)
    return ordered_by(keys, values, reverse=view.reverse)
