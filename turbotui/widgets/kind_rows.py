"""The rows of a kind as the content of a table. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from turbotui.quantities.columns import Column, Value
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindDefinition, KindRow, row_table, words_of
from turbotui.widgets.row_content import Naming

NAMING: Final = Naming[KindRow](lambda row: row.identity, words_of, lambda row: row.row.key)


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
