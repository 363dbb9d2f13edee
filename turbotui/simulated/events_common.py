"""Counts of every core, by name, as forms over a CPU's integrals; event tables map event codes to names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.simulated.basis import (
    CPU_BUSY,
    CPU_CYCLES,
    CPU_IDLE,
    CPU_POLL_CYCLES,
    CPU_WORK,
    KINDS,
    Form,
    form_of,
    scaled,
    sum_of,
)
from turbotui.simulated.shapes import CoreType
from turbotui.simulated.workloads import WORKLOADS, per_cycle, per_instruction

APERF: Final = form_of({**{CPU_CYCLES + kind: 1.0 for kind in range(KINDS)}, CPU_POLL_CYCLES: 1.0})
"""Cycles in C0 at the actual frequency."""
MPERF_SECONDS: Final = form_of({**{CPU_BUSY + kind: 1.0 for kind in range(KINDS)}, CPU_IDLE: 1.0})
"""Seconds in C0: running, and polling (x86, where cpuidle's state 0 is POLL)."""


def c0_seconds(kind: CoreType) -> Form:
    """Seconds that a CPU runs instructions, polling included where the machine polls."""
    return MPERF_SECONDS if kind.idle[0].depth == 0 else form_of({CPU_BUSY + work: 1.0 for work in range(KINDS)})


L1_MISS_CYCLES: Final = 21.0
"""Core cycles that a load is under way which misses the level 1 data cache."""
_FMA: Final = 2.0
"""A fused multiply-add counts twice in every floating-point event used here (docs/specs/carm.md 5)."""


def access_bytes(kind: CoreType) -> tuple[float, ...]:
    """Return the mean width of a load or store by kind of work: full vectors for vector code, else 8 bytes."""
    vector = kind.vector_bits / 8.0
    return tuple(vector if work.wide or work.bfloat else 8.0 for work in kind.works)


def counts(kind: CoreType) -> Mapping[str, Form]:
    """Return everything countable on a core of this type, by turbotui's own names."""

    def ratio(attribute: str, factor: tuple[float, ...] = (1.0,) * KINDS) -> Form:
        values = tuple(float(getattr(work, attribute)) * factor[n] for n, work in enumerate(kind.works))
        return per_instruction(values, kind.ipc, kind.works)

    def floating(attribute: str, single: bool) -> Form:
        share = tuple(_FMA * (work.single if single else 1.0 - work.single) for work in kind.works)
        return ratio(attribute, share)

    width = access_bytes(kind)
    double_lanes, single_lanes = kind.vector_bits / 64.0, kind.vector_bits / 32.0
    scalar_double, scalar_single = floating("scalar", False), floating("scalar", True)
    wide_double, wide_single = floating("wide", False), floating("wide", True)
    flops_double = sum_of(scalar_double, scaled(wide_double, double_lanes))
    flops_single = sum_of(scalar_single, scaled(wide_single, single_lanes))
    loads, stores = ratio("loads"), ratio("stores")
    instructions = per_instruction((1.0,) * KINDS, kind.ipc, kind.works)
    llc_references, llc_misses = ratio("llc_references"), ratio("llc_misses")
    l2_references, l2_misses = ratio("l2_references"), ratio("l2_misses")
    return {
        "cycles": APERF,
        "instructions": instructions,
        "loads": loads,
        "stores": stores,
        "accesses": sum_of(loads, stores),
        "load-bytes": ratio("loads", width),
        "store-bytes": ratio("stores", width),
        "bytes": sum_of(ratio("loads", width), ratio("stores", width)),
        "branches": ratio("branches"),
        "branch-misses": ratio("branch_misses"),
        "l1-misses": ratio("l1_misses"),
        "l1-pending": scaled(ratio("l1_misses"), L1_MISS_CYCLES),
        "l1-hits": sum_of(loads, scaled(ratio("l1_misses"), -1.0)),
        "l1i-misses": scaled(ratio("branch_misses"), 1.7),
        "l2-references": l2_references,
        "l2-misses": l2_misses,
        "l2-hits": sum_of(l2_references, scaled(l2_misses, -1.0)),
        "llc-references": llc_references,
        "llc-misses": llc_misses,
        "llc-hits": sum_of(llc_references, scaled(llc_misses, -1.0)),
        "llc-stores": scaled(llc_references, 0.3),
        "llc-store-misses": scaled(llc_misses, 0.3),
        "tlb-misses": ratio("tlb_misses"),
        "store-tlb-misses": scaled(ratio("tlb_misses"), 0.25),
        "itlb-misses": scaled(ratio("tlb_misses"), 0.2),
        "front-stalls": per_cycle(tuple(work.front_stall for work in kind.works)),
        "back-stalls": per_cycle(tuple(work.back_stall for work in kind.works)),
        "productive-cycles": per_cycle(tuple(1.0 - work.back_stall for work in kind.works)),
        "licence-0": sum_of(per_cycle((0.0, 0.5, 1.0, 1.0)), ((CPU_POLL_CYCLES, 1.0),)),
        "licence-1": per_cycle((0.1, 0.5, 0.0, 0.0)),
        "licence-2": per_cycle((0.9, 0.0, 0.0, 0.0)),
        "fp-scalar-double": scalar_double,
        "fp-scalar-single": scalar_single,
        "fp-wide-double": wide_double,
        "fp-wide-single": wide_single,
        "fp-double": sum_of(scalar_double, wide_double),
        "fp-single": sum_of(scalar_single, wide_single),
        "fp-scalar-ops": sum_of(scalar_double, scalar_single),
        "fp-wide-ops": sum_of(scaled(wide_double, double_lanes), scaled(wide_single, single_lanes)),
        "fp-instructions": scaled(sum_of(scalar_double, scalar_single, wide_double, wide_single), 1.0 / _FMA),
        "fp-scalar-instructions": scaled(sum_of(scalar_double, scalar_single), 1.0 / _FMA),
        "fp-wide-instructions": sum_of(scaled(sum_of(wide_double, wide_single), 1.0 / _FMA), ratio("bfloat")),
        "flops": sum_of(flops_double, flops_single),
        "flops-double": flops_double,
        "flops-single": flops_single,
        "vnni": ratio("vnni"),
        "flops-bfloat16": scaled(ratio("bfloat"), _FMA * kind.vector_bits / 16.0),
        "flops-scalar-double": scalar_double,
        "flops-scalar-single": scalar_single,
        "flops-wide-double": scaled(wide_double, double_lanes),
        "flops-wide-single": scaled(wide_single, single_lanes),
        "memory-read-lines": llc_misses,
        "memory-write-lines": scaled(llc_misses, 0.45),
        "zero": (),
    }


def in_mode(form: Form, user: bool, kernel: bool) -> Form:
    """Return the part of a count in user mode, kernel mode or both; idle polling and time belong to the kernel."""
    if user and kernel:
        return form

    def share(index: int) -> float:
        for first in (CPU_BUSY, CPU_CYCLES, CPU_WORK):
            if first <= index < first + KINDS:
                work = WORKLOADS[index - first]
                own = work.user + work.nice
                return (own if user else 0.0) + (1.0 - own if kernel else 0.0)
        return 1.0 if kernel else 0.0

    return form_of({index: weight * share(index) for index, weight in form})
