"""The cells of a graph, of one or more rows and columns, with their values over time."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from turbotui.app.one_cell import OneCell
from turbotui.app.watch import Watch
from turbotui.quantities.columns import Column
from turbotui.quantities.moments import NS
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.curves import TimedValue
from turbotui.widgets.graph_picture import Curve, CurvePanel
from turbotui.widgets.time_axis import TimeSpan

LANES: Final = tuple(StyleRole[f"LANE_{lane}"] for lane in range(8))
"""Colours of curves, one for each row."""


class CellCurve:
    """The values of one cell in the kept frames, as far as they have been read, and from before them.

    Attributes:
        name: of the row, kept after the row has gone.
        timed: oldest first; a new object whenever the values change.
    """

    def __init__(self, cell: OneCell, role: StyleRole) -> None:
        self.cell = cell
        self.role = role
        self.name = cell.name
        self.timed: tuple[TimedValue, ...] = ()
        self._read: dict[int, TimedValue] = {}
        self._earlier = 0  # the values from before that are in `timed`
        self._stale = False

    def has(self, time_ns: int) -> bool:
        """Whether the frame that ended at that time has been read, or does not have to be read."""
        return not self.cell.in_frames or time_ns in self._read

    def read(self, time_ns: int, frame: Frame | None) -> None:
        """Take the value of a frame; None if the frame can no longer be read."""
        value = None if frame is None else self.cell.read(frame)
        length = round((frame.seconds or 0.0) * NS) if frame is not None else 0
        self._read[time_ns] = TimedValue(time_ns - max(1, length), time_ns, math.nan if value is None else value)
        self._stale = True

    def renew(self, first_ns: int) -> None:
        """Put the values that were read in order, and forget those of kept frames that ended before a time."""
        earlier = self.cell.earlier
        if self._stale or len(earlier) != self._earlier:
            self._stale, self._earlier = False, len(earlier)
            self._read = {time_ns: value for time_ns, value in self._read.items() if time_ns >= first_ns}
            self.timed = (*earlier, *(self._read[end] for end in sorted(self._read)))


class GraphCells:
    """The cells of a graph: each row is a curve, each column a panel; columns are chosen as in a table.

    Args:
        changed: called when columns are added or removed.

    Attributes:
        left_out: number of cells for which there is no colour.
    """

    def __init__(self, watch: Watch, cells: Sequence[OneCell], changed: Callable[[], None] = lambda: None) -> None:
        self._watch = watch
        self._changed = changed
        self.rows = tuple(cells[:len(LANES)])
        self.left_out = len(cells) - len(self.rows)
        self._panels = [self._panel(self.rows)]

    @staticmethod
    def _panel(cells: Iterable[OneCell]) -> list[CellCurve]:
        """Curves of one column; rows that show the same value share one."""
        panel_curves: dict[object, CellCurve] = {}
        for cell, role in zip(cells, LANES, strict=False):
            panel_curves.setdefault(cell.home, CellCurve(cell, role))
        return list(panel_curves.values())

    # Columns, for the picker

    @property
    def known_columns(self) -> Sequence[Column[Any]]:
        """Every column of numbers."""
        return [column for column in self.rows[0].columns if not column.identity and column.decimals >= 0]

    def why_absent(self, column: Column[Any]) -> Unavailable | None:
        """Why a column cannot be drawn; None if it can."""
        return self.rows[0].why_absent(column)

    def section(self, column: Column[Any]) -> str:
        """The heading in the picker's list above a column."""
        return self.rows[0].section(column)

    def is_shown(self, column: Column[Any]) -> bool:
        """Whether a column is drawn."""
        return any(panel[0].cell.column.id == column.id for panel in self._panels)

    def toggle(self, column: Column[Any]) -> None:
        """Draw a column or remove it; at least one stays."""
        staying = [panel for panel in self._panels if panel[0].cell.column.id != column.id]
        if len(staying) == len(self._panels):
            self._panels.append(self._panel(cell.beside(column) for cell in self.rows))
        elif staying:
            self._panels = staying
        self._changed()

    # Values

    @property
    def first(self) -> OneCell:
        """The requested cell, or its replacement."""
        return self._panels[0][0].cell

    @property
    def curves(self) -> list[CellCurve]:
        """Every curve of the graph."""
        return [curve for panel in self._panels for curve in panel]

    @property
    def times(self) -> Sequence[int]:
        """Ends of the intervals whose frames can be read, oldest first."""
        cursor = self._watch.cursor
        return cursor.timeline.times if cursor is not None and any(curve.cell.in_frames
                                                                   for curve in self.curves) else ()

    def moments(self) -> Sequence[int]:
        """Ends of the intervals on which the cursor can stand, in ns since 1970, oldest first."""
        times = self.times
        for curve in self.curves:
            curve.renew(times[0] if times else 0)
        return sorted({*times, *(value.end for curve in self.curves for value in curve.timed)})

    def missing(self, span: TimeSpan) -> Sequence[int]:
        """Ends of a span's intervals whose frames have not been read, newest first."""
        times, curves = self.times, self.curves
        newest = min((curve.cell.newest_ns or span.last for curve in curves), default=span.last)
        inside = times[bisect_right(times, span.first):bisect_right(times, min(span.last, newest))]
        return [time_ns for time_ns in reversed(inside) if not all(curve.has(time_ns) for curve in curves)]

    def read(self, time_ns: int) -> None:
        """Read the frame that ended at that time, which may take some milliseconds."""
        frame = self._watch.frame_at(time_ns)
        for curve in self.curves:
            if not curve.has(time_ns):
                curve.read(time_ns, frame)

    def panels(self) -> list[CurvePanel]:
        """The cells to draw."""
        panels: list[CurvePanel] = []
        for panel in self._panels:
            several = len(self.rows) > 1
            curves = [Curve(curve.name, curve.role if several else StyleRole.SPARK, curve.timed) for curve in panel]
            panels.append(CurvePanel(panel[0].cell.column, curves, panel[0].cell.top))
        return panels
