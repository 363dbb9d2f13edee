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
"""Intervals kept of a cell, and kept of a row that is out of sight."""
_LONG: Final = 300
"""Intervals kept of a cell that somebody looked into."""


@dataclass(slots=True)
class _Past:
    """Histories of the cells of one row.

    Attributes:
        seen: when it was drawn last.
        asked: whether somebody looked into one of its cells.
        rings: by column.
    """

    seen: int
    asked: bool = False
    rings: dict[ColumnId, HistoryRing] = field(default_factory=dict)


class RowHistory:
    """Histories of cells that were drawn or looked into, by row and column; a row that is gone is forgotten.

    Attributes:
        times: when the last intervals were, by the contents' own numbers.
    """

    def __init__(self) -> None:
        self._rows: dict[Hashable, _Past] = {}
        self._newest = -1
        self.times: deque[FrameTime] = deque(maxlen=_LONG)

    def ended(self, time: FrameTime) -> None:
        """Note when an interval was."""
        if not self.times or self.times[-1].seq < time.seq:
            self.times.append(time)

    def push(self, content: RowContent[R], columns: Sequence[Column[R]], rows: Iterable[Hashable]) -> None:
        """Keep these cells, which are drawn, and those that are kept already, in this interval; each once.

        A moment before the newest one, which a person goes back to, is already kept.
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
        """The past of a cell; None if it was not kept."""
        past = self._rows.get(row)
        return None if past is None else past.rings.get(column)
