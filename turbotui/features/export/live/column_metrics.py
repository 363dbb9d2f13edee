"""Columns of the catalog as gauges, on request: what a person reads in the table, in base units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.features.export.live.exposition import Exposed
from turbotui.features.export.live.levels import LevelPlaces, MetricLevel
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame
from turbotui.tables.openmetrics import base_factor, metric_names

COLUMN: Final = MetricLevel("column", None)
"""Stands in the names, so that none is that of another metric, and in limits, of which columns are no part."""
_PREFIX: Final = "turbotui_"


def column_metrics(frame: Frame, columns: Sequence[CounterColumn], level: MetricLevel,
                   places: LevelPlaces) -> Iterator[Exposed]:
    """Gauges of columns for each instance of a level; those of a coarser level, and words, have none.

    Args:
        frame: the newest.
        columns: wanted.
        level: of the topology.
        places: of the frame's topology.
    """
    names, labels = metric_names(columns), places.labels(level)
    for column in columns:
        if level.scope is None or column.scope.rank > level.scope.rank or column.decimals < 0:
            continue
        rows, factor = frame.rows(level.scope), base_factor(column)
        cells = zip(rows, frame.cells(column, rows), strict=True)
        samples = [(level.named(labels[row]), value * factor) for row, value in cells if isinstance(value, int | float)]
        name = names[column.id].removeprefix(_PREFIX)
        document = f" ({column.document})" if column.document else ""
        yield Exposed(f"{_PREFIX}{level.word}_column_{name}", "gauge", f"{column.help}{document}", samples, COLUMN)
