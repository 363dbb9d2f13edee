"""Kinds of work, with the events that each causes per instruction.

The figures are plausible for the kind, not measured on a machine: a simulation only needs numbers that agree with each
other, and is marked as one.
"""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass
from turbotui.simulated.basis import CPU_CYCLES, CPU_WORK, KINDS, Form, form_of

COMPUTE: Final = 0
MEMORY: Final = 1
INTEGER: Final = 2
LIGHT: Final = 3

LINE: Final = 64
"""Bytes of a cache line."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of work.

    Attributes:
        name: in a word.
        ipc: instructions per core cycle with the core to itself, on the reference core.
        activity: switched capacitance against dense vector code.
        loads, stores, branches, branch_misses, l1_misses, l2_references, l2_misses, llc_references, llc_misses,
            tlb_misses: events per instruction.
        scalar, wide: floating-point instructions per instruction, scalar and of the machine's full vector width.
        single: share of the floating-point instructions in single precision.
        bfloat: dot products of bfloat16 numbers per instruction, of the machine's full vector width.
        vnni: likewise of int8 numbers.
        front_stall, back_stall: share of the cycles.
        user, nice, system, irq, softirq: how /proc/stat books the time; they add up to 1.
        io_wait: share of the idle time booked as iowait.
    """

    name: str
    ipc: float
    activity: float
    loads: float
    stores: float
    branches: float
    branch_misses: float
    l1_misses: float
    l2_references: float
    l2_misses: float
    llc_references: float
    llc_misses: float
    tlb_misses: float
    scalar: float
    wide: float
    single: float
    front_stall: float
    back_stall: float
    user: float
    nice: float
    system: float
    irq: float
    softirq: float
    io_wait: float
    bfloat: float = 0.0
    vnni: float = 0.0


WORKLOADS: Final[tuple[Workload, ...]] = (
    Workload(
        name="dense algebra", ipc=2.4, activity=1.0, loads=0.34, stores=0.06, branches=0.03, branch_misses=0.0001,
        l1_misses=0.012, l2_references=0.014, l2_misses=0.003, llc_references=0.0035, llc_misses=0.0004,
        tlb_misses=0.0001, scalar=0.01, wide=0.42, single=0.1, front_stall=0.02, back_stall=0.18,
        user=0.985, nice=0.0, system=0.012, irq=0.002, softirq=0.001, io_wait=0.0,
    ),
    Workload(
        name="streaming", ipc=0.7, activity=0.62, loads=0.4, stores=0.2, branches=0.08, branch_misses=0.0002,
        l1_misses=0.06, l2_references=0.07, l2_misses=0.035, llc_references=0.036, llc_misses=0.017,
        tlb_misses=0.0008, scalar=0.02, wide=0.15, single=0.0, front_stall=0.01, back_stall=0.74,
        user=0.965, nice=0.0, system=0.03, irq=0.003, softirq=0.002, io_wait=0.01,
    ),
    Workload(
        name="compiling", ipc=1.35, activity=0.7, loads=0.27, stores=0.12, branches=0.21, branch_misses=0.0042,
        l1_misses=0.018, l2_references=0.03, l2_misses=0.008, llc_references=0.0088, llc_misses=0.0012,
        tlb_misses=0.0015, scalar=0.002, wide=0.0, single=0.5, front_stall=0.21, back_stall=0.27,
        user=0.83, nice=0.05, system=0.1, irq=0.008, softirq=0.012, io_wait=0.12,
    ),
    Workload(
        name="background", ipc=0.8, activity=0.5, loads=0.26, stores=0.13, branches=0.19, branch_misses=0.006,
        l1_misses=0.03, l2_references=0.05, l2_misses=0.014, llc_references=0.015, llc_misses=0.004,
        tlb_misses=0.003, scalar=0.001, wide=0.0, single=0.5, front_stall=0.3, back_stall=0.33,
        user=0.44, nice=0.02, system=0.46, irq=0.03, softirq=0.05, io_wait=0.03,
    ),
)  # fmt: skip


def per_instruction(rates: tuple[float, ...], ipc_scale: float, works: tuple[Workload, ...] = WORKLOADS) -> Form:
    """Return a form that counts `rates[kind]` events per retired instruction of each kind."""
    return form_of({CPU_WORK + kind: rates[kind] * works[kind].ipc * ipc_scale for kind in range(KINDS)})


def per_cycle(rates: tuple[float, ...]) -> Form:
    """Return a form that counts `rates[kind]` events per unhalted cycle of each kind."""
    return form_of({CPU_CYCLES + kind: rates[kind] for kind in range(KINDS)})
