"""Bandwidth over the size of the working set: what loads, and streaming stores, reach as the set outgrows each cache.

Plateaus are found in what was measured, not taken from the caches that are described; each is then held against them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.caches import Cache

FIRST: Final = 4 << 10
STEP: Final = 2**0.5
_WHOLE: Final = 1024  # bytes that the longest loop body walks
_FLAT: Final = 0.12  # neighbours whose rates differ by less are of one plateau
_LEAST: Final = 3  # sizes of a plateau: half an octave each
_BEYOND: Final = 4  # times the largest cache: there a set lies in memory
_LEAST_END: Final = 256 << 20
_SHARE: Final = 0.25  # of the available memory, for all threads together


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The rate of one kernel over one working set.

    Attributes:
        bytes: of each thread's set.
        rate: bytes per second of all threads together.
        disturbed: whether other work ran meanwhile.
    """

    bytes: int
    rate: float
    disturbed: bool = False


@dataclass(frozen=True, slots=True)
class Plateau:
    """Sizes over which the rate stays.

    Attributes:
        first, last: bytes of the smallest and the largest set.
        rate: median of the rates, bytes per second.
        level: of the caches that are described, the one that a set of the last size fits into; "DRAM" beyond them.
    """

    first: int
    last: int
    rate: float
    level: str


@dataclass(frozen=True, slots=True)
class BandwidthCurve:
    """One kernel over ever larger working sets.

    Attributes:
        threads: "one", "all" or the CPU set.
        kernel: "loads", "streaming stores"; with the node of the memory where it is not the threads' own.
        points: from the smallest set on.
        plateaus: that the points have, from the smallest set on.
        notes: what is not said by the numbers.
    """

    threads: str
    kernel: str
    points: tuple[CurvePoint, ...]
    plateaus: tuple[Plateau, ...]
    notes: tuple[str, ...] = ()


def curve_sizes(caches: Sequence[Cache], threads: int, available: int | None, first: int = FIRST) -> Iterator[int]:
    """Working sets of each thread, half an octave apart, until together they lie in memory.

    Args:
        caches: as described.
        threads: that walk a set each.
        available: bytes of memory that may be had (MemAvailable); None where unknown.
        first: bytes of the smallest.
    """
    end = max(_BEYOND * max((cache.size for cache in caches), default=0), _LEAST_END)
    if available is not None:
        end = min(end, int(available * _SHARE) // max(1, threads))
    size = float(first)
    while size <= end:
        yield round(size) // _WHOLE * _WHOLE
        size *= STEP


def find_plateaus(points: Sequence[CurvePoint], caches: Sequence[Cache]) -> tuple[Plateau, ...]:
    """Runs of sizes whose rates stay near their median, the longest that there are; from the smallest set on."""
    found = []
    at = 0
    while at < len(points):
        end = at + 1
        while end < len(points) and _flat([one.rate for one in points[at : end + 1]]):
            end += 1
        if end - at >= _LEAST:
            mine = points[at:end]
            last = mine[-1].bytes
            found.append(Plateau(mine[0].bytes, last, statistics.median(one.rate for one in mine),
                                 _level(last, caches)))
            at = end
        else:
            at += 1
    return tuple(found)


def _flat(rates: Sequence[float]) -> bool:
    middle = statistics.median(rates)
    return all(abs(rate - middle) <= _FLAT * middle for rate in rates)


def _level(size: int, caches: Sequence[Cache]) -> str:
    return next((f"L{cache.level}" for cache in sorted(caches, key=_by_level) if size <= cache.size), "DRAM")


def _by_level(cache: Cache) -> int:
    return cache.level
