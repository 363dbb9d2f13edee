"""The roofline as an abstract drawing: log-log coordinates, ticks, lines and labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.roofline.roofs import Bandwidth, Peak, RoofSet, ridge
from turbotui.quantities.precision import Precision

_MARGIN: Final = 2.0  # factor of free space beyond the outermost ridge, peak or point
_MINOR: Final = (2, 5)
X_TITLE: Final = "arithmetic intensity [flop/byte]"
Y_TITLE: Final = "GFLOP/s"
_INTEGER: Final = ("arithmetic intensity [op/byte]", "GOP/s")
"""Titles of both axes where operations are no FLOPs."""


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A tick of an axis."""

    value: float  # on the axis' scale
    label: str  # the text beside the tick
    major: bool  # whether it is a power of ten


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis from `low` to `high`, both positive."""

    # low, high: ends, in the axis' unit
    low: float
    high: float
    title: str  # the title, with the unit

    def place(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end, other values beyond.

        Raises:
            UsageError: the value is not positive, and so has no position on a logarithmic axis.
        """
        if value <= 0:
            raise UsageError(f"{value} has no place on a logarithmic axis")
        return (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))

    def value(self, place: float) -> float:
        """Return the value at a position; the inverse of `place`."""
        return float(10 ** (math.log10(self.low) + place * (math.log10(self.high) - math.log10(self.low))))

    def zoomed(self, factor: float, centre: float) -> LogAxis:
        """Return the axis zoomed by `factor` around a value.

        Raises:
            UsageError: the factor or the value is not positive.
        """
        if factor <= 0:
            raise UsageError(f"zoom by {factor} is not possible")
        middle = self.place(centre)
        return LogAxis(self.value(middle - middle / factor), self.value(middle + (1 - middle) / factor), self.title)

    def ticks(self) -> tuple[AxisTick, ...]:
        """Return ticks at powers of ten, and at 2 and 5 times them if less than two decades are shown."""
        return tuple(tick for tick in self._candidates() if self.low <= tick.value <= self.high)

    def _candidates(self) -> Iterator[AxisTick]:
        fine = math.log10(self.high / self.low) < 2
        for exponent in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            yield AxisTick(10.0**exponent, f"{10.0**exponent:g}", major=True)
            for factor in _MINOR if fine else ():
                yield AxisTick(factor * 10.0**exponent, f"{factor * 10.0**exponent:g}", major=False)


class LineKind(Enum):
    """The kind of a line: roof of a memory level, or of an instruction."""

    MEMORY = "memory"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A straight line in log-log coordinates."""

    name: str  # "L1 524 GB/s", "AVX-512 FMA double 130 GFLOP/s"
    kind: LineKind  # slanted or flat
    # start, end: (flop/byte, GFLOP/s)
    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PlotMark:
    """A labelled point: a ridge, or an application's point."""

    intensity: float  # flop/byte
    gflops: float  # GFLOP/s
    label: str  # "" for none


@dataclass(frozen=True, slots=True)
class Plot:
    """Roofs, ridge points, points and axes of one picture."""

    title: str  # the machine, and whether the roofs are measured
    # x, y: the axes
    x: LogAxis
    y: LogAxis
    lines: tuple[PlotLine, ...]  # roofs, the outermost first
    ridges: tuple[PlotMark, ...]  # the intersections of each level's roof with the highest flat one
    points: tuple[PlotMark, ...]  # the points of applications


def chosen_peaks(roofs: RoofSet, precision: Precision | None = None) -> tuple[Peak, ...]:
    """Return the flat roofs to draw: each width's highest stream in a precision or in double, highest first."""
    best: dict[str, Peak] = {}
    top = roofs.top_peak(precision) or roofs.top_peak()
    for peak in () if top is None else roofs.flat_roofs(top.precision):
        if top is not None and peak.precision is not top.precision:
            continue
        if (held := best.get(peak.isa)) is None or peak.flops > held.flops:
            best[peak.isa] = peak
    return tuple(sorted(best.values(), key=lambda peak: -peak.flops))


def build_plot(roofs: RoofSet, points: Iterable[PlotMark] = (), precision: Precision | None = None) -> Plot:
    """Lay out roofs and points, with axes that contain every ridge, peak and point.

    Args:
        roofs: at least one flat and one slanted roof.
        points: points of applications; those without flops or bytes are left out.
        precision: the precision of the flat roofs; None for double, else single.

    Raises:
        UsageError: there is no flat or no slanted roof.
    """
    peaks, slants = _drawn(roofs, precision)
    shown = tuple(point for point in points if point.intensity > 0 and point.gflops > 0)
    meetings = [ridge(peak.flops, slant.rate) for peak in (peaks[0], peaks[-1]) for slant in slants]
    x_low = min([*meetings, *(point.intensity for point in shown)]) / _MARGIN
    x_high = max([*meetings, *(point.intensity for point in shown)]) * _MARGIN
    slowest = min(slant.rate for slant in slants) / 1e9
    y_low = min([slowest * x_low, *(point.gflops / _MARGIN for point in shown)])
    y_high = max([peaks[0].flops / 1e9, *(point.gflops for point in shown)]) * _MARGIN
    x, y = LogAxis(x_low, x_high, X_TITLE), LogAxis(y_low, y_high, Y_TITLE)
    return _laid_out(roofs, peaks, slants, (x, y), shown)


def plot_within(roofs: RoofSet, x: LogAxis, y: LogAxis, precision: Precision | None = None) -> Plot:
    """Lay out roofs on given axes, the flat ones in a precision.

    Raises:
        UsageError: there is no flat or no slanted roof.
    """
    peaks, slants = _drawn(roofs, precision)
    return _laid_out(roofs, peaks, slants, (x, y), ())


def _drawn(roofs: RoofSet, precision: Precision | None) -> tuple[tuple[Peak, ...], tuple[Bandwidth, ...]]:
    peaks, slants = chosen_peaks(roofs, precision), roofs.best_bandwidths()
    if not peaks or not slants:
        raise UsageError(f"the roofs of {roofs.machine} have no peak or no bandwidth to draw")
    return peaks, slants


def _laid_out(roofs: RoofSet, peaks: Sequence[Peak], slants: Sequence[Bandwidth],
              axes: tuple[LogAxis, LogAxis], points: tuple[PlotMark, ...]) -> Plot:
    x, y = axes
    if peaks[0].precision is Precision.INT8:
        x, y = (replace(axis, title=title) for axis, title in zip(axes, _INTEGER, strict=True))
    return Plot(
        title=f"{roofs.machine}, {roofs.origin.value}, {_threads(roofs)}",
        x=x,
        y=y,
        lines=(*_slanted(slants, peaks[0], x.low), *_flat(peaks, slants[0], (x.low, x.high), y.title)),
        ridges=tuple(
            PlotMark(ridge(peaks[0].flops, slant.rate), peaks[0].flops / 1e9,
                     f"{slant.level} {ridge(peaks[0].flops, slant.rate):.3g}")
            for slant in slants
        ),
        points=points,
    )


def _threads(roofs: RoofSet) -> str:
    count = len(roofs.cpus)
    return f"{count} thread{'s' if count != 1 else ''}{', ' + roofs.working if roofs.working else ''}"


def _amount(value: float) -> str:
    """Format a number with four digits and without an exponent."""
    return f"{value:.4g}" if value < 9_999.5 else f"{value:.0f}"


def _slanted(slants: Sequence[Bandwidth], top: Peak, x_low: float) -> Iterator[PlotLine]:
    for slant in slants:
        end = ridge(top.flops, slant.rate)
        start = min(x_low, end / _MARGIN)  # axes may begin to the right of the ridge
        most = "≤ " if slant.at_most else ""
        yield PlotLine(f"{slant.level} {most}{_amount(slant.rate / 1e9)} GB/s", LineKind.MEMORY,
                       (start, slant.rate * start / 1e9), (end, top.flops / 1e9))


def _flat(peaks: Sequence[Peak], steepest: Bandwidth, ends: tuple[float, float], unit: str) -> Iterator[PlotLine]:
    for peak in peaks:
        start = max(ends[0], ridge(peak.flops, steepest.rate))
        height = peak.flops / 1e9
        yield PlotLine(f"{peak.name} {_amount(height)} {unit}", LineKind.COMPUTE, (start, height), (ends[1], height))
