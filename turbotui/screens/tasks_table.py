"""The table of the tasks screen: sorted, filtered, searched, and moved through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turbotui.analysis.tasks.columns import TaskColumn
from turbotui.screens.base import WatchScreen
from turbotui.screens.filter_prompt import filter_prompt
from turbotui.screens.prompt import Prompt
from turbotui.screens.sort_menu import SortMenu
from turbotui.screens.tasks_cut import Shown
from turbotui.screens.tasks_text import TasksView
from turbotui.screens.watch import Watch
from turbotui.widgets.listing import Listing
from turbotui.widgets.task_lines import TaskLine, in_order, matching


class TaskTable(WatchScreen):
    """A screen with rows of tasks, which somebody else fills."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.view = TasksView()
        self._shown = Shown()
        self._query = ""
        self._list = Listing(id="tasks")

    @property
    def listing(self) -> Listing:
        """The table, for tests."""
        return self._list

    def _draw(self) -> None:
        """Draw everything as it is now."""
        raise NotImplementedError

    def _change(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]  # names and types are TasksView's
        self._draw()

    def _passes(self, name: str, pid: int | None, tid: int | None) -> bool:
        return self.view.filter.may_pass(f"{name} {pid} {tid}".lower())

    def _visible(self) -> list[TaskLine]:
        view = self.view
        kept: Sequence[TaskLine] = self._shown.lines
        if view.filter.text:
            kept = [line for line in kept if view.filter.passes(line.words, line.cell)]
        return in_order(kept, self._column(view.sort), reverse=view.reverse)

    def action_sort_by(self, name: str) -> None:
        """Sort by a column; by the one that is sorted by already: reverse."""
        if name == self.view.sort:
            self.action_reverse()
            return
        column = next((column for column in self._shown.columns if column.id == name), None)
        if column is not None:
            self._change(sort=name, reverse=column.decimals >= 0 and not column.identity)

    def action_sort_step(self, by: int) -> None:
        """Sort by the next or previous column."""
        names = [column.id for column in self._shown.columns]
        if names:
            at = names.index(self.view.sort) if self.view.sort in names else -1
            self.action_sort_by(names[(at + by) % len(names)])

    def action_sort_menu(self) -> None:
        """Choose the column from a list."""

        def chosen(name: str | None) -> None:
            if name and name != self.view.sort:
                self.action_sort_by(name)

        self.app.push_screen(SortMenu(self._shown.columns, self.view.sort, "sort tasks by"), chosen)

    def action_reverse(self) -> None:
        """Turn the order round."""
        self._change(reverse=not self.view.reverse)

    def action_search(self) -> None:
        """Find as one types; Enter keeps the place, Esc goes back."""
        start = self._list.key

        def typed(text: str) -> str:
            self._query = text
            return "" if not text or self._find(text, 0) else f"nothing matches {text}"

        def done(text: str | None) -> None:
            if text is None:
                self._list.select(start)

        self.app.push_screen(Prompt("find", "", typed), done)

    def action_search_next(self) -> None:
        """The next match of the last search."""
        if self._query and not self._find(self._query, self._list.at + 1):
            self.notice(f"nothing matches {self._query}")

    def _find(self, text: str, start: int) -> bool:
        lines = self._visible()
        at = matching(lines, text, start) if lines else None
        if at is not None:
            self._list.select(lines[at].key)
        return at is not None

    def action_filter(self) -> None:
        """Filter as one types; Enter keeps it, Esc restores what was there, an empty one shows all rows."""
        self.app.push_screen(*filter_prompt(self.view.filter, self._column, lambda chosen: self._change(filter=chosen)))

    def _column(self, name: str) -> TaskColumn | None:
        return next((column for column in self._shown.columns if column.id.lower() == name.lower()), None)

    def action_move(self, by: int) -> None:
        """Up or down one row."""
        self._list.move(by)

    def action_page(self, by: int) -> None:
        """Up or down one page."""
        self._list.move(by * max(1, self._list.size.height - 1))

    def action_end(self, by: int) -> None:
        """First or last row."""
        self._list.move(by * 1_000_000)
