"""The arrangement of groups on the screen, as a tree or as a list."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.groups.columns import GROUP
from turbotui.features.groups.model import GroupRow
from turbotui.quantities.tables import RowTable
from turbotui.widgets.cells import Slot, StyleRole
from turbotui.widgets.content import Line
from turbotui.widgets.row_content import Naming, RowContent, RowPainter

_NAMES: Final = (22, 44)
"""The least and most characters of a name with its indentation."""


NAMING: Final = Naming[GroupRow](lambda row: row.group.key,
                                 lambda row: f"{row.group.path} {row.group.name} {row.group.domain}",
                                 lambda row: row.group.name)


def group_content(table: RowTable[GroupRow], seq: int = 0, *, tree: bool = True) -> RowContent[GroupRow]:
    """Make the content of an interval."""
    there = {row.group.key for row in table.rows}
    parents: dict[Hashable, Hashable] = {row.group.key: row.group.parent for row in table.rows
                                         if tree and row.group.parent in there}
    return RowContent(table, NAMING, seq, parents if tree else None)


class GroupPainter(RowPainter[GroupRow]):
    """Paints idle groups dimly."""

    def name_role(self, row: GroupRow, line: Line[Hashable]) -> StyleRole:
        return StyleRole.DIM if row.increases.get("cpu_usec") == 0 else super().name_role(row, line)


def name_slots(fixed: Sequence[Slot], width: int) -> tuple[Slot, ...]:
    """Return slots with room for indented names."""
    wide = max(_NAMES[0], min(_NAMES[1], width // 4))
    return tuple(replace(slot, width=wide) if slot.column.id == GROUP.id else slot for slot in fixed)
