"""Levels: how much of the possible range a value takes, in nine colour steps. Nothing here knows Textual.

A step stands for the same share everywhere: in cells, sparklines, bars, graphs and on the map.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from turbotui.widgets.cells import StyleRole

STEPS: Final = 9
LEVELS: Final = tuple(StyleRole[f"LEVEL_{step}"] for step in range(STEPS))
"""Roles from little to much: cool and dim to warm and bright."""
FULL_LEVELS: Final = tuple(StyleRole[f"LEVEL_{step}_FULL"] for step in range(STEPS))
"""Roles of text that lies on an area of a level."""
CALM: Final = 5
"""Steps of cells that look like any other text, so that the eye goes to the other cells."""
HIGH: Final = 7
"""The step from which cells are bold, for terminals without colours."""

IN_A_CELL: Final = (*(StyleRole.PLAIN,) * CALM, *LEVELS[CALM:])
"""Roles of numbers in tables."""

OF_A_WHOLE: Final = (*(StyleRole.SUMMARY,) * CALM, *LEVELS[CALM:])
"""Roles of numbers of a whole machine or package, which stay bright while they are low."""

MARKS: Final = "·░░▒▒▓▓██"
"""A mark for each step, for pictures that must be readable without colours."""


def step_of(share: float) -> int:
    """The step of a share of 0 to 1; values outside get the first or last."""
    return max(0, min(STEPS - 1, int(share * STEPS)))


def share_of(value: float | None, limit: float | None) -> float | None:
    """A value as a share of its limit, 0 to 1; None if either is unknown."""
    return None if value is None or not limit else max(0.0, min(1.0, value / limit))


def role_of(share: float) -> StyleRole:
    """The role of a mark, bar or curve of this share."""
    return LEVELS[step_of(share)]


LevelSegment: TypeAlias = tuple[str, StyleRole]

_FILLED: Final = "■"
_TRACK: Final = "·"
_BARS: Final = 1024


def level_bar(share: float | None, width: int) -> tuple[LevelSegment, ...]:
    """Draw a horizontal bar, each mark in the colour of the level at which it stands, and dots up to the end.

    Rows of marks stay apart, where blocks would grow together to a wall. What is not 0 has at least one mark.

    Args:
        share: 0 to 1; None for what is not known.
    """
    if width < 1:
        return ()
    return _level_bar(0 if share is None or not share > 0 else max(1, min(width, round(share * width))), width)


@lru_cache(_BARS)
def _level_bar(filled: int, width: int) -> tuple[LevelSegment, ...]:
    roles = [role_of((at + 0.5) / width) for at in range(filled)]
    counts = [(role, roles.count(role)) for role in LEVELS]
    rest = ((_TRACK * (width - filled), StyleRole.RULE),) if width > filled else ()
    return (*((_FILLED * count, role) for role, count in counts if count), *rest)


def flat_bar(share: float, width: int, role: StyleRole) -> tuple[LevelSegment, ...]:
    """Draw a bar as `level_bar`, but in one colour, because its scale is the greatest value, not what is possible."""
    filled = sum(len(text) for text, _ in level_bar(share, width) if text[0] == _FILLED)
    return (_FILLED * filled, role), (_TRACK * (width - filled), StyleRole.RULE)


def cell_role_of(share: float) -> StyleRole:
    """The role of a number of this share: plain text unless the share is high."""
    return IN_A_CELL[step_of(share)]


def whole_role_of(share: float | None) -> StyleRole:
    """The role of a number of a whole machine or package; None if the share is unknown."""
    return StyleRole.SUMMARY if share is None else OF_A_WHOLE[step_of(share)]
