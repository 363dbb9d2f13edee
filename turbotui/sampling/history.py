"""Histories: the values of a cell over the last minutes, and its least, greatest and mean since the start.

A ring holds 32-bit floats, which suffice for a picture and for extremes; columns are never computed from them. An
unknown value is kept as a gap (NaN), so that time on the axis stays true.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame

_GAP = math.nan


class FrameTime(NamedTuple):
    """The time of a frame's interval.

    Attributes:
        seq: its number.
        start: when it began, in ns since 1970.
        end: when it ended.
    """

    seq: int
    start: int
    end: int


def frame_time(frame: Frame) -> FrameTime:
    """The time of a frame's interval; the first frame's has no length."""
    end = frame.newer.wall_ns
    return FrameTime(frame.seq, end - round((frame.seconds or 0.0) * 1e9), end)


class HistoryRing:
    """The last `length` values of one cell, oldest first, and its extremes since the last reset."""

    __slots__ = ("_at", "_values", "count", "first", "high", "last", "low", "total")

    def __init__(self, length: int) -> None:
        self._values = array("f", [_GAP]) * length
        self._at = 0
        self.first = self.last = -1
        self.reset()

    def reset(self) -> None:
        """Forget least, greatest and mean, and keep the picture."""
        self.count = 0
        self.total = 0.0
        self.low = math.inf
        self.high = -math.inf

    def push(self, value: float | None) -> None:
        """Append one interval's value; None is a gap."""
        values = self._values
        at = self._at
        if value is None:
            values[at] = _GAP
        else:
            values[at] = value
            self.count += 1
            self.total += value
            if value < self.low:  # noqa: PLR1730 - a call of min costs more than the rest of this method
                self.low = value
            if value > self.high:  # noqa: PLR1730 - as above
                self.high = value
        at += 1
        self._at = 0 if at == len(values) else at

    def push_at(self, seq: int, value: float | None) -> None:
        """Append the value of an interval once; skipped intervals since the last value become gaps."""
        if self.last >= seq:
            return
        if self.last >= 0:
            for _ in range(min(seq - self.last - 1, self.length)):
                self.push(None)
        else:
            self.first = seq
        self.last = seq
        self.push(value)

    def precede(self, earlier: Mapping[int, float | None]) -> None:
        """Insert values of intervals before the first kept one, by interval number, into picture and extremes."""
        before = {seq: value for seq, value in earlier.items() if seq < self.first}
        if not before:
            return
        values = self.values()
        for seq, value in before.items():
            at = seq - self.last - 1
            if value is not None and -at <= len(values):
                values[at] = value
                self.count += 1
                self.total += value
                self.low, self.high = min(self.low, value), max(self.high, value)
        self._values, self._at, self.first = values, 0, min(before)

    def values(self, count: int | None = None) -> array[float]:
        """The last `count` values, all by default, oldest first; NaN is a gap."""
        ordered = self._values[self._at :] + self._values[: self._at]
        return ordered if count is None else ordered[-count:]

    @property
    def length(self) -> int:
        """The number of values held."""
        return len(self._values)

    def lengthen(self, length: int) -> None:
        """Keep more values from now on."""
        if length > len(self._values):
            self._values = array("f", [_GAP]) * (length - len(self._values)) + array("f", self.values())
            self._at = 0

    @property
    def mean(self) -> float | None:
        """Mean of the known values since the last reset."""
        return self.total / self.count if self.count else None


class History:
    """Rings by row and column; a cell has a ring from the first time it was kept.

    Attributes:
        length: number of intervals kept for a cell unless more are asked for.
        pushed: number of pushes so far.
        newest: number of the newest interval with a kept value.
    """

    def __init__(self, length: int = 60) -> None:
        self.length = length
        self.pushed = 0
        self.newest = -1
        self._begun = 0
        self._rings: dict[ColumnId, dict[RowId, HistoryRing]] = {}
        self._peaks: dict[tuple[ColumnId, Scope], float] = {}

    def push(self, frame: Frame, columns: Iterable[CounterColumn], rows: Sequence[RowId], *, length: int = 0) -> None:
        """Keep the values of these columns in these rows; a cell named twice is kept once.

        Args:
            frame: the newest one.
            columns: of which cells.
            rows: of which cells.
            length: number of intervals to keep for these cells; 0 for the history's own length.
        """
        for column in columns:
            self._push(frame.seq, column, rows, frame.cells(column, rows), length or self.length)
        self.pushed += 1

    def push_shown(self, frame: Frame, columns: Iterable[CounterColumn], rows: Sequence[RowId]) -> None:
        """Keep what these columns show in these rows; a core's value shown beside each of its CPUs is kept once."""
        for column in columns:
            self._push(frame.seq, column, *frame.home_cells(column, rows), self.length)

    def _push(self, seq: int, column: CounterColumn, rows: Sequence[RowId], values: Sequence[Value],
              length: int) -> None:
        self.newest = seq
        lengthen = length > self.length
        rings = self._rings.setdefault(column.id, {})
        for row, value in zip(rows, values, strict=True):
            ring = rings.get(row)
            if ring is None:
                ring = rings[row] = HistoryRing(length)
            elif lengthen and ring.length < length:
                ring.lengthen(length)
            last = ring.last
            if last >= seq:
                continue
            if last < 0:
                ring.first = seq
            elif last < seq - 1:
                # intervals in which the cell was not kept become gaps, or the curve would join distant values
                for _ in range(min(seq - last - 1, ring.length)):
                    ring.push(None)
            ring.last = seq
            if value is None or isinstance(value, str):
                ring.push(None)
                continue
            ring.push(value)
            key = (column.id, row.scope)
            if value > self._peaks.get(key, 0.0):
                self._peaks[key] = value

    def ring(self, column: ColumnId, row: RowId) -> HistoryRing | None:
        """The history of one cell; None if it was never kept."""
        rings = self._rings.get(column)
        return None if rings is None else rings.get(row)

    def began(self, column: ColumnId, row: RowId) -> int:
        """The number of the first interval in which a cell was kept; beyond the newest if it was not."""
        ring = self.ring(column, row)
        return self.newest + 1 if ring is None or ring.first < 0 else ring.first

    def precede(self, column: ColumnId, row: RowId, earlier: Mapping[int, float | None]) -> None:
        """Insert values of a cell from before it was kept, by interval number; nothing from before a reset."""
        earlier = {seq: value for seq, value in sorted(earlier.items()) if self._begun <= seq <= self.newest}
        ring = self.ring(column, row)
        if ring is not None:
            ring.precede(earlier)
        elif earlier:
            ring = self._rings.setdefault(column, {})[row] = HistoryRing(self.length)
            for seq, value in earlier.items():
                ring.push_at(seq, value)

    def peak(self, column: ColumnId, scope: Scope) -> float | None:
        """The greatest value of a column in any kept row of a scope since the start or the last reset."""
        return self._peaks.get((column, scope))

    def reset(self) -> None:
        """Forget least, greatest and mean of every cell; the picture keeps its scale."""
        self._begun = self.newest + 1
        self._peaks.clear()
        for column, rings in self._rings.items():
            for row, ring in rings.items():
                ring.reset()
                key = (column, row.scope)
                kept = max((value for value in ring.values() if not math.isnan(value)), default=0.0)
                if kept > self._peaks.get(key, 0.0):
                    self._peaks[key] = kept

    def keep_only(self, rows: Iterable[RowId]) -> None:
        """Drop the rings of rows that no longer exist (hot-plug)."""
        staying = frozenset(rows)
        for rings in self._rings.values():
            for row in [row for row in rings if row not in staying]:
                del rings[row]
