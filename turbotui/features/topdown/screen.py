"""The top-down screen: a bar of slots for each row, and the levels below its hottest part."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.row_table import RowTableScreen
from turbotui.app.sessions import PlayedSession
from turbotui.app.view_states import ViewChoice, ViewState
from turbotui.app.watch import Watch
from turbotui.features.topdown.engine import Drill, RecordedTopdown, TopdownCounters
from turbotui.features.topdown.followed_rows import FollowedRows, FollowedRowsReady
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel, places
from turbotui.features.topdown.screen_rows import TopdownPainter, busiest_first, drill_of, tree_lines, wrapped
from turbotui.features.topdown.shown_parts import ShownRegions, ShownThreads
from turbotui.features.topdown.tables import BAR, TopdownColumn, node_of, topdown_table
from turbotui.features.topdown.trees import Node
from turbotui.machine.host import HostError
from turbotui.machine.topology import Topology
from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing
from turbotui.widgets.row_content import Naming, RowContent
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_widget import TableWidget

_LEVELS: Final = (RowLevel.CORE, RowLevel.CPU, RowLevel.PACKAGE, RowLevel.KIND, RowLevel.THREAD, RowLevel.REGION)
_LINES: Final = 12
"""The most lines of the opened row; a third of the screen if that is less."""
_NAMING: Final[Naming[TopdownRow]] = Naming(lambda row: row.place.key,
                                            lambda row: f"{row.place.name} {row.place.tid or row.place.kind}",
                                            lambda row: row.place.label)
NOT_RECORDED: Final = Unavailable(Reason.NOT_READ, "this recording has no slots of pipelines",
                                  "turbotui record --tables topdown")


class TopdownScreen(RowTableScreen[TopdownRow]):
    """Bars for the machine and each core, CPU, package or core type, or for threads or regions.

    The screen counts only while it is shown.
    """

    where = "topdown"
    number = "d"
    word = "top-down"
    opens = "open"
    unsorted = "most slots first"
    painter_kind = TopdownPainter
    BINDINGS = bindings_for("topdown")

    DEFAULT_CSS = """
    TopdownScreen #tree { height: auto; }
    """

    def __init__(self, watch: Watch) -> None:
        session = watch.session
        self._played = session if isinstance(session, PlayedSession) else None
        self.counters = (TopdownCounters if self._played is None else RecordedTopdown)(session.machine)
        self._level = RowLevel.CORE
        self._path: tuple[Node, ...] = ()
        self._opened: CpuSet | None = None
        self._order: dict[RowLevel, tuple[Hashable, ...]] = {}
        self._made: tuple[object, RowContent[TopdownRow] | None] = (None, None)
        self._places: tuple[Topology, RowLevel, tuple[CpuSet, ...]] | None = None
        super().__init__(watch)
        shown = (ShownThreads(watch, self.counters, self.post_message),
                 ShownRegions(watch, self.counters, self.post_message))
        self._moving: dict[RowLevel, FollowedRows[Any]] = {level.level: level for level in shown}
        self._tree = SegmentLines(id="tree")
        self._absent = Listing(id="absent")

    def body(self) -> Iterable[Widget]:
        """Lay out the table and the opened row below it, or the reason why there are none."""
        if self._why is not None:
            yield self._absent
            return
        yield from super().body()
        yield self._tree

    @property
    def _why(self) -> Unavailable | None:
        return self.counters.why_none

    @property
    def moving(self) -> FollowedRows[Any] | None:
        """The rows with counters of their own, while they are shown."""
        return self._moving.get(self._level)

    @property
    def keys_without_table(self) -> Sequence[str] | None:
        return None if self._why is None else ()

    def read_beside(self) -> None:
        """Count the rows' events at once, and not only from the end of this interval."""
        if self.moving is not None:  # counters of CPUs and of threads would be multiplexed on the slots
            self.watch_state.read_also(self, (), frozenset())
            self.moving.start()
            return
        self.watch_state.read_also(self, self.counters.sources(), self.counters.signals())
        self.watch_state.session.end_interval()

    def on_followed_rows_ready(self, message: FollowedRowsReady) -> None:
        """Show the counts of threads or regions."""
        moving = self.moving
        if moving is None or not moving.take(message):
            return
        if self._opened is not None and moving.has_ended(self._opened):
            label = self._opened.label
            self._open((), None)
            self.notice(f"{label} has ended: its opened levels are closed")
        if not self.watch_state.held:
            self._fill()

    def close(self) -> None:
        """Close the screen's counters and the opened levels."""
        self._path, self._opened = (), None
        self.counters.drill = Drill()
        for moving in self._moving.values():
            moving.stop()

    # Drawing

    def show_columns(self) -> None:
        """Lay everything out for the width."""
        self.watch_state.want(self.wanted)
        self._made = (None, None)
        self._fill()

    def take(self, frame: Frame) -> None:
        """End the interval of rows with counters of their own."""
        if self.moving is not None:
            self.moving.end_interval(frame)

    def moment(self, frame: Frame, _name: str) -> RowContent[TopdownRow] | None:
        if (moving := self.moving) is None:
            return RowContent(self._table_now(frame), _NAMING)
        kept = self.undamaged(lambda: moving.past.of(frame))
        return None if kept is None else RowContent(moving.table(moving.rows(kept, None)), _NAMING)

    def over_minute(self, _content: RowContent[TopdownRow]) -> tuple[RowContent[TopdownRow], float] | None:
        if (moving := self.moving) is None:
            return self.mean_rows(lambda mean: RowContent(self._table_now(mean), _NAMING))
        joined = self.undamaged(lambda: moving.joined(self.minute()))
        if joined is None:
            return None
        interval, seconds, part = joined
        rows = RowContent(moving.table(moving.rows(interval, None)), _NAMING)
        rows.part = part
        return rows, seconds

    @property
    def newest_ns(self) -> int | None:
        return None if self.moving is None else self.moving.past.last_ns

    @property
    def shown_ns(self) -> int | None:
        moving = self.moving
        return super().shown_ns if moving is None or self._played is not None or self.watch_state.held else (
            moving.newest_ns)

    def let_go(self) -> None:
        """Release the content, too, which has a frame."""
        super().let_go()
        self._made = (None, None)

    def show_frame(self) -> None:
        """Show the numbers of the newest frame."""
        super().show_frame()
        self._fill()

    def _content(self, frame: Frame | None) -> RowContent[TopdownRow]:
        made_of, content = self._made
        of: object = frame if self.moving is None else self._interval_at(self.moving, frame)
        if content is None or made_of is not of:
            whole = self._ordered(self._table_now(frame))
            content = RowContent(replace(whole, columns=self._columns(whole.columns)), _NAMING,
                                 0 if frame is None else frame.seq)
            self._made = of, content
        return content

    def _interval_at(self, moving: FollowedRows[Any], frame: Frame | None) -> object:
        """Return the counts of threads or regions in the shown moment."""
        return self.undamaged(lambda: moving.interval_at(frame))

    def _table_now(self, frame: Frame | None) -> RowTable[TopdownRow]:
        if (moving := self.moving) is not None:
            interval = self._interval_at(moving, frame)
            counted = interval is not None and not isinstance(interval, HostError)
            return moving.table(moving.rows(interval, self._opened) if counted else ())
        topology = self.watch_state.session.machine.topology if frame is None else frame.topology
        if self._places is None or self._places[:2] != (topology, self._level):
            self._places = topology, self._level, places(topology, RowLevel.MACHINE) + places(topology, self._level)
        return topdown_table(self.counters, frame, self._level, self._places[2], 1)

    def _ordered(self, table: RowTable[TopdownRow]) -> RowTable[TopdownRow]:
        """Order rows: the whole, then the busiest, which would be far below among hundreds of cores."""
        whole = [row for row in table.rows if row.place.level in (RowLevel.MACHINE, RowLevel.COMMAND)]
        rows = busiest_first(table.rows[len(whole):], self._order.get(self._level, ()))
        self._order[self._level] = tuple(row.place.key for row in rows) if any(row.slots() for row in rows) else ()
        return replace(table, rows=(*whole, *rows))

    def _columns(self, columns: Sequence[TopdownColumn]) -> tuple[TopdownColumn, ...]:
        name, *others = columns
        ids = [name] if self.moving is None else [
            replace(name, width=15), *(other for other in others if other.id in ("TID", "Type"))]
        room = max(10, min(60, self.size.width // 2 - sum(column.width + 1 for column in ids) - 2))
        bar = replace(BAR, identity=True, width=room)
        return (*ids, bar, *(column for column in columns if not column.identity))

    def _fill(self) -> None:
        if not self.composed:
            return
        if (why := self._why) is not None:
            lines = self.charts.absence("No top-down analysis here", why, self.size.width, self._absent.size.height)
            self._absent.show([Item(tuple(line)) for line in lines])
            return
        self.show_content(self._content(self.watch_state.frame))
        self._show_tree()

    def _show_tree(self) -> None:
        row = self.row_at_cursor
        most = min(_LINES, max(3, self.size.height // 3))
        lines = [] if row is None else tree_lines(row, self._path, self.size.width,
                                                  functools.partial(self._how, row))[:most]
        moving, frame = self.moving, self.watch_state.frame
        interval = None if moving is None else self._interval_at(moving, frame)
        if moving is not None and interval is not None and not isinstance(interval, HostError):
            lines += [line for note in moving.notes(interval) for line in wrapped(note, self.size.width, StyleRole.DIM)]
        self._tree.styles.height = len(lines)
        self._tree.show(lines)

    def _how(self, row: TopdownRow, node: Node) -> str:
        return f"Enter opens level {node.level + 1}" if row.is_divided(node) else ""

    def readout(self) -> str:
        """The status line; empty without rows, because the reason stands above."""
        if self._why is not None:
            return ""
        if self._table.lines or self.all_filtered:
            return super().readout()
        if self.moving is None:
            return as_sentence(NOT_RECORDED.sentence())
        return self.moving.nothing(self._interval_at(self.moving, self.watch_state.frame))

    # The row under the cursor, and its opened levels

    def on_table_widget_moved(self, message: TableWidget.Moved) -> None:
        """Close the opened levels of another row."""
        opened = None if self._opened is None else self._opened.key
        if message.table is self._table and self._path and self._table.current != opened:
            self._open((), None)
        elif self.composed and self._why is None:
            self._show_tree()

    def states(self) -> Iterator[ViewState]:
        """The opened levels of a row, beside those of all tables."""
        yield from super().states()
        for depth in range(len(self._path)):
            yield ViewState(self.number, ("level", *(node.id for node in self._path[:depth + 1])),
                            lambda: self._open(self._path[:-1], self._opened))

    def open_chosen(self) -> bool:
        """Open the hottest part of the row, or that of the chosen column."""
        if (row := self.row_at_cursor) is None:
            return False
        chosen = self._table.selected
        wanted = node_of(chosen[0]) if chosen is not None and self._table.is_column_chosen and not self._path else ""
        node = next((node for node in row.nodes() if node.id == wanted), None)
        node = node or row.largest(self._path[-1].id if self._path else "")
        if row.several:
            self.notice("This row has several kinds of core, whose deeper levels differ: t shows kinds, cores and CPUs")
        elif node is None:
            return False  # before the first numbers, Enter ends the interval, as on all screens
        elif not row.is_divided(node):
            self.notice(f"{node.words.heading} is not divided further on these cores")
        else:
            self._table.select(row.place.key)  # otherwise the cursor would stay on the first row, which changes
            self._open((*self._path, node), row.place)
        return True

    def _open(self, path: tuple[Node, ...], place: CpuSet | None) -> None:
        row = self.row_at_cursor
        self._path, self._opened = path, place if path else None
        if self.moving is not None and self._played is None:
            self.moving.drill(self._opened, path)
        elif row is not None:
            self.counters.drill = drill_of(row, path)
        self._made = (None, None)
        self.read_beside()
        self._fill()

    def action_sideways(self, by: int) -> None:
        """Without a chosen column, open the hottest part or close the last one; else go to the next column."""
        if by < 0 and self._path and not self._table.is_column_chosen:
            self._open(self._path[:-1], self._opened)
        elif by < 0 or self._table.is_column_chosen or not self.open_chosen():
            super().action_sideways(by)

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """The level of rows, beside what other tables have."""
        yield from super().choices()
        yield ViewChoice(self.number, "rows", self._level, self._choose_level, "")

    def action_rows(self) -> None:
        """Switch rows: cores, CPUs, packages, core types, threads, or regions."""
        whys = []
        for level in (*_LEVELS[_LEVELS.index(self._level) + 1:], *_LEVELS):
            moving = self._moving.get(level)
            why = "" if moving is None else moving.why_none
            if not why:
                break
            whys.append(f"; no rows of {level.value}s: {why}")
        self._choose_level(level, "".join(whys))

    def _choose_level(self, level: RowLevel, whys: str = "") -> None:
        self.close()
        self._level = level
        self.notice(f"A row for each {level.value}{whys}")
        self._open((), None)
