"""The slots of a table: the ids, the other columns by category, and the sparklines. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from turbotui.cell_widths import cut
from turbotui.quantities.columns import Category, Column
from turbotui.quantities.tables import C, K
from turbotui.widgets.cells import Slot, group_of, slot_for
from turbotui.widgets.geometry import RULE, arrange
from turbotui.widgets.spark import length_of
from turbotui.widgets.table_view import TableView

HISTORY = 60
"""Intervals that a sparkline covers."""

SORTED_DOWN, SORTED_UP = "▼", "▲"

_FINENESS = ("CPU", "Type", "Core", "Package", "Node", "L3", "Die", "Module")
"""Identity columns, the most informative first."""


def _slot(view: TableView[C, K], column: C, *, stacked: bool = False) -> Slot:
    """The slot of a column; the sorted one has room for its mark, which would otherwise touch the next title."""
    slot = slot_for(column, stacked=stacked)
    is_sort = view.sort is not None and view.sort.id == column.id
    mark = (SORTED_DOWN if view.reverse else SORTED_UP) if is_sort else ""
    if (own := view.arrangement.widths.get(column.id)) is not None:
        return Slot(column, own, cut(slot.title, own - len(mark)) + mark, is_sort=is_sort)
    sign = view.mark is not None and not column.identity  # before a difference
    title = slot.title + mark
    return Slot(column, max(slot.width, column.width + sign, len(title)), title, is_sort=is_sort)


def _identity_slots(view: TableView[C, K], room: int, rank: Callable[[Column[Any]], int]) -> tuple[Slot, ...]:
    """The ids that fit, at least one."""
    slots = [_slot(view, column) for column in _arranged(view, view.columns) if column.identity]
    kept: list[Slot] = []
    for slot in sorted(slots, key=lambda slot: (not slot.is_sort, rank(slot.column))):
        if not kept or sum(other.outer for other in kept) + slot.outer <= room:
            kept.append(slot)
    return tuple(slot for slot in slots if slot in kept)


def _arranged(view: TableView[C, K], columns: Sequence[C]) -> Sequence[C]:
    """Sort columns, which come in their usual order, as the user arranged them."""
    return view.arrangement.ordered({column.id: column for column in columns}) if view.arrangement.order else columns


def _fineness(column: Column[Any]) -> int:
    return _FINENESS.index(column.id) if column.id in _FINENESS else 99


def row_slots(view: TableView[C, K], width: int, *,
              stacked: bool = False) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """Identity slots by priority, in at most half of the line, followed by the other slots.

    Args:
        stacked: whether titles take several lines, as in `Column.heading`.
    """
    columns = _arranged(view, view.columns)
    moving = tuple(_slot(view, column, stacked=stacked) for column in columns if not column.identity)
    return _identity_slots(view, width // 2, lambda column: column.priority), moving


def with_room(view: TableView[C, K], slots: tuple[tuple[Slot, ...], tuple[Slot, ...]], width: int,
              most: int) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """Widen the last slot to the remaining room, to `most` at most, if it has texts and the user gave it no width."""
    fixed, moving = slots
    if not moving or (last := moving[-1]).column.decimals >= 0 or last.column.id in view.arrangement.widths:
        return slots
    geometry = arrange(moving, sum(slot.outer for slot in fixed) + len(RULE), width)
    if not geometry.slots or geometry.slots[-1] is not last:
        return slots
    free = width - 1 - geometry.starts[-1] - last.outer
    return fixed, (*moving[:-1], replace(last, width=max(last.width, min(most, last.width + free))))


def slots_of(view: TableView[C, K], seconds: float, width: int) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """Identity slots, in little more than a sixth of the line, followed by the other slots with their sparklines."""
    moving: list[Slot] = []
    categories: list[object] = list(Category)
    usual = sorted((column for column in view.columns if not column.identity),
                   key=lambda column: categories.index(group_of(column)))
    for column in _arranged(view, usual):
        moving.append(_slot(view, column))
        if size := view.sparks.get(column.id, 0):
            moving.append(Slot(column, size, length_of(HISTORY * seconds), spark=True))
    return _identity_slots(view, max(10, width * 3 // 16), _fineness), tuple(moving)
