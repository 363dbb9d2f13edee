"""The tasks screen: what every thread, process or command does, sampled at its switches, and where it ran."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from textual import events
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.prompt import Prompt
from turbotui.app.text_window import TextWindow
from turbotui.errors import UsageError
from turbotui.features.tasks.applications import Application, parse_targets
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskColumn, TaskInputs, why_missing
from turbotui.features.tasks.process_tree import own_key, sum_key
from turbotui.features.tasks.screen_rows import (
    LanePainter,
    TaskContent,
    TaskRows,
    TreePainter,
    known_columns,
    tree_slots,
    with_room,
)
from turbotui.features.tasks.screen_text import (
    COMMAND,
    PLURAL,
    TasksView,
    head_line,
    note_lines,
    region_line,
    task_evidence,
    word_of,
)
from turbotui.features.tasks.screen_watching import WatchingScreen
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_table import starting_columns
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.widgets.cells import StyleRole, said
from turbotui.widgets.explanation import evidence_lines
from turbotui.widgets.row_content import RowPainter, RowView
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import TableView

_WINDOWS = (2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Seconds of a timeline."""
_KINDS: Final = ((Grouping.THREAD, False), (Grouping.PROCESS, False), (Grouping.PROCESS, True),
                 (Grouping.COMMAND, False), (Grouping.UNIT, False))
"""What `t` goes through: what a row stands for, and whether rows stand in a tree."""


class TasksScreen(WatchingScreen):
    """Screen with the machine's tasks, and its keys."""

    where: ClassVar[str] = "tasks"
    number = "7"
    word = "tasks"
    opens = "where"
    BINDINGS = bindings_for("tasks")

    DEFAULT_CSS = """
    TasksScreen #heads { height: 1; }
    TasksScreen #notes { height: auto; }
    """

    def body(self) -> Iterable[Widget]:
        """Compose the head line, the table and the notes below it."""
        yield SegmentLines(id="heads")
        yield from super().body()
        yield SegmentLines(id="notes")

    def first_view(self) -> RowView[TaskInputs]:
        """The busiest first."""
        columns = tuple(column for column in starting_columns(TasksView().by) if column.default)
        return TableView(columns, sort=next(column for column in columns if column.id == "CPU%"), reverse=True)

    def row_list(self) -> TaskRows:
        return TaskRows()

    def painter(self, view: RowView[TaskInputs], seconds: float, width: int) -> RowPainter[TaskInputs]:
        """Numbers, or lanes."""
        del seconds
        if self._tree_shown and not self._lanes_shown:
            fixed, moving = tree_slots(view, width)
            return TreePainter(view, fixed, with_room(fixed, moving, width, view.arrangement.widths), width)
        if not self._lanes_shown:
            fixed, moving = row_slots(view, width)
            return RowPainter(view, fixed, with_room(fixed, moving, width, view.arrangement.widths), width)
        places, cell = self.lane_places()
        return LanePainter(view, *row_slots(view, width), width, window=self.view.window, places=places, cell=cell)

    def show_columns(self) -> None:
        """Fit the columns to the width."""
        self.watch_state.want(self.wanted)
        self.draw()

    # Drawing

    def draw(self) -> None:
        if not self.composed:
            return
        there = self.watcher is not None if self.played is None else self._snapshot is not None
        head = head_line(self.applications, self._snapshot, self.view, watching=there)
        self.query_one("#heads", SegmentLines).show([head if there or self.played is None else []])
        width, height = self.size
        notes = [] if self._snapshot is None else note_lines(self._snapshot, self.energy, width, height)
        notes = [*self._region_notes(width), *notes]
        self.query_one("#notes", SegmentLines).styles.height = len(notes)
        self.query_one("#notes", SegmentLines).show([[(f" {note}", role)] for note, role in notes])
        self.show_status()

    def _region_notes(self, width: int) -> list[tuple[str, StyleRole]]:
        try:
            totals = self.regions.of(self.watch_state.frame)
        except DamagedError as error:
            return [(str(error), StyleRole.AMBER)]
        return [] if totals is None or not totals.regions else [(region_line(totals, width - 2), StyleRole.SUMMARY)]

    def readout(self) -> str:
        """Describe the row under the cursor in words."""
        if self._snapshot is None and (self.watch_state.in_past or self.played is not None):
            return self._said_of_past()
        if self._snapshot is None:
            started = self.watcher is not None
            return self.waiting_for("the first samples") if started else "w: choose what to watch · s: start"
        inputs, cell = self._inputs(self._table.current), self._table.selected
        if inputs is None:
            return self.all_filtered or "w: choose what to watch · t: threads, processes, commands · v: timeline"
        chosen = "" if cell is None or not self._table.is_column_chosen else self._in_short(*cell)
        row = inputs.row
        few = 0 < len(row.cpus) < 9
        where = f"on CPU {', '.join(map(str, row.cpus))}" if few else f"on {several(len(row.cpus), 'CPU')}"
        moved = f"{row.migrations} migration{'' if row.migrations == 1 else 's'}"
        return (f"{chosen}{row.name or '(no name)'} · ran {row.run_seconds:.3f} s, {moved} · "
                f"{row.whole_run / 1e9:.3f} s in all, {where}")

    def _said_of_past(self) -> str:
        """The reason why no tasks are known for a moment of the past."""
        if self.played is not None:
            return "No tasks of this moment were recorded: turbotui record --tables tasks, or Ctrl+R on this screen"
        first = self._past.first_ns
        kept = "they were not watched yet" if first is None else f"they are kept from {time_of_day(first)} on"
        return f"No tasks of this moment: tasks are kept while this screen is shown, and {kept}"

    def _in_short(self, column: TaskColumn, row: Hashable) -> str:
        """Shorten a cell to precede the status line's description of the task, which names the row."""
        content = self._table.content
        cell = None if content is None else content.cell(column, row)
        if cell is None or column.identity:
            return ""
        why = "" if cell.why is None else f" ({cell.why.sentence()})"
        return f"{column.id} {said(column, cell.value)}{why} · "

    def _inputs(self, key: Hashable) -> TaskInputs | None:
        content = self._table.content
        return None if content is None else content.get(key)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the table again, and request timelines of the new length."""
        super().on_resize(event)
        if self._lanes_shown:
            self.show_view(self._table.view)
        if self.view.timeline:
            self.ask()

    # Actions

    def action_watch(self) -> None:
        """Choose what to watch."""
        if self._is_recorded():
            return
        before = " ".join(word_of(one) for one in self.applications)

        def parsed(text: str) -> tuple[Application, ...]:
            if self._lent is not None and text.strip() == COMMAND:
                return self._lent.applications
            return parse_targets(text)

        def typed(text: str) -> str:
            try:
                parsed(text)
            except UsageError:  # the field needs the room; Enter says what is wrong
                return "all, PID, /group, container=NAME, NAME:pid=N"
            return "Enter: watch"

        def done(text: str | None) -> None:
            if text is None:
                return
            try:
                found = parsed(text)
            except UsageError as error:
                self.notice(str(error))
                return
            self.restart(found)

        self.app.push_screen(Prompt("watch", before, typed, replaces=True), done)

    def action_start_stop(self) -> None:
        """Close every counter and keep the last table, or start watching again."""
        if self._is_recorded():
            return
        if self.watcher is None:
            self.restart(self.applications)
            self.notice("Watching")
        else:
            self.stop()
            self.notice("Stopped: every counter is closed; s starts again")

    def _is_recorded(self) -> bool:
        """Whether a recording is shown; if so, say that nothing else can be watched in it."""
        if self.played is not None:
            self.notice("A recording has the tasks that were watched when it was made")
        return self.played is not None

    def _is_kept_as_it_is(self) -> bool:
        """Whether a moment of the past is shown; if so, say that its rows cannot be changed."""
        if self._is_recorded():
            return True
        if self.watch_state.in_past:
            self.notice("The past is kept as it was shown: ⌫ returns to now")
        return self.watch_state.in_past

    def action_rows(self) -> None:
        """Change the kind of rows: threads, processes, a process tree, commands, or containers and units."""
        if self.played is None and self._is_kept_as_it_is():
            return
        by, tree = _KINDS[(_KINDS.index((self.view.by, self.view.tree)) + 1) % len(_KINDS)]
        self.view = replace(self.view, by=by, tree=tree, timeline=False)
        self.notice("Processes below their parents; ← folds, * folds all" if tree else f"Rows are {PLURAL[by]}")
        if self.played is None:
            self.ask()
        else:
            self.show_again()

    @property
    def known_columns(self) -> Sequence[TaskColumn]:
        return TASK_COLUMNS if self._snapshot is None else known_columns(self._snapshot)

    def why_absent(self, column: TaskColumn) -> Unavailable | None:
        """A column can be had where one application has it."""
        content = self._table.content
        if content is not None and column.identity and column not in content.whole.columns:
            return Unavailable(Reason.NOT_READ, "rows of this kind do not have it, or all have the same")
        live = [report for report in self._snapshot.reports if report.names] if self._snapshot is not None else []
        why = [why_missing(column, report.names, report.numerics, self.energy) for report in live]
        return why[0] if why and all(why) else None

    def action_explain(self) -> None:
        """Explain the cell under the cursor, or without a cell the row and its sampling."""
        if self._table.selected is not None:
            super().action_explain()
            return
        row = self._table.current
        name = "tasks" if self._table.content is None or row is None else self._table.content.name(TASK_COLUMNS[0], row)
        self.app.push_screen(TextWindow(lambda width: (name, evidence_lines(
            task_evidence(self._snapshot, self.energy, self._inputs(row)), width)[1:])))

    def action_timeline(self) -> None:
        """Switch between the table of numbers and the timeline."""
        if self._is_kept_as_it_is():
            return
        if self._snapshot is not None and all(report.numerics.refused for report in self._snapshot.reports):
            self.notice("When threads ran is known by perf alone, which does not watch these tasks for this user")
            return
        self.view = replace(self.view, timeline=not self.view.timeline)
        self.ask()
        if self.view.timeline:
            self.notice("The CPU's number where a thread ran, filled where it ran at least half of the time; [ ] zoom")

    def action_window(self, by: int) -> None:
        """Change the length of the timeline."""
        if self._is_kept_as_it_is():
            return
        at = max(0, min(len(_WINDOWS) - 1, _WINDOWS.index(self.view.window) + by))
        self.view = replace(self.view, window=_WINDOWS[at])
        self.notice(f"Timeline of {_WINDOWS[at]:g} s")
        self.ask()

    # The tree

    def _fold(self, row: Hashable, *, fold: bool) -> None:
        """Fold a process into one row with all its descendants, or unfold it."""
        key = own_key(row)
        folded = self._table.view.folded
        self._change(folded=folded | {key} if fold else folded - {key})
        self.show_again()
        self._table.select(sum_key(key) if fold else key)

    @property
    def outer_rows(self) -> frozenset[Hashable] | None:
        """Processes that started others."""
        content = self._table.content
        tree = content.tree if isinstance(content, TaskContent) else None
        return None if tree is None else frozenset(tree.parts)

    def action_fold_all(self) -> None:
        """The sums of folded processes change with it."""
        super().action_fold_all()
        if self.outer_rows is not None:
            self.show_again()

    # What a person may do

    def action_acts(self) -> None:
        """Show command lines for the task under the cursor; one is copied, none is run."""
        inputs = self._inputs(self._table.current)
        if inputs is None:
            self.notice("There is no task under the cursor")
            return
        from turbotui.app.command_lines_window import show_command_lines  # noqa: PLC0415
        from turbotui.features.tasks.command_lines import command_lines, target_of  # noqa: PLC0415 - only this key needs them

        facts = inputs.facts
        seen = None if isinstance(facts, Unavailable) else facts
        group, kernel = (None, False) if seen is None else (seen.group, seen.stat.kernel)
        lines = command_lines(target_of(inputs.row, group, kernel=kernel))
        if not lines:
            self.notice("No command line fits a row of several processes: t changes what rows are")
            return

        show_command_lines(self, _in_words(inputs), lines)

    def action_point(self) -> None:
        """Highlight the CPUs on which the task under the cursor ran, on the map and in the tables of CPUs."""
        inputs = self._inputs(self._table.current)
        if inputs is None:
            self.notice("There is no task under the cursor")
            return
        row = inputs.row
        cpus = tuple(sorted(row.loads)) or row.cpus
        if not cpus:
            self.notice(f"{row.name} did not run in this interval")
            return
        back = self.watch_state.pointing
        goal = back.came_from if back.cpu is not None else "cpus"
        back.clear()
        back.at_cpus(cpus, row.name, "tasks")
        self.go_to(goal)

    def open_chosen(self) -> bool:
        """The CPUs on which the task ran."""
        if self._inputs(self._table.current) is None:
            return False
        self.action_point()
        return True

    def go_back(self) -> None:
        """Shows the tasks of all CPUs again."""
        alone = self.watch_state.pointing.cpu is not None
        super().go_back()
        if alone:
            self.show_again()

    def flags(self) -> list[str]:
        """The CPU whose tasks are shown, as words for the status line."""
        cpu = self.watch_state.pointing.cpu
        return [*super().flags(), *([] if cpu is None else [f"only what ran on CPU {cpu}: Esc returns"])]


def _in_words(inputs: TaskInputs) -> str:
    """Describe a task in words."""
    row = inputs.row
    return f"{row.name or '(no name)'}{'' if row.pid is None else f' ({row.pid})'}"
