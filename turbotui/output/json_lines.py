"""One JSON object a line, one line an interval, with units, and a reason for every null."""

from __future__ import annotations

from collections.abc import Iterator

from turbotui.output.layout import Layout, place_of, timestamp
from turbotui.quantities.scope import SYSTEM_ROW, RowId
from turbotui.sampling.frame import Frame
from turbotui.untrusted import json_text


class JsonLines:
    """Rows carry `values`, and `why` with a sentence for each value that is null.

    `disputed` has a sentence for each value that another counter contradicts.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def lines(self, frame: Frame) -> Iterator[str]:
        """One line."""
        layout = self._layout
        report = {
            "time": timestamp(frame.newer.wall_ns),
            "seconds": frame.seconds,
            "machine": layout.machine,
            "simulated": bool(layout.kind),
            "kind": layout.kind or "real",
            "units": {column.id: column.unit for column in layout.measures},
            "rows": [self._row(frame, row) for row in (SYSTEM_ROW, *layout.row_ids(frame))],
        }
        yield json_text(report, compact=True)

    def _row(self, frame: Frame, row: RowId) -> dict[str, object]:
        columns = self._layout.measures
        values = {column.id: frame.cell(column, row) for column in columns}
        found: dict[str, object] = {"row": row.scope.value, **place_of(frame, row), "values": values}
        why = {
            column.id: reason.sentence()
            for column in columns
            if values[column.id] is None and (reason := frame.why(column, row)) is not None
        }
        disputed = {column.id: said for column in columns
                    if values[column.id] is not None and (said := frame.disputed(column, row))}
        marks = {
            "why": why,
            "disputed": {name: "; ".join(said) for name, said in disputed.items()},
            "estimated": [column.id for column in columns if frame.estimated(column, row)],
            "partial": [column.id for column in columns if frame.partial(column, row)],
        }
        return found | {word: mark for word, mark in marks.items() if mark}
