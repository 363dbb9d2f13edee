"""The kernel's generic events, which exist on every machine: hardware, software and cache events.

Numbers: uapi linux/perf_event.h, enum perf_hw_id, perf_sw_ids, perf_hw_cache_*; names: perf-list(1).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Final

HARDWARE, SOFTWARE, TRACEPOINT, HW_CACHE, RAW, BREAKPOINT = range(6)  # enum perf_type_id

HARDWARE_NAMES: Final[Mapping[str, int]] = {
    "cpu-cycles": 0, "cycles": 0, "instructions": 1, "cache-references": 2, "cache-misses": 3,
    "branch-instructions": 4, "branches": 4, "branch-misses": 5, "bus-cycles": 6,
    "stalled-cycles-frontend": 7, "idle-cycles-frontend": 7, "stalled-cycles-backend": 8, "idle-cycles-backend": 8,
    "ref-cycles": 9,
}
SOFTWARE_NAMES: Final[Mapping[str, int]] = {
    "cpu-clock": 0, "task-clock": 1, "page-faults": 2, "faults": 2, "context-switches": 3, "cs": 3,
    "cpu-migrations": 4, "migrations": 4, "minor-faults": 5, "major-faults": 6, "alignment-faults": 7,
    "emulation-faults": 8, "dummy": 9, "bpf-output": 10, "cgroup-switches": 11,
}
NANOSECOND_CLOCKS: Final = (0, 1)
"""Software events that count nanoseconds (kernel/events/core.c, cpu_clock_event_update); perf shows ms."""

_TYPES: Final = (
    # (spellings, number, operations that exist: perf-list(1); kernel arch/x86/events/core.c rejects the others)
    (("L1-dcache", "l1-d", "l1d", "L1-data"), 0, (0, 1, 2)),
    (("L1-icache", "l1-i", "l1i", "L1-instruction"), 1, (0, 2)),
    (("LLC", "L2"), 2, (0, 1, 2)),
    (("dTLB", "d-tlb", "Data-TLB"), 3, (0, 1, 2)),
    (("iTLB", "i-tlb", "Instruction-TLB"), 4, (0,)),
    (("branch", "branches", "bpu", "btb", "bpc"), 5, (0,)),
    (("node",), 6, (0, 1, 2)),
)
_OPERATIONS: Final = (
    (("load", "loads", "read"), 0),
    (("store", "stores", "write"), 1),
    (("prefetch", "prefetches", "speculative-read", "speculative-load"), 2),
)
_RESULTS: Final = ((("refs", "Reference", "ops", "access"), 0), (("misses", "miss"), 1))
_OPERATION_SHIFT, _RESULT_SHIFT = 8, 16  # config = cache | op << 8 | result << 16 (uapi linux/perf_event.h)


@functools.cache
def cache_names() -> Mapping[str, int]:
    """Map every spelling of every cache event to its config; the operation defaults to load, the result to access."""
    names: dict[str, int] = {}
    operations = [(f"-{word}", number) for words, number in _OPERATIONS for word in words]
    results = [(f"-{word}", number) for words, number in _RESULTS for word in words]
    for words, cache, allowed in _TYPES:
        for operation, result in itertools.product([("", 0), *operations], [("", 0), *results]):
            if operation[1] not in allowed:
                continue
            config = cache | operation[1] << _OPERATION_SHIFT | result[1] << _RESULT_SHIFT
            for word in words:
                names[f"{word}{operation[0]}{result[0]}"] = config
                names[f"{word}{result[0]}{operation[0]}"] = config
    return names


def generic_event(name: str) -> tuple[int, int] | None:
    """Return (type, config) of a generic name, else None; hardware events precede cache events ("branches")."""
    kinds = ((HARDWARE, HARDWARE_NAMES), (SOFTWARE, SOFTWARE_NAMES), (HW_CACHE, cache_names()))
    return next(((kind, names[name]) for kind, names in kinds if name in names), None)


@functools.cache
def _spellings() -> Mapping[str, str]:
    """Map generic names in lower case to their spelling; of two that differ only in case, the first."""
    spellings: dict[str, str] = {}
    for names in (HARDWARE_NAMES, SOFTWARE_NAMES, cache_names()):
        for name in names:
            spellings.setdefault(name.lower(), name)
    return spellings


def in_any_case(name: str) -> str:
    """Return the spelling of a generic name given in any case; "" if there is no such name."""
    return name if generic_event(name) is not None else _spellings().get(name.lower(), "")


def cache_listing() -> tuple[tuple[str, int], ...]:
    """Return one name for each cache event, as perf list prints it."""
    listing = []
    spoken = (("loads", "load"), ("stores", "store"), ("prefetches", "prefetch"))
    for words, cache, allowed in _TYPES:
        for operation, (plural, single) in enumerate(spoken):
            if operation in allowed:
                config = cache | operation << _OPERATION_SHIFT
                listing.append((f"{words[0]}-{plural}", config))
                listing.append((f"{words[0]}-{single}-misses", config | 1 << _RESULT_SHIFT))
    return tuple(listing)
