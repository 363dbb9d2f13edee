"""Recipes of Intel's cores (Intel perfmon tables; the i7-3770K's as in the paper's table 1).

Raw codes are umask << 8 | event, as perf's `cpu/config=.../` takes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turbotui.quantities.precision import Precision
from turbotui.quantities.recipes import LOADS_STORES, Event, Recipe, Term, Width

_D, _S = Precision.DOUBLE, Precision.SINGLE
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
    name="Intel Broadwell to Granite Rapids, P cores",
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
    note="without x87, half precision and AMX",
    source="Intel perfmon, broadwell to graniterapids",
)

INTEL_E: Final = Recipe(
    slug="crestmont",
    name="Intel Sierra Forest and Grand Ridge, E cores",
    pmu=_ATOM,
    events=(
        Event("flops double", 0x01C8, "FP_FLOPS_RETIRED.FP64"),
        Event("flops single", 0x02C8, "FP_FLOPS_RETIRED.FP32"),
        _INTEL_LOADS,
        _INTEL_STORES,
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
    source="Intel perfmon, sierraforest and grandridge",
)
CLIENT_E: Final = replace(
    INTEL_E, slug="client-e", name="E cores of Intel Meteor Lake and later", pmu=("cpu_atom",),
    source="Intel perfmon, meteorlake and lunarlake, cpu_atom",
    unverified="FP_INST_RETIRED, from which the width of an access is made, is listed for the server parts only",
)

GRACEMONT: Final = Recipe(
    slug="gracemont",
    name="Intel Gracemont, also the E cores of Alder Lake and Raptor Lake",
    pmu=_ATOM,
    events=(_INTEL_LOADS, _INTEL_STORES),
    flops=(),
    accesses=LOADS_STORES,
    widths=(),
    counters=4,
    note="this core has no event that counts floating-point operations",
    source="Intel perfmon, alderlake, cpu_atom",
)
