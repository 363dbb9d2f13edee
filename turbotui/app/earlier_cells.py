"""Fills charts with the values that cells had before their histories were kept, from the frames in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.app.watch import Watch
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import RowId

_PART: Final = 0.004
"""Seconds of work, and of rest after it."""
_LONG: Final = 120
"""Intervals that are read: a chart of the widest terminals is not much wider."""


class EarlierCells:
    """Reads the past of cells once, all cells of a frame together.

    Args:
        watch: has the frames and the history.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._known: set[tuple[ColumnId, RowId]] = set()
        self._wanted: set[tuple[ColumnId, RowId]] = set()
        self._first: int | None = None  # the frame at which the screen was come to
        self._work: asyncio.Task[None] | None = None

    def want(self, columns: Sequence[CounterColumn], rows: Sequence[RowId]) -> None:
        """Read the past of cells in the background, unless it was read or is being read.

        Reading begins with the second frame: before, a screen that is only passed through is left again.
        """
        frame = self._watch.frame
        if frame is None or self._watch.in_past or self._watch.cursor is None or self._work is not None:
            return
        if self._first is None:
            self._first = frame.seq
        if frame.seq == self._first:
            return
        cells = {(column.id, home): (column, home) for column in columns if column.decimals >= 0 for row in rows
                 if (home := frame.home(column, row) or row) and (column.id, home) not in self._known}
        if cells:
            self._wanted = set(cells)
            self._work = asyncio.get_running_loop().create_task(self._read(list(cells.values())))

    def stop(self) -> None:
        """Stop reading; values read so far are dropped, and read again when they are wanted again."""
        self._first = None
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _read(self, cells: Sequence[tuple[CounterColumn, RowId]]) -> None:
        began = time.monotonic()
        for _ in read_earlier(self._watch, cells):
            if time.monotonic() - began > _PART:
                await asyncio.sleep(_PART)
                began = time.monotonic()
        self._known |= self._wanted
        self._work = None


def read_earlier(watch: Watch, cells: Sequence[tuple[CounterColumn, RowId]]) -> Iterator[None]:
    """Insert values from before a cell's history was kept into the live history, one frame at each step.

    Args:
        watch: has the frames and the history.
        cells: each with the row that it is a value of.
    """
    if watch.cursor is None:
        return
    timeline, history = watch.cursor.timeline, watch.live_history
    found: dict[tuple[ColumnId, RowId], dict[int, float | None]] = {(column.id, row): {} for column, row in cells}
    for time_ns in timeline.times[-_LONG:]:
        frame = timeline.frame(time_ns)
        if frame is not None and frame.older is not None:
            for column, row in cells:
                value = frame.cell(column, row)
                if value is not None and not isinstance(value, str):
                    found[column.id, row][frame.seq] = value
        yield
    for (name, row), earlier in found.items():
        ring = history.ring(name, row)
        if ring is not None and earlier:
            ring.lengthen(_LONG)
            history.precede(name, row, earlier)
