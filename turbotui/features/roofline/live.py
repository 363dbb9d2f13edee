"""Places on the roofline of the rows of a frame: CPUs, cores, packages or the whole machine, now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.phases import Moment
from turbotui.features.roofline.sharing import AtWork, Working, mean_working
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import Sizing, WidthModel, half_together, levels_together, single_together
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.speeds import Speed, cpu_speed, sum_speeds
from turbotui.sampling.frame import Frame
from turbotui.sampling.sweep import each_row

REGION: Final = "region "
"""Begins the identity of a region's point; that of a thread's has the name of its application."""


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """The point of one row in one interval.

    Attributes:
        row: of the frame.
        name: as shown to people: "cpu 17", "package 0".
        gflops: GFLOP/s.
        gbytes: GB/s that its cores load and store; None where the width of an access is not known.
        intensity: flop/byte; None where bytes are not known, or there are none.
        dominant: the width of most of its floating-point instructions; "" where that is not counted.
        width: the model behind the bytes; None where there are none, or several.
        seconds: at the end of the interval, from the start of the first one.
        length: seconds of the interval; of a thread those in which it ran.
        estimated: whether counters were multiplexed.
        task: of a thread, what names it from interval to interval; its row is then the CPU where it was seen last. Of a
            region its name behind `REGION`; its row is then one CPU, or the machine where several are kept busy.
        single: share of its operations that are in single precision; None where no event tells.
        half: share of those in half precision, with a matrix unit's.
        working: what works for the row, which decides its share of the roofs; None where that is not known.
        not_scheduled: of a thread, whether it did not run while a set was on that its place needs: it did work, but
            where it stands is not known.
        levels: GB/s between two levels of the memory, by the outer one's name ("L2": between L1 and L2), where counted.
    """

    row: RowId
    name: str
    gflops: float
    gbytes: float | None
    intensity: float | None
    dominant: str
    width: WidthModel | None
    seconds: float
    length: float
    estimated: bool
    task: str = ""
    single: float | None = None
    not_scheduled: bool = False
    working: Working | None = None
    half: float = 0.0
    levels: tuple[tuple[str, float], ...] = ()

    @property
    def identity(self) -> RowId | str:
        """The key of a row or thread, equal in every interval."""
        return self.task or self.row

    @property
    def is_region(self) -> bool:
        """Whether it is of a region of a command, in all that it ran until now."""
        return self.task.startswith(REGION)

    @property
    def has_place(self) -> bool:
        """Whether the point has a place on logarithmic axes."""
        return self.intensity is not None and self.intensity > 0 and self.gflops > 0


@dataclass(frozen=True, slots=True)
class IntervalPoints:
    """The rows of one interval.

    Attributes:
        points: of the rows that are counted, in topology order.
        unknown: how many rows are not counted.
        at_work: the cores that worked.
    """

    points: tuple[RooflinePoint, ...]
    unknown: int
    at_work: AtWork


def read_points(
    frame: Frame,
    rows: Iterable[tuple[RowId, str]],
    definitions: Sequence[MetricDefinition],
    sizing: Sizing,
    *,
    seconds: float,
    estimated: bool = False,
    weights: Mapping[str | None, float] | None = None,
    traffic: Mapping[RowId, float] | None = None,
) -> IntervalPoints:
    """Compute the points of rows of a frame.

    Args:
        frame: with two snapshots.
        rows: and their names for people.
        definitions: that this machine counts (`measured_definitions`).
        sizing: how accesses become bytes.
        seconds: machine time at the end of the frame.
        estimated: whether counters were multiplexed.
        weights: arithmetic of a core of each kind (`verdicts.core_weights`).
        traffic: bytes per second of the memory, by package row.
    """
    by_cpu = _all_cpus(frame, definitions, sizing) if frame.older is not None else {}
    at_work = AtWork(frame.topology, by_cpu, weights, traffic)
    found: list[RooflinePoint] = []
    unknown = 0
    for row, name in rows:
        speed = _speed(frame, row, by_cpu)
        if speed is None:
            unknown += 1
            continue
        found.append(RooflinePoint(
            row, name, speed.flops / 1e9, None if speed.bytes is None else speed.bytes / 1e9, speed.intensity,
            speed.dominant, speed.width, seconds, frame.seconds or 0.0, estimated, single=speed.single,
            working=at_work.of(row), half=speed.half, levels=giga(speed.levels),
        ))
    return IntervalPoints(tuple(found), unknown, at_work)


def total_of(points: Sequence[RooflinePoint]) -> RooflinePoint | None:
    """A row over several intervals: sums of operations and bytes, and ratios made of those; None for no interval.

    Bytes count only where they are known, and an intensity divides the operations of those intervals by them.
    """
    if not points:
        return None
    length = sum(point.length for point in points)
    sized = [point for point in points if point.gbytes is not None]
    size = sum((point.gbytes or 0.0) * point.length for point in sized)
    sized_flops = sum((point.intensity or 0.0) * (point.gbytes or 0.0) * point.length for point in sized)
    work: dict[str, float] = {}
    for point in points:
        work[point.dominant] = work.get(point.dominant, 0.0) + point.gflops * point.length
    widths = {point.width for point in sized}
    last = points[-1]
    return RooflinePoint(
        last.row, last.name, sum(work.values()) / length if length else 0.0,
        size / sum(point.length for point in sized) if sized and size else 0.0 if sized else None,
        sized_flops / size if size else None,
        max(work, key=lambda name: work[name]), widths.pop() if len(widths) == 1 else None,
        last.seconds, length, any(point.estimated for point in points),
        single=single_together((point.single, point.gflops * point.length) for point in points),
        half=half_together((point.half, point.gflops * point.length) for point in points),
        working=mean_working((point.working, point.length) for point in points),
        levels=tuple((level, amount / length) for level, amount in levels_together(
            tuple((level, rate * point.length) for level, rate in point.levels) for point in points)) if length else (),
    )


def giga(levels: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    """Bytes per second by level as GB/s."""
    return tuple((level, rate / 1e9) for level, rate in levels)


def moments_of(points: Sequence[RooflinePoint]) -> tuple[Moment, ...]:
    """Intervals of one row, for `find_phases`; bytes are those of whatever is known."""
    return tuple(
        Moment(point.length, (point.intensity or 0.0) * (point.gbytes or 0.0) * point.length * 1e9,
               (point.gbytes or 0.0) * point.length * 1e9, point.dominant)
        for point in points
    )


def _speed(frame: Frame, row: RowId, by_cpu: Mapping[RowId, Speed | None]) -> Speed | None:
    """The speed of a row, made of the speeds of its CPUs."""
    if row.scope is Scope.CPU:
        return by_cpu.get(row)
    if row.scope is Scope.SYSTEM:
        return sum_speeds(by_cpu.values())
    cpus = frame.rows(Scope.CPU)
    return sum_speeds(by_cpu.get(cpus[position]) for position in frame.topology.parts(row, Scope.CPU))


def _all_cpus(frame: Frame, definitions: Sequence[MetricDefinition], sizing: Sizing) -> dict[RowId, Speed | None]:
    """Each CPU's speed, made once, however many rows it is in; all of them in one sweep over the signals."""
    return {row: cpu_speed(inputs, definitions, sizing) for row, inputs in each_row(frame, Scope.CPU)}
