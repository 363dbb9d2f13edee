"""Watches tasks while the tasks screen is shown, and turns snapshots into rows and a past."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, runtime_checkable

from textual.message import Message

from turbotui.app.graph import Graph
from turbotui.app.sessions import PlayedSession
from turbotui.app.text_window import TextWindow
from turbotui.app.tree_screen import TreeScreen
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.features.tasks.applications import EVERYTHING, Application
from turbotui.features.tasks.columns import TaskInputs
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.loads import LOAD_BY_ID
from turbotui.features.tasks.recorded_tasks import tasks_of
from turbotui.features.tasks.region_look import RegionLook
from turbotui.features.tasks.screen_rows import TaskContent, content_of
from turbotui.features.tasks.screen_text import TasksView
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_past import PastTasks, TaskPast
from turbotui.features.tasks.task_table import TASKS, starting_columns
from turbotui.features.tasks.timeline_lines import LANE_LEFT, lane_cell
from turbotui.features.tasks.waits import WAIT_BY_ID
from turbotui.machine.tasks.proc_facts import ProcFacts, TaskLooks
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.sampling.energy import EnergyMeter, energy_of, energy_signals
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot


def _nothing(by: Grouping) -> TaskContent:
    return TaskContent(RowTable(TASKS, by.value, starting_columns(by), ()))


@dataclass()
class SnapshotReady(Message, bubble=False):
    """A message with a snapshot of the watcher; a newer snapshot replaces one not yet handled."""

    snapshot: TaskSnapshot
    watcher: TaskWatcher

    def can_replace(self, message: Message) -> bool:
        """Whether a later message replaces this one: every later snapshot does."""
        return isinstance(message, SnapshotReady)


@runtime_checkable
class WatchedCommand(Protocol):
    """A command beside the dashboard, counted from its first instruction whether or not the screen is shown."""

    applications: tuple[Application, ...]
    watcher: TaskWatcher | None
    listener: Callable[[TaskSnapshot], None] | None


class WatchingScreen(TreeScreen[TaskInputs]):
    """A screen whose counters of tasks are open only while it is shown."""

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
        self._frame: Frame | None = None
        self._seq = 0
        self._past = TaskPast()
        self._newest: PastTasks | None = None
        self.regions = RegionLook(watch)
        self._facts = ProcFacts(watch.session.machine.host)
        self.played = watch.session if isinstance(watch.session, PlayedSession) else None
        self._recorded: tuple[tuple[int, Grouping, bool], PastTasks | None] = (0, Grouping.THREAD, False), None

    @abstractmethod
    def draw(self) -> None:
        """Draw the lines around the table."""

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
        if self.played is not None or self.watcher is not None or self._stopped or (
                self not in self.app.screen_stack):
            return
        watcher: TaskWatcher | None = None

        def publish(snapshot: TaskSnapshot) -> None:
            recorder = self.watch_state.recorder
            if recorder is not None and snapshot.record is not None:
                recorder.rows(snapshot.record)
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
        """The counters of tasks."""
        if self.watcher is not None and self._lent is not None and self.watcher is self._lent.watcher:
            self._lent.listener = None  # it goes on counting for the report at the command's end
        elif self.watcher is not None:
            self.watcher.stop()
        self.watcher = None

    def restart(self, applications: tuple[Application, ...]) -> None:
        """Start watching: another application, or the same one again."""
        self.close()
        self.applications = applications
        self._snapshot, self._newest, self._stopped, self._past = None, None, False, TaskPast()
        if self.marked is not None:
            self.compare(begin=False)
        self._show(_nothing(self.view.by))
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
            if self.watch_state.recorder is not None and self._frame is not None and not again:
                clocks = self._frame.clocks
            self.watcher.snapshot(replace(self._request(), again=again, clocks=clocks))

    def _request(self) -> SnapshotRequest:
        view = self.view
        shown = {column.id for column in self._table.view.columns}
        return SnapshotRequest(view.by, view.window if view.timeline else 0.0, self.lane_places()[0], tree=view.tree,
                               waits=not shown.isdisjoint(WAIT_BY_ID), loads=not shown.isdisjoint(LOAD_BY_ID))

    def lane_places(self) -> tuple[int, int]:
        """The number of cells in a timeline, and the width of a cell in characters."""
        cell = lane_cell(self.watch_state.session.machine.topology.cpus)
        return max(1, (self.size.width - LANE_LEFT - 1) // cell), cell

    def take(self, frame: Frame) -> None:
        """End the interval of the tasks with a new frame."""
        super().take(frame)
        if frame is not self._frame:
            self._frame = frame
            self.regions.take(frame)
            self._meter.feed(frame)
            self.ask(again=False)

    def show_frame(self) -> None:
        """Show the tasks of a moment of the past, if the watch shows one."""
        frame = self.watch_state.frame
        if self.watch_state.in_past and frame is not None and frame.older is not None:
            self._show_kept(self._of_moment(frame, frame.older))
        elif not self.watch_state.held and self._newest is not None and self._snapshot is not self._newest.snapshot:
            self._show_kept(self._newest)
        super().show_frame()

    def show_again(self) -> None:
        """Redraw the shown interval after a change of the view."""
        frame = self.watch_state.frame
        if self.watch_state.in_past and frame is not None and frame.older is not None:
            self._show_kept(self._of_moment(frame, frame.older))
        elif self._newest is not None:
            self._show_kept(self._newest)

    def _of_moment(self, frame: Frame, older: Snapshot) -> PastTasks | None:
        """The tasks of a past interval, kept or recorded; None if there are none."""
        if self.played is None:
            return self._past.at(older.wall_ns, frame.newer.wall_ns)
        key = wall, by, tree = frame.newer.wall_ns, self.view.by, self.view.tree
        if self._recorded[0] != key:
            try:
                record = tasks_of(self.played.rows, frame, self.watch_state.session.machine.model, by)
            except DamagedError as error:
                self.notice(str(error))
                record = None
            found = None
            if record is not None:
                snapshot = TaskSnapshot(SnapshotRequest(by, tree=tree), record.reports[by], ancestry=record.ancestry)
                found = PastTasks(wall, snapshot, energy_of(frame), frame.seq, record.looks)
            self._recorded = key, found
        return self._recorded[1]

    def _show_kept(self, kept: PastTasks | None) -> None:
        """Show the kept tasks of an interval, or that none were kept."""
        self._snapshot = None if kept is None else kept.snapshot
        self._show(_nothing(self.view.by) if kept is None else self._content(kept))
        self.draw()

    def on_snapshot_ready(self, message: SnapshotReady) -> None:
        """Show a snapshot, unless its watch has ended."""
        if message.watcher is not self.watcher:
            return
        if all(report.error for report in message.snapshot.reports):
            self.close()
            self._stopped = True
        again, taken = message.snapshot.request.again, self._meter.take()
        spent = self._newest.spent.plus(taken) if again and self._newest is not None else taken
        self._seq += not again
        time_ns = 0 if self._frame is None else self._frame.newer.wall_ns
        if self._newest is not None:
            self._newest.looks.close()
        self._newest = PastTasks(time_ns, message.snapshot, spent, self._seq, TaskLooks(self._facts))
        self._past.keep(self._newest)
        if self.watch_state.held:
            return
        self._show_kept(self._newest)
        if isinstance(self.app.screen, TextWindow | Graph):
            self.app.screen.show_frame()

    def _content(self, kept: PastTasks) -> TaskContent:
        watch = self.watch_state
        return content_of(kept, watch.session.machine.topology, self._table.view.folded, watch.pointing.cpu)

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
