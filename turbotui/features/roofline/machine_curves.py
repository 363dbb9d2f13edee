"""Power, performance and efficiency of the whole machine over time, beside the roofs; without Textual."""

from __future__ import annotations

import math
from collections.abc import Sequence

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment, nice_top
from turbotui.widgets.spark import spark

_WHOLE = 100.0
"""The value from which a number is shown without a fraction."""
EACH = 4
"""Most intervals that a character of a curve stands for."""


def machine_lines(watts: Sequence[float], speed: Sequence[float], width: int, seq: int) -> list[list[TextSegment]]:
    """A line for each quantity, with its newest number and a curve, which `seq` (the interval) moves.

    Args:
        watts: of all packages in the last intervals, oldest first; NaN where unknown.
        speed: GFLOP/s of the machine, as above.
    """
    size = max(len(watts), len(speed))
    pairs = list(zip(_filled(watts, size), _filled(speed, size), strict=True))
    first = next((at for at, pair in enumerate(pairs) if not all(map(math.isnan, pair))), size)
    powers, rates = [power for power, _ in pairs[first:]], [flops for _, flops in pairs[first:]]
    efficiency = [flops / power if power > 0 else math.nan for power, flops in pairs[first:]]
    rows = (("power", "W", powers), ("all", "GF/s", rates), ("per W", "GF/s", efficiency))
    return [[(f" {word:<7}", StyleRole.DIM), (f"{_text(values):>7}", StyleRole.SUMMARY),
             (f" {unit:<7}", StyleRole.DIM), (_curve(values, width, seq), StyleRole.SPARK)]
            for word, unit, values in rows]


def _filled(values: Sequence[float], size: int) -> list[float]:
    return [*[math.nan] * (size - len(values)), *values]


def _text(values: Sequence[float]) -> str:
    last = values[-1] if values else math.nan
    return "—" if math.isnan(last) else f"{last:,.3g}" if last < _WHOLE else f"{last:,.0f}"


def _curve(values: Sequence[float], width: int, seq: int) -> str:
    known = [value for value in values if not math.isnan(value)]
    return spark(tuple(values)[-width * EACH:], nice_top(max(known, default=0.0)), width, seq)
