"""Points of a command's marked regions: counts between two readings, apportioned by time.

A command's counters cover all of its threads. So a region's point is what the command did while the region was open in
at least one thread, whatever other threads did. Counters are read at the marks; if marks come faster than readings are
allowed, a reading covers more than the region, which gets its share by time and is marked as estimated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.features.roofline.live import REGION, RooflinePoint, giga, total_of
from turbotui.features.roofline.sharing import ONE_CPU, working_of
from turbotui.features.tasks.region_totals import KindCounts, RegionTotals
from turbotui.machine.observing import Observation
from turbotui.machine.region_pipes import MarkPipe
from turbotui.machine.regions import OTHERS, SHARED_BY_TIME, RegionShare, RegionTimes, by_rows, region_notes
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.joined_sets import SetInterval, join_rotation
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.metric_table import known_definition
from turbotui.quantities.roofline import Sizing, counted
from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.quantities.speeds import Speed, sum_speeds
from turbotui.quantities.unavailable import Reason, Unavailable

FindDefinition: TypeAlias = Callable[[str], MetricDefinition | None]
_EXACT: Final = 0.05  # share of a region's time that may be apportioned without marking it as estimated
_MANY: Final = 64  # points of a region that are kept before they are summed
_MOST_SLICES: Final = 20_000  # time slices kept for joining at the end, 1 kB each; beyond that, marks cut few slices
_LATER: Final = 0.5
_NOT_COUNTED: Final = Unavailable(Reason.NOT_READ, "the region was open too briefly for every set of events to count",
                                  "let it run longer, or more often")


@dataclass(frozen=True, slots=True)
class RegionPoint:
    """A region of a command over its whole run."""

    name: str  # the name as marked, with control characters made visible
    entries: int  # how often threads entered the region
    seconds: float  # time for which the region was open in at least one thread
    apportioned: float  # share of that time whose counts were apportioned by time
    point: RooflinePoint | None  # the region's point; None if its operations are unknown
    why: Unavailable | None = None  # the reason for that None


@dataclass(frozen=True, slots=True)
class Regions:
    """All regions of a command."""

    points: tuple[RegionPoint, ...] = ()  # the regions, longest first
    notes: tuple[str, ...] = ()  # errors of marks


class RegionWatch:
    """The regions of a running command."""

    def __init__(self, pipe: MarkPipe, start: float) -> None:
        self._pipe = pipe
        self._times = RegionTimes(round(start * 1e9))
        self._points: dict[str, list[RooflinePoint]] = {}
        self._shares: list[Mapping[str, float]] = []
        self._pause_until = 0.0

    def wait(self, seen: Observation, until: float) -> bool:
        """Wait for a mark (no sooner than the last reading's cost allows), for the end, or until a time."""
        if seen.wait(min(until, self._pause_until)):
            return True
        return time.monotonic() < until and seen.wait(until, also=self._pipe.descriptor)

    def take_marks(self) -> None:
        """Take the marks that arrived, before the counters are read."""
        for mark in self._pipe.take():
            self._times.take(mark)

    def until(self, now: float) -> Sequence[RegionShare]:
        """Return the regions that were open since the last reading, with their shares of the time."""
        shares = self._times.until(round(now * 1e9))
        rest = self._pipe.rest() if len(self._shares) < _MOST_SLICES else _LATER
        self._pause_until = time.monotonic() + rest
        return shares

    def add(self, shares: Sequence[RegionShare], speed: Speed | None, *, estimated: bool) -> None:
        """Add to each region its share of the counts between two readings."""
        for share in shares:
            if speed is None:
                break
            point = point_of(share.name, speed, share.seconds, estimated=estimated)
            points = self._points.setdefault(share.name, [])
            points.append(point)
            total = total_of(points) if len(points) > _MANY else None
            if total is not None:
                points[:] = [total]
        if self._times.folded:
            self._points = by_rows(self._points, self._times.folded, list.__add__)

    def add_slice(self, shares: Sequence[RegionShare]) -> None:
        """Add the regions of a time slice of one event set."""
        self._shares.append({share.name: share.share for share in shares})

    def slices(self, taken: Sequence[tuple[int, SetInterval]]) -> Mapping[str, Sequence[tuple[int, SetInterval]]]:
        """Return each region's share of the time slices, as slices of one interval, by the names of rows."""
        rows = self._times.rows
        return lists_by_key(
            (rows.get(name, OTHERS), (0, SetInterval(interval.seconds * share, interval.instructions * share,
                                                     {key: count * share for key, count in interval.counts.items()})))
            for shares, (_number, interval) in zip(self._shares, taken, strict=True)
            for name, share in shares.items() if share > 0)

    def counted(self, points: Mapping[str, RooflinePoint] | None = None) -> Regions:
        """Return all regions at the end."""
        times = self._times
        own = by_rows(self._points, times.rows, list.__add__)
        totals = {name: total_of(series) for name, series in own.items()} if points is None else points
        rows = []
        for extent in times.extents():
            point, share = totals.get(extent.name), extent.apportioned / extent.seconds if extent.seconds else 0.0
            if point is not None:
                point = replace(point, name=extent.name, estimated=point.estimated or share > _EXACT)
            rows.append(RegionPoint(extent.name, extent.entries, extent.seconds, share, point,
                                    None if point is not None else _NOT_COUNTED))
        return Regions(tuple(rows), self._notes())

    def _notes(self) -> tuple[str, ...]:
        times = self._times
        return region_notes(marked=times.rows.values(), estimate=SHARED_BY_TIME if times.apportioned else "",
                            lost=times.lost, unmatched=times.unmatched, still_open=times.still_open,
                            unread=self._pipe.unread)


def point_of(name: str, speed: Speed, seconds: float, *, estimated: bool) -> RooflinePoint:
    """Make the point of a speed over that many seconds."""
    return RooflinePoint(SYSTEM_ROW, name, speed.flops / 1e9, None if speed.bytes is None else speed.bytes / 1e9,
                         speed.intensity, speed.dominant, speed.width, seconds, seconds, estimated,
                         single=speed.single, half=speed.half, levels=giga(speed.levels))


def speed_of_rates(definition: MetricDefinition, rates: Mapping[str, float], sizing: Sizing) -> Speed | None:
    """Compute the speed from counts per second by event keys; None if operations are unknown."""
    if (counts := counted(definition, rates, sizing)) is None:
        return None
    sized = counts.flops if counts.bytes is not None else 0.0
    return Speed(counts.flops, counts.bytes, sized, counts.dominant, counts.width, counts.single, counts.half,
                 counts.levels)


def points_of_totals(totals: RegionTotals, sizing: Sizing, topology: Topology,
                     definitions: FindDefinition = known_definition) -> tuple[RegionPoint, ...]:
    """Compute the points of regions that are or were counted while a command ran.

    Args:
        topology: the machine's topology; the command's share is that of the CPUs that it keeps busy.
    """
    regions = []
    busy = (totals.run_ns or 0.0) / 1e9 / totals.seconds if totals.seconds else 0.0
    row = SYSTEM_ROW if busy > ONE_CPU else cpu_row(topology.cpus[0])
    working = working_of(topology, busy if busy > ONE_CPU else 1.0, None)
    for region in totals.regions:
        speeds = [_kind_speed(kind, region.seconds, sizing, definitions)
                  for kind in region.kinds] if region.seconds else []
        speed = sum_speeds(speeds)
        share = region.apportioned / region.seconds if region.seconds else 0.0
        point = None
        if speed is not None and None not in speeds:
            point = replace(point_of(region.name, speed, region.seconds, estimated=region.estimated or share > _EXACT),
                            row=row,
                            seconds=totals.seconds, task=f"{REGION}{region.name}",
                            working=working)
        regions.append(RegionPoint(region.name, region.entries, region.seconds, share, point,
                                   None if point is not None else totals.why or _NOT_COUNTED))
    return tuple(regions)


def _kind_speed(kind: KindCounts, seconds: float, sizing: Sizing, definitions: FindDefinition) -> Speed | None:
    """Compute the speed on one core type; multiplexed sets are joined by instructions."""
    definition = definitions(kind.definition)
    if definition is None or not kind.sets:
        return None
    joined = join_rotation(kind.sets)
    known = set.intersection(*(set(interval.counts) for interval in joined))
    rates = {key: math.fsum(interval.counts[key] for interval in joined) / seconds for key in known}
    return speed_of_rates(definition.without(definition.optional - known), rates, sizing)
