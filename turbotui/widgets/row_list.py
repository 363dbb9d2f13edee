"""The rows of a table in display order, with their positions. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from turbotui.quantities.tables import C, K
from turbotui.widgets.content import Content, F, Line, ordered
from turbotui.widgets.table_view import Follow, TableView


class RowList(Generic[F, C, K]):
    """The lines of a table for one moment and view, without pinned rows; flat unless a subclass groups rows."""

    def __init__(self) -> None:
        self.lines: Sequence[Line[K]] = []
        self._places: dict[K, int] | None = {}

    def update(self, content: F, view: TableView[C, K]) -> None:
        """Filter, sort and fold again."""
        self.lines = self.arranged(content, view)
        self._places = None

    def arranged(self, content: F, view: TableView[C, K]) -> Sequence[Line[K]]:
        """The lines for a view."""
        rows = content.rows
        if view.filter.text:
            rows = [row for row in rows if passes(content, view, row)]
        return [Line(row) for row in ordered(content, rows, view.sort, reverse=view.reverse, mark=view.mark)]

    def position(self, row: K | None) -> int | None:
        """Position of a row; None if it is not shown."""
        if row is None:
            return None
        if self._places is None:
            self._places = {line.row: at for at, line in enumerate(self.lines)}
        return self._places.get(row)

    def target(self, content: F, view: TableView[C, K]) -> K | None:
        """The row for the cursor to follow: the hottest, busiest or slowest; None if the cursor follows nothing."""
        column = view.targets.get(view.follow)
        if column is None:
            return None
        rows: list[K] = [line.row for line in self.lines if line.open is None]
        best: Sequence[K] = ordered(content, rows, column, reverse=view.follow is not Follow.SLOWEST)
        return best[0] if best and content.value(column, best[0]) is not None else None

    def find(self, content: F, text: str, start: int) -> K | None:
        """The first row whose words contain a text, from line `start` on, wrapping around."""
        for step in range(len(self.lines)):
            row = self.lines[(start + step) % len(self.lines)].row
            if text.lower() in content.words(row):
                return row
        return None


def passes(content: Content[C, K], view: TableView[C, K], row: K) -> bool:
    """Whether a row passes the filter."""
    return view.filter.passes(content.words(row), lambda column: column.as_shown(content.value(column, row)))
