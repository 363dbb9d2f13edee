"""Arithmetic on columns of readings: increases, elapsed times, and reductions over several instances.

A machine with a thousand CPUs has a hundred thousand readings an interval. Counters, of which there are most, are
therefore subtracted as one long integer where all of a column are known: without it the frames of a table of 1,024 CPUs
take a third longer (November 2026). Rates and all else are computed item by item, which costs less than 3 %.
"""

from __future__ import annotations

import functools
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_, sub, truediv
from typing import Final, TypeAlias, TypeVar, cast

from turbotui.quantities.signals import STEP_BACK, Raw, Reduce

W = TypeVar("W", bound=Raw)

Numbers: TypeAlias = "Sequence[float | None]"
"""One number per instance, None where unknown."""

PACKED: Final = 64
"""The number of readings from which a column of words is stored as an array of eight bytes each, not as objects."""


def words(items: Sequence[W]) -> Sequence[W]:
    """Words as an array; a column that contains anything else is unchanged."""
    try:
        return cast("Sequence[W]", array("Q", cast("Sequence[int]", items)))  # other values are refused
    except (TypeError, OverflowError):
        return items


def packed(column: Sequence[W]) -> Sequence[W]:
    """A long column of words as an array; a short one, or one that contains anything else, is unchanged."""
    return column if len(column) < PACKED or isinstance(column, array) else words(column)


@functools.lru_cache(maxsize=16)  # an eighth of `grown`
def _top_bits(count: int) -> int:
    return int.from_bytes(array("Q", [1 << 63]).tobytes() * count, sys.byteorder)


def grown(older: Sequence[Raw], newer: Sequence[Raw]) -> list[int] | None:
    """The increases of packed counters, none of which went back, subtracted as one long integer.

    Returns:
        None if items have to be subtracted one by one: a counter went back, or the columns are not packed.
    """
    if not (isinstance(older, array) and isinstance(newer, array)) or len(older) != len(newer):
        return None
    top = _top_bits(len(newer))
    before, after = (int.from_bytes(words.tobytes(), sys.byteorder) for words in (older, newer))
    if (before | after) & top:
        return None
    lanes = (after | top) - before  # with its top bit no lane borrows from the next; those that went back lose it
    if lanes & top != top:
        return None
    return array("Q", (lanes ^ top).to_bytes(8 * len(newer), sys.byteorder)).tolist()


def seconds(older: Sequence[int | None], newer: Sequence[int]) -> Numbers:
    """Seconds between stamps; None if one is missing."""
    spans = grown(older, newer)
    if spans is not None and all(spans) and 0 not in older:
        return [span * 1e-9 for span in spans]
    return [(b - a) * 1e-9 if a and b and b > a else None for a, b in zip(older, newer, strict=True)]


def increases(older: Sequence[Raw], newer: Sequence[Raw], scale: float) -> Numbers:
    """Increases of 64-bit counters; None if a value is missing or went back."""
    return [None if rise is None else rise * scale for rise in grown(older, newer) or _increases(older, newer)]


def _increases(older: Sequence[Raw], newer: Sequence[Raw]) -> list[int | None]:
    pairs = zip(older, newer, strict=True)
    return [b - a if isinstance(a, int) and isinstance(b, int) and 0 <= b - a < STEP_BACK else None for a, b in pairs]


def rises(older: Sequence[Raw], newer: Sequence[Raw]) -> list[int] | None:
    """The raw increases of 64-bit counters; None if one is unknown or went back, or where columns differ in length."""
    plain = grown(older, newer)
    if plain is not None or len(older) != len(newer):
        return plain
    try:
        rose = list(map(sub, cast("Sequence[int]", newer), cast("Sequence[int]", older)))
    except TypeError:  # a text, or nothing
        return None
    return rose if not rose or (min(rose) >= 0 and max(rose) < STEP_BACK) else None


def risen_rate(plain: Sequence[int], spans: Numbers, factor: float | None) -> float | None:
    """Sum of the increases per second of counters whose `rises` are known; None if a span is unknown."""
    try:
        total = math.fsum(map(truediv, plain, cast("Sequence[float]", spans)))
    except (TypeError, ZeroDivisionError):
        return None
    return total if factor is None else total * factor


def quotients(deltas: Numbers, spans: Numbers) -> Numbers:
    """Increases per second; None if either is unknown or no time passed."""
    return [None if delta is None or not span else delta / span for delta, span in zip(deltas, spans, strict=True)]


def common(items: Numbers) -> float | None:
    """The number that all items share; None if they differ or one is unknown."""
    first = items[0] if items else None
    return first if first is not None and (len(items) == 1 or items.count(first) == len(items)) else None


REDUCERS: dict[Reduce, Callable[[Sequence[float]], float | None]] = {
    Reduce.SUM: math.fsum,  # `sum` rounds otherwise from Python 3.12 on
    Reduce.MEAN: lambda values: math.fsum(values) / len(values),
    Reduce.MAX: max,
    Reduce.MIN: min,
    Reduce.UNION: lambda values: float(reduce(or_, map(int, values), 0)),
    Reduce.SAME: lambda values: values[0] if all(value == values[0] for value in values) else None,
    Reduce.NONE: lambda _values: None,
}


def reduced(items: Numbers, rule: Reduce) -> float | None:
    """Reduce the numbers of several instances to one, leaving unknown ones out; None if all are unknown."""
    have = [item for item in items if item is not None] if None in items else cast("Sequence[float]", items)
    if not have:
        return None
    return have[0] if len(have) == 1 else REDUCERS[rule](have)
