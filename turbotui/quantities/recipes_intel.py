"""Recipes of Intel's cores (Intel perfmon tables; the i7-3770K's as in the paper's table 1).

Raw codes are umask << 8 | event, as perf's `cpu/config=.../` takes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turbotui.quantities.precision import Precision
from turbotui.quantities.recipes import LOADS_STORES, Event, Recipe, Term, Width

_D, _S, _H = Precision.DOUBLE, Precision.SINGLE, Precision.HALF
_CORE: Final = ("cpu", "cpu_core")
_ATOM: Final = ("cpu", "cpu_atom")

_INTEL_LOADS: Final = Event("loads", 0x81D0, "MEM_INST_RETIRED.ALL_LOADS")
_INTEL_STORES: Final = Event("stores", 0x82D0, "MEM_INST_RETIRED.ALL_STORES")

IVY_BRIDGE: Final = Recipe(
    slug="ivybridge",
    name="Intel Sandy Bridge and Ivy Bridge",
    pmu=_CORE,
    events=(
        Event("scalar single", 0x2010, "FP_COMP_OPS_EXE.SSE_SCALAR_SINGLE"),
        Event("sse single", 0x4010, "FP_COMP_OPS_EXE.SSE_PACKED_SINGLE"),
        Event("avx single", 0x0111, "SIMD_FP_256.PACKED_SINGLE"),
        Event("avx double", 0x0211, "SIMD_FP_256.PACKED_DOUBLE"),
        Event("scalar double", 0x8010, "FP_COMP_OPS_EXE.SSE_SCALAR_DOUBLE"),
        Event("sse double", 0x1010, "FP_COMP_OPS_EXE.SSE_PACKED_DOUBLE"),
        Event("loads", 0x81D0, "MEM_UOPS_RETIRED.ALL_LOADS"),
        Event("stores", 0x82D0, "MEM_UOPS_RETIRED.ALL_STORES"),
    ),
    flops=(
        Term("scalar double", 1, _D), Term("sse double", 2, _D), Term("avx double", 4, _D),
        Term("scalar single", 1, _S), Term("sse single", 4, _S), Term("avx single", 8, _S),
    ),
    accesses=LOADS_STORES,
    widths=(
        Width("scalar double", 8, "scalar"), Width("scalar single", 4, "scalar"),
        Width("sse double", 16, "SSE"), Width("sse single", 16, "SSE"),
        Width("avx double", 32, "AVX"), Width("avx single", 32, "AVX"),
    ),
    counters=4,
    note="executed, not retired: operations issued again after a miss in L1 count again",
    source="Antao et al., table 1; Intel perfmon, ivybridge",
)

HASWELL: Final = Recipe(
    slug="haswell",
    name="Intel Haswell",
    pmu=_CORE,
    events=(
        Event("avx instructions", 0x07C6, "AVX_INSTS.ALL"),
        Event("loads", 0x81D0, "MEM_UOPS_RETIRED.ALL_LOADS"),
        Event("stores", 0x82D0, "MEM_UOPS_RETIRED.ALL_STORES"),
    ),
    flops=(),
    accesses=LOADS_STORES,
    widths=(),
    counters=4,
    note="this core has no event that counts floating-point operations",
    source="Intel perfmon, haswell",
)

_FP_ARITH: Final = (
    ("scalar double", 0x01, 1, _D, 8, "scalar"),
    ("sse double", 0x04, 2, _D, 16, "SSE"),
    ("avx double", 0x10, 4, _D, 32, "AVX"),
    ("avx512 double", 0x40, 8, _D, 64, "AVX-512"),
    ("scalar single", 0x02, 1, _S, 4, "scalar"),
    ("sse single", 0x08, 4, _S, 16, "SSE"),
    ("avx single", 0x20, 8, _S, 32, "AVX"),
    ("avx512 single", 0x80, 16, _S, 64, "AVX-512"),
)
"""FP_ARITH_INST_RETIRED, event 0xC7: umask, flops of a count (a fused instruction counts twice), bytes, width."""

BROADWELL_ON: Final = Recipe(
    slug="broadwell",
    name="Intel Broadwell and later, P cores",
    pmu=_CORE,
    events=(
        *(Event(key, umask << 8 | 0xC7, f"FP_ARITH_INST_RETIRED, umask {umask:#04x}", optional="avx512" in key)
          for key, umask, *_ in _FP_ARITH),
        _INTEL_LOADS,
        _INTEL_STORES,
    ),
    flops=tuple(Term(key, flops, precision) for key, _, flops, precision, _, _ in _FP_ARITH),
    accesses=LOADS_STORES,
    widths=tuple(Width(key, size, name) for key, _, _, _, size, name in _FP_ARITH),
    counters=4,
    note="without x87",
    source="Intel perfmon, broadwell to icelakex, P cores to pantherlake",
)

_FP_ARITH2: Final = (
    ("scalar half", 0x01, 1, 2, "scalar"),
    ("complex half", 0x02, 2, 4, "scalar"),
    ("sse half", 0x04, 8, 16, "SSE"),
    ("avx half", 0x08, 16, 32, "AVX"),
    ("avx512 half", 0x10, 32, 64, "AVX-512"),
)
"""FP_ARITH_INST_RETIRED2, event 0xCF (Intel perfmon, sapphirerapids 1.39, emeraldrapids 1.24, graniterapids 1.20):
umask, flops of a count, bytes, width. Weights as in perf's own metric FLOPc of Sapphire Rapids."""
_AMX: Final = Event("amx", 0x02CE, "AMX_OPS_RETIRED.BF16", optional=True)
"""Each count stands for four operations, as the first tables of Sapphire Rapids and Emerald Rapids say (Intel perfmon,
also in linux tools/perf/pmu-events until 2023)."""

SAPPHIRE_RAPIDS: Final = replace(
    BROADWELL_ON,
    slug="sapphirerapids",
    name="Intel Sapphire Rapids, Emerald Rapids and Granite Rapids",
    events=(
        *BROADWELL_ON.events,
        *(Event(key, umask << 8 | 0xCF, f"FP_ARITH_INST_RETIRED2, umask {umask:#04x}", optional=True)
          for key, umask, *_ in _FP_ARITH2),
        _AMX,
    ),
    flops=(*BROADWELL_ON.flops, *(Term(key, flops, _H) for key, _, flops, _, _ in _FP_ARITH2), Term("amx", 4, _H)),
    widths=(*BROADWELL_ON.widths, *(Width(key, size, name) for key, _, _, size, name in _FP_ARITH2)),
    reduced_note="without x87, half precision and AMX",
    note="without x87; AMX is counted in bfloat16, and a load of a tile is one load: of matrix code bytes are too few",
    source="Intel perfmon, sapphirerapids 1.39, emeraldrapids 1.24, graniterapids 1.20: FP_ARITH_INST_RETIRED, "
           "FP_ARITH_INST_RETIRED2; linux tools/perf/pmu-events, sapphirerapids, until 2023: AMX_OPS_RETIRED",
    unverified="AMX_OPS_RETIRED (0xCE) is in Intel's first event tables of these processors, and no longer in the "
               "later ones",
)

_E_LOADS: Final = Event("loads", 0x81D0, "MEM_UOPS_RETIRED.ALL_LOADS")
_E_STORES: Final = Event("stores", 0x82D0, "MEM_UOPS_RETIRED.ALL_STORES")

INTEL_E: Final = Recipe(
    slug="crestmont",
    name="Intel Sierra Forest and Grand Ridge, E cores",
    pmu=_ATOM,
    events=(
        Event("flops double", 0x01C8, "FP_FLOPS_RETIRED.FP64"),
        Event("flops single", 0x02C8, "FP_FLOPS_RETIRED.FP32"),
        _E_LOADS,
        _E_STORES,
        Event("scalar single", 0x01C7, "FP_INST_RETIRED.32B_SP"),
        Event("scalar double", 0x02C7, "FP_INST_RETIRED.64B_DP"),
        Event("sse single", 0x04C7, "FP_INST_RETIRED.128B_SP"),
        Event("sse double", 0x08C7, "FP_INST_RETIRED.128B_DP"),
        Event("avx double", 0x20C7, "FP_INST_RETIRED.256B_DP"),
    ),
    flops=(Term("flops double", 1, _D), Term("flops single", 1, _S)),
    accesses=LOADS_STORES,
    widths=(
        Width("scalar single", 4, "scalar"), Width("scalar double", 8, "scalar"), Width("sse single", 16, "SSE"),
        Width("sse double", 16, "SSE"), Width("avx double", 32, "AVX"),
    ),
    counters=8,
    note="the events name no 256-bit single instructions, so the mean width may be too small",
    source="Intel perfmon, sierraforest 1.18 and grandridge 1.13",
)
CLIENT_E: Final = replace(
    INTEL_E, slug="client-e", name="E cores of Intel Meteor Lake, LP cores of Arrow Lake", pmu=("cpu_atom",),
    source="Intel perfmon, meteorlake 1.22 (cpu_atom), arrowlake 1.20 (cpu_lowpower)",
)
DARKMONT: Final = replace(
    INTEL_E,
    slug="darkmont",
    name="Intel Clearwater Forest, E cores",
    events=(*INTEL_E.events, Event("avx single", 0x10C7, "FP_INST_RETIRED.256B_SP")),
    widths=(*INTEL_E.widths, Width("avx single", 32, "AVX")),
    note="without x87",
    source="Intel perfmon, clearwaterforest 1.04",
)
SKYMONT: Final = replace(
    DARKMONT, slug="skymont", name="E cores of Intel Arrow Lake, Lunar Lake and Panther Lake", pmu=("cpu_atom",),
    source="Intel perfmon, arrowlake 1.20, lunarlake 1.26, pantherlake 1.07, cpu_atom",
)

GRACEMONT: Final = Recipe(
    slug="gracemont",
    name="Intel Gracemont, also the E cores of Alder Lake and Raptor Lake",
    pmu=_ATOM,
    events=(_E_LOADS, _E_STORES),
    flops=(),
    accesses=LOADS_STORES,
    widths=(),
    counters=4,
    note="this core has no event that counts floating-point operations",
    source="Intel perfmon, alderlake, cpu_atom",
)
