"""The screens with a counter table: the CPUs, and the topology tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from turbotui.app import scales
from turbotui.app.actions import bindings_for
from turbotui.app.add import AddCounter, CpuAdditions
from turbotui.app.category import CategoryKeys
from turbotui.app.modal import Window
from turbotui.app.one_cell import FrameCell
from turbotui.app.picker import CounterPicker
from turbotui.app.saved_views import CounterView, name_prompt, profile_of, view_of
from turbotui.app.table_keys import TableKeys
from turbotui.app.view_states import ViewChoice, ViewState
from turbotui.app.watch import Watch
from turbotui.feature import part
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.filters import Filter
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.widgets.frame_painter import FramePainter
from turbotui.widgets.frame_rows import FrameContent, FrameRows
from turbotui.widgets.profiles import Profile
from turbotui.widgets.row_charts import RowCharts
from turbotui.widgets.rows import GROUPINGS, TREE_LEVELS, levels_of
from turbotui.widgets.slots import slots_of
from turbotui.widgets.table_view import TAGS_ROW, Follow, TableView
from turbotui.widgets.table_widget import TableWidget

V = TypeVar("V")

_FOLLOW = tuple(Follow)

_PINNED = 8
"""The most CPUs of a task that are pinned; the map highlights all of them."""
CounterTable: TypeAlias = TableWidget[FrameContent, CounterColumn, RowId]
"""The widget of both screens."""


class TableScreen(TableKeys[FrameContent, CounterColumn, RowId]):
    """A screen with a table of CPUs and its keys, shown by an immutable `TableView`."""

    where = "cpus"
    BINDINGS = bindings_for("cpus")
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
        watch = self.watch_state
        columns = {Follow.HOTTEST: watch.heat, Follow.BUSIEST: watch.busy, Follow.SLOWEST: watch.clock}
        return TableView(columns=self.watch_state.columns, top=(SYSTEM_ROW,), sums=(TAGS_ROW,),
                         targets={follow: column for follow, column in columns.items() if column is not None})

    def name_of(self, _table: CounterTable) -> str:
        return self.mode

    def find_column(self, name: str) -> CounterColumn | None:
        return self.watch_state.find(name)

    def cell(self, column: CounterColumn, row: RowId) -> FrameCell:
        return FrameCell(self.watch_state, column, row)

    def compare(self, *, begin: bool) -> None:
        super().compare(begin=begin)
        self.show_view(self._table.view)

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

    def let_go(self) -> None:
        """Release the frame, too."""
        super().let_go()
        self._table.let_go()

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
        self.watch_state.look_often_at(self._table.cursor)
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
        """Open the tasks on a CPU, or the members of a group."""
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
        """Show a view, with the columns, sparks and marks of all screens, and a new profile."""
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
        flags = super().flags()
        if view.follow is not Follow.ROW:
            flags.append(f"follow {view.follow.value}")
        pointing = self.watch_state.pointing
        if pointing.cpus:
            flags.append(f"• {pointing.who} ran there: Esc returns")
        return flags

    def tags_of(self, table: CounterTable) -> Sequence[RowId]:
        return [tag for tag in table.view.tags if tag not in self._pointed]

    def states(self) -> Iterator[ViewState]:
        """That the cursor follows another CPU, and typed spies, beside the states of all tables."""
        yield from super().states()
        watch = self.watch_state
        if watch.plan_before_typed is not None and watch.spied_on is not None:
            yield ViewState("", ("spies", watch.spied_on.spies),
                            partial(self._restored(watch.spy), watch.plan_before_typed), "Spies as they were")
        if self._table.view.follow is not Follow.ROW:
            yield ViewState(self.number, ("follow", self._table.view.follow), partial(self._change, follow=Follow.ROW),
                            "The cursor stays on its CPU")

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """Groups, and the columns and added counters of both tables of CPUs, beside the choices of all tables."""
        yield from super().choices()
        yield ViewChoice(self.number, "groups", self._table.view.levels, self._group_again, "Rows grouped as they were")
        watch = self.watch_state
        yield ViewChoice("", "columns of CPUs", watch.chosen, self._restored(watch.show_chosen), "Columns as they were")
        yield ViewChoice("", "added", watch.added, self._restored(watch.show_added), "Added counters as they were")

    def _group_again(self, levels: tuple[Scope, ...]) -> None:
        self._change(levels=levels, folded=frozenset[RowId]())

    def _restored(self, show: Callable[[V], None]) -> Callable[[V], None]:
        """A function that restores what all screens share, and shows the columns."""
        def restore(value: V) -> None:
            show(value)
            self.show_columns()

        return restore

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
        if (frame := self.watch_state.frame) is not None:
            levels = self._table.view.levels[:-1]
            self._change(folded=frozenset(row for scope in levels for row in frame.rows(scope)))

    def action_sideways(self, by: int) -> None:
        """Fold or unfold the group under the cursor; elsewhere, go to the next or previous column."""
        if (line := self._table.line) is None or line.open is None:
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
        self.app.push_screen(CounterPicker(self.watch_state, self.show_columns, cell[0].id if cell else "", self))

    def show_default_columns(self) -> str:
        self.watch_state.show_only(self.watch_state.usual)
        sentence = super().show_default_columns()
        self.show_columns()
        return sentence

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

    def action_row_window(self, reference: str) -> None:
        """Open the window that a feature's function makes for the row under the cursor, or say why there is none."""
        make = cast("Callable[[Watch, Callable[[], None], RowId | None], Window[None] | str]", part(reference))
        window = make(self.watch_state, self.show_columns, self._table.current)
        if isinstance(window, str):
            self.notice(window)
        else:
            self.app.push_screen(window)

    def action_category(self) -> None:
        """Show and hide groups of columns by their letters."""

        def done(sentence: str | None) -> None:
            if sentence == "":
                self.action_columns()
            elif sentence is not None:
                self.notice(sentence)

        self.app.push_screen(CategoryKeys(self.watch_state, self), done)

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
