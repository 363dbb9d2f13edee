"""The positions of a table's columns at a given width. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from turbotui.dataclass import dataclass
from turbotui.widgets.cells import Slot

P = TypeVar("P")

RULE = " │"
"""Separates two groups of columns; its blank holds the sort mark of the column before it."""

MORE_LEFT, MORE_RIGHT = "‹", "›"


@dataclass(frozen=True, slots=True)
class Geometry:
    """The slots that are drawn, with their positions."""

    slots: tuple[Slot, ...]  # drawn slots after the identity columns, left to right
    starts: tuple[int, ...]  # the character each slot (with its mark) starts at
    indices: tuple[int, ...]  # each slot's position among all slots of the table
    edge: int  # width of the identity part, its rule included
    width: int  # of the whole line
    # more_left, more_right: whether slots are left out on that side
    more_left: bool
    more_right: bool

    @property
    def end(self) -> int:
        """The character behind the last slot."""
        return self.starts[-1] + self.slots[-1].outer if self.slots else self.edge

    def at(self, x: int) -> int | None:
        """Index among all slots of the slot under a character; None beside them."""
        for slot, start, index in zip(self.slots, self.starts, self.indices, strict=True):
            if start <= x <= start + slot.outer:
                return index
        return None


def _gap(before: Slot | None, slot: Slot) -> int:
    """Width of the rule before a slot."""
    return len(RULE) if before is not None and before.group is not slot.group else 0


def _fits(slots: Sequence[Slot], room: int) -> bool:
    used = 0
    before: Slot | None = None
    for slot in slots:
        used += _gap(before, slot) + slot.outer
        before = slot
    return used <= room


def sideways_order(slots: Sequence[Slot], room: int) -> list[int]:
    """The order in which the cursor walks through the slots: those of the first view, then those left out of it.

    So the columns that a user sees first stay where they are until the cursor leaves them. A sparkline that is left out
    while its column is shown is not among them.
    """
    kept = _first_view(slots, room)
    shown = {slots[index].column.id for index in kept}
    return [*kept, *(index for index, slot in enumerate(slots)
                     if index not in kept and not (slot.spark and slot.column.id in shown))]


def _first_view(slots: Sequence[Slot], room: int) -> list[int]:
    """The slots with the highest priority that fit, in their own order; before all, that of the order of rows."""
    if _fits(slots, room):
        return list(range(len(slots)))
    ranking = sorted(range(len(slots)), key=lambda index: (
        not slots[index].is_sort, slots[index].column.priority + slots[index].spark * 1.5, index))
    kept: list[int] = []
    for index in ranking:
        trial = sorted([*kept, index])
        if _fits([slots[place] for place in trial], room):
            kept = trial
    return kept or [*range(len(slots))][:1]


def arrange(slots: Sequence[Slot], edge: int, width: int, offset: int = 0) -> Geometry:
    """Choose the slots to draw and place them.

    At offset 0 the slots with the highest priority (a low `Column.priority` number) stay, in their own order; a
    sparkline is dropped before its column. At offset n as many slots as fit are drawn from the n-th slot of
    `sideways_order` on (1 is the first), so that every slot can be reached.

    Args:
        slots: all slots that the user wants, in print order.
        offset: 0, or the number of the first slot to draw.
    """
    room = max(0, width - edge - 1)
    if offset > 0:
        order = sideways_order(slots, room)
        chosen = order[min(offset, len(order)) - 1 :]
        while len(chosen) > 1 and not _fits([slots[index] for index in chosen], room):
            chosen.pop()
        last = bool(chosen) and chosen[-1] == order[-1]
    else:
        chosen = _first_view(slots, room)
        last = len(chosen) == len(slots)
    drawn = tuple(slots[index] for index in chosen)
    starts: list[int] = []
    at = edge
    before: Slot | None = None
    for slot in drawn:
        at += _gap(before, slot)
        starts.append(at)
        at += slot.outer
        before = slot
    return Geometry(drawn, tuple(starts), tuple(chosen), edge, width, more_left=bool(chosen) and offset > 1,
                    more_right=bool(slots) and not last)


def offset_showing(slots: Sequence[Slot], edge: int, width: int, offset: int, wanted: int) -> int:
    """The offset closest to the current one at which slot `wanted` is drawn; 0 wherever the first view has it first."""
    if wanted in arrange(slots, edge, width, offset).indices:
        return offset
    order = sideways_order(slots, max(0, width - edge - 1))
    at = order.index(wanted) if wanted in order else 0
    if offset and at < offset - 1:
        return at + 1 if at else 0
    for trial in range(max(1, offset), len(order) + 1):
        if wanted in arrange(slots, edge, width, trial).indices:
            return trial
    return at + 1


def nearest_place(here: tuple[int, int], places: Mapping[P, tuple[int, int]], across: int, down: int) -> P | None:
    """The nearest place in a direction, on the same line or on the nearest line with one; None if there is none.

    Args:
        here: column and line of the cursor, as those of the places.
        across: -1 for left, 1 for right, 0 for neither.
        down: -1 for up, 1 for down, 0 for neither.
    """
    distances: dict[P, float] = {}
    for name, (x, y) in places.items():
        dx, dy = x - here[0], y - here[1]
        if across and dx * across > 0 and not dy:
            distances[name] = abs(dx)
        elif down and dy * down > 0:
            distances[name] = abs(dy) * 1000.0 + abs(dx)
    return min(distances, key=lambda name: distances[name], default=None)
