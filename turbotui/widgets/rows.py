"""CPUs as rows: grouping, folding and search words. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope
from turbotui.tables.row_names import row_name
from turbotui.widgets.content import Line

Order = Callable[[Sequence[RowId]], Sequence[RowId]]

TREE_LEVELS = (Scope.PACKAGE, Scope.NODE, Scope.DIE, Scope.L3, Scope.MODULE, Scope.CORE, Scope.CPU)
"""Coarse to fine; levels that divide nothing are left out for each machine."""

_FAMILIAR = (Scope.PACKAGE, Scope.CORE, Scope.DIE, Scope.L3, Scope.NODE, Scope.MODULE, Scope.CPU)
"""Of levels with the same members, the one whose word people use."""

GROUPINGS: tuple[tuple[str, Scope | None], ...] = (
    ("flat", None),
    ("package", Scope.PACKAGE),
    ("die", Scope.DIE),
    ("L3", Scope.L3),
    ("node", Scope.NODE),
    ("core", Scope.CORE),
)
"""The groupings that `t` steps through."""


def levels_of(topology: Topology, wanted: Sequence[Scope] = TREE_LEVELS) -> tuple[Scope, ...]:
    """The levels of a tree, without levels that divide no further than the level above or below.

    A node that is a package, a die that is a package, or a core that is a CPU would only repeat a line; a level that
    does not nest into the level above it cannot be shown.
    """
    partitions: list[frozenset[tuple[int, ...]]] = []
    kept: list[Scope] = []
    finest = frozenset((cpu,) for cpu in topology.cpus)
    for scope in wanted:
        parts = frozenset(tuple(sorted(instance.cpus)) for instance in topology.instances(scope))
        if scope is Scope.CPU:
            kept.append(scope)
            continue
        if parts == finest or (partitions and not _nests(parts, partitions[-1])):
            continue
        if partitions and parts == partitions[-1]:
            if _FAMILIAR.index(scope) < _FAMILIAR.index(kept[-1]):
                kept[-1] = scope
            continue
        partitions.append(parts)
        kept.append(scope)
    return tuple(kept)


def _nests(finer: frozenset[tuple[int, ...]], coarser: frozenset[tuple[int, ...]]) -> bool:
    outer = {cpu: group for group in coarser for cpu in group}
    return all(len({outer[cpu] for cpu in group if cpu in outer}) == 1 for group in finer)


def tree_lines(
    topology: Topology,
    levels: Sequence[Scope],
    order: Order,
    *,
    keep: frozenset[RowId] | None = None,
    folded: frozenset[RowId] = frozenset(),
) -> list[Line[RowId]]:
    """The lines of a tree (or, with one level, of a flat table).

    Args:
        levels: coarse to fine.
        order: sorts the rows of one parent.
        keep: CPU rows that pass the filter, None for all; groups without any are left out.
        folded: groups whose parts are hidden.
    """
    if len(levels) == 1:
        rows = topology.rows(levels[0])
        passing = rows if keep is None else [row for row in rows if _has_kept(topology, row, keep)]
        return [Line(row, 0, None, None) for row in order(passing)]
    lines: list[Line[RowId]] = []
    leaf = len(levels) - 1

    def inside(row: RowId, level: int) -> list[RowId]:
        inner = topology.instances(levels[level + 1])
        return [inner[position].row for position in topology.parts(row, levels[level + 1])]

    def walk(rows: Sequence[RowId], level: int, depth: int, parent: RowId | None) -> None:
        if keep is not None:
            rows = [row for row in rows if _has_kept(topology, row, keep)]
        for outer in order(rows):
            row, at = outer, level
            # a module of one core or a core of one CPU takes one line, under the name that people use
            while level and at < leaf and len(only := inside(row, at)) == 1 and _same_cpus(topology, row, only[0]):
                at += 1
                if _FAMILIAR.index(levels[at]) < _FAMILIAR.index(row.scope) or at == leaf:
                    row = only[0]
            if at == leaf:
                lines.append(Line(row, depth, None, parent))
                continue
            is_open = row not in folded
            lines.append(Line(row, depth, is_open, parent))
            if is_open:
                walk(inside(row, at), at + 1, depth + 1, row)

    if levels:
        walk(topology.rows(levels[0]), 0, 0, None)
    return lines


def _same_cpus(topology: Topology, row: RowId, other: RowId) -> bool:
    first, second = topology.instance(row), topology.instance(other)
    return first is not None and second is not None and set(first.cpus) == set(second.cpus)


def _has_kept(topology: Topology, row: RowId, keep: frozenset[RowId]) -> bool:
    if row.scope is Scope.CPU:
        return row in keep
    instance = topology.instance(row)
    return instance is not None and any(RowId(Scope.CPU, (cpu,)) in keep for cpu in instance.cpus)


def row_words(topology: Topology, row: RowId) -> str:
    """Text in which search and filter look: every id around a CPU, as it is read and in one word, and its type."""
    instance = topology.instance(row)
    if instance is None or not instance.cpus:
        return ""
    place = topology.places[instance.cpus[0]]
    words = [row_name(topology, row)]
    for scope in (Scope.CORE, Scope.MODULE, Scope.L3, Scope.DIE, Scope.NODE, Scope.PACKAGE):
        label = place.label(scope)
        if scope.rank > row.scope.rank and label >= 0:
            words.append(f"{scope.value} {label}")
    words.append(topology.chiplets.get(topology.row(Scope.L3, place.cpu).key, ""))
    if place.core_type:
        words.append(place.core_type)
    return " ".join((*words, *(word.replace(" ", "") for word in words if " " in word))).lower()
