"""The base of screens with a counter table: its view, its columns, and its status line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, TypeAlias

from turbotui.app import scales
from turbotui.app.one_cell import FrameCell
from turbotui.app.saved_views import CounterView, view_of
from turbotui.app.table_keys import TableKeys
from turbotui.app.watch import Watch
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.widgets.frame_painter import FramePainter
from turbotui.widgets.frame_rows import FrameContent, FrameRows
from turbotui.widgets.profiles import Profile
from turbotui.widgets.row_charts import RowCharts
from turbotui.widgets.slots import slots_of
from turbotui.widgets.table_view import TAGS_ROW, Follow, TableView
from turbotui.widgets.table_widget import TableWidget

_PINNED = 8
"""The most CPUs of a task that are pinned; the map highlights all of them."""
CounterTable: TypeAlias = TableWidget[FrameContent, CounterColumn, RowId]
"""The widget of both screens."""


class TableBase(TableKeys[FrameContent, CounterColumn, RowId]):
    """A table of the visible columns, shown by an immutable `TableView`."""

    mode: ClassVar[str] = ""
    grouped: ClassVar[bool] = False

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._profile: Profile | None = None
        self._pointed: tuple[RowId, ...] = ()
        self._awaited: RowId | None = None

    def new_table(self) -> CounterTable:
        watch = self.watch_state

        def paint(view: CounterView, seconds: float, width: int) -> FramePainter:
            return FramePainter(view, *slots_of(view, seconds, width), width, history=watch.history,
                                levels=watch.levels, alerted=None if watch.alerts is None else watch.alerts.cells)

        return TableWidget(self.first_view(), FrameRows(), paint, seconds=watch.interval,
                           charts=RowCharts(watch.recent), id="table")

    def first_view(self) -> CounterView:
        """Return the table's settings before the user changes them."""
        return TableView(columns=self.watch_state.columns, top=(SYSTEM_ROW,), sums=(TAGS_ROW,),
                         targets=self._targets())

    @property
    def table_name(self) -> str:
        return self.mode

    def find_column(self, name: str) -> CounterColumn | None:
        return self.watch_state.find(name)

    def cell(self, column: CounterColumn, row: RowId) -> FrameCell:
        return FrameCell(self.watch_state, column, row)

    @property
    def marked(self) -> Frame | None:
        """The same frame for all screens."""
        return self.watch_state.mark

    def compare(self, *, begin: bool) -> None:
        self.watch_state.mark = self.watch_state.frame if begin else None
        self.show_view(self._table.view)

    def _targets(self) -> Mapping[Follow, CounterColumn]:
        watch = self.watch_state
        found = {Follow.HOTTEST: watch.heat, Follow.BUSIEST: watch.busy, Follow.SLOWEST: watch.clock}
        return {follow: column for follow, column in found.items() if column is not None}

    # Frames and columns

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The visible columns, and those that sorting, filtering and following need."""
        return self._table.view.needed

    @property
    def groups(self) -> Sequence[RowId]:
        """The groups of the tree."""
        return [line.row for line in self._table.lines if line.open is not None]

    @property
    def shown(self) -> tuple[Sequence[CounterColumn], Sequence[RowId]]:
        """The columns and rows that the table draws."""
        return self._table.drawn

    def show_frame(self) -> None:
        """Show the newest frame in the table, then in the lines around it."""
        frame = self.watch_state.frame
        self._pin_pointed()
        if frame is not None:
            before = self._table.content
            if not self._table.view.tops or before is None or before.frame.older is None:
                self.show_view(self._table.view)
            self._table.show_content(FrameContent(frame), quietly=True)
            if self._awaited is not None:
                self._table.select(self._awaited)
                self._awaited = None
        self.show_mark()
        super().show_frame()
        self.show_status()

    def _pin_pointed(self) -> None:
        """Pin the CPUs of the chosen task, and unpin those of the previous one."""
        cpus = self.watch_state.pointing.cpus[:_PINNED]
        before, self._pointed = self._pointed, tuple(cpu_row(cpu) for cpu in cpus)
        if before != self._pointed:
            others = (tag for tag in self._table.view.tags if tag not in before and tag not in self._pointed)
            self.show_view(replace(self._table.view, tags=(*self._pointed, *others)))

    def action_point(self) -> None:
        """Show the tasks that run on the CPU under the cursor."""
        row = self._table.current
        if row is None or row.scope is not Scope.CPU:
            self.notice("Go to the row of a CPU: i shows the tasks that run there")
            return
        cpu = next((cpu for cpu in self.watch_state.session.machine.topology.cpus if cpu_row(cpu) == row), None)
        if cpu is not None:
            self.watch_state.pointing.clear()
            self.watch_state.pointing.at_cpu(cpu, self.mode or "cpus")
            self.go_to("tasks")

    def open_chosen(self) -> bool:
        """The tasks on a CPU, or the members of a group."""
        row, line = self._table.current, self._table.line
        if row is not None and row.scope is Scope.CPU and row not in self._table.view.sums:
            self.action_point()
        elif line is not None and line.open is not None:
            self._fold(line.row, fold=line.open)
        else:
            return False
        return True

    def point_at(self, row: RowId) -> None:
        self._awaited = row

    def show_columns(self) -> None:
        """Apply the visible columns, and the sparks that fit."""
        self.show_view(self._table.view)

    def show_view(self, view: CounterView) -> None:
        """Applies the columns, sparks and marks of all screens, and a new profile."""
        watch = self.watch_state
        if watch.profile is not self._profile:
            self._profile = watch.profile
            if watch.profile is not None and watch.profile.screen == self.mode:
                view = view_of(watch.profile, watch, view, grouped=self.grouped)
        mark = None if watch.mark is None else FrameContent(watch.mark)
        view = replace(view, columns=watch.columns, sparks=scales.sparks(watch, self.size.width),
                       tops=scales.tops(watch), mark=mark, arrangement=self.arrangement)
        super().show_view(view)
        watch.want(view.needed)

    def flags(self) -> list[str]:
        """Return filter and followed CPU if they differ from the start."""
        view = self._table.view
        found = super().flags()
        if view.follow is not Follow.ROW:
            found.append(f"follow {view.follow.value}")
        pointing = self.watch_state.pointing
        if pointing.cpus:
            found.append(f"• {pointing.who} ran there: Esc returns")
        return found
