"""The fleet screen: a table of all nodes, with the reason why each is odd."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from textual.message import Message
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.one_cell import OneCell
from turbotui.app.row_table import RowCell, RowTableScreen
from turbotui.app.view_states import ViewChoice
from turbotui.app.watch import Watch
from turbotui.cell_widths import centred, cut, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.fleet.columns import COLUMNS, HOUR, MEASURED, SCREEN_COLUMNS
from turbotui.features.fleet.model import FleetNode, FleetReading
from turbotui.features.fleet.screen_rows import FleetPainter, fitted, fleet_content
from turbotui.features.fleet.session import PastRequest, WatchedFleet
from turbotui.features.fleet.trends import Trends
from turbotui.machine.host import HostKind
from turbotui.quantities.by_key import sets_by_key
from turbotui.quantities.columns import Column
from turbotui.quantities.moments import NS
from turbotui.quantities.sentences import several
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.curves import TimedValue
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_content import RowContent, RowView
from turbotui.widgets.segment_lines import NoteLines, SegmentLines
from turbotui.widgets.table_view import TableView
from turbotui.widgets.table_widget import TableWidget


@dataclass()
class NodeChosen(Message):
    """The user wants to open a node."""

    node: FleetNode


class TrendsReady(Message, bubble=False):
    """The server has returned the last hour of some nodes."""


_SENTENCE_LINES: Final = 2
_BY_ID: Final = {column.id: column for column in MEASURED}
_USUAL_LABELS: Final = ("model", "job")
"""The labels that are offered first for grouping."""
_NO_GROUPS: Final = frozenset({"instance", "host", "__name__", "version", "kernel", "arch", "vendor", "kind"})


class FleetScreen(RowTableScreen[FleetNode]):
    """The screen with the nodes of a server."""

    where = "fleet"
    number = "1"
    word = "fleet"
    unsorted = "the oddest first"
    treeless = "Nodes stand in no groups: t changes that"
    painter_kind = FleetPainter
    BINDINGS = bindings_for("fleet")

    def __init__(self, watch: Watch) -> None:
        self._session = cast("WatchedFleet", watch.session)  # the fleet's application has no other
        super().__init__(watch)
        self._label = ""
        self._shown: FleetReading | None = None
        self._trends = Trends(self._session.ask_past, self._say_ready)
        self._server_past: dict[tuple[str, Hashable], Sequence[tuple[float, float]]] = {}

    def body(self) -> Iterable[Widget]:
        """Lay out the table, and below it the sentence about the node under the cursor."""
        yield from super().body()
        yield NoteLines(id="notes")

    def first_view(self) -> RowView[FleetNode]:
        """The view at first: the table's order, oddest first, or the view before a node was opened."""
        return self._session.view or TableView(tuple(column for column in COLUMNS if column.default))

    def show_view(self, view: RowView[FleetNode]) -> None:
        """Show a view, and keep it for the return from a node."""
        super().show_view(view)
        self._session.view = self._table.view
        if self.composed:
            self._want_trends()  # pictures are of the column that is sorted by
            self._show()

    def moment(self, frame: Frame, _name: str) -> RowContent[FleetNode] | None:
        reading = self._session.reading(frame)
        return None if reading is None else fleet_content(reading, frame.seq, self._label, SCREEN_COLUMNS)

    def show_columns(self) -> None:
        """Lay the table out for the width."""
        self._show()

    # Drawing

    def show_frame(self) -> None:
        """Show the nodes of the held moment."""
        self._shown = self._session.reading(self.watch_state.frame)
        self._show()
        super().show_frame()

    def _show(self) -> None:
        frame, reading = self.watch_state.frame, self._shown
        if not self.composed or reading is None or frame is None:
            return
        columns = fitted(SCREEN_COLUMNS, reading, self.size.width, grouped=bool(self._label))
        if pictures := self._trends.pictures:
            nodes = [replace(node, trend=pictures[node.name]) if node.name in pictures else node
                     for node in reading.nodes]
            reading = replace(reading, nodes=nodes)
        self.show_content(fleet_content(reading, frame.seq, self._label, columns))
        self._want_trends()
        if self._table.current is None:
            self._table.move_to_end(last=False)
        self._show_sentence()

    def _want_trends(self) -> None:
        columns, rows = self._table.drawn
        if any(column.id == HOUR.id for column in columns):
            sort = self._table.view.sort
            column = _BY_ID.get("" if sort is None else sort.id, _BY_ID["Bzy_MHz"])
            content = self._table.content
            nodes = [node for row in rows if content is not None and (node := content.get(row)) is not None]
            self._trends.want(column, [node.name for node in nodes if not node.members])

    def _say_ready(self) -> None:
        """Post the message that pictures are ready. Runs on the session's thread."""
        self.post_message(TrendsReady())

    def on_trends_ready(self, _message: TrendsReady) -> None:
        """Draw the pictures that the server has returned."""
        self._show()

    def _show_sentence(self) -> None:
        node, reading = self.row_at_cursor, self._shown
        segments = [] if reading is None else [(f"▲ {note}", StyleRole.AMBER) for note in reading.notes[:1]]
        if node is not None:
            words = f"{node.name}: {node.why}" if node.why else f"{node.name}: like the others · {node.peers}"
            role = StyleRole.PLAIN if node.why else StyleRole.DIM
            lines = textwrap.wrap(words, max(20, self.size.width - 2), max_lines=_SENTENCE_LINES, placeholder=" …")
            segments += [(line, role) for line in lines]
        self.query_one("#notes", NoteLines).show_notes(segments)

    def on_table_widget_moved(self, message: TableWidget.Moved) -> None:
        super().on_table_widget_moved(message)
        self._show_sentence()

    def show_summary(self) -> None:
        """Draw the totals of all nodes, and the cost of the queries."""
        if not self.composed:
            return
        self._show_banner(self.size.width)
        reading = self._shown
        lines = [] if reading is None else [_place(reading, self._session.interval, self.size.width), _sums(reading)]
        if reading is None:
            lines = [[(f" {self._session.machine.host.name}", StyleRole.SUMMARY), ("   asking", StyleRole.DIM)]]
        self.query_one("#summary", SegmentLines).show(lines)
        if self.size.width != self._keys_fit:
            self._keys_fit = self.size.width
            self.show_keys()

    def _show_banner(self, width: int) -> None:
        if self._banner is not None:
            session = self._session
            self._banner.display = bool(session.trouble) or session.machine.host.kind is not HostKind.REAL
        super()._show_banner(width)

    def _banner_text(self, width: int) -> str:
        """Text of the banner; begins with the age of the numbers, which matters most during a failure."""
        trouble = self._session.trouble
        return super()._banner_text(width) if not trouble else centred(cut(trouble, width - 2), width)

    def readout(self) -> str:
        if self._shown is None:
            return self._session.trouble or "Waiting for the first answer"
        return super().readout()

    def flags(self) -> list[str]:
        """Flags of the title: the label by which nodes are grouped."""
        return [*super().flags(), *([f"by {self._label}"] if self._label else [])]

    # Actions

    def action_rows(self) -> None:
        """Switch between a list of nodes, groups by model, and groups by each further label."""
        labels = ["", *self._labels()]
        at = labels.index(self._label) if self._label in labels else 0
        self._choose_label(labels[(at + 1) % len(labels)])

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """The label that groups nodes, beside what other tables have."""
        yield from super().choices()
        yield ViewChoice(self.number, "label", self._label, self._choose_label, "")

    def _choose_label(self, label: str) -> None:
        self._label = label
        self._change(folded=frozenset[Hashable]())
        self.notice(f"Nodes by {self._label}: * folds, t goes on" if self._label else "Nodes, the oddest first")
        self._show()

    def _labels(self) -> list[str]:
        """Return the labels whose values several nodes share, the usual ones first."""
        nodes = () if self._shown is None else self._shown.nodes
        values = sets_by_key((name, value) for node in nodes for name, value in node.labels.items())
        most = max(2, len(nodes) // 2)
        labels = [name for name, those in values.items() if name not in _NO_GROUPS and 2 <= len(those) <= most]
        return sorted(labels, key=lambda name: (name not in _USUAL_LABELS, name))

    def open_chosen(self) -> bool:
        """Open the dashboard of the node under the cursor."""
        node, line = self.row_at_cursor, self._table.line
        if node is None:
            return False
        if node.members and line is not None:
            self._fold(line.row, fold=bool(line.open))
        else:
            self.post_message(NodeChosen(node))
        return True

    # The past, which the server has

    def cell(self, column: Column[FleetNode], row: Hashable) -> OneCell:
        """Return a cell, whose last hour is requested from the server."""
        node = None if self._table.content is None else self._table.content.get(row)
        if node is not None and not node.members and column.id in _BY_ID and (column.id, row) not in self._server_past:
            self._server_past[column.id, row] = ()
            self._session.ask_past(PastRequest(_BY_ID[column.id], (node.name,),
                                               lambda series: self._take_past(column.id, row, node.name, series)))
        return FleetCell(self, column, row)

    def _take_past(self, column: str, row: Hashable, name: str,
                   series: Mapping[str, Sequence[tuple[float, float]]]) -> None:
        """Keep the server's answer, by one assignment, because this runs on the session's thread."""
        self._server_past[column, row] = series.get(name, ())

    def server_past(self, column: str, row: Hashable) -> Sequence[tuple[float, float]]:
        """Return a cell's last hour as pairs of seconds since 1970 and value; empty until the server answers."""
        return self._server_past.get((column, row), ())


class FleetCell(RowCell[FleetNode]):
    """A cell whose past comes from the server, followed by the values seen since."""

    def __init__(self, screen: FleetScreen, column: Column[FleetNode], row: Hashable) -> None:
        super().__init__(screen, column, row)
        self._fleet = screen

    @property
    def ring(self) -> HistoryRing | None:
        """The server's values, followed by those that led to the shown moment."""
        own, earlier = super().ring, self.earlier
        if own is None or not earlier:
            return own
        ring = HistoryRing(len(earlier) + own.length)
        for value in (*(value.value for value in earlier), *own.values()):
            ring.push(None if math.isnan(value) else value)
        ring.last = own.last
        return ring

    @property
    def earlier(self) -> Sequence[TimedValue]:
        """The server's values up to the first interval that was seen here; empty for too few."""
        served = [(round(at * NS), value) for at, value in self._fleet.server_past(self.column.id, self.row)]
        if len(served) < 2:
            return ()
        cursor = self._fleet.watch_state.cursor
        seen = cursor.timeline.times if cursor is not None else ()
        starts = (2 * served[0][0] - served[1][0], *(end for end, _value in served))
        return [TimedValue(start, end, value) for start, (end, value) in zip(starts, served, strict=False)
                if not seen or end < seen[0]]


def _place(reading: FleetReading, interval: float, width: int) -> list[TextSegment]:
    gone = sum(node.gone for node in reading.nodes)
    many = several(len(reading.nodes), "node")
    odd = f" · {reading.odd:,} odd" if reading.odd else " · none odd"
    left: list[TextSegment] = [(f" {reading.server}", StyleRole.SUMMARY), (f"   {many}", StyleRole.PLAIN),
                               (odd, StyleRole.AMBER if reading.odd else StyleRole.DIM),
                               (f" · {gone:,} gone" if gone else "", StyleRole.AMBER)]
    cost = reading.cost
    detail = "" if reading.recorded else f"{interval:g} s · {cost.seconds:.2f} s, {cost.sent / 1000:,.0f} kB "
    room = width - sum(len(text) for text, _ in left)
    return [*left, (flush_right(detail, room) if len(detail) < room else "", StyleRole.DIM)]


def _sums(reading: FleetReading) -> list[TextSegment]:
    """Return the totals of all nodes."""
    living = [node for node in reading.nodes if not node.gone]
    parts: list[TextSegment] = []
    busy = [node.values["Busy%"] for node in living if "Busy%" in node.values]
    if busy:
        parts.append((f" Busy {math.fsum(busy) / len(busy):.0f} %", StyleRole.PLAIN))
    watts = [node.values["PkgWatt"] for node in living if "PkgWatt" in node.values]
    if watts:
        total = math.fsum(watts)
        parts.append((f"  {total / 1000:,.1f} kW" if total >= 10_000 else f"  {total:,.0f} W", StyleRole.PLAIN))
    hot = max((node for node in living if "CoreTmp" in node.values), key=lambda node: node.values["CoreTmp"],
              default=None)
    if hot is not None:
        parts.append((f"  hottest {hot.values['CoreTmp']:.0f} °C {hot.name}", StyleRole.PLAIN))
    held = sum(node.values.get("Throttled%", 0.0) >= 1.0 for node in living)
    if held:
        parts.append((f"  {held:,} held back by heat", StyleRole.AMBER))
    return parts
