"""The groups screen: the resource use of each container, job or service, in the kernel's tree of groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from enum import Enum
from typing import Any, Final

from textual.message import Message
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.past_rows import PastRows
from turbotui.app.row_table import RowTableScreen
from turbotui.app.sessions import PlayedSession
from turbotui.app.view_states import ViewChoice
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.features.groups.additions import ChosenEvents, GroupAdditions
from turbotui.features.groups.columns import COLUMNS, GroupColumn, needed
from turbotui.features.groups.engine import GroupInterval, GroupRequest, mean_interval
from turbotui.features.groups.event_columns import event_columns
from turbotui.features.groups.files import QUANTITIES
from turbotui.features.groups.live import GroupWatcher
from turbotui.features.groups.model import WHOLE, GroupRow
from turbotui.features.groups.recorded_groups import record_of, replayed_interval
from turbotui.features.groups.resctrl_reader import events_in
from turbotui.features.groups.resctrl_table import has_many_domains, resctrl_columns, resctrl_table
from turbotui.features.groups.screen_rows import GroupPainter, group_content, name_slots
from turbotui.features.groups.tables import group_table, sum_held_against_package
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.scope import Scope
from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import EnergyMeter, energy_signals
from turbotui.sampling.frame import Frame
from turbotui.widgets.row_content import RowContent, RowView
from turbotui.widgets.segment_lines import NoteLines
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import TableView


@dataclass()
class GroupsReady(Message, bubble=False):
    """An interval from the watcher's thread."""

    interval: GroupInterval
    watcher: GroupWatcher


class RowsShown(Enum):
    """The rows in the table; the value is its description on screen."""

    TREE = "Control groups stand in their tree"
    FLAT = "Control groups stand one below the other, each with what is in it"
    RESCTRL = "Groups of resctrl: caches, memory bandwidth, energy of cores"


_MOST_ROWS: Final = 6_000
_MOST_BYTES: Final = 20 << 20
"""The most rows of all past intervals that are kept, and their bytes."""


class GroupsScreen(RowTableScreen[GroupRow]):
    """The screen of the machine's control groups, whose files are open only while the screen is shown."""

    where = "groups"
    number = "u"
    word = "groups"
    painter_kind = GroupPainter
    treeless = "Groups stand in no tree: t changes that"
    BINDINGS = bindings_for("groups")

    def __init__(self, watch: Watch) -> None:
        self._rows = RowsShown.TREE
        self._domains_shown = False
        super().__init__(watch)
        self._played = watch.session if isinstance(watch.session, PlayedSession) else None
        self._watcher: GroupWatcher | None = None
        self._additions = GroupAdditions(watch.session)
        self._meter = EnergyMeter(watch.session.capabilities)
        self._clocks: tuple[int, int] | None = None  # of the newest frame, which a left screen would keep for ever
        self._seq = 0
        self._past_groups = PastRows(watch.session, replayed_interval, _MOST_ROWS, _MOST_BYTES)
        self._newest: GroupInterval | None = None
        self._shown: GroupInterval | None = None

    def body(self) -> Iterable[Widget]:
        """Lay out the table, and the notes below it."""
        yield from super().body()
        yield NoteLines(id="notes")

    def first_view(self) -> RowView[GroupRow]:
        """The view before the user changes it: the busiest rows first."""
        columns = tuple(column for column in COLUMNS if column.default)
        return TableView(columns, sort=next(column for column in columns if column.id == "CPU%"), reverse=True)

    def painter(self, view: RowView[GroupRow], _seconds: float, width: int) -> GroupPainter:
        fixed, moving = row_slots(view, width)
        return GroupPainter(view, name_slots(fixed, width), moving, width)

    def read_beside(self) -> None:
        """Read the packages' energy, which is shared among groups."""
        self.watch_state.read_also(self, (), energy_signals(self.watch_state.session.capabilities))

    def show_columns(self) -> None:
        """Lay the table out for the width."""
        self.watch_state.want(self.wanted)
        self._show(self._shown)

    # Watching

    def on_screen_resume(self) -> None:
        """Open the files once the screen is there."""
        super().on_screen_resume()
        if self.composed:
            self._show(self._shown)
            self.call_after_refresh(self._begin)

    @property
    def _why_not(self) -> Unavailable | None:
        session = self.watch_state.session
        if self._played is not None:
            return _NOT_RECORDED
        if session.collector is not None:
            return Unavailable(Reason.NOT_READ, f"readings come by {session.collector.way}, which sends no groups",
                               "turbotui groups --host, or run there, has them")
        return None if self._newest is None else self._newest.why

    def _begin(self) -> None:
        if self._watcher is not None or self._why_not is not None or self not in self.app.screen_stack:
            return
        watcher: GroupWatcher | None = None

        def publish(interval: GroupInterval) -> None:
            if self.watch_state.recorders and interval.seconds and not interval.early:
                self.watch_state.record_rows(record_of(interval))
            if watcher is not None:
                self.post_message(GroupsReady(interval, watcher))

        watcher = self._watcher = GroupWatcher(self.watch_state.session.machine, publish)
        self._meter = EnergyMeter(self.watch_state.session.capabilities)
        watcher.start()
        self._ask()

    def close(self) -> None:
        """Close the files of groups."""
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def _ask(self, *, early: bool = True) -> None:
        frame = self.watch_state.frame
        clocks = self._clocks or (None if frame is None else frame.clocks)
        if self._watcher is not None and clocks is not None:
            everything = self.watch_state.recorder is not None
            wanted = QUANTITIES if everything else needed(self._table.view.columns)
            plans = tuple(plan for plan in self._additions.plans if any(
                self.arrangement.is_shown(column.name, usually=True) for column in plan.counted.request.columns))
            seen = self._table.drawn[1] if plans and self._rows is not RowsShown.RESCTRL else ()
            self._watcher.ask(GroupRequest(wanted, everything or self._rows is RowsShown.RESCTRL, clocks, plans,
                                           tuple(map(str, seen))), early=early)

    def take(self, frame: Frame) -> None:
        """End the groups' interval with a new frame."""
        super().take(frame)
        if frame.clocks != self._clocks:
            self._clocks = frame.clocks
            self._meter.feed(frame)
            self._ask(early=False)

    def on_groups_ready(self, message: GroupsReady) -> None:
        """Show an interval; one of an earlier watch came too late."""
        if message.watcher is not self._watcher:
            return
        self._seq += 1
        meter = EnergyMeter(self.watch_state.session.capabilities) if message.interval.early else self._meter
        interval = self._newest = replace(message.interval, seq=self._seq, energy=meter.take())
        if interval.seconds and not interval.early:
            self._past_groups.keep(interval.wall_ns, len(interval.rows) + len(interval.resctrl), interval)
        if interval.why is not None:
            self.close()
        if self.watch_state.held:
            return
        self._show(self._newest)
        self.renew_window()

    # Drawing

    def show_frame(self) -> None:
        """Show the groups of the held moment, if the watch holds a past one."""
        frame = self.watch_state.frame
        if self.watch_state.in_past and frame is not None and frame.older is not None:
            self._show(self._of_moment(frame))
        elif not self.watch_state.held and self._shown is not self._newest:
            self._show(self._newest)
        super().show_frame()

    def _of_moment(self, frame: Frame) -> GroupInterval | None:
        """Return the kept or recorded groups of a past interval; None if there are none."""
        return self.undamaged(lambda: self._past_groups.of(frame))

    def moment(self, frame: Frame, name: str) -> RowContent[GroupRow] | None:
        groups = self._of_moment(frame)
        table = None if groups is None else self._table_of(groups)
        return None if table is None or table.name != name else group_content(table)

    def over_minute(self, content: RowContent[GroupRow]) -> tuple[RowContent[GroupRow], float] | None:
        kept: list[GroupInterval] = []
        rows = 0
        for groups in filter(None, map(self._of_moment, reversed(list(self.minute())))):
            rows += len(groups.rows) + len(groups.resctrl)
            if kept and rows > _MOST_ROWS:  # of a recording, which is read here
                break
            if groups.seconds:
                kept.insert(0, groups)
        if not kept:
            return None
        return group_content(self._table_of(mean_interval(kept)), content.seq), sum(groups.seconds for groups in kept)

    @property
    def newest_ns(self) -> int | None:
        return self._past_groups.last_ns

    @property
    def shown_ns(self) -> int | None:
        shown = self._shown
        return shown.wall_ns if shown is not None and shown.seconds and not shown.early else None

    def _table_of(self, groups: GroupInterval) -> RowTable[GroupRow]:
        """The table of an interval's groups, of the kind that is shown."""
        if self._rows is RowsShown.RESCTRL:
            return resctrl_table(groups.resctrl, resctrl_columns(events_in(groups.resctrl)))
        topology = self.watch_state.session.machine.topology
        counted = event_columns(self._additions.counted if self._played is None else groups.counted)
        return group_table(groups.rows, groups.energy, topology.online(Scope.PACKAGE), topology.online(Scope.CPU),
                           (*COLUMNS, *counted))

    def _show(self, shown: GroupInterval | None) -> None:
        self._shown = shown
        if not self.composed:
            return
        interval = GroupInterval() if shown is None else shown
        notes: list[str] = []
        whole = self._table_of(interval)
        if self._rows is RowsShown.RESCTRL:
            rows = interval.resctrl
            if rows and not self._domains_shown:
                self._domains_shown = True
                if has_many_domains(rows):
                    outer = {row.group.key for row in rows if not row.group.domain}
                    self._change(folded=self._table.view.folded | outer)
            self.show_content(group_content(whole, interval.seq))
            if interval.info is not None:
                notes.append(interval.info.in_words(sum(not row.group.domain for row in rows)))
        else:
            packages = self.watch_state.session.machine.topology.online(Scope.PACKAGE)
            self.show_content(group_content(whole, interval.seq, tree=self._rows is RowsShown.TREE))
            if not interval.complete:
                notes.append(f"there are more groups than the {len(interval.rows):,} listed")
            notes += list(filter(None, [sum_held_against_package(whole, interval.energy, packages), interval.coverage]))
        self.query_one("#notes", NoteLines).show_notes(notes)

    def readout(self) -> str:
        """Describe the cell under the cursor, with the path of its group."""
        if not self._table.lines:
            return self.all_filtered or self._said_of_nothing()
        row = self.row_at_cursor
        line = super().readout()
        return line if row is None or row.group.path in line else f"{line} · {row.group.path}"

    def _said_of_nothing(self) -> str:
        why = self._why_not
        if self._rows is RowsShown.RESCTRL and self._shown is not None and self._shown.why_no_resctrl is not None:
            return as_sentence(self._shown.why_no_resctrl.sentence())
        if self.watch_state.in_past and self._played is None:
            first = self._past_groups.first_ns
            kept = "they were not read yet" if first is None else f"they are kept from {time_of_day(first)} on"
            return f"No groups of this moment: groups are kept while this screen is shown, and {kept}"
        return self.waiting_for("the first reading of the groups") if why is None else as_sentence(why.sentence())

    # Actions

    def toggle(self, column: GroupColumn) -> None:
        """Show or hide a column, which is read only while it is shown."""
        super().toggle(column)
        self._ask()

    def action_add(self) -> None:
        """Open the form for events that are counted for each group."""
        if self._watcher is None or self._rows is RowsShown.RESCTRL:
            self.notice("Events are counted for control groups of a machine that is read now")
            return

        from turbotui.app.add import AddCounter  # noqa: PLC0415 - only this key needs it

        self.app.push_screen(AddCounter(self._additions, self._additions_changed))

    def _additions_changed(self, name: str | None) -> None:
        self._show(self._shown)
        column = None if name is None else self.find_column(name)
        if column is not None:
            self._table.select_column(column)
        self._ask()

    def _show_additions(self, chosen: ChosenEvents) -> None:
        self._additions.show(chosen)
        self._additions_changed(None)

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """The kind of rows and the added events, beside what other tables have."""
        yield from super().choices()
        yield ViewChoice(self.number, "rows", self._rows, self._choose_rows, "")
        yield ViewChoice(self.number, "added", self._additions.chosen, self._show_additions,
                         "Added events as they were")

    def action_rows(self) -> None:
        """Switch between control groups in their tree, control groups as a list, and resctrl groups."""
        order = tuple(RowsShown)
        self._choose_rows(order[(order.index(self._rows) + 1) % len(order)])

    def _choose_rows(self, rows: RowsShown) -> None:
        self._rows = rows
        self.notice(rows.value)
        if self._rows is RowsShown.RESCTRL and (self._shown is None or not self._shown.reads_resctrl):
            self._ask()  # resctrl was not read yet; otherwise the interval goes on
        self._show(self._shown)

    @property
    def outer_rows(self) -> frozenset[Hashable] | None:
        """Rows that contain others: groups with groups in them, except the outermost one."""
        content = self._table.content
        if content is None or content.parents is None:
            return None
        outer = frozenset(content.parents.values())
        return outer - {WHOLE} if self._rows is RowsShown.TREE else outer

    def action_acts(self) -> None:
        """Show command lines for the group under the cursor, one of which can be copied; none is run."""
        row = self.row_at_cursor
        if row is None:
            self.notice("There is no group under the cursor")
            return
        from turbotui.app.command_lines_window import show_command_lines  # noqa: PLC0415 - only this key needs them
        from turbotui.features.groups.group_lines import group_lines, target_of  # noqa: PLC0415

        lines = group_lines(target_of(self.watch_state.session.machine.host, row.group))
        show_command_lines(self, row.group.name, lines)


_NOT_RECORDED: Final = Unavailable(Reason.NOT_READ, "no groups of this moment were recorded",
                                   "turbotui record --tables groups, or Ctrl+R while the groups screen is shown")
