"""The uncore screen: a panel for each kind of uncore PMU, a row for each unit, sums by package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.widget import Widget

from turbotui.app.actions import Where, bindings_for
from turbotui.app.base import WatchScreen
from turbotui.app.explain import Explain
from turbotui.app.graph import Graph
from turbotui.app.sort_menu import SortMenu
from turbotui.app.watch import Watch
from turbotui.events.uncore.fields import fields_of
from turbotui.features.uncore.absence import why_none
from turbotui.features.uncore.board import Board, Reading
from turbotui.features.uncore.events_window import EventPicker
from turbotui.features.uncore.explaining import said
from turbotui.features.uncore.filters_window import FilterForm
from turbotui.features.uncore.one_cell import UncoreCell, UncoreHistory
from turbotui.features.uncore.panels import At, Row, UncoreUnits
from turbotui.features.uncore.ports import PortMap
from turbotui.features.uncore.sheets import Sheet, SheetCell, SheetColumn, SheetRow
from turbotui.features.uncore.sheets_view import SheetsView
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.uncore import Metric
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import MARK_ESTIMATED, MARK_PARTIAL, UNKNOWN, StyleRole, number
from turbotui.widgets.listing import Item, Listing

_MANY = 16
"""Units of a kind from which only their sums are shown at first."""
_FILTERED = "[f]"
"""After the label of a row that does not count everything: the columns may leave no room to say more."""
_NO_EVENTS = "the kernel names no events of these PMUs: C types one, such as event=0x1,umask=0x2"


@dataclass(frozen=True, slots=True)
class _Listed:
    """A column as the sort menu lists it."""

    id: str
    unit: str
    help: str


class UncoreScreen(WatchScreen):
    """Counts only while it is shown."""

    where: ClassVar[Where] = Where.UNCORE
    number = "5"
    word = "uncore"
    BINDINGS = bindings_for(Where.UNCORE)

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        machine = watch.session.machine
        self._board = Board(machine)
        self._ports = PortMap(machine.host)
        self._past = UncoreHistory(self._board)
        self._view = SheetsView(id="sheets")
        self._absent = Listing(id="absent")
        self._sort: dict[str, tuple[str, bool]] = {}
        self._folded = {
            panel.kind.id for panel in self._board.panels
            if len(panel.units) > _MANY and any(row.is_sum for row in panel.rows)
        }  # fmt: skip

    def body(self) -> Iterable[Widget]:
        """The panels, or why there are none."""
        yield self._view if self._board.panels else self._absent

    @property
    def view(self) -> SheetsView:
        """The panels, for tests."""
        return self._view

    @property
    def board(self) -> Board:
        """What is counted, for tests."""
        return self._board

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The summary only: panels have counters of their own."""
        return ()

    def read_beside(self) -> None:
        """Count what the panels show, from now on and not only from the end of this interval."""
        session = self.watch_state.session
        self.watch_state.read_also(self, self._board.sources(), self._board.signals())
        session.end_interval()

    # Drawing

    def show_columns(self) -> None:
        """Lay everything out for the width."""
        self.watch_state.want(self.wanted)
        self._fill()

    def take(self, frame: Frame) -> None:
        """See `WatchScreen.take`: the past of cells that somebody looked into."""
        self._past.push(frame)

    def show_frame(self) -> None:
        """Show the numbers of the newest frame."""
        super().show_frame()
        self._fill()
        self.show_status()

    def _fill(self) -> None:
        if not self._board.panels:
            why = why_none(self.watch_state.session.machine)
            lines = [("No uncore PMU here", StyleRole.SUMMARY), (f"{why.reason.value}: {why.detail}", StyleRole.PLAIN)]
            lines += [(f"to do: {part.strip()}", StyleRole.KEY) for part in why.remedy.split(";")]
            self._absent.show([Item(((f" {text}", role),)) for text, role in lines])
            return
        self._view.show([self._sheet(panel) for panel in self._board.panels])

    def _sheet(self, panel: UncoreUnits) -> Sheet:
        kind, metrics, frame = panel.kind, self._board.shown(panel), self.watch_state.frame
        sorted_by = next((at for at, one in enumerate(metrics) if one.id == self._sort.get(kind.id, ("",))[0]), None)
        foldable = any(row.is_sum for row in panel.rows)
        rows = self._rows(panel, frame)
        units = f"{len(panel.units)} x {kind.id}"
        return Sheet(
            key=kind.id,
            title=kind.title,
            about=f"{kind.what} · {units}" if kind.what else units,
            columns=tuple(SheetColumn(one.id, one.heading) for one in metrics),
            rows=tuple(self._line(panel, row, metrics, frame) for row in rows),
            sort=sorted_by,
            folded=kind.id in self._folded if foldable else None,
            remark="" if metrics else _NO_EVENTS,
        )

    def _rows(self, panel: UncoreUnits, frame: Frame | None) -> list[Row]:
        """The rows as they stand below each other: sums first, sorted inside each package."""
        folded = panel.kind.id in self._folded
        rows = [row for row in panel.rows if row.is_sum or not folded]
        name, falling = self._sort.get(panel.kind.id, ("", True))
        metric = next((one for one in self._board.shown(panel) if one.id == name), None)
        if metric is None or frame is None:
            return rows

        def place(row: Row) -> tuple[bool, float]:
            value = self._board.reading(frame, panel, row, metric).value
            return value is None, 0.0 if value is None else -value if falling else value

        if not any(row.is_sum for row in panel.rows):
            return sorted(rows, key=place)
        found: list[Row] = []
        for package in dict.fromkeys(row.package for row in rows):
            members = [row for row in rows if row.package == package]
            found += [row for row in members if row.is_sum]
            found += sorted((row for row in members if not row.is_sum), key=place)
        return found

    def _line(self, panel: UncoreUnits, row: Row, metrics: Sequence[Metric], frame: Frame | None) -> SheetRow:
        cells = [self._cell(self._board.reading(frame, panel, row, one), one) if frame is not None
                 else SheetCell(UNKNOWN, StyleRole.DIM) for one in metrics]
        filters = self._board.filters_said(panel, row)
        note = filters or ("" if row.is_sum else self._ports.note(row.units[0]))
        return SheetRow(row.key, f"{row.label} {_FILTERED}" if filters else row.label, tuple(cells), note, row.is_sum)

    @staticmethod
    def _cell(reading: Reading, metric: Metric) -> SheetCell:
        if reading.value is None:
            return SheetCell(UNKNOWN, StyleRole.DIM)
        mark = MARK_PARTIAL if reading.partial else MARK_ESTIMATED if reading.estimated else ""
        return SheetCell(mark + number(reading.value, metric.decimals, 8 - len(mark)))

    # Where the cursor is

    def _here(self) -> tuple[UncoreUnits, Row, Metric | None] | None:
        sheet, line = self._view.sheet, self._view.row
        if sheet is None or line is None:
            return None
        panel = next(panel for panel in self._board.panels if panel.kind.id == sheet.key)
        row = next(row for row in panel.rows if row.key == line.key)
        metrics = self._board.shown(panel)
        return panel, row, metrics[self._view.column] if metrics else None

    def readout(self) -> str:
        """The cell under the cursor in full."""
        here, frame = self._here(), self.watch_state.frame
        if here is None:
            return ""
        panel, row, metric = here
        name = row.units[0].pmu.name if not row.is_sum else f"{len(row.units)} x {panel.kind.title}"
        filters = self._board.filters_said(panel, row)
        where = f"{name} · {row.label}{f' · {filters}' if filters else ''}"
        if metric is None or frame is None:
            return where
        reading = self._board.reading(frame, panel, row, metric)
        why = f" · {reading.why.sentence()}" if reading.why is not None else ""
        return f"{where} · {metric.what} {said(metric, reading)}{why}"

    def on_sheets_view_moved(self) -> None:
        """Read out the new cell."""
        self.show_status()

    def on_sheets_view_pressed(self, message: SheetsView.Pressed) -> None:
        """Fold, sort or explain by the mouse."""
        if message.part == "title":
            self._fold({message.sheet.key})
        elif message.part == "cell":
            self.action_explain()
        else:
            self._sort_by(message.sheet.key, message.sheet.columns[message.column].key)

    # Actions

    def action_move(self, by: int) -> None:
        """Up or down."""
        self._view.move(by)

    def action_page(self, by: int) -> None:
        """The next or previous panel."""
        self._view.move_sheet(by)

    def action_end(self, by: int) -> None:
        """First or last row."""
        self._view.move(by * 100_000)

    def action_sideways(self, by: int) -> None:
        """The next or previous column; at the left edge of a sum: fold or unfold."""
        row = self._view.row
        if not self._view.sideways(by) and by < 0 and row is not None and row.is_sum and self._view.sheet is not None:
            self._fold({self._view.sheet.key})

    def action_column(self, by: int) -> None:
        """The next or previous column."""
        self._view.sideways(by)

    def action_fold_all(self) -> None:
        """Fold every panel that has sums, or unfold all of them."""
        able = {panel.kind.id for panel in self._board.panels if any(row.is_sum for row in panel.rows)}
        self._folded = set() if able <= self._folded else able
        self._fill()

    def _fold(self, kinds: set[str]) -> None:
        sheets = {sheet.key for sheet in self._view.sheets if sheet.folded is not None}
        self._folded ^= kinds & sheets
        self._fill()

    def action_sort_step(self, by: int) -> None:
        """Sort the panel by the next or previous column."""
        here = self._here()
        if here is None:
            return
        panel = here[0]
        names = ["", *(one.id for one in self._board.shown(panel))]
        now = self._sort.get(panel.kind.id, ("", True))[0]
        self._sort_by(panel.kind.id, names[(names.index(now) + by) % len(names) if now in names else 0])

    def action_sort_menu(self) -> None:
        """Sort the panel by a column of a list."""
        here = self._here()
        if here is None:
            return
        kind = here[0].kind.id

        def chosen(name: str | None) -> None:
            if name is not None:
                self._sort_by(kind, name)

        columns = [_Listed(one.id, one.unit, one.formula) for one in self._board.shown(here[0])]
        self.app.push_screen(SortMenu(columns, self._sort.get(kind, ("", True))[0], "topology order"), chosen)

    def action_reverse(self) -> None:
        """The other way round."""
        here = self._here()
        if here is not None and here[0].kind.id in self._sort:
            name, falling = self._sort[here[0].kind.id]
            self._sort[here[0].kind.id] = (name, not falling)
            self._fill()

    def _sort_by(self, kind: str, name: str) -> None:
        before, falling = self._sort.get(kind, ("", True))
        self._sort[kind] = (name, not falling if name == before and name else True)
        self._fill()
        self.notice(f"sorted by {name}" if name else "in the order of the machine")

    def action_explain(self) -> None:
        """Explain the cell under the cursor."""
        cell = self._cell_here()
        if cell is not None:
            self.app.push_screen(Explain(cell))

    def action_graph(self) -> None:
        """Graph the cell under the cursor."""
        cell = self._cell_here()
        if cell is not None:
            self.app.push_screen(Graph(cell))

    def _cell_here(self) -> UncoreCell | None:
        here = self._here()
        if here is None or here[2] is None:
            return None
        at = At(here[0], here[1], here[2])
        return UncoreCell(self.watch_state, self._board, self._ports, self._past, at)

    def action_columns(self) -> None:
        """Choose what the panel under the cursor shows."""
        here = self._here()
        if here is not None:
            self.app.push_screen(EventPicker(self._board, here[0], self._changed))

    def action_filters(self) -> None:
        """Filter what the row under the cursor counts."""
        here = self._here()
        if here is None:
            return
        panel, row, _metric = here
        if not fields_of(panel.pmu):
            self.notice(f"{panel.kind.title} has no filters")
            return
        self.app.push_screen(FilterForm(self._board, self._ports, panel, row, self._changed))

    def _changed(self) -> None:
        self.read_beside()
        self._fill()
        self.show_status()


