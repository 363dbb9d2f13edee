"""Histories of the cells of a table of rows, for graphs and explanations. Nothing here knows Textual."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, ColumnId, R
from turbotui.sampling.history import FrameTime, HistoryRing
from turbotui.widgets.row_content import RowContent

_LENGTH: Final = 60
"""Intervals kept of a cell, and time for which a row out of sight is kept."""
_LONG: Final = 300
"""Intervals kept of a cell that a user explained or graphed."""


@dataclass(slots=True)
class _Past:
    """Histories of the cells of one row."""

    seen: int  # interval in which it was last drawn
    asked: bool = False  # whether a user explained or graphed one of its cells
    rings: dict[ColumnId, HistoryRing] = field(default_factory=dict)


class RowHistory:
    """Histories of cells that were drawn or asked for, by row and column; rows that disappear are forgotten.

    Attributes:
        times: times of the last intervals, by the contents' numbers.
    """

    def __init__(self) -> None:
        self._rows: dict[Hashable, _Past] = {}
        self._newest = -1
        self.times: deque[FrameTime] = deque(maxlen=_LONG)

    def ended(self, time: FrameTime) -> None:
        """Note the time of an interval."""
        if not self.times or self.times[-1].seq < time.seq:
            self.times.append(time)

    def push(self, content: RowContent[R], columns: Sequence[Column[R]], rows: Iterable[Hashable]) -> None:
        """Keep the drawn cells and those that are already kept, each once per interval.

        An earlier moment that a user returns to is already kept.
        """
        for row in rows:
            if content.get(row) is not None:
                past = self._rows.setdefault(row, _Past(content.seq))
                past.seen = content.seq
                for column in columns:
                    if column.decimals >= 0 and column.id not in past.rings:
                        past.rings[column.id] = HistoryRing(_LENGTH)
        if content.seq < self._newest:
            return
        self._newest = content.seq
        self._rows = {row: past for row, past in self._rows.items() if content.get(row) is not None
                      and (past.asked or content.seq - past.seen < _LENGTH)}
        by_name = {column.id: column for column in content.whole.columns}
        for row, past in self._rows.items():
            for name, ring in past.rings.items():
                if ring.last < content.seq and name in by_name:
                    value = content.value(by_name[name], row)
                    ring.push_at(content.seq, None if isinstance(value, str) else value)

    def keep(self, content: RowContent[R], column: Column[R], row: Hashable) -> None:
        """Keep a cell for longer, whether it is drawn or not."""
        self.push(content, (column,), (row,))
        past = self._rows.get(row)
        if past is not None:
            past.asked = True
            if column.id in past.rings:
                past.rings[column.id].lengthen(_LONG)

    def ring(self, column: ColumnId, row: Hashable) -> HistoryRing | None:
        """The history of a cell; None if it was not kept."""
        past = self._rows.get(row)
        return None if past is None else past.rings.get(column)
