"""A screen with a counter table: how its view is shown, kept up with the columns, and read out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.widget import Widget

from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.screens.base import WatchScreen
from turbotui.screens.saved import view_of
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import Tone, said
from turbotui.widgets.comparison import difference_said, mark_line
from turbotui.widgets.counter_table import CounterTable
from turbotui.widgets.piece_lines import PieceLines
from turbotui.widgets.profiles import Profile
from turbotui.widgets.rows import row_name
from turbotui.widgets.table_view import TAGS_ROW, Follow, TableView


class TableBase(WatchScreen):
    """A table of the visible columns, shown as a `TableView` says; whoever changes it makes a new one."""

    mode: ClassVar[str] = ""
    grouped: ClassVar[bool] = False

    DEFAULT_CSS = "TableBase #compared { display: none; }"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._table = CounterTable(self.first_view(), watch.history, seconds=watch.interval, id="table")
        self._profile: Profile | None = None

    def first_view(self) -> TableView:
        """How the table starts."""
        return TableView(columns=self.watch_state.columns, targets=self._targets())

    def body(self) -> Iterable[Widget]:
        """The line that says so when differences are shown, and the table."""
        yield PieceLines(base=Tone.CELL, id="compared")
        yield self._table

    @property
    def table(self) -> CounterTable:
        """The table, for tests and the modals."""
        return self._table

    def _targets(self) -> Mapping[Follow, CounterColumn]:
        watch = self.watch_state
        found = {Follow.HOTTEST: watch.heat, Follow.BUSIEST: watch.busy, Follow.SLOWEST: watch.clock}
        return {follow: column for follow, column in found.items() if column is not None}

    # Frames and columns

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """Visible columns, and what sorting, filtering and following look at."""
        return self._table.view.needed

    @property
    def groups(self) -> Sequence[RowId]:
        """The groups of the tree."""
        return [line.row for line in self._table.lines if line.open is not None]

    @property
    def shown(self) -> tuple[Sequence[CounterColumn], Sequence[RowId]]:
        """What the table draws."""
        return self._table.drawn

    def show_frame(self) -> None:
        """Table first, then the lines around it."""
        frame = self.watch_state.frame
        if frame is not None:
            if not self._table.view.tops or self._table.frame is None or self._table.frame.older is None:
                self._show(self._table.view)
            self._table.show_frame(frame)
        self._show_mark()
        super().show_frame()
        self.show_status()

    def _show_mark(self) -> None:
        watch = self.watch_state
        if watch.mark is not None:
            text = mark_line(watch.mark, watch.frame)
            self.query_one("#compared", PieceLines).show([[(text.center(self.size.width), Tone.CELL)]])

    def show_columns(self) -> None:
        """Take over which columns are visible, and the sparks that fit."""
        self._show(self._table.view)

    def _show(self, view: TableView) -> None:
        watch = self.watch_state
        if watch.profile is not self._profile:
            self._profile = watch.profile
            if watch.profile is not None and watch.profile.screen == self.mode:
                view = view_of(watch.profile, watch, view, grouped=self.grouped)
        view = replace(
            view, columns=watch.columns, sparks=watch.sparks(self.size.width), tops=watch.tops(), mark=watch.mark,
        )
        for line in self.query("#compared").results(PieceLines):
            line.display = watch.mark is not None
        self._table.show_view(view, watch.interval)
        watch.want(view.needed)
        self.show_status()

    def _change(self, **changes: object) -> None:
        self._show(replace(self._table.view, **changes))  # type: ignore[arg-type]  # names and types are TableView's

    # Status

    def readout(self) -> str:
        """The cell under the cursor in words."""
        cell, frame = self._table.selected, self.watch_state.frame
        if frame is None:
            return "waiting for the first reading"
        if cell is None:
            chosen = self._table.view.filter.text
            return f"no row passes the filter {chosen}: \\ changes it" if chosen else "no cell is under the cursor"
        column, row = cell
        if row == TAGS_ROW:
            return f"{column.id} · sum of {len(self._table.view.tags)} tagged · {column.help}"
        home = frame.home(column, row) or row
        name = row_name(frame.topology, row)
        if home != row:
            name += f" (value of {row_name(frame.topology, home)})"
        value = frame.cell(column, row)
        if value is None:
            why = frame.why(column, row)
            return f"{column.id} · {name} · {why.sentence() if why else 'unknown'}"
        mark = self.watch_state.mark
        words = said(column, value) if mark is None else difference_said(column, value, mark.cell(column, row))
        return f"{column.id} · {name} · {words} · {column.help}"

    def flags(self) -> list[str]:
        """Filter, follow and grouping, where they are not what they were at the start."""
        view = self._table.view
        found = super().flags()
        if view.filter.text:
            shown = sum(line.open is None for line in self._table.lines)
            found.append(f"filter {view.filter.text}: {shown} rows")
        if view.follow is not Follow.ROW:
            found.append(f"follow {view.follow.value}")
        return found

    def on_counter_table_moved(self) -> None:
        """Read out the cell under the cursor."""
        self.show_status()
