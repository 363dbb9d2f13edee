"""Scales of sparklines and gauges, and the gauges of the whole machine on the second line of most screens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.app.watch import Watch
from turbotui.cell_widths import flush_left
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import alarm
from turbotui.widgets.levels import share_of
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.summary import Gauge


def sparks(watch: Watch, width: int) -> Mapping[ColumnId, int]:
    """Columns with a sparkline beside them, and its width on a screen of this width."""
    size = 0 if width < 70 else 6 if width < 110 else 10 if width < 180 else 20
    watts = watch.session.catalog.get("CorWatt")
    ratios = (watch.session.catalog.get(name) for name in ("Ratio", "MinRatio"))
    columns = [watch.clock, *ratios, watts if watts is not None and watch.is_visible(watts) else watch.watts]
    return {column.id: size for column in columns if column is not None and size and watch.is_visible(column)}


def tops(watch: Watch) -> dict[ColumnId, float]:
    """Fixed ends of the scales of sparklines and gauges: 100 %, the greatest clock known to cpufreq."""
    greatest: dict[ColumnId, float] = {}
    for column in (*watch.headline, *watch.columns):
        if column.scale_max is not None:
            greatest[column.id] = column.scale_max
        elif column.unit == "%":
            greatest[column.id] = 100.0
    if (clock := _highest(watch, "cpufreq.hw_max", "cpufreq.max")) is not None and watch.clock is not None:
        greatest[watch.clock.id] = clock / 1e6
    return greatest


def limit_watts(watch: Watch) -> float | None:
    """The sustained power limits of all packages together."""
    if watch.frame is None or "limit.pkg.pl1" not in watch.session.capabilities.signals:
        return None
    return watch.frame.inputs(SYSTEM_ROW).value("limit.pkg.pl1")


def _highest(watch: Watch, *signals: str) -> float | None:
    if (frame := watch.frame) is None:
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


def gauges_of(watch: Watch) -> list[Gauge]:
    """Load, clock, watts, heat and interrupts, as far as available."""
    frame = watch.frame
    ends = tops(watch)
    gauges: list[Gauge] = []

    def value(column: CounterColumn) -> float | None:
        cell = None if frame is None else frame.cell(column, SYSTEM_ROW)
        return None if isinstance(cell, str) else cell

    def share(column: CounterColumn, row: RowId = SYSTEM_ROW) -> float | None:
        return None if frame is None else watch.levels.share(frame, column, row, frame.cell(column, row))

    def signs(column: CounterColumn) -> str:
        return "" if frame is None else frame.signs(column, SYSTEM_ROW)

    def past(column: CounterColumn) -> Sequence[float]:
        return watch.history.series(column, SYSTEM_ROW, HISTORY)

    if watch.busy is not None:
        label = "Busy" if watch.busy.id == "Busy%" else "Load"
        gauges.append(Gauge(label, watch.busy, value(watch.busy), past(watch.busy), 100.0, share=share(watch.busy),
                            signs=signs(watch.busy)))
    if watch.clock is not None:
        label = "Bzy" if watch.clock.id == "Bzy_MHz" else "Clock"
        gauges.append(Gauge(label, watch.clock, value(watch.clock), past(watch.clock), ends.get(watch.clock.id),
                            share=share(watch.clock), signs=signs(watch.clock)))
    if watch.watts is not None:
        label = {"PkgWatt": "Pkg", "SysWatt": "Sys"}.get(watch.watts.id, "Cores")
        limit = limit_watts(watch) if watch.watts.id == "PkgWatt" else None
        note = f"of {limit:,.0f}" if limit else ""
        gauges.append(Gauge(label, watch.watts, value(watch.watts), past(watch.watts), limit, note,
                            share=share_of(value(watch.watts), limit), signs=signs(watch.watts)))
    if watch.heat is not None:
        if (warmest := hottest(watch)) is None:
            gauges.append(Gauge("Hot", watch.heat, None))
        else:
            row, degrees = warmest
            past_limit = alarm(watch.heat, degrees)
            gauges.append(Gauge("Hot", watch.heat, degrees, note=_where(watch, row), alarm=past_limit,
                                share=share(watch.heat, row), signs=signs(watch.heat)))
    if watch.interrupts is not None:
        gauges.append(Gauge("", watch.interrupts, value(watch.interrupts), signs=signs(watch.interrupts)))
    return gauges


def _where(watch: Watch, row: RowId) -> str:
    """The hottest row in a fixed width: the first CPU of the core, or the package."""
    if (frame := watch.frame) is None:
        return ""
    for instance in frame.topology.instances(watch.heat.scope if watch.heat else Scope.CORE):
        if instance.row == row:
            if instance.row.scope in {Scope.CORE, Scope.CPU}:
                return flush_left(f"cpu{instance.cpus[0]}", 3 + len(str(max(frame.topology.cpus))))
            name = row_name(frame.topology, row, inside=True)
            return name if name == row_name(frame.topology, row) else f"{name} pkg {row.key[0]}"
    return ""
