"""Arithmetic on columns of readings: increases, elapsed times, and how the values of several instances make one.

A machine of a thousand CPUs has a hundred thousand readings an interval. What can be done for a whole column by one
call of the interpreter's own loops is done so, and item by item only where one is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import le, sub, truediv
from typing import TypeAlias, cast

from turbotui.quantities.signals import STEP_BACK, Raw, Reduce

Numbers: TypeAlias = Sequence[float | None]
"""One number per instance, None where unknown."""


def seconds(older: Sequence[int | None], newer: Sequence[int]) -> Numbers:
    """Seconds from stamp to stamp; None where one is missing."""
    return [(b - a) * 1e-9 if a and b and b > a else None for a, b in zip(older, newer, strict=True)]


def risen(older: Sequence[Raw], newer: Sequence[Raw]) -> bool:
    """Whether every counter is known at both ends and none went back. Texts are not counters: all are integers."""
    if len(older) != len(newer):
        return False
    before, after = cast("Sequence[int]", older), cast("Sequence[int]", newer)
    try:
        if not all(map(le, before, after)):
            return False
    except TypeError:  # None has no order: one is missing
        return False
    return max(after, default=0) < STEP_BACK or max(map(sub, after, before)) < STEP_BACK


def increases(older: Sequence[Raw], newer: Sequence[Raw], scale: float) -> Numbers:
    """Increase of 64-bit counters; None where one is missing or went back."""
    return [
        grown * scale if isinstance(a, int) and isinstance(b, int) and 0 <= (grown := b - a) < STEP_BACK else None
        for a, b in zip(older, newer, strict=True)
    ]


def risen_increases(older: Sequence[Raw], newer: Sequence[Raw], factor: float | None) -> Numbers:
    """Increase of 64-bit counters that are known to have `risen`; without a factor they stay integers."""
    plain = map(sub, cast("Sequence[int]", newer), cast("Sequence[int]", older))
    return list(plain) if factor is None else [item * factor for item in plain]


def risen_total(older: Sequence[Raw], newer: Sequence[Raw], factor: float | None) -> float:
    """Sum of the increases of counters that are known to have `risen`, without a list of them."""
    total = sum(cast("Sequence[int]", newer)) - sum(cast("Sequence[int]", older))
    return total if factor is None else total * factor


def risen_rate(older: Sequence[Raw], newer: Sequence[Raw], spans: Numbers, factor: float | None) -> float | None:
    """Sum of the increases per second of counters that are known to have `risen`; None if a span is unknown."""
    plain = map(sub, cast("Sequence[int]", newer), cast("Sequence[int]", older))
    try:
        total: float = sum(map(truediv, plain, cast("Sequence[float]", spans)))
    except (TypeError, ZeroDivisionError):
        return None
    return total if factor is None else total * factor


def quotients(deltas: Numbers, spans: Numbers) -> Numbers:
    """Increase per second; None where either is unknown or no time passed."""
    try:
        return list(map(truediv, cast("Sequence[float]", deltas), cast("Sequence[float]", spans)))
    except (TypeError, ZeroDivisionError):  # some are None, or 0 s long
        return [None if d is None or not t else d / t for d, t in zip(deltas, spans, strict=True)]


def common(items: Numbers) -> float | None:
    """The number that all items are; None where they differ or one is unknown."""
    first = items[0] if items else None
    return first if first is not None and (len(items) == 1 or items.count(first) == len(items)) else None


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


def reduced(items: Numbers, rule: Reduce) -> float | None:
    """Reduce the numbers of several instances to one; unknown ones are left out, None if all are unknown."""
    have = [item for item in items if item is not None] if None in items else cast("Sequence[float]", items)
    if not have:
        return None
    return have[0] if len(have) == 1 else REDUCERS[rule](have)
