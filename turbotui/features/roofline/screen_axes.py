"""The axes of the roofline screen, which grow to contain the picture until the user zooms or pans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.plot import X_TITLE, Y_TITLE, LogAxis, build_plot
from turbotui.features.roofline.roofs import RoofSet
from turbotui.features.roofline.task_points import Note
from turbotui.features.roofline.verdicts import precision_of
from turbotui.machine.topology import Topology
from turbotui.quantities.precision import Precision
from turbotui.quantities.scope import RowId, Scope

_ORDER: Final = (Precision.DOUBLE, Precision.SINGLE, Precision.HALF, Precision.INT8)
_NO_POINTS: Final = Note("roofs of int8: operations that are no FLOPs, so no point stands under them",
                         "roofs of int8: no points")


class FlatRoofs:
    """The format of the numbers whose flat roofs are drawn.

    Attributes:
        chosen: by a person; None: the format of the point under the cursor.
    """

    def __init__(self) -> None:
        self.chosen: Precision | None = None

    def next(self, roofs: RoofSet | None, point: RooflinePoint | None) -> str:
        """Choose the next format with flat roofs, or after the last one that of the point; return its name."""
        usual = None if roofs is None else roofs.top_peak(None if point is None else precision_of(point))
        there = () if roofs is None else tuple(precision
                                               for precision in _ORDER if roofs.top_peak(precision) is not None
                                               and (usual is None or precision is not usual.precision))
        at = there.index(self.chosen) + 1 if self.chosen in there else 0
        self.chosen = there[at] if at < len(there) else None
        if self.chosen is None:
            return "those of the point under the cursor"
        return self.chosen.word + (", under which no point of FLOPs stands" if self.hides_points else "")

    def of(self, point: RooflinePoint | None) -> Precision | None:
        """Return the format that is drawn while the cursor is on a point; None for double, else single, precision."""
        return self.chosen or (None if point is None else precision_of(point))

    @property
    def hides_points(self) -> bool:
        """Whether the roofs are of operations that no point counts."""
        return self.chosen is Precision.INT8

    @property
    def notes(self) -> tuple[Note, ...]:
        """Return why no points are drawn."""
        return (_NO_POINTS,) if self.hides_points else ()


@dataclass(frozen=True, slots=True)
class Level:
    """A level of points: rows of a scope, or threads without a scope."""

    word: str
    scope: Scope | None


def levels_of(topology: Topology) -> tuple[Level, ...]:
    """Return the distinct levels of this machine, the finest first."""
    levels = [Level("CPUs", Scope.CPU)] if len(topology.instances(Scope.CORE)) < len(topology.cpus) else []
    levels.append(Level("cores", Scope.CORE))
    if topology.varies(Scope.PACKAGE):
        levels.append(Level("packages", Scope.PACKAGE))
    return (*levels, Level("whole machine", Scope.SYSTEM), Level("tasks", None))


def name_of(topology: Topology, row: RowId) -> str:
    """Name a row for people; a core has its package if there are several."""
    if row.scope is Scope.SYSTEM:
        return "machine"
    instance = topology.instance(row)
    if instance is None or not instance.cpus:
        return str(row.scope.value)
    if row.scope is Scope.CPU:
        return f"cpu {instance.cpus[0]}"
    if row.scope is Scope.CORE and topology.varies(Scope.PACKAGE):
        package = topology.instance(topology.row(Scope.PACKAGE, instance.cpus[0]))
        return f"package {'?' if package is None else package.label} core {instance.label}"
    return f"{row.scope.value} {instance.label}"


FAR: Final = 10.0
"""The factor by which points may stretch the axes beyond the roofs; nearly idle cores lie further away."""
LEAST: Final = 1e-12
GREATEST: Final = 1e15
NEAREST: Final = 1.01
"""The limits of axes, and the least ratio of an axis's ends."""

Places = Sequence[tuple[float, float]]
"""Points as pairs of intensity and GFLOP/s."""


class RoofAxes:
    """Both axes of the picture; None before there is a picture.

    Attributes:
        now: intensity and performance.
    """

    def __init__(self) -> None:
        self.now: tuple[LogAxis, LogAxis] | None = None
        self.held = False
        self._everything = False

    def whole(self) -> str:
        """Return to axes that contain all roofs and working points; if repeated, also points far away.

        Returns:
            A description of what the axes contain.
        """
        self._everything = not (self.held or self._everything)
        self.forget()
        return "All points are in sight, those far away too" if self._everything else "All roofs and working points"

    def forget(self) -> None:
        """Make new axes at the next `fit`."""
        self.held = False
        self.now = None

    def zoom(self, factor: float, intensity: float | None = None, gflops: float | None = None) -> None:
        """Zoom in (factor above 1) or out at a position; None for the middle."""
        if self.now is not None:
            x, y = self.now
            self._hold(x.zoomed(factor, x.value(0.5) if intensity is None else intensity),
                       y.zoomed(factor, y.value(0.5) if gflops is None else gflops))

    def pan(self, across: float, up: float) -> None:
        """Pan by shares of the visible part."""
        if self.now is not None:
            x, y = self.now
            self._hold(LogAxis(x.value(across), x.value(1 + across), x.title),
                       LogAxis(y.value(up), y.value(1 + up), y.title))

    def _hold(self, x: LogAxis, y: LogAxis) -> None:
        """Keep these axes, unless they exceed the limits."""
        if all(axis.low >= LEAST and axis.high <= GREATEST and axis.high / axis.low >= NEAREST for axis in (x, y)):
            self.held = True
            self.now = x, y

    def fit(self, roofs: RoofSet | None, points: Places, precision: Precision | None = None) -> None:
        """Stretch axes that the user did not set to contain roofs and points; axes never shrink, so nothing jumps."""
        if self.held:
            return
        if roofs is not None and can_draw(roofs):
            plot = build_plot(roofs, precision=precision)
            x, y = plot.x, plot.y
            far = math.inf if self._everything else FAR
            limits = (x.low / far, x.high * far), (y.low / far, y.high * far)
        elif points:
            x = LogAxis(min(x_value for x_value, _ in points) / 4, max(x_value for x_value, _ in points) * 4, X_TITLE)
            y = LogAxis(min(two for _, two in points) / 4, max(two for _, two in points) * 4, Y_TITLE)
            limits = (x.low, x.high), (y.low, y.high)
        else:
            return
        if self.now is not None:
            x, y = (holding(axis, (old.low, old.high)) for axis, old in zip((x, y), self.now, strict=True))
        inside = [(x_value, two) for x_value, two in points
                  if limits[0][0] <= x_value <= limits[0][1] and limits[1][0] <= two <= limits[1][1]]
        for x_value, two in inside:
            if not x.low <= x_value <= x.high:
                x = holding(x, around(x_value))
            if not y.low <= two <= y.high:
                y = holding(y, around(two))
        self.now = x, y


def around(value: float) -> tuple[float, float]:
    """Return ends at 1, 2 or 5 times a power of ten below half a value and above twice it, which seldom change."""
    def step(number: float, steps: Sequence[int]) -> float:
        power = 10.0 ** math.floor(math.log10(number))
        return power * (next(step for step in steps if step * power <= number * (1 + 1e-9)))

    return step(value / 2, (5, 2, 1)), 1 / step(1 / (2 * value), (5, 2, 1))


def holding(axis: LogAxis, ends: tuple[float, float]) -> LogAxis:
    """Stretch the axis to contain both ends."""
    return LogAxis(min(axis.low, ends[0]), max(axis.high, ends[1]), axis.title)


def can_draw(roofs: RoofSet) -> bool:
    """Tell whether there is a flat and a slanted roof."""
    try:
        build_plot(roofs)
    except UsageError:
        return False
    return True
