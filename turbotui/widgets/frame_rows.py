"""A frame as the content of a table: CPUs, or a tree of packages, cores, CPUs. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.tables import AnyTable, Cell, CellEvidence
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.tables.frame_table import FrameTable
from turbotui.tables.layout import Layout
from turbotui.tables.row_names import row_name
from turbotui.widgets.content import Content, Line
from turbotui.widgets.rows import row_words, tree_lines
from turbotui.widgets.table_view import Follow, RowList, TableView, ordered, passes


@dataclass(frozen=True, slots=True)
class FrameContent(Content[CounterColumn, RowId]):
    """A frame as the content of a table widget."""

    frame: Frame

    @property
    def seq(self) -> int:
        return self.frame.seq

    @property
    def rows(self) -> Sequence[RowId]:
        """Rows of all measured CPUs."""
        return self.frame.rows(Scope.CPU)

    def values(self, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[Value]:
        return self.frame.cells(column, rows)

    def value(self, column: CounterColumn, row: RowId) -> Value:
        return self.frame.cell(column, row)

    def why(self, column: CounterColumn, row: RowId) -> Unavailable | None:
        return self.frame.why(column, row)

    def cell(self, column: CounterColumn, row: RowId) -> Cell:
        return self.table((column,), (row,)).cell(column, row)

    def evidence(self, column: CounterColumn, row: RowId) -> CellEvidence:
        return self.table((column,), (row,)).evidence(column, row)

    def words(self, row: RowId) -> str:
        """Text in which a search looks: the ids around a CPU, and the CPUs of a group, which may be folded."""
        topology = self.frame.topology
        instance = None if row.scope is Scope.CPU else topology.instance(row)
        inside = () if instance is None else (f"cpu {cpu} cpu{cpu}" for cpu in instance.cpus)
        return " ".join((row_words(topology, row), *inside))

    def title(self, row: RowId) -> str:
        return row_name(self.frame.topology, row)

    def name(self, column: CounterColumn, row: RowId) -> str:
        """Name of a cell's row, with the enclosing row if the value belongs to that."""
        home = self.frame.home(column, row) or row
        return self.title(row) if home == row else f"{self.title(row)} (value of {self.title(home)})"

    def table(self, columns: Sequence[CounterColumn], rows: Sequence[RowId]) -> AnyTable:
        return FrameTable(self.frame, Layout(tuple(columns)), tuple(rows))


class FrameRows(RowList[FrameContent, CounterColumn, RowId]):
    """Lines of CPUs, flat or in groups."""

    def __init__(self) -> None:
        super().__init__()
        self._flat: dict[RowId, Line[RowId]] = {}
        self._topology: Topology | None = None

    def arranged(self, content: FrameContent, view: TableView[CounterColumn, RowId]) -> Sequence[Line[RowId]]:
        frame = content.frame

        busiest = view.targets.get(Follow.BUSIEST)
        load = view.sort is not None and busiest is not None and view.sort.id == busiest.id

        def order(rows: Sequence[RowId]) -> Sequence[RowId]:
            return ordered(content, rows, view.sort, reverse=view.reverse, mark=view.mark, load=load)

        keep = None
        if view.filter.text:
            keep = frozenset(row for row in content.rows if passes(content, view, row))
        topology = frame.topology
        if len(view.levels) > 1 or keep is not None:
            return tree_lines(topology, view.levels, order, keep=keep, folded=view.folded)
        rows = topology.rows(view.levels[0])
        if self._topology is not topology or rows[0] not in self._flat:
            self._topology, self._flat = topology, {row: Line(row) for row in rows}
        return [self._flat[row] for row in order(rows)]
