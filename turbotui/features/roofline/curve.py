"""Bandwidth of loads and streaming stores over the size of the working set, as it outgrows each cache.

Plateaus are found in the measured rates, not derived from the described caches, and then compared with these.
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
_FLAT: Final = 0.12  # neighbours whose rates differ by less belong to one plateau
_LEAST: Final = 3  # least sizes of a plateau, half an octave each
_BEYOND: Final = 4  # times the largest cache, beyond which a set lies in memory
_LEAST_END: Final = 256 << 20
_SHARE: Final = 0.25  # share of the available memory for all threads together


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The rate of one kernel over one working set."""

    bytes: int  # bytes of each thread's set
    rate: float  # bytes per second of all threads together
    disturbed: bool = False  # whether other work ran meanwhile


@dataclass(frozen=True, slots=True)
class Plateau:
    """A range of sizes with a constant rate."""

    # first, last: bytes of the smallest and the largest set
    first: int
    last: int
    rate: float  # median of the rates, bytes per second
    level: str  # the described cache into which a set of the last size fits; "DRAM" beyond all caches


@dataclass(frozen=True, slots=True)
class BandwidthCurve:
    """One kernel over increasing working sets."""

    threads: str  # "one", "all" or the CPU set
    kernel: str  # "loads", "streaming stores"; with the memory's node if it is not the threads' own
    points: tuple[CurvePoint, ...]  # the points, by increasing size
    plateaus: tuple[Plateau, ...]  # the plateaus, by increasing size
    notes: tuple[str, ...] = ()  # remarks beside the numbers


def curve_sizes(caches: Sequence[Cache], threads: int, available: int | None, first: int = FIRST) -> Iterator[int]:
    """Return the sizes of each thread's set, half an octave apart, until the sets lie in memory.

    Args:
        available: bytes of available memory (MemAvailable); None if unknown.
        first: bytes of the smallest set.
    """
    end = max(_BEYOND * max((cache.size for cache in caches), default=0), _LEAST_END)
    if available is not None:
        end = min(end, int(available * _SHARE) // max(1, threads))
    size = float(first)
    while size <= end:
        yield round(size) // _WHOLE * _WHOLE
        size *= STEP


def find_plateaus(points: Sequence[CurvePoint], caches: Sequence[Cache]) -> tuple[Plateau, ...]:
    """Find the longest runs of sizes whose rates stay near their median, by increasing size."""
    plateaus = []
    at = 0
    while at < len(points):
        end = at + 1
        while end < len(points) and _flat([point.rate for point in points[at : end + 1]]):
            end += 1
        if end - at >= _LEAST:
            plateau = points[at:end]
            last = plateau[-1].bytes
            plateaus.append(Plateau(plateau[0].bytes, last, statistics.median(point.rate for point in plateau),
                                    next((f"L{cache.level}" for cache in sorted(caches, key=lambda cache: cache.level)
                                          if last <= cache.size), "DRAM")))
            at = end
        else:
            at += 1
    return tuple(plateaus)


def _flat(rates: Sequence[float]) -> bool:
    middle = statistics.median(rates)
    return all(abs(rate - middle) <= _FLAT * middle for rate in rates)
