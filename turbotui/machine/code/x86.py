"""x86-64 roof kernels. Encodings: Intel SDM vol. 2, 2.1 (legacy), 2.3 (VEX), 2.7 (EVEX) and each instruction's page.

Calling convention: System V AMD64 psABI 3.2.3: iterations in rdi, base in rsi, bytes in rdx; all vector registers are
    caller-saved.
"""

from __future__ import annotations

import struct
from types import MappingProxyType
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.code.shapes import RAW_CLOCK, ChainShape, Encoding, Kernel, LoopShape, Mix, Operation, VectorIsa
from turbotui.quantities.precision import Precision

_RAX: Final = 0  # ModRM numbers of the general registers that loops address memory by (Intel SDM vol. 2, table 2-2)
_RSI: Final = 6
_LOOP_ALIGNMENT: Final = 64  # a loop that starts a cache line fills the fewest lines of the decoded-instruction cache
_ADDRESS_DISP8: Final = 0x40  # ModRM.mod = 01
_ADDRESS_DISP32: Final = 0x80  # ModRM.mod = 10
_MULTIPLIER, _ADDEND = 14, 15  # registers of the constants; accumulators are 0 to 13
_LOAD_REGISTERS: Final = 14
_STORED: Final = 15

X86_ISAS: Final = (
    VectorIsa("scalar", "x86_64", 0, Encoding.LEGACY, frozenset({"sse2"}), frozenset({"avx", "fma"})),
    VectorIsa("SSE", "x86_64", 128, Encoding.LEGACY, frozenset({"sse2"}), frozenset({"avx", "fma"})),
    VectorIsa("AVX", "x86_64", 256, Encoding.VEX, frozenset({"avx"}), frozenset({"fma"})),
    VectorIsa("AVX-512", "x86_64", 512, Encoding.EVEX, frozenset({"avx512f"}), half=frozenset({"avx512_fp16"})),
)
"""Widths in ascending order. Scalar and SSE are encoded in VEX if the machine has AVX, as compilers do."""
AMX: Final = tuple(
    VectorIsa("AMX", "x86_64", 8192, Encoding.TILES, frozenset({"amx_tile", flag}),
              products=16 * 16 * 64 // precision.value,
              format=precision)
    for flag, precision in (("amx_bf16", Precision.HALF), ("amx_int8", Precision.INT8))
)
"""Tiles of 16 rows of 64 bytes, which multiply bfloat16 into single precision, int8 into 32 bits (SDM vol. 1, 18)."""
DOT_PRODUCTS: Final = (
    VectorIsa("AVX-512 BF16", "x86_64", 512, Encoding.EVEX, frozenset({"avx512f", "avx512_bf16"}), products=32,
              format=Precision.HALF),
    VectorIsa("AVX-512 VNNI", "x86_64", 512, Encoding.EVEX, frozenset({"avx512f", "avx512_vnni"}), products=64,
              format=Precision.INT8),
    VectorIsa("AVX-VNNI", "x86_64", 256, Encoding.VEX, frozenset({"avx_vnni"}), products=32, format=Precision.INT8),
)
"""Vectors whose short numbers are multiplied, and added in lanes of 32 bits."""


@dataclass(frozen=True, slots=True)
class Opcode:
    """An instruction's opcode byte, for packed and for scalar operands, its opcode map, and a prefix of its own."""

    packed: int
    scalar: int
    map: int = 1
    fused: bool = False
    prefix: int | None = None


_MAP_0F, _MAP_0F38 = 1, 2  # VEX.mmmmm
_MAP_5, _MAP_6 = 5, 6  # EVEX.mmm of AVX512-FP16 instead of them (Intel SDM vol. 2, 2.7.1)
OPCODES: Final = MappingProxyType({
    "add": Opcode(0x58, 0x58),  # ADDPD, ADDPS, ADDSD, ADDSS
    "mul": Opcode(0x59, 0x59),  # MULPD ...
    "fma": Opcode(0xA8, 0xA9, _MAP_0F38, fused=True),  # VFMADD213PD: first = second * first + third
    "int8": Opcode(0x50, 0x50, _MAP_0F38, prefix=0x66),  # VPDPBUSD: first += second * third, unsigned by signed
    "half": Opcode(0x52, 0x52, _MAP_0F38, prefix=0xF3),  # VDPBF16PS
    "load": Opcode(0x28, 0x10),  # MOVAPD; MOVSD
    "store": Opcode(0x29, 0x11),
    "stream": Opcode(0x2B, 0x2B),  # MOVNTPD, MOVNTPS: a line is written without having been read
})

_PREFIXES: Final = MappingProxyType({
    (True, Precision.DOUBLE): 0xF2,
    (True, Precision.SINGLE): 0xF3,
    (False, Precision.DOUBLE): 0x66,
    (False, Precision.SINGLE): 0,
    (False, Precision.HALF): 0,  # of arithmetic; registers of halves are moved as singles
})
"""The mandatory prefix by (scalar, precision)."""
_PP: Final = MappingProxyType({0: 0, 0x66: 1, 0xF3: 2, 0xF2: 3})
"""VEX.pp and EVEX.pp (SDM vol. 2, table 2-9)."""


@dataclass(frozen=True, slots=True)
class X86Writer:
    """Writes vector instructions of one width, precision and encoding."""

    bits: int
    precision: Precision
    encoding: Encoding

    @property
    def size(self) -> int:
        """Bytes of a memory operand."""
        return self.bits // 8 or self.precision.value

    def registers(self, name: str, target: int, first: int, second: int) -> bytes:
        """`name target, first, second`; for a legacy instruction target and first must be equal."""
        return self._instruction(OPCODES[name], target, first, bytes([0xC0 | (target & 7) << 3 | second & 7]), second)

    def load(self, target: int, base: int, displacement: int) -> bytes:
        """An aligned load."""
        return self._instruction(OPCODES["load"], target, 0, self._address(target, base, displacement), base)

    def store(self, source: int, base: int, displacement: int) -> bytes:
        """An aligned store."""
        return self._instruction(OPCODES["store"], source, 0, self._address(source, base, displacement), base)

    def stream(self, source: int, base: int, displacement: int) -> bytes:
        """An aligned store that bypasses the caches; packed only."""
        return self._instruction(OPCODES["stream"], source, 0, self._address(source, base, displacement), base)

    def _address(self, register: int, base: int, displacement: int) -> bytes:
        # EVEX scales an 8-bit displacement by the operand's size (SDM vol. 2, 2.7.5)
        scale = self.size if self.encoding is Encoding.EVEX else 1
        fields = (register & 7) << 3 | base & 7
        if displacement % scale == 0 and -128 <= displacement // scale < 128:
            return bytes([_ADDRESS_DISP8 | fields]) + struct.pack("<b", displacement // scale)
        return bytes([_ADDRESS_DISP32 | fields]) + struct.pack("<i", displacement)

    def _instruction(self, opcode: Opcode, reg: int, vvvv: int, operands: bytes, rm: int) -> bytes:
        scalar = self.bits == 0
        prefix = 0x66 if opcode.fused else _PREFIXES[scalar, self.precision]
        prefix = prefix if opcode.prefix is None else opcode.prefix
        byte = opcode.scalar if scalar else opcode.packed
        wide = self.precision is Precision.DOUBLE
        high_reg, high_rm = reg >> 3 & 1, rm >> 3 & 1
        if self.encoding is Encoding.LEGACY:
            rex = bytes([0x40 | high_reg << 2 | high_rm]) if high_reg or high_rm else b""
            return (bytes([prefix]) if prefix else b"") + rex + bytes([0x0F, byte]) + operands
        if self.encoding is Encoding.VEX:
            last = (~vvvv & 15) << 3 | (1 if self.bits == 256 else 0) << 2 | _PP[prefix]
            if opcode.map == _MAP_0F and not high_rm:
                return bytes([0xC5, (1 - high_reg) << 7 | last, byte]) + operands
            # W gives a fused instruction's precision; the others ignore it
            w = int(opcode.fused and wide)
            second = (1 - high_reg) << 7 | 1 << 6 | (1 - high_rm) << 5 | opcode.map
            return bytes([0xC4, second, w << 7 | last, byte]) + operands
        # bit 4 of P0 and bit 3 of P2 are R' and V' inverted: registers 0 to 15 only (SDM vol. 2, 2.7.1)
        half = self.precision is Precision.HALF and opcode not in (OPCODES["load"], OPCODES["store"])
        place = (_MAP_6 if opcode.fused else _MAP_5) if half else opcode.map
        p0 = (1 - high_reg) << 7 | 1 << 6 | (1 - high_rm) << 5 | 1 << 4 | place
        p1 = int(wide) << 7 | (~vvvv & 15) << 3 | 1 << 2 | _PP[prefix]
        return bytes([0x62, p0, p1, 2 << 5 | 1 << 3, byte]) + operands


def writer_of(isa: VectorIsa, precision: Precision, flags: frozenset[str]) -> X86Writer:
    """The writer for a width: VEX for scalar and SSE on a machine with AVX, so that legacy SSE is not mixed in."""
    vex = isa.encoding is Encoding.LEGACY and "avx" in flags
    return X86Writer(isa.bits, precision, Encoding.VEX if vex else isa.encoding)


def _align(code: bytearray, before: int = 0) -> None:
    """Start the loop on a line of its own, this many bytes further on."""
    code += b"\x90" * (-(len(code) + before) % _LOOP_ALIGNMENT)


def _loop_end(code: bytearray, top: int) -> None:
    code += b"\x0f\x85" + struct.pack("<i", top - (len(code) + 6))  # jnz rel32


_SFENCE: Final = b"\x0f\xae\xf8"  # the data of streaming stores has left the core
_DEC_RDI: Final = b"\x48\xff\xcf"
_RET: Final = b"\xc3"
_VZEROUPPER: Final = b"\xc5\xf8\x77"  # otherwise SSE code elsewhere is slow afterwards (AVX-SSE transitions)


def _leave(writer: X86Writer) -> bytes:
    return _RET if writer.encoding is Encoding.LEGACY else _VZEROUPPER + _RET


def arithmetic(isa: VectorIsa, precision: Precision, operation: Operation, shape: LoopShape,
               flags: frozenset[str]) -> Kernel:
    """Independent chains of one operation, `shape.streams` of them, up to 14 (matrix tiles: 6)."""
    if isa.encoding is Encoding.TILES:
        return _matrix(isa, shape)
    writer = writer_of(isa, Precision.SINGLE if isa.products else precision, flags)
    size = writer.size
    code = bytearray(writer.load(_MULTIPLIER, _RSI, 0) + writer.load(_ADDEND, _RSI, size))
    code += b"".join(writer.load(stream, _RSI, 2 * size) for stream in range(shape.streams))
    _align(code)
    top = len(code)
    code += b"".join(_operate(writer, isa, operation, stream) for stream in range(shape.streams)) * shape.unroll
    code += _DEC_RDI
    _loop_end(code, top)
    end = len(code)
    code += writer.store(0, _RSI, 3 * size) + _leave(writer)
    return Kernel(bytes(code), shape.streams * shape.unroll * isa.work(precision, operation), (top, end), shape)


_TILE: Final = 1024  # bytes; each place of `tile_data` is of that size
_TILE_PRODUCTS: Final = {Precision.HALF: (2, 0x5C), Precision.INT8: (3, 0x5E)}  # VEX.pp, opcode: TDPBF16PS, TDPBSSD
_LEFT, _RIGHT = 6, 7  # tiles that are multiplied; accumulators are 0 to 5


def _matrix(isa: VectorIsa, shape: LoopShape) -> Kernel:
    """Write chains of products of tiles (Intel SDM vol. 2), with `tile_data` at the base; the first is stored."""
    pp, opcode = _TILE_PRODUCTS[isa.format]
    streams = min(shape.streams, _LEFT)
    code = bytearray(b"\xc4\xe2\x78\x49\x06" + b"\xb8\x40\x00\x00\x00")  # ldtilecfg [rsi]; mov eax, 64
    for tile, place in ((_LEFT, 1), (_RIGHT, 2)):
        code += _tile_at(place) + bytes([0xC4, 0xE2, 0x7B, 0x4B, 4 | tile << 3, 1])  # tileloadd tmm, [rcx + rax]
    for tile in range(streams):
        code += bytes([0xC4, 0xE2, 0x7B, 0x49, 0xC0 | tile << 3])  # tilezero
    _align(code)
    top = len(code)
    products = (bytes([0xC4, 0xE2, (~_RIGHT & 15) << 3 | pp, opcode, 0xC0 | tile << 3 | _LEFT])
                for tile in range(streams))
    code += b"".join(products) * shape.unroll
    code += _DEC_RDI
    _loop_end(code, top)
    end = len(code)
    code += _tile_at(3) + b"\xc4\xe2\x7a\x4b\x04\x01"  # tilestored [rcx + rax], tmm0
    code += b"\xc4\xe2\x78\x49\xc0" + _RET  # tilerelease
    work = streams * shape.unroll * isa.work(isa.format, Operation.FMA)
    return Kernel(bytes(code), work, (top, end), LoopShape(streams, shape.unroll))


def _tile_at(place: int) -> bytes:
    return b"\x48\x8d\x8e" + struct.pack("<i", place * _TILE)  # lea rcx, [rsi + disp32]


def _operate(writer: X86Writer, isa: VectorIsa, operation: Operation, stream: int) -> bytes:
    if operation is Operation.FMA:
        return writer.registers(isa.format.word if isa.products else "fma", stream, _MULTIPLIER, _ADDEND)
    if operation is Operation.MUL or (operation is Operation.ADD_MUL and stream % 2):  # keeps both ports busy
        return writer.registers("mul", stream, stream, _MULTIPLIER)
    return writer.registers("add", stream, stream, _ADDEND)


def memory(isa: VectorIsa, precision: Precision, mix: Mix, shape: LoopShape, flags: frozenset[str]) -> Kernel:
    """Accesses at consecutive addresses; the working set must be a multiple of the kernel's `work`."""
    # scalars have no streaming store
    writer = writer_of(X86_ISAS[1] if mix is Mix.STREAMING and not isa.bits else isa, precision, flags)
    size = writer.size
    loads, stores = mix.accesses
    store = writer.stream if mix is Mix.STREAMING else writer.store
    code = bytearray(writer.load(_STORED, _RSI, 0))
    start = b"\x48\x89\xf0" + b"\x48\x8d\x0c\x16"  # mov rax, rsi; lea rcx, [rsi + rdx]
    _align(code, len(start))  # here, not at the end: every pass over the working set would run through it
    outer = len(code)
    code += start
    top = len(code)
    count = shape.unroll * (loads + stores)
    for place in _order(loads, stores, count):
        if place % (loads + stores) < loads:
            code += writer.load(place % _LOAD_REGISTERS, _RAX, place * size)
        else:
            code += store(_STORED, _RAX, place * size)
    code += b"\x48\x05" + struct.pack("<i", count * size)  # add rax, imm32
    code += b"\x48\x39\xc8"  # cmp rax, rcx
    _loop_end(code, top)
    end = len(code)
    code += _DEC_RDI
    _loop_end(code, outer)
    code += (_SFENCE if mix is Mix.STREAMING else b"") + _leave(writer)
    return Kernel(bytes(code), count * size, (top, end), shape)


def _order(loads: int, stores: int, count: int) -> list[int]:
    """Places of a loop body's accesses in program order; each store follows one load of the next group."""
    places = list(range(count))
    if loads and stores:
        group = loads + stores
        for store in range(group - 1, count - 1, group):
            # as compilers order them; Zen 5 reads and writes L1 2 % faster this way [measured]
            places[store], places[store + 1] = places[store + 1], places[store]
    return places


def clock(shape: LoopShape) -> Kernel:
    """A chain of dependent register additions, one cycle each; `work` is cycles."""
    code = bytearray(b"\x31\xc0\x31\xc9")  # xor eax, eax; xor ecx, ecx
    _align(code)
    top = len(code)
    # register to register, because recent cores add small constants during renaming, in no time (Intel Optimization
    # Reference Manual, Golden Cove)
    code += b"\x48\x01\xc8" * shape.unroll  # add rax, rcx
    code += _DEC_RDI
    _loop_end(code, top)
    return Kernel(bytes(code + _RET), shape.unroll, (top, len(code)), shape)


_XOR: Final = bytes.fromhex("4c31e5")  # xor rbp, r12: two registers, since one with itself is no chain
_IMUL: Final = bytes.fromhex("480fafed")  # imul rbp, rbp
_CRC32: Final = bytes.fromhex("f2490f38f1ec")  # crc32 rbp, r12
# push rbx, rbp, r12, r13, r14; mov r12, rdi; mov r13, rsi; mov r14, rdx
_SAVE: Final = bytes.fromhex("53554154415541564989fc4989f54989d6")
_RESTORE: Final = bytes.fromhex("415e415d415c5d5b")
# mov edi, clock; mov rsi, r12; call r13; add r12, 16. The kernel's vDSO orders its reading of the counter by lfence.
_STAMP: Final = b"\xbf" + struct.pack("<i", RAW_CLOCK) + bytes.fromhex("4c89e641ffd54983c410")
_ODD: Final = struct.pack("<i", 0x12345671)  # start of the chains: an odd number xor an even address stays odd, so no 0


def timed_chains(shape: ChainShape) -> bytes:
    """Write the function that times the chains of a shape."""
    code = bytearray(_SAVE)
    top = len(code)
    code += _STAMP
    for link, count in zip((_XOR, _IMUL, _CRC32, _XOR), shape.links, strict=True):
        code += b"\xbd" + _ODD + b"\xbb" + struct.pack("<i", count // shape.unroll)  # mov ebp, odd; mov ebx, turns
        _align(code)
        body = len(code)
        code += link * shape.unroll + b"\xff\xcb"  # dec ebx
        _loop_end(code, body)
        code += _STAMP
    code += b"\x41\xff\xce"  # dec r14d
    _loop_end(code, top)
    return bytes(code) + _RESTORE + _RET
