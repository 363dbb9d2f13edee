"""Stacked bars of shares that add up: characters for each share, and a mark where they do not add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.features.topdown.model import TopdownRow

DOUBT: Final = "?"


def lengths(shares: Sequence[float], room: int) -> tuple[int, ...]:
    """Characters for each share of a bar that is full; the largest remainders get what rounding leaves.

    Args:
        shares: none of them far below 0; what is below 0 gets nothing.
        room: characters of the bar.
    """
    positive = [max(0.0, share) for share in shares]
    total = sum(positive)
    if not total:
        return (0,) * len(shares)
    exact = [share / total * room for share in positive]
    found = [int(one) for one in exact]
    order = sorted(range(len(exact)), key=lambda at: (found[at] - exact[at], at))
    for at in order[: room - sum(found)]:
        found[at] += 1
    return tuple(found)


def bar_parts(row: TopdownRow, room: int, parent: str = "") -> tuple[tuple[str, int], ...]:
    """The letters of a bar and how often each stands in it; doubt where shares do not add up, none where unknown.

    Args:
        row: whose shares.
        room: characters.
        parent: the node that is divided; "" for level 1.
    """
    if row.total(parent) is None:
        return ()
    if row.fault(parent):
        return ((DOUBT, room),)
    shares = row.shares(parent)
    return tuple((node.words.letter, length) for (node, _value), length
                 in zip(shares, lengths([value for _node, value in shares], room), strict=True) if length)


def bar_text(row: TopdownRow, room: int) -> str:
    """A bar in letters."""
    return "".join(letter * length for letter, length in bar_parts(row, room))
