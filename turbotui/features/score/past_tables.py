"""Tables of earlier runs of `turbotui score run`, and of the node's trends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.score.history import KeptRun
from turbotui.features.score.model import Throttling
from turbotui.features.score.tables import NO_BASELINE, NOT_BUSY, scored, share, throttling_columns, why_unknown
from turbotui.features.score.trend import Change, MeasurementSpan, Trend
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

TABLES: Final = ("history", "circumstances", "trends", "loads")
"""The names of `past_tables`."""

_NOTHING_OLDER: Final = Unavailable(Reason.NOT_READ, "there is nothing older to compare with")


@dataclass(frozen=True, slots=True)
class NumberedRun:
    """A kept measurement, with its number among those of its node, by time."""

    number: int
    kept: KeptRun


@dataclass(frozen=True, slots=True)
class TrendChange:
    """A change of a quantity, with its trend."""

    trend: Trend
    change: Change


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _throttling(row: NumberedRun) -> Throttling:
    return row.kept.throttling


_NUMBER: Final[tuple[Column[NumberedRun], ...]] = (
    Column("run", "", 0, (), lambda row: row.number, help="number of the run; the oldest is 1", width=3,
           identity=True),
    Column("when", "", -1, (), lambda row: _time(row.kept.when), help="end of the measurement (UTC)", identity=True),
)
_HISTORY: Final[tuple[Column[NumberedRun], ...]] = (
    *_NUMBER,
    Column("baseline", "", -1, (), lambda row: row.kept.baseline, help="baseline of the prediction", identity=True),
    Column("unit", "", -1, (), lambda row: row.kept.unit, help="unit of the scores", identity=True),
    Column("load", "", -1, (), lambda row: row.kept.load, help="the command that was run", identity=True),
    Column("ratio", "", 5, (), lambda row: row.kept.ratio, help="the lowest APERF/MPERF of a busy CPU"),
    Column("state", "", -1, (), lambda row: row.kept.state,
           help="state of that CPU's clock: turbo, base clock, below it"),
    Column("busy CPUs", "", 0, (), lambda row: row.kept.busy_cpus, help="number of busy CPUs"),
    Column("busy", "%", 0, (), lambda row: share(row.kept.busy), help="share of the time that these CPUs were busy"),
    *throttling_columns(_throttling)[:1],
    Column("predicted", "", 3, (), lambda row: row.kept.predicted, help="predicted score"),
    Column("error", "", 3, (), lambda row: row.kept.error, help="half the width of its error bar"),
    Column("measured", "", 3, (), lambda row: row.kept.measured, help="score that the load printed"),
)
_CIRCUMSTANCES: Final[tuple[Column[NumberedRun], ...]] = (
    *_NUMBER,
    Column("length", "s", 2, (), lambda row: row.kept.seconds, help="length of the measurement"),
    Column("lowest CPU", "", 0, (), lambda row: row.kept.lowest_cpu, help="number of the CPU with the lowest ratio"),
    *throttling_columns(_throttling)[1:],
    Column("configuration", "", -1, (),
           lambda row: ", ".join(f"{key} {value}" for key, value in row.kept.configuration.items()),
           help="configuration of the hardware"),
    Column("key", "", -1, (), lambda row: row.kept.key, help="key of the run in its file"),
)


def _group(name: str, of: Callable[[Change], MeasurementSpan | None]) -> tuple[Column[TrendChange], ...]:
    """Make the columns for the measurements of one span of time."""
    def column(word: str, decimals: int, value: Callable[[MeasurementSpan], Value], text: str) -> Column[TrendChange]:
        def compute(row: TrendChange) -> Value:
            span = of(row.change)
            return None if span is None else value(span)

        return Column(f"{name}{word}", "", decimals, (), compute, help=text)

    return (
        column("", 5, lambda group: group.median, "median of those measurements"),
        column(" runs", 0, lambda group: group.count, "number of those measurements"),
        column(" throttled", 0, lambda group: group.throttled, "number of those measurements with throttled CPUs"),
        column(" from", -1, lambda group: _time(group.first), "time of the oldest of them"),
        column(" to", -1, lambda group: _time(group.last), "time of the newest of them"),
    )


_TRENDS: Final[tuple[Column[TrendChange], ...]] = (
    Column("baseline", "", -1, (), lambda row: row.trend.baseline, help="baseline of the prediction", identity=True),
    Column("load", "", -1, (), lambda row: row.trend.load, help="the command that was run", identity=True),
    Column("quantity", "", -1, (), lambda row: row.change.quantity, help="ratio or measured score", identity=True),
    Column("unit", "", -1, (), lambda row: row.trend.unit if row.change.quantity == "measured" else "",
           help="unit of a measured score", identity=True),
    Column("verdict", "", -1, (), lambda row: row.change.verdict,
           help="slower, faster, unchanged, or nothing to compare with"),
    Column("change", "%", 1, (), lambda row: share(row.change.relative),
           help="relative increase over the earlier runs"),
    Column("chance", "%", 1, (), lambda row: share(row.change.chance),
           help="difference that may occur by chance although nothing changed"),
    *_group("now", lambda change: change.now),
    *_group("before", lambda change: change.before),
    Column("before is", "", -1, (), lambda row: None if row.change.before is None else
           "the month before" if row.change.month else "all that is older", help="span of time with which it is "
           "compared"),
)
_LOADS: Final[tuple[Column[Trend], ...]] = (
    Column("baseline", "", -1, (), lambda row: row.baseline, help="baseline of the prediction", identity=True),
    Column("load", "", -1, (), lambda row: row.load, help="the command that was run", identity=True),
    Column("days", "", 1, (), lambda row: row.days, help="days before the newest run that count as now"),
    Column("doubtful", "", 0, (), lambda row: row.doubtful, help="runs left out because of their warnings"),
    Column("other configuration", "", 0, (), lambda row: row.otherwise,
           help="runs left out because the hardware was configured otherwise than in the newest one"),
    Column("differing", "", -1, (), lambda row: " ".join(row.differing), help="the properties in which it was"),
    Column("other load", "", 0, (), lambda row: row.unlike,
           help="runs left out because another number of CPUs was busy, or less, or more"),
)


def _judge_kept(column: Column[NumberedRun], row: NumberedRun, value: Value) -> Cell:
    """Mark the ratio of a doubtful run."""
    if value is not None:
        return Cell(value, disputed=row.kept.warnings if column.id == "ratio" else ())
    if column.id in {"predicted", "error"}:
        return Cell(None, NOT_BUSY if row.kept.baseline else NO_BASELINE)
    return Cell(None, why_unknown(column))


def history_table(runs: Sequence[KeptRun], most: int | None = None) -> AnyTable:
    """Make the table of one node's runs, by time.

    Args:
        runs: newest last.
    """
    rows = [NumberedRun(number, run) for number, run in enumerate(runs, 1)]
    shown = rows if most is None else rows[-most:]
    scores = [score for row in shown for score in (row.kept.predicted, row.kept.measured)]
    return RowTable("history", "run", scored(_HISTORY, scores), shown, _judge_kept)


def past_tables(runs: Sequence[KeptRun], trends: Sequence[Trend]) -> tuple[AnyTable, ...]:
    """Return all tables of one node.

    Args:
        runs: newest last.
    """
    rows = [NumberedRun(number, run) for number, run in enumerate(runs, 1)]
    changes = [TrendChange(trend, change) for trend in trends for change in trend.changes]
    return (
        history_table(runs),
        RowTable("circumstances", "run", _CIRCUMSTANCES, rows, _judge_kept),
        RowTable("trends", "trend", scored(_TRENDS, [row.change.now.median for row in changes]), changes,
                 lambda _column, _row, value: Cell(value, _NOTHING_OLDER if value is None else None)),
        RowTable("loads", "load", _LOADS, trends),
    )
