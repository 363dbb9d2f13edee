"""Kinds of work, with the events that each causes per instruction; the figures are in `workloads.toml`."""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.simulated.basis import CPU_CYCLES, CPU_WORK, KINDS, Form, form_of

COMPUTE: Final = 0
MEMORY: Final = 1
INTEGER: Final = 2
LIGHT: Final = 3

KINDS_OF_WORK: Final = ("compute", "memory", "integer", "light")
"""The tables of the kinds of work that a CPU's load consists of, by the numbers above."""
_FILE: Final = FactFile("simulated/workloads.toml")
LINE: Final = 64
"""Bytes of a cache line."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of work."""

    name: str  # in a word
    ipc: float  # instructions per core cycle with the core to itself, on the reference core
    # switched capacitance against dense vector code. loads, stores, branches, branch_misses, l1_misses, l2_references,
    # l2_misses, llc_references, llc_misses, tlb_misses: events per instruction
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
    # scalar, wide: floating-point instructions per instruction, scalar and of the machine's full vector width
    scalar: float
    wide: float
    single: float  # share of the floating-point instructions in single precision
    # front_stall, back_stall: share of the cycles
    front_stall: float
    back_stall: float
    # user, nice, system, irq, softirq: how /proc/stat books the time; they add up to 1
    user: float
    nice: float
    system: float
    irq: float
    softirq: float
    io_wait: float  # share of the idle time booked as iowait
    bfloat: float = 0.0  # dot products of bfloat16 numbers per instruction, of the machine's full vector width
    vnni: float = 0.0  # likewise of int8 numbers


def workload(table: str) -> Workload:
    """Return the kind of work that a table describes."""
    return _FILE.row(Workload, table, _FILE.inherited(table))


WORKLOADS: Final[tuple[Workload, ...]] = tuple(map(workload, KINDS_OF_WORK))


def per_instruction(rates: tuple[float, ...], ipc_scale: float, works: tuple[Workload, ...] = WORKLOADS) -> Form:
    """Return a form that counts `rates[kind]` events per retired instruction of each kind."""
    return form_of({CPU_WORK + kind: rates[kind] * works[kind].ipc * ipc_scale for kind in range(KINDS)})


def per_cycle(rates: tuple[float, ...]) -> Form:
    """Return a form that counts `rates[kind]` events per unhalted cycle of each kind."""
    return form_of({CPU_CYCLES + kind: rates[kind] for kind in range(KINDS)})
