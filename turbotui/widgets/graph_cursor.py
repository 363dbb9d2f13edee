"""The cursor of a graph and the span of time around it that is visible. Nothing here knows Textual."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum

from turbotui.widgets.time_axis import TimeSpan

_LEAST = 8
"""Intervals at the highest zoom."""
_RECENT = 60
"""Intervals that are visible at first, even if fewer exist."""


class _Fit(Enum):
    """How the length of the span is chosen."""

    RECENT = "as many of the last intervals as can be told from each other"
    WHOLE = "all there is"
    CHOSEN = "a person"


class GraphCursor:
    """A cursor on a fixed moment, or on the newest moment as it advances.

    Args:
        moments: ends of intervals, in ns since 1970, oldest first; at least one.
        interval: ns of one of them.
        places: number of intervals that the width can tell apart.
        at: the initial moment, centred; None for the newest.
    """

    def __init__(self, moments: Sequence[int], interval: int, places: int, at: int | None = None) -> None:
        self._moments = moments
        self._interval = max(1, interval)
        self._places = max(_LEAST, places)
        self._fit = _Fit.RECENT
        self.at = None if at is None else min(max(at, moments[0]), moments[-1])
        length = self._length()
        end = self.here if at is None else self.here + length // 2
        self.span = TimeSpan(end - length, end).holding(self.here, self.whole)

    @property
    def here(self) -> int:
        """The moment of the cursor."""
        return self._moments[-1] if self.at is None else self.at

    @property
    def whole(self) -> TimeSpan:
        """The span of all moments."""
        return TimeSpan(self._moments[0] - self._interval, self._moments[-1])

    def _length(self) -> int:
        whole = self.whole.length
        if self._fit is _Fit.RECENT:
            return self._interval * max(min(_RECENT, self._places), min(self._places, whole // self._interval))
        return whole if self._fit is _Fit.WHOLE else self.span.length

    def go_on(self, moments: Sequence[int], interval: int, places: int) -> None:
        """Take new moments or another width."""
        self._moments = moments
        self._interval, self._places = max(1, interval), max(_LEAST, places)
        if self.at is not None and self.at < moments[0]:
            self.at = moments[0]
        if self.at is None:
            self.span = TimeSpan(moments[-1] - self._length(), moments[-1])
        elif self._fit is _Fit.WHOLE:
            self.span = self.whole

    def step(self, by: int) -> None:
        """Move by a number of moments, forward or back."""
        self._go(bisect_right(self._moments, self.here) - 1 + by)

    def page(self, by: int) -> None:
        """Move forward or back by the visible span."""
        far = by * self.span.length
        self.span = self.span.moved(far)
        self._go(bisect_right(self._moments, self.here + far) - 1)

    def end(self, by: int) -> None:
        """Go to the first moment, or the newest."""
        self._go(0 if by < 0 else len(self._moments) - 1)

    def go_to(self, time_ns: int) -> None:
        """Go to the moment whose interval contains a time, or to the next one."""
        self._go(bisect_right(self._moments, time_ns - 1))

    def _go(self, index: int) -> None:
        self.at = None if index >= len(self._moments) - 1 else self._moments[max(0, index)]
        self.span = self.span.holding(self.here, self.whole)

    def zoom(self, by: int) -> None:
        """Zoom in for 1, out for -1, by a factor of two; the cursor keeps its place."""
        self._fit = _Fit.CHOSEN
        least = _LEAST * self._interval
        most = max(self.whole.length, self._places * self._interval)
        around = min(max(self.here, self.span.first), self.span.last)
        self.span = self.span.zoomed(0.5 ** by, around, least, most).holding(self.here, self.whole)

    def show_whole(self) -> None:
        """Show the whole span."""
        self._fit = _Fit.WHOLE
        self.span = self.whole
