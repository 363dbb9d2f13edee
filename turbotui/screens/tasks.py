"""The tasks screen: what every thread, process or command does, sampled at its switches, and where it ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.widget import Widget

from turbotui.analysis.tasks.applications import Application, parse_targets
from turbotui.analysis.tasks.energy import Energy, EnergyMeter, energy_columns
from turbotui.analysis.tasks.live import Cut, TaskWatcher, Wish
from turbotui.analysis.tasks.tables import Grouping
from turbotui.errors import UsageError
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame
from turbotui.screens.actions import Where, bindings_for
from turbotui.screens.prompt import Prompt
from turbotui.screens.tasks_cut import Shown, shown_as
from turbotui.screens.tasks_explain import ExplainTask
from turbotui.screens.tasks_table import TaskTable
from turbotui.screens.tasks_text import PLURAL, explanation, head_line, note_lines, word_of
from turbotui.screens.watch import Watch
from turbotui.widgets.piece_lines import Hot, PieceLines
from turbotui.widgets.task_lines import (
    LANE_LEFT,
    DrawnLine,
    lane_cell,
    lane_head,
    lane_pieces,
    pieces_of,
    places_of,
    that_fit,
    titles,
)

_WINDOWS = (2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Seconds of a timeline."""
_GROUPINGS = tuple(Grouping)
_EVERYTHING = (Application("all", everything=True),)


@dataclass
class CutReady(Message, bubble=False):
    """A cut from the watcher's thread; a newer one replaces one that was not handled yet."""

    cut: Cut
    watcher: TaskWatcher

    def can_replace(self, message: Message) -> bool:
        """Only the newest is worth drawing."""
        return isinstance(message, CutReady)


class TasksScreen(TaskTable):
    """Tasks of the machine. Counters are opened when the screen is shown, and closed when it is left."""

    where: ClassVar[Where] = Where.TASKS
    number = "7"
    word = "tasks"
    BINDINGS = bindings_for(Where.TASKS)

    DEFAULT_CSS = """
    TasksScreen #heads { height: 2; }
    TasksScreen #notes { height: auto; }
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.applications: tuple[Application, ...] = _EVERYTHING
        self.watcher: TaskWatcher | None = None
        self._meter = EnergyMeter(watch.session.census)
        self._cut: Cut | None = None
        self._stopped = False
        self._frame: Frame | None = None
        self._spent = Energy({}, {}, {})

    def body(self) -> Iterable[Widget]:
        """What is watched and the titles, the table, what has to be said of it."""
        yield PieceLines(id="heads")
        yield self._list
        yield PieceLines(id="notes")

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """What the energy is shared out of."""
        session = self.watch_state.session
        return energy_columns(session.catalog, session.census)

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

        def publish(cut: Cut) -> None:
            if watcher is not None:
                self.post_message(CutReady(cut, watcher))

        watcher = self.watcher = TaskWatcher(self.watch_state.session.machine, self.applications, publish)
        self._meter = EnergyMeter(self.watch_state.session.census)
        watcher.start(self._wish())
        self._draw()

    def _end(self) -> None:
        if self.watcher is not None:
            self.watcher.stop()
            self.watcher = None

    def _ask(self, *, again: bool = True) -> None:
        """Ask for a table: of a new interval, or of the last one as it is to be shown now."""
        if self.watcher is not None:
            self.watcher.cut(replace(self._wish(), again=again))

    def _wish(self) -> Wish:
        view = self.view
        return Wish(view.by, view.window if view.timeline else 0.0, self._places()[0])

    def _places(self) -> tuple[int, int]:
        cell = lane_cell(self.watch_state.session.machine.topology.cpus)
        return max(1, (self.size.width - LANE_LEFT - 1) // cell), cell

    def show_frame(self) -> None:
        """A new frame ends the interval of the tasks too; the same one is shown again when a window closes."""
        frame = self.watch_state.frame
        if frame is not None and frame is not self._frame:
            self._frame = frame
            self._meter.feed(frame)
            self._ask(again=False)
        super().show_frame()

    def show_columns(self) -> None:
        """Lay the table out for the width."""
        self.watch_state.want(self.wanted)
        self._draw()

    def on_cut_ready(self, message: CutReady) -> None:
        """Take a cut, unless it is of a watch that has ended."""
        if message.watcher is not self.watcher or self.watch_state.paused:
            return
        self._cut = message.cut
        if all(report.error for report in message.cut.reports):
            self._end()
            self._stopped = True
        taken = self._meter.take()
        self._spent = self._spent.plus(taken) if message.cut.wish.again else taken
        self._shown = shown_as(message.cut, self._spent, self.watch_state.session.machine.topology)
        self._draw()
        if isinstance(self.app.screen, ExplainTask):
            self.app.screen.show_frame()

    # Drawing

    def _draw(self) -> None:
        if not self.composed:
            return
        view = self.view
        fit = that_fit(self._shown.columns, self.size.width)
        heads = [head_line(self.applications, self._cut, view, watching=self.watcher is not None)]
        hot: list[Hot] = []
        if self.view.timeline:
            places, cell = self._places()
            heads.append(lane_head(self.view.window, places, cell))
            lanes = self._cut.lanes if self._cut is not None else ()
            self._list.show([DrawnLine(lane.row.key, partial(lane_pieces, lane, cell)) for lane in lanes
                             if self._passes(lane.row.name, lane.row.pid, lane.row.tid)])
        else:
            heads.append(titles(fit, self.view.sort, reverse=self.view.reverse))
            hot = [Hot(1, start, end, f"screen.sort_by('{column.id}')") for start, end, column in places_of(fit)]
            self._list.show([DrawnLine(line.key, partial(pieces_of, line, fit)) for line in self._visible()])
        self.query_one("#heads", PieceLines).show(heads, hot)
        width, height = self.size
        notes = [] if self._cut is None else note_lines(self._cut, self._shown.energy, width, height)
        self.query_one("#notes", PieceLines).styles.height = len(notes)
        self.query_one("#notes", PieceLines).show([[(f" {note}", tone)] for note, tone in notes])
        self.show_status()

    def readout(self) -> str:
        """The row under the cursor in words."""
        if self._cut is None:
            return "w: choose what to watch · s: start" if self.watcher is None else "waiting for the first samples"
        key = self._list.key
        line = next((line for line in self._shown.lines if line.key == key), None)
        if line is None:
            return "w: choose what to watch · t: threads, processes, commands · v: timeline"
        row = line.row
        where = f"on CPU {', '.join(map(str, row.cpus))}" if len(row.cpus) < 9 else f"on {len(row.cpus)} CPUs"
        moved = f"{row.migrations} migration{'' if row.migrations == 1 else 's'}"
        return (f"{row.name or '(no name)'} · ran {row.run_seconds:.3f} s, {moved} · "
                f"{row.whole_run / 1e9:.3f} s in all, {where}")

    def flags(self) -> list[str]:
        """Filter and grouping."""
        found = super().flags()
        if self.view.filter.text:
            found.append(f"filter {self.view.filter.text}: {len(self._list.items)} rows")
        return found

    def on_listing_moved(self) -> None:
        """Read out the row under the cursor."""
        self.show_status()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out anew, and ask for lines of the new length."""
        super().on_resize(event)
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
        self._cut, self._shown, self._stopped = None, Shown(), False
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

    def action_rows(self) -> None:
        """Threads, processes, commands."""
        by = _GROUPINGS[(_GROUPINGS.index(self.view.by) + 1) % len(_GROUPINGS)]
        self._change(by=by, timeline=False)
        self.notice(f"rows are {PLURAL[by]}")
        self._ask()

    def action_explain(self) -> None:
        """Every number of the row under the cursor, how it was sampled, and what cannot be had and why."""
        self.app.push_screen(ExplainTask(self._explained))

    def _explained(self, width: int) -> tuple[str, list[str]]:
        key = self._list.key
        line = next((line for line in self._shown.lines if line.key == key), None)
        return ("tasks" if line is None else line.said, explanation(self._cut, self._shown.energy, line, width))

    def action_timeline(self) -> None:
        """Numbers or lanes."""
        self._change(timeline=not self.view.timeline)
        self._ask()
        if self.view.timeline:
            self.notice("the CPU's number where a thread ran, filled where it ran at least half of the time; [ ] zoom")

    def action_window(self, by: int) -> None:
        """A longer or shorter timeline."""
        at = max(0, min(len(_WINDOWS) - 1, _WINDOWS.index(self.view.window) + by))
        self._change(window=_WINDOWS[at])
        self.notice(f"timeline of {_WINDOWS[at]:g} s")
        self._ask()
