"""Least, mean and greatest of every number over a run, printed at its end for people and for grep."""

from __future__ import annotations

from collections.abc import Iterator

from turbotui.cell_widths import flush_left, flush_right
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId
from turbotui.quantities.sentences import several
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import HistoryRing
from turbotui.tables.layout import Layout
from turbotui.tables.text import UNKNOWN, format_cell

_HEAD = ("row", "column", "unit", "min", "mean", "max", "intervals")
_LEFT = 3
"""Texts are aligned to the left, numbers to the right."""


class Extremes:
    """Collects least, mean and greatest over all intervals.

    The mean weighs every interval equally, however long it was. An interval in which a number, or a part of it, was
    unknown does not count for that number.
    """

    def __init__(self, layout: Layout) -> None:
        self._columns = [column for column in layout.measures if column.decimals >= 0 and not column.hexadecimal]
        self._layout = layout
        self._seen: dict[RowId, dict[str, HistoryRing]] = {}
        self._names: dict[RowId, str] = {SYSTEM_ROW: UNKNOWN}
        self._intervals = 0
        self._seconds = 0.0

    def take(self, frame: Frame) -> None:
        """Add an interval."""
        self._intervals += 1
        self._seconds += frame.seconds or 0.0
        for row in (SYSTEM_ROW, *self._layout.row_ids(frame)):
            if row not in self._names:
                self._names[row] = f"cpu{row.key[0]}"  # every row below the summary is a CPU
            rings = self._seen.setdefault(row, {})
            for column in self._columns:
                (value,) = frame.bare_cells(column, (row,))
                if value is not None and not isinstance(value, str):
                    rings.setdefault(column.id, HistoryRing(1)).push(value)

    def lines(self) -> Iterator[str]:
        """A line that names the run, a header, and a line for each row and column that was ever known."""
        label = f", {self._layout.label}: nothing here was {self._layout.kind.measured}" if self._layout.label else ""
        yield f"# over {several(self._intervals, 'interval')}, {self._seconds:.3f} s{label}"
        rows = [_HEAD, *((self._names[row], column.id, column.unit or UNKNOWN, *_numbers(column, rings[column.id]))
                         for row, rings in self._seen.items() for column in self._columns if column.id in rings)]
        widths = [max(len(cells[at]) for cells in rows) for at in range(len(_HEAD))]
        for cells in rows:
            placed = (flush_left(cell, width) if at < _LEFT else flush_right(cell, width)
                      for at, (cell, width) in enumerate(zip(cells, widths, strict=True)))
            yield "  ".join(placed).rstrip()


def _numbers(column: CounterColumn, ring: HistoryRing) -> tuple[str, str, str, str]:
    low, mean, high = (format_cell(column, number) for number in (ring.low, ring.mean, ring.high))
    return low, mean, high, str(ring.count)
