"""Finds the usable size of the last cache by a sweep of working sets, not by its description.

A virtual machine describes its host's L3 but gets only what others leave of it, and a hypervisor may describe no L3
although there is one. The rate of loads over increasing sets shows the size: the rate stays on the L3's plateau while
the set fits, and falls to memory's rate beyond.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.roofs import ALIKE
from turbotui.machine.caches import Cache

_FIRST: Final = 2  # times the L2, from which on hardly any of a set stays in it between walks
_STEP: Final = 2**0.5
_FLAT: Final = 0.1  # relative difference below which rates belong to one level
_BEYOND: Final = 4  # times the largest described cache, beyond which a set lies in memory
_LEAST_END: Final = 256 << 20  # bytes up to which a virtual machine is swept, whatever it describes
_MEMORY_SHARE: Final = 0.25  # share of the available memory


@dataclass(frozen=True, slots=True)
class ThirdLevel:
    """The result of a sweep over working sets."""

    caches: tuple[Cache, ...]  # the described caches, with the L3 of the found size, or without one
    memory: int = 0  # bytes of a set that lies in memory; 0 if the sweep does not tell
    note: str = ""  # a sentence if the result differs from the description


def find_third_level(caches: Sequence[Cache], rate: Callable[[int], float], available: int | None, *,
                     virtual: bool) -> ThirdLevel:
    """Return the caches with the usable size of the L3.

    Args:
        rate: measures the bytes per second of loads over a working set by one thread.
        available: bytes of available memory (MemAvailable); None if unknown.
        virtual: whether a hypervisor describes the caches.
    """
    inner = [cache for cache in caches if cache.level < 3]
    described = next((cache for cache in caches if cache.level == 3), None)
    if not inner or (described is None and not virtual):
        return ThirdLevel(tuple(caches))
    start = _FIRST * inner[-1].size
    end = _BEYOND * max(cache.size for cache in caches)
    end = max(end, _LEAST_END) if virtual else end
    if available is not None:
        end = min(end, int(available * _MEMORY_SHARE))
    seen = list(_sweep(rate, start, end))
    if len(seen) < 3:
        return ThirdLevel(tuple(caches))
    edge = _edge(seen)
    without = tuple(cache for cache in caches if cache.level != 3)
    if edge is None:
        words = "" if described is None else (
            f"no L3 roof: loads over {start >> 10:,} KiB are hardly faster than over {seen[-1][0] >> 20:,} MiB: this "
            f"machine gets little of the {described.size >> 20:,} MiB of L3 that it reports, or memory is as fast")
        return ThirdLevel(without, seen[-1][0], words)
    memory = seen[-1][0]
    if described is not None and edge >= described.size:
        return ThirdLevel(tuple(caches), memory)  # the sweep's steps are coarser than the described sizes
    cpus = inner[-1].cpus if described is None else described.cpus
    third = Cache(3, edge, cpus) if described is None else replace(described, size=edge)
    size = "no L3" if described is None else f"{described.size >> 20:,} MiB"
    # Steps are coarse, and prefetching hides the end of a plateau, so this agrees with the description.
    alike = described is not None and edge * 2 >= described.size
    note = "" if alike else f"L3: about {max(1, edge >> 20):,} MiB by a sweep of sizes; {size} reported"
    return ThirdLevel((*without, described if alike and described is not None else third), memory, note)


def _sweep(rate: Callable[[int], float], start: int, end: int) -> Iterator[tuple[int, float]]:
    """Return (bytes, rate) of increasing sets, until the rate has fallen and falls no further, as in memory."""
    rates: list[float] = []
    for step in itertools.count():
        size = round(start * _STEP**step)
        if size > end:
            return
        rates.append(rate(size))
        yield size, rates[-1]
        last = rates[-4:]
        if len(last) == 4 and max(rates) > min(last) * (1 + ALIKE) and max(last) <= min(last) * (1 + _FLAT):
            return


def _edge(seen: Sequence[tuple[int, float]]) -> int | None:
    """Return the largest set with a rate nearer to the first ones than to memory's; None if all are similar."""
    top = max(speed for _size, speed in seen[:2])
    memory = min(speed for _size, speed in seen[-2:])
    if top <= memory * (1 + ALIKE):
        return None
    between = math.sqrt(top * memory)
    return max((size for size, speed in seen if speed >= between), default=None)
