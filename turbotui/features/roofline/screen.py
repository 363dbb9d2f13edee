"""The roofline screen: operations over bytes of cores or threads, below their roofs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.past import AFTER, Portions
from turbotui.app.row_table import RowTableScreen
from turbotui.app.sessions import PlayedSession
from turbotui.app.view_states import ViewChoice
from turbotui.app.watch import Watch
from turbotui.features.roofline.export import svg_text
from turbotui.features.roofline.point_table import point_table
from turbotui.features.roofline.result import JudgedPoint
from turbotui.features.roofline.roof_plot import RoofPlot
from turbotui.features.roofline.screen_curve import CurveWindow
from turbotui.features.roofline.screen_functions import open_functions
from turbotui.features.roofline.screen_table import POINT_TABLE_COLUMNS, points_content
from turbotui.features.roofline.screen_tasks import ThreadsReady, ThreadWatch
from turbotui.features.roofline.screen_text import (
    EACH,
    SIDE,
    below_lines,
    machine_lines,
    missing_lines,
    notes_of,
    save_file,
    side_lines,
    title_of,
)
from turbotui.features.roofline.screen_view import KEPT, TRAILS, RoofView
from turbotui.features.roofline.task_points import Note
from turbotui.features.roofline.verdict_text import verdict_text
from turbotui.features.tasks.recorded_tasks import joined_reports
from turbotui.features.tasks.region_look import RegionLook
from turbotui.features.tasks.report import Report
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.roofline import NO_FLOPS
from turbotui.quantities.scope import SYSTEM_ROW, RowId
from turbotui.quantities.sentences import several
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import KeptIntervals
from turbotui.tables.csv_lines import csv_text
from turbotui.tables.envelope import envelope_now
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_content import RowContent, RowView
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_view import TableView
from turbotui.widgets.table_widget import TableWidget

_WIDE = 110
"""The width from which the panel stands at the right."""
_ZOOM = 1.5
_PAN = 0.1
_MOST_CHOICES = 16


class RooflineScreen(RowTableScreen[JudgedPoint]):
    """The screen with points on a log-log canvas and a table below; the point under the cursor is read out."""

    where = "roofline"
    number = "6"
    word = "roofline"
    BINDINGS = bindings_for("roofline")

    DEFAULT_CSS = f"""
    RooflineScreen #across {{ height: 1fr; }}
    RooflineScreen #picture {{ width: 1fr; height: 1fr; }}
    RooflineScreen #side {{ width: {SIDE}; height: 1fr; }}
    RooflineScreen #missing {{ width: 1fr; height: 1fr; display: none; }}
    RooflineScreen #below {{ height: 2; }}
    RooflineScreen.-missing #picture, RooflineScreen.-missing #side, RooflineScreen.-missing #below {{ display: none; }}
    RooflineScreen.-missing #missing {{ display: block; }}
    RooflineScreen.-narrow #side {{ display: none; }}
    RooflineScreen.-wide #below {{ display: none; }}
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.roof_plot = RoofPlot(id="roofs")
        self._definitions = measured_definitions(watch.session.capabilities.signals)
        recorded = watch.session.definitions if isinstance(watch.session, PlayedSession) else None
        self.view = RoofView(watch.session.machine, self._definitions, os.environ, recorded)
        self._seq = -1
        self._unseen: asyncio.Task[None] | None = None  # reads the kept frames that were not shown
        self._moment = 0
        self._grown = -1, 0  # the level, and its most rows so far
        self._threads = ThreadWatch(self, watch.session.machine)
        self._reports: KeptIntervals[Report] = KeptIntervals()
        self._asked: int | None = None  # end of the interval that was ended last, in ns since 1970
        self._regions = RegionLook(watch)

    def body(self) -> Iterable[Widget]:
        """Lay out the canvas above the table, with a panel beside both or two lines below."""
        yield Horizontal(Vertical(self.roof_plot, *super().body(), id="picture"), SegmentLines(id="side"),
                         SegmentLines(id="missing"), id="across")
        yield SegmentLines(id="below")

    def first_view(self) -> RowView[JudgedPoint]:
        """The view before the user changes it: the fastest rows first."""
        columns = tuple(column for column in POINT_TABLE_COLUMNS if column.default)
        return TableView(columns, sort=next(column for column in columns if column.id == "GFLOP/s"), reverse=True)

    @property
    def _columns(self) -> list[CounterColumn]:
        catalog, watch = self.watch_state.session.catalog, self.watch_state
        groups = {"roofline", "levels"} if self.view.bytes_by_level else {"roofline"}
        columns = [column for column in catalog.columns if groups.intersection(column.groups)]
        return [column for column in columns if watch.why_absent(column) is None]

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The roofline's columns, and watts."""
        watts = self.watch_state.watts
        return (*self._columns, *([watts] if watts is not None else []))

    @property
    def keys_without_table(self) -> Sequence[str] | None:
        return None if self._definitions else ("roof_functions",)

    def read_beside(self) -> None:
        """Count the memory controllers' traffic, by which the DRAM roof is judged."""
        traffic = self.view.traffic
        self.watch_state.read_also(self, traffic.sources(), traffic.signals())

    # Threads

    def on_screen_resume(self) -> None:
        """Watch threads again if points are threads."""
        super().on_screen_resume()
        if self.composed:
            self._threads.want(wanted=self.view.tasks)

    def close(self) -> None:
        """Close the counters of threads."""
        self._threads.end()

    def on_threads_ready(self, message: ThreadsReady) -> None:
        """Show the threads of an interval."""
        if not self._threads.takes(message):
            return
        self._moment += 1
        if self._asked is not None:
            self._reports.keep(self._asked, len(message.report.rows), message.report)
        if not self.watch_state.held:
            self.view.take_tasks(message.report)
            self._fill()
            self.renew_window()

    # Frames

    def take(self, frame: Frame) -> None:
        """Show a frame: its end is the end of the threads' interval too, and a command's regions are kept with it."""
        super().take(frame)
        self._regions.take(frame)
        if self._threads.watches:
            self._asked = frame.newer.wall_ns
            self._threads.ask()

    def moment(self, frame: Frame, _name: str) -> RowContent[JudgedPoint] | None:
        report = self._report_of(frame) if self.view.tasks else None
        return points_content(self.view, self.view.points_of(frame, report), {}, frame.seq)

    def over_minute(self, content: RowContent[JudgedPoint]) -> tuple[RowContent[JudgedPoint], float] | None:
        if not self.view.tasks:
            return self.mean_rows(lambda mean: self.moment(mean, content.whole.name))
        reports = [report for report in map(self._report_of, self.minute()) if report is not None]
        if not reports:
            return None
        whole = reduce(lambda earlier, later: next(iter(joined_reports((later,), (earlier,)))), reports)
        frame = self.watch_state.frame
        over = points_content(self.view, self.view.points_of(frame, whole), {}, content.seq) if frame else None
        if over is None or not whole.seconds:
            return None
        over.part = reports[-1].seconds / whole.seconds
        return over, whole.seconds

    def _report_of(self, frame: Frame) -> Report | None:
        return None if frame.older is None else self._reports.at(frame.older.wall_ns, frame.newer.wall_ns)

    @property
    def newest_ns(self) -> int | None:
        return self._reports.last_ns if self.view.tasks else None

    @property
    def shown_ns(self) -> int | None:
        return self._reports.last_ns if self.view.tasks and not self.watch_state.in_past else super().shown_ns

    def let_go(self) -> None:
        """Release the frame of the points, too."""
        super().let_go()
        self.view.frame = None
        if self._unseen is not None:
            self._unseen.cancel()
            self._unseen = None  # where it was cancelled, a task keeps the frame that it was reading

    def show_frame(self) -> None:
        """Show every point of this frame."""
        frame = self.watch_state.frame
        self.view.take_regions(self.undamaged(lambda: self._regions.of(frame)))
        self.set_class(not self._definitions, "-missing")
        flops = self.watch_state.session.catalog.get("GFLOP/s")
        if not self._definitions:
            why = self.watch_state.session.capabilities.why_missing(NO_FLOPS)
            choice = self.view.roofs(SYSTEM_ROW)
            lines = missing_lines(why, "" if choice.roofs is None else choice.source, self.size.width)
            missing = self.query_one("#missing", SegmentLines)
            missing.show([*lines, *self.charts.machine_lines(self.size.width, missing.size.height - len(lines))])
        elif frame is not None and flops is not None:
            times = self._times
            self.view.take(frame, estimated=_is_estimated(frame, flops), first_ns=times[0] if times else None)
            report = self._report_of(frame) if self.view.tasks and self.watch_state.in_past else None
            if report is not None:
                self.view.take_tasks(report)
            if frame.seq > self._seq:
                self._seq = frame.seq
                self._moment += not self.view.tasks
            self._fill()
        super().show_frame()
        self.show_status()

    @property
    def _times(self) -> Sequence[int]:
        """The ends of the kept intervals up to the shown one, which the trail shows, in ns since 1970."""
        cursor = self.watch_state.cursor
        ends = () if cursor is None else cursor.before(KEPT)
        first_ns, last_ns = self._reports.first_ns or 0, self._reports.last_ns or 0
        return [end for end in ends if first_ns <= end <= last_ns] if self.view.tasks else ends

    async def _read_lacking(self, flops: CounterColumn) -> None:
        """Read kept frames a few ms at a time, the newest last."""
        await asyncio.sleep(AFTER)
        portions = Portions()
        for end in self.view.lacking(self._times):
            self.view.known.add(end)
            frame = self.watch_state.frame_at(end)
            if frame is not None:
                self.view.fill(frame, self._report_of(frame) if self.view.tasks else None,
                               estimated=_is_estimated(frame, flops))
            await portions.rest()
        if self.is_current:
            self._draw()

    @property
    def shown(self) -> tuple[Sequence[CounterColumn], Sequence[RowId]]:
        """What the machine's curve draws."""
        flops = self.watch_state.session.catalog.get("GFLOP/s")
        return ((), ()) if flops is None else ((flops,), (SYSTEM_ROW,))

    def _machine_lines(self, width: int) -> list[list[TextSegment]]:
        watch = self.watch_state
        watts, flops = ((() if column is None else watch.recent(column, SYSTEM_ROW, width * EACH))
                        for column in (watch.watts, watch.session.catalog.get("GFLOP/s")))
        return machine_lines(watts, flops, width, self._seq)

    def show_columns(self) -> None:
        """Read the visible values, arranged for this size."""
        wide = self.size.width >= _WIDE
        self.set_class(wide, "-wide")
        self.set_class(not wide, "-narrow")
        self.watch_state.want(self.wanted)
        if self._definitions:
            self._fit_table()
            self.call_after_refresh(self._draw)  # after the panel has its new height

    def _fill(self) -> None:
        """Show the present points in the table, then in the picture."""
        counters = {column.id: column for column in self._columns}
        self.show_content(points_content(self.view, self.view.points, counters, self._moment))
        flops = self.watch_state.session.catalog.get("GFLOP/s")
        if flops is not None and (self._unseen is None or self._unseen.done()) and self.view.lacking(self._times):
            self._unseen = asyncio.get_running_loop().create_task(self._read_lacking(flops))
        self._fit_table()
        if self._table.cursor is None and self.view.cursor is not None and not self._table.view.filter.text:
            self._table.select(self.view.cursor)
        self._point_out()

    def _fit_table(self) -> None:
        """Give the table a line for each point, but at most a quarter of the screen, and never fewer than before."""
        level, most = self._grown
        rows = max(len(self.view.points) + len(self._table.view.tags), most * (level == self.view.level))
        self._grown = self.view.level, rows
        self._table.styles.height = 1 + max(1, min(rows, self.size.height // 4 - 1))

    def _point_out(self) -> None:
        """Draw the picture with the table's cursor, without points that the filter excludes."""
        table = self._table
        self.view.passing = frozenset(line.row for line in table.lines) if table.view.filter.text else None
        self.view.cursor = next((point.identity for point in self.view.points if point.identity == table.current), None)
        if self._definitions and self.composed:
            self._draw()

    def on_table_widget_moved(self, _message: TableWidget.Moved) -> None:
        """Mark the point of the row under the cursor."""
        self._point_out()

    def _draw(self) -> None:
        picture = self.view.picture()
        if picture is not None:
            self.roof_plot.show_picture(picture)
        side, notes = self.query_one("#side", SegmentLines), self._notes()
        ridges = () if picture is None else tuple(mark.label for mark in picture.plot.ridges)
        side.show(side_lines(self.view, notes, self._machine_lines(SIDE - 24), ridges, side.size.height))
        below = below_lines(self.view, notes, self._machine_lines(8), self.size.width)
        self.query_one("#below", SegmentLines).styles.height = len(below)
        self.query_one("#below", SegmentLines).show(below)

    # Words

    def readout(self) -> str:
        """Describe the cell or point under the cursor: "cpu 17: AI 0.41 flop/B, 18.2 GF/s: 71 % of the L2 roof, …"."""
        if not self._definitions:
            return "No floating-point counters here"
        point = self.view.under_cursor
        if point is None and not self._table.view.filter.text:
            past = "its events were not counted in this interval: they are while this screen is shown"
            return self.view.why or (past if self.watch_state.in_past else self.waiting_for("the first interval"))
        if point is None or self._table.is_column_chosen:
            return super().readout()
        if (by_level := self.view.by_level) is not None:
            return f"{point.name}: {by_level.sentence}"
        return verdict_text(point, self.view.roofs(point.row))

    def _notes(self) -> tuple[Note, ...]:
        return notes_of(self.view, self.roof_plot.outside)

    # Actions

    def _shown(self, notice: str = "", *, points: bool = False) -> None:
        """Draw the effect of an action, also in the table if points changed, and show a notice."""
        if points:
            self._table.cursor = None
        if self._definitions and points:
            self._fill()
        elif self._definitions:
            self._draw()
        if notice:
            self.notice(notice)
        else:
            self.show_status()

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """What the picture shows and how, beside what other tables have."""
        yield from super().choices()
        view = self.view
        for name, value, step in (
                ("rows", lambda: view.level, self.action_rows), ("past", lambda: view.trail, self.action_trail),
                ("width", lambda: view.sizing, self.action_width), ("roofs", lambda: view.theory, self.action_roofs),
                ("flats", lambda: view.flats.chosen, self.action_flats),
                ("levels", lambda: view.bytes_by_level, self.action_levels)):
            yield ViewChoice(self.number, name, value(), partial(_step_to, value, step), "")
        yield ViewChoice(self.number, "axes", view.axes.held, lambda _held: self.action_whole(), "")

    def action_rows(self) -> None:
        """Switch points to the next level: CPUs, cores, packages, the machine, threads."""
        word = self.view.next_level()
        self._threads.want(wanted=self.view.tasks)
        of_threads = ": each thread in a second of its own run time" if self.view.tasks else ""
        self._shown(f"Points: {word}{of_threads}", points=True)

    def action_trail(self) -> None:
        """Switch the past between the point under the cursor, all points, and none."""
        self._shown(f"Past: {self.view.next_trail()}")

    def action_width(self) -> None:
        """Change how accesses become bytes."""
        self._shown(f"Bytes of an access: {self.view.next_sizing()}; the past is counted anew", points=True)

    def action_levels(self) -> None:
        """Switch counting the bytes of each memory level, at which the point under the cursor is shown."""
        on = self.view.swap_levels()
        self.watch_state.want(self.wanted)
        self._shown("Bytes of each memory level, from the next interval on; more events are multiplexed" if on else
                    "Bytes of memory levels are not counted any more", points=False)

    def action_roofs(self) -> None:
        """Switch between measured and theoretical roofs."""
        self._shown(f"Roofs: {self.view.swap_roofs()}", points=True)

    def action_flats(self) -> None:
        """Draw the flat roofs of another number format."""
        self._shown(f"Flat roofs: {self.view.next_flats()}")

    def action_functions(self) -> None:
        """Sample the functions of the point under the cursor, or of the whole machine without points."""
        if self.watch_state.in_past or isinstance(self.watch_state.session, PlayedSession):
            self.notice("Functions are sampled while they run, which is impossible for the past")
            return
        why = None if self._definitions else self.watch_state.session.capabilities.why_missing(NO_FLOPS)
        window = open_functions(self.watch_state.session.machine, self.view, why)
        if isinstance(window, str):
            self.notice(window)
        else:
            self.app.push_screen(window)

    def action_curve(self) -> None:
        """Open the window of bandwidth over working set size, which measures on request."""
        self.app.push_screen(CurveWindow(self.watch_state.session.machine))

    def action_zoom(self, by: int) -> None:
        """Zoom in or out around the cursor."""
        point = self.view.under_cursor
        placed = point if point is not None and point.has_place else None
        self.view.axes.zoom(_ZOOM**by, *((placed.intensity, placed.gflops) if placed is not None else (None, None)))
        self._shown()

    def action_whole(self) -> None:
        """Show all roofs and working points again."""
        self._shown(self.view.axes.whole())

    def action_pan(self, across: int, up: int) -> None:
        """Pan the picture by a tenth."""
        self.view.axes.pan(across * _PAN, up * _PAN)
        self._shown()

    def action_to_point(self, across: int, up: int) -> None:
        """Move the cursor to the nearest point in a direction."""
        placed = self.view.placed
        at = next((at for at, point in enumerate(placed) if point.identity == self.view.cursor), -1)
        if (nearest := self.roof_plot.nearest(at, across, up)) is not None and nearest < len(placed):
            self._table.select(placed[nearest].identity)
        else:
            self.notice("No point lies there: A shows all of them, j and k go through their rows")

    def action_search_next(self) -> None:
        """Move the cursor to the next match of the last search, or to the next row without a search."""
        if self._query:
            super().action_search_next()
        else:
            self._table.move(1)

    def on_roof_plot_selected(self, message: RoofPlot.Selected) -> None:
        """Put the cursor on the point that was clicked."""
        placed = self.view.placed
        if message.index < len(placed):
            self._table.select(placed[message.index].identity)

    def on_roof_plot_zoomed(self, message: RoofPlot.Zoomed) -> None:
        """Zoom at the mouse."""
        self.view.axes.zoom(message.factor, message.intensity, message.gflops)
        self._shown()

    def action_save_svg(self) -> None:
        """Save the picture."""
        plot = self.view.plot() if self._definitions else None
        if plot is None:
            self.notice("There is no picture to save yet")
            return
        points = () if self.view.flats.hides_points else (
            self.view.past if TRAILS[self.view.trail] == TRAILS[1] else self.view.points)
        notes = (f"roofs: {self.view.choice.source}", *(note.text for note in self._notes()))
        title = title_of(self.watch_state.session.machine, self.view)
        self._save("svg", svg_text(plot, points, title=title, notes=notes))

    def action_save_csv(self) -> None:
        """Save the points of this level, with their past."""
        if not self.view.past:
            self.notice("There are no points to save yet")
            return
        gone = self.view.forgotten if self.view.tasks else 0
        self._save("csv", csv_text(envelope_now(self.watch_state.session.machine.host), point_table(self.view.past)),
                   f" without {several(gone, 'thread')} of long ago:" if gone else "")

    def _save(self, suffix: str, text: str, without: str = "") -> None:
        self.notice(save_file(self.watch_state.session.machine.host.name, suffix, text, without))


def _step_to(value: Callable[[], object], step: Callable[[], None], wanted: object) -> None:
    """Step through the values of a choice until it is the wanted one."""
    for _ in range(_MOST_CHOICES):
        if value() == wanted:
            break
        step()


def _is_estimated(frame: Frame, flops: CounterColumn) -> bool:
    return frame.older is not None and frame.estimated(flops, SYSTEM_ROW)
