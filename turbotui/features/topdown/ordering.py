"""The order of rows where nobody chose one: most slots first, so that idle cores stand below those that work."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from turbotui.features.topdown.model import TopdownRow

AHEAD: Final = 1.25
"""Times the slots of the row above that a row needs to overtake it: rows that work alike stay where they are."""


def busiest_first(rows: Sequence[TopdownRow], before: Sequence[Hashable] = ()) -> tuple[TopdownRow, ...]:
    """The rows in the order of their slots; rows of unknown slots last.

    Args:
        rows: in topology order.
        before: the keys of the rows as they stood; rows that hardly differ keep that order, so that lines do not
            dance from one interval to the next. Without it the order is exact.
    """
    slots = {row.place.key: _weight(row) for row in rows}
    if not before:
        return tuple(sorted(rows, key=lambda row: -slots[row.place.key]))
    at = {key: place for place, key in enumerate(before)}
    found: list[TopdownRow] = []
    for row in sorted(rows, key=lambda row: at.get(row.place.key, len(at))):
        mine, place = slots[row.place.key], len(found)
        while place and mine > AHEAD * slots[found[place - 1].place.key]:
            place -= 1
        found.insert(place, row)
    return tuple(found)


def _weight(row: TopdownRow) -> float:
    """Slots; of a region its share of the program's, for what is opened is counted for a shorter time than others."""
    found = row.slots() if row.extent is None else row.extent.of_slots
    return found or 0.0
