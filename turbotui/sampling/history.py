"""Histories: the values of a cell over the last minutes, and its least, greatest and mean since the start.

A ring holds 32-bit floats, which suffice for a picture and for extremes; columns are never computed from them. An
unknown value is kept as a gap (NaN), so that time on the axis stays true.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame

_GAP = math.nan

_MOST_CELLS: Final = 4_000
"""Cells that are kept, 2.4 MB; beyond them a quarter goes, of those that have not been kept or asked for longest."""


class FrameTime(NamedTuple):
    """The time of a frame's interval."""

    seq: int  # its number
    start: int  # when it began, in ns since 1970
    end: int


def frame_time(frame: Frame) -> FrameTime:
    """The time of a frame's interval; the first frame's has no length."""
    end = frame.newer.wall_ns
    return FrameTime(frame.seq, end - round((frame.seconds or 0.0) * 1e9), end)


class HistoryRing:
    """The last `length` values of one cell, oldest first, and its extremes since the last reset.

    `last` is the number of the newest interval, -1 for none; `unread` has intervals of the picture of which some were
    not kept.
    """

    __slots__ = ("_at", "_values", "count", "high", "last", "low", "total", "unread")

    def __init__(self, length: int) -> None:
        self._values = array("f", [_GAP]) * length
        self._at = 0
        self.last = -1
        self.unread = range(0)
        self.reset()

    def reset(self) -> None:
        """Forget least, greatest and mean, and keep the picture."""
        self.count = 0
        self.total = 0.0
        self.low = math.inf
        self.high = -math.inf

    def push(self, value: float | None) -> None:
        """Append one interval's value; None is a gap."""
        self._values[self._at] = _GAP if value is None else value
        self._at = (self._at + 1) % len(self._values)
        if value is not None:
            self._count(value)

    def leave(self, seq: int) -> None:
        """Leave the intervals since the newest one and before a number unread: gaps until `put`."""
        first = max(self.last + 1, seq - len(self._values), 1)  # reading 0 ends no interval
        if self.last >= 0:
            for _ in range(first, seq):
                self.push(None)
        self.unread = _spanning(self.unread, range(first, seq))
        self.last = seq - 1

    def turn(self, seq: int) -> None:
        """Let the picture end at another interval; what both pictures have stays."""
        if seq >= self.last:
            self.leave(seq + 1)
            return
        values = self._values
        back = min(self.last - seq, len(values))
        for _ in range(back):
            self._at = (self._at or len(values)) - 1
            values[self._at] = _GAP
        self.last, first = seq, seq - len(values) + 1
        still = range(self.unread.start, min(self.unread.stop, seq + 1))
        self.unread = _spanning(still, range(max(1, first), max(1, first + back)))

    def put(self, seq: int, value: float, *, counts: bool) -> None:
        """Insert the value of an interval in which the cell was not kept, also into the extremes if it counts there."""
        values, ago = self._values, self.last - seq
        if not 0 <= ago < len(values):
            return
        at = (self._at - 1 - ago) % len(values)
        if math.isnan(values[at]):
            values[at] = value
            if counts:
                self._count(value)

    def recount(self) -> None:
        """Compute the extremes anew, of the picture."""
        self.reset()
        for value in self._values:
            if value == value:  # noqa: PLR0124 - no NaN
                self._count(value)

    def _count(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.low = min(self.low, value)
        self.high = max(self.high, value)

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
            begin = self.last - len(self._values) + 1
            self.unread = _spanning(self.unread, range(max(1, self.last - length + 1), max(1, begin)))
            self._values = array("f", [_GAP]) * (length - len(self._values)) + array("f", self.values())
            self._at = 0

    @property
    def mean(self) -> float | None:
        """Mean of the known values since the last reset."""
        return self.total / self.count if self.count else None


def _spanning(some: range, others: range) -> range:
    """The numbers from the first to the last of both."""
    if not some or not others:
        return some or others
    return range(min(some.start, others.start), max(some.stop, others.stop))


class History:
    """A cache of what frames say of cells: rings by row and column, filled as frames come or from those that are kept.

    A cell has a ring from the first time it was kept or asked for. Drawing asks by `series`; what a ring lacks is then
    `wanted`, and whoever has the frames brings it by `fill`.

    Attributes:
        length: number of intervals kept for a cell unless more are asked for.
        pushed: number of changes so far.
        newest: number of the newest interval.
        wanted: rings that were asked for and have unread intervals, by column and row.
        columns: of wanted cells, by name.
        wanting: called when a cell becomes wanted.
    """

    def __init__(self, length: int = 60, wanting: Callable[[], None] = lambda: None) -> None:
        self.length = length
        self.pushed = 0
        self.newest = -1
        self.wanted: dict[tuple[ColumnId, RowId], HistoryRing] = {}
        self.columns: dict[ColumnId, CounterColumn] = {}
        self.wanting = wanting
        self._is_past = False
        self._begun = 0
        self._rings: dict[ColumnId, dict[RowId, HistoryRing]] = {}
        self._most = _MOST_CELLS  # more where that many are shown
        self._peaks: dict[tuple[ColumnId, Scope], float] = {}

    @classmethod
    def until(cls, frame: Frame, wanting: Callable[[], None]) -> History:
        """What led to a moment of the past; `turn` goes on to its neighbours."""
        history = cls(wanting=wanting)
        history._is_past, history.newest = True, frame.seq
        return history

    def push(self, frame: Frame, columns: Iterable[CounterColumn], rows: Sequence[RowId]) -> None:
        """Keep the values of these columns in these rows, each once."""
        for column in columns:
            self._push(frame.seq, column, rows, frame.bare_cells(column, rows))
        self.pushed += 1
        self._trim()

    def push_shown(self, frame: Frame, columns: Iterable[CounterColumn], rows: Sequence[RowId]) -> None:
        """Keep what these columns show in these rows; a core's value shown beside each of its CPUs is kept once."""
        for column in columns:
            owners, values = frame.home_cells(column, rows)
            if not frame.is_bare(column):
                values = frame.bare_cells(column, owners)
            self._push(frame.seq, column, owners, values)

    def _push(self, seq: int, column: CounterColumn, rows: Sequence[RowId], values: Sequence[Value]) -> None:
        self.newest = seq
        rings = self._rings.setdefault(column.id, {})
        for row, value in zip(rows, values, strict=True):
            if (ring := rings.get(row)) is None:
                ring = rings[row] = HistoryRing(self.length)
            if ring.last >= seq:
                continue
            if ring.last < seq - 1:
                ring.leave(seq)
            ring.last = seq
            known = None if isinstance(value, str) else value
            ring.push(known)
            if known is not None:
                self._note_peak(column.id, row.scope, known)

    def _note_peak(self, column: ColumnId, scope: Scope, value: float) -> None:
        self._peaks[column, scope] = max(value, self._peaks.get((column, scope), 0.0))

    def ring(self, column: ColumnId, row: RowId) -> HistoryRing | None:
        """The history of one cell as far as it was kept or read; None if it never was."""
        rings = self._rings.get(column)
        return None if rings is None else rings.get(row)

    def series(self, column: CounterColumn, row: RowId, count: int) -> Sequence[float]:
        """The last values of a cell, oldest first; NaN is a gap, or not read yet and wanted from now on.

        A watched machine's newest value may be missing at the end: what is drawn is kept after drawing.
        """
        if self.newest < 0:
            return ()
        rings = self._rings.setdefault(column.id, {})
        ring = rings.get(row)
        if ring is None:
            ring = rings[row] = HistoryRing(max(count, self.length))
        elif ring.length < count:
            ring.lengthen(count)
        if ring.last < (self.newest if self._is_past or ring.last < 0 else self.newest - 1):
            ring.leave(self.newest + 1)
        if ring.unread and (column.id, row) not in self.wanted:
            is_first = not self.wanted
            self.wanted[column.id, row] = ring
            self.columns[column.id] = column
            if is_first:
                self.wanting()
        return ring.values(count)

    def fill(self, frame: Frame, column: CounterColumn, rows: Sequence[RowId]) -> None:
        """Put a kept frame's values of a column into the unread intervals of wanted cells.

        An interval that is longer than the history's, as the older ones of an hour are, has one value for all of them.
        """
        if frame.older is None:
            return
        numbers = range(max(frame.older.seq + 1, frame.seq - self.length + 1), frame.seq + 1)
        for row, value in zip(rows, frame.bare_cells(column, rows), strict=True):
            ring = self.wanted.get((column.id, row))
            if ring is None or value is None or isinstance(value, str):
                continue
            for number in numbers:
                if number in ring.unread:
                    ring.put(number, value, counts=number >= self._begun)
            self._note_peak(column.id, row.scope, value)

    def filled(self, cells: Mapping[tuple[ColumnId, RowId], range]) -> None:
        """Note that the unread intervals of wanted cells were looked for; what is still unknown is a gap."""
        for cell, intervals in cells.items():
            if (ring := self.wanted.pop(cell, None)) is not None and ring.unread == intervals:
                ring.unread = range(0)
                if self._is_past:
                    ring.recount()
        self.pushed += 1

    def turn(self, frame: Frame) -> None:
        """Go on to the moment before or after the shown moment of the past."""
        self.newest = frame.seq
        for rings in self._rings.values():
            for ring in rings.values():
                ring.turn(frame.seq)
                ring.recount()
        self.pushed += 1

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
                known = [value for value in ring.values() if not math.isnan(value)]
                self._note_peak(column, row.scope, max(known, default=0.0))

    def _trim(self) -> None:
        """Forget cells that are no longer kept or asked for, if there are too many."""
        count = sum(map(len, self._rings.values()))
        if count <= self._most:
            return
        left = sorted(((ring.last, column, row) for column, rings in self._rings.items() for row, ring in rings.items()
                       if ring.last < self.newest - 1 and (column, row) not in self.wanted), key=itemgetter(0))
        forgotten = left[:count - _MOST_CELLS * 3 // 4]
        for _last, column, row in forgotten:
            del self._rings[column][row]
        self._most = max(_MOST_CELLS, (count - len(forgotten)) * 5 // 4)

    def keep_only(self, rows: Iterable[RowId]) -> None:
        """Drop the rings of rows that no longer exist (hot-plug)."""
        staying = frozenset(rows)
        for rings in self._rings.values():
            for row in [row for row in rings if row not in staying]:
                del rings[row]
