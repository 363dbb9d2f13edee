"""Values over time in block characters on a fixed scale: sparklines of a line, areas of several.

Every character of a sparkline covers the same number of intervals, counted from the program's first interval and not
from now: a complete bar never changes, so a calm machine gives a calm picture.
"""

from __future__ import annotations

import codecs
import functools
import math
from collections.abc import Sequence
from typing import Final

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import role_of

BLOCKS = "▁▂▃▄▅▆▇█"
GAP = " "
_STEPS = len(BLOCKS)


def block(value: float, top: float) -> str:
    """One character for a value on a scale from 0 to `top`; NaN is a gap."""
    if value != value:  # noqa: PLR0124 - NaN; asked for 500 bars a frame
        return GAP
    if top <= 0:
        return BLOCKS[0]
    step = int(value / top * _STEPS)
    return BLOCKS[0 if step < 0 else step if step < _STEPS else -1]


def spark(values: Sequence[float], top: float, width: int, seq: int = 0) -> str:
    """The last values as exactly `width` characters, newest at the right, filled with gaps from the left.

    Args:
        values: oldest first, NaN for gaps.
        top: the value of a full block.
        seq: number of the newest interval; fixes the borders between bars.
    """
    per = max(1, len(values) // width) if width else 1
    if per == 1:
        return "".join(block(value, top) for value in values[-width:]).rjust(width, GAP)
    bars: list[str] = []
    end = len(values)
    size = seq % per + 1
    while end > 0 and len(bars) < width:
        part = values[max(0, end - size) : end]
        mean = sum(part) / len(part)
        if mean != mean:  # noqa: PLR0124 - NaN: some are gaps
            known = [value for value in part if not math.isnan(value)]
            mean = sum(known) / len(known) if known else math.nan
        bars.append(block(mean, top))
        end -= size
        size = per
    return "".join(reversed(bars)).rjust(width, GAP)


_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_BYTE: Final = 256
_MINUTES: Final = 120
"""Seconds from which a length is in minutes."""


def length_of(seconds: float) -> str:
    """The time that a past covers, in words."""
    return f"{seconds / 60:.0f} min" if seconds >= _MINUTES else f"{seconds:.0f} s"


def begun(past: Sequence[float]) -> Sequence[float]:
    """A past from its first value on, without the time before measuring began."""
    if not past or past[0] == past[0]:
        return past
    return past[next((at for at, value in enumerate(past) if value == value), len(past)):]  # noqa: PLR0124 - as above


def stretched(past: Sequence[float], width: int, least: int = 0) -> Sequence[float]:
    """A short past repeated so that it fills the width: a chart that begins stands not empty for a minute.

    Args:
        least: intervals that the width covers at least, as in the chart beside it; those before the first value are
            gaps.
    """
    known = begun(past[-width:] if width > 0 else ())
    past = [*[math.nan] * (min(least, width) - len(known)), *known]
    count = len(past)
    return past if not 0 < count < width else [past[at * count // width] for at in range(width)]


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
    tables = _tables(most)
    if most < _BYTE:  # one call of C for a line
        narrow = bytes(places)
        return [codecs.charmap_decode(narrow, "strict", table)[0] for table in tables]
    wide = "".join(map(chr, places))
    return [wide.translate(table) for table in tables]


@functools.lru_cache(256)
def _tables(most: int) -> Sequence[str]:
    """For each line of an area of so many eighths, the upper one first, the character for each number of eighths."""
    # from `most` eighths below a line's lower edge to `most` above it; a line's are a slice
    ramp = " " * most + _BLOCKS + _BLOCKS[-1] * (most - 8)
    return tuple(ramp[most - below:2 * most - below + 1] for below in range(most - 8, -1, -8))


@functools.lru_cache(256)
def roles(height: int) -> Sequence[StyleRole]:
    """Return the colours of the lines of an area by the level at which each line stands, the upper one first."""
    return tuple(role_of((height - at - 0.5) / height) for at in range(height))
