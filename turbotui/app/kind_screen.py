"""A screen of the rows of a kind, now and at any kept moment."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, cast

from textual.binding import BindingsMap
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.row_table import RowTableScreen
from turbotui.app.sessions import PlayedSession, RowReadingSession
from turbotui.app.watch import Watch
from turbotui.feature import ScreenSpec, part
from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindDefinition, KindRow, RowColumn, kind_notes, row_table
from turbotui.widgets.kind_rows import NAMING, KindMoment
from turbotui.widgets.row_content import RowContent, RowView
from turbotui.widgets.segment_lines import NoteLines, SegmentLines
from turbotui.widgets.table_view import TableView

_PASSING: Final = frozenset({Reason.LATE, Reason.INTERRUPTED})
"""Reasons of one interval, after which the rows are there again."""
_WAITS: Final = frozenset({Reason.FIRST_TICK, Reason.NOT_READ})
"""Reasons that pass, or of which the status line says what to do."""


class KindScreen(RowTableScreen[KindRow]):
    """The rows of a kind; those that are inside others are folded at first, if the kind's definition says so.

    Args:
        spec: names the kind, and place, key and word of the screen; None for a subclass, which has its own.

    Attributes:
        definition: of the kind.
    """

    definition: KindDefinition
    treeless = "No row has rows inside it"

    def __init__(self, watch: Watch, spec: ScreenSpec | None = None) -> None:
        if spec is not None:
            self.where, self.number, self.word = spec.place, spec.number, spec.word
            self.definition = cast("KindDefinition", part(spec.rows))
        super().__init__(watch)
        if spec is not None:
            self._bindings = BindingsMap.merge((self._bindings, BindingsMap(bindings_for(spec.place))))
        self._nothing = SegmentLines(id="nothing")
        self._notes = NoteLines(id="notes")
        self._shown: Frame | None = None
        self._known_outer: frozenset[Hashable] = frozenset()

    def first_view(self) -> RowView[KindRow]:
        """The greatest first."""
        columns = self.definition.columns
        sort = next((column for column in columns if column.id == self.definition.sort), None)
        return TableView(tuple(column for column in columns if column.default), sort=sort, reverse=sort is not None)

    def read_beside(self) -> None:
        """Read the rows from now on, and not only from the end of this interval."""
        self._ask()
        self.watch_state.session.end_interval()

    def _ask(self) -> None:
        view = self._table.view
        asked = self.definition.source if view.filter.text else self.definition.asked(view.columns)
        self.watch_state.read_also(self, (), frozenset(), rows=(asked,))

    def toggle(self, column: RowColumn) -> None:
        """Show or hide a column, which may be read only while it is shown."""
        super().toggle(column)
        self._ask()

    def body(self) -> Iterable[Widget]:
        """Lay out the table, what stands below its titles where there are no rows, and notes."""
        yield from super().body()
        yield self._nothing
        yield self._notes

    # Drawing

    def show_columns(self) -> None:
        """Lay the table out for the width."""
        self.watch_state.want(self.wanted)
        self._show()

    def show_frame(self) -> None:
        """Show the rows of the frame, or of the held moment."""
        super().show_frame()
        self._show()

    @property
    def _rows(self) -> RowDifferences | Unavailable:
        frame = self.watch_state.frame
        if frame is None:
            return Unavailable(Reason.FIRST_TICK, "nothing was read yet")
        return frame.kind(self.definition.source.kind.id)

    def _show(self) -> None:
        if not self.composed:
            return
        frame, differences = self.watch_state.frame, self._rows
        rows = differences if isinstance(differences, RowDifferences) else None
        outer = frozenset() if rows is None or not self.definition.folded else frozenset(
            row.identity for row in rows.newer.roster.rows.values() if row.key in rows.parts)
        if outer - self._known_outer:
            self._change(folded=self._table.view.folded | (outer - self._known_outer))
            self._known_outer |= outer
        folded = frozenset[Hashable]() if self._table.view.filter.text else self._table.view.folded
        self.show_content(self._content(rows, 0 if frame is None else frame.seq, folded))
        restricted = self.watch_state.session.machine.topology.restricted
        self._notes.show_notes(() if rows is None else kind_notes(self.definition, rows, restricted))
        self._show_nothing(differences if isinstance(differences, Unavailable) and differences.reason not in _WAITS
                           else None)

    def _show_nothing(self, why: Unavailable | None) -> None:
        """Say below the titles why there are no rows, and draw what the kernel tells."""
        if why is None:
            self._nothing.styles.height, self._table.styles.height = 0, "1fr"
            return
        self._nothing.styles.height, self._table.styles.height = "1fr", 1
        title = self.definition.source.kind.title
        words = as_sentence(f"{title}: unknown in this interval") if why.reason in _PASSING else f"No {title} here"
        self._nothing.show(self.charts.absence(words, why, self.size.width, self._nothing.size.height))

    def _content(self, rows: RowDifferences | None, seq: int, folded: frozenset[Hashable]) -> RowContent[KindRow]:
        """Make the content; rows inside a folded row, which may be thousands, are left out but for one."""
        parents: dict[Hashable, Hashable] = {}
        table = row_table(self.definition, rows, parts=False)
        if rows is not None and rows.parts:
            every = list(table.rows)
            by_slot = rows.newer.roster.rows
            for row in every:  # which grows: rows inside a row follow it
                slots, identity = rows.parts.get(row.row.key, ()), row.identity
                for slot in slots[:1] if identity in folded else slots:
                    part = by_slot[slot]
                    every.append(KindRow(rows, slot, part))
                    parents[part.identity] = identity
            table = row_table(self.definition, rows, only=every)
        return RowContent(table, NAMING, seq, parents or None)

    def show_view(self, view: RowView[KindRow]) -> None:
        is_other = bool(view.filter.text) != bool(self._table.view.filter.text)
        super().show_view(view)
        if is_other:
            self._ask()  # a filter looks into every text, and into folded rows
            self._show()

    @property
    def usual_folds(self) -> frozenset[Hashable]:
        return self._known_outer

    def show_folds(self, folded: frozenset[Hashable]) -> None:
        super().show_folds(folded)
        self._show()

    def readout(self) -> str:
        """Describe the cell under the cursor, or say why there are no rows, or too many."""
        differences = self._rows
        if isinstance(differences, RowDifferences):
            return super().readout() if self._table.lines else self.all_filtered or "There are no rows"
        if differences.reason is Reason.NOT_READ and isinstance(self.watch_state.session, PlayedSession):
            kind = self.definition.source.kind
            return as_sentence(f"The recording has no {kind.title}: record --tables {kind.id} keeps them")
        if differences.reason is Reason.NOT_READ and isinstance(self.watch_state.session, RowReadingSession):
            if self.watch_state.in_past:
                return as_sentence(f"No {self.definition.source.kind.title} of this moment: they were not read then")
            why = self.watch_state.session.why_no_rows(self.definition.source.kind.id)
            if why is not None:
                return as_sentence(why.sentence())
            return self.waiting_for(f"the first reading of {self.definition.source.kind.title}")
        return as_sentence(differences.sentence())

    def over_minute(self, content: RowContent[KindRow]) -> tuple[RowContent[KindRow], float] | None:
        kind, rows = self.definition.source.kind.id, self._rows
        older = next((frame.older.rows[kind] for frame in self.minute()
                      if frame.older is not None and kind in frame.older.rows), None)
        if older is None or not isinstance(rows, RowDifferences) or rows.older is None:
            return None
        seconds = (rows.newer.started_ns - older.started_ns) / 1e9
        over = self._content(RowDifferences(older, rows.newer, rows.missed), content.seq, frozenset())
        over.part = (rows.newer.started_ns - rows.older.started_ns) / 1e9 / seconds
        return over, seconds

    # The past

    def moment(self, frame: Frame, _name: str) -> KindMoment | None:
        differences = frame.kind(self.definition.source.kind.id)
        return KindMoment(self.definition, differences) if isinstance(differences, RowDifferences) else None
