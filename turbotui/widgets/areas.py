"""Values over time as areas in eighths of a character. Nothing here knows Textual."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import role_of

_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_BYTE: Final = 256
_LINES: Final = 256
"""Lines of charts of some heights, whose characters are remembered."""


def area(past: Sequence[float], top: float, width: int, height: int) -> list[str]:
    """Draw the last values as an area, one in each place, the newest at the right.

    Args:
        past: oldest first; NaN is a gap.
        top: end of the scale.

    Returns:
        `height` lines of `width` characters, the upper one first. What is not 0 has at least an eighth.
    """
    most = height * 8
    past, scale = past[-width:] if width > 0 else (), most / top
    places = [0] * (width - len(past))
    places += [0 if not value > 0 else most if value >= top else round(value * scale) or 1 for value in past]
    tables = [_characters((height - line - 1) * 8, most) for line in range(height)]
    if most < _BYTE:  # one call of C for a line
        narrow = bytes(places)
        return [codecs.charmap_decode(narrow, "strict", table)[0] for table in tables]
    wide = "".join(map(chr, places))
    return [wide.translate(table) for table in tables]


@lru_cache(_LINES)
def _characters(below: int, most: int) -> str:
    """Return the characters of places 0 to `most` on a line with this many eighths below it."""
    ramp = _ramp(most)  # a slice, because a tall terminal has hundreds of lines, each with eight places for every line
    return ramp[most - below:2 * most - below + 1]


@lru_cache(8)
def _ramp(most: int) -> str:
    """Return the characters of a place, from `most` eighths below a line's lower edge to `most` above it."""
    return " " * most + _BLOCKS + _BLOCKS[-1] * (most - 8)


@lru_cache(_LINES)
def roles(height: int) -> Sequence[StyleRole]:
    """Return the colours of the lines of an area by the level at which each line stands, the upper one first."""
    return tuple(role_of((height - at - 0.5) / height) for at in range(height))
