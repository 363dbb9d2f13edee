"""Power, performance and efficiency of the whole machine over time, beside the roofs; without Textual."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from turbotui.features.roofline.screen_view import KEPT
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment, nice_top
from turbotui.widgets.spark import spark

_WHOLE = 100.0
"""The value from which a number is shown without a fraction."""


class MachineCurves:
    """The numbers of the last intervals; NaN for unknown ones."""

    def __init__(self) -> None:
        self._watts: deque[float] = deque(maxlen=KEPT)
        self._speed: deque[float] = deque(maxlen=KEPT)
        self._efficiency: deque[float] = deque(maxlen=KEPT)

    def add(self, watts: float, gflops: float) -> None:
        """Add watts of all packages, and billions of operations a second, of an interval."""
        self._watts.append(watts)
        self._speed.append(gflops)
        self._efficiency.append(gflops / watts if watts > 0 else math.nan)

    def lines(self, width: int, seq: int) -> list[list[TextSegment]]:
        """Draw a line for each quantity, with its newest number and a curve, which `seq` (the interval) moves."""
        rows = (("power", "W", self._watts), ("all", "GF/s", self._speed), ("effic.", "GF/s/W", self._efficiency))
        return [[(f" {word:<7}", StyleRole.DIM), (f"{_text(values):>7}", StyleRole.SUMMARY),
                 (f" {unit:<7}", StyleRole.DIM), (_curve(values, width, seq), StyleRole.SPARK)]
                for word, unit, values in rows]


def _text(values: Sequence[float]) -> str:
    last = values[-1] if values else math.nan
    return "—" if math.isnan(last) else f"{last:,.3g}" if last < _WHOLE else f"{last:,.0f}"


def _curve(values: Sequence[float], width: int, seq: int) -> str:
    known = [value for value in values if not math.isnan(value)]
    return spark(tuple(values)[-width * 4:], nice_top(max(known, default=0.0)), width, seq)
