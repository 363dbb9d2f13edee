"""Reads what histories lack of the drawn cells from the frames that are kept, a few ms at a time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from turbotui.app.past import AFTER, Portions
from turbotui.app.watch import Watch
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.moments import NS
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.history import History

_MOST: Final = 240
"""Intervals that are read: as many as the widest terminals have columns."""


class HistoryReader:
    """Brings the shown history what drawing asked for.

    Args:
        read: called when everything that was asked for has been read.
    """

    def __init__(self, watch: Watch, read: Callable[[], None]) -> None:
        self._watch = watch
        self._read = read
        self._work: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read what is wanted, unless that is being done."""
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._read_wanted())

    def again(self) -> None:
        """Begin anew, for another moment."""
        self.stop()
        if self._watch.history.wanted:
            self.begin()

    def stop(self) -> None:
        """Stop reading; what was read stays, and the rest is read when it is asked for again."""
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _read_wanted(self) -> None:
        await asyncio.sleep(AFTER)
        history, portions = self._watch.history, Portions()
        while history.wanted:
            cells = {cell: ring.unread for cell, ring in history.wanted.items()}
            columns = _columns(history, cells)
            for time_ns in self._moments(history, cells.values()):
                frame = self._watch.frame_at(time_ns)
                if frame is not None:
                    for column, rows in columns:
                        history.fill(frame, column, rows)
                await portions.rest()
            history.filled(cells)
        self._work = None
        self._read()

    def _moments(self, history: History, unread: Collection[range]) -> Sequence[int]:
        watch, cursor = self._watch, self._watch.cursor
        if cursor is None:
            return ()
        first = max(min(span.start for span in unread), history.newest - _MOST)
        if not watch.in_past:
            spans = {self._around(max(first, span.start), span.stop - 1) for span in unread if span.stop > first}
            return [time_ns for time_ns in cursor.timeline.times if any(begin < time_ns <= end for begin, end in spans)]
        frame, count = watch.frame, history.newest - first + 1
        if frame is None or frame.older is None or frame.seconds is None:
            return ()
        each = frame.seconds / max(1, frame.seq - frame.older.seq)  # older moments lie further apart
        since = frame.newer.wall_ns - round((count + 1) * each * NS)
        return [time_ns for time_ns in cursor.before(count) if time_ns > since]

    def _around(self, first: int, last: int) -> tuple[int, float]:
        """The times between which intervals end; those that were never drawn lie between two that were."""
        known = self._watch.times
        return (max((time.end for time in known if time.seq < first), default=0),
                min((time.end for time in known if time.seq >= last), default=math.inf))


def _columns(history: History, cells: Iterable[tuple[ColumnId, RowId]]) -> Sequence[
        tuple[CounterColumn, Sequence[RowId]]]:
    """The cells by column and level, as frames compute them."""
    levels: dict[tuple[ColumnId, Scope], list[RowId]] = {}
    for name, row in cells:
        levels.setdefault((name, row.scope), []).append(row)
    return [(history.columns[name], tuple(rows)) for (name, _), rows in levels.items()]
