"""Recipes of Arm's and NVIDIA's cores. Codes are event numbers (Arm Neoverse Technical Reference Manuals)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turbotui.quantities.precision import Precision
from turbotui.quantities.recipes import LOADS_STORES, Event, Recipe, Term, Width

_D, _S, _H = Precision.DOUBLE, Precision.SINGLE, Precision.HALF
_ARM_PMU: Final = ("armv8_pmuv3_0", "armv8_pmuv3", "armv9_pmuv3_0")

_ARM_FLOPS: Final = (
    Event("scale flops", 0x80C0, "FP_SCALE_OPS_SPEC"),
    Event("fixed flops", 0x80C1, "FP_FIXED_OPS_SPEC"),
)
_ARM_BYTES: Final = (
    Event("scale bytes", 0x80DA, "LDST_SCALE_BYTES_SPEC", optional=True),
    Event("fixed bytes", 0x80DB, "LDST_FIXED_BYTES_SPEC", optional=True),
)
_ARM_MEMORY: Final = (
    Event("loads", 0x0070, "LD_SPEC"),
    Event("stores", 0x0071, "ST_SPEC"),
)
_ARM_EXACT: Final = (Term("scale bytes", 1, per_vector=True), Term("fixed bytes", 1))
_ARM_NOTE: Final = "all counts are speculative"
_ARM_PRECISIONS: Final = (
    Event("double instructions", 0x801C, "FP_DP_SPEC", optional=True),
    Event("single instructions", 0x8018, "FP_SP_SPEC", optional=True),
    Event("half instructions", 0x8014, "FP_HP_SPEC", optional=True),
)
"""Instructions by precision (linux tools/perf/pmu-events/arch/arm64: neoverse-n2-v2/fp_operation.json, and the
metrics fp16_percentage, fp32_percentage, fp64_percentage of neoverse-n3 and neoverse-v3; codes in
common-and-microarch.json)."""
_ARM_SHARES: Final = (Term("double instructions", 1, _D), Term("single instructions", 1, _S),
                      Term("half instructions", 1, _H))

NEOVERSE: Final = Recipe(
    slug="neoverse",
    name="Arm Neoverse N2, V1 and V2",
    pmu=_ARM_PMU,
    instructions=0x0008,  # INST_RETIRED
    events=(
        *_ARM_FLOPS, *_ARM_BYTES, *_ARM_MEMORY,
        Event("vector instructions", 0x8005, "ASE_INST_SPEC"),
        Event("sve instructions", 0x8006, "SVE_INST_SPEC"),
        Event("scalar instructions", 0x0075, "VFP_SPEC"),
        *_ARM_PRECISIONS,
    ),
    flops=(Term("scale flops", 1, per_vector=True), Term("fixed flops", 1)),
    shares=_ARM_SHARES,
    accesses=LOADS_STORES,
    exact_bytes=_ARM_EXACT,
    widths=(
        Width("scalar instructions", 0, "scalar"), Width("vector instructions", 16, "NEON"),
        Width("sve instructions", 16, "SVE", per_vector=True),
    ),
    counters=6,
    reduced_note=f"precision cannot be told apart; {_ARM_NOTE}",
    note=f"operations are divided among precisions by their instructions; {_ARM_NOTE}",
    source="Arm Architecture Reference Manual DDI 0487, D14; Neoverse N2, V1, V2 Technical Reference Manuals",
)
NEOVERSE_LATER: Final = replace(
    NEOVERSE, slug="neoverse-later", name="Arm Neoverse N3 and V3",
    source="Arm Architecture Reference Manual DDI 0487, D14; linux tools/perf/pmu-events/arch/arm64/arm, neoverse-n3 "
           "and neoverse-v3",
    unverified="the bytes of loads and stores are taken to be counted as on N2 and V2: their tables do not list them",
)
OLYMPUS: Final = Recipe(
    slug="olympus",
    name="NVIDIA Olympus",
    pmu=_ARM_PMU,
    instructions=0x0008,  # INST_RETIRED
    events=(
        Event("scale double", 0x80C6, "FP_DP_SCALE_OPS_SPEC"),
        Event("fixed double", 0x80C7, "FP_DP_FIXED_OPS_SPEC"),
        Event("scale single", 0x80C4, "FP_SP_SCALE_OPS_SPEC"),
        Event("fixed single", 0x80C5, "FP_SP_FIXED_OPS_SPEC"),
        *_ARM_BYTES, *_ARM_MEMORY,
        Event("vector instructions", 0x8005, "ASE_INST_SPEC"),
        Event("sve instructions", 0x8006, "SVE_INST_SPEC"),
        Event("scalar instructions", 0x0075, "VFP_SPEC"),
    ),
    flops=(
        Term("scale double", 1, _D, per_vector=True), Term("fixed double", 1, _D),
        Term("scale single", 1, _S, per_vector=True), Term("fixed single", 1, _S),
    ),
    accesses=LOADS_STORES,
    exact_bytes=_ARM_EXACT,
    widths=NEOVERSE.widths,
    counters=6,
    note=f"half precision is not counted in; {_ARM_NOTE}",
    source="linux tools/perf/pmu-events/arch/arm64, nvidia olympus",
)
NEOVERSE_N1: Final = Recipe(
    slug="neoverse-n1",
    name="Arm Neoverse N1",
    pmu=_ARM_PMU,
    instructions=0x0008,  # INST_RETIRED
    events=(
        Event("scalar instructions", 0x0075, "VFP_SPEC"),
        Event("vector instructions", 0x0074, "ASE_SPEC"),
        *_ARM_MEMORY,
    ),
    flops=(),
    accesses=LOADS_STORES,
    widths=(Width("scalar instructions", 0, "scalar"), Width("vector instructions", 16, "NEON")),
    counters=6,
    note=f"this core counts floating-point instructions, not operations; {_ARM_NOTE}",
    source="Neoverse N1 Technical Reference Manual",
)
