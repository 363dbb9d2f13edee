"""Rows in a tree: siblings in order, parts below what has them, filtered rows with their ancestors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic

from turbotui.quantities.columns import Column, R
from turbotui.quantities.tables import C, K
from turbotui.widgets.content import Content, Line
from turbotui.widgets.row_content import RowContent, RowView
from turbotui.widgets.table_view import RowList, TableView, ordered, passes


class TreeRows(RowList[RowContent[R], Column[R], Hashable], Generic[R]):
    """Rows in the tree of their content, with sorted siblings, or else as a sorted list."""

    def arranged(self, content: RowContent[R], view: RowView[R]) -> Sequence[Line[Hashable]]:
        """Arrange rows: those that pass the filter are shown with all their parents."""
        if content.parents is None:
            return super().arranged(content, view)
        return row_tree_lines(content, view, content.parents,
                              candidates=[key for key in content.rows if key not in content.heads],
                              in_order=lambda rows: self.order(content, view, rows))


def row_tree_lines(content: Content[C, K], view: TableView[C, K], parents: Mapping[K, K], *,
                   candidates: Sequence[K] | None = None,
                   in_order: Callable[[Sequence[K]], Sequence[K]] | None = None,
                   folded_row: Callable[[K], K] | None = None) -> list[Line[K]]:
    """The lines of a tree.

    Args:
        parents: the row above each row, among the rows of the content.
        candidates: rows that may pass the filter, and bring their ancestors; None for all.
        in_order: sorts rows; None for the order of the view.
        folded_row: the row that stands for a folded row with its parts; None for the row itself.
    """
    wanted = content.rows if candidates is None else candidates
    passing = {key for key in wanted if passes(content, view, key)} if view.filter.text else None
    shown: set[K] = set()
    for key in wanted if passing is None else passing:
        above: K | None = key
        while above is not None and above not in shown:
            shown.add(above)
            above = parents.get(above)
    rows = [key for key in content.rows if key in shown]
    parts: dict[K | None, list[K]] = {}
    for key in in_order(rows) if in_order is not None else ordered(content, rows, view.sort, reverse=view.reverse,
                                                                   mark=view.mark):
        parts.setdefault(parents.get(key), []).append(key)
    lines: list[Line[K]] = []
    waiting = _below(parts, None, 0)
    while waiting:
        key, depth, parent = waiting.pop()
        # what passes would be hidden in a folded row that is there for its sake alone
        is_open = key not in view.folded or (passing is not None and key not in passing)
        row = key if is_open or key not in parts or folded_row is None else folded_row(key)
        lines.append(Line(row, depth, is_open if key in parts else None, parent))
        if is_open:
            waiting += _below(parts, key, depth + 1)
    return lines


def _below(parts: Mapping[K | None, Sequence[K]], key: K | None, depth: int) -> list[tuple[K, int, K | None]]:
    return [(part, depth, key) for part in reversed(parts.get(key, ()))]
