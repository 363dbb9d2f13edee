"""The tasks screen: what every thread, process or command does, sampled at its switches, and where it ran."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from textual import events
from textual.message import Message
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.past_rows import PastRows
from turbotui.app.prompt import Prompt
from turbotui.app.row_table import RowTableScreen
from turbotui.app.sessions import PlayedSession
from turbotui.app.text_window import TextWindow
from turbotui.app.view_states import ViewChoice, ViewState
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.tasks.applications import EVERYTHING, Application, parse_targets
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskColumn, TaskInputs, why_missing
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher, WatchedCommand
from turbotui.features.tasks.loads import LOAD_BY_ID
from turbotui.features.tasks.parallel_columns import PARALLEL_BY_ID
from turbotui.features.tasks.process_tree import own_key, sum_key
from turbotui.features.tasks.recorded_tasks import tasks_of
from turbotui.features.tasks.region_look import RegionLook
from turbotui.features.tasks.screen_rows import (
    AMOUNTS,
    LANE_LEFT,
    LanePainter,
    PastTasks,
    TaskContent,
    TaskRows,
    TreePainter,
    content_of,
    known_columns,
    lane_cell,
    tree_slots,
)
from turbotui.features.tasks.screen_text import (
    COMMAND,
    PLURAL,
    TasksView,
    head_line,
    no_tasks_words,
    note_lines,
    serial_lines,
    task_evidence,
    word_of,
)
from turbotui.features.tasks.spans import MINUTE_NS, TaskSpan, joined, span_words
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_table import TASKS, starting_columns
from turbotui.features.tasks.waits import WAIT_BY_ID
from turbotui.machine.tasks.proc_facts import ProcFacts, TaskLooks
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.rows import FindRows
from turbotui.sampling.energy import EnergyMeter, energy_of, energy_signals
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import in_words
from turbotui.widgets.explanation import evidence_lines
from turbotui.widgets.row_content import RowContent, RowPainter, RowView
from turbotui.widgets.segment_lines import NoteLines, SegmentLines
from turbotui.widgets.slots import row_slots, with_room
from turbotui.widgets.table_view import TableView

_WINDOWS = (2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Seconds of a timeline."""
_SUM_EVERY_NS: Final = 5_000_000_000
"""Time from one sum over a span to the next: it takes up to 0.1 s, for up to 20,000 rows."""
_NONE_RAN: Final = "No task ran in this interval, of those that were recorded: , and . go to others"
_KINDS: Final = ((Grouping.THREAD, False), (Grouping.PROCESS, False), (Grouping.PROCESS, True),
                 (Grouping.COMMAND, False), (Grouping.UNIT, False))
"""What `t` goes through: what a row stands for, and whether rows stand in a tree."""


@dataclass()
class SnapshotReady(Message, bubble=False):
    """A message with a snapshot of the watcher; a newer snapshot replaces one not yet handled."""

    snapshot: TaskSnapshot
    watcher: TaskWatcher

    def can_replace(self, message: Message) -> bool:
        """Whether a later message replaces this one: every later snapshot does."""
        return isinstance(message, SnapshotReady)


class TasksScreen(RowTableScreen[TaskInputs]):
    """The machine's tasks, whose counters are open only while the screen is shown."""

    where = "tasks"
    number = "7"
    word = "tasks"
    opens = "where"
    BINDINGS = bindings_for("tasks")

    DEFAULT_CSS = """
    TasksScreen #heads { height: 1; }
    """

    def __init__(self, watch: Watch) -> None:
        self.view = TasksView()
        self._lanes_shown = self._tree_shown = False
        super().__init__(watch)
        beside: object = watch.beside
        self._lent: WatchedCommand | None = beside if isinstance(beside, WatchedCommand) else None
        self.applications: tuple[Application, ...] = EVERYTHING if self._lent is None else self._lent.applications
        self.watcher: TaskWatcher | None = None
        self._meter = EnergyMeter(watch.session.capabilities)
        self._snapshot: TaskSnapshot | None = None
        self._stopped = False
        self._clocks: tuple[int, int] | None = None  # of the newest frame, which a left screen would keep for ever
        self._seq = 0
        self._past = PastRows(watch.session, self._recorded)
        self._newest: PastTasks | None = None
        self._span = TaskSpan.INTERVAL
        self._sum: tuple[Hashable, int, PastTasks | None] = (), 0, None  # of a span: which, its end, and the sum
        self._sorted: RowView[TaskInputs] | None = None  # the view before a span was chosen
        self._kept: PastTasks | None = None  # the interval that is shown, or that ends the shown span
        self.regions = RegionLook(watch)
        self._facts = ProcFacts(watch.session.machine.host, watch.session.machine.topology)
        self.played = watch.session if isinstance(watch.session, PlayedSession) else None

    def body(self) -> Iterable[Widget]:
        """Compose the head line, the table and the notes below it."""
        yield SegmentLines(id="heads")
        yield from super().body()
        yield NoteLines(id="notes")

    def first_view(self) -> RowView[TaskInputs]:
        """The view before the user changes it: the busiest rows first."""
        columns = tuple(column for column in starting_columns(TasksView().by) if column.default)
        return TableView(columns, sort=next(column for column in columns if column.id == "CPU%"), reverse=True)

    def row_list(self) -> TaskRows:
        return TaskRows()

    def painter(self, view: RowView[TaskInputs], _seconds: float, width: int) -> RowPainter[TaskInputs]:
        """The painter of numbers, or that of lanes."""
        if self._tree_shown and not self._lanes_shown:
            return TreePainter(view, *with_room(view, tree_slots(view, width), width, width), width)
        if not self._lanes_shown:
            return RowPainter(view, *with_room(view, row_slots(view, width), width, width), width)
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
        head = head_line(self.applications, self._snapshot, self.view, watching=there, span=self._said_of_span())
        self.query_one("#heads", SegmentLines).show([head if there or self.played is None else []])
        width, height = self.size
        notes = [] if self._snapshot is None else note_lines(self._snapshot, self.energy, width, height)
        cursor = self.watch_state.cursor
        happened = [] if self.played is None or cursor is None else [event.text for event in cursor.timeline.events]
        notes = [*serial_lines(happened, width), *self.regions.lines(self.watch_state.frame, width), *notes]
        self.query_one("#notes", NoteLines).show_notes(notes)
        self.show_status()

    def readout(self) -> str:
        """Describe the row under the cursor in words."""
        if self._snapshot is None and self.over_span and self._newest is not None:
            return "No interval has ended since the mark: amounts follow"
        if self._snapshot is None and (self.watch_state.in_past or self.played is not None):
            return no_tasks_words(self._past.first_ns, played=self.played is not None)
        if self._snapshot is None:
            started = self.watcher is not None
            return self.waiting_for("the first samples") if started else "w: choose what to watch · s: start"
        inputs, cell = self._inputs(self._table.current), self._table.selected
        if inputs is None:
            return self.all_filtered or (_NONE_RAN if self.played is not None else
                                         "w: choose what to watch · t: threads, processes, commands · v: timeline")
        chosen = "" if cell is None or not self._table.is_column_chosen else self._in_short(*cell)
        row = inputs.row
        few = 0 < len(row.cpus) < 9
        where = f"on CPU {', '.join(map(str, row.cpus))}" if few else f"on {several(len(row.cpus), 'CPU')}"
        moved = f"{row.migrations} migration{'' if row.migrations == 1 else 's'}"
        in_all = "" if row.whole_run is None else f"{row.whole_run / 1e9:.3f} s in all, "
        return f"{chosen}{row.name or '(no name)'} · ran {row.run_seconds:.3f} s, {moved} · {in_all}{where}"

    def _in_short(self, column: TaskColumn, row: Hashable) -> str:
        """Shorten a cell to precede the status line's description of the task, which names the row."""
        content = self._table.content
        cell = None if content is None else content.cell(column, row)
        if cell is None or column.identity:
            return ""
        why = "" if cell.why is None else f" ({cell.why.sentence()})"
        return f"{column.id} {in_words(column, cell.value)}{why} · "

    def _current_task(self) -> TaskInputs | None:
        """The task under the cursor; None, and a sentence that says so, where there is none."""
        if (inputs := self._inputs(self._table.current)) is None:
            self.notice("There is no task under the cursor")
        return inputs

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

    # Watching

    def read_beside(self) -> None:
        """Also read the packages' energy, which is divided among tasks."""
        self.watch_state.read_also(self, (), energy_signals(self.watch_state.session.capabilities))

    def on_screen_resume(self) -> None:
        """Open the counters when the screen becomes visible."""
        super().on_screen_resume()
        if self.composed:
            self.show_again()
            self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if self.played is not None or self.watcher is not None or self._stopped or (self not in self.app.screen_stack):
            return
        watcher: TaskWatcher | None = None

        def publish(snapshot: TaskSnapshot) -> None:
            if snapshot.record is not None:
                self.watch_state.record_rows(snapshot.record)
            if watcher is not None:
                self.post_message(SnapshotReady(snapshot, watcher))

        lent = self._lent
        self._meter = EnergyMeter(self.watch_state.session.capabilities)
        if lent is not None and lent.watcher is not None and self.applications == lent.applications:
            watcher = self.watcher = lent.watcher
            lent.listener = publish
            watcher.snapshot(self._request())
        else:
            watcher = self.watcher = TaskWatcher(self.watch_state.session.machine, self.applications, publish)
            watcher.start(self._request())
        self.draw()

    def close(self) -> None:
        """Close the counters of tasks."""
        if self.watcher is not None and self._lent is not None and self.watcher is self._lent.watcher:
            self._lent.listener = None  # it goes on counting for the report at the command's end
        elif self.watcher is not None:
            self.watcher.stop()
        self.watcher = None

    def restart(self, applications: tuple[Application, ...]) -> None:
        """Start watching: another application, or the same one again."""
        self.close()
        self.applications = applications
        self._snapshot = self._newest = None
        self._stopped = False
        self._past = PastRows(self.watch_state.session, self._recorded)
        self._pasts.clear()
        if self.marked is not None:
            self.compare(begin=False)
        self._show_kept(None)
        self._begin()

    def stop(self) -> None:
        """Close every counter, and keep the last table."""
        self.close()
        self._stopped = True
        self.draw()

    def ask(self, *, again: bool = True) -> None:
        """Request a table of a new interval, or of the last interval with the current settings."""
        if self.watcher is not None:
            clocks = None
            is_recorded = self.watch_state.recorder is not None or self._lent is not None
            if is_recorded and not again:
                clocks = self._clocks
            self.watcher.snapshot(replace(self._request(), again=again, clocks=clocks))

    def _request(self) -> SnapshotRequest:
        view = self.view
        shown = {column.id for column in self._table.view.columns}
        return SnapshotRequest(view.by, view.window if view.timeline else 0.0, self.lane_places()[0], tree=view.tree,
                               waits=not shown.isdisjoint(WAIT_BY_ID), loads=not shown.isdisjoint(LOAD_BY_ID),
                               parallel=not shown.isdisjoint(PARALLEL_BY_ID))

    def lane_places(self) -> tuple[int, int]:
        """The number of cells in a timeline, and the width of a cell in characters."""
        cell = lane_cell(self.watch_state.session.machine.topology.cpus)
        return max(1, (self.size.width - LANE_LEFT - 1) // cell), cell

    def take(self, frame: Frame) -> None:
        """End the interval of the tasks with a new frame."""
        super().take(frame)
        if frame.clocks != self._clocks:
            self._clocks = frame.clocks
            self.regions.take(frame)
            self._meter.feed(frame)
            self.ask(again=False)

    def show_frame(self) -> None:
        """Show the tasks of a moment of the past, if the watch shows one."""
        newest = None if self.watch_state.held or self._newest is None else self._newest.snapshot
        if self.watch_state.in_past or (newest is not None and self._snapshot is not newest):
            self.show_again()
        super().show_frame()

    def show_again(self) -> None:
        """Redraw the shown interval after a change of the view."""
        frame = self.watch_state.frame
        if self.watch_state.in_past and frame is not None and frame.older is not None:
            self._show_kept(self._of_moment(frame))
        elif self._newest is not None:
            self._show_kept(self._newest)

    def _of_moment(self, frame: Frame) -> PastTasks | None:
        """The tasks of a past interval, kept or recorded; None if there are none."""
        return self.undamaged(lambda: self._past.of(frame, (self.view.by, self.view.tree)))

    def moment(self, frame: Frame, _name: str) -> TaskContent | None:
        kept = self._of_moment(frame)
        return None if kept is None else self._content(kept)

    def over_minute(self, content: RowContent[TaskInputs]) -> tuple[RowContent[TaskInputs], float] | None:
        kept, end = self._kept, self._shown_end
        if kept is None or end is None:
            return None
        if self.over_span:
            return content, 0.0 if self._snapshot is None else self._snapshot.seconds
        spanned = self._joined(self._intervals(end - MINUTE_NS, end))
        if spanned is None or not spanned.snapshot.seconds:
            return None
        over = self._content(spanned)
        over.part = kept.snapshot.seconds / spanned.snapshot.seconds
        return over, spanned.snapshot.seconds

    @property
    def newest_ns(self) -> int | None:
        return self._past.last_ns

    @property
    def shown_ns(self) -> int | None:
        return None if self._kept is None else self._kept.end_ns

    def _recorded(self, rows: FindRows, frame: Frame) -> PastTasks | None:
        by, tree = self.view.by, self.view.tree
        if (record := tasks_of(rows, frame, self.watch_state.session.machine.model, by)) is None:
            return None
        snapshot = TaskSnapshot(SnapshotRequest(by, tree=tree), record.reports[by], ancestry=record.ancestry)
        return PastTasks(snapshot, energy_of(frame), frame.seq, record.looks, end_ns=frame.newer.wall_ns)

    def _show_kept(self, kept: PastTasks | None) -> None:
        """Show the kept tasks of an interval, or of the span that ends with it, or that none were kept."""
        self._kept = kept
        if self.over_span:  # also where the span ends with an interval without tasks
            kept = self._spanned()
        self._snapshot = None if kept is None else kept.snapshot
        self._show(TaskContent(RowTable(TASKS, self.view.by.value, starting_columns(self.view.by), ())) if kept is None
                   else self._content(kept))
        self.draw()

    # Spans

    @property
    def over_span(self) -> bool:
        """Whether numbers are of a span; the timeline has one of its own."""
        return self._span is not TaskSpan.INTERVAL and not self.view.timeline

    @property
    def _mark_ns(self) -> int | None:
        """The time of the latest mark before the shown moment; None if there is none."""
        cursor, end = self.watch_state.cursor, self._shown_end
        ends = () if cursor is None or end is None else [mark.time_ns for mark in cursor.marks if mark.time_ns <= end]
        return max(ends, default=None)

    @property
    def _shown_end(self) -> int | None:
        if not self.watch_state.in_past and self.played is None:
            return None if self._clocks is None else self._clocks[0]
        return None if self.watch_state.frame is None else self.watch_state.frame.newer.wall_ns

    def _spanned(self) -> PastTasks | None:
        """The sum of the intervals of the span that ends at the shown moment."""
        end, by, tree, mark = self._shown_end, self.view.by, self.view.tree, self._mark_ns
        if end is None:
            return None
        begin = mark if self._span is TaskSpan.MARK and mark is not None else end - MINUTE_NS
        key = self._span, by, tree, mark if self._span is TaskSpan.MARK else None, self._newest is None
        known, until, joined_tasks = self._sum
        moves = not self.watch_state.in_past or bool(self.watch_state.play_state)
        if key != known or joined_tasks is None or not until <= end < until + (_SUM_EVERY_NS if moves else 1):
            joined_tasks = self._joined(self._intervals(begin, end))
            self._sum = key, end, joined_tasks
        return joined_tasks

    def _joined(self, intervals: Iterable[PastTasks]) -> PastTasks | None:
        """The sum of intervals as rows of the shown kind."""
        newest = self._newest if self.view.tree else None
        return joined(intervals, self.view.by, self.watch_state.session.machine.topology, newest)

    def _intervals(self, begin_ns: int, end_ns: int) -> Iterator[PastTasks]:
        """The tasks of the intervals that ended after one time and not after another."""
        cursor = self.watch_state.cursor
        if self.played is None:
            yield from self._past.between(begin_ns, end_ns)
        elif cursor is not None:
            times = cursor.timeline.times
            frames = map(cursor.timeline.frame, times[bisect_right(times, begin_ns):bisect_right(times, end_ns)])
            yield from filter(None, (self._of_moment(frame) for frame in frames if frame is not None))

    def _said_of_span(self) -> str:
        """The heading that names the span of the numbers; "" for one interval."""
        if not self.over_span:
            return ""
        return span_words(self._mark_ns if self._span is TaskSpan.MARK else None,
                          0.0 if self._snapshot is None else self._snapshot.seconds, self.watch_state.interval)

    def action_span(self) -> None:
        """Show numbers since the mark, if there is one, of the last minute, or of each interval again."""
        spans = [choice for choice in TaskSpan
                 if choice in {TaskSpan.INTERVAL, self._span, TaskSpan.MINUTE} or self._mark_ns]
        self._choose_span(spans[(spans.index(self._span) + 1) % len(spans)])

    def _choose_span(self, span: TaskSpan) -> None:
        before, self._span = self._span, span
        if before is TaskSpan.INTERVAL:
            self._sorted = self._table.view
            why, meters = self.energy, energy_signals(self.watch_state.session.capabilities)
            is_shared = bool(meters) and (why is None or why.reason is Reason.FIRST_TICK)  # or will be
            most = "~J" if is_shared else "Time_s"
            self._change(sort=next(column for column in TASK_COLUMNS if column.id == most), reverse=True)
        elif span is TaskSpan.INTERVAL and self._sorted is not None:
            self._change(sort=self._sorted.sort, reverse=self._sorted.reverse)
        self.show_again()
        self.notice(span.value)

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """What is watched, span, rows and timeline, beside the choices of all tables; a span has its own order."""
        own = ("order", self.table_name) if self.over_span else None
        yield from (choice for choice in super().choices() if choice.name != own)
        yield ViewChoice(self.number, "span", self._span, self._choose_span, "")
        yield ViewChoice(self.number, "rows", self.view, self._view_as, "Rows as they were")
        yield ViewChoice(self.number, "watched", self.applications, self.restart, "Watching what was watched before")

    def states(self) -> Iterator[ViewState]:
        """That nothing is watched any more, beside the states of all tables."""
        yield from super().states()
        if self._stopped and (self._snapshot is None or not self._snapshot.failed):
            yield ViewState(self.number, "stopped", partial(self.restart, self.applications), "Watching again")

    def _view_as(self, view: TasksView) -> None:
        self.view = view
        if self.played is None:
            self.ask()
        else:
            self.show_again()

    def on_snapshot_ready(self, message: SnapshotReady) -> None:
        """Show a snapshot, unless its watch has ended."""
        if message.watcher is not self.watcher:
            return
        if message.snapshot.failed:
            self.close()
            self._stopped = True
        again, taken = message.snapshot.request.again, self._meter.take()
        spent = self._newest.spent.plus(taken) if again and self._newest is not None else taken
        self._seq += not again
        time_ns = 0 if self._clocks is None else self._clocks[0]
        if self._newest is not None:
            self._newest.looks.close()
        self._newest = PastTasks(message.snapshot, spent, self._seq, TaskLooks(self._facts), end_ns=time_ns or None)
        self._past.keep(time_ns, sum(len(report.rows) for report in message.snapshot.reports), self._newest, self._seq)
        if self.watch_state.held:
            return
        self._show_kept(self._newest)
        self.renew_window()

    def _content(self, kept: PastTasks) -> TaskContent:
        watch = self.watch_state
        name = AMOUNTS if self.over_span else TASKS
        return content_of(kept, watch.session.machine.topology, self._table.view.folded, watch.pointing.cpu, name=name)

    def _show(self, content: TaskContent) -> None:
        drawn = content.lanes is not None, content.tree is not None
        if drawn != (self._lanes_shown, self._tree_shown):
            self._lanes_shown, self._tree_shown = drawn
            self.show_view(self._table.view)
        self.show_content(content)

    @property
    def energy(self) -> Unavailable | None:
        """The reason why energy is not shared out; None if it is."""
        content = self._table.content
        return content.energy if isinstance(content, TaskContent) else None

    # Actions

    def action_watch(self) -> None:
        """Choose what to watch."""
        if self._is_recorded():
            return
        before = " ".join(word_of(application) for application in self.applications)

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
                applications = parsed(text)
            except UsageError as error:
                self.notice(str(error))
                return
            self.restart(applications)

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
            self.notice("The past is kept as it was shown: Backspace returns to now")
        return self.watch_state.in_past

    def action_rows(self) -> None:
        """Change the kind of rows: threads, processes, a process tree, commands, or containers and units."""
        if self.played is None and self._is_kept_as_it_is():
            return
        by, tree = _KINDS[(_KINDS.index((self.view.by, self.view.tree)) + 1) % len(_KINDS)]
        self._view_as(replace(self.view, by=by, tree=tree, timeline=False))
        self.notice("Processes below their parents; ← folds, * folds all" if tree else f"Rows are {PLURAL[by]}")

    @property
    def known_columns(self) -> Sequence[TaskColumn]:
        return TASK_COLUMNS if self._snapshot is None else known_columns(self._snapshot)

    def why_absent(self, column: TaskColumn) -> Unavailable | None:
        """Why no application has a column; None if one has it."""
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

    def _fold(self, row: Hashable, *, fold: bool) -> None:
        """Fold a process into one row with all its descendants, or unfold it."""
        key = own_key(row)
        super()._fold(key, fold=fold)
        self._table.select(sum_key(key) if fold else key)

    def show_folds(self, folded: frozenset[Hashable]) -> None:
        """Fold these processes, whose sums change with it."""
        super().show_folds(folded)
        self.show_again()

    @property
    def outer_rows(self) -> frozenset[Hashable] | None:
        """Rows that contain others: processes that started others."""
        content = self._table.content
        tree = content.tree if isinstance(content, TaskContent) else None
        return None if tree is None else frozenset(tree.parts)

    # What a person may do

    def action_acts(self) -> None:
        """Show command lines for the task under the cursor; one is copied, none is run."""
        if (inputs := self._current_task()) is None:
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

        row = inputs.row
        show_command_lines(self, f"{row.name or '(no name)'}{'' if row.pid is None else f' ({row.pid})'}", lines)

    def action_point(self) -> None:
        """Highlight the CPUs on which the task under the cursor ran, on the map and in the tables of CPUs."""
        if (inputs := self._current_task()) is None:
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
        """Show the CPUs on which the task under the cursor ran."""
        if self._inputs(self._table.current) is None:
            return False
        self.action_point()
        return True

    def go_back(self) -> None:
        """Go back to the tasks of all CPUs."""
        alone = self.watch_state.pointing.cpu is not None
        super().go_back()
        if alone:
            self.show_again()

    def flags(self) -> list[str]:
        """The CPU whose tasks are shown, as words for the status line."""
        cpu = self.watch_state.pointing.cpu
        return [*super().flags(), *([] if cpu is None else [f"only what ran on CPU {cpu}: Esc returns"])]
