"""The default order of rows: most slots first, so that idle cores stand below busy ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from turbotui.features.topdown.model import TopdownRow

AHEAD: Final = 1.25
"""The ratio of slots at which a row overtakes the row above, so that similar rows keep their places."""


def busiest_first(rows: Sequence[TopdownRow], before: Sequence[Hashable] = ()) -> tuple[TopdownRow, ...]:
    """Sort rows by their slots, rows with unknown slots last.

    Args:
        before: the keys of the rows in their previous order, which rows with similar slots keep, so that lines do not
            jump. Without it the order is exact.
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
    """Return slots; for a region its share, because an opened region is counted for a shorter time than others."""
    found = row.slots() if row.extent is None else row.extent.of_slots
    return found or 0.0
