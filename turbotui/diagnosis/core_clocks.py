"""The clocks of virtual CPUs at moments, over the last minute: whether a host has lowered one.

One moment says nothing, because hosts change clocks about every millisecond. Spans of at least ten moments are
compared, the newest with the fastest of the kept ones, and only a fall that their errors do not explain counts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.catalog.core_clock import ERROR, MOMENT
from turbotui.quantities.clock_moments import COUNT, KEPT
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame

LEAST_FALL: Final = 0.03
"""Share of the clock; within a minute of one load the means of seconds differed by up to 1.5 % [measured]."""
_SIGMAS: Final = 4.0  # of the errors of both spans: the fastest of six spans is 1.3 of them above the mean by chance


@dataclass(frozen=True, slots=True)
class ClockTick:
    """The clock of a CPU in one interval."""

    mhz: float
    error: float  # expected relative error (rms) as the mean of the interval
    moments: float


@dataclass(frozen=True, slots=True)
class LoweredClock:
    """A fall of a CPU's clock."""

    before: float  # MHz, of the fastest span
    now: float  # MHz, of the newest


@dataclass(frozen=True, slots=True)
class _Span:
    mhz: float
    error: float


def _spans(ticks: Sequence[ClockTick]) -> Iterator[_Span]:
    """Spans of at least ten moments, the newest first; what is left over is in none."""
    inside: list[ClockTick] = []
    moments = 0.0
    for tick in reversed(ticks):
        inside.append(tick)
        moments += tick.moments
        if moments >= KEPT:
            error = math.sqrt(math.fsum([tick.error**2 for tick in inside])) / len(inside)
            yield _Span(statistics.median([tick.mhz for tick in inside]), error)
            inside, moments = [], 0.0


def lowered(ticks: Sequence[ClockTick]) -> LoweredClock | None:
    """Whether the clock is lower now than it was, by more than chance explains; oldest tick first."""
    spans = list(_spans(ticks))
    if len(spans) < 2:
        return None
    now, before = spans[0], max(spans[1:], key=lambda span: span.mhz)
    least = max(LEAST_FALL, _SIGMAS * math.hypot(now.error, before.error))
    return LoweredClock(before.mhz, now.mhz) if 1.0 - now.mhz / before.mhz > least else None


def clock_ticks(frame: Frame, catalog: Catalog) -> Mapping[RowId, ClockTick]:
    """The clocks of the CPUs that were timed in an interval."""
    mhz, error = (catalog.get(name) for name in (MOMENT, ERROR))
    if mhz is None or error is None or not frame.can(error) or COUNT not in frame.newer.values:
        return {}
    rows = frame.rows(Scope.CPU)
    cells = (frame.cells(mhz, rows), frame.cells(error, rows), frame.levels(COUNT))
    return {row: ClockTick(clock, off / 100.0, count) for row, clock, off, count in zip(rows, *cells, strict=True)
            if isinstance(clock, (int, float)) and isinstance(off, (int, float)) and count}
