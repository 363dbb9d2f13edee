"""AArch64 roof kernels. Encodings: Arm Architecture Reference Manual DDI 0487, C7.2 and C8.2.

Calling convention: Arm AAPCS64 6.1: iterations in x0, base in x1, bytes in x2; the low halves of v8 to v15 are
    callee-saved, so an arithmetic kernel saves them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from turbotui.machine.code.shapes import RAW_CLOCK, ChainShape, Encoding, Kernel, LoopShape, Mix, Operation, VectorIsa
from turbotui.quantities.precision import Precision

_D, _S, _H = Precision.DOUBLE, Precision.SINGLE, Precision.HALF
_MULTIPLIER, _ADDEND = 30, 31  # registers of the constants; accumulators are 0 to 29
_STORED: Final = 16
_LOOP_WORDS: Final = 16  # a loop starts a 64-byte line

NEON_ISAS: Final = (
    VectorIsa("scalar", "aarch64", 0, Encoding.A64, frozenset({"fp"})),
    VectorIsa("NEON", "aarch64", 128, Encoding.A64, frozenset({"asimd"}), half=frozenset({"asimdhp"})),
)
PRODUCTS: Final = (
    VectorIsa("BFMMLA", "aarch64", 128, Encoding.A64, frozenset({"asimd", "bf16"}), products=16, format=_H),
    VectorIsa("SMMLA", "aarch64", 128, Encoding.A64, frozenset({"asimd", "i8mm"}), products=32,
              format=Precision.INT8),
    VectorIsa("SDOT", "aarch64", 128, Encoding.A64, frozenset({"asimd", "asimddp"}), products=16,
              format=Precision.INT8),
)
"""Products of matrices of 2 rows, and of vectors of 4 numbers, added in lanes of 32 bits."""
_PRODUCT_WORDS: Final = {"BFMMLA": 0x6E40EC00, "SMMLA": 0x4E80A400, "SDOT": 0x4E809400}


def sve_isa(bits: int) -> VectorIsa:
    """SVE with the machine's vector length."""
    return VectorIsa("SVE", "aarch64", bits, Encoding.SVE, frozenset({"sve"}), half=frozenset({"asimdhp"}))


# name -> by precision: the word with all register fields zero
SCALAR: Final[Mapping[str, Mapping[Precision, int]]] = MappingProxyType({
    "add": {_D: 0x1E602800, _S: 0x1E202800},  # FADD (scalar)
    "mul": {_D: 0x1E600800, _S: 0x1E200800},  # FMUL (scalar)
    "fma": {_D: 0x1F400000, _S: 0x1F000000},  # FMADD: d = a + n * m
    "ldr": {_D: 0xFD400000, _S: 0xBD400000},  # LDR (immediate, SIMD&FP), unsigned offset
    "str": {_D: 0xFD000000, _S: 0xBD000000},
    "ldp": {_D: 0x6D400000, _S: 0x2D400000},  # LDP (SIMD&FP), signed offset
    "stp": {_D: 0x6D000000, _S: 0x2D000000},
    "stnp": {_D: 0x6C000000, _S: 0x2C000000},
})
NEON: Final[Mapping[str, Mapping[Precision, int]]] = MappingProxyType({
    "add": {_D: 0x4E60D400, _S: 0x4E20D400, _H: 0x4E401400},  # FADD (vector)
    "mul": {_D: 0x6E60DC00, _S: 0x6E20DC00, _H: 0x6E401C00},  # FMUL (vector)
    "fma": {_D: 0x4E60CC00, _S: 0x4E20CC00, _H: 0x4E400C00},  # FMLA (vector): d = d + n * m
    "ldr": dict.fromkeys(Precision, 0x3DC00000),
    "str": dict.fromkeys(Precision, 0x3D800000),
    "ldp": dict.fromkeys(Precision, 0xAD400000),
    "stp": dict.fromkeys(Precision, 0xAD000000),
    "stnp": dict.fromkeys(Precision, 0xAC000000),  # STNP (SIMD&FP): stored without having been read
})
SVE: Final[Mapping[str, Mapping[Precision, int]]] = MappingProxyType({
    "add": {_D: 0x65C00000, _S: 0x65800000, _H: 0x65400000},  # FADD (vectors, unpredicated)
    "mul": {_D: 0x65C00800, _S: 0x65800800, _H: 0x65400800},  # FMUL (vectors, unpredicated)
    "fma": {_D: 0x65E00000, _S: 0x65A00000, _H: 0x65600000},  # FMLA (vectors), predicate p0
    "ldr": dict.fromkeys(Precision, 0x85804000),  # LDR (vector), offset in vectors
    "str": dict.fromkeys(Precision, 0xE5804000),
})
_PTRUE_P0: Final = {_D: 0x25D8E3E0, _S: 0x2598E3E0, _H: 0x2558E3E0}
_RET: Final = 0xD65F03C0  # words by the Arm Architecture Reference Manual DDI 0487, C6.2
_NOP: Final = 0xD503201F
_BNE: Final = 0x54000001  # b.ne, offset in words from bit 5 on
_SUBS_X0_1: Final = 0xF1000400  # subs x0, x0, #1
# Saving and restoring d8 to d15 in a frame of 64 bytes.
_SAVE: Final = (0x6DBC27E8, 0x6D012FEA, 0x6D0237EC, 0x6D033FEE)  # stp d8, d9, [sp, #-64]! ... stp d14, d15, [sp, #48]
_RESTORE: Final = (0x6D433FEE, 0x6D4237EC, 0x6D412FEA, 0x6CC427E8)  # ldp d14, d15, [sp, #48] ... ldp d8, d9, [sp], #64


class _Code:
    def __init__(self) -> None:
        self.words: list[int] = []

    def add(self, *words: int) -> None:
        self.words.extend(words)

    def align(self, before: int = 0) -> None:
        self.words.extend([_NOP] * (-(len(self.words) + before) % _LOOP_WORDS))

    def branch_ne(self, target: int) -> None:
        self.words.append(_BNE | ((target - len(self.words)) & 0x7FFFF) << 5)

    def bytes(self) -> bytes:
        return struct.pack(f"<{len(self.words)}I", *self.words)


class A64Writer:
    """Words for one width and precision."""

    def __init__(self, isa: VectorIsa, precision: Precision) -> None:
        self.sve = isa.encoding is Encoding.SVE
        self.scalar = isa.bits == 0
        self.precision = precision
        self.size = isa.bytes(precision)
        self.table = SVE if self.sve else SCALAR if self.scalar else NEON
        self.product = _PRODUCT_WORDS.get(isa.name)

    def operate(self, name: str, target: int, constant: int) -> int:
        """Target = target op constant for add and mul; fma: target = target + multiplier * addend."""
        if self.product is not None:
            return self.product | _ADDEND << 16 | _MULTIPLIER << 5 | target
        word = self.table[name][self.precision]
        if name != "fma":
            return word | constant << 16 | target << 5 | target
        if self.scalar:
            return word | _ADDEND << 16 | target << 10 | _MULTIPLIER << 5 | target
        return word | _ADDEND << 16 | _MULTIPLIER << 5 | target

    def one(self, name: str, register: int, base: int, index: int) -> int:
        """An ldr or str of element `index` from a base register."""
        word = self.table[name][self.precision] | base << 5 | register
        if self.sve:  # 9 bits in two fields
            return word | (index >> 3 & 63) << 16 | (index & 7) << 10
        return word | index << 10

    def two(self, name: str, first: int, second: int, base: int, index: int) -> int:
        """An ldp or stp of elements `index` and the next."""
        return self.table[name][self.precision] | (index & 127) << 15 | second << 10 | base << 5 | first


def arithmetic(isa: VectorIsa, precision: Precision, operation: Operation, shape: LoopShape,
               flags: frozenset[str]) -> Kernel:
    """Independent chains of one operation, `shape.streams` of them, up to 30."""
    del flags  # one way to write each width
    writer, code = A64Writer(isa, precision), _Code()
    code.add(*_SAVE)
    if writer.sve:
        code.add(_PTRUE_P0[precision])
    code.add(writer.one("ldr", _MULTIPLIER, 1, 0), writer.one("ldr", _ADDEND, 1, 1))
    for stream in range(shape.streams):
        code.add(writer.one("ldr", stream, 1, 2))
    code.align()
    top = len(code.words)
    for _ in range(shape.unroll):
        for stream in range(shape.streams):
            code.add(_operate(writer, operation, stream))
    code.add(_SUBS_X0_1)
    code.branch_ne(top)
    end = len(code.words)
    code.add(writer.one("str", 0, 1, 3), *_RESTORE, _RET)
    work = shape.streams * shape.unroll * isa.work(precision, operation)
    return Kernel(code.bytes(), work, (4 * top, 4 * end), shape)


def _operate(writer: A64Writer, operation: Operation, stream: int) -> int:
    if operation is Operation.FMA:
        return writer.operate("fma", stream, _ADDEND)
    if operation is Operation.MUL or (operation is Operation.ADD_MUL and stream % 2):
        return writer.operate("mul", stream, _MULTIPLIER)
    return writer.operate("add", stream, _ADDEND)


def memory(isa: VectorIsa, precision: Precision, mix: Mix, shape: LoopShape, flags: frozenset[str]) -> Kernel:
    """Accesses at consecutive addresses, by pairs where the instruction set has them (scalar and NEON)."""
    del flags
    # SVE's streaming stores need a predicate each; Neon's, which every SVE core has, write as many lines
    writer, code = A64Writer(NEON_ISAS[-1] if mix is Mix.STREAMING and isa.bits else isa, precision), _Code()
    loads, stores = mix.accesses
    code.add(writer.one("ldr", _STORED, 1, 0))
    start = (0xAA0103E9, 0x8B02002A)  # mov x9, x1; add x10, x1, x2
    code.align(len(start))  # here, not behind: each pass over the working set would run through it
    outer = len(code.words)
    code.add(*start)
    top = len(code.words)
    index = 0
    for _ in range(shape.unroll):
        for name, count in (("ld", loads), ("stn" if mix is Mix.STREAMING else "st", stores)):
            code.add(*_accesses(writer, name, count, index))
            index += count * (1 if writer.sve else 2)
    code.add(*_advance(writer, index))
    code.add(0xEB0A013F)  # here, not at the end: every pass over the working set would run through it
    code.branch_ne(top)
    end = len(code.words)
    code.add(_SUBS_X0_1)
    code.branch_ne(outer)
    code.add(_RET)
    return Kernel(code.bytes(), index * writer.size, (4 * top, 4 * end), shape)


def _accesses(writer: A64Writer, name: str, count: int, index: int) -> list[int]:
    """`count` loads or stores from x9 on: single vectors in SVE, otherwise pairs. Loads go to registers 0 to 7."""
    words = []
    for number in range(count):
        if writer.sve:
            here = index + number
            words.append(writer.one(name + "r", here % 8 if name == "ld" else _STORED, 9, here))
            continue
        here = index + 2 * number
        first, second = (here % 8, (here + 1) % 8) if name == "ld" else (_STORED, _STORED)
        words.append(writer.two(name + "p", first, second, 9, here))
    return words


def _advance(writer: A64Writer, count: int) -> list[int]:
    """x9 += count registers' worth: ADDVL by at most 31 vectors at a time, or ADD."""
    if not writer.sve:
        return [0x91000129 | count * writer.size << 10]  # add x9, x9, #imm12
    steps = [31] * (count // 31) + [count % 31] * (count % 31 > 0)
    return [0x04295009 | step << 5 for step in steps]  # addvl x9, x9, #imm6


def clock(shape: LoopShape) -> Kernel:
    """A chain of dependent register additions, one cycle each; `work` is cycles."""
    code = _Code()
    code.add(0xD2800009, 0xD280000A)  # mov x9, #0; mov x10, #0
    code.align()
    top = len(code.words)
    code.add(*[0x8B0A0129] * shape.unroll)  # add x9, x9, x10
    code.add(_SUBS_X0_1)
    code.branch_ne(top)
    end = len(code.words)
    code.add(_RET)
    return Kernel(code.bytes(), shape.unroll, (4 * top, 4 * end), shape)


def vector_length() -> bytes:
    """A function without arguments that returns the SVE vector length in bytes (RDVL x0, #1)."""
    return struct.pack("<2I", 0x04BF5020, _RET)


_EOR: Final = 0xCA1802F7  # eor x23, x23, x24
_MUL: Final = 0x9B177EF7  # mul x23, x23, x23: by its factors, because cores forward a sum
_CRC32CX: Final = 0x9AD85EF7  # crc32cx w23, w23, x24
_ODD: Final = 0xD28246B7  # mov x23, #0x1235
# stp x29, x30, [sp, #-64]!; stp of x19 to x24; mov x19, x0; mov x20, x1; mov x21, x2; mov x24, #0x5670
_ENTER: Final = (0xA9BC7BFD, 0xA90153F3, 0xA9025BF5, 0xA90363F7, 0xAA0003F3, 0xAA0103F4, 0xAA0203F5, 0xD28ACE18)
_LEAVE: Final = (0xA94153F3, 0xA9425BF5, 0xA94363F7, 0xA8C47BFD, _RET)
# cbz x23, next: the barrier before the counter is read then waits for the chain; mov x0, clock; mov x1, x19; blr x20;
# add x19, x19, #16
_STAMP: Final = (0xB4000037, 0xD2800000 | RAW_CLOCK << 5, 0xAA1303E1, 0xD63F0280, 0x91004273)


def timed_chains(shape: ChainShape) -> bytes:
    """Write the function that times the chains of a shape. Ran under emulation only, on no Arm core."""
    code = _Code()
    code.add(*_ENTER, _ODD)
    top = len(code.words)
    code.add(*_STAMP)
    for link, count in zip((_EOR, _MUL, _CRC32CX, _EOR), shape.links, strict=True):
        code.add(0x52800016 | count // shape.unroll << 5, _ODD)  # mov w22, turns
        code.align()
        body = len(code.words)
        code.add(*[link] * shape.unroll, 0x710006D6)  # subs w22, w22, #1
        code.branch_ne(body)
        code.add(*_STAMP)
    code.add(0x710006B5)  # subs w21, w21, #1
    code.branch_ne(top)
    code.add(*_LEAVE)
    return code.bytes()
