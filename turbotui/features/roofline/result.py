"""The result of `turbotui roofline`: rows over the whole run with their bounds, phases, and energy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.function_points import Functions
from turbotui.features.roofline.live import RooflinePoint, lacking_in, moments_of, total_of
from turbotui.features.roofline.phases import Phase, find_phases, kinds_of
from turbotui.features.roofline.point_table import why_unplaced
from turbotui.features.roofline.region_points import RegionPoint, Regions
from turbotui.features.roofline.roofs import RoofSet, RoofVerdict, verdict
from turbotui.features.roofline.verdicts import NO_HALF, LevelRoofs, flat_roof, lacks_roof
from turbotui.machine.host import HostKind
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.unavailable import Reason, Unavailable

_NO_WORK: Final = Unavailable(Reason.OUT_OF_RANGE, "there was no floating-point work")


@dataclass(frozen=True)  # without slots, because the verdict is cached
class JudgedPoint:
    """A point of an interval or a whole run below its roofs, with a verdict computed when needed."""

    point: RooflinePoint  # sums, and ratios of sums
    choice: LevelRoofs

    @cached_property
    def verdict(self) -> RoofVerdict | None:
        """The verdict on the point's bound; None if unknown."""
        return self.choice.judge(self.point)

    @property
    def why(self) -> Unavailable | None:
        """Why there is no verdict; None if there is one."""
        if self.verdict is not None:
            return None
        if (roofs := self.choice.under(self.point.working)) is None:
            return _no_roofs(self.choice)
        if self.point.has_place and lacks_roof(self.point, roofs):
            return Unavailable(Reason.UNKNOWN_MODEL, NO_HALF)
        return why_unplaced(self.point) or _NO_WORK

    @property
    def used(self) -> float | None:
        """The share of the memory's bandwidth that its controllers counted; None if nothing counts it."""
        return self.choice.used(self.point.working)


@dataclass(frozen=True, slots=True)
class PhaseOfRow:
    """A phase of a row, or a behaviour that its phases repeat."""

    name: str  # the row's name
    number: int | None  # the number of the behaviour, from 1; None for a change between behaviours
    phase: Phase  # the time and the sums
    at: int = 0  # the phase's number among those of its row, from 1; 0 for a behaviour
    verdict: RoofVerdict | None = None  # the bound of a behaviour; None if unknown
    why: Unavailable | None = None  # the reason for that None
    lacking: Unavailable | None = None  # why a part of the row is unknown in some interval of the run


@dataclass(frozen=True, slots=True)
class JudgedRegion:
    """A region of a command below the command's roofs."""

    region: RegionPoint  # the region with its times and its point, if any
    judged: JudgedPoint | None  # that point below its roofs; None if there is none


@dataclass(frozen=True, slots=True)
class Result:
    """The points of one run, with roofs, notes and energy."""

    # host, kind: the machine's name and kind
    host: str
    kind: HostKind
    title: str  # the machine's title for people
    points: tuple[RooflinePoint, ...]  # the points of every row and interval, oldest first
    roofs: dict[str, LevelRoofs]  # the roofs by the row's name
    counted: str  # the way of counting, for people
    notes: tuple[str, ...]  # notes for readers
    joules: float | None  # energy of all packages over the run; None if unknown
    why_no_energy: Unavailable | None  # the reason for that None
    seconds: float  # length of the run
    status: int = 0  # exit status of the command
    energy_seconds: float = 0.0  # the time of the joules, which are read a little before and after the counted run
    regions: Regions = Regions()  # the regions that a command marked
    region_roofs: LevelRoofs | None = None  # the roofs of a command's regions
    levels: bool = False  # whether bytes of memory levels were requested
    functions: Functions = Functions()  # the sampled functions of a command
    part: Unavailable | None = None  # why the points are not all that the joules were spent on; None if they are

    @property
    def rows(self) -> dict[str, list[RooflinePoint]]:
        """Points of the intervals, by the row's name."""
        return lists_by_key((point.name, point) for point in self.points)

    @property
    def main(self) -> list[RooflinePoint]:
        """The row whose phases are shown: the last one, which is the whole machine or the command."""
        rows = self.rows
        return rows[list(rows)[-1]] if rows else []

    @property
    def watts(self) -> float | None:
        """Mean power of all packages."""
        seconds = self.energy_seconds or self.seconds
        return self.joules / seconds if self.joules is not None and seconds else None

    @property
    def efficiency(self) -> float | None:
        """GFLOP/s per W of the main row, as a ratio of rates, because energy and operations have other intervals."""
        length = math.fsum(point.length for point in self.main)
        if not self.watts or not length or self.part is not None:
            return None
        return math.fsum(point.gflops * point.length for point in self.main) / length / self.watts

    @property
    def sets(self) -> tuple[RoofSet, ...]:
        """Every set of roofs, once."""
        return tuple(dict.fromkeys(roof.roofs for roof in self.roofs.values() if roof.roofs is not None))

    def drawn(self, points: Sequence[RooflinePoint]) -> RoofSet | None:
        """Return the roofs of a row for the average part of the machine that worked over its intervals."""
        total = total_of(points)
        return self.roofs[points[0].name].under(None if total is None else total.working)

    def totals(self) -> list[JudgedPoint]:
        """Each row over the whole run."""
        with_roofs = ((total_of(points), self.roofs[name]) for name, points in self.rows.items())
        return [JudgedPoint(total, choice) for total, choice in with_roofs if total is not None]

    def judged_regions(self) -> list[JudgedRegion]:
        """Return each region that a command marked, longest first."""
        roofs = self.region_roofs
        return [JudgedRegion(point, None if point.point is None or roofs is None else JudgedPoint(point.point, roofs))
                for point in self.regions.points]

    def phases(self, name: str) -> list[PhaseOfRow]:
        """Return the phases of a row, each with the number of its behaviour."""
        points = self.rows[name]
        phases = find_phases(moments_of(points))
        kinds = kinds_of(phases)
        steady = any(phase.intervals > 1 for phase in phases)
        return [PhaseOfRow(name, None if steady and phase.intervals == 1 else _nearest(phase, kinds), phase, at,
                           lacking=lacking_in(points)) for at, phase in enumerate(phases, 1)]

    def behaviours(self, name: str) -> list[PhaseOfRow]:
        """Return the behaviours that the phases of a row repeat."""
        points, choice = self.rows[name], self.roofs[name]
        if (whole := total_of(points)) is None:
            return []
        roofs, used = choice.under(whole.working), choice.used(whole.working)
        kinds = []
        for number, kind in enumerate(kinds_of(find_phases(moments_of(points))), 1):
            judged = _judged(kind, roofs, whole.single, used)
            why = None if judged else _no_roofs(choice) if roofs is None else _NO_WORK
            kinds.append(PhaseOfRow(name, number, kind, verdict=judged, why=why, lacking=whole.lacking))
        return kinds


def _no_roofs(choice: LevelRoofs) -> Unavailable:
    return Unavailable(Reason.UNKNOWN_MODEL, choice.source)


def _judged(phase: Phase, roofs: RoofSet | None, single: float | None, used: float | None) -> RoofVerdict | None:
    if roofs is None or not phase.intensity or not phase.gflops:
        return None
    flops = phase.gflops * 1e9
    return verdict(roofs, phase.intensity, flops, flat_roof(roofs, flops, phase.dominant, single), used=used)


def _nearest(phase: Phase, kinds: Sequence[Phase]) -> int:
    """Return the number of the behaviour nearest to a phase."""
    def distance(kind: Phase) -> float:
        return (abs((kind.intensity or 0.0) - (phase.intensity or 0.0)) + abs(kind.gflops - phase.gflops)
                + (1e9 if kind.dominant != phase.dominant else 0.0))

    return 1 + min(range(len(kinds)), key=lambda at: distance(kinds[at]))
