"""Is a node slower than it was? Its kept measurements, the last days beside the month before.

Only like is compared with like: the same load, as many CPUs as busy, the same baseline, the hardware configured as it
is now, and nothing that was doubtful when it was measured.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.score.history import Kept
from turbotui.features.score.model import BOUND, percent, unlike_loads

DAYS: Final = 7.0
_CENTURY: Final = 36_500.0  # days: more than any run is old, and a date can be that long ago
MONTH: Final = 30.0
_TO_DEVIATION: Final = 1.4826  # median absolute deviation to standard deviation, of a normal distribution


@dataclass(frozen=True, slots=True)
class MeasurementSpan:
    """Measurements of one span of time.

    Attributes:
        median: of the ratio or the score.
        count: how many.
        throttled: in how many of them something held the CPUs back.
        first, last: the oldest and the newest.
    """

    median: float
    count: int
    throttled: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """A quantity now and before.

    Attributes:
        quantity: "ratio" or "measured".
        now: the last days.
        before: the month before them, or all that is older where there was nothing in that month; None: nothing is.
        month: whether `before` is that month.
        relative: by which share it is more than before; None without `before`.
        chance: by which share the two may differ although nothing changed: the claimed bound of the method, or twice
            the standard error that the measurements' own spread gives, whichever is greater; None without `before`.
    """

    quantity: str
    now: MeasurementSpan
    before: MeasurementSpan | None
    month: bool
    relative: float | None
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
    """The changes of one load on one node.

    Attributes:
        baseline, load: what was run; "" for none.
        unit: of measured scores.
        changes: of the ratio, and of the measured score where it is known before and now; empty where every run was
            left out.
        doubtful: runs left out because of their warnings, or because no CPU was busy.
        otherwise: runs left out because the hardware was configured otherwise than in the newest one.
        differing: the properties in which it was.
        unlike: runs left out because another number of CPUs was busy than in the newest one, or they were less or more.
        days: length of what counts as now.
    """

    baseline: str
    load: str
    unit: str
    changes: tuple[Change, ...]
    doubtful: int
    otherwise: int
    differing: tuple[str, ...]
    days: float
    unlike: int = 0


def trends(runs: Iterable[Kept], days: float = DAYS) -> list[Trend]:
    """The trend of each load of one node, in the order in which they were first measured.

    Args:
        runs: of one node, by time.
        days: before the newest of a load that count as now.
    """
    loads: dict[tuple[str, str], list[Kept]] = {}
    for one in runs:
        loads.setdefault((one.baseline, one.load), []).append(one)
    return [_trend(same, days) for same in loads.values()]


def _trend(runs: Sequence[Kept], days: float) -> Trend:
    newest = runs[-1]
    alike = [one for one in runs if one.configuration == newest.configuration]
    others = [one for one in runs if one.configuration != newest.configuration]
    differing = {key for one in others for key in {*one.configuration, *newest.configuration}
                 if one.configuration.get(key) != newest.configuration.get(key)}
    certain = [one for one in alike if one.ratio is not None and not one.warnings]
    # like the newest one that says something, even where the very newest is doubtful
    last = certain[-1] if certain else newest
    sure = [one for one in certain if not unlike_loads(last.busy_cpus, last.busy, one.busy_cpus, one.busy)]
    found = [_change("ratio", sure, days, lambda one: one.ratio)] if sure else []
    scored = [one for one in sure if one.measured is not None]
    if scored:
        found.append(_change("measured", scored, days, lambda one: one.measured))
    return Trend(newest.baseline, newest.load, newest.unit, tuple(found), len(alike) - len(certain), len(others),
                 tuple(sorted(differing)), days, len(certain) - len(sure))


def _change(quantity: str, runs: Sequence[Kept], days: float, value: Callable[[Kept], float | None]) -> Change:
    """Compare; there is at least one run, and its value is known."""
    edge = runs[-1].when - timedelta(days=min(days, _CENTURY))
    now = [one for one in runs if one.when > edge]
    older = [one for one in runs if one.when <= edge]
    month = [one for one in older if one.when > edge - timedelta(days=MONTH)]
    before = month or older
    current = _group(now, value)
    if not before:
        return Change(quantity, current, None, month=True, relative=None, chance=None)
    former = _group(before, value)
    deviation = _deviation(now, value, current.median) + _deviation(before, value, former.median)
    known = sum(len(part) for part in (now, before) if len(part) > 1)
    scale = _TO_DEVIATION * statistics.median(deviation) if known else 0.0
    chance = 2.0 * scale * math.sqrt(1 / len(now) + 1 / len(before)) / former.median
    return Change(quantity, current, former, bool(month), current.median / former.median - 1.0, max(BOUND, chance))


def _deviation(runs: Sequence[Kept], value: Callable[[Kept], float | None], median: float) -> list[float]:
    """Distances from the median; none of a single run, whose distance is no distance."""
    return [abs((value(one) or 0.0) - median) for one in runs] if len(runs) > 1 else []


def _group(runs: Sequence[Kept], value: Callable[[Kept], float | None]) -> MeasurementSpan:
    return MeasurementSpan(statistics.median(value(one) or 0.0 for one in runs), len(runs),
                 sum(one.throttling.active is True for one in runs), runs[0].when, runs[-1].when)


def sentences(trend: Trend) -> list[str]:
    """A trend in words, for the one who asks whether this node is slower than last month."""
    what = " with ".join(word for word in (trend.baseline, trend.load) if word) or "whatever ran"
    found = [f"{what}, {_change_text(trend, change)}" for change in trend.changes]
    words = []
    if trend.doubtful:
        words.append(f"{_runs(trend.doubtful)} with warnings")
    if trend.otherwise:
        words.append(f"{_runs(trend.otherwise)} with another configuration ({', '.join(trend.differing)})")
    if trend.unlike:
        words.append(f"{_runs(trend.unlike)} with another load")
    return [*found, *([f"{what}: left out {' and '.join(words)}"] if words else [])]


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
