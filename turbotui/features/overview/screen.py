"""The overview screen: whether the machine is fine, and if not, which CPUs, why, and which tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from rich.cells import set_cell_size
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.base import WatchScreen
from turbotui.app.cell_cursor import CellCursorScreen
from turbotui.app.one_cell import number_in_words
from turbotui.app.screen_table import SCREENS
from turbotui.app.view_states import ViewState
from turbotui.app.watch import Watch
from turbotui.cell_widths import cell_count
from turbotui.diagnosis.memory_meter import MemoryTrafficMeter
from turbotui.diagnosis.rules import LookResults, MemoryTotal
from turbotui.features.overview.charts import chart_sources
from turbotui.features.overview.core_map import first_cpu
from turbotui.features.overview.cpu_numbers import MOST_CHARTED, cpu_numbers
from turbotui.features.overview.lines import (
    CellPlace,
    OverviewLines,
    TextPlace,
    note_line,
    places_of,
    texts_of,
)
from turbotui.features.overview.painter import OverviewInputs, OverviewPainter
from turbotui.features.overview.top_tasks import MachineStatus, ProcessLook, make_poll
from turbotui.machine.tasks.process_stats import ProcessStats
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.quantities.signals import Signal
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import MARK_AMBER, StyleRole
from turbotui.widgets.geometry import nearest_place
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.panel import Line, Span, Target
from turbotui.widgets.segment_lines import ClickableSegment
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.table_view import next_match

_SOON = 1.0
"""Seconds to the next frame that tasks wait for, so that a look at them draws nothing twice."""
_COPIED = 1_000
"""Characters of a copied verdict, which is not cut."""


class OverviewScreen(CellCursorScreen):
    """The screen with verdict, charts of the whole machine, every CPU, and the busiest tasks."""

    where = "overview"
    number = "0"
    word = "overview"
    opens = "open"
    chooses = True  # a user who starts here chooses a screen first
    BINDINGS = bindings_for("overview")

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.drawn = OverviewLines(self._paint, id="overview")
        session = watch.session
        has = [column for column in session.catalog.columns if watch.why_absent(column) is None]
        self._sources = chart_sources(session.catalog, has)
        self._numbers = cpu_numbers(has, watch.busy, watch.clock, watch.heat)
        self._painter = OverviewPainter(self._sources, self._numbers)
        self._stats = ProcessStats(session.machine.host)
        self._controllers: MemoryTrafficMeter | None = None  # counted while the screen is shown
        self._traffic: tuple[int, MemoryTotal | None] = 0, None  # at the end of a frame
        self._look: ProcessLook | None = None
        self._looking: asyncio.Task[None] | None = None
        self._has_tasks = watch.judge.can_look
        self._cursor: Target | None = None
        self._lit = ""
        self._noted: object = None
        self._mute = (0, 0)
        cpus = session.machine.topology.cpus
        busy = self._numbers.busy
        self._charted = ((busy,), [cpu_row(cpu) for cpu in cpus]) if busy and len(cpus) <= MOST_CHARTED else ((), ())

    def body(self) -> Iterable[Widget]:
        """Lay out the one widget that draws the whole screen."""
        yield self.drawn

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The drawn columns, and those of the tables that are one key away."""
        columns = [column for source in self._sources
                   for column in (source.column, *(limit for _, limit in source.limits))]
        watch = self.watch_state
        return (*watch.columns, *columns, *self._numbers.columns, *watch.judge.wanted())

    def show_columns(self) -> None:
        """Request the drawn columns."""
        self.watch_state.want(self.wanted)
        if self.composed:
            self._paint()

    def take(self, frame: Frame) -> None:
        """Judge a frame; poll tasks, seldom, and only while this screen is shown."""
        self.watch_state.judge.push(frame)
        self.watch_state.record_shown(frame, [source.column for source in self._sources], (SYSTEM_ROW,))
        self.watch_state.record_shown(frame, *self._charted)
        self._poll()

    def on_screen_resume(self) -> None:
        """Poll at once, so that the first numbers come with the tasks that ran meanwhile."""
        super().on_screen_resume()
        self._poll()

    def _poll(self, *, is_due: bool = False) -> None:
        if self._has_tasks and self.is_current and self._looking is None and self.is_mounted:
            host = self.watch_state.session.machine.host
            if is_due or self._look is None or host.now_ns() >= self._look.next:
                self._looking = asyncio.get_running_loop().create_task(self._look_again())

    def read_beside(self) -> None:
        """Count what memory controllers move, unless resctrl counts it without taking counters from others."""
        watch, meter = self.watch_state, self._controllers
        watch.read_also(self, *((), frozenset()) if meter is None else (meter.sources(), meter.signals()))

    async def _look_at_memory(self, seen: LookResults) -> None:
        """Find out how much memory can move, and who counts it."""
        meter = await asyncio.to_thread(self.watch_state.judge.find_meter)
        if seen.traffic is None and self._controllers is None and meter is not None and meter.counts:
            self._controllers = meter
            if self.is_current:
                self.read_beside()

    async def _look_again(self) -> None:
        host, judge = self.watch_state.session.machine.host, self.watch_state.judge
        awaited = self._look is None or not self._look.tasks
        try:
            self._look, judge.diagnosis.seen = poll = await asyncio.to_thread(
                make_poll(host, self._stats, self._look, judge.look))
            if poll[0].seconds:  # else resctrl has no increase yet
                await self._look_at_memory(judge.diagnosis.seen)
        finally:
            self._looking = None
        if not self._look.tasks:  # maybe sooner than the next frame
            self.set_timer((self._look.next - self._look.at) / 1e9, partial(self._poll, is_due=True))
        if (awaited or self.watch_state.interval > _SOON) and not self.watch_state.held and self.is_current:
            self._paint()

    def show_frame(self) -> None:
        """Draw the newest frame, then the lines around it."""
        self.watch_state.look_often_at(None if self._cursor is None else self._cursor[1])
        self._paint()
        super().show_frame()
        self.show_status()

    def _paint(self) -> None:
        watch, size = self.watch_state, self.drawn.size
        frame = watch.frame
        if frame is None or not size.width or not size.height:
            return
        inputs = OverviewInputs(frame, watch.history, None if watch.in_past else self._look, self._has_tasks,
                                self._seconds(frame), watch.levels,
                                self._cursor, self._note(size.width), watch.in_past, self._unseen())
        self.drawn.show_lines(self._painter.lines(inputs, size.width, size.height), self._lit)

    def _seconds(self, frame: Frame) -> float:
        """The mean length of the charted intervals: a run's last one may have 10 ms, and its charts 3 s."""
        cursor, end_ns = self.watch_state.cursor, frame.newer.wall_ns
        ends = [] if cursor is None else [end for end in cursor.before(HISTORY) if end < end_ns]
        if ends:
            return (end_ns - ends[0]) / 1e9 / len(ends)
        return frame.seconds or self.watch_state.interval

    def _unseen(self) -> str:
        unseen = self.watch_state.judge.diagnosis.seen.unseen
        return "" if unseen is None or self.watch_state.in_past else f"{unseen.words}: {unseen.why.detail}"

    def _note(self, width: int) -> Line:
        """Return the last line, with the number of unreadable sources, counted once for each probing."""
        if (capabilities := self.watch_state.session.capabilities) is not self._noted:
            self._noted = capabilities
            probes = [probe.signals.values() for probe in capabilities.probes.values() if probe.signals]
            mute = sum(not any(isinstance(signal, Signal) for signal in signals) for signals in probes)
            self._mute = mute, len(probes)
        look = None if self.watch_state.in_past else self._look
        status = replace(MachineStatus() if look is None else look.machine, traffic=self._memory_traffic())
        note = note_line(status, *self._mute, width)
        return note or ((Span(" "),) if self._has_tasks else ())  # the line keeps its place until it has content

    def _memory_traffic(self) -> MemoryTotal | None:
        """What memory moved: by resctrl where it counts all of it, else by the controllers."""
        watch = self.watch_state
        frame, meter, seen = watch.frame, watch.judge.meter, watch.judge.diagnosis.seen
        if frame is None or meter is None:
            return None
        if seen.traffic is not None and not watch.in_past:
            return meter.beside(seen.traffic, seen.local)
        if self._traffic[0] != frame.newer.wall_ns:
            self._traffic = frame.newer.wall_ns, meter.total(frame)
        return self._traffic[1]

    def second_line(self, width: int) -> list[TextSegment]:
        """Return the verdict in place of the gauges, which are charts here."""
        verdict = self.watch_state.judge.verdict()
        # the word stays beside the digit, which says nothing to whoever does not know the screens yet
        key = next((f"  {spec.number} {spec.word} " for spec in SCREENS if spec.number == verdict.screen), "")
        room = max(0, width - len(key))
        text = f" {MARK_AMBER if verdict.is_loss else ' '} {verdict.fitted(max(0, room - 3))}"
        calm = StyleRole.DIM if verdict.findings or verdict.sure else StyleRole.PLAIN  # what was not seen matters
        return [(set_cell_size(text, room), StyleRole.AMBER if verdict.is_loss else calm), (key, StyleRole.KEY)]

    def clicks_of(self, second: list[TextSegment]) -> Sequence[ClickableSegment]:
        """Return what W does, and what the key of the verdict's screen does."""
        (text, _role), (key, _key_role) = second
        at, named = cell_count(text), key.split()
        name = next((spec.id for spec in SCREENS if named and spec.number == named[0]), "")
        return [ClickableSegment(1, 0, at, "app.why"),
                *([ClickableSegment(1, at, at + cell_count(key), f"app.show_screen('{name}')")] if name else [])]

    # The cell under the cursor

    def readout(self) -> str:
        """Describe the number under the cursor."""
        if (frame := self.watch_state.frame) is None:
            return self.waiting_for("the first reading")
        if self._cursor is None and self._lit:
            return f"{self._lit.strip()} · found by /; Esc drops it"
        if self._cursor is None:
            return "Arrows choose a number: e explains it, g shows its past, Enter opens its CPU"
        column, row = self._cursor
        why = frame.why(column, row) or frame.lacking(column, row)
        words = column.hint if why is None else why.sentence()
        number = number_in_words(frame, column, row)
        return f"{column.id} · {row_name(frame.topology, row)} · {number} · {words}"

    def copied(self) -> str:
        """The text for the clipboard; without a cursor the verdict."""
        if self._cursor is not None or self.watch_state.frame is None:
            return super().copied()
        return self.watch_state.judge.verdict().fitted(_COPIED)

    def _places(self) -> list[CellPlace]:
        """Return the positions of all drawn cells, including the map's marks."""
        cells = places_of(self.drawn.lines)
        plan, busy = self._painter.map_plan, self._numbers.busy
        if plan is not None and busy is not None:
            cells += [CellPlace(mark.x, self._painter.map_top + y, plan.size, (busy, mark.row))
                      for y, line in enumerate(plan.lines) for mark in line.marks]
        return cells

    def _go(self, across: int, down: int) -> None:
        if not (places := self._places()):
            return
        here = next((place for place in places if place.target == self._cursor), None)
        if here is None:
            self._select(next((place for place in places if place.target[1].scope in {Scope.CORE, Scope.CPU}),
                              places[0]).target)
            return
        others = {place: (place.x, place.y) for place in places if place.target != here.target}
        cell = nearest_place((here.x, here.y), others, across, down)
        if cell is not None:
            self._select(cell.target)

    def _select(self, target: Target | None, lit: str = "") -> None:
        self._cursor, self._lit = target, lit
        self._paint()
        self.show_status()

    def on_overview_lines_clicked(self, message: OverviewLines.Clicked) -> None:
        """Move the cursor to the click; a double click opens the CPU."""
        cell = next((place for place in self._places()
                    if place.y == message.y and place.x <= message.x < place.x + place.width), None)
        if cell is not None:
            self._select(cell.target)
            if message.times == 2:
                self.open_chosen()

    def find(self, text: str, *, after: bool = False) -> bool:
        """Find a number by row or column; other words are highlighted."""
        if (frame := self.watch_state.frame) is None:
            return False
        places: list[CellPlace | TextPlace] = [*self._places(), *texts_of(self.drawn.lines)]
        places.sort(key=lambda place: (place.y, place.x))
        here = next((at for at, place in enumerate(places) if place.key == (self._lit or self._cursor)), -1)
        names = [place.name(frame.topology) for place in places]
        row = None if self._cursor is None or not after else self._cursor[1]
        if row is not None and next_match([row_name(frame.topology, row)], text, 0) is not None:
            # the search continues in the next row, not at this row's next number
            names = ["" if at != here and isinstance(place, CellPlace) and place.target[1] == row else name
                     for at, (place, name) in enumerate(zip(places, names, strict=True))]
        place_number = next_match(names, text, max(0, here + after), after=after)
        if place_number is not None:
            place = places[place_number]
            self._select(*((None, place.text) if isinstance(place, TextPlace) else (place.target, "")))
        return place_number is not None

    def way_back(self) -> Callable[[], None]:
        cursor, lit = self._cursor, self._lit
        return lambda: self._select(cursor, lit)

    # Actions

    def action_move(self, by: int) -> None:
        """Move the cursor up or down."""
        self._go(0, by)

    def action_sideways(self, by: int) -> None:
        """Move the cursor left or right."""
        self._go(by, 0)

    def action_end(self, by: int) -> None:
        """Move the cursor to the first or last number."""
        if places := self._places():
            self._select(places[0 if by < 0 else -1].target)

    def states(self) -> Iterator[ViewState]:
        """The cursor, which the screen can do without."""
        if self._cursor is not None or self._lit:
            yield ViewState(self.number, "cursor", lambda: self._select(None))
        yield from super().states()

    def open_chosen(self) -> bool:
        """Open the CPU under the cursor in the table, or the screen of a chart."""
        if self._cursor is not None:
            self._open(*self._cursor)
        return self._cursor is not None

    def _open(self, column: CounterColumn, row: RowId) -> None:
        for source in self._sources:
            if row == SYSTEM_ROW and source.column is column:
                self._show(source.spec.screen, None)
                return
        frame = self.watch_state.frame
        cpu = None if frame is None else first_cpu(frame.topology, row)
        if cpu is not None:
            self._show("cpus", cpu_row(cpu))

    def _show(self, screen: str, row: RowId | None) -> None:
        from turbotui.app.dashboard import TurbotuiApp  # noqa: PLC0415 - the dashboard loads this screen

        if isinstance(self.app, TurbotuiApp):
            self.app.show_row(screen, row)

    def action_open_task(self, pid: int) -> None:
        """Open the tasks at a process, which a click on its line does."""
        self.post_message(self.Sought("tasks", partial(_point_at_task, pid)))

    @property
    def pointed(self) -> Target | None:
        """The cell under the cursor; without a cursor, move it to the first CPU."""
        if self._cursor is None:
            self._go(0, 0)
        return self._cursor


def _point_at_task(pid: int, tasks: WatchScreen) -> None:
    if not tasks.find(str(pid)):
        tasks.notice(f"Process {pid} has not run since tasks are watched")
