"""Levels: how much a value is of what is possible, in nine steps of colour. Nothing here knows Textual.

The same steps stand for the same share everywhere: in cells of tables, sparks, bars, graphs and on the map.
"""

from __future__ import annotations

from typing import Final

from turbotui.widgets.cells import StyleRole

STEPS: Final = 9
LEVELS: Final = tuple(StyleRole[f"LEVEL_{step}"] for step in range(STEPS))
"""Roles from little to much: cool and dim to warm and bright."""
CALM: Final = 5
"""Steps of cells that are written as any other text, so that the eye goes to those that are not."""
HIGH: Final = 7
"""Steps from here on are bold, for terminals without colours."""

IN_A_CELL: Final = (*(StyleRole.PLAIN,) * CALM, *LEVELS[CALM:])
"""Roles of numbers in tables."""

OF_A_WHOLE: Final = (*(StyleRole.SUMMARY,) * CALM, *LEVELS[CALM:])
"""Roles of numbers that stand for a whole machine or package, and are bright where they are calm."""

MARKS: Final = "·░░▒▒▓▓██"
"""A mark for each step, for pictures that have to be read without colours."""


def step_of(share: float) -> int:
    """The step of a share of 0 to 1; what lies outside has the first or last."""
    return max(0, min(STEPS - 1, int(share * STEPS)))


def share_of(value: float | None, limit: float | None) -> float | None:
    """A value as a share of its limit, 0 to 1; None where one of them is not known."""
    return None if value is None or not limit else max(0.0, min(1.0, value / limit))


def role_of(share: float) -> StyleRole:
    """How a mark, bar or curve of this share is coloured."""
    return LEVELS[step_of(share)]


def cell_role_of(share: float) -> StyleRole:
    """How a number of this share is coloured: as any text as long as it is not much."""
    return IN_A_CELL[step_of(share)]


def whole_role_of(share: float | None) -> StyleRole:
    """How a number of a whole is coloured; None: nobody can tell how much that is."""
    return StyleRole.SUMMARY if share is None else OF_A_WHOLE[step_of(share)]
