"""The arrangement of nodes on the screen: the oddest first, or grouped by a label's value."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.cell_widths import cell_count
from turbotui.features.fleet.columns import AGE, HOUR, MEASURED, NODE, WHY, FleetColumn
from turbotui.features.fleet.grouping import by_label, group_row
from turbotui.features.fleet.model import FleetNode, FleetReading
from turbotui.features.fleet.tables import fleet_table
from turbotui.quantities.marks import OLD
from turbotui.widgets.cells import Slot, StyleRole, cell_text
from turbotui.widgets.content import Line
from turbotui.widgets.painter import TextSegment, marked
from turbotui.widgets.row_content import Naming, RowContent, RowPainter

_NAMES: Final = (12, 32)
_REASONS: Final = (24, 78)
"""The least and most characters of a name and of a reason."""
_MEASURED: Final = frozenset(column.id for column in MEASURED) - {AGE}
_RED: Final = 5.0
_WIDE: Final = 160
"""The width of a screen from which the last hour is shown."""


def words_of(node: FleetNode) -> str:
    """Return the texts for search and filter: the name, all labels, the reason."""
    return " ".join((node.name, *node.labels.values(), node.why))


NAMING: Final = Naming[FleetNode](lambda node: (node.members > 0, node.name), words_of, lambda node: node.name)


def fleet_content(reading: FleetReading, seq: int, label: str, columns: Sequence[FleetColumn]) -> RowContent[FleetNode]:
    """Make the content of a reading.

    Args:
        label: the label by whose values nodes are grouped; "" for a list.
    """
    table = fleet_table(reading, columns)
    if not label:
        return RowContent(table, NAMING, seq)
    parents: dict[Hashable, Hashable] = {}
    heads: set[Hashable] = set()
    rows: list[FleetNode] = []
    for group in by_label(reading.nodes, label):
        head = group_row(group)
        rows.append(head)
        heads.add(NAMING.key(head))
        for node in group.nodes:
            rows.append(node)
            parents[NAMING.key(node)] = NAMING.key(head)
    return RowContent(replace(table, rows=tuple(rows)), NAMING, seq, parents, heads)


class FleetPainter(RowPainter[FleetNode]):
    """Paints reasons by their weight, and vanished nodes dimly."""

    def segment(self, content: RowContent[FleetNode], row: Hashable, slot: Slot) -> TextSegment:
        if (node := content.get(row)) is None:
            return super().segment(content, row, slot)
        if node.gone and slot.column.id in _MEASURED and node.values.get(slot.column.id) is not None:
            return marked(OLD.sign, cell_text(slot.column, node.values[slot.column.id], slot.width)), StyleRole.DIM
        text, role = super().segment(content, row, slot)
        if slot.column.id == HOUR.id:
            return text, StyleRole.SPARK
        if slot.column.id == WHY.id and node.findings:
            role = StyleRole.RED if node.odd >= _RED else StyleRole.AMBER
        return text, role

    def name_role(self, row: FleetNode, line: Line[Hashable]) -> StyleRole:
        return StyleRole.SUMMARY if row.members else super().name_role(row, line)


def fitted(columns: Sequence[FleetColumn], reading: FleetReading, width: int, *,
           grouped: bool = False) -> tuple[FleetColumn, ...]:
    """Return the columns that fit beside names and reasons, without columns of which no node has a value."""
    longest = max((cell_count(node.name) for node in reading.nodes), default=0)
    reason = max((cell_count(node.why) for node in reading.nodes), default=0)
    if grouped:
        longest = max(longest + 2, _NAMES[1])
    names = min(max(longest, _NAMES[0]), _NAMES[1], max(_NAMES[0], width // 3))
    has_past = width >= _WIDE and not reading.recorded
    room = width * 2 // 5 - (1 + HOUR.width if has_past else 0)
    sizes = {NODE.id: names, WHY.id: max(_REASONS[0], min(max(reason, 12), _REASONS[1], room))}
    known = {name for node in reading.nodes for name in node.values}

    def fit(column: FleetColumn) -> FleetColumn:
        if column.id == HOUR.id:
            return replace(column, default=has_past)
        if column.id in sizes:
            return replace(column, width=sizes[column.id])
        return replace(column, default=False) if column.id in _MEASURED and column.id not in known else column

    return tuple(map(fit, columns))
