"""Curves over time in braille dots, which show the least and greatest value at each place so that no spike is lost.

Nothing here knows Textual.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter, le
from typing import NamedTuple

from turbotui.dataclass import dataclass
from turbotui.widgets.canvas import DOTS
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.time_axis import TimeSpan

_RUNS = [[[sum(DOTS[line][side] for line in range(first, last + 1)) for side in (0, 1)] for last in range(4)]
         for first in range(4)]
"""Bits of a run of dots, by its first line, its last line and its column within a character."""
_END = attrgetter("end")
_START = attrgetter("start")


class TimedValue(NamedTuple):
    """The value of an interval."""

    start: int  # when it began, in ns since 1970
    end: int
    value: float  # NaN if unknown

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    def follows(self, other: TimedValue) -> bool:
        """Whether this interval directly follows another one."""
        return self.start - other.end <= (self.end - self.start) // 2


class Bucket(NamedTuple):
    """A curve's values at one place."""

    low: float  # the least value
    high: float  # the greatest
    joined: bool  # whether the curve continues from the place before


@dataclass(frozen=True, slots=True)
class Extent:
    """Statistics of some values."""

    # low, mean, high: the mean is over time, so a long interval weighs more
    low: float
    mean: float
    high: float
    count: int


def visible(timed: Sequence[TimedValue], span: TimeSpan) -> Sequence[TimedValue]:
    """The values of a curve (oldest first) that overlap a span."""
    return timed[bisect_right(timed, span.first, key=_END):bisect_left(timed, span.last, key=_START)]


def value_at(timed: Sequence[TimedValue], moment: int) -> TimedValue | None:
    """The interval that contains a moment or ends at it; None if there is none."""
    at = bisect_left(timed, moment, key=_END)
    return timed[at] if at < len(timed) and timed[at].start < moment else None


def extent(timed: Sequence[TimedValue]) -> Extent | None:
    """Least, mean and greatest of the known values; None if none is known."""
    known = [(value, max(1, end - start)) for start, end, value in timed if value == value]  # noqa: PLR0124 - no NaN
    if not known:
        return None
    values = [value for value, _ in known]
    low, high = min(values), max(values)
    mean = math.fsum(value * length for value, length in known) / sum(length for _, length in known)
    return Extent(low, min(max(mean, low), high), high, len(known))


def buckets(timed: Sequence[TimedValue], span: TimeSpan, size: int) -> list[Bucket | None]:
    """Divide a curve into `size` places with the least and greatest value of the intervals that overlap each place."""
    seen = visible(timed, span)
    values, starts, ends = [span.value for span in seen], [span.start for span in seen], [span.end for span in seen]
    ordered = all(map(le, starts, starts[1:]))  # no interval contains another one
    edges = [span.first - -place * span.length // size for place in range(size + 1)]  # the first ns of each place
    curve_buckets: list[Bucket | None] = []
    for place, (begin, end) in enumerate(pairwise(edges)):
        low = bisect_right(ends, span.first + place * span.length // size)
        high = bisect_left(starts, end) if ordered else len(seen)
        inside = range(low, high) if ordered else [at for at in range(low, high) if starts[at] < end]
        known = values[low:high] if ordered else [values[at] for at in inside]
        total = sum(known)
        # one is NaN; so asked, the others cost nothing: asked one by one an hour takes half as long again
        if total != total:  # noqa: PLR0124
            inside = [at for at in inside if seen[at].known]
            known = [values[at] for at in inside]
        if known:
            first = inside[0]
            goes_on = (starts[first] if ordered else min(starts[at] for at in inside)) < begin
            follows = first > 0 and seen[first - 1].known and seen[first].follows(seen[first - 1])
            curve_buckets.append(Bucket(min(known), max(known), place > 0 and (goes_on or follows)))
        else:
            curve_buckets.append(None)
    return curve_buckets


def raster(curves: Sequence[tuple[Sequence[Bucket | None], StyleRole]], bottom: float, top: float, width: int,
           height: int) -> list[list[TextSegment]]:
    """Draw curves as `height` lines of `width` characters; where several meet, the last one gives the colour.

    A curve has two places for each character.
    """
    bits = [[0] * width for _ in range(height)]
    roles = [[StyleRole.PLAIN] * width for _ in range(height)]
    for places, role in curves:
        before: tuple[int, int] | None = None
        for at, bucket in enumerate(places[:2 * width]):
            if bucket is None:
                before = None
                continue
            upper, lower = (_line(value, bottom, top, 4 * height) for value in (bucket.high, bucket.low))
            start, end = upper, lower
            if bucket.joined and before is not None:  # a steep step is a line, or it would look like two curves
                start, end = min(start, before[1]), max(end, before[0])
            for row in range(start // 4, end // 4 + 1):
                bits[row][at // 2] |= _RUNS[max(0, start - 4 * row)][min(3, end - 4 * row)][at % 2]
                roles[row][at // 2] = role
            before = upper, lower
    return [[(chr(0x2800 + dots) if dots else " ", role) for dots, role in zip(line, inks, strict=True)]
            for line, inks in zip(bits, roles, strict=True)]


def _line(value: float, bottom: float, top: float, lines: int) -> int:
    """The line of dots, from the top, of a value; a value outside the scale is drawn at the scale's end."""
    share = min(1.0, max(0.0, (value - bottom) / (top - bottom)))
    return round((1 - share) * (lines - 1))
