"""Sizes of working sets that lie in one memory level, by caches and the threads that share them.

Rules of the CARM Tool (champ-hub/carm-roofline 088186c): half of its share of L1 and of L2; the middle of what L3 has
beyond the L2s above it; for DRAM at least four times the L3. `sweep` finds the usable size of the L3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.caches import Cache

_DRAM_FACTOR: Final = 4
_SMALLEST_DRAM: Final = 64 << 20
_L3_ABOVE_L2: Final = 1.2  # if the caches' sizes are too similar for a middle
_MEMORY_SHARE: Final = 0.5  # share of the available memory for all threads together


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """The working set of each thread for a level."""

    level: str  # "L1", "L2", "L3", "DRAM"
    bytes: int
    note: str = ""  # a sentence if the rule could not be kept


def working_sets(caches: Sequence[Cache], cpus: Sequence[int], available: int | None, *,
                 memory: int = 0) -> tuple[WorkingSet, ...]:
    """Return the working set of each described cache level, and of DRAM.

    Args:
        available: bytes of available memory (MemAvailable); None if unknown.
        memory: bytes, for all threads together, that are known to lie in memory.
    """
    levels: Mapping[int, Cache] = {cache.level: cache for cache in caches}
    running = frozenset(cpus)

    def threads(cache: Cache) -> int:
        return max(1, len(cache.cpus & running))

    sets = [WorkingSet(f"L{level}", levels[level].size // 2 // threads(levels[level])) for level in (1, 2)
            if level in levels]
    if 3 in levels:
        sets.append(WorkingSet("L3", _third(levels, threads(levels[3]))))
    last = levels[max(levels)] if levels else None
    total = max(_SMALLEST_DRAM, memory, _DRAM_FACTOR * last.size) if last is not None else 4 * _SMALLEST_DRAM
    each = total // threads(last) if last is not None else total
    note = ""
    if available is not None and each * len(running) > available * _MEMORY_SHARE:
        each = int(available * _MEMORY_SHARE) // max(1, len(running))
        note = (f"DRAM: the working set is {each >> 20} MiB a thread, all that half of the available memory allows, "
                f"not {_DRAM_FACTOR} times the last cache")
    sets.append(WorkingSet("DRAM", each, note))
    return tuple(sets)


def _third(levels: Mapping[int, Cache], threads: int) -> int:
    third = levels[3].size
    second = levels[2].size if 2 in levels else 0
    middle = int((second * threads + (third - second * threads) / 2) / threads)
    return middle if middle > second else int(_L3_ABOVE_L2 * second)
