"""Numbers of core events by microarchitecture, from `core_events.toml`, and generic ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import WrongKindError, each, text, whole, wholes

_KeyT = TypeVar("_KeyT")
_ValueT = TypeVar("_ValueT")


@dataclass(frozen=True, slots=True)
class CoreEvents:
    """Events of one microarchitecture; values name entries of `events_common.counts` and `pipeline.pipeline_counts`.

    Attributes:
        exact: raw config -> count.
        additive: event code -> {umask bit: count}; umasks of set bits add up.
        fixed: raw configs with a counter of their own.
        weights: general counters an event code takes, where more than one (AMD's paired counters).
        names: files of the PMU's events folder.
        slots: of the pipeline in a cycle.
        core_wide: raw configs that count for all threads of a core.
    """

    exact: Mapping[int, str]
    additive: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    fixed: frozenset[int] = frozenset()
    weights: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    slots: int = 4
    core_wide: Mapping[int, str] = field(default_factory=dict)


CORE_EVENTS: Final = FactFile("simulated/core_events.toml")


@functools.cache
def core_events(microarchitecture: str) -> CoreEvents:
    """The events of a microarchitecture of the file."""
    values = CORE_EVENTS.find(microarchitecture)
    if values is None:
        raise CORE_EVENTS.wrong(microarchitecture, "a simulated machine names it, and it is not there")
    return CORE_EVENTS.row(
        CoreEvents, microarchitecture, values, exact=_pairs(whole, text), additive=_additive, fixed=_fixed,
        weights=_pairs(whole, whole), core_wide=_pairs(whole, text), names=_pairs(text, text),
    )  # fmt: skip


def _pairs(
    key: Callable[[object], _KeyT], value: Callable[[object], _ValueT]
) -> Callable[[object], Mapping[_KeyT, _ValueT]]:
    """Reads a list of pairs as a mapping; of two pairs with one key there is none."""

    def read(written: object) -> Mapping[_KeyT, _ValueT]:
        found = each(_list(2))(written)
        made = {key(one): value(other) for one, other in found}
        if len(made) != len(found):
            raise WrongKindError("pairs, each with a key of its own")
        return made

    return read


def _additive(written: object) -> Mapping[int, Mapping[int, str]]:
    made: dict[int, dict[int, str]] = {}
    for code, bit, name in each(_list(3))(written):
        made.setdefault(whole(code), {})[whole(bit)] = text(name)
    return made


def _fixed(written: object) -> frozenset[int]:
    return frozenset(wholes(written))


def _list(length: int) -> Callable[[object], Sequence[object]]:
    def read(written: object) -> Sequence[object]:
        if not isinstance(written, list) or len(written) != length:
            raise WrongKindError(f"a list of {length}")
        return written

    return read


GENERIC: Final[Mapping[str, Mapping[int, int]]] = {
    # PERF_TYPE_HARDWARE: generic number -> the raw config this family uses (linux arch/x86/events, drivers/perf).
    "intel": {0: 0x3C, 1: 0xC0, 2: 0x4F2E, 3: 0x412E, 4: 0xC4, 5: 0xC5, 6: 0x13C, 9: 0x300},
    "amd": {0: 0x76, 1: 0xC0, 2: 0xFF60, 3: 0x0964, 4: 0xC2, 5: 0xC3, 7: 0xA9, 8: 0x187},
    "arm": {0: 0x11, 1: 0x08, 2: 0x04, 3: 0x03, 4: 0x21, 5: 0x22, 7: 0x23, 8: 0x24},
}

UNCOUNTED_CACHES: Final[Mapping[str, frozenset[int]]] = {
    # PERF_TYPE_HW_CACHE caches without events: LL and NODE of amd_hw_cache_event_ids_f17h (arch/x86/events/amd/core.c).
    "amd": frozenset({2, 6}),
}

CACHE: Final[Mapping[tuple[int, int, int], str]] = {
    # PERF_TYPE_HW_CACHE: (cache, operation, result) -> count (uapi linux/perf_event.h).
    (0, 0, 0): "loads",
    (0, 0, 1): "l1-misses",
    (0, 1, 0): "stores",
    (1, 0, 1): "l1i-misses",
    (2, 0, 0): "llc-references",
    (2, 0, 1): "llc-misses",
    (2, 1, 0): "llc-stores",
    (2, 1, 1): "llc-store-misses",
    (3, 0, 0): "loads",
    (3, 0, 1): "tlb-misses",
    (3, 1, 0): "stores",
    (3, 1, 1): "store-tlb-misses",
    (4, 0, 1): "itlb-misses",
    (5, 0, 0): "branches",
    (5, 0, 1): "branch-misses",
    (6, 0, 0): "memory-read-lines",
    (6, 1, 0): "memory-write-lines",
}
