"""Rows in a tree of any depth: what a filter leaves, what a fold hides, and how names are painted."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column
from turbotui.quantities.filters import Filter, parse_filter
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.widgets.content import Line
from turbotui.widgets.row_content import Naming, RowContent, RowPainter, RowView
from turbotui.widgets.row_tree import TreeRows
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import TableView


@dataclass(frozen=True)
class Folder:
    """A row whose path says where it stands."""

    path: str

    @property
    def size(self) -> int:
        return len(self.path) % 7


NAME = Column[Folder]("Name", "", -1, (), lambda row: row.path.rpartition("/")[2], identity=True, width=14)
SIZE = Column[Folder]("Size", "", 0, (), lambda row: row.size, width=5)
PATHS = ("a", "a/b", "a/b/c", "a/b/c/d", "a/b/x", "e")


def content(paths: tuple[str, ...] = PATHS) -> RowContent[Folder]:
    table = RowTable("folders", "folder", (NAME, SIZE), tuple(map(Folder, paths)),
                     lambda _column, _row, value: Cell(value), lambda _column, _row: CellEvidence())
    parents: dict[Hashable, Hashable] = {path: path.rpartition("/")[0] for path in paths if "/" in path}
    return RowContent(table, Naming(lambda row: row.path, lambda row: row.path.rpartition("/")[2],
                                    lambda row: row.path), 1, parents)


def lines(folded: frozenset[Hashable] = frozenset(), filtered: str = "") -> list[tuple[Hashable, int, bool | None]]:
    chosen: Filter[Column[Folder]] = parse_filter(filtered, lambda _name: None)
    view: RowView[Folder] = TableView((NAME, SIZE), folded=folded, filter=chosen)
    return [(line.row, line.depth, line.open) for line in TreeRows[Folder]().arranged(content(), view)]


def test_a_tree_has_any_depth_and_folds_at_each() -> None:
    assert lines() == [("a", 0, True), ("a/b", 1, True), ("a/b/c", 2, True), ("a/b/c/d", 3, None), ("a/b/x", 2, None),
                       ("e", 0, None)]
    assert lines(frozenset({"a/b/c"})) == [("a", 0, True), ("a/b", 1, True), ("a/b/c", 2, False), ("a/b/x", 2, None),
                                           ("e", 0, None)]


def test_what_passes_a_filter_is_shown_whatever_was_folded_above_it() -> None:
    everything = frozenset[Hashable](PATHS)
    assert lines(everything, "d") == [("a", 0, True), ("a/b", 1, True), ("a/b/c", 2, True), ("a/b/c/d", 3, None)]
    assert lines(everything, "c or d") == [("a", 0, True), ("a/b", 1, True), ("a/b/c", 2, False)], (
        "a row that passes itself stays folded")
    assert lines(frozenset(), "nothing") == []


@pytest.mark.parametrize(("line", "text"), [
    (Line[Hashable]("a/b/c", 2, True), "     ▾ c             "[:15]),
    (Line[Hashable]("a/b/c", 2, False), "     ▸ c             "[:15]),
    (Line[Hashable]("a/b/x", 2, None), "       x             "[:15]),
    (Line[Hashable]("a/b/x", 40, None), "                     "[:14] + "…"),
])
def test_names_are_indented_by_their_depth_within_their_width(line: Line[Hashable], text: str) -> None:
    view: RowView[Folder] = TableView((NAME, SIZE))
    painter = RowPainter(view, *row_slots(view, 40), 40)
    assert "".join(part for part, _role in painter.ids(content(), line)) == text
