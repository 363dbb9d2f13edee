"""Scales of sparklines and gauges, and values that the summary compares with: a power limit, the hottest row."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.app.watch import Watch
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import SYSTEM_ROW, RowId


def sparks(watch: Watch, width: int) -> Mapping[ColumnId, int]:
    """Columns with a sparkline beside them, and its width on a screen of this width."""
    size = 0 if width < 70 else 6 if width < 110 else 10 if width < 180 else 20
    watts = watch.session.catalog.get("CorWatt")
    ratios = (watch.session.catalog.get(name) for name in ("Ratio", "MinRatio"))
    columns = [watch.clock, *ratios, watts if watts is not None and watch.is_visible(watts) else watch.watts]
    return {column.id: size for column in columns if column is not None and size and watch.is_visible(column)}


def tops(watch: Watch) -> dict[ColumnId, float]:
    """Fixed ends of the scales of sparklines and gauges: 100 %, the greatest clock known to cpufreq."""
    found: dict[ColumnId, float] = {}
    for column in (*watch.headline, *watch.columns):
        if column.scale_max is not None:
            found[column.id] = column.scale_max
        elif column.unit == "%":
            found[column.id] = 100.0
    clock = _highest(watch, "cpufreq.hw_max", "cpufreq.max")
    if clock is not None and watch.clock is not None:
        found[watch.clock.id] = clock / 1e6
    return found


def limit_watts(watch: Watch) -> float | None:
    """The sustained power limits of all packages together."""
    if watch.frame is None or "limit.pkg.pl1" not in watch.session.capabilities.signals:
        return None
    return watch.frame.inputs(SYSTEM_ROW).value("limit.pkg.pl1")


def _highest(watch: Watch, *signals: str) -> float | None:
    frame = watch.frame
    if frame is None:
        return None
    for name in signals:
        if name in watch.session.capabilities.signals:
            known = [level for level in frame.levels(name) if level is not None]
            if known:
                return max(known)
    return None


def hottest(watch: Watch) -> tuple[RowId, float] | None:
    """The row with the greatest temperature."""
    if watch.frame is None or watch.heat is None:
        return None
    best: tuple[RowId, float] | None = None
    rows = watch.frame.rows(watch.heat.scope)
    for row, value in zip(rows, watch.frame.cells(watch.heat, rows), strict=True):
        if isinstance(value, int | float) and (best is None or value > best[1]):
            best = (row, value)
    return best
