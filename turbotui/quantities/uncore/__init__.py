"""Kinds of uncore PMU and the values derived from their events."""

from __future__ import annotations

from turbotui.quantities.uncore.kinds import (
    EdgeKind,
    EdgeRow,
    UncoreKind,
    edges_of,
    kind_of,
    kind_order,
    metrics_of,
    table_names,
)
from turbotui.quantities.uncore.metric import Metric, metric_of
from turbotui.quantities.uncore.names import ALONE, BYTES, CLOCKS, DRAM, ELAPSED, L3_UNIT, LINK, UNITS, filter_of

__all__ = [
    "ALONE", "BYTES", "CLOCKS", "DRAM", "ELAPSED", "L3_UNIT", "LINK", "UNITS", "EdgeKind", "EdgeRow", "Metric",
    "UncoreKind", "edges_of", "filter_of", "kind_of", "kind_order", "metric_of", "metrics_of",
    "table_names",
]
