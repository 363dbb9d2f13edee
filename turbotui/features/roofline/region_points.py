"""Points of the regions that a command marks: what is counted between two readings, shared out by time.

A counter of a command has all of its threads. So a region's point is what the command did while the region was open in
at least one thread, whatever the other threads did. Counters are read at the marks too; where one reading has more
than the region (its marks came faster than readings may), the region gets its share of time of that, and is marked as
estimated.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.live import RooflinePoint, giga, total_of
from turbotui.machine.observing import Observation
from turbotui.machine.regions import SHARED_BY_TIME, RegionPipe, RegionShare, RegionTimes, region_notes
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.speeds import Speed
from turbotui.quantities.unavailable import Reason, Unavailable

_WHOLE: Final = 0.95  # of the time between two readings: the rest is the way from the mark to the reading
_EXACT: Final = 0.05  # share of a region's time that may be apportioned without a mark
_MANY: Final = 64  # points of a region that are kept before they are added up
_MOST_SLICES: Final = 20_000  # time slices that are kept to be joined at the end, 1 kB each; beyond, marks cut few
_LATER: Final = 0.5
_NOT_COUNTED: Final = Unavailable(Reason.NOT_READ, "the region was open too briefly for every set of events to count",
                                  "let it run longer, or more often")


@dataclass(frozen=True, slots=True)
class RegionPoint:
    """A region of a command over its whole run.

    Attributes:
        name: as marked, made visible.
        entries: how often a thread entered it.
        seconds: in which it was open in at least one thread.
        apportioned: share of that time whose counts are its share by time of what was read together with other time.
        point: its place; None where its operations are not known.
        why: then the reason.
    """

    name: str
    entries: int
    seconds: float
    apportioned: float
    point: RooflinePoint | None
    why: Unavailable | None = None


@dataclass(frozen=True, slots=True)
class Regions:
    """All regions of a command.

    Attributes:
        points: by the time that they took, longest first.
        notes: what went wrong with marks.
    """

    points: tuple[RegionPoint, ...] = ()
    notes: tuple[str, ...] = ()


class RegionWatch:
    """The regions of a command while it runs.

    Args:
        pipe: that its marks come through.
        start: `time.monotonic` of the first reading.
    """

    def __init__(self, pipe: RegionPipe, start: float) -> None:
        self._pipe = pipe
        self._times = RegionTimes(round(start * 1e9))
        self._seconds: dict[str, float] = {}
        self._apportioned: dict[str, float] = {}
        self._points: dict[str, list[RooflinePoint]] = {}
        self._shares: list[Mapping[str, float]] = []
        self._pause_until = 0.0

    def wait(self, seen: Observation, until: float) -> bool:
        """Wait for a mark, but no sooner than the last reading's cost allows; for the end; or until a time."""
        if seen.wait(min(until, self._pause_until)):
            return True
        return time.monotonic() < until and seen.wait(until, also=self._pipe.descriptor)

    def hear(self) -> None:
        """Take the marks that have come; the counters are to be read next."""
        for mark in self._pipe.take():
            self._times.take(mark)

    def until(self, now: float) -> Sequence[RegionShare]:
        """The regions that were open since the last reading."""
        found = self._times.until(round(now * 1e9))
        for one in found:
            self._seconds[one.name] = self._seconds.get(one.name, 0.0) + one.seconds
            if one.share < _WHOLE:
                self._apportioned[one.name] = self._apportioned.get(one.name, 0.0) + one.seconds
        rest = self._pipe.rest() if len(self._shares) < _MOST_SLICES else _LATER
        self._pause_until = time.monotonic() + rest
        return found

    def add(self, shares: Sequence[RegionShare], speed: Speed | None, *, estimated: bool) -> None:
        """Give each region its share of what was counted between two readings."""
        if speed is None:
            return
        for one in shares:
            point = point_of(one.name, speed, one.seconds, estimated=estimated)
            mine = self._points.setdefault(one.name, [])
            mine.append(point)
            total = total_of(mine) if len(mine) > _MANY else None
            if total is not None:
                mine[:] = [total]

    def add_slice(self, shares: Sequence[RegionShare]) -> None:
        """Note the regions of a time slice in which one set of events counted."""
        self._shares.append({one.name: one.share for one in shares})

    def slices(self, name: str, taken: Sequence[tuple[int, SetInterval]]) -> list[tuple[int, SetInterval]]:
        """A region's share of the time slices, as slices of one interval."""
        found = []
        for shares, (_number, one) in zip(self._shares, taken, strict=True):
            share = shares.get(name, 0.0)
            if share > 0:
                found.append((0, SetInterval(one.seconds * share, one.instructions * share,
                                             {key: count * share for key, count in one.counts.items()})))
        return found

    @property
    def names(self) -> Sequence[str]:
        """Of the regions, longest first."""
        return sorted(self._seconds, key=lambda name: -self._seconds[name])

    def found(self, points: Mapping[str, RooflinePoint] | None = None) -> Regions:
        """All regions at the end.

        Args:
            points: of multiplexed sets, by name; None: what was added.
        """
        totals = {name: total_of(mine) for name, mine in self._points.items()} if points is None else points
        times = self._times
        names = [*self.names, *(name for name in times.entries if name not in self._seconds)]
        rows = []
        for name in names:
            seconds, point = self._seconds.get(name, 0.0), totals.get(name)
            share = self._apportioned.get(name, 0.0) / seconds if seconds else 0.0
            if point is not None:
                point = replace(point, name=name, estimated=point.estimated or share > _EXACT)
            rows.append(RegionPoint(name, times.entries[name], seconds, share, point,
                                    None if point is not None else _NOT_COUNTED))
        return Regions(tuple(rows), self._notes())

    def _notes(self) -> tuple[str, ...]:
        times = self._times
        return region_notes(marked=bool(times.entries), estimate=SHARED_BY_TIME if self._apportioned else "",
                            lost=times.lost, unmatched=times.unmatched, still_open=times.still_open,
                            unread=self._pipe.unread)


def point_of(name: str, speed: Speed, seconds: float, *, estimated: bool) -> RooflinePoint:
    """The point of a speed that was held for so many seconds."""
    return RooflinePoint(SYSTEM_ROW, name, speed.flops / 1e9, None if speed.bytes is None else speed.bytes / 1e9,
                         speed.intensity, speed.dominant, speed.width, seconds, seconds, estimated,
                         single=speed.single, half=speed.half, levels=giga(speed.levels))
