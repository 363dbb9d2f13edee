"""Shapes of roof kernels: operation or access, width, precision and unrolling."""

from __future__ import annotations

import struct
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.precision import Precision


class Operation(Enum):
    """A floating-point instruction stream, by the name shown to people."""

    ADD = "ADD"
    MUL = "MUL"
    ADD_MUL = "ADD+MUL"
    FMA = "FMA"

    @property
    def flops(self) -> int:
        """Operations of one instruction and lane; a fused multiply-add is two."""
        return 2 if self is Operation.FMA else 1


class Mix(Enum):
    """Accesses of a memory kernel: (loads, stores) of one group, and whether they bypass the caches.

    Addresses are consecutive throughout.
    """

    LOADS = (1, 0, False)
    TWO_ONE = (2, 1, False)
    STORES = (0, 1, False)
    STREAMING = (0, 1, True)

    @property
    def accesses(self) -> tuple[int, int]:
        """Loads and stores of one group."""
        return self.value[:2]

    @property
    def word(self) -> str:
        """The name shown to people."""
        return {Mix.LOADS: "loads", Mix.TWO_ONE: "2 loads : 1 store", Mix.STORES: "stores",
                Mix.STREAMING: "streaming stores"}[self]


class Encoding(Enum):
    """How a vector instruction is encoded."""

    LEGACY = "legacy SSE"
    VEX = "VEX"
    EVEX = "EVEX"
    A64 = "A64"
    SVE = "SVE"
    TILES = "VEX, of matrix tiles"


@dataclass(frozen=True, slots=True)
class VectorIsa:
    """A width of floating-point instructions that a core may have, or of those that add products of short numbers."""

    name: str  # "scalar", "SSE", "AVX", "AVX-512", "NEON", "SVE"
    architecture: str  # as `CpuModel.architecture`
    bits: int  # of a vector; 0 for scalars, whose width is that of the precision. For SVE, the machine's vector length.
    encoding: Encoding  # how its instructions are encoded
    flags: frozenset[str]  # of /proc/cpuinfo, all of which are required
    fma: frozenset[str] = frozenset()  # further flags that fused multiply-add requires
    # further flags that half precision requires; None if there are no kernels for it
    half: frozenset[str] | None = None
    # sums of products of short numbers (dot products, matrix products): products of one instruction; 0 for all other
    # instructions
    products: int = 0
    format: Precision = Precision.DOUBLE  # of the numbers that such an instruction multiplies

    def bytes(self, precision: Precision) -> int:
        """Bytes of one register's worth of data."""
        return self.bits // 8 or precision.value

    def lanes(self, precision: Precision) -> int:
        """Numbers in one register."""
        return self.bytes(precision) // precision.value

    def work(self, precision: Precision, operation: Operation) -> int:
        """Operations of one instruction; a product that is added is two."""
        return 2 * self.products or self.lanes(precision) * operation.flops


@dataclass(frozen=True, slots=True)
class LoopShape:
    """The layout of a kernel's loop."""

    streams: int  # independent accumulators of an arithmetic kernel; 0 for a memory kernel
    unroll: int  # repetitions of the accumulators, or groups of accesses, in the loop body

    def __str__(self) -> str:
        return f"{self.streams}x{self.unroll}" if self.streams else f"x{self.unroll}"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function (iterations, base address, bytes) -> nothing, in the C calling convention of its architecture.

    An arithmetic kernel runs its body `iterations` times. It finds three registers' worth of data at `base`
    (multiplier, addend, starting value) and leaves its first accumulator behind them. A memory kernel walks `bytes`
    bytes from `base` `iterations` times.
    """

    code: bytes  # machine code; position independent
    work: int  # floating-point operations, bytes, or cycles of one loop body
    body: tuple[int, int]  # (start, end) of the loop in `code`, for disassembly
    shape: LoopShape  # its layout


_MULTIPLIERS = {
    # x <- x * a + b has its fixed point near 1; x <- x * a alone grows by e^10 in a long round. Neither reaches
    # denormal numbers or infinity, where some cores are slower.
    Operation.FMA: 0.999999,
    Operation.ADD: 1.0,
    Operation.MUL: 1.0000001,
    Operation.ADD_MUL: 1.0000001,
}
ADDEND = 1e-6  # with 0.999999 the fixed point of x * a + b is 1
_HALF = {
    # Halves have 11 bits: closer to 1 there is only 1 itself, and 1e-6 is denormal. A sum stops growing where a step is
    # too small.
    Operation.FMA: (0.5, 0.5),
    Operation.ADD: (1.0, 2.0**-10),
    Operation.MUL: (1.0, 1.0),
    Operation.ADD_MUL: (1.0, 2.0**-10),
}


def arithmetic_data(operation: Operation, precision: Precision, size: int) -> bytes:
    """Multiplier, addend and starting value 1, each filling a register of `size` bytes, and room for the result."""
    letter = {Precision.DOUBLE: "d", Precision.SINGLE: "f", Precision.HALF: "e"}[precision]
    lanes = size // precision.value
    multiplier, addend = _MULTIPLIERS[operation], ADDEND
    if precision is Precision.HALF:
        multiplier, addend = _HALF[operation]
    values = [multiplier] * lanes + [addend] * lanes + [1.0] * lanes + [0.0] * lanes
    return struct.pack(f"<{len(values)}{letter}", *values)


_FACTORS = {Precision.HALF: (struct.pack("<H", 0x3C00), struct.pack("<H", 0x3F80)), Precision.INT8: (b"\1", b"\1")}
"""The numbers that are multiplied: bfloat16 of 2^-7 and 1, whose sums stay exact in single precision, and 1 and 1."""


def product_data(isa: VectorIsa) -> bytes:
    """The data that a kernel of products starts from: two registers of factors, sums of 0, then room for the result."""
    size = isa.bits // 8
    left, right = (factor * (size // len(factor)) for factor in _FACTORS[isa.format])
    return left + right + bytes(2 * size)


def tile_data(isa: VectorIsa) -> bytes:
    """The first data of a matrix kernel: configuration of all tiles, two tiles, and room for the result, 1 KiB each.

    The configuration is palette 1 with 16 rows of 64 bytes (Intel SDM vol. 1, 18.3).
    """
    configuration = struct.pack("<BB14x16H16B", 1, 0, *[64] * 8, *[0] * 8, *[16] * 8, *[0] * 8)
    left, right = (factor * (1024 // len(factor)) for factor in _FACTORS[isa.format])
    return configuration.ljust(1024, b"\0") + left + right + bytes(1024)


@dataclass(frozen=True, slots=True)
class ChainShape:
    """The lengths of chains of dependent instructions that are timed one after the other.

    The function (stamps, clock_gettime, rounds) stores five times in each round, 16 bytes each (struct timespec):
    before the first chain and after each of the four. The last is the first one again, shorter: the difference of the
    two is free of what taking the times costs.
    """

    anchor: int  # links of exclusive ors, each one cycle
    product: int  # links of multiplications
    checksum: int  # links of CRC32C
    short: int  # links of exclusive ors again
    unroll: int  # links in a loop body, which divides the others

    @property
    def links(self) -> tuple[int, int, int, int]:
        """The links of the four chains, in order."""
        return self.anchor, self.product, self.checksum, self.short


RAW_CLOCK: Final = 4
"""CLOCK_MONOTONIC_RAW (uapi linux/time.h), which no daemon slews: a clock 0.05 % fast would be such an error."""
