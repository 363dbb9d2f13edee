"""Points by memory level: the same operations over the bytes of each level, each under that level's roof.

Bytes of L1 are those that the core loads and stores; of L2 and L3 the cache lines that come in and, if an event counts
them, go out; of DRAM the memory controllers' bytes. The binding level is the one with the highest used share of its
bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.point_table import NO_BYTES
from turbotui.features.roofline.roofs import BINDING
from turbotui.features.roofline.verdicts import LevelRoofs, flat_roof
from turbotui.quantities.marks import DISPUTED
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable

_LEVELS: Final = ("L1", "L2", "L3", "DRAM")
LETTERS: Final = {"L1": "1", "L2": "2", "L3": "3", "DRAM": "M"}
"""The letter of each level in a picture."""
_NO_EVENTS: Final = Unavailable(Reason.NOT_READ, "no event of this level was counted for all of these cores",
                                "run turbotui roofline --levels, which counts those that there are")
_TOO_MUCH: Final = 1.05  # share of a level's roof
_SHARED: Final = Unavailable(Reason.NOT_READ, "the memory's controllers count all cores of a package together")
NO_TRAFFIC: Final = Unavailable(
    Reason.NOT_READ, "the traffic of the memory is not counted here, or was not read in time in each interval",
    "use longer intervals (-i 5) where turbotui uncore counts it")
NO_LEVEL_ROOF: Final = Unavailable(Reason.UNKNOWN_MODEL, "no roof of this level is known: turbotui roofs measures it")


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A point by the bytes of one memory level."""

    point: RooflinePoint  # the point with its operations
    level: str  # "L1", "L2", "L3", "DRAM"
    gbytes: float | None  # GB/s of the level; None if not counted
    roof: float | None  # peak GB/s of the level; None if no roof is known
    share: float | None  # the share of the peak that is used; None if unknown
    binds: bool = False  # whether the level has the highest share of all levels, and at least `BINDING`
    why: Unavailable | None = None  # why bytes or share are unknown

    @property
    def above(self) -> bool:
        """Whether more is used than the level can give, beyond what a measured roof may be too low."""
        return (self.share or 0.0) > _TOO_MUCH

    @property
    def share_text(self) -> str:
        """The used share in percent, with its mark; "—" where it is unknown."""
        return "—" if self.share is None else f"{100 * self.share:.0f} %{DISPUTED.sign if self.above else ''}"

    @property
    def intensity(self) -> float | None:
        """Flop/byte of this level; None without bytes."""
        return self.point.gflops / self.gbytes if self.gbytes else None


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """The bound of a point by the bytes of all levels."""

    points: tuple[LevelPoint, ...]  # the points of each level, from the core outwards
    compute: float | None  # the reached share of the flat roof; None if no roof is known

    @property
    def sentence(self) -> str:
        """The verdict for people: "L2 binds: 71 % of its bandwidth; compute 12 %"."""
        used = [point for point in self.points if point.share is not None]
        if not used:
            return "which level binds is not known: no level has both bytes and a roof"
        most = max(used, key=lambda point: point.share or 0.0)
        share, compute = most.share or 0.0, self.compute or 0.0
        if max(share, compute) < BINDING:
            return (f"no level binds: {most.level} is used most, {most.share_text} of its bandwidth; compute "
                    f"{100 * compute:.0f} %")
        if compute >= share:
            return f"compute binds: {100 * compute:.0f} %; of the levels {most.level} is used most, {most.share_text}"
        missing = [point.level for point in self.points if point.share is None]
        known = f" (of {', '.join(point.level for point in used)}: {', '.join(missing)} not known)" if missing else ""
        return f"{most.level} binds: {most.share_text} of its bandwidth{known}; compute {100 * compute:.0f} %"


def level_verdict(point: RooflinePoint, choice: LevelRoofs) -> LevelVerdict:
    """Return a point by the bytes of each level that is counted or has a roof."""
    roofs = choice.under(point.working)
    rates = {} if roofs is None else {bandwidth.level: bandwidth.rate / 1e9 for bandwidth in roofs.best_bandwidths()}
    peak = None if roofs is None else flat_roof(roofs, point.gflops * 1e9, point.dominant, point.single)
    points = list(_points(point, rates, choice.used(point.working)))
    used = max((point.share for point in points if point.share is not None), default=0.0)
    compute = None if peak is None or not peak.flops else point.gflops * 1e9 / peak.flops
    if used >= BINDING and used > (compute or 0.0):
        points = [level_point if level_point.share != used else LevelPoint(level_point.point, level_point.level,
                                                                           level_point.gbytes, level_point.roof,
                                                                           level_point.share,
                                                                           binds=True) for level_point in points]
    return LevelVerdict(tuple(points), compute)


def level_notes(points: Sequence[RooflinePoint], *, wanted: bool) -> list[str]:
    """Return why the requested bytes of caches are unknown."""
    if not wanted or not points or any(point.levels for point in points):
        return []
    return ["bytes of L2 and L3 are not known: not every kind of core here has events that count the lines of a level"]


def _points(point: RooflinePoint, rates: dict[str, float], used: float | None) -> Iterator[LevelPoint]:
    counted = {"L1": point.gbytes, **dict(point.levels)}
    if not _shares_memory(point) and point.working is not None and point.working.traffic is not None:
        counted["DRAM"] = point.working.traffic / 1e9
    for level in _LEVELS:
        gbytes, roof = counted.get(level), rates.get(level)
        if gbytes is None and roof is None:
            continue  # the machine has no L3
        share = None if gbytes is None or not roof else gbytes / roof
        if level == "DRAM" and gbytes is not None:
            share = used
        why = None if share is not None else NO_LEVEL_ROOF if gbytes is not None else _reason(level, point)
        yield LevelPoint(point, level, gbytes, roof, share, why=why)


def _reason(level: str, point: RooflinePoint) -> Unavailable:
    if level == "L1":
        return NO_BYTES
    if level == "DRAM":
        return _SHARED if _shares_memory(point) else NO_TRAFFIC
    return _NO_EVENTS


def _shares_memory(point: RooflinePoint) -> bool:
    """Whether other CPUs, measured or not, move a part of the bytes that the memory's controllers count."""
    return point.row.scope.rank < Scope.PACKAGE.rank or (point.working is not None and point.working.others)
