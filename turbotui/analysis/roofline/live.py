"""Places on the roofline of the rows of a frame: CPUs, cores, packages or the whole machine, now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from turbotui.analysis.roofline.phases import Moment
from turbotui.analysis.roofline.sharing import AtWork, Working, mean_working
from turbotui.quantities.recipes import Recipe
from turbotui.quantities.roofline import Sizing, WidthModel, half_together, single_together
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.speeds import Speed, cpu_speed, sum_speeds
from turbotui.sampling.frame import Frame
from turbotui.sampling.sweep import each_row


@dataclass(frozen=True, slots=True)
class Spot:
    """What one row did in one interval.

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
        estimated: whether counters took turns.
        task: of a thread, what names it from interval to interval; its row is then the CPU where it was seen last.
        single: share of its operations that are in single precision; None where no event tells.
        half: share of those in half precision, with a matrix unit's.
        working: what works for the row, which decides its share of the roofs; None where that is not known.
        few_turns: of a thread, whether it did not run while a set was on that its place needs: it did work, but where
            it stands is not known.
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
    few_turns: bool = False
    working: Working | None = None
    half: float = 0.0

    @property
    def identity(self) -> RowId | str:
        """What the same row or thread has in every interval."""
        return self.task or self.row

    @property
    def has_place(self) -> bool:
        """Whether logarithmic axes have a place for it."""
        return self.intensity is not None and self.intensity > 0 and self.gflops > 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows of one interval.

    Attributes:
        spots: of the rows that are counted, in topology order.
        unknown: how many rows are not counted.
        at_work: the cores that worked.
    """

    spots: tuple[Spot, ...]
    unknown: int
    at_work: AtWork


def read_spots(frame: Frame, rows: Iterable[tuple[RowId, str]], recipes: Sequence[Recipe], sizing: Sizing, *,
               seconds: float, estimated: bool = False, weights: Mapping[str | None, float] | None = None,
               traffic: Mapping[RowId, float] | None = None) -> Reading:
    """Where rows of a frame stand.

    Args:
        frame: with two snapshots.
        rows: and their names for people.
        recipes: that this machine counts (`measured_recipes`).
        sizing: how accesses become bytes.
        seconds: machine time at the end of the frame.
        estimated: whether counters took turns.
        weights: arithmetic of a core of each kind (`judging.core_weights`).
        traffic: bytes per second of the memory, by package row.
    """
    by_cpu = _all_cpus(frame, recipes, sizing) if frame.older is not None else {}
    at_work = AtWork(frame.topology, by_cpu, weights, traffic)
    found: list[Spot] = []
    unknown = 0
    for row, name in rows:
        speed = _speed(frame, row, by_cpu)
        if speed is None:
            unknown += 1
            continue
        found.append(Spot(
            row, name, speed.flops / 1e9, None if speed.bytes is None else speed.bytes / 1e9, speed.intensity,
            speed.dominant, speed.width, seconds, frame.seconds or 0.0, estimated, single=speed.single,
            working=at_work.of(row), half=speed.half,
        ))
    return Reading(tuple(found), unknown, at_work)


def total_of(spots: Sequence[Spot]) -> Spot | None:
    """A row over several intervals: sums of operations and bytes, and ratios made of those; None for no interval.

    Bytes count only where they are known, and an intensity divides the operations of those intervals by them.
    """
    if not spots:
        return None
    length = sum(spot.length for spot in spots)
    sized = [spot for spot in spots if spot.gbytes is not None]
    size = sum((spot.gbytes or 0.0) * spot.length for spot in sized)
    sized_flops = sum((spot.intensity or 0.0) * (spot.gbytes or 0.0) * spot.length for spot in sized)
    work: dict[str, float] = {}
    for spot in spots:
        work[spot.dominant] = work.get(spot.dominant, 0.0) + spot.gflops * spot.length
    widths = {spot.width for spot in sized}
    last = spots[-1]
    return Spot(
        last.row, last.name, sum(work.values()) / length if length else 0.0,
        size / sum(spot.length for spot in sized) if sized and size else 0.0 if sized else None,
        sized_flops / size if size else None,
        max(work, key=lambda name: work[name]), widths.pop() if len(widths) == 1 else None,
        last.seconds, length, any(spot.estimated for spot in spots),
        single=single_together((spot.single, spot.gflops * spot.length) for spot in spots),
        half=half_together((spot.half, spot.gflops * spot.length) for spot in spots),
        working=mean_working((spot.working, spot.length) for spot in spots),
    )


def moments_of(spots: Sequence[Spot]) -> tuple[Moment, ...]:
    """Intervals of one row, for `find_phases`; bytes are those of whatever is known."""
    return tuple(
        Moment(spot.length, (spot.intensity or 0.0) * (spot.gbytes or 0.0) * spot.length * 1e9,
               (spot.gbytes or 0.0) * spot.length * 1e9, spot.dominant)
        for spot in spots
    )


def _speed(frame: Frame, row: RowId, by_cpu: Mapping[RowId, Speed | None]) -> Speed | None:
    """A row's speed, of its CPUs'."""
    if row.scope is Scope.CPU:
        return by_cpu.get(row)
    if row.scope is Scope.SYSTEM:
        return sum_speeds(by_cpu.values())
    cpus = frame.rows(Scope.CPU)
    return sum_speeds(by_cpu.get(cpus[position]) for position in frame.topology.parts(row, Scope.CPU))


def _all_cpus(frame: Frame, recipes: Sequence[Recipe], sizing: Sizing) -> dict[RowId, Speed | None]:
    """Each CPU's speed, made once, however many rows it is in; all of them in one sweep over the signals."""
    return {row: cpu_speed(inputs, recipes, sizing) for row, inputs in each_row(frame, Scope.CPU)}
