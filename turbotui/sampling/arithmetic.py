"""Arithmetic on columns of readings: increases, elapsed times, and how the values of several instances make one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import sub
from typing import TypeAlias, cast

from turbotui.quantities.signals import Raw, Reduce

Numbers: TypeAlias = Sequence[float | None]
"""One number per instance, None where unknown."""


def seconds(older: Sequence[int | None], newer: Sequence[int]) -> Numbers:
    """Seconds from stamp to stamp; None where one is missing."""
    return [(b - a) * 1e-9 if a and b and b > a else None for a, b in zip(older, newer, strict=True)]


def increases(older: Sequence[Raw], newer: Sequence[Raw], scale: float) -> Numbers:
    """Increase of 64-bit counters; None where one is missing or went back. Texts are not counters: all are integers."""
    if None not in older and None not in newer:
        plain = list(map(sub, cast("Sequence[int]", newer), cast("Sequence[int]", older)))
        if plain and min(plain) >= 0:
            return plain if scale == 1.0 else [item * scale for item in plain]
    return [
        (b - a) * scale if isinstance(a, int) and isinstance(b, int) and b >= a else None
        for a, b in zip(older, newer, strict=True)
    ]


def _same(values: Sequence[float]) -> float | None:
    return values[0] if all(value == values[0] for value in values) else None


def _union(values: Sequence[float]) -> float:
    bits = 0
    for value in values:
        bits |= int(value)
    return float(bits)


REDUCERS: dict[Reduce, Callable[[Sequence[float]], float | None]] = {
    Reduce.SUM: sum,
    Reduce.MEAN: lambda values: sum(values) / len(values),
    Reduce.MAX: max,
    Reduce.MIN: min,
    Reduce.UNION: _union,
    Reduce.SAME: _same,
    Reduce.NONE: lambda _values: None,
}
