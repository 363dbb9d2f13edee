"""Sparklines: a history as a few block characters on a fixed scale.

Every character covers the same number of intervals, counted from the program's first interval and not from now: a
complete bar never changes, so a calm machine gives a calm picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
        shown = values[-width:]
        return "".join(block(value, top) for value in shown).rjust(width, GAP)
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
