"""What the kept frames say of the cells of a table of rows: a cache, filled as intervals are drawn and from frames."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeAlias

from turbotui.app.past import AFTER, Portions
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, ColumnId, R, Value
from turbotui.quantities.moments import NS
from turbotui.sampling.frame import Frame

MOST: Final = 120
"""Intervals of a chart; a chart of the widest terminals is not much wider."""
_SLOTS: Final = MOST + 8
_MOST_CELLS: Final = 2_000
"""Cells that are kept, some 1.5 MB; beyond them those go that are not drawn."""
_UNREAD: Final = math.inf
_CellKey: TypeAlias = tuple[ColumnId, Hashable]


class RowMoment(Protocol[R]):
    """The rows of one interval."""

    def bare(self, column: Column[R], row: Hashable) -> Value:
        """`Cell.bare`, because charts have no place for marks; None if there is no such row."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """The intervals of a chart, oldest first."""

    ends: Sequence[int]  # ns since 1970
    slots: Sequence[int | None]  # None for an interval of which nothing was read yet
    # lengths of the gap before each interval and of itself, in units of the last one; None for 0 and 1 each
    steps: Sequence[tuple[int, int]] | None


class RowPast(Generic[R]):
    """The cells of one table at the moments that led to the shown one.

    Args:
        moment: returns the rows of a kept frame; None if it has none.
        read: called when everything that was asked for has been read.
    """

    def __init__(self, watch: Watch, moment: Callable[[Frame], RowMoment[R] | None], read: Callable[[], None]) -> None:
        self._watch = watch
        self._moment = moment
        self._read = read
        self._slots: dict[int, int] = {}  # by the end of an interval, in ns since 1970
        self._starts = [0] * _SLOTS
        self._cells: dict[_CellKey, array[float]] = {}
        self._wanted: dict[_CellKey, Column[R]] = {}
        self._missing: set[int] = set()
        self._work: asyncio.Task[None] | None = None
        self._changes = 0  # of places and starts
        self._asked: tuple[tuple[int, int], int, int] | None = None
        self._shared = _Axis((), (), None)

    @property
    def reads(self) -> bool:
        """Whether kept frames are being read."""
        return self._work is not None

    def stop(self) -> None:
        """Stop reading; what was read stays, and the rest is read when it is asked for again."""
        self._wanted.clear()
        self._missing.clear()
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def keep(self, start_ns: int, end_ns: int, rows: RowMoment[R], columns: Iterable[Column[R]],
             keys: Sequence[Hashable]) -> None:
        """Keep the cells of an interval that were computed for drawing."""
        slot = self._slot(start_ns, end_ns)
        numbers = [column for column in columns if column.decimals >= 0]
        for column in numbers:
            for row in keys:
                self._put((column.id, row), slot, rows.bare(column, row))

    def trim(self, columns: Sequence[Column[R]], keys: Sequence[Hashable]) -> None:
        """Forget all but the drawn cells if they are too many."""
        if len(self._cells) > _MOST_CELLS:
            drawn = {(column.id, row) for column in columns for row in keys}
            self._cells = {cell: values for cell, values in self._cells.items() if cell in drawn}

    def _slot(self, start_ns: int, end_ns: int) -> int:
        """The place of an interval in every cell; the one furthest away makes room."""
        slot = self._slots.get(end_ns)
        if slot is None:
            slot = len(self._slots)
            if slot == _SLOTS:
                slot = self._slots.pop(max(self._slots, key=lambda end: abs(end - end_ns)))
                for values in self._cells.values():
                    values[slot] = _UNREAD
            self._slots[end_ns] = slot
            self._changes += 1
        if self._starts[slot] != start_ns:
            self._starts[slot] = start_ns
            self._changes += 1
        return slot

    def _put(self, cell: _CellKey, slot: int, value: Value) -> None:
        if (values := self._cells.get(cell)) is None:
            values = self._cells[cell] = array("f", [_UNREAD]) * _SLOTS
        values[slot] = value if isinstance(value, int | float) else math.nan

    def series(self, column: Column[R], row: Hashable, interval: tuple[int, int], count: int) -> list[float]:
        """The values of a cell up to an interval, oldest first; NaN is a gap, or not read yet and wanted from now on.

        An interval that is several times as long as the last one, as the older ones of an hour are, has several values.

        Args:
            interval: the last one, its start and end in ns since 1970.
            count: values at most.
        """
        self._slot(*interval)
        cell = column.id, row
        axis, values = self._axis(interval, count), self._cells.get(cell)
        known = [_UNREAD if slot is None or values is None else values[slot] for slot in axis.slots]
        if _UNREAD in known:
            self._wanted[cell] = column
            self._missing.update(end for end, value in zip(axis.ends, known, strict=True) if value == _UNREAD)
            if self._work is None:
                self._work = asyncio.get_running_loop().create_task(self._read_wanted())
            known = [math.nan if value == _UNREAD else value for value in known]
        if axis.steps is not None:
            known = [number for value, (gap, length) in zip(known, axis.steps, strict=True)
                     for number in (*[math.nan] * gap, *[value] * length)]
        return known[-count:]

    def _axis(self, interval: tuple[int, int], count: int) -> _Axis:
        """The intervals of a chart, which the charts of a row share."""
        asked = (interval, count, self._changes)
        if self._asked != asked:
            (start_ns, end_ns), cursor = interval, self._watch.cursor
            ends = [] if cursor is None else [end for end in cursor.before(min(count, MOST)) if end < end_ns]
            ends.append(end_ns)
            slots = [self._slots.get(end) for end in ends]
            starts = [self._starts[slot] if slot is not None else None for slot in slots]
            unit, before, steps = max(1, end_ns - start_ns), None, list[tuple[int, int]]()
            for start, end in zip(starts, ends, strict=True):
                begin = start if start is not None else before if before is not None else end
                gap = 0 if before is None else min(MOST, max(0, round((begin - before) / unit)))
                steps.append((gap, min(MOST, max(1, round((end - begin) / unit)))))
                before = end
            is_plain = all(step == (0, 1) for step in steps)
            self._asked, self._shared = asked, _Axis(ends, slots, None if is_plain else steps)
        return self._shared

    async def _read_wanted(self) -> None:
        """Read the kept frames that lack wanted cells, the newest first and a few ms at a time."""
        await asyncio.sleep(AFTER)
        portions = Portions()
        while self._missing:
            wanted, moments = self._wanted, sorted(self._missing, reverse=True)
            self._wanted, self._missing = {}, set()
            for end_ns in moments[:MOST]:
                self._read_moment(end_ns, wanted)
                await portions.rest()
        self._work = None
        self._read()

    def _read_moment(self, end_ns: int, wanted: dict[_CellKey, Column[R]]) -> None:
        frame = self._watch.frame_at(end_ns)
        rows = None if frame is None or frame.older is None else self._moment(frame)
        slot = self._slot(end_ns - round((frame.seconds or 0.0) * NS) if frame is not None else end_ns, end_ns)
        for cell, column in wanted.items():
            if (values := self._cells.get(cell)) is None or values[slot] == _UNREAD:
                self._put(cell, slot, None if rows is None else rows.bare(column, cell[1]))
