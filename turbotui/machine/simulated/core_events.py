"""Numbers of core events by microarchitecture. What is not in these tables does not exist on the simulated machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class CoreEvents:
    """Events of one microarchitecture; the values name entries of `events_common.counts`.

    Attributes:
        exact: raw config -> count.
        additive: event code -> {umask bit: count}; umasks of set bits add up.
        fixed: raw configs with a counter of their own.
        weights: general counters an event code takes, where more than one (AMD's paired counters).
        names: files of the PMU's events folder.
    """

    exact: Mapping[int, str]
    additive: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    fixed: frozenset[int] = frozenset()
    weights: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


_INTEL_ARCHITECTURAL: Final = {
    0x003C: "cycles",
    0x00C0: "instructions",
    0x0300: "reference",
    0x013C: "crystal",
    0x4F2E: "llc-references",
    0x412E: "llc-misses",
    0x00C4: "branches",
    0x00C5: "branch-misses",
}
"""Architectural events (Intel SDM vol. 3, 21.2.1.2)."""

_INTEL_NAMES: Final = {
    "cpu-cycles": "event=0x3c",
    "instructions": "event=0xc0",
    "ref-cycles": "event=0x00,umask=0x03",
    "bus-cycles": "event=0x3c,umask=0x01",
    "cache-references": "event=0x2e,umask=0x4f",
    "cache-misses": "event=0x2e,umask=0x41",
    "branch-instructions": "event=0xc4",
    "branch-misses": "event=0xc5",
    "mem-loads": "event=0xcd,umask=0x1,ldlat=3",
    "mem-stores": "event=0xcd,umask=0x2",
}

_TOPDOWN_NAMES: Final = {
    "slots": "event=0x00,umask=0x4",
    "topdown-retiring": "event=0x00,umask=0x80",
    "topdown-bad-spec": "event=0x00,umask=0x81",
    "topdown-fe-bound": "event=0x00,umask=0x82",
    "topdown-be-bound": "event=0x00,umask=0x83",
}

_BIG_CORE: Final = {
    **_INTEL_ARCHITECTURAL,
    0x0400: "slots",
    0x8000: "slots-retiring",
    0x8100: "slots-bad",
    0x8200: "slots-front",
    0x8300: "slots-back",
    0x01A4: "slots",
    0x02A4: "slots-back",
    0x81D0: "loads",
    0x82D0: "stores",
    0x83D0: "accesses",
    0x01D1: "l1-hits",
    0x08D1: "l1-misses",
    0x02D1: "l2-hits",
    0x10D1: "l2-misses",
    0x04D1: "llc-hits",
    0x20D1: "llc-misses",
    0x0151: "l1-misses",
    0xFF24: "l2-references",
    0x3F24: "l2-misses",
    0x0E12: "tlb-misses",
    0x0E13: "store-tlb-misses",
    0x0E11: "itlb-misses",
    0x0400_04A3: "back-stalls",  # CYCLE_ACTIVITY.STALLS_TOTAL, cmask 4
    0x0500_05A3: "back-stalls",  # CYCLE_ACTIVITY.STALLS_L1D_MISS, cmask 5 (counts all back-end stalls here)
    0x0600_06A3: "back-stalls",
    0x01CD: "loads",
    0x02CD: "stores",
}

_FP_ARITH_512: Final = {
    0x01: "fp-scalar-double",
    0x02: "fp-scalar-single",
    0x04: "zero",
    0x08: "zero",
    0x10: "zero",
    0x20: "zero",
    0x40: "fp-wide-double",
    0x80: "fp-wide-single",
}
"""FP_ARITH_INST_RETIRED, event 0xC7 (Intel perfmon tables); an FMA increments by two."""
_FP_ARITH_256: Final = {**_FP_ARITH_512, 0x10: "fp-wide-double", 0x20: "fp-wide-single", 0x40: "zero", 0x80: "zero"}

_BIG_FIXED: Final = frozenset({0x003C, 0x00C0, 0x0300, 0x0400, 0x8000, 0x8100, 0x8200, 0x8300})

_GOLDEN_COVE: Final = CoreEvents(
    exact={**_BIG_CORE, 0xDF24: "l2-hits"},
    additive={0xC7: _FP_ARITH_512, 0xCE: {0x01: "zero", 0x02: "zero"}, 0xCF: dict.fromkeys((1, 2, 4, 8, 16), "zero")},
    fixed=_BIG_FIXED,
    names={**_INTEL_NAMES, **_TOPDOWN_NAMES},
)
_REDWOOD_COVE: Final = CoreEvents(
    exact={**_BIG_CORE, 0xDF24: "l2-hits"},
    additive={0xC7: _FP_ARITH_256},
    fixed=_BIG_FIXED,
    names={**_INTEL_NAMES, **_TOPDOWN_NAMES},
)
_SUNNY_COVE: Final = CoreEvents(
    exact=dict(_BIG_CORE),
    additive={0xC7: _FP_ARITH_512},
    fixed=_BIG_FIXED,
    names={**_INTEL_NAMES, **_TOPDOWN_NAMES},
)
_LION_COVE: Final = CoreEvents(
    exact={**_BIG_CORE, 0x5F24: "l2-hits"},
    additive={0xC7: _FP_ARITH_256},
    fixed=_BIG_FIXED,
    names={**_INTEL_NAMES, **_TOPDOWN_NAMES},
)

_SMALL_CORE: Final = {
    **_INTEL_ARCHITECTURAL,
    0x81D0: "loads",
    0x82D0: "stores",
    0x01D1: "l1-hits",
    0x02D1: "l2-hits",
    0x0224: "l2-hits",
    0x0E08: "tlb-misses",
    0x0E49: "store-tlb-misses",
    0x0E85: "itlb-misses",
    0x05D0: "loads",
    0x06D0: "stores",
}
_SMALL_NAMES: Final = {
    **_INTEL_NAMES,
    "mem-loads": "event=0xd0,umask=0x5,ldlat=3",
    "mem-stores": "event=0xd0,umask=0x6",
}
_E_FLOATING: Final[Mapping[int, Mapping[int, str]]] = {
    # FP_INST_RETIRED; FP_FLOPS_RETIRED, already weighted (Intel perfmon, sierraforest)
    0xC7: {0x01: "fp-scalar-single", 0x02: "fp-scalar-double", 0x04: "zero", 0x08: "zero", 0x20: "fp-wide-double"},
    0xC8: {0x01: "flops-double", 0x02: "flops-single"},
}
_CRESTMONT: Final = CoreEvents(
    exact={**_SMALL_CORE, 0x0024: "l2-references"},
    additive=_E_FLOATING,
    fixed=frozenset({0x003C, 0x00C0, 0x0300}),
    names=_SMALL_NAMES,
)
_SKYMONT: Final = CoreEvents(
    exact={**_SMALL_CORE, 0x0724: "l2-references"},
    # with a mask for 256-bit single (Intel perfmon, lunarlake), which Crestmont lacks
    additive={**_E_FLOATING, 0xC7: {**_E_FLOATING[0xC7], 0x10: "fp-wide-single"}},
    fixed=frozenset({0x003C, 0x00C0, 0x0300}),
    names=_SMALL_NAMES,
)

_SIERRA_FOREST: Final = CoreEvents(
    # Gracemont class: references of the L2 have umask 0 (turbostat-spec 3.6).
    exact={**_SMALL_CORE, 0x0024: "l2-references"},
    additive=_E_FLOATING,
    fixed=frozenset({0x003C, 0x00C0, 0x0300}),
    names=_SMALL_NAMES,
)
_SKYLAKE: Final = CoreEvents(
    exact={**_BIG_CORE, 0xDF24: "l2-hits"},
    additive={0xC7: _FP_ARITH_256},
    fixed=frozenset({0x003C, 0x00C0, 0x0300}),
    names=_INTEL_NAMES,
)

_ZEN5: Final = CoreEvents(
    exact={
        0x0076: "cycles",
        0x00C0: "instructions",
        0xFF60: "l2-references",
        0x0964: "l2-misses",
        0x00C2: "branches",
        0x00C3: "branch-misses",
        0x00A9: "front-stalls",
        0x0187: "back-stalls",
        0x0040: "accesses",
        0xFF44: "l1-misses",
        0xFF45: "tlb-misses",
        0xFF84: "itlb-misses",
        0x0729: "accesses",
        # RETIRED_SSE_AVX_FLOPS: bits 3:0 the operation, bits 7:5 the type (AMD PPR for family 1Ah, PMCx003).
        0x0F03: "flops",
        0x4F03: "flops-scalar-single",
        0x6F03: "flops-wide-single",
        0x8F03: "flops-scalar-double",
        0xAF03: "flops-wide-double",
        0x2F03: "zero",
    },
    additive={
        0x29: {0x01: "loads", 0x02: "stores", 0x04: "zero"},
        # FP_OPS_RETIRED_BY_WIDTH: operations of the machine, however many lanes and flops each has.
        0x08: {0x01: "zero", 0x02: "zero", 0x04: "fp-scalar-instructions", 0x08: "zero", 0x10: "zero",
               0x20: "fp-wide-instructions"},
    },
    weights={0x03: 2},
    names={
        "cpu-cycles": "event=0x76",
        "instructions": "event=0xc0",
        "cache-references": "event=0x60,umask=0xff",
        "cache-misses": "event=0x64,umask=0x9",
        "branch-instructions": "event=0xc2",
        "branch-misses": "event=0xc3",
        "stalled-cycles-frontend": "event=0xa9",
        "stalled-cycles-backend": "event=0x87,umask=0x1",
    },
)

_NEOVERSE: Final = {
    0x03: "l1-misses",
    0x04: "accesses",
    0x05: "tlb-misses",
    0x02: "itlb-misses",
    0x01: "l1i-misses",
    0x08: "instructions",
    0x10: "branch-misses",
    0x11: "cycles",
    0x12: "branches",
    0x13: "accesses",
    0x16: "l2-references",
    0x17: "l2-misses",
    0x1B: "instructions",
    0x21: "branches",
    0x22: "branch-misses",
    0x23: "front-stalls",
    0x24: "back-stalls",
    0x25: "accesses",
    0x36: "llc-references",
    0x37: "llc-misses",
    0x40: "loads",
    0x41: "stores",
    0x66: "loads",
    0x67: "stores",
    0x70: "loads",
    0x71: "stores",
    0x73: "fp-instructions",
    0x74: "fp-wide-double",
    0x75: "fp-scalar-ops",
    0x8005: "zero",
    0x8006: "fp-wide-double",
    0x8014: "zero",
    0x8018: "fp-single",
    0x801C: "fp-double",
    # FP_SCALE_OPS_SPEC counts per 128 bits of vector length, which is what these cores have.
    0x80C0: "fp-wide-ops",
    0x80C1: "fp-scalar-ops",
}
"""Arm Architecture Reference Manual, PMU event numbers; carm-spec section 5."""

_NEOVERSE_NAMES: Final = {
    "cpu_cycles": "event=0x0011",
    "inst_retired": "event=0x0008",
    "inst_spec": "event=0x001b",
    "l1d_cache": "event=0x0004",
    "l1d_cache_refill": "event=0x0003",
    "l2d_cache": "event=0x0016",
    "l2d_cache_refill": "event=0x0017",
    "ll_cache_rd": "event=0x0036",
    "ll_cache_miss_rd": "event=0x0037",
    "br_retired": "event=0x0021",
    "br_mis_pred_retired": "event=0x0022",
    "mem_access": "event=0x0013",
    "stall_frontend": "event=0x0023",
    "stall_backend": "event=0x0024",
    "l1d_tlb_refill": "event=0x0005",
}
_NEOVERSE_V2: Final = CoreEvents(exact=_NEOVERSE, fixed=frozenset({0x11}), names=_NEOVERSE_NAMES)
_OLYMPUS: Final = CoreEvents(
    exact={
        **_NEOVERSE,
        0x80C2: "zero",
        0x80C3: "zero",
        0x80C4: "flops-wide-single",
        0x80C5: "flops-scalar-single",
        0x80C6: "flops-wide-double",
        0x80C7: "flops-scalar-double",
        0x80DA: "zero",
        0x80DB: "bytes",
        0x80DC: "zero",
        0x80DD: "load-bytes",
        0x80DE: "zero",
        0x80DF: "store-bytes",
    },
    fixed=frozenset({0x11}),
    names=_NEOVERSE_NAMES,
)

CORE_EVENTS: Final[Mapping[str, CoreEvents]] = {
    "golden-cove": _GOLDEN_COVE,
    "sunny-cove": _SUNNY_COVE,
    "redwood-cove": _REDWOOD_COVE,
    "lion-cove": _LION_COVE,
    "crestmont": _CRESTMONT,
    "skymont": _SKYMONT,
    "sierra-forest": _SIERRA_FOREST,
    "skylake": _SKYLAKE,
    "zen5": _ZEN5,
    "neoverse-v2": _NEOVERSE_V2,
    "olympus": _OLYMPUS,
}

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
