"""The screens with a counter table: the CPUs, and the topology tree."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from turbotui.app.actions import bindings_for
from turbotui.app.add import AddCounter, CpuAdditions
from turbotui.app.category import CategoryKeys
from turbotui.app.picker import Picker
from turbotui.app.saved_views import CounterView, name_prompt, profile_of
from turbotui.features.cpus.table_screen import TableBase
from turbotui.features.spies.window import SpyForm
from turbotui.quantities.filters import Filter
from turbotui.quantities.scope import RowId, Scope
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.profiles import Profile
from turbotui.widgets.rows import GROUPINGS, TREE_LEVELS, levels_of
from turbotui.widgets.table_view import Follow

_FOLLOW = tuple(Follow)


class TableScreen(TableBase):
    """A screen with a table of CPUs and its keys."""

    where: ClassVar[str] = "cpus"
    BINDINGS = bindings_for("cpus")

    # Rows

    def action_group(self) -> None:
        """Group by the next level that divides this machine's CPUs."""
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
        self.notice("Flat" if len(levels) == 1 else f"Grouped by {word}")

    def action_fold_all(self) -> None:
        """Fold every group, or unfold all if some are folded."""
        if self._table.view.folded:
            self._change(folded=frozenset())
            return
        frame = self.watch_state.frame
        if frame is not None:
            levels = self._table.view.levels[:-1]
            self._change(folded=frozenset(row for scope in levels for row in frame.rows(scope)))

    def action_sideways(self, by: int) -> None:
        """Fold or unfold the group under the cursor; elsewhere, go to the next or previous column."""
        line = self._table.line
        if line is None or line.open is None:
            super().action_sideways(by)
        elif by > 0 and not line.open:
            self._fold(line.row, fold=False)
        elif by > 0:
            self._table.move(1)
        elif line.open:
            self._fold(line.row, fold=True)
        elif line.parent is not None:
            self._table.select(line.parent)
        else:
            self.notice("It is folded: → unfolds it, Shift+← goes to the column before")

    def action_move(self, by: int) -> None:
        """Move the cursor up or down by rows."""
        self._let_go()
        super().action_move(by)

    def action_page(self, by: int) -> None:
        """Move the cursor up or down by pages."""
        self._let_go()
        super().action_page(by)

    def action_end(self, by: int) -> None:
        """Move the cursor to the first or last row."""
        self._let_go()
        super().action_end(by)

    def _let_go(self) -> None:
        """Stop following the hottest, busiest or slowest CPU when the user moves the cursor."""
        if self._table.view.follow in self._table.view.targets:
            self._change(follow=Follow.ROW)

    def action_follow(self) -> None:
        """Switch what the cursor follows: its CPU, nothing, the hottest, busiest or slowest CPU."""
        view = self._table.view
        usable = [follow for follow in _FOLLOW if follow in {Follow.ROW, Follow.LINE} or follow in view.targets]
        follow = usable[(usable.index(view.follow) + 1) % len(usable)]
        self._change(follow=follow)
        if self.watch_state.frame is not None:
            self._table.show_content(FrameContent(self.watch_state.frame))
        self.notice(f"The cursor follows: {follow.value}")

    # Columns

    def action_columns(self) -> None:
        """Open the picker."""
        cell = self._table.selected
        self.app.push_screen(Picker(self.watch_state, self.show_columns, cell[0].id if cell else "", self))

    def action_joules(self) -> None:
        """Swap columns of watts for those of joules, or back."""
        unit = self.watch_state.swap_joules()
        self.show_columns()
        self.notice(f"Energy in {unit}" if unit else "No visible column has both watts and joules")

    def action_add(self) -> None:
        """Open the form for adding counters."""
        def changed(name: str | None) -> None:
            self.show_columns()
            column = None if name is None else self.watch_state.find(name)
            if column is not None and self.watch_state.is_visible(column):
                self._table.select_column(column)  # otherwise the cursor would be beyond the edge

        self.app.push_screen(AddCounter(CpuAdditions(self.watch_state), changed))

    def action_spies(self) -> None:
        """Open the form for event sets of single CPUs, beginning with the row under the cursor."""
        watch = self.watch_state
        if watch.spied_on is None:
            self.notice("Spies cannot be changed here, because the readings come from elsewhere")
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

    def action_save(self) -> None:
        """Save this view under a name."""

        def now() -> Profile:
            return profile_of(self.watch_state, self._table.view, self.mode, self.app.theme)

        self.app.push_screen(*name_prompt(now, self.notice))


class CpuScreen(TableScreen):
    """The screen with one line for every CPU."""

    number = "1"
    word = "CPUs"
    opens = "who"
    mode = "cpus"
    grouped = True

    def first_view(self) -> CounterView:
        """Return the first view: topology order for few CPUs, the busiest first for many."""
        view = super().first_view()
        watch = self.watch_state
        if len(watch.session.machine.topology.cpus) > 16 and watch.busy is not None:  # half a small screen
            return replace(view, sort=watch.busy, reverse=True)
        return view


class TopologyScreen(TableScreen):
    """The screen with a tree of packages, dies, caches, cores and CPUs, each with the group's value."""

    number = "2"
    word = "topology"
    opens = "who"
    mode = "topology"

    def first_view(self) -> CounterView:
        """Return the first view: all levels that divide this machine, cores folded if there are many."""
        topology = self.watch_state.session.machine.topology
        levels = levels_of(topology, TREE_LEVELS)
        folded: frozenset[RowId] = frozenset()
        if len(topology.cpus) > 16 and len(levels) > 1:
            folded = frozenset(instance.row for instance in topology.instances(levels[-2]))
        return replace(super().first_view(), levels=levels, folded=folded, filter=Filter())

    def action_group(self) -> None:
        """Say that the tree has every level already."""
        self.notice("The tree shows every level; → ← fold and unfold, * all")
