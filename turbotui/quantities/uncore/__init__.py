"""Uncore PMUs as people read them: kinds, and what is derived from their events."""

from __future__ import annotations

from turbotui.quantities.uncore.kinds import UncoreKind, kind_of, kind_order, metrics_of
from turbotui.quantities.uncore.metric import Metric, metric_of
from turbotui.quantities.uncore.names import BYTES, CLOCKS, ELAPSED

__all__ = ["BYTES", "CLOCKS", "ELAPSED", "Metric", "UncoreKind", "kind_of", "kind_order", "metric_of", "metrics_of"]
