"""Trends of a node's performance: kept measurements of the last days compared with the month before.

Only similar runs are compared: the same load and baseline, equally many and busy CPUs, the present configuration of
the hardware, and no doubts at the measurement.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.score.history import KeptRun
from turbotui.features.score.model import BOUND, differing, percent, unlike_loads
from turbotui.quantities.by_key import lists_by_key

DAYS: Final = 7.0
_CENTURY: Final = 36_500.0  # days, longer ago than any run, but still a valid date
MONTH: Final = 30.0
_TO_DEVIATION: Final = 1.4826  # factor from median absolute deviation to standard deviation of a normal distribution
_OF_MEDIANS: Final = 1.25  # the standard error of a median over that of a mean (normal distribution, large samples)
_STUDENT: Final = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t that is exceeded by chance in 5 % of all cases, for 1, 2 ... degrees of freedom."""


@dataclass(frozen=True, slots=True)
class MeasurementSpan:
    """The measurements of one span of time."""

    median: float  # the median of the ratio or the score
    count: int  # the number of measurements
    throttled: int  # the number of measurements with throttled CPUs
    # first, last: the oldest and the newest
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """A quantity now and before."""

    quantity: str  # "ratio" or "measured"
    now: MeasurementSpan  # the last days
    before: MeasurementSpan | None  # the month before, or all older runs if that month has none; None if there are none
    month: bool  # whether `before` is that month
    relative: float | None  # the relative change since before; None without `before`
    # the relative change that is possible by chance: the method's claimed error, or what the measurements' spread gives
    # two medians of so few in 95 % of all cases, whichever is greater; None without `before`
    chance: float | None

    @property
    def verdict(self) -> str:
        """"slower", "faster", "unchanged", or "nothing to compare with"."""
        if self.relative is None or self.chance is None:
            return "nothing to compare with"
        if abs(self.relative) <= self.chance:
            return "unchanged"
        return "slower" if self.relative < 0 else "faster"


@dataclass(frozen=True, slots=True)
class Trend:
    """The changes of one load on one node."""

    # baseline, load: the baseline and the load; "" for none
    baseline: str
    load: str
    unit: str  # the unit of measured scores
    # the changes of the ratio, and of the measured score if known before and now; empty if every run was left out
    changes: tuple[Change, ...]
    doubtful: int  # runs left out because of their warnings, or because no CPU was busy
    otherwise: int  # runs left out because the hardware's configuration differs from the newest run's
    differing: tuple[str, ...]  # the properties that differ
    days: float  # the number of days that count as now
    # runs left out because other numbers of CPUs were busy than in the newest run, or with another load
    unlike: int = 0


def trends(runs: Iterable[KeptRun], days: float = DAYS) -> list[Trend]:
    """Compute the trend of each load of a node, in the order of their first measurement.

    Args:
        days: the number of days before a load's newest run that count as now.
    """
    loads = lists_by_key(((run.baseline, run.load), run) for run in runs)
    return [_trend(same, days) for same in loads.values()]


def _trend(runs: Sequence[KeptRun], days: float) -> Trend:
    newest = runs[-1]
    differences = [differing(run.configuration, newest.configuration) for run in runs]
    alike = [run for run, keys in zip(runs, differences, strict=True) if not keys]
    certain = [run for run in alike if run.ratio is not None and not run.warnings]
    # similar to the newest valid run, even if the very newest one is doubtful
    last = certain[-1] if certain else newest
    sure = [run for run in certain if not unlike_loads(last.busy_cpus, last.busy, run.busy_cpus, run.busy)]
    changes = [_change("ratio", sure, days, lambda run: run.ratio)] if sure else []
    scored = [run for run in sure if run.measured is not None]
    if scored:
        changes.append(_change("measured", scored, days, lambda run: run.measured))
    others = {key for keys in differences for key in keys}
    return Trend(newest.baseline, newest.load, newest.unit, tuple(changes), len(alike) - len(certain),
                 len(runs) - len(alike), tuple(sorted(others)), days, len(certain) - len(sure))


def _change(quantity: str, runs: Sequence[KeptRun], days: float, value: Callable[[KeptRun], float | None]) -> Change:
    """Compute a change; at least one run with a known value is given."""
    edge = runs[-1].when - timedelta(days=min(days, _CENTURY))
    now = [run for run in runs if run.when > edge]
    older = [run for run in runs if run.when <= edge]
    month = [run for run in older if run.when > edge - timedelta(days=MONTH)]
    before = month or older
    current = _group(now, value)
    if not before:
        return Change(quantity, current, None, month=True, relative=None, chance=None)
    former = _group(before, value)
    deviations = _deviations(now, value, current.median) + _deviations(before, value, former.median)
    scale = _student(len(deviations)) * _TO_DEVIATION * statistics.median(deviations) if deviations else 0.0
    chance = _OF_MEDIANS * scale * math.sqrt(1 / len(now) + 1 / len(before)) / former.median
    return Change(quantity, current, former, bool(month), current.median / former.median - 1.0, max(BOUND, chance))


def _student(freedom: int) -> float:
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.96 + 2.4 / freedom


def _deviations(runs: Sequence[KeptRun], value: Callable[[KeptRun], float | None], median: float) -> list[float]:
    """Return distances from the median without the least, which is small because the median is of these runs."""
    return sorted(abs((value(run) or 0.0) - median) for run in runs)[1:]


def _group(runs: Sequence[KeptRun], value: Callable[[KeptRun], float | None]) -> MeasurementSpan:
    return MeasurementSpan(statistics.median(value(run) or 0.0 for run in runs), len(runs),
                           sum(run.throttling.active is True for run in runs), runs[0].when, runs[-1].when)


def sentences(trend: Trend) -> list[str]:
    """Describe a trend for users who ask whether this node is slower than last month."""
    what = " with ".join(word for word in (trend.baseline, trend.load) if word) or "whatever ran"
    sentences = [f"{what}, {_change_text(trend, change)}" for change in trend.changes]
    words = []
    if trend.doubtful:
        words.append(f"{_runs(trend.doubtful)} with warnings")
    if trend.otherwise:
        words.append(f"{_runs(trend.otherwise)} with another configuration ({', '.join(trend.differing)})")
    if trend.unlike:
        words.append(f"{_runs(trend.unlike)} with another load")
    return [*sentences, *([f"{what}: left out {' and '.join(words)}"] if words else [])]


def _change_text(trend: Trend, change: Change) -> str:
    now, before = change.now, change.before
    name, digits, unit = "ratio", ".5f", ""
    if change.quantity == "measured":
        name, digits, unit = "measured score", ".6g", f" {trend.unit}".rstrip()
    if before is None or change.relative is None or change.chance is None:
        return (f"{name}: median {now.median:{digits}}{unit} of {_runs(now.count)}, all within {trend.days:g} days: "
                "nothing older to compare with")
    size = percent(abs(change.relative), ".1f")
    chance = f"{percent(change.chance, '.1f')} may be chance"
    answer = (f"unchanged within {size} ({chance})" if change.verdict == "unchanged"
              else f"{change.verdict.upper()} by {size} ({chance})")
    then = ("in the month before" if change.month
            else f"from {before.first:%Y-%m-%d} to {before.last:%Y-%m-%d} (the month before has none)")
    return (f"{name}: {answer}: median {now.median:{digits}}{unit} in the last {trend.days:g} days "
            f"({_runs(now.count)}{_throttled(now)}) against {before.median:{digits}}{unit} {then} "
            f"({_runs(before.count)}{_throttled(before)})")


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _throttled(group: MeasurementSpan) -> str:
    return f", {group.throttled} throttled" if group.throttled else ""
