"""The tasks screen: what every thread, process or command does, sampled at its switches, and where it ran."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.widget import Widget

from turbotui.app.actions import Where, bindings_for
from turbotui.app.graph import Graph
from turbotui.app.prompt import Prompt
from turbotui.app.row_table import RowTableScreen
from turbotui.app.text_window import TextWindow
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.tasks.applications import Application, parse_targets
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskColumn, TaskInputs, why_missing
from turbotui.features.tasks.lines import LANE_LEFT, lane_cell
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.screen_rows import LanePainter, TaskContent, TaskRows, content_of, known_columns, with_room
from turbotui.features.tasks.screen_text import PLURAL, TasksView, head_line, note_lines, task_evidence, word_of
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_past import PastTasks, TaskPast
from turbotui.features.tasks.task_table import TASKS
from turbotui.machine.tasks.proc_facts import Looks, ProcFacts
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import EnergyMeter, energy_signals
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import said
from turbotui.widgets.explanation import evidence_lines
from turbotui.widgets.row_content import RowPainter, RowView
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import TableView

_WINDOWS = (2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Seconds of a timeline."""
_GROUPINGS = tuple(Grouping)
_EVERYTHING = (Application("all", everything=True),)
_NOTHING = TaskContent(RowTable(TASKS, Grouping.THREAD.value, TASK_COLUMNS, ()))


@dataclass()
class SnapshotReady(Message, bubble=False):
    """A snapshot from the watcher's thread; a newer one replaces one that was not handled yet."""

    snapshot: TaskSnapshot
    watcher: TaskWatcher

    def can_replace(self, message: Message) -> bool:
        """Whether a later snapshot replaces this one: any does."""
        return isinstance(message, SnapshotReady)


class TasksScreen(RowTableScreen[TaskInputs]):
    """Screen with the machine's tasks, whose counters are open only while the screen is shown."""

    where: ClassVar[Where] = Where.TASKS
    number = "7"
    word = "tasks"
    BINDINGS = bindings_for(Where.TASKS)

    DEFAULT_CSS = """
    TasksScreen #heads { height: 1; }
    TasksScreen #notes { height: auto; }
    """

    def __init__(self, watch: Watch) -> None:
        self.view = TasksView()
        self._lanes_shown = False
        super().__init__(watch)
        self.applications: tuple[Application, ...] = _EVERYTHING
        self.watcher: TaskWatcher | None = None
        self._meter = EnergyMeter(watch.session.capabilities)
        self._snapshot: TaskSnapshot | None = None
        self._stopped = False
        self._frame: Frame | None = None
        self._seq = 0
        self._past = TaskPast()
        self._newest: PastTasks | None = None
        self._facts = ProcFacts(watch.session.machine.host)

    def body(self) -> Iterable[Widget]:
        """Lay out the line about what is watched, the table, and the notes below it."""
        yield SegmentLines(id="heads")
        yield from super().body()
        yield SegmentLines(id="notes")

    def first_view(self) -> RowView[TaskInputs]:
        """See `RowTableScreen.first_view`: the busiest first."""
        columns = tuple(column for column in TASK_COLUMNS if column.default)
        return TableView(columns, sort=next(column for column in columns if column.id == "CPU%"), reverse=True)

    def row_list(self) -> TaskRows:
        """See `RowTableScreen.row_list`."""
        return TaskRows()

    def painter(self, view: RowView[TaskInputs], seconds: float, width: int) -> RowPainter[TaskInputs]:
        """See `RowTableScreen.painter`: numbers, or lanes."""
        del seconds
        if not self._lanes_shown:
            fixed, moving = row_slots(view, width)
            return RowPainter(view, fixed, with_room(fixed, moving, width), width)
        places, cell = self._places()
        return LanePainter(view, *row_slots(view, width), width, window=self.view.window, places=places, cell=cell)

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """No columns beside those of the summary."""
        return ()

    def read_beside(self) -> None:
        """Read the packages' energy, which is shared out over tasks."""
        self.watch_state.read_also(self, (), energy_signals(self.watch_state.session.capabilities))

    # Watching

    def on_screen_resume(self) -> None:
        """Open the counters once the screen is there."""
        super().on_screen_resume()
        if self.composed:
            self.call_after_refresh(self._begin)

    def on_screen_suspend(self) -> None:
        """Close the counters when another screen is shown; a window over this one changes nothing."""
        if self not in self.app.screen_stack:
            self._end()

    def on_unmount(self) -> None:
        """Close the counters."""
        self._end()

    def _begin(self) -> None:
        if self.watcher is not None or self._stopped or self not in self.app.screen_stack:
            return
        watcher: TaskWatcher | None = None

        def publish(snapshot: TaskSnapshot) -> None:
            if watcher is not None:
                self.post_message(SnapshotReady(snapshot, watcher))

        watcher = self.watcher = TaskWatcher(self.watch_state.session.machine, self.applications, publish)
        self._meter = EnergyMeter(self.watch_state.session.capabilities)
        watcher.start(self._request())
        self._draw()

    def _end(self) -> None:
        if self.watcher is not None:
            self.watcher.stop()
            self.watcher = None

    def _ask(self, *, again: bool = True) -> None:
        """Ask for a table: of a new interval, or of the last one as it is to be shown now."""
        if self.watcher is not None:
            self.watcher.snapshot(replace(self._request(), again=again))

    def _request(self) -> SnapshotRequest:
        view = self.view
        return SnapshotRequest(view.by, view.window if view.timeline else 0.0, self._places()[0])

    def _places(self) -> tuple[int, int]:
        cell = lane_cell(self.watch_state.session.machine.topology.cpus)
        return max(1, (self.size.width - LANE_LEFT - 1) // cell), cell

    def take(self, frame: Frame) -> None:
        """A new frame ends the interval of the tasks too."""
        super().take(frame)
        if frame is not self._frame:
            self._frame = frame
            self._meter.feed(frame)
            self._ask(again=False)

    def show_frame(self) -> None:
        """Show the tasks of the moment that the watch holds, if it is one of the past."""
        frame = self.watch_state.frame
        if self.watch_state.in_past and frame is not None and frame.older is not None:
            self._show_kept(self._past.at(frame.older.wall_ns, frame.newer.wall_ns))
        elif not self.watch_state.held and self._newest is not None and self._snapshot is not self._newest.snapshot:
            self._show_kept(self._newest)
        super().show_frame()

    def _show_kept(self, kept: PastTasks | None) -> None:
        """Show the tasks of an interval that was kept, or that there is none."""
        self._snapshot = None if kept is None else kept.snapshot
        self._show(_NOTHING if kept is None else self._content(kept))
        self._draw()

    def show_columns(self) -> None:
        """Lay the table out for the width."""
        self.watch_state.want(self.wanted)
        self._draw()

    def on_snapshot_ready(self, message: SnapshotReady) -> None:
        """Take a snapshot, unless it is of a watch that has ended."""
        if message.watcher is not self.watcher:
            return
        if all(report.error for report in message.snapshot.reports):
            self._end()
            self._stopped = True
        again, taken = message.snapshot.request.again, self._meter.take()
        spent = self._newest.spent.plus(taken) if again and self._newest is not None else taken
        self._seq += not again
        time_ns = 0 if self._frame is None else self._frame.newer.wall_ns
        if self._newest is not None:
            self._newest.looks.close()
        self._newest = PastTasks(time_ns, message.snapshot, spent, self._seq, Looks(self._facts))
        self._past.keep(self._newest)
        if self.watch_state.held:
            return
        self._show_kept(self._newest)
        if isinstance(self.app.screen, TextWindow | Graph):
            self.app.screen.show_frame()

    def _content(self, kept: PastTasks) -> TaskContent:
        return content_of(kept, self.watch_state.session.machine.topology)

    def _show(self, content: TaskContent) -> None:
        if (content.lanes is not None) is not self._lanes_shown:
            self._lanes_shown = content.lanes is not None
            self.show_view(self._table.view)
        self.show_content(content)

    @property
    def energy(self) -> Unavailable | None:
        """Why there is no share of the energy; None where there is."""
        content = self._table.content
        return content.energy if isinstance(content, TaskContent) else None

    # Drawing

    def _draw(self) -> None:
        if not self.composed:
            return
        heads = [head_line(self.applications, self._snapshot, self.view, watching=self.watcher is not None)]
        self.query_one("#heads", SegmentLines).show(heads)
        width, height = self.size
        notes = [] if self._snapshot is None else note_lines(self._snapshot, self.energy, width, height)
        self.query_one("#notes", SegmentLines).styles.height = len(notes)
        self.query_one("#notes", SegmentLines).show([[(f" {note}", role)] for note, role in notes])
        self.show_status()

    def readout(self) -> str:
        """The row under the cursor in words."""
        if self._snapshot is None and self.watch_state.in_past:
            return self._said_of_past()
        if self._snapshot is None:
            return "w: choose what to watch · s: start" if self.watcher is None else "waiting for the first samples"
        inputs, cell = self._inputs(self._table.current), self._table.selected
        if inputs is None:
            return "w: choose what to watch · t: threads, processes, commands · v: timeline"
        chosen = "" if cell is None or not self._table.is_column_chosen else self._cell_said(*cell)
        row = inputs.row
        where = f"on CPU {', '.join(map(str, row.cpus))}" if len(row.cpus) < 9 else f"on {len(row.cpus)} CPUs"
        moved = f"{row.migrations} migration{'' if row.migrations == 1 else 's'}"
        return (f"{chosen}{row.name or '(no name)'} · ran {row.run_seconds:.3f} s, {moved} · "
                f"{row.whole_run / 1e9:.3f} s in all, {where}")

    def _said_of_past(self) -> str:
        """Why no tasks are known of a moment."""
        if self.watch_state.player is not None:
            return "this recording has no tasks"
        first = self._past.first_ns
        kept = "they were not watched yet" if first is None else f"they are kept from {time_of_day(first)} on"
        return f"no tasks of this moment: tasks are kept while this screen is shown, and {kept}"

    def _cell_said(self, column: TaskColumn, row: Hashable) -> str:
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
        """Lay out anew, and ask for lines of the new length."""
        super().on_resize(event)
        if self._lanes_shown:
            self.show_view(self._table.view)
        if self.view.timeline:
            self._ask()

    # Actions

    def action_watch(self) -> None:
        """Choose what to watch."""
        before = " ".join(word_of(one) for one in self.applications)

        def typed(text: str) -> str:
            try:
                parse_targets(text)
            except UsageError:  # the field needs the room; Enter says what is wrong
                return "all, PID, /group or NAME:pid=N:events=…"
            return "Enter: watch"

        def done(text: str | None) -> None:
            if text is None:
                return
            try:
                found = parse_targets(text)
            except UsageError as error:
                self.notice(str(error))
                return
            self._restart(found)

        self.app.push_screen(Prompt("watch", before, typed), done)

    def _restart(self, applications: tuple[Application, ...]) -> None:
        self._end()
        self.applications = applications
        self._snapshot, self._newest, self._stopped, self._past = None, None, False, TaskPast()
        if self.marked is not None:
            self.compare(begin=False)
        self._show(_NOTHING)
        self._begin()

    def action_start_stop(self) -> None:
        """Close every counter and keep the last table, or start anew."""
        if self.watcher is None:
            self._restart(self.applications)
            self.notice("watching")
        else:
            self._end()
            self._stopped = True
            self._draw()
            self.notice("stopped: every counter is closed; s starts anew")

    def _is_kept_as_it_is(self) -> bool:
        """Whether a moment of the past is shown, whose rows are what they were then; says so."""
        if self.watch_state.in_past:
            self.notice("the past is kept as it was shown: ⌫ returns to now")
        return self.watch_state.in_past

    def action_rows(self) -> None:
        """Change what rows stand for: threads, processes or commands."""
        if self._is_kept_as_it_is():
            return
        by = _GROUPINGS[(_GROUPINGS.index(self.view.by) + 1) % len(_GROUPINGS)]
        self.view = replace(self.view, by=by, timeline=False)
        self.notice(f"rows are {PLURAL[by]}")
        self._ask()

    @property
    def known_columns(self) -> Sequence[TaskColumn]:
        """See `RowTableScreen.known_columns`."""
        return TASK_COLUMNS if self._snapshot is None else known_columns(self._snapshot)

    def why_absent(self, column: TaskColumn) -> Unavailable | None:
        """See `RowTableScreen.why_absent`: it can be had where one application has it."""
        content = self._table.content
        if content is not None and column.identity and column not in content.whole.columns:
            return Unavailable(Reason.NOT_READ, "rows of this kind do not have it, or all have the same")
        live = [report for report in self._snapshot.reports if report.names] if self._snapshot is not None else []
        why = [why_missing(column, report.names, report.numerics, self.energy) for report in live]
        return why[0] if why and all(why) else None

    def action_explain(self) -> None:
        """Explain the cell under the cursor; where there is none, the row and how it was sampled."""
        if self._table.selected is not None:
            super().action_explain()
            return
        row = self._table.current
        name = "tasks" if self._table.content is None or row is None else self._table.content.name(TASK_COLUMNS[0], row)
        self.app.push_screen(TextWindow(lambda width: (name, evidence_lines(
            task_evidence(self._snapshot, self.energy, self._inputs(row)), width)[1:])))

    def action_timeline(self) -> None:
        """Swap the table of numbers for the timeline, or back."""
        if self._is_kept_as_it_is():
            return
        self.view = replace(self.view, timeline=not self.view.timeline)
        self._ask()
        if self.view.timeline:
            self.notice("the CPU's number where a thread ran, filled where it ran at least half of the time; [ ] zoom")

    def action_window(self, by: int) -> None:
        """Change the length of the timeline."""
        if self._is_kept_as_it_is():
            return
        at = max(0, min(len(_WINDOWS) - 1, _WINDOWS.index(self.view.window) + by))
        self.view = replace(self.view, window=_WINDOWS[at])
        self.notice(f"timeline of {_WINDOWS[at]:g} s")
        self._ask()
