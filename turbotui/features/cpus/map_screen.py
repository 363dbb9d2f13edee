"""The map screen: every CPU at once, coloured by one column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from textual.widget import Widget

from turbotui.app import scales
from turbotui.app.actions import bindings_for
from turbotui.app.cell_cursor import CellCursorScreen
from turbotui.app.frame_charts import FrameCharts
from turbotui.app.sort_menu import SortMenu
from turbotui.app.view_states import ViewChoice
from turbotui.app.watch import Watch
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import RowId, Scope, cpu_row
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import in_words
from turbotui.widgets.heat_map import HeatMap
from turbotui.widgets.painter import TextSegment, nice_top
from turbotui.widgets.panel import Target
from turbotui.widgets.row_charts import LEAST
from turbotui.widgets.table_view import next_match

_CHARTED = 64
"""CPUs up to which the past of each is kept, so that it is there when the cursor comes."""
_AROUND = (Scope.CORE, Scope.L3, Scope.NODE, Scope.DIE, Scope.PACKAGE)
"""The scopes that contain a CPU, by which searches find it."""


class MapScreen(CellCursorScreen):
    """The screen with a map of all CPUs, and the CPU under the cursor on the status line."""

    where = "map"
    number = "3"
    word = "map"
    opens = "who"
    BINDINGS = bindings_for("map")

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.heat_map = HeatMap(self._below, id="map")
        self._column: CounterColumn | None = watch.busy
        self._charts = FrameCharts(watch)

    def body(self) -> Iterable[Widget]:
        """Lay out the map."""
        yield self.heat_map

    @property
    def shown(self) -> tuple[Sequence[CounterColumn], Sequence[RowId]]:
        """Columns of every CPU for the charts below a small map."""
        cpus = self.watch_state.session.machine.topology.cpus
        return (self._charted, [cpu_row(cpu) for cpu in cpus]) if len(cpus) <= _CHARTED else ((), ())

    @property
    def _charted(self) -> tuple[CounterColumn, ...]:
        """The column that gives the colour, and those of the summary."""
        columns = [*([self._column] if self._column else []), *self.watch_state.headline]
        return tuple({column.id: column for column in columns if column.scope is not Scope.SYSTEM}.values())

    def _below(self, width: int, height: int) -> Sequence[list[TextSegment]]:
        cpu, column, (_, rows) = self.heat_map.cpu, self._column, self.shown
        if height < LEAST or cpu is None or column is None or not rows:
            return ()
        return self._charts.lines((column, cpu_row(cpu)), self._charted, width, height)

    def _choices(self) -> list[CounterColumn]:
        return [
            column
            for column in self.watch_state.columns
            if not column.identity and column.decimals >= 0 and not column.whole_only
        ]

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The column of the colour, and the columns on the status line."""
        return (*self.watch_state.columns, *([self._column] if self._column else []))

    def let_go(self) -> None:
        """Release the frame, too."""
        super().let_go()
        self.heat_map.let_go()
        self._charts.let_go()

    def show_frame(self) -> None:
        """Colour every CPU by this frame."""
        watch, frame = self.watch_state, self.watch_state.frame
        if self._column is None:
            self._column = next(iter(self._choices()), None)
        if frame is not None and self._column is not None:
            top = scales.tops(watch).get(self._column.id)
            if top is None:
                values = [frame.cell(self._column, row) for row in frame.rows(Scope.CPU)]
                top = nice_top(max((value for value in values if isinstance(value, int | float)), default=0.0))
            self.heat_map.lit = frozenset(watch.pointing.cpus)
            self.heat_map.show_frame(frame, self._column, watch.levels, top)
        super().show_frame()
        self.show_status()

    def show_columns(self) -> None:
        """Request the visible columns."""
        self.watch_state.want(self.wanted)

    def readout(self) -> str:
        """Describe the CPU under the cursor in full."""
        frame, cpu = self.watch_state.frame, self.heat_map.cpu
        if frame is None or cpu is None:
            return self.waiting_for("the first reading")
        row = cpu_row(cpu)
        topology = frame.topology
        if cpu not in topology.places:
            return f"{row_name(topology, row)} · offline"
        words = [row_name(topology, row)]
        around = [scope for scope in (Scope.CORE, Scope.L3, Scope.PACKAGE)
                  if topology.varies(scope) and (scope is not Scope.L3 or topology.chiplets)]
        words += [row_name(topology, topology.row(scope, cpu), inside=True) for scope in around]
        shown = [self._column, *(column for column in self._choices() if column is not self._column)]
        words += [f"{column.id} {in_words(column, frame.cell(column, row))}" for column in shown if column is not None]
        return " · ".join(words)

    @property
    def pointed(self) -> Target | None:
        """The cell under the cursor: the value behind the CPU's colour."""
        return None if self.heat_map.cpu is None or self._column is None else (self._column, cpu_row(self.heat_map.cpu))

    def on_heat_map_moved(self) -> None:
        """Read out the CPU under the cursor."""
        self.show_status()

    def _colour_by(self, column: CounterColumn) -> None:
        self._column = column
        self.watch_state.want(self.wanted)
        self.show_frame()
        self.notice(f"Coloured by {column.id}: {column.help}")

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """The column that gives the colours."""
        yield ViewChoice(self.number, "column", "" if self._column is None else self._column.id, self._colour_again, "")

    def _colour_again(self, name: ColumnId) -> None:
        if (column := self.watch_state.find(name)) is not None:
            self._colour_by(column)

    def action_sort_step(self, by: int) -> None:
        """Colour by the next or previous column."""
        if choices := self._choices():
            at = next((at for at, column in enumerate(choices) if column is self._column), -1)
            self._colour_by(choices[(at + by) % len(choices)])

    def action_sort_menu(self) -> None:
        """Choose the column from a list."""

        def chosen(name: str | None) -> None:
            column = self.watch_state.find(name) if name else None
            if column is not None:
                self._colour_by(column)

        now = self._column.id if self._column else ""
        self.app.push_screen(SortMenu(self._choices(), now, word="colour by"), chosen)

    def action_move(self, by: int) -> None:
        """Move the cursor up or down."""
        self.heat_map.move(0, by)

    def action_sideways(self, by: int) -> None:
        """Move the cursor left or right."""
        self.heat_map.move(by, 0)

    def action_column(self, by: int) -> None:
        """Colour by the next or previous column, as < and > do."""
        self.action_sort_step(by)

    def action_page(self, by: int) -> None:
        """Move the cursor by sixteen CPUs, in the order of the table."""
        self.heat_map.step(16 * by)

    def action_end(self, by: int) -> None:
        """Move the cursor to the first or last CPU."""
        self.heat_map.step(by * 1_000_000)

    def find(self, text: str, *, after: bool = False) -> bool:
        """Find a CPU by its number, or by a scope that contains it."""
        frame, cpu = self.watch_state.frame, self.heat_map.cpu
        if frame is None or cpu is None:
            return False
        topology = frame.topology
        around = [scope for scope in _AROUND if topology.varies(scope)]
        names = [" · ".join([row_name(topology, cpu_row(cpu)), f"{topology.places[cpu].core_type or ''} core",
                             *(row_name(topology, topology.row(scope, cpu)) for scope in around)])
                 for cpu in topology.cpus]
        here = topology.cpus.index(cpu) if cpu in topology.places else 0
        number = next_match(names, text, here + after, after=after)
        if number is not None:
            self.heat_map.select(topology.cpus[number])
        return number is not None

    def way_back(self) -> Callable[[], None]:
        cpu = self.heat_map.cpu
        return lambda: None if cpu is None else self.heat_map.select(cpu)

    def action_point(self) -> None:
        """Show the tasks that run on the CPU under the cursor."""
        if self.heat_map.cpu is not None:
            self.watch_state.pointing.clear()
            self.watch_state.pointing.at_cpu(self.heat_map.cpu, "map")
            self.go_to("tasks")

    def open_chosen(self) -> bool:
        """Open the tasks that run on the CPU under the cursor."""
        self.action_point()
        return self.heat_map.cpu is not None

    def flags(self) -> list[str]:
        """Return the task that ran on the highlighted CPUs."""
        pointing = self.watch_state.pointing
        return [*super().flags(), *([f"◆ {pointing.who} ran there: Esc returns"] if pointing.cpus else [])]
