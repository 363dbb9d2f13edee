"""Keep tables of earlier intervals, whose rows come and go, in bounded memory: the older, the coarser."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

MOST_ROWS: Final = 20_000
"""Rows of all intervals together."""
MOST_BYTES: Final = 4 << 20
"""Bytes of all packed intervals together; 20,000 rows of tasks of 224 CPUs are 8 MB."""


P = TypeVar("P")


class KeptIntervals(Generic[P]):
    """Intervals in order of time; if they are too large, intervals go that leave the smallest gap for their age.

    All but the newest are pickled, which takes a tenth of the memory of their objects: a row of tasks is 100 to 400
    bytes.
    """

    def __init__(self, most_rows: int = MOST_ROWS, most_bytes: int = MOST_BYTES) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._newest: tuple[int | None, P] | None = None  # with its number
        self._packed: list[bytes] = []  # those before the newest one
        self._times: list[int] = []  # of all of them
        self._sizes: list[int] = []
        self._rows = 0
        self._bytes = 0  # packed
        self._shown: tuple[bytes, P] | None = None  # the one that was asked for last

    def keep(self, time_ns: int, rows: int, table: P, seq: int | None = None) -> None:
        """Keep the newest interval; the same number again replaces it.

        Args:
            time_ns: its end, in ns since 1970.
            rows: how many rows the table has.
            table: what can be pickled.
            seq: its number, if a table may come again.
        """
        newest, self._newest = self._newest, (seq, table)
        if newest is not None and newest[0] == seq is not None:
            self._times.pop()
            self._rows -= self._sizes.pop()
        elif newest is not None:
            self._packed.append(pickle.dumps(newest[1], pickle.HIGHEST_PROTOCOL))
            self._bytes += len(self._packed[-1])
        self._times.append(time_ns)
        self._sizes.append(1 + rows)  # and one for the remainder
        self._rows += 1 + rows
        while (self._rows > self._most_rows or self._bytes > self._most_bytes) and self._packed:
            at = self._least_missed()
            self._bytes -= len(self._packed[at])
            del self._packed[at], self._times[at]
            self._rows -= self._sizes.pop(at)

    def _least_missed(self) -> int:
        """Position of the interval whose neighbours are closest together relative to its age."""
        times = self._times
        now = times[-1] + 1
        gaps = [(after - before) / (now - at) for before, at, after in zip(times, times[1:], times[2:], strict=False)]
        return 1 + gaps.index(min(gaps)) if gaps else 0

    def at(self, start_ns: int, end_ns: int) -> P | None:
        """The last interval that ended after one time and not after another; None if none is kept."""
        index = bisect_right(self._times, end_ns) - 1
        if index < 0 or self._times[index] <= start_ns:
            return None
        if index == len(self._packed):
            return None if self._newest is None else self._newest[1]
        packed = self._packed[index]
        if self._shown is None or self._shown[0] is not packed:
            self._shown = packed, pickle.loads(packed)  # noqa: S301 - it was made here
        return self._shown[1]

    def between(self, start_ns: int, end_ns: int) -> Iterator[P]:
        """The kept intervals that ended after one time and not after another, oldest first."""
        for index in range(bisect_right(self._times, start_ns), bisect_right(self._times, end_ns)):
            if index < len(self._packed):
                yield pickle.loads(self._packed[index])  # noqa: S301 - it was made here
            elif self._newest is not None:
                yield self._newest[1]

    @property
    def last_ns(self) -> int | None:
        """End of the newest kept interval; None if none is kept."""
        return self._times[-1] if self._times else None

    @property
    def first_ns(self) -> int | None:
        """End of the earliest kept interval; None if none is kept."""
        return self._times[0] if self._times else None
