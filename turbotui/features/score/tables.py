"""Tables of baselines, and of the result of `turbotui score run`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.features.score.model import Baseline, CpuRatio, Run, Throttling
from turbotui.features.score.report import ScoreReport
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

RUN_TABLES: Final = ("score", "runs", "ratios")
"""The names of `report_tables`."""

NOT_BUSY: Final = Unavailable(Reason.OUT_OF_RANGE, "no CPU was busy")
NO_BASELINE: Final = Unavailable(Reason.NOT_READ, "nothing is predicted", "give --baseline NAME")
NO_SCORE: Final = Unavailable(Reason.NOT_READ, "nobody said what score the load gave",
                              "give --pattern, or the score to turbotui score measured")
UNCOUNTED: Final = Unavailable(Reason.NO_HARDWARE, "this machine does not count it")
_NOT_SAID: Final = Unavailable(Reason.NOT_READ, "nobody said it when the baseline was stored")
_ASLEEP: Final = Unavailable(Reason.STANDS_STILL, "the CPU was idle all the time")
_NOT_ASKED: Final = Unavailable(Reason.NOT_READ, "nobody asked for a limit", "give --slower PERCENT")
_DIGITS: Final = 6  # significant digits of the least score in a table
_MOST_DECIMALS: Final = 9

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement of a report."""

    number: int  # the number, from 1
    run: Run  # the measurement
    score: float | None  # the score that the load printed; None if none


@dataclass(frozen=True, slots=True)
class CpuResult:
    """A CPU in a numbered measurement."""

    number: int
    cpu: CpuRatio


def share(value: float | None) -> float | None:
    """Convert a share to per cent."""
    return None if value is None else 100.0 * value


def yes_or_no(value: bool | None) -> str | None:
    """Format a boolean for cells."""
    return None if value is None else "yes" if value else "no"


def scored(columns: tuple[Column[R], ...], scores: Iterable[float | None]) -> tuple[Column[R], ...]:
    """Return columns with decimals that fit these scores, whose unit is the user's."""
    least = min((abs(score) for score in scores if score), default=1.0)
    decimals = min(_MOST_DECIMALS, max(0, _DIGITS - 1 - math.floor(math.log10(least))))
    return tuple(replace(column, decimals=decimals) if column.id in _SCORES else column for column in columns)


_SCORES: Final = frozenset({"value", "predicted", "error", "measured", "now", "before"})

_BASELINES: Final[tuple[Column[Baseline], ...]] = (
    Column("name", "", -1, (), lambda baseline: baseline.name, help="name of the benchmark", identity=True),
    Column("unit", "", -1, (), lambda baseline: baseline.unit, help="unit of its score", identity=True),
    Column("value", "", 3, (), lambda baseline: baseline.value, help="the score; more is better"),
    Column("ratio", "", 5, (), lambda baseline: baseline.ratio, help="lowest APERF/MPERF of a busy CPU while it ran"),
    Column("busy CPUs", "", 0, (), lambda baseline: baseline.cpus,
           help="number of CPUs that were busy during the benchmark"),
    Column("busy", "%", 0, (), lambda baseline: share(baseline.busy),
           help="share of the time that these CPUs were busy"),
    Column("configuration", "", -1, (),
           lambda baseline: ", ".join(f"{key} {value}" for key, value in baseline.configuration.items()),
           help="configuration of the hardware on which it was measured"),
)


def _first(report: ScoreReport) -> float | None:
    return report.prediction.value if report.prediction is not None else None


_REPORT: Final[tuple[Column[ScoreReport], ...]] = (
    Column("baseline", "", -1, (), lambda report: report.baseline.name if report.baseline else None, identity=True,
           help="baseline of the prediction"),
    Column("unit", "", -1, (), lambda report: report.baseline.unit if report.baseline else None, identity=True,
           help="unit of the scores"),
    Column("runs", "", 0, (), lambda report: len(report.runs), help="number of runs"),
    Column("mean", "", 5, (), lambda report: statistics.fmean(report.ratios) if report.ratios else None,
           help="mean of the runs' ratios"),
    Column("median", "", 5, (), lambda report: statistics.median(report.ratios) if report.ratios else None,
           help="median of the runs' ratios"),
    Column("lowest", "", 5, (), lambda report: min(report.ratios, default=None), help="lowest of the runs' ratios"),
    Column("highest", "", 5, (), lambda report: max(report.ratios, default=None), help="highest of the runs' ratios"),
    Column("predicted", "", 3, (), _first, help="predicted score at the median ratio"),
    Column("error", "", 3, (), lambda report: report.prediction.error if report.prediction else None,
           help="half the width of its error bar"),
    Column("measured", "", 3, (), lambda report: statistics.median(report.scores) if report.scores else None,
           help="median of the scores that the load printed"),
    Column("slower", "%", 1, (), lambda report: report.slower,
           help="difference by which the prediction is below the baseline"),
    Column("verdict", "", -1, (), lambda report: report.verdict or None,
           help="verdict of the fleet check: ok, slower, doubtful"),
)


def throttling_columns(throttling_of: Callable[[R], Throttling]) -> tuple[Column[R], ...]:
    """Make the columns of throttling."""
    return (
        Column("throttled", "", -1, (), lambda row: yes_or_no(throttling_of(row).active),
               help="whether CPUs were throttled"),
        Column("heat", "", 0, (), lambda row: throttling_of(row).heat, help="episodes of throttling for heat"),
        Column("limited", "%", 0, (), lambda row: share(throttling_of(row).limited),
               help="share of the time for which the power limit throttled a package, of the worst package"),
        Column("held by", "", -1, (), lambda row: None if (why := throttling_of(row).reasons) is None
               else " ".join(why),
               help="reasons of throttling at the last reading"),
    )


_RUNS: Final[tuple[Column[Measured], ...]] = (
    Column("run", "", 0, (), lambda measured: measured.number, help="number of the run", width=3, identity=True),
    Column("length", "s", 2, (), lambda measured: measured.run.seconds, help="length of the measurement"),
    Column("ratio", "", 5, (), lambda measured: measured.run.ratio,
           help="the lowest APERF/MPERF of a busy CPU; where they cannot be had, clock at moments over TSC clock"),
    Column("ratio error", "%", 2, (), lambda measured: share(measured.run.error),
           help="expected error (rms) of the ratio, where the clock was timed at moments; 0 where cycles are counted"),
    Column("state", "", -1, (), lambda measured: measured.run.state,
           help="state of that CPU's clock: turbo, base clock, below it"),
    Column("lowest CPU", "", 0, (), lambda measured: measured.run.lowest.cpu if measured.run.lowest else None,
           help="number of the CPU with the lowest ratio"),
    Column("core type", "", -1, (), lambda measured: measured.run.lowest.kind if measured.run.lowest else None,
           help="core type of that CPU, on hybrid machines"),
    Column("busy CPUs", "", 0, (), lambda measured: measured.run.busy_cpus, help="number of busy CPUs"),
    Column("busy", "%", 0, (), lambda measured: share(measured.run.load),
           help="share of the time that these CPUs were busy"),
    *throttling_columns(lambda row: row.run.throttling),
    Column("measured", "", 3, (), lambda measured: measured.score, help="the score that the load printed"),
)
_RATIOS: Final[tuple[Column[CpuResult], ...]] = (
    Column("run", "", 0, (), lambda result: result.number, help="number of the run", width=3, identity=True),
    Column("CPU", "", 0, (), lambda result: result.cpu.cpu, help="Linux number", identity=True),
    Column("core type", "", -1, (), lambda result: result.cpu.kind, help="P, E or LP on hybrid machines"),
    Column("ratio", "", 5, (), lambda result: result.cpu.ratio, help="APERF/MPERF"),
    Column("busy", "%", 1, (), lambda result: share(result.cpu.busy), help="share of the time that the CPU was busy"),
)
_WHY: Final = {"measured": NO_SCORE, "throttled": UNCOUNTED, "heat": UNCOUNTED, "limited": UNCOUNTED,
               "held by": UNCOUNTED, "predicted": NO_BASELINE, "error": NO_BASELINE, "slower": NO_BASELINE,
               "verdict": _NOT_ASKED}
"""Why a value is missing, by its column; for others, because no CPU was busy."""


def why_unknown(column: Column[Any]) -> Unavailable:
    """Return why a column has no value for a run."""
    return _WHY.get(column.id, NOT_BUSY)


def _judge_run(column: Column[Measured], row: Measured, value: Value) -> Cell:
    """Mark the ratio of a doubtful run."""
    if value is None:
        return Cell(None, why_unknown(column))
    return Cell(value, disputed=row.run.warnings if column.id == "ratio" else ())


def _judge_report(column: Column[ScoreReport], row: ScoreReport, value: Value) -> Cell:
    if value is not None:
        return Cell(value, disputed=tuple(row.warnings) if column.id in {"median", "predicted"} else ())
    if column.id in {"predicted", "error", "slower"} and row.baseline is not None:
        return Cell(None, NOT_BUSY)
    return Cell(None, why_unknown(column))


def _judge_ratio(column: Column[CpuResult], _row: CpuResult, value: Value) -> Cell:
    return Cell(value) if value is not None else Cell(None, _ASLEEP if column.id == "ratio" else UNCOUNTED)


def baseline_table(known: Sequence[Baseline]) -> AnyTable:
    """Make the table of stored baselines."""
    return RowTable("baselines", "baseline", scored(_BASELINES, [baseline.value for baseline in known]), known,
                    lambda _column, _row, value: Cell(value, _NOT_SAID if value is None else None))


def run_table(report: ScoreReport) -> AnyTable:
    """Make the table of a report's measurements."""
    scores = [*report.measured, *[None] * (len(report.runs) - len(report.measured))]
    rows = [Measured(number, *pair) for number, pair in enumerate(zip(report.runs, scores, strict=True), 1)]
    return RowTable("runs", "run", scored(_RUNS, report.scores), rows, _judge_run)


def report_tables(report: ScoreReport) -> tuple[AnyTable, ...]:
    """Return all tables of a `score run`."""
    ratios = [CpuResult(number, cpu) for number, run in enumerate(report.runs, 1) for cpu in run.cpus]
    return (
        RowTable("score", "score", scored(_REPORT, [_first(report), *report.scores]), [report], _judge_report),
        run_table(report),
        RowTable("ratios", "cpu", _RATIOS, ratios, _judge_ratio),
    )
