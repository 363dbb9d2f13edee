"""The rows of a kind as the content of a table, and the painter of their tree. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from turbotui.cell_widths import cut, flush_left
from turbotui.quantities.columns import Column, Value
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindDefinition, KindRow, row_table, words_of
from turbotui.widgets.cells import StyleRole, cell_text
from turbotui.widgets.content import Line
from turbotui.widgets.painter import FOLDED, OPEN, TextSegment
from turbotui.widgets.row_content import Naming, RowContent, RowPainter

NAMING: Final = Naming[KindRow](lambda row: row.identity, words_of, lambda row: row.row.key)


class KindPainter(RowPainter[KindRow]):
    """Paints rows with parts as folded or unfolded, and indents the parts."""

    def ids(self, content: RowContent[KindRow], line: Line[Hashable]) -> list[TextSegment]:
        row = content.get(line.row)
        if row is None or content.parents is None or not self.fixed:
            return super().ids(content, line)
        first, *others = self.fixed
        mark = "  " if line.open is None else f"{OPEN if line.open else FOLDED} "
        name = f"{'  ' * line.depth}{mark}{content.value(first.column, line.row)}"
        tag = ("•", StyleRole.TAGGED) if line.row in self.view.tags else (" ", StyleRole.PLAIN)
        segments = [tag, (flush_left(cut(name, first.width), first.width),
                          StyleRole.PLAIN if line.open is None else StyleRole.SUMMARY)]
        for slot in others:
            value = content.value(slot.column, line.row)
            segments.append((" " + (" " * slot.width if value is None else cell_text(slot.column, value, slot.width)),
                             StyleRole.PLAIN))
        return segments


class KindMoment:
    """The rows of a kind over one interval, those inside folded rows, too."""

    def __init__(self, definition: KindDefinition, rows: RowDifferences) -> None:
        self._rows = rows
        self._table = row_table(definition, rows, only=())

    def bare(self, column: Column[KindRow], row: Hashable) -> Value:
        """`Cell.bare`; None if there is no such row."""
        roster = self._rows.newer.roster
        slot = roster.slots.get(row)  # type: ignore[call-overload]  # every key here is an identity
        return None if slot is None else self._table.cell(column, KindRow(self._rows, slot, roster.rows[slot])).bare
