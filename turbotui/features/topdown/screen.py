"""The top-down screen: a bar of slots for each row, and what is behind its hottest part, level by level."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from textual.message import Message
from textual.widget import Widget

from turbotui.app.actions import Where, bindings_for
from turbotui.app.row_table import RowTableScreen
from turbotui.app.watch import Watch
from turbotui.app.watched import PlayedSession
from turbotui.errors import MachineError
from turbotui.features.topdown.engine import Drill, RecordedTopdown, TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.ordering import busiest_first
from turbotui.features.topdown.places import CpuSet, RowLevel, places
from turbotui.features.topdown.recorded_threads import ThreadRecord
from turbotui.features.topdown.screen_rows import TopdownPainter, drill_of, tree_lines
from turbotui.features.topdown.tables import BAR, NAME, TopdownColumn, node_of, table_of, topdown_table
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.features.topdown.thread_past import ThreadPast
from turbotui.features.topdown.thread_rows import interval_notes, thread_rows, waiting_row
from turbotui.features.topdown.thread_watch import BusyThreadWatch
from turbotui.features.topdown.trees import LEVELS, Node
from turbotui.machine.host import HostError
from turbotui.machine.tasks.sample_reader import refuse_recorded
from turbotui.machine.topology import Topology
from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing
from turbotui.widgets.row_content import Naming, RowContent
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_messages import Moved

_LEVELS: Final = (RowLevel.CORE, RowLevel.CPU, RowLevel.PACKAGE, RowLevel.KIND, RowLevel.THREAD)
_LINES: Final = 12
"""Of the opened row at most; a third of the screen where that is less."""
_NAMING: Final[Naming[TopdownRow]] = Naming(lambda row: row.place.key,
                                            lambda row: f"{row.place.name} {row.place.tid or row.place.kind}",
                                            lambda row: row.place.label)
NO_THREADS_RECORDED: Final = Unavailable(Reason.NOT_READ, "no slots of threads were recorded at this moment",
                                         "turbotui record --tables threads, or Ctrl+R while this screen shows threads")
NOT_RECORDED: Final = Unavailable(Reason.NOT_READ, "this recording has no slots of pipelines",
                                  "turbotui record --tables topdown")


class TopdownThreadsReady(Message):
    """Posted when an interval of threads has been counted, from the watch's own thread."""

    def __init__(self, found: ThreadInterval | HostError, clocks: tuple[int, int] | None,
                 watch: BusyThreadWatch) -> None:
        super().__init__()
        self.found = found
        self.clocks = clocks
        self.watch = watch


class TopdownScreen(RowTableScreen[TopdownRow]):
    """Bars for the machine and each core, CPU, package or kind, or for threads. Counts only while it is shown."""

    where: ClassVar[Where] = Where.TOPDOWN
    number = "d"
    word = "top-down"
    unsorted = "most slots first"
    painter_kind = TopdownPainter
    BINDINGS = bindings_for(Where.TOPDOWN)

    DEFAULT_CSS = """
    TopdownScreen #tree { height: auto; }
    """

    def __init__(self, watch: Watch) -> None:
        session = watch.session
        self._played = session if isinstance(session, PlayedSession) else None
        self._counters = (TopdownCounters if self._played is None else RecordedTopdown)(session.machine)
        self._level = RowLevel.CORE
        self._path: tuple[Node, ...] = ()
        self._opened: CpuSet | None = None
        self._order: dict[RowLevel, tuple[Hashable, ...]] = {}
        self._made: tuple[object, RowContent[TopdownRow] | None] = (None, None)
        self._threads: BusyThreadWatch | None = None
        self._interval: ThreadInterval | HostError | None = None
        self._places: tuple[Topology, RowLevel, tuple[CpuSet, ...]] | None = None
        self._thread_past = ThreadPast(self._played)
        super().__init__(watch)
        self._tree = SegmentLines(id="tree")
        self._absent = Listing(id="absent")

    def body(self) -> Iterable[Widget]:
        """The table and the opened row below it, or why there are none."""
        if self._why is not None:
            yield self._absent
            return
        yield from super().body()
        yield self._tree

    @property
    def _why(self) -> Unavailable | None:
        return self._counters.why_none

    @property
    def counters(self) -> TopdownCounters:
        """What is counted, for tests."""
        return self._counters

    @property
    def threads(self) -> BusyThreadWatch | None:
        """What counts threads while they are rows, for tests."""
        return self._threads

    def read_beside(self) -> None:
        """Count what the rows show, from now on and not only from the end of this interval."""
        if self._level is RowLevel.THREAD:  # counters of CPUs and of threads would take turns on the slots
            self.watch_state.read_also(self, (), frozenset())
            if self._played is None:
                self._watch_threads()
            return
        self.watch_state.read_also(self, self._counters.sources(), self._counters.signals())
        self.watch_state.session.end_interval()

    def _watch_threads(self) -> None:
        if self._threads is None:
            def publish(found: ThreadInterval | HostError, clocks: tuple[int, int] | None) -> None:
                recorder = self.watch_state.recorder
                if recorder is not None and clocks is not None and isinstance(found, ThreadInterval):
                    recorder.rows(ThreadRecord(*clocks, found))
                self.post_message(TopdownThreadsReady(found, clocks, watch))

            self._threads = watch = BusyThreadWatch(self.watch_state.session.machine, publish)
            watch.start()

    def _forget_threads(self) -> None:
        if self._threads is not None:
            self._threads.stop()
        self._threads = self._interval = None

    def on_topdown_threads_ready(self, message: TopdownThreadsReady) -> None:
        """Show what was counted of threads."""
        if message.watch is not self._threads:
            return
        self._interval = found = message.found
        if isinstance(found, ThreadInterval):
            if message.clocks is not None:
                self._thread_past.keep(message.clocks[0], found)
            if self._opened is not None and self._opened.tid is not None and found.gone == self._opened.tid:
                label = self._opened.label
                self._open((), None)
                self.notice(f"{label} has ended: what was opened of it is closed")
        if not self.watch_state.held:
            self._fill()

    def close(self) -> None:
        """See `RowTableScreen.close`: what was opened below level 1 is closed."""
        self._path, self._opened = (), None
        self._counters.drill = Drill()
        self._forget_threads()

    # Drawing

    def show_columns(self) -> None:
        """Lay everything out for the width."""
        self.watch_state.want(self.wanted)
        self._made = (None, None)
        self._fill()

    def take(self, frame: Frame) -> None:
        """See `WatchScreen.take`: the past of cells that were drawn or looked into."""
        if self._threads is not None:
            self._threads.request((frame.newer.wall_ns, frame.newer.started_ns))
        content = self._content(frame)
        self.past(content).push(content, (), ())

    def show_frame(self) -> None:
        """Show the numbers of the newest frame."""
        super().show_frame()
        self._fill()

    def _content(self, frame: Frame | None) -> RowContent[TopdownRow]:
        made_of, content = self._made
        of: object = self._threads_of(frame) if self._level is RowLevel.THREAD else frame
        if content is None or made_of is not of:
            whole = self._ordered(self._table_now(frame))
            content = RowContent(replace(whole, columns=self._columns(whole.columns)), _NAMING,
                                 0 if frame is None else frame.seq)
            self._made = of, content
        return content

    def _threads_of(self, frame: Frame | None) -> ThreadInterval | HostError | None:
        """The threads of the moment that is shown."""
        if frame is None or (self._played is None and not self.watch_state.held):
            return self._interval
        try:
            return self._thread_past.of(frame)
        except DamagedError as error:
            self.notice(str(error))
            return None

    def _table_now(self, frame: Frame | None) -> RowTable[TopdownRow]:
        if self._level is RowLevel.THREAD:
            found, branches, opened = self._threads_of(frame), self._counters.branches, self._opened
            rows = thread_rows(branches, found) if isinstance(found, ThreadInterval) else ()
            key = None if opened is None else opened.key
            shown = [row for row in rows if row.busy or row.place.key == key]
            if opened is not None and self._threads is not None and all(row.place.key != key for row in shown):
                shown.append(waiting_row(opened, branches))  # as long as it lives: a person looks into it
            return table_of(self._counters, self._level, shown)
        topology = self.watch_state.session.machine.topology if frame is None else frame.topology
        if self._places is None or self._places[:2] != (topology, self._level):
            self._places = topology, self._level, places(topology, RowLevel.MACHINE) + places(topology, self._level)
        return topdown_table(self._counters, frame, self._level, self._places[2], 1)

    def _ordered(self, table: RowTable[TopdownRow]) -> RowTable[TopdownRow]:
        """The machine, then what works most: on a machine of hundreds of cores a hot one would else be far below."""
        machine = [row for row in table.rows if row.place.level is RowLevel.MACHINE]
        others = table.rows[len(machine):]
        rows = busiest_first(others, self._order.get(self._level, ()))
        self._order[self._level] = tuple(row.place.key for row in rows) if any(row.slots() for row in rows) else ()
        return replace(table, rows=(*machine, *rows))

    def _columns(self, columns: Sequence[TopdownColumn]) -> tuple[TopdownColumn, ...]:
        ids = [replace(NAME, width=15), *(one for one in columns if one.id in ("TID", "Type"))] if (
            self._level is RowLevel.THREAD) else [NAME]
        room = max(10, min(60, self.size.width // 2 - sum(one.width + 1 for one in ids) - 2))
        bar = replace(BAR, identity=True, width=room)
        return (*ids, bar, *(column for column in columns if not column.identity))

    def _fill(self) -> None:
        if not self.composed:
            return
        why = self._why
        if why is not None:
            lines = [("No top-down analysis here", StyleRole.SUMMARY),
                     (f"{why.reason.value}: {why.detail}", StyleRole.PLAIN),
                     *((f"to do: {part.strip()}", StyleRole.KEY) for part in why.remedy.split(";") if part.strip())]
            self._absent.show([Item(((f" {text}", role),)) for text, role in lines])
            return
        self.show_content(self._content(self.watch_state.frame))
        self._show_tree()

    def _show_tree(self) -> None:
        row = self.row_at_cursor
        most = min(_LINES, max(3, self.size.height // 3))
        lines = [] if row is None else tree_lines(row, self._path, self.size.width, self._how)[:most]
        found = self._threads_of(self.watch_state.frame) if self._level is RowLevel.THREAD else None
        if isinstance(found, ThreadInterval):
            lines += [[(f" {note}"[: self.size.width], StyleRole.DIM)] for note in interval_notes(found)]
        self._tree.styles.height = len(lines)
        self._tree.show(lines)

    def _how(self, node: Node) -> str:
        return f"Enter opens level {node.level + 1}" if node.level < LEVELS else ""

    def readout(self) -> str:
        """See `TableKeys.readout`: why there is nothing stands above."""
        if self._why is not None:
            return ""
        if self._table.lines:
            return super().readout()
        if self._level is not RowLevel.THREAD:
            return as_sentence(NOT_RECORDED.sentence())
        found = self._threads_of(self.watch_state.frame)
        if isinstance(found, HostError):
            return f"No threads: {found}"
        if found is None and self._played is not None:
            return as_sentence(NO_THREADS_RECORDED.sentence())
        if found is None and self.watch_state.in_past:
            return "No threads of this moment: they are kept while this screen shows them"
        refused = next(iter(found.refused), None) if found is not None else None
        return "Threads that run now are counted from the next interval on" if refused is None else as_sentence(
            refused.sentence())

    # The row under the cursor, and what is opened of it

    def on_table_widget_moved(self, message: Moved) -> None:
        """Close what was opened of another row."""
        opened = None if self._opened is None else self._opened.key
        if message.table is self._table and self._path and self._table.current != opened:
            self._open((), None)
        elif self.composed and self._why is None:
            self._show_tree()

    def open_chosen(self) -> bool:
        """Enter: open the hottest part of the row under the cursor, or that of the column that is chosen."""
        row = self.row_at_cursor
        if row is None:
            return False
        chosen = self._table.selected
        wanted = node_of(chosen[0]) if chosen is not None and self._table.is_column_chosen and not self._path else ""
        node = next((one for one in row.nodes() if one.id == wanted), None)
        node = node or row.hottest(self._path[-1].id if self._path else "")
        if row.several:
            self.notice("This row has several kinds of core, whose deeper levels differ: t shows kinds, cores and CPUs")
        elif node is None:
            return False  # before the first numbers Enter ends the interval, as everywhere
        elif not any(branch.tree.children(node.id) for branch in row.branches):
            self.notice(f"{node.words.title.capitalize()} is not divided further on these cores")
        else:
            self._open((*self._path, node), row.place)
        return True

    def _open(self, path: tuple[Node, ...], place: CpuSet | None) -> None:
        """Have these nodes of a row counted, and nothing else below level 1."""
        row = self.row_at_cursor
        self._path, self._opened = path, place if path else None
        if self._threads is not None:
            tid = None if self._opened is None else self._opened.tid
            self._threads.drill(tid, Drill(tuple(node.id for node in path)))
        elif row is not None:
            self._counters.drill = drill_of(row, path)
        self._made = (None, None)
        self.read_beside()
        self._fill()

    def action_sideways(self, by: int) -> None:
        """While no column is chosen: open the hottest part, or close the last one; else go to the next column."""
        if by < 0 and self._path and not self._table.is_column_chosen:
            self._open(self._path[:-1], self._opened)
        elif by < 0 or self._table.is_column_chosen or not self.open_chosen():
            super().action_sideways(by)

    def action_rows(self) -> None:
        """Rows for cores, CPUs, packages, kinds of core, or threads."""
        self.close()
        self._level = _LEVELS[(_LEVELS.index(self._level) + 1) % len(_LEVELS)]
        why = self._why_no_threads() if self._level is RowLevel.THREAD else ""
        if why:
            self._level = _LEVELS[0]
        self.notice(f"A row for each {self._level.value}{f', for there are no threads here: {why}' if why else ''}")
        self._open((), None)

    def _why_no_threads(self) -> str:
        """Why threads cannot be counted here; "" where they can."""
        if self._played is not None:
            return ""
        try:
            refuse_recorded(self.watch_state.session.machine.host)
        except MachineError as error:
            return str(error)
        return ""
