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
from turbotui.analysis.tasks.columns import TASK_COLUMNS, TaskColumn, TaskInputs, extra_columns, why_missing
from turbotui.analysis.tasks.energy import Energy, EnergyMeter, energy_columns, share_out
from turbotui.analysis.tasks.live import Cut, TaskWatcher, Wish
from turbotui.analysis.tasks.tables import Grouping
from turbotui.errors import UsageError
from turbotui.quantities.columns import Column
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.screens.actions import Where, bindings_for
from turbotui.screens.base import WatchScreen
from turbotui.screens.prompt import Prompt
from turbotui.screens.sort_menu import SortMenu
from turbotui.screens.tasks_text import PLURAL, TasksView, head_line, note_lines, word_of
from turbotui.screens.watch import Watch
from turbotui.widgets.filter import FilterError, parse_filter
from turbotui.widgets.listing import Listing
from turbotui.widgets.piece_lines import Hot, PieceLines
from turbotui.widgets.task_lines import (
    LANE_LEFT,
    DrawnLine,
    TaskLine,
    in_order,
    lane_cell,
    lane_head,
    lane_pieces,
    matching,
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


class TasksScreen(WatchScreen):
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
        self.view = TasksView()
        self.watcher: TaskWatcher | None = None
        self._meter = EnergyMeter(watch.session.census)
        self._cut: Cut | None = None
        self._energy: Unavailable | None = None
        self._lines: list[TaskLine] = []
        self._columns: tuple[TaskColumn, ...] = TASK_COLUMNS
        self._query = ""
        self._stopped = False
        self._frame: Frame | None = None
        self._spent = Energy({}, {}, {})
        self._list = Listing(id="tasks")

    def body(self) -> Iterable[Widget]:
        """What is watched and the titles, the table, what has to be said of it."""
        yield PieceLines(id="heads")
        yield self._list
        yield PieceLines(id="notes")

    @property
    def listing(self) -> Listing:
        """The table, for tests."""
        return self._list

    @property
    def wanted(self) -> Sequence[Column]:
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
        self._compute(message.cut)
        self._draw()

    def _compute(self, cut: Cut) -> None:
        taken = self._meter.take()
        self._spent = energy = self._spent.plus(taken) if cut.wish.again else taken
        self._energy = energy.why
        names = tuple(dict.fromkeys(name for report in cut.reports for name in report.names))
        recipe = frozenset[str]().union(*(report.numerics.counters for report in cut.reports))
        everything = (*TASK_COLUMNS, *extra_columns(names, recipe))
        shown = [column for column in everything if self._has(column, cut)]
        self._columns = tuple(shown)
        self._lines = []
        for report in cut.reports:
            joules = share_out(report.rows, energy, self.watch_state.session.machine.topology,
                               by_cycles="cycles" in report.names, everything=report.application.everything)
            self._lines += [
                TaskLine(TaskInputs(row, report.seconds, report.numerics, joules.get(row.key)))
                for row in report.rows if not row.ended or row.counts["run"]
            ]

    def _has(self, column: TaskColumn, cut: Cut) -> bool:
        if column.id == "App":
            return len(self.applications) > 1
        if column.id == "TID":
            return self.view.by is Grouping.THREAD
        if column.id == "Thr":
            return self.view.by is not Grouping.THREAD
        if column.id == "PID":
            return self.view.by is not Grouping.COMMAND
        return any(why_missing(column, report.names, report.numerics, self._energy) is None
                   for report in cut.reports if report.names)

    # Drawing

    def _draw(self) -> None:
        if not self.composed:
            return
        view = self.view
        fit = that_fit(self._columns, self.size.width)
        heads = [head_line(self.applications, self._cut, view, watching=self.watcher is not None)]
        hot: list[Hot] = []
        if self.view.timeline:
            places, cell = self._places()
            heads.append(lane_head(self.view.window, places, cell))
            lanes = self._cut.lanes if self._cut is not None else ()
            self._list.show([DrawnLine(row.key, partial(lane_pieces, row, line, cell)) for row, line in lanes
                             if self._passes(row.name, row.pid, row.tid)])
        else:
            heads.append(titles(fit, self.view.sort, reverse=self.view.reverse))
            hot = [Hot(1, start, end, f"screen.sort_by('{column.id}')") for start, end, column in places_of(fit)]
            self._list.show([DrawnLine(line.key, partial(pieces_of, line, fit)) for line in self._visible()])
        self.query_one("#heads", PieceLines).show(heads, hot)
        notes = [] if self._cut is None else note_lines(self._cut, self._energy, self.size.width, self.size.height)
        self.query_one("#notes", PieceLines).styles.height = len(notes)
        self.query_one("#notes", PieceLines).show([[(f" {note}", tone)] for note, tone in notes])
        self.show_status()

    def _passes(self, name: str, pid: int | None, tid: int | None) -> bool:
        words = f"{name} {pid} {tid}".lower()
        return all(word in words for word in self.view.filter.words)

    def _visible(self) -> list[TaskLine]:
        view = self.view
        kept = self._lines
        if view.filter.text:
            kept = [line for line in kept if view.filter.passes(line.words, line.cell)]
        return in_order(kept, self._column(view.sort), reverse=view.reverse)

    def readout(self) -> str:
        """The row under the cursor in words."""
        if self._cut is None:
            return "w: choose what to watch · s: start" if self.watcher is None else "waiting for the first samples"
        key = self._list.key
        line = next((line for line in self._lines if line.key == key), None)
        if line is None:
            return "w: choose what to watch · t: threads, processes, commands · v: timeline"
        row = line.row
        where = f"on CPU {', '.join(map(str, row.cpus))}" if len(row.cpus) < 9 else f"on {len(row.cpus)} CPUs"
        return (f"{row.name or '(no name)'} · ran {row.run_seconds:.3f} s in this interval, "
                f"{row.whole_run / 1e9:.3f} s since the start, {where}, {row.migrations} migrations in this interval")

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

    def _change(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]  # names and types are TasksView's
        self._draw()

    def action_watch(self) -> None:
        """Choose what to watch."""
        before = " ".join(word_of(one) for one in self.applications)

        def typed(text: str) -> str:
            try:
                parse_targets(text)
            except UsageError as error:
                return str(error) if text.strip() else "all, a process id, /a/control/group, or NAME:pid=N:events=…"
            return "Enter to watch"

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
        self._cut, self._lines, self._stopped = None, [], False
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

    def action_sort_by(self, name: str) -> None:
        """Sort by a column; by the one that is sorted by already: reverse."""
        if name == self.view.sort:
            self.action_reverse()
            return
        column = next((column for column in self._columns if column.id == name), None)
        if column is not None:
            self._change(sort=name, reverse=column.decimals >= 0 and not column.identity)

    def action_sort_step(self, by: int) -> None:
        """Sort by the next or previous column."""
        names = [column.id for column in self._columns]
        if names:
            at = names.index(self.view.sort) if self.view.sort in names else -1
            self.action_sort_by(names[(at + by) % len(names)])

    def action_sort_menu(self) -> None:
        """Choose the column from a list."""

        def chosen(name: str | None) -> None:
            if name and name != self.view.sort:
                self.action_sort_by(name)

        self.app.push_screen(SortMenu(self._columns, self.view.sort, "sort tasks by"), chosen)

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
        before = self.view.filter

        def typed(text: str) -> str:
            try:
                chosen = parse_filter(text, self._column)
            except FilterError as error:
                return str(error)
            self._change(filter=chosen)
            return ""

        def done(text: str | None) -> None:
            if text is None:
                self._change(filter=before)

        self.app.push_screen(Prompt("filter", before.text, typed), done)

    def _column(self, name: str) -> TaskColumn | None:
        return next((column for column in self._columns if column.id.lower() == name.lower()), None)

    def action_move(self, by: int) -> None:
        """Up or down one row."""
        self._list.move(by)

    def action_page(self, by: int) -> None:
        """Up or down one page."""
        self._list.move(by * max(1, self._list.size.height - 1))

    def action_end(self, by: int) -> None:
        """First or last row."""
        self._list.move(by * 1_000_000)
