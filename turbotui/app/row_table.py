"""A screen whose table is a `RowTable`: all keys of tables, over rows of any kind."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Generic

from turbotui.app.one_cell import OneCell
from turbotui.app.row_picker import RowPicker
from turbotui.app.table_keys import TableKeys
from turbotui.app.watch import Watch
from turbotui.quantities.columns import Column, ColumnId, R
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.content import Content
from turbotui.widgets.row_content import RowContent, RowPainter, RowView
from turbotui.widgets.row_history import RowHistory
from turbotui.widgets.row_list import RowList
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import TableView
from turbotui.widgets.table_widget import TableWidget


class RowTableScreen(TableKeys[RowContent[R], Column[R], Hashable], Generic[R]):
    """A screen that is given contents, one after the other.

    Attributes:
        painter_kind: what paints the lines.
    """

    unsorted = "the table's order"
    painter_kind: type[RowPainter[R]] = RowPainter

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.past = RowHistory()
        self._chosen: dict[ColumnId, bool] = {}
        self._marked: Frame | None = None

    def new_table(self) -> TableWidget[RowContent[R], Column[R], Hashable]:
        """See `TableKeys.new_table`."""
        return TableWidget(self.first_view(), self.row_list(), self.painter, seconds=self.watch_state.interval,
                           id="table")

    def first_view(self) -> RowView[R]:
        """How the table starts."""
        return TableView()

    def row_list(self) -> RowList[RowContent[R], Column[R], Hashable]:
        """What lists the lines."""
        return RowList()

    def painter(self, view: RowView[R], seconds: float, width: int) -> RowPainter[R]:
        """A painter of the lines."""
        del seconds
        return self.painter_kind(view, *row_slots(view, width), width)

    def show_content(self, content: RowContent[R]) -> None:
        """Show newer content, with the columns that it has and a person wants."""
        columns = self._columns_of(content)
        if columns != self._table.view.columns:
            self.show_view(replace(self._table.view, columns=columns))
        self._table.show_content(content)
        if not self.watch_state.in_past:
            self.past.push(content, *self._table.drawn)
        self.show_mark()
        self.show_status()

    def _columns_of(self, content: RowContent[R]) -> tuple[Column[R], ...]:
        return tuple(one for one in content.whole.columns if self._chosen.get(one.id, one.default))

    def find_column(self, name: str) -> Column[R] | None:
        """See `TableKeys.find_column`."""
        content = self._table.content
        columns = () if content is None else content.whole.columns
        return next((column for column in columns if column.id.lower() == name.lower()), None)

    def cell(self, column: Column[R], row: Hashable) -> OneCell:
        """See `TableKeys.cell`. The cell is kept from now on."""
        if self._table.content is not None:
            self.past.keep(self._table.content, column, row)
        return RowCell(self, column, row)

    @property
    def marked(self) -> Frame | None:
        """See `TableKeys.marked`."""
        return self._marked

    def compare(self, *, begin: bool) -> None:
        """See `TableKeys.compare`."""
        self._marked = self.watch_state.frame if begin else None
        self._change(mark=self._table.content if begin else None)

    # Columns

    @property
    def known_columns(self) -> Sequence[Column[R]]:
        """Every column that there could be."""
        return () if self._table.content is None else self._table.content.whole.columns

    def why_absent(self, column: Column[R]) -> Unavailable | None:
        """Why a column cannot be shown; None where it can."""
        del column
        return None

    def is_shown(self, column: Column[R]) -> bool:
        """Whether a column stands in the table."""
        return any(column.id == shown.id for shown in self._table.view.columns)

    def toggle(self, column: Column[R]) -> None:
        """Show or hide a column."""
        self._chosen[column.id] = not self.is_shown(column)
        if self._table.content is not None:
            self.show_content(self._table.content)

    def action_columns(self) -> None:
        """Open the picker."""
        cell = self._table.selected
        self.app.push_screen(RowPicker(self, cell[0].id if cell else ""))


class RowCell(OneCell, Generic[R]):
    """A cell of such a screen."""

    def __init__(self, screen: RowTableScreen[R], column: Column[R], row: Hashable) -> None:
        self._screen = screen
        self.column: Column[R] = column
        self.row = row
        self.seconds = screen.watch_state.interval

    @property
    def content(self) -> RowContent[R] | None:
        """See `OneCell.content`."""
        return self._screen.table.content

    @property
    def mark(self) -> Content[Column[R], Hashable] | None:
        """See `OneCell.mark`."""
        return self._screen.table.view.mark

    @property
    def ring(self) -> HistoryRing | None:
        """See `OneCell.ring`."""
        return self._screen.past.ring(self.column.id, self.row)
