"""The positions of a table's columns at a given width. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.dataclass import dataclass
from turbotui.widgets.cells import Slot

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
    return _needed(slots) <= room


def _needed(slots: Sequence[Slot]) -> int:
    used = 0
    before: Slot | None = None
    for slot in slots:
        used += _gap(before, slot) + slot.outer
        before = slot
    return used


def arrange(slots: Sequence[Slot], edge: int, width: int, offset: int = 0) -> Geometry:
    """Choose the slots to draw and place them.

    At offset 0 the slots with the highest priority (a low `Column.priority` number) stay, in their own order; a
    sparkline is dropped before its column. At offset n as many slots as fit are drawn from the n-th slot on (1 is the
    first), so that every slot can be reached.

    Args:
        slots: all slots that the user wants, in print order.
        offset: 0, or the number of the first slot to draw.
    """
    room = max(0, width - edge - 1)
    chosen = list(range(len(slots)))
    if offset > 0:
        chosen = chosen[min(offset, len(slots)) - 1 :]
        while len(chosen) > 1 and not _fits([slots[index] for index in chosen], room):
            chosen.pop()
    elif not _fits(slots, room):
        ranking = sorted(chosen, key=lambda index: (slots[index].column.priority + slots[index].spark * 1.5, index))
        kept: list[int] = []
        for index in ranking:
            trial = sorted([*kept, index])
            if _fits([slots[place] for place in trial], room):
                kept = trial
        chosen = kept or chosen[:1]
    drawn = tuple(slots[index] for index in chosen)
    starts: list[int] = []
    at = edge
    before: Slot | None = None
    for slot in drawn:
        at += _gap(before, slot)
        starts.append(at)
        at += slot.outer
        before = slot
    return Geometry(
        drawn,
        tuple(starts),
        tuple(chosen),
        edge,
        width,
        more_left=bool(chosen) and offset > 1,
        more_right=len(chosen) < len(slots) and (offset == 0 or (bool(chosen) and chosen[-1] < len(slots) - 1)),
    )


def offset_showing(slots: Sequence[Slot], edge: int, width: int, offset: int, wanted: int) -> int:
    """The offset closest to the current one at which slot `wanted` is drawn."""
    if wanted in arrange(slots, edge, width, offset).indices:
        return offset
    if offset and wanted < offset - 1:
        return wanted + 1
    for trial in range(max(1, offset), len(slots) + 1):
        if wanted in arrange(slots, edge, width, trial).indices:
            return trial
    return wanted + 1
