"""Reads of counters with the time around them, and how far an interval between two of them may be off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

INTERRUPTED_SHARE: Final = 0.05
"""Share of an interval; where the moments of its two readings may be off by more, no rate is computed from them."""
SLOW_READ_NS: Final = 1_000_000
"""In place of the quickest read before the first one: what no read of a file or counter takes on most machines."""
_INTERRUPTED: Final = 8
"""Times the quickest read of the same counters: a longer read means that the thread lost its CPU."""
_INTERRUPTED_NS: Final = 100_000  # and long enough to matter: 1e-4 of an interval of a second
_TRIES: Final = 3  # number of attempts, the shortest of which counts, if the first was interrupted
T = TypeVar("T")


def undisturbed(take: Callable[[], T], quickest: int, now: Callable[[], int]) -> tuple[int, T, int]:
    """Read, up to twice more after an interruption, because a time stamp is only as precise as the read is short.

    Args:
        take: reads the counters.
        quickest: ns of its quickest read so far; 0 before the first.
        now: the host's clock.

    Returns:
        Start of the best read, its result, and its end.
    """
    started = now()
    best = (started, take(), now())
    for _again in range(_TRIES - 1):
        if not quickest or not is_interrupted(best[2] - best[0], quickest):
            break
        started = now()
        best = min(best, (started, take(), now()), key=lambda reading: reading[2] - reading[0])
    return best


def clock_offset(ahead: Callable[[], int], behind: Callable[[], int]) -> int:
    """Return by how many ns one clock is ahead of another.

    A thread that loses its CPU between two clocks would find them apart by what it waited: one is read between two
    readings of the other, and again if these lie far apart.
    """
    began, at, ended = undisturbed(ahead, 1, behind)
    return at - (began + ended) // 2


def lost_ns(took: int, quickest: int) -> int:
    """Return the ns that a read took longer than the quickest of the same counters; 0 if too short to matter."""
    return lost if (lost := took - quickest) > _INTERRUPTED_NS else 0


def is_interrupted(took: int, quickest: int) -> bool:
    """Whether a read took so much longer than the quickest read of the same counters that the thread lost its CPU.

    A first read has nothing to compare with: it counts as interrupted if it was long enough to matter.
    """
    return took > max(_INTERRUPTED * quickest, _INTERRUPTED_NS)
