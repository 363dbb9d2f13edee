"""Points on the roofline for the rows of a frame: CPUs, cores, packages or the whole machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.phases import Moment
from turbotui.features.roofline.sharing import WorkingCores, WorkingShare, mean_working
from turbotui.quantities.by_key import sums_by_key
from turbotui.quantities.marks import ESTIMATED, PARTIAL
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import Sizing, WidthModel, half_together, levels_together, single_together
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.speeds import Speed, cpu_speed, sum_speeds
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.sweep import each_row

REGION: Final = "region "
"""The prefix of the identity of a region's point; a thread's identity has its application's name."""


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """The point of one row in one interval."""

    row: RowId  # the frame's row
    name: str  # the name for people: "cpu 17", "package 0"
    gflops: float  # GFLOP/s
    gbytes: float | None  # GB/s that its cores load and store; None if the width of accesses is unknown
    intensity: float | None  # flop/byte; None if bytes are unknown or 0
    dominant: str  # the width of most of its floating-point instructions; "" if not counted
    width: WidthModel | None  # the model behind the bytes; None if there is none, or several
    seconds: float  # at the end of the interval, from the start of the first one
    length: float  # seconds of the interval; for a thread, its running time
    estimated: bool  # whether counters were multiplexed
    # for a thread, its identity in all intervals; its row is then the CPU where it was seen last. For a region its name
    # behind `REGION`; its row is then one CPU, or the machine if several are busy.
    task: str = ""
    single: float | None = None  # the share of operations in single precision; None if no event tells
    # whether a thread did not run during the time slice of a set that its point needs, so that its position is unknown
    # although it worked
    not_scheduled: bool = False
    # the part of the machine that works for the row, which decides its share of the roofs; None if unknown
    working: WorkingShare | None = None
    half: float = 0.0  # the share of operations in half precision, including a matrix unit's
    # GB/s between two memory levels, by the outer level's name ("L2": between L1 and L2), if counted
    levels: tuple[tuple[str, float], ...] = ()
    lacking: Unavailable | None = None  # why a part of the row is unknown, in some interval; None if it is known whole

    @property
    def signs(self) -> str:
        """The signs of what is known of its numbers."""
        return PARTIAL.sign * (self.lacking is not None) + ESTIMATED.sign * self.estimated

    @property
    def identity(self) -> RowId | str:
        """The key of a row or thread in every interval."""
        return self.task or self.row

    @property
    def is_region(self) -> bool:
        """Whether the point is of a command's region, over all its run until now."""
        return self.task.startswith(REGION)

    @property
    def has_place(self) -> bool:
        """Whether the point has a place on logarithmic axes."""
        return self.intensity is not None and self.intensity > 0 and self.gflops > 0


@dataclass(frozen=True, slots=True)
class IntervalPoints:
    """The rows of one interval."""

    points: tuple[RooflinePoint, ...]  # the points of counted rows, in topology order
    unknown: int  # the number of rows that are not counted
    at_work: WorkingCores


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
        definitions: the definitions that this machine counts (`measured_definitions`).
        seconds: machine time at the end of the frame.
        estimated: whether counters were multiplexed.
        weights: relative arithmetic of a core of each type (`verdicts.core_weights`).
        traffic: bytes per second of the memory, by package row.
    """
    by_cpu: dict[RowId, Speed | None] = {}
    if frame.older is not None:  # one sweep over the signals, and not one for each row
        by_cpu = {row: cpu_speed(inputs, definitions, sizing) for row, inputs in each_row(frame, Scope.CPU)}
    at_work = WorkingCores(frame.topology, by_cpu, weights, traffic)
    signals = frame.capabilities.signals
    gaps = [name for definition in definitions for _key, name in definition.signals[:len(definition.events)]
            if name in signals and frame.has_gaps(name)] if by_cpu else []
    points: list[RooflinePoint] = []
    unknown = 0
    for row, name in rows:
        speed = _speed(frame, row, by_cpu)
        if speed is None:
            unknown += 1
            continue
        points.append(RooflinePoint(row, name, speed.flops / 1e9, None if speed.bytes is None else speed.bytes / 1e9,
            speed.intensity, speed.dominant, speed.width, seconds, frame.seconds or 0.0, estimated, single=speed.single,
            working=at_work.of(row), half=speed.half, levels=giga(speed.levels),
            lacking=next(filter(None, (frame.lacking_part(name, row) for name in gaps)), None)))
    return IntervalPoints(tuple(points), unknown, at_work)


def total_of(points: Sequence[RooflinePoint]) -> RooflinePoint | None:
    """Sum a row over several intervals, with ratios of the sums; None for no interval.

    Bytes are summed over intervals in which they are known, and divide the operations of these intervals.
    """
    if not points:
        return None
    length = math.fsum(point.length for point in points)
    sized = [point for point in points if point.gbytes is not None]
    size = math.fsum((point.gbytes or 0.0) * point.length for point in sized)
    sized_flops = math.fsum((point.intensity or 0.0) * (point.gbytes or 0.0) * point.length for point in sized)
    work = sums_by_key((point.dominant, point.gflops * point.length) for point in points)
    widths = {point.width for point in sized}
    last = points[-1]
    return RooflinePoint(
        last.row, last.name, math.fsum(work.values()) / length if length else 0.0,
        size / math.fsum(point.length for point in sized) if sized and size else 0.0 if sized else None,
        sized_flops / size if size else None,
        max(work, key=lambda name: work[name]), widths.pop() if len(widths) == 1 else None,
        last.seconds, length, any(point.estimated for point in points),
        single=single_together((point.single, point.gflops * point.length) for point in points),
        half=half_together((point.half, point.gflops * point.length) for point in points),
        working=mean_working((point.working, point.length) for point in points),
        levels=tuple((level, amount / length) for level, amount in levels_together(
            tuple((level, rate * point.length) for level, rate in point.levels) for point in points)) if length else (),
        lacking=lacking_in(points),
    )


def lacking_in(points: Iterable[RooflinePoint]) -> Unavailable | None:
    """Return why a part of a row is unknown in one of these intervals; None if it is known whole."""
    return next((point.lacking for point in points if point.lacking is not None), None)


def giga(levels: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    """Convert bytes per second by level to GB/s."""
    return tuple((level, rate / 1e9) for level, rate in levels)


def moments_of(points: Sequence[RooflinePoint]) -> tuple[Moment, ...]:
    """Convert the intervals of a row for `find_phases`."""
    return tuple(Moment(point.length, (point.intensity or 0.0) * (point.gbytes or 0.0) * point.length * 1e9,
                        (point.gbytes or 0.0) * point.length * 1e9, point.dominant) for point in points)


def _speed(frame: Frame, row: RowId, by_cpu: Mapping[RowId, Speed | None]) -> Speed | None:
    if row.scope is Scope.CPU:
        return by_cpu.get(row)
    if row.scope is Scope.SYSTEM:
        return sum_speeds(by_cpu.values())
    cpus = frame.rows(Scope.CPU)
    return sum_speeds(by_cpu.get(cpus[position]) for position in frame.topology.parts(row, Scope.CPU))
