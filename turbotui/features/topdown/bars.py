"""Stacked bars of shares: characters for each share, and a mark if shares do not add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from turbotui.features.topdown.model import TopdownRow

DOUBT: Final = "?"


def lengths(shares: Sequence[float], room: int) -> tuple[int, ...]:
    """Return the characters for each share of a full bar, rounded by the largest remainders.

    Args:
        shares: negative ones get no characters.
    """
    positive = [max(0.0, share) for share in shares]
    if not (total := math.fsum(positive)):
        return (0,) * len(shares)
    exact = [share / total * room for share in positive]
    whole_cells = [int(length) for length in exact]
    order = sorted(range(len(exact)), key=lambda at: (whole_cells[at] - exact[at], at))
    for at in order[: room - sum(whole_cells)]:
        whole_cells[at] += 1
    return tuple(whole_cells)


def bar_parts(row: TopdownRow, room: int) -> tuple[tuple[str, int], ...]:
    """Return the letters of a bar with their counts; a doubt mark if shares do not add up, none if unknown."""
    if row.total() is None:
        return ()
    if row.fault():
        return ((DOUBT, room),)
    shares = row.shares()
    return tuple((node.words.letter, length) for (node, _value), length
                 in zip(shares, lengths([value for _node, value in shares], room), strict=True) if length)


def bar_text(row: TopdownRow, room: int) -> str:
    """Return a bar in letters."""
    return "".join(letter * length for letter, length in bar_parts(row, room))
