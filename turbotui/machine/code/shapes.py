"""Shapes of roof kernels: operation or access, width, precision and unrolling."""

from __future__ import annotations

from enum import Enum

from turbotui.dataclass import dataclass
from turbotui.quantities.precision import Precision


class Operation(Enum):
    """A floating-point instruction stream; the value is the name shown to people."""

    ADD = "ADD"
    MUL = "MUL"
    ADD_MUL = "ADD+MUL"
    FMA = "FMA"

    @property
    def flops(self) -> int:
        """Operations of one instruction and lane; a fused multiply-add is two."""
        return 2 if self is Operation.FMA else 1


class Mix(Enum):
    """Accesses of a memory kernel as (loads, stores) of one group and whether the caches are passed by.

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
        """The words shown to people."""
        return {Mix.LOADS: "loads", Mix.TWO_ONE: "2 loads : 1 store", Mix.STORES: "stores",
                Mix.STREAMING: "streaming stores"}[self]


class Encoding(Enum):
    """How a vector instruction is written down."""

    LEGACY = "legacy SSE"
    VEX = "VEX"
    EVEX = "EVEX"
    A64 = "A64"
    SVE = "SVE"
    TILES = "VEX, of matrix tiles"


@dataclass(frozen=True, slots=True)
class VectorIsa:
    """A width of floating-point instructions that a core may have.

    Attributes:
        name: "scalar", "SSE", "AVX", "AVX-512", "NEON", "SVE".
        architecture: as `CpuModel.architecture`.
        bits: of a vector; 0 for scalar, whose width is the precision's. SVE: the machine's vector length.
        encoding: how its instructions are encoded.
        flags: of /proc/cpuinfo that must all be there.
        fma: flags that fused multiply-add needs besides.
        half: flags that half precision needs besides; None: no kernels are written for it.
    """

    name: str
    architecture: str
    bits: int
    encoding: Encoding
    flags: frozenset[str]
    fma: frozenset[str] = frozenset()
    half: frozenset[str] | None = None

    def bytes(self, precision: Precision) -> int:
        """Bytes of one register's worth of data."""
        return self.bits // 8 or precision.value

    def lanes(self, precision: Precision) -> int:
        """Numbers in one register."""
        return self.bytes(precision) // precision.value


@dataclass(frozen=True, slots=True)
class LoopShape:
    """How a kernel's loop is laid out.

    Attributes:
        streams: independent accumulators of an arithmetic kernel; 0 for a memory kernel.
        unroll: repetitions of the accumulators, or groups of accesses, in the loop body.
    """

    streams: int
    unroll: int

    def __str__(self) -> str:
        return f"{self.streams}x{self.unroll}" if self.streams else f"x{self.unroll}"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function (iterations, base address, bytes) -> nothing, in the C calling convention of its architecture.

    An arithmetic kernel runs its body `iterations` times and finds at `base` three registers' worth of data:
    multiplier, addend, starting value; it leaves its first accumulator behind them. A memory kernel walks `bytes`
    bytes from `base` `iterations` times.

    Attributes:
        code: machine code; position independent.
        work: floating-point operations, bytes, or cycles of one loop body.
        body: (start, end) of the loop in `code`, for disassembly.
        shape: its layout.
    """

    code: bytes
    work: int
    body: tuple[int, int]
    shape: LoopShape
