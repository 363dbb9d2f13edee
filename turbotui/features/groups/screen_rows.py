"""The arrangement of groups on the screen, as a tree or as a list."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from turbotui.cell_widths import begin_of, cell_count, cut, flush_left
from turbotui.features.groups.columns import GROUP
from turbotui.features.groups.model import GroupRow
from turbotui.quantities.columns import Value
from turbotui.quantities.tables import RowTable
from turbotui.widgets.cells import Slot, StyleRole
from turbotui.widgets.content import Line
from turbotui.widgets.painter import FOLDED, OPEN, TextSegment
from turbotui.widgets.row_content import Naming, RowContent, RowPainter

_NAMES: Final = (22, 44)
"""The least and most characters of a name with its indentation."""
_DEEPEST: Final = 9
"""The most steps of indentation."""


def _words(row: GroupRow) -> str:
    return f"{row.group.path} {row.group.name} {row.group.domain}"


def _in_words(row: GroupRow) -> str:
    return row.group.name


NAMING: Final = Naming[GroupRow](lambda row: row.group.key, _words, _in_words)


def group_content(table: RowTable[GroupRow], seq: int = 0, *, tree: bool = True) -> RowContent[GroupRow]:
    """Make the content of an interval."""
    there = {row.group.key for row in table.rows}
    parents: dict[Hashable, Hashable] = {row.group.key: row.group.parent for row in table.rows
                                         if tree and row.group.parent in there}
    return RowContent(table, NAMING, seq, parents if tree else None)


class GroupPainter(RowPainter[GroupRow]):
    """Paints names indented by their depth in the tree, and idle groups dimly."""

    def ids(self, content: RowContent[GroupRow], line: Line[Hashable]) -> list[TextSegment]:
        row = content.get(line.row)
        if row is None or not self.fixed or self.fixed[0].column.id != GROUP.id:
            return super().ids(content, line)
        mark = "" if line.open is None else f"{OPEN if line.open else FOLDED} "
        name, width = f"{'  ' * min(line.depth, _DEEPEST)}{mark}{row.group.name}", self.fixed[0].width
        tag = ("•", StyleRole.TAGGED) if line.row in self.view.tags else (" ", StyleRole.PLAIN)
        role = StyleRole.DIM if _is_idle(row) else StyleRole.SUMMARY if line.open is not None else StyleRole.PLAIN
        return [tag, (flush_left(cut(name, width), width), role), *_rest(super().ids(content, line), 1 + width)]


def _rest(segments: Sequence[TextSegment], start: int) -> list[TextSegment]:
    """Return segments without their first `start` cells."""
    rest: list[TextSegment] = []
    for text, role in segments:
        left = text[len(begin_of(text, start)):]
        start -= cell_count(text)
        if left:
            rest.append((left, role))
    return rest


def _is_idle(row: GroupRow) -> bool:
    used: Value = row.increases.get("cpu_usec")
    return used == 0


def name_slots(fixed: Sequence[Slot], width: int) -> tuple[Slot, ...]:
    """Return slots with room for indented names."""
    wide = max(_NAMES[0], min(_NAMES[1], width // 4))
    return tuple(Slot(slot.column, wide, slot.title) if slot.column.id == GROUP.id else slot for slot in fixed)
