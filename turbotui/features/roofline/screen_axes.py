"""How the axes of the roofline screen grow to hold what is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from turbotui.errors import UsageError
from turbotui.features.roofline.plot import LogAxis, build_plot
from turbotui.features.roofline.roofs import RoofSet


def around(value: float) -> tuple[float, float]:
    """The next 1, 2 or 5 times a power of ten below half a value and above twice it: axes that seldom change."""
    def step(number: float, steps: Sequence[int]) -> float:
        power = 10.0 ** math.floor(math.log10(number))
        return power * (next(one for one in steps if one * power <= number * (1 + 1e-9)))

    return step(value / 2, (5, 2, 1)), 1 / step(1 / (2 * value), (5, 2, 1))


def holding(axis: LogAxis, ends: tuple[float, float]) -> LogAxis:
    """The axis, stretched to hold both ends."""
    return LogAxis(min(axis.low, ends[0]), max(axis.high, ends[1]), axis.title)


def can_draw(roofs: RoofSet) -> bool:
    """Whether there is a flat and a slanted roof."""
    try:
        build_plot(roofs)
    except UsageError:
        return False
    return True
