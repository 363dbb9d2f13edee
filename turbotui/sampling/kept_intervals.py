"""Keep tables of earlier intervals, whose rows come and go, in bounded memory: the older, the coarser."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Generic, Protocol, TypeVar

_MOST_ROWS: Final = 20_000
"""Rows of all intervals together; for tasks about 20 MB."""


class KeptInterval(Protocol):
    """Values of the rows of an interval."""

    @property
    def time_ns(self) -> int:
        """When the interval ended, in ns since 1970."""

    @property
    def seq(self) -> int:
        """Number of the interval."""

    @property
    def size(self) -> int:
        """Number of rows, plus one for the remainder."""


P = TypeVar("P", bound=KeptInterval)


class KeptIntervals(Generic[P]):
    """Intervals in order of time; if rows are too many, intervals go that leave the smallest gap for their age."""

    def __init__(self, most_rows: int = _MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._kept: list[P] = []
        self._rows = 0

    def keep(self, one: P) -> None:
        """Keep the newest interval; the same number again replaces it."""
        if self._kept and self._kept[-1].seq == one.seq:
            self._rows -= self._kept.pop().size
        self._kept.append(one)
        self._rows += one.size
        while self._rows > self._most_rows and len(self._kept) > 1:
            self._rows -= self._kept.pop(self._least_missed()).size

    def _least_missed(self) -> int:
        """Position of the interval whose neighbours are closest together relative to its age."""
        times = [kept.time_ns for kept in self._kept]
        now = times[-1] + 1
        gaps = [(after - before) / (now - at) for before, at, after in zip(times, times[1:], times[2:], strict=False)]
        return 1 + gaps.index(min(gaps)) if gaps else 0

    def at(self, start_ns: int, end_ns: int) -> P | None:
        """The last interval that ended after one time and not after another; None if none is kept."""
        index = bisect_right(self._kept, end_ns, key=lambda kept: kept.time_ns) - 1
        found = self._kept[index] if index >= 0 else None
        return found if found is not None and found.time_ns > start_ns else None

    @property
    def first_ns(self) -> int | None:
        """End of the earliest kept interval; None if none is kept."""
        return self._kept[0].time_ns if self._kept else None
