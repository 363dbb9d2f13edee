"""Uncore PMUs as people read them: kinds, and what is derived from their events. Tables only."""

from __future__ import annotations

from turbotui.quantities.uncore.kinds import KINDS, Kind
from turbotui.quantities.uncore.metric import Metric, metric_of
from turbotui.quantities.uncore.names import BYTES, CLOCKS, ELAPSED
from turbotui.quantities.uncore.others import OTHERS
from turbotui.quantities.uncore.tegra241 import TEGRA241
from turbotui.quantities.uncore.tegra410 import TEGRA410

METRICS: tuple[Metric, ...] = (*TEGRA410, *TEGRA241, *OTHERS)
"""Every derived value, in the order they are shown within a kind of PMU."""

__all__ = ["BYTES", "CLOCKS", "ELAPSED", "KINDS", "METRICS", "Kind", "Metric", "metric_of"]
