"""The widths of floating-point instructions of a machine, and the kernels for its architecture."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.code import a64, x86
from turbotui.machine.code.mapping import CodePage
from turbotui.machine.code.shapes import Kernel, LoopShape, Mix, Operation, VectorIsa
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.uname import own_uname
from turbotui.quantities.precision import Precision


class _Arithmetic(Protocol):
    def __call__(self, isa: VectorIsa, precision: Precision, operation: Operation, shape: LoopShape,
                 flags: frozenset[str]) -> Kernel: ...


class _Memory(Protocol):
    def __call__(self, isa: VectorIsa, precision: Precision, mix: Mix, shape: LoopShape,
                 flags: frozenset[str]) -> Kernel: ...


class _Clock(Protocol):
    def __call__(self, shape: LoopShape) -> Kernel: ...


@dataclass(frozen=True, slots=True)
class KernelAssembler:
    """The kernels of one architecture and the loop shapes worth trying.

    Attributes:
        arithmetic: shapes of arithmetic kernels; the streams must cover latency times units (Zen 5: 8, Intel: 10; Arm
            cores with six units: 24).
        pairs: shapes of memory kernels; the fastest one depends on level and core (8 vectors a loop read L2 of Zen 5
            twice as fast as 32).
    """

    write_arithmetic: _Arithmetic
    write_memory: _Memory
    write_clock: _Clock
    arithmetic: tuple[LoopShape, ...]
    memory: Mapping[Mix, tuple[LoopShape, ...]]


ASSEMBLERS: Final[Mapping[str, KernelAssembler]] = MappingProxyType({
    "x86_64": KernelAssembler(
        x86.arithmetic, x86.memory, x86.clock,
        (LoopShape(8, 4), LoopShape(10, 4), LoopShape(12, 4), LoopShape(14, 2)),
        dict.fromkeys(Mix, (LoopShape(0, 4), LoopShape(0, 8), LoopShape(0, 16))),
    ),
    "aarch64": KernelAssembler(
        a64.arithmetic, a64.memory, a64.clock,
        (LoopShape(12, 4), LoopShape(16, 4), LoopShape(24, 2), LoopShape(30, 2)),
        dict.fromkeys(Mix, (LoopShape(0, 2), LoopShape(0, 4), LoopShape(0, 8))),
    ),
})


def assembler_of(model: CpuModel) -> KernelAssembler:
    """The kernels for a machine. Raises MachineError if there are no kernels for its architecture."""
    if (assembler := ASSEMBLERS.get(model.architecture)) is None:
        raise MachineError(
            f"no roof kernels exist for {model.architecture or 'this architecture'}; there are "
            f"{' and '.join(ASSEMBLERS)}: use --theory")
    return assembler


def described_isas(model: CpuModel, sve_bits: int = 0) -> tuple[VectorIsa, ...]:
    """The widths in /proc/cpuinfo, ascending; SVE only if its vector length is known."""
    known = (*x86.X86_ISAS, *a64.NEON_ISAS, *((a64.sve_isa(sve_bits),) if sve_bits else ()))
    return tuple(isa for isa in known if isa.architecture == model.architecture and isa.flags <= model.flags)


def why_not_runnable(model: CpuModel) -> str:
    """Why this process cannot execute kernels for a machine; "" if it can.

    /proc/cpuinfo describes another processor under a user-mode emulator, and in a sandbox with a made-up one.
    """
    if model.architecture not in ASSEMBLERS:
        return f"no roof kernels exist for {model.architecture or 'this architecture'}"
    native = own_uname().machine
    if model.architecture != native:
        return f"/proc/cpuinfo is of an {model.architecture} processor, and this process runs as {native}"
    if sys.maxsize < 1 << 32:
        return f"this process is of 32 bits, and roof kernels are written for {native}"
    return ""


def runnable_isas(model: CpuModel) -> tuple[VectorIsa, ...]:
    """The widths of the machine that runs this code; the SVE vector length comes from an instruction.

    Raises:
        MachineError: this process cannot execute kernels for it.
    """
    if why_not := why_not_runnable(model):
        raise MachineError(f"{why_not}: use --theory")
    bits = 0
    if model.architecture == "aarch64" and "sve" in model.flags:
        with CodePage(a64.vector_length()) as page:
            bits = 8 * page.answer()
    return described_isas(model, bits)


MATRIX_SHAPES: Final = (LoopShape(4, 4), LoopShape(6, 4))
_REQUEST: Final = (158, 0x1023, 18)  # arch_prctl(2), ARCH_REQ_XCOMP_PERM, XTILEDATA (kernel arch/x86/xstate.rst)


def product_isas(model: CpuModel) -> tuple[tuple[VectorIsa, ...], str]:
    """The instructions for sums of products that this process may run, and why not if there are some that it may not.

    Of the dot products of one format, only the widest.
    """
    if why_not_runnable(model):
        return (), ""
    vectors: dict[Precision, VectorIsa] = {}
    for isa in (*x86.DOT_PRODUCTS, *a64.PRODUCTS):
        if isa.architecture == model.architecture and isa.flags <= model.flags:
            vectors.setdefault(isa.format, isa)
    tiles = tuple(isa for isa in x86.AMX if isa.architecture == model.architecture and isa.flags <= model.flags)
    # the kernel lets a process use tiles on request
    why_not = _why_no_tiles() if tiles else ""
    return (*vectors.values(), *(() if why_not else tiles)), why_not


def _why_no_tiles() -> str:
    if ctypes.CDLL(None, use_errno=True).syscall(*(ctypes.c_long(argument) for argument in _REQUEST)) != 0:
        why = os.strerror(ctypes.get_errno())
        return f"AMX is not measured: the kernel does not let this process use it: {why}"
    return ""


def operations(isa: VectorIsa, flags: frozenset[str]) -> tuple[Operation, ...]:
    """Operations that can be measured at a width; mixed additions and multiplications where nothing fuses them."""
    if isa.products:
        return (Operation.FMA,)
    if isa.fma <= flags:
        return (Operation.FMA, Operation.ADD, Operation.MUL)
    return (Operation.ADD_MUL, Operation.ADD, Operation.MUL)
