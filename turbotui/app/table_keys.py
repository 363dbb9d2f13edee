"""Keys of every screen with a table, each of which changes the view or opens a window on it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Generic

from textual.widget import Widget

from turbotui.app.arranging import ArrangeKeys
from turbotui.app.base import WatchScreen
from turbotui.app.copying import copy_text
from turbotui.app.graph import Explain, Graph
from turbotui.app.one_cell import OneCell
from turbotui.app.picker import Picker
from turbotui.app.prompt import Prompt
from turbotui.app.sort_menu import SortMenu
from turbotui.app.view_states import ViewChoice, ViewState
from turbotui.app.watch import Watch
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.filters import Filter, FilterError, parse_filter
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import C, K
from turbotui.tables.csv_lines import csv_text
from turbotui.tables.envelope import envelope_now
from turbotui.widgets.arrangement import USUAL, ColumnArrangement
from turbotui.widgets.cells import in_words
from turbotui.widgets.comparison import difference_in_words
from turbotui.widgets.content import F
from turbotui.widgets.table_view import TableView
from turbotui.widgets.table_widget import TableWidget


class TableKeys(WatchScreen, Generic[F, C, K]):
    """A screen with a table, shown as its `TableView` says; every change makes a new view."""

    unsorted: ClassVar[str] = "topology order"  # the sort menu's word for the table's own order


    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._table: TableWidget[F, C, K] = self.new_table()

    @abstractmethod
    def new_table(self) -> TableWidget[F, C, K]:
        """Make the table widget with its first view."""

    @abstractmethod
    def name_of(self, table: TableWidget[F, C, K]) -> str:
        """The name under which order and widths of a table are stored; "" before it has rows."""

    @property
    def table_name(self) -> str:
        """The name of the table on which the keys act."""
        return self.name_of(self._table)

    @abstractmethod
    def find_column(self, name: str) -> C | None:
        """An available column by its name in any case."""

    @abstractmethod
    def cell(self, column: C, row: K) -> OneCell:
        """A cell for the windows that explain it and draw its past."""

    @property
    def shows_differences(self) -> bool:
        return self.marked is not None

    def show_view(self, view: TableView[C, K]) -> None:
        """Show the table another way."""
        self._table.show_view(view, self.watch_state.interval)
        self.show_status()

    def _change(self, **changes: object) -> None:
        self.show_view(replace(self._table.view, **changes))  # type: ignore[arg-type]  # names and types are TableView's

    def body(self) -> Iterable[Widget]:
        """The table."""
        yield self._table

    def enter(self, table: TableWidget[F, C, K]) -> None:
        """Let the keys act on a table."""
        self._table = table

    @property
    def table(self) -> TableWidget[F, C, K]:
        """The table on which the keys act."""
        return self._table

    @property
    def tables(self) -> Sequence[TableWidget[F, C, K]]:
        """Every table that is shown; the keys act on one of them."""
        return (self._table,)

    def states(self) -> Iterator[ViewState]:
        """A comparison, and filter and tags of each table, beside those of all screens."""
        if (marked := self.marked) is not None and marked != self.shared_mark:
            yield ViewState(self.number, ("comparison", marked.seq), self.action_mark)
        for table in self.tables:
            name, text = self.name_of(table), table.view.filter.text
            if text:
                yield ViewState(self.number, ("filter", name, text), partial(self._end_filter, table),
                                "All rows again")
            if self.tags_of(table):
                yield ViewState(self.number, ("tags", name), partial(self._end_tags, table),
                                "No row is tagged any more")
        yield from super().states()

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """The order of rows, folded rows, and the columns of each table."""
        for table in self.tables:
            view, own, name = table.view, self.arrangement_of(table), self.name_of(table)
            order = "" if view.sort is None else view.sort.id, view.reverse
            columns = own.order, tuple(own.widths.items()), own.show, own.hide
            yield ViewChoice(self.number, ("order", name), order, partial(self._order_again, table),
                             "Rows sorted as they were")
            yield ViewChoice(self.number, ("folds", name), view.folded ^ self.usual_folds,
                             partial(self._fold_again, table), "Rows folded as they were")
            yield ViewChoice(self.number, ("columns", name), columns, partial(self._arrange_again, table),
                             "Columns as they were")

    def _order_again(self, table: TableWidget[F, C, K], order: tuple[ColumnId, bool]) -> None:
        name, reverse = order
        self.enter(table)
        self._change(sort=self.find_column(name) if name else None, reverse=reverse)

    def _fold_again(self, table: TableWidget[F, C, K], turned: frozenset[K]) -> None:
        self.enter(table)
        self.show_folds(turned ^ self.usual_folds)

    def _arrange_again(self, table: TableWidget[F, C, K],
                       columns: tuple[tuple[ColumnId, ...], tuple[tuple[ColumnId, int], ...],
                                      tuple[ColumnId, ...], tuple[ColumnId, ...]]) -> None:
        order, widths, show, hide = columns
        self.enter(table)
        self.show_arrangement(ColumnArrangement(order, dict(widths), show, hide))

    def tags_of(self, table: TableWidget[F, C, K]) -> Sequence[K]:
        """Rows of a table that the user tagged."""
        return table.view.tags

    def _end_tags(self, table: TableWidget[F, C, K]) -> None:
        self.enter(table)
        self.action_untag()

    def _end_filter(self, table: TableWidget[F, C, K]) -> None:
        self.enter(table)
        self._change(filter=Filter())

    # Status

    def readout(self) -> str:
        """The cell under the cursor in words."""
        cell, content = self._table.selected, self._table.content
        if content is None:
            return self.waiting_for("the first reading")
        if self._table.lines and all(column.identity for column in self._table.view.columns):
            return "Every column with a value is hidden: C shows them, its first lines bring the default ones back"
        if cell is None:
            return self.all_filtered or "No cell is under the cursor"
        column, row = cell
        if row in self._table.view.sums:
            return f"{column.id} · sum of {len(self._table.view.tags)} tagged · {column.help}"
        words = self._cell_in_words(column, row)
        return words if content.value(column, row) is None else f"{words} · {column.hint}"

    @property
    def all_filtered(self) -> str:
        """A sentence about the filter if it hides all rows that there are; else ""."""
        chosen, content = self._table.view.filter.text, self._table.content
        if not chosen or self._table.lines or content is None or not content.rows:
            return ""
        return f"No row passes the filter {chosen}: \\ changes it"

    @property
    def nothing_here(self) -> str:
        """Why keys have nothing to act on: no table of the screen has a row."""
        if self._table.lines:
            return ""
        return self.readout() or "This key has nothing to act on here: the lines above say why"

    def _cell_in_words(self, column: C, row: K) -> str:
        """Column, row, and value with its unit, or why there is none."""
        content, view = self._table.content, self._table.view
        if content is None:
            return column.id
        name = f"sum of {len(view.tags)} tagged" if row in view.sums else content.name(column, row)
        value = content.value(column, row)
        if value is None:
            why = content.why(column, row)
            return f"{column.id} · {name} · {why.sentence() if why else 'unknown'}"
        mark = None if row in view.sums else view.mark
        words = in_words(column, value) if mark is None else difference_in_words(column, value, mark.value(column, row))
        return f"{column.id} · {name} · {words}"

    def flags(self) -> list[str]:
        """The filter and the number of rows that it leaves."""
        text = self._table.view.filter.text
        rows = sum(line.open is None for line in self._table.lines) if text else 0  # at every key
        tags = self.tags_of(self._table)
        return [*super().flags(), *([f"filter {text}: {several(rows, 'row')} (Esc: all)"] if text else []),
                *([f"{len(tags)} tagged (Esc: none)"] if tags else [])]

    def on_table_widget_moved(self, message: TableWidget.Moved) -> None:
        """Show the cell under the cursor on the status line."""
        if message.table is self._table:
            self.show_status()

    # Order

    def _sort(self, column: C | None) -> None:
        # ids and names ascend; of everything else the greatest is what people look for
        self._change(sort=column, reverse=column is not None and not column.identity and column.decimals >= 0)
        if column is not None:
            self._table.select_column(column)

    def on_table_widget_title_clicked(self, message: TableWidget.TitleClicked) -> None:
        """Sort by the column, or reverse the order if it is already the sort column."""
        view = self._table.view
        column = self.find_column(message.column.id)
        if view.sort is not None and view.sort.id == message.column.id:
            self.action_reverse()
        elif column is not None:
            self._sort(column)

    def action_sort_step(self, by: int) -> None:
        """Sort by the next or previous visible column; before the first comes the table's own order."""
        columns = self._table.columns_in_order
        now = self._table.view.sort
        at = next((at for at, column in enumerate(columns) if now is not None and column.id == now.id), -1)
        at = (at + 1 + by) % (len(columns) + 1) - 1
        self._sort(columns[at] if at >= 0 else None)

    def action_reverse(self) -> None:
        """Reverse the order."""
        self._change(reverse=not self._table.view.reverse)

    def action_sort_menu(self) -> None:
        """Choose the column from a list."""

        def chosen(name: str | None) -> None:
            if name is not None:
                self._sort(self.find_column(name) if name else None)

        now = self._table.view.sort
        self.app.push_screen(SortMenu(self._table.columns_in_order, now.id if now else "", self.unsorted), chosen)

    # Order and widths of columns

    @property
    def arrangement(self) -> ColumnArrangement:
        """Order and widths of the table's columns."""
        return self.arrangement_of(self._table)

    def arrangement_of(self, table: TableWidget[F, C, K]) -> ColumnArrangement:
        """Order and widths of a table's columns."""
        return self.watch_state.arrangements.get(self.name_of(table), USUAL)

    def show_arrangement(self, arrangement: ColumnArrangement) -> None:
        """Show the table with another order or other widths."""
        if arrangement == USUAL:
            self.watch_state.arrangements.pop(self.table_name, None)
        else:
            self.watch_state.arrangements[self.table_name] = arrangement
        self.show_view(self._table.view)

    def move_column(self, name: ColumnId, by: int) -> str:
        """Swap a column with its drawn neighbour, or else with the next column."""
        columns = {column.id: column for column in self._table.columns_in_order}
        if name not in columns:
            return f"{name} is not shown: Space shows it"
        drawn = {column.id for column in self._table.drawn[0]}
        beside = [other_name for other_name, column in columns.items() if column.identity == columns[name].identity
                  and (other_name == name or other_name in drawn or name not in drawn or column.identity)]
        if not 0 <= beside.index(name) + by < len(beside):
            beside = [other_name for other_name, column in columns.items() if column.identity == columns[name].identity]
        at = beside.index(name) + by
        if not 0 <= at < len(beside):
            return f"{name} is the {'last' if by > 0 else 'first'} one"
        self.show_arrangement(self.arrangement.moved(list(columns), name, beside[at]))
        return f"{name} stands {'behind' if by > 0 else 'before'} {beside[at]}: Ctrl+S remembers it"

    def size_column(self, name: ColumnId, by: int) -> str:
        column = next((column for column in self._table.columns_in_order if column.id == name), None)
        width = None if column is None else self._table.width_of(column)
        if column is None or width is None:
            return f"{name} is not shown, or has no room"
        self.show_arrangement(self.arrangement.sized(name, width + by if by else None))
        return f"{name} is {self._table.width_of(column) or width} characters wide: Ctrl+S remembers it"

    def show_default_columns(self) -> str:
        """Show the columns that the table has before the user changes them, in their order and widths."""
        self.show_arrangement(USUAL)
        return "The default columns are shown: Ctrl+S remembers them"

    def action_default_columns(self) -> None:
        """Show the columns that the table has before the user changes them."""
        self.notice(self.show_default_columns())

    def action_arrange(self) -> None:
        """Let the next keys move and resize the column under the cursor."""
        cell = self._table.selected
        if cell is None or not self._table.headings:
            self.notice("No column is under the cursor")
            return
        self._table.select_column(cell[0])
        self.app.push_screen(ArrangeKeys(self, cell[0]))

    def on_table_widget_column_dragged(self, message: TableWidget.ColumnDragged) -> None:
        """Show where the column would go, or move it there."""
        name, to = message.column.id, message.to.id
        if not message.dropped:
            self.notice(f"{name}: let it go to put it in the place of {to}" if name != to else f"{name} stays here")
        elif name != to:
            self.enter(message.table)
            names = [column.id for column in self._table.columns_in_order]
            self.show_arrangement(self.arrangement.moved(names, name, to))
            self.notice(f"{name} stands where {to} was: Ctrl+S remembers it")

    def on_table_widget_width_dragged(self, message: TableWidget.WidthDragged) -> None:
        """Give the column the width to which its border was dragged."""
        self.enter(message.table)
        self.show_arrangement(self.arrangement.sized(message.column.id, message.width))
        width = self._table.width_of(message.column)
        self.notice(f"{message.column.id} is {width} characters wide: Ctrl+S remembers it")

    # The cursor

    def action_move(self, by: int) -> None:
        """Move the cursor up or down by rows."""
        self._table.move(by)

    def action_page(self, by: int) -> None:
        """Move the cursor up or down by pages."""
        self._table.move(by * self._table.page)

    def action_end(self, by: int) -> None:
        """Move the cursor to the first or last row."""
        self._table.move_to_end(last=by > 0)

    def action_sideways(self, by: int) -> None:
        """Move the cursor to the next or previous column."""
        if not self._table.move_column(by) and self._table.lines:
            self.notice("This is the last column" if by > 0 else "This is the first column")

    def action_column(self, by: int) -> None:
        """Move the cursor to the next or previous column, also on the row of a group."""
        TableKeys.action_sideways(self, by)

    @property
    def usual_folds(self) -> frozenset[K]:
        """Rows that were folded as they came, and not by the user."""
        return frozenset()

    def show_folds(self, folded: frozenset[K]) -> None:
        """Fold these rows and no others."""
        self._change(folded=folded)

    def _fold(self, row: K, *, fold: bool) -> None:
        folded = self._table.view.folded
        self.show_folds(folded | {row} if fold else folded - {row})

    def on_table_widget_fold_clicked(self, message: TableWidget.FoldClicked) -> None:
        """Fold or unfold one group."""
        self._fold(message.row, fold=message.row not in self._table.view.folded)

    # Rows

    def action_tag(self) -> None:
        """Tag the row under the cursor, or take its tag away."""
        row, tags = self._table.current, self._table.view.tags
        if row is None or row in self._table.view.top or row in self._table.view.sums:
            return
        self._change(tags=tuple(tag for tag in tags if tag != row) if row in tags else (*tags, row))
        if row not in tags and row in self._table.view.tags and self._table.line is not None:
            self._table.move(1)

    def action_untag(self) -> None:
        """Clear all tags."""
        if not self._table.view.tags:
            self.notice("No row is tagged")
            return
        self._change(tags=())

    def action_mark(self) -> None:
        """Compare with what is shown now, or show values again."""
        if self.keys_without_table is None:
            super().action_mark()
        else:
            self.notice("Nothing to compare: this screen has no table on this machine")

    def copied(self) -> str:
        return "" if self._table.selected is None else self._cell_in_words(*self._table.selected)

    def action_copy_rows(self) -> None:
        """Copy the tagged rows, or the current one, to the clipboard as comma-separated values."""
        table, row = self._table, self._table.current
        rows = table.view.tags or (() if row is None else (row,))
        content = table.content
        if content is None or not rows:
            self.notice("There is no row to copy")
            return
        host = self.watch_state.session.machine.host
        text = csv_text(envelope_now(host), content.table(table.columns_in_order, rows))
        self.notice(copy_text(self.app, text, f"{len(rows)} row{'s' if len(rows) != 1 else ''} as CSV"))

    # Search and filter

    @abstractmethod
    def action_columns(self) -> None:
        """Open the list of columns."""

    def list_columns(self, text: str) -> None:
        self.action_columns()
        window = self.app.screen
        if isinstance(window, Picker):
            window.begin_with(text)

    def find(self, text: str, *, after: bool = False) -> bool:
        """Move the cursor to the first row with a text, or else to the column of that name."""
        if self._table.find(text, after=after):
            return True
        column = next((column for column in self._table.columns_in_order
                       if column.id.lower() == text.lower() and not column.identity), None)
        if column is not None:
            self._table.select_column(column)
        return column is not None

    def way_back(self) -> Callable[[], None]:
        """Return to the row in its table."""
        table, back_in_table = self._table, self._table.way_back()

        def back() -> None:
            self.enter(table)
            back_in_table()

        return back

    def action_filter(self) -> None:
        """Filter while the user types; Enter keeps the filter, Esc restores the old one, none shows all rows."""
        before = self._table.view.filter
        wrong = ""

        def named(name: str) -> C | None:
            column = self.find_column(name)
            hidden = None if column is not None else self.hidden_column(name)
            if hidden is not None and hidden[1] is not None:
                raise FilterError(f"{hidden[0]} is not here: {hidden[1].sentence()}")
            return column

        def typed(text: str) -> str:
            nonlocal wrong
            wrong = ""
            try:
                self._change(filter=parse_filter(text, named))
            except FilterError as error:
                wrong = str(error)
            return wrong

        def done(text: str | None) -> None:
            if text is None or wrong:  # what was understood of it is no filter that anybody asked for
                self._change(filter=before)
            if text is not None and wrong:
                self.notice(f"Not filtered: {wrong}")

        self.app.push_screen(Prompt("filter", before.text, typed), done)

    # Cells

    def action_explain(self) -> None:
        """Explain the cell under the cursor."""
        if (cell := self._cell_of_one_row()) is not None:
            self._table.select(cell[1])  # a user who asks about a row wants to find it again
            self.app.push_screen(Explain(self.cell(*cell)))

    def _cell_of_one_row(self) -> tuple[C, K] | None:
        """The cell under the cursor; None, with a message, on the sum of the tagged rows."""
        cell = self._table.selected
        if cell is not None and cell[1] in self._table.view.sums:
            count = len(self._table.view.tags)
            self.notice(f"The sum of {count} tagged rows is explained by the rows: go to one of them")
            return None
        return cell

    def on_table_widget_cell_opened(self) -> None:
        """Explain a cell after a double click."""
        self.action_explain()

    def action_graph(self) -> None:
        """Graph the cell under the cursor, together with the tagged rows' cells."""
        if (cell := self._cell_of_one_row()) is not None:
            self._table.select(cell[1])
            rows = dict.fromkeys((cell[1], *self._table.view.tags))
            self.app.push_screen(Graph(*(self.cell(cell[0], row) for row in rows)))
