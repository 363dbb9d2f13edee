"""What the keys of both screens with a counter table do: each changes the view, or opens a window on it."""

from __future__ import annotations

from typing import ClassVar

from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId, Scope
from turbotui.screens.actions import Where, bindings_for
from turbotui.screens.add import AddCounter
from turbotui.screens.category import CategoryKeys
from turbotui.screens.explain import Explain
from turbotui.screens.filter_prompt import filter_prompt
from turbotui.screens.graph import Graph
from turbotui.screens.picker import Picker
from turbotui.screens.prompt import Prompt
from turbotui.screens.saved import name_prompt, profile_of
from turbotui.screens.sort_menu import SortMenu
from turbotui.screens.spies import SpyForm
from turbotui.screens.table_base import TableBase
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import identity
from turbotui.widgets.counter_table import CounterTable
from turbotui.widgets.profiles import Profile
from turbotui.widgets.rows import GROUPINGS, levels_of
from turbotui.widgets.table_view import TAGS_ROW, Follow

_FOLLOW = tuple(Follow)


class TableScreen(TableBase):
    """A table with its keys."""

    where: ClassVar[Where] = Where.TABLE
    BINDINGS = bindings_for(Where.TABLE)

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._query = ""

    # Order

    def _sort(self, column: CounterColumn | None, *, reverse: bool | None = None) -> None:
        if reverse is None:
            # Ids and names rise; of everything else the greatest is what one looks for.
            reverse = column is not None and not identity(column) and column.decimals >= 0
        self._change(sort=column, reverse=reverse)
        if column is not None:
            self._table.select_column(column)

    def on_counter_table_title_clicked(self, message: CounterTable.TitleClicked) -> None:
        """Sort by the column; by the one that is sorted by already: reverse."""
        view = self._table.view
        if view.sort is not None and view.sort.id == message.column.id:
            self.action_reverse()
        else:
            self._sort(message.column)

    def action_sort_step(self, by: int) -> None:
        """Sort by the next or previous visible column; before the first stands topology order."""
        columns = self._table.columns_in_order
        now = self._table.view.sort
        at = next((at for at, column in enumerate(columns) if now is not None and column.id == now.id), -1)
        at = (at + 1 + by) % (len(columns) + 1) - 1
        self._sort(columns[at] if at >= 0 else None)

    def action_reverse(self) -> None:
        """Turn the order round."""
        self._change(reverse=not self._table.view.reverse)

    def action_sort_menu(self) -> None:
        """Choose the column from a list."""

        def chosen(name: str | None) -> None:
            if name is not None:
                self._sort(self.watch_state.find(name) if name else None)

        now = self._table.view.sort
        self.app.push_screen(SortMenu(self._table.columns_in_order, now.id if now else ""), chosen)

    # Rows

    def action_group(self) -> None:
        """The next grouping that divides this machine's CPUs."""
        topology = self.watch_state.session.machine.topology
        view = self._table.view
        usable: list[tuple[str, tuple[Scope, ...]]] = []
        for word, scope in GROUPINGS:
            levels = (Scope.CPU,) if scope is None else levels_of(topology, (scope, Scope.CPU))
            if scope is None or len(levels) > 1:
                usable.append((word, levels))
        at = next((at for at, (_, levels) in enumerate(usable) if levels == view.levels), -1)
        word, levels = usable[(at + 1) % len(usable)]
        self._change(levels=levels, folded=frozenset())
        self.notice("flat" if len(levels) == 1 else f"grouped by {word}")

    def action_fold_all(self) -> None:
        """Fold every group, or unfold all when some are folded."""
        if self._table.view.folded:
            self._change(folded=frozenset())
            return
        frame = self.watch_state.frame
        if frame is not None:
            levels = self._table.view.levels[:-1]
            self._change(folded=frozenset(row for scope in levels for row in frame.rows(scope)))

    def _fold(self, row: RowId, *, fold: bool) -> None:
        folded = self._table.view.folded
        self._change(folded=folded | {row} if fold else folded - {row})

    def on_counter_table_fold_clicked(self, message: CounterTable.FoldClicked) -> None:
        """Fold or unfold one group."""
        self._fold(message.row, fold=message.row not in self._table.view.folded)

    def action_sideways(self, by: int) -> None:
        """On a group: fold and unfold. Elsewhere: the next column."""
        line = self._table.line
        if line is None or line.open is None:
            self._table.move_column(by)
        elif by > 0 and not line.open:
            self._fold(line.row, fold=False)
        elif by > 0:
            self._table.move(1)
        elif line.open:
            self._fold(line.row, fold=True)
        elif line.parent is not None:
            self._table.select(line.parent)

    def action_column(self, by: int) -> None:
        """The next column, on groups too."""
        self._table.move_column(by)

    def action_move(self, by: int) -> None:
        """Up or down one row."""
        self._let_go()
        self._table.move(by)

    def action_page(self, by: int) -> None:
        """Up or down one page."""
        self._let_go()
        self._table.move(by * self._table.page)

    def action_end(self, by: int) -> None:
        """First or last row."""
        self._let_go()
        self._table.move_to_end(last=by > 0)

    def _let_go(self) -> None:
        """Whoever moves the cursor does not want it to run after the hottest any more."""
        if self._table.view.follow in self._table.view.targets:
            self._change(follow=Follow.ROW)

    def action_follow(self) -> None:
        """The next thing to follow that this machine can tell."""
        view = self._table.view
        usable = [follow for follow in _FOLLOW if follow in {Follow.ROW, Follow.LINE} or follow in view.targets]
        follow = usable[(usable.index(view.follow) + 1) % len(usable)]
        self._change(follow=follow)
        if self.watch_state.frame is not None:
            self._table.show_frame(self.watch_state.frame)
        self.notice(f"the cursor follows: {follow.value}")

    def action_tag(self) -> None:
        """Tag the row under the cursor, or take its tag away."""
        row, tags = self._table.current, self._table.view.tags
        if row is None or row.scope is Scope.SYSTEM:
            return
        self._change(tags=tuple(tag for tag in tags if tag != row) if row in tags else (*tags, row))
        if row not in tags and row in self._table.view.tags and self._table.line is not None:
            self._table.move(1)

    def action_untag(self) -> None:
        """Clear all tags."""
        self._change(tags=())

    # Columns

    def action_columns(self) -> None:
        """Open the picker."""
        cell = self._table.selected
        self.app.push_screen(Picker(self.watch_state, self.show_columns, cell[0].id if cell else ""))

    def action_joules(self) -> None:
        """Watts or joules."""
        unit = self.watch_state.swap_joules()
        self.show_columns()
        self.notice(f"energy in {unit}" if unit else "no visible column has both watts and joules")

    def action_add(self) -> None:
        """Open the form for counters by hand."""
        def changed(column: CounterColumn | None) -> None:
            self.show_columns()
            if column is not None and self.watch_state.is_visible(column):
                self._table.select_column(column)  # else it would stand somewhere beyond the edge

        self.app.push_screen(AddCounter(self.watch_state, changed))

    def action_spies(self) -> None:
        """Open the form for event sets of single CPUs, beginning with the row under the cursor."""
        watch = self.watch_state
        if watch.spied_on is None:
            self.notice("no spies can be sent here: frames come from elsewhere")
            return
        self.app.push_screen(SpyForm(watch, self.show_columns, self._table.current))

    def action_category(self) -> None:
        """Wait for the letter of a category."""

        def done(sentence: str | None) -> None:
            if sentence == "":
                self.action_columns()
            elif sentence is not None:
                self.show_columns()
                self.notice(sentence)

        self.app.push_screen(CategoryKeys(self.watch_state), done)

    def action_mark(self) -> None:
        """Compare with the frame that is shown now, or show values again."""
        watch = self.watch_state
        if watch.mark is None and (watch.frame is None or watch.frame.older is None):
            self.notice("nothing to compare with yet: the first interval is not over")
            return
        watch.mark = watch.frame if watch.mark is None else None
        self._show(self._table.view)
        self._show_mark()
        self.notice("values again" if watch.mark is None else "cells are differences from this moment on; b ends it")

    def action_save(self) -> None:
        """Save this view under a name."""

        def now() -> Profile:
            return profile_of(self.watch_state, self._table.view, self.mode, self.app.theme)

        self.app.push_screen(*name_prompt(now, self.notice))

    # Search and filter

    def action_search(self) -> None:
        """Find as one types; Enter keeps the place, Esc goes back."""
        start = self._table.cursor

        def typed(text: str) -> str:
            self._query = text
            return "" if not text or self._table.find(text) else f"nothing matches {text}"

        def done(text: str | None) -> None:
            if text is None and start is not None:
                self._table.select(start)

        self.app.push_screen(Prompt("find", "", typed), done)

    def action_search_next(self) -> None:
        """The next match of the last search."""
        if self._query and not self._table.find(self._query, after=True):
            self.notice(f"nothing matches {self._query}")

    def action_filter(self) -> None:
        """Filter as one types; Enter keeps it, Esc restores what was there, an empty one shows all rows."""
        before, find = self._table.view.filter, self.watch_state.find
        self.app.push_screen(*filter_prompt(before, find, lambda chosen: self._change(filter=chosen)))

    # Cells

    def action_explain(self) -> None:
        """Explain the cell under the cursor."""
        cell = self._cell_of_one_row()
        if cell is not None:
            self._table.select(cell[1])  # whoever asks about a row wants to find it again
            self.app.push_screen(Explain(self.watch_state, *cell))

    def _cell_of_one_row(self) -> tuple[CounterColumn, RowId] | None:
        """The cell under the cursor; None, with a word about it, on the sum of the tagged rows."""
        cell = self._table.selected
        if cell is not None and cell[1] == TAGS_ROW:
            count = len(self._table.view.tags)
            self.notice(f"the sum of {count} tagged rows is explained by the rows: go to one of them")
            return None
        return cell

    def on_counter_table_cell_opened(self) -> None:
        """Two clicks explain."""
        self.action_explain()

    def action_graph(self) -> None:
        """Graph the cell under the cursor."""
        cell = self._cell_of_one_row()
        if cell is not None:
            self._table.select(cell[1])
            self.app.push_screen(Graph(self.watch_state, *cell))
