"""A curve in braille dots: two columns and four lines of dots in every character. Pure text."""

from __future__ import annotations

import math
from collections.abc import Sequence

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of Unicode block U+2800 by line and column within a character (The Unicode Standard, 21.1)."""


def braille(values: Sequence[float], top: float, width: int, height: int, bottom: float = 0.0) -> list[str]:
    """Values as a curve, the newest at the right edge; gaps (NaN) stay empty.

    Args:
        values: oldest first.
        top: of the scale.
        width: in characters.
        height: in characters.
        bottom: of the scale.

    Returns:
        `height` lines of `width` characters.
    """
    cells = [[0] * width for _ in range(height)]
    across, down = width * 2, height * 4
    shown = values[-across:]
    before: int | None = None
    for place, value in enumerate(shown, start=across - len(shown)):
        if math.isnan(value) or top <= bottom:
            before = None
            continue
        share = min(1.0, max(0.0, (value - bottom) / (top - bottom)))
        y = round((1 - share) * (down - 1))
        # A steep step is drawn as a line, or it would look like two curves.
        start, end = (y, y) if before is None else (min(y, before), max(y, before))
        for dot in range(start, end + 1):
            cells[dot // 4][place // 2] |= _DOTS[dot % 4][place % 2]
        before = y
    return ["".join(chr(0x2800 + bits) if bits else " " for bits in line) for line in cells]
