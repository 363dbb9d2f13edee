"""Comma-separated values (RFC 4180): one header, one line for each row and interval, every cell present.

The columns before the measured ones never change: time in UTC, seconds of the interval, machine, kind ("real",
"SIMULATED", "RECORDED"), scope of the row and its place. Empty is unknown. Where columns are estimated as a rule (sets
of events that take turns) a last column, "estimated", names those that are, by semicolons.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from turbotui.output.layout import PLACES, Layout, place_of, timestamp
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId
from turbotui.sampling.frame import Frame

_PLACES = tuple(scope.value for scope in PLACES)
HEADER = ("time", "seconds", "machine", "kind", "row", *_PLACES)
"""What stands before the measured columns."""


class CsvLines:
    """The header comes once; a value of a core or package stands on each of its rows."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._begun = False

    def lines(self, frame: Frame) -> Iterator[str]:
        """The rows of one interval, after the header if it is the first."""
        layout = self._layout
        columns = layout.measures
        if not self._begun:
            self._begun = True
            yield _line((*HEADER, *(column.title for column in columns), *(("estimated",) if layout.marks else ())))
        moment, seconds = timestamp(frame.newer.wall_ns), f"{frame.seconds or 0.0:.6f}"
        for row in (SYSTEM_ROW, *layout.row_ids(frame)):
            place = place_of(frame, row)
            yield _line((
                moment, seconds, layout.machine, layout.kind or "real", row.scope.value,
                *(place.get(name, "") for name in _PLACES),
                *(_number(column, frame.cell(column, row)) for column in columns),
                *((_estimated(frame, columns, row),) if layout.marks else ()),
            ))  # fmt: skip


def _estimated(frame: Frame, columns: Sequence[CounterColumn], row: RowId) -> str:
    """Titles of the columns whose cells are estimates; no event has a semicolon in its name."""
    return ";".join(column.title for column in columns
                    if frame.cell(column, row) is not None and frame.estimated(column, row))


def _number(column: CounterColumn, value: Value) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.{max(column.decimals, 0)}f}"


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
