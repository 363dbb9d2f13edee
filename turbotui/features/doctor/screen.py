"""The doctor screen: every counter source, what it offers here, and remedies for what is missing."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.row_table import RowTableScreen
from turbotui.app.watch import Watch
from turbotui.cell_widths import cell_count, flush_left
from turbotui.dataclass import dataclass
from turbotui.features.doctor.model import Diagnosis, SourceReport, State, diagnose
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.widgets.cells import Slot, StyleRole, cell_text
from turbotui.widgets.geometry import RULE
from turbotui.widgets.listing import Item, Listing
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_content import Naming, RowContent, RowPainter
from turbotui.widgets.table_widget import TableWidget

_STATES: Final = {
    State.READY: ("✓ ready", StyleRole.KEY),
    State.PARTIAL: ("▲ partial", StyleRole.AMBER),
    State.ABSENT: ("— absent", StyleRole.DIM),
}
_ROLES: Final = dict(_STATES.values())
_FACTS: Final = "the machine"
_LONG: Final = 90
"""Characters of a reason beside which there is room for what a source gives."""
_TITLE: Final = 20
"""The most characters of a source's title, which of added columns is their formulas; the report below has all of it."""
_STATE: Final = cell_count("▲ partial")
_MARKED: Final = 50
"""Characters that a reason gets first: where it has fewer beside a state in words, the state is its mark alone."""


@dataclass(frozen=True, slots=True)
class DoctorRow:
    """A row of the table: a source, or the machine itself (None)."""

    source: SourceReport | None

    @property
    def title(self) -> str:
        """The source's title, or "the machine"."""
        return _FACTS if self.source is None else self.source.title

    @property
    def state(self) -> str:
        """The source's state in a word, with its mark."""
        return "" if self.source is None else _STATES[self.source.state][0]

    @property
    def gives(self) -> str:
        """What can be read from the source."""
        return "" if self.source is None else self.source.gives

    @property
    def why(self) -> str:
        """What the source cannot offer here, and what to do about it."""
        return "" if self.source is None else "; ".join(filter(None, (self.source.detail, self.source.remedy)))

    def fitted(self, width: int) -> str:
        """The longest form of the reason that fits: without the remedy, without places, the cause alone."""
        forms = (self.why, *(() if self.source is None else (self.source.detail, *self.source.in_short)))
        return next((form for form in forms if cell_count(form) <= width), forms[-1])

    def signals(self, *, usable: bool) -> int | None:
        """The numbers of the source's available and missing signals."""
        return None if self.source is None else sum(signal.usable is usable for signal in self.source.signals)


_COLUMNS: Final[tuple[Column[DoctorRow], ...]] = (
    Column("source", "", -1, (), lambda row: row.title,
           help="name of the source of counters", priority=0, identity=True),
    Column("state", "", -1, (), lambda row: row.state, help="ready, partial or absent", width=_STATE, priority=0),
    Column("why", "", -1, (), lambda row: row.why, help="missing signals, the reason, and the remedy",
           priority=1),
    Column("gives", "", -1, (), lambda row: row.gives, help="what the source provides", priority=2),
    Column("usable", "", 0, (), lambda row: row.signals(usable=True),
           help="signals that it gives here", default=False),
    Column("missing", "", 0, (), lambda row: row.signals(usable=False),
           help="signals that it cannot give here", width=7, default=False),
)


class DoctorPainter(RowPainter[DoctorRow]):
    """Paints states in their colours, and the reasons dimly, in as many words as fit."""

    def segment(self, content: RowContent[DoctorRow], row: Hashable, slot: Slot) -> TextSegment:
        text, role = super().segment(content, row, slot)
        if slot.column.id == "state" and (held := content.get(row)) is not None:
            return flush_left(f" {held.state[:slot.width if slot.width >= _STATE else 1]}", len(text)), _ROLES.get(
                held.state, role)
        if slot.column.id != "why" or (held := content.get(row)) is None:
            return text, role
        return f" {cell_text(slot.column, held.fitted(slot.width), slot.width)}", StyleRole.DIM


class DoctorScreen(RowTableScreen[DoctorRow]):
    """The screen with a table of sources, and below it a report on the source under the cursor."""

    where = "doctor"
    number = "9"
    word = "doctor"
    painter_kind = DoctorPainter
    BINDINGS = bindings_for("doctor")

    DEFAULT_CSS = """
    DoctorScreen #report { height: 45%; border-top: solid $tui-rule; background: $background; }
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._diagnosis: Diagnosis = diagnose(watch.session.machine, watch.session.capabilities)
        self.report = Listing(id="report")
        self._reported: tuple[Hashable, int] = ("", 0)
        self._lines: Sequence[Sequence[TextSegment]] = ()  # of the report
        self._naming = Naming[DoctorRow](
            lambda row: row.source.id if row.source else _FACTS,
            lambda row: " ".join((row.title, row.state, row.gives, row.why, *self._columns_of(row.source),
                                  *(() if row.source is None else (signal.id for signal in row.source.signals)))),
            lambda row: row.title)

    def body(self) -> Iterable[Widget]:
        """Lay out table and report."""
        yield from super().body()
        yield self.report

    def show_columns(self) -> None:
        """Lay out the table for the width."""
        sources = sorted(self._diagnosis.sources, key=lambda source: source.state is State.READY)
        rows = (*(DoctorRow(source) for source in sources), DoctorRow(None))
        title, why, gives = (max(map(len, texts)) for texts in (
            [row.title for row in rows], [row.why for row in rows], [row.gives for row in rows]))
        title = min(title, _TITLE)
        # the reason is what people come for: what a source gives stands behind it, where both have room
        room = self.size.width - title - len(RULE) - sum(1 + width for width in (_STATE, 1, 1))
        state = _STATE if room >= min(why, _MARKED) else len("state")
        room += _STATE - state
        beside = room - gives - 1
        wide = beside if beside >= min(why, _LONG) else room
        widths = {"source": title, "gives": gives, "state": state, "why": max(12, wide)}
        columns = tuple(replace(column, width=widths.get(column.id, column.width)) for column in _COLUMNS
                        if column.id != "gives" or wide == beside)
        self.show_content(RowContent(RowTable("sources", "source", columns, rows), self._naming))
        self.watch_state.want(self.wanted)

    def on_table_widget_moved(self, _message: TableWidget.Moved) -> None:
        """Report on the source under the cursor."""
        row, key = self.row_at_cursor, self._table.current
        if row is None or (key, self.size.width) == self._reported:
            return
        self._reported = key, self.size.width
        self._report(self._facts() if row.source is None else self._source(row.source))
        self.report.scroll_to(y=0, animate=False, immediate=True)

    def show_frame(self) -> None:
        """Draw the newest numbers below a report that leaves room for them."""
        super().show_frame()
        self._report(self._lines)

    def _report(self, lines: Sequence[Sequence[TextSegment]]) -> None:
        """Show a report, and below it charts of the machine where there is room."""
        self._lines = lines
        charts = self.charts.machine_lines(self.size.width - 1, self.report.size.height - len(lines))
        self.report.show([Item(tuple(line)) for line in (*lines, *charts)])

    def _facts(self) -> list[tuple[TextSegment, ...]]:
        diagnosis = self._diagnosis
        wide = max((len(what) for what, _ in diagnosis.facts), default=0) + 2
        lines: list[tuple[TextSegment, ...]] = [((f" {flush_left(what, wide)}", StyleRole.TITLE),
                                                 (value, StyleRole.PLAIN)) for what, value in diagnosis.facts]
        return [*lines, *(((f" {note}", StyleRole.DIM),) for note in diagnosis.notes)]

    def _columns_of(self, source: SourceReport | None) -> list[str]:
        """Return the columns that a source gives, or that are missing for want of it: a column's first missing need."""
        if source is None:
            return []
        session, signals = self.watch_state.session, {signal.id for signal in source.signals}
        here = session.capabilities.signals
        needs = ((column.id, column.needs) for column in session.catalog.columns if column.needs)
        return [name for name, some in needs
                if next((column for column in some if column not in here), some[0]) in signals]

    def _source(self, source: SourceReport) -> list[tuple[TextSegment, ...]]:
        # a path or a command stays in one part, to be copied
        wrapped = partial(textwrap.wrap, width=max(20, self.size.width - 10), break_long_words=False,
                          break_on_hyphens=False)
        lines: list[tuple[TextSegment, ...]] = [((f" {source.title}: {source.gives}", StyleRole.SUMMARY),)]
        if source.detail:
            lines += [((f" {part}", StyleRole.PLAIN),) for part in wrapped(source.detail)]
        if source.remedy:
            lines += [((f" to do: {part}" if not at else f"        {part}", StyleRole.KEY),)
                      for at, part in enumerate(wrapped(source.remedy))]
        wide = max((len(signal.id) for signal in source.signals), default=0) + 2
        for signal in source.signals:
            if signal.usable:
                other = "" if signal.chosen else "   (read from another source)"
                lines.append(((f" ✓ {flush_left(signal.id, wide)}", StyleRole.KEY),
                              (signal.origin + other, StyleRole.DIM)))
            else:
                why = "; ".join(text for text in (f"{signal.reason}: {signal.detail}", signal.remedy) if text)
                parts = ["as above"] if source.detail.endswith(f"{signal.reason}: {signal.detail}") else (
                    wrapped(why, width=max(20, self.size.width - wide - 6)))
                lines += [((f" {'—' if not at else ' '} {flush_left('' if at else signal.id, wide)}", StyleRole.DIM),
                           (part, StyleRole.DIM)) for at, part in enumerate(parts)]
        if columns := self._columns_of(source):
            lines += [((f" {part}", StyleRole.DIM),) for part in wrapped(f"its columns: {', '.join(columns)}")]
        return lines

    def readout(self) -> str:
        """Describe the cell under the cursor, or how many sources work."""
        if (cell := self._table.selected) is not None and cell[0].id != "state":
            return super().readout()
        states = [source.state for source in self._diagnosis.sources]
        return " · ".join(f"{states.count(state)} {state.value}" for state in State)

    def action_page(self, by: int) -> None:
        """Scroll the report."""
        before = self.report.scroll_offset
        self.report.move(by * max(1, self.report.size.height - 1))
        if self.report.scroll_offset == before:
            self.notice(f"The {'end' if by > 0 else 'beginning'} of the report is in sight: the arrows go to the next "
                        "source")
