"""The rows of a table as they stand below each other, and where each of them stands. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.widgets.rows import Line, ordered, row_words, tree_lines
from turbotui.widgets.table_view import Follow, TableView


class RowList:
    """The lines of one table for one frame and one view.

    Attributes:
        lines: from top to bottom, pinned rows not among them.
    """

    def __init__(self) -> None:
        self.lines: Sequence[Line] = []
        self._places: dict[RowId, int] | None = {}
        self._flat: dict[RowId, Line] = {}
        self._topology: Topology | None = None

    def update(self, frame: Frame, view: TableView) -> None:
        """Filter, sort and fold anew."""

        def order(rows: Sequence[RowId]) -> Sequence[RowId]:
            return ordered(frame, rows, view.sort, reverse=view.reverse, mark=view.mark)

        keep = None
        if view.filter.text:
            keep = frozenset(row for row in frame.rows(Scope.CPU) if _passes(frame, view, row))
        topology = frame.topology
        if len(view.levels) == 1 and keep is None:
            rows = topology.rows(view.levels[0])
            if self._topology is not topology or rows[0] not in self._flat:
                self._topology, self._flat = topology, {row: Line(row) for row in rows}
            self.lines = [self._flat[row] for row in order(rows)]
        else:
            self.lines = tree_lines(topology, view.levels, order, keep=keep, folded=view.folded)
        self._places = None

    def position(self, row: RowId | None) -> int | None:
        """Where a row stands, None if it is not shown."""
        if row is None:
            return None
        if self._places is None:
            self._places = {line.row: at for at, line in enumerate(self.lines)}
        return self._places.get(row)

    def target(self, frame: Frame, view: TableView) -> RowId | None:
        """The row that the cursor is to run after: the hottest, busiest or slowest; None if it follows nothing."""
        column = view.targets.get(view.follow)
        if column is None:
            return None
        rows = [line.row for line in self.lines if line.open is None]
        best = ordered(frame, rows, column, reverse=view.follow is not Follow.SLOWEST)
        return best[0] if best and frame.cell(column, best[0]) is not None else None

    def find(self, frame: Frame, text: str, start: int) -> RowId | None:
        """The first row whose ids contain a text, from line `start` on and around."""
        for step in range(len(self.lines)):
            row = self.lines[(start + step) % len(self.lines)].row
            if text.lower() in row_words(frame.topology, row):
                return row
        return None


def _passes(frame: Frame, view: TableView, row: RowId) -> bool:
    return view.filter.passes(row_words(frame.topology, row), lambda column: frame.cell(column, row))
