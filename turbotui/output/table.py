"""A table for people: aligned, every cell present, with marks.

`-` is what is unknown, `~` stands after what is estimated, `?` after what another counter contradicts.
"""

from __future__ import annotations

from collections.abc import Iterator

from turbotui.output.layout import Layout, timestamp
from turbotui.output.text import UNKNOWN, format_cell
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId
from turbotui.sampling.frame import Frame

_GAP = "  "
ESTIMATED = "~"
"""Stands after a number whose counter ran only a part of the interval."""
DISPUTED = "?"
"""Stands after a number that another counter contradicts."""


class TableText:
    """Numbers to the right, texts to the left. A core's or package's value stands on each of its rows."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._widths = [max(len(column.title), column.width) for column in layout.columns]

    def lines(self, frame: Frame) -> Iterator[str]:
        """A line with time and length of the interval, the header, the summary and the rows."""
        layout = self._layout
        label = f", {layout.kind} machine {layout.machine}: nothing here was measured" if layout.kind else ""
        said = f", {layout.said}" if layout.said else ""
        yield f"# {timestamp(frame.newer.wall_ns)}, {frame.seconds or 0.0:.3f} s{said}{label}"
        rows = [[_cell(frame, column, row) for column in layout.columns]
                for row in (SYSTEM_ROW, *layout.row_ids(frame))]
        for cells in rows:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, cells, strict=True)]
        yield self._line([column.title for column in layout.columns])
        for cells in rows:
            yield self._line(cells)

    def _line(self, cells: list[str]) -> str:
        placed = (
            cell.ljust(width) if column.decimals < 0 else cell.rjust(width)
            for cell, width, column in zip(cells, self._widths, self._layout.columns, strict=True)
        )
        return _GAP.join(placed).rstrip()


def _cell(frame: Frame, column: CounterColumn, row: RowId) -> str:
    if row is SYSTEM_ROW and column.category is Category.TOPOLOGY:
        return UNKNOWN
    text = format_cell(column, frame.cell(column, row), hexadecimal=True)
    if text == UNKNOWN:
        return text
    return text + (DISPUTED if frame.disputed(column, row) else ESTIMATED if frame.estimated(column, row) else "")
