"""Generated machine code, checked by an independent disassembler and by an emulator."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from disassembly import a64 as read_a64
from disassembly import static_elf
from disassembly import x86 as read_x86
from kernel_results import check

from turbotui.errors import MachineError
from turbotui.machine.code import a64, x86
from turbotui.machine.code.isas import ASSEMBLERS, assembler_of, described_isas, operations, runnable_isas
from turbotui.machine.code.shapes import Kernel, LoopShape, Mix, Operation, VectorIsa, arithmetic_data, product_data
from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.precision import Precision

_MODERN = frozenset({"sse2", "avx", "fma", "avx512f"})
_OLD = frozenset({"sse2"})
_SHAPE = LoopShape(14, 2)
_PRECISIONS = (Precision.SINGLE, Precision.DOUBLE)
_SUFFIX = {(True, Precision.DOUBLE): "sd", (True, Precision.SINGLE): "ss", (False, Precision.DOUBLE): "pd",
           (False, Precision.SINGLE): "ps"}
_REGISTER = {0: "xmm", 128: "xmm", 256: "ymm", 512: "zmm"}


def _body(kernel: Kernel) -> bytes:
    return kernel.code[slice(*kernel.body)]


def _x86_cases() -> list[tuple[VectorIsa, Precision, Operation, frozenset[str]]]:
    cases = [(isa, precision, operation, _MODERN) for isa in x86.X86_ISAS for precision in _PRECISIONS
             for operation in operations(isa, _MODERN)]
    return cases + [(isa, precision, operation, _OLD) for isa in x86.X86_ISAS[:2] for precision in _PRECISIONS
                    for operation in operations(isa, _OLD)]


@pytest.mark.parametrize(("isa", "precision", "operation", "flags"), _x86_cases())
def test_x86_arithmetic_is_what_it_says(isa: VectorIsa, precision: Precision, operation: Operation,
                                        flags: frozenset[str], tmp_path: Path) -> None:
    kernel = x86.arithmetic(isa, precision, operation, _SHAPE, flags)
    text = read_x86(_body(kernel), tmp_path)
    suffix, register = _SUFFIX[isa.bits == 0, precision], _REGISTER[isa.bits]
    vex = "v" if "avx" in flags else ""
    count = _SHAPE.streams * _SHAPE.unroll
    names = Counter(line.split()[0] for line in text)
    expected = {
        Operation.ADD: {f"{vex}add{suffix}": count},
        Operation.MUL: {f"{vex}mul{suffix}": count},
        Operation.ADD_MUL: {f"{vex}add{suffix}": count // 2, f"{vex}mul{suffix}": count // 2},
        Operation.FMA: {f"vfmadd213{suffix}": count},
    }[operation]
    assert names == {**expected, "dec": 1, "jne": 1}
    targets = Counter(line.split()[1].split(",")[0] for line in text[:count])
    assert targets == {f"{register}{number}": _SHAPE.unroll for number in range(_SHAPE.streams)}
    for line in text[:count]:  # a chain: what is written is read again, beside constants only
        operands = line.split()[1].split(",")
        assert operands[0] in operands[1:] if "fma" not in line and vex else True
        assert {operand for operand in operands if operand != operands[0]} <= {f"{register}14", f"{register}15"}
    assert kernel.work == count * isa.lanes(precision) * operation.flops
    assert kernel.body[0] % 64 == 0


_PRODUCTS = {"AVX-512 BF16": "vdpbf16ps", "AVX-512 VNNI": "vpdpbusd", "AVX-VNNI": "vpdpbusd"}
_TILES = {Precision.HALF: "tdpbf16ps", Precision.INT8: "tdpbssd"}


@pytest.mark.parametrize("isa", x86.DOT_PRODUCTS, ids=lambda isa: isa.name)
def test_x86_dot_products_are_what_they_say(isa: VectorIsa, tmp_path: Path) -> None:
    kernel = x86.arithmetic(isa, isa.format, Operation.FMA, _SHAPE, _MODERN)
    text = read_x86(_body(kernel), tmp_path)
    count, register = _SHAPE.streams * _SHAPE.unroll, _REGISTER[isa.bits]
    wanted = [f"{_PRODUCTS[isa.name]} {register}{number % 14},{register}14,{register}15" for number in range(count)]
    assert [line.removeprefix("{vex} ") for line in text[:count]] == wanted
    assert [line.split()[0] for line in text[count:]] == ["dec", "jne"]
    # numbers of both factors, by what fills a register
    assert kernel.work == count * isa.bits // 8 // isa.format.value * 2
    whole = read_x86(kernel.code, tmp_path)
    assert sum("movaps" in line for line in whole) == 2 + _SHAPE.streams + 1


@pytest.mark.parametrize("isa", x86.AMX, ids=lambda isa: isa.format.word)
def test_x86_products_of_tiles_are_what_they_say(isa: VectorIsa, tmp_path: Path) -> None:
    kernel = x86.arithmetic(isa, isa.format, Operation.FMA, LoopShape(6, 4), isa.flags)
    text = read_x86(_body(kernel), tmp_path)
    assert text[:24] == [f"{_TILES[isa.format]} tmm{number % 6},tmm6,tmm7" for number in range(24)]
    assert kernel.work == 24 * 16 * 16 * (64 // isa.format.value) * 2


def _of_stores(isa: VectorIsa, mix: Mix) -> VectorIsa:
    """No scalar is stored past the caches, but a vector of two."""
    return x86.X86_ISAS[1] if mix is Mix.STREAMING and not isa.bits else isa


@pytest.mark.parametrize("flags", [_MODERN, _OLD])
@pytest.mark.parametrize("mix", Mix)
@pytest.mark.parametrize("isa", x86.X86_ISAS)
def test_x86_accesses_cover_every_address_once(isa: VectorIsa, mix: Mix, flags: frozenset[str],
                                               tmp_path: Path) -> None:
    if isa.bits > 128 and flags is _OLD:
        return
    kernel = x86.memory(isa, Precision.DOUBLE, mix, LoopShape(0, 8), flags)
    isa = _of_stores(isa, mix)
    loads: list[int] = []
    stores: list[int] = []
    for line in read_x86(_body(kernel), tmp_path)[:-3]:
        assert ("movntp" in line) == (mix is Mix.STREAMING)
        operands = line.split(maxsplit=1)[1]
        offset = re.search(r"\[rax\+?(0x[0-9a-f]+)?\]", operands)
        assert offset is not None, line
        (stores if operands.startswith(("XMM", "YMM", "ZMM", "QWORD")) else loads).append(int(offset[1] or "0", 16))
    size = isa.bytes(Precision.DOUBLE)
    ratio = mix.accesses
    assert sorted(loads + stores) == list(range(0, kernel.work, size))
    assert len(loads) * ratio[1] == len(stores) * ratio[0]
    assert (len(loads), len(stores)) == (8 * ratio[0], 8 * ratio[1])


@pytest.mark.parametrize("shape", ASSEMBLERS["x86_64"].arithmetic)
def test_x86_streams_leave_the_constants_alone(shape: LoopShape) -> None:
    assert shape.streams <= 14


def _a64_cases() -> list[tuple[VectorIsa, Precision, Operation]]:
    isas = (*a64.NEON_ISAS, a64.sve_isa(256))
    # halves are vectors only
    return [(isa, precision, operation) for isa in isas for precision in (*_PRECISIONS, Precision.HALF)
            for operation in Operation if precision is not Precision.HALF or isa.half is not None]


_A64_NAMES = {
    ("scalar", Operation.FMA): "fmadd", ("NEON", Operation.FMA): "fmla", ("SVE", Operation.FMA): "fmla",
}
_A64_REGISTERS = {
    ("scalar", Precision.DOUBLE): "d{}", ("scalar", Precision.SINGLE): "s{}",
    ("NEON", Precision.DOUBLE): "v{}.2d", ("NEON", Precision.SINGLE): "v{}.4s",
    ("NEON", Precision.HALF): "v{}.8h", ("SVE", Precision.HALF): "z{}.h",
    ("SVE", Precision.DOUBLE): "z{}.d", ("SVE", Precision.SINGLE): "z{}.s",
}


@pytest.mark.parametrize(("isa", "precision", "operation"), _a64_cases())
def test_a64_arithmetic_is_what_it_says(isa: VectorIsa, precision: Precision, operation: Operation,
                                        tmp_path: Path) -> None:
    shape = LoopShape(30, 2)
    kernel = a64.arithmetic(isa, precision, operation, shape, isa.flags)
    text = read_a64(_body(kernel), tmp_path)
    count = shape.streams * shape.unroll
    register = _A64_REGISTERS[isa.name, precision]
    for number, line in enumerate(text[:count]):
        stream = number % shape.streams
        name, operands = line.split(maxsplit=1)
        target, first, second = register.format(stream), register.format(30), register.format(31)
        match operation:
            case Operation.FMA:
                assert name == _A64_NAMES[isa.name, operation]
                assert operands in (f"{target}, {first}, {second}, {target}", f"{target}, {first}, {second}",
                                    f"{target}, p0/m, {first}, {second}")
            case Operation.ADD:
                assert (name, operands) == ("fadd", f"{target}, {target}, {second}")
            case Operation.MUL:
                assert (name, operands) == ("fmul", f"{target}, {target}, {first}")
            case Operation.ADD_MUL:
                expected = ("fmul", first) if stream % 2 else ("fadd", second)
                assert (name, operands) == (expected[0], f"{target}, {target}, {expected[1]}")
    assert text[count].split()[0] == "subs"
    assert text[count + 1].startswith("b.ne")
    assert kernel.work == count * isa.lanes(precision) * operation.flops
    assert kernel.body[0] % 64 == 0
    whole = read_a64(kernel.code, tmp_path)
    saved = [line for line in whole if re.match(r"(stp|ldp) d", line)]
    assert [line.split(",")[0].split()[1] for line in saved] == ["d8", "d10", "d12", "d14", "d14", "d12", "d10", "d8"]
    assert saved[0].endswith("[sp, #-64]!")
    assert saved[-1].endswith("[sp], #64")


@pytest.mark.parametrize("mix", Mix)
@pytest.mark.parametrize("isa", [*a64.NEON_ISAS, a64.sve_isa(128)])
def test_a64_accesses_cover_every_address_once(isa: VectorIsa, mix: Mix, tmp_path: Path) -> None:
    for shape in ASSEMBLERS["aarch64"].memory[mix]:
        kernel = a64.memory(isa, Precision.DOUBLE, mix, shape, isa.flags)
        places: list[int] = []
        if mix is Mix.STREAMING and isa.bits:
            isa = a64.NEON_ISAS[-1]
        size = isa.bytes(Precision.DOUBLE)
        for line in read_a64(_body(kernel), tmp_path):
            if not re.match(r"(ld|st)n?[rp] ", line):
                continue
            match = re.search(r"\[x9(?:, #(\d+)(?:, mul vl)?)?\]", line)
            assert match is not None, line
            place = int(match[1] or 0) // (1 if "mul vl" in line else size)
            places += [place, place + 1] if line.split()[0].endswith("p") else [place]
        assert sorted(places) == list(range(kernel.work // size))
        advance = [line for line in read_a64(_body(kernel), tmp_path) if re.match(r"add(vl)? x9, x9", line)]
        total = sum(int(line.rsplit("#", 1)[1], 0) for line in advance)
        assert total * (size if isa.name == "SVE" else 1) == kernel.work


def test_a64_asks_for_the_vector_length(tmp_path: Path) -> None:
    assert read_a64(a64.vector_length(), tmp_path) == ["rdvl x0, #1", "ret"]


@pytest.mark.parametrize("isa", a64.PRODUCTS, ids=lambda isa: isa.name)
def test_a64_products_are_what_they_say(isa: VectorIsa, tmp_path: Path) -> None:
    shape = LoopShape(30, 2)
    kernel = a64.arithmetic(isa, isa.format, Operation.FMA, shape, isa.flags)
    text = read_a64(_body(kernel), tmp_path)
    of = "8h" if isa.format is Precision.HALF else "16b"
    assert text[:60] == [f"{isa.name.lower()} v{number % 30}.4s, v30.{of}, v31.{of}" for number in range(60)]
    assert kernel.work == 60 * isa.products * 2


@pytest.mark.parametrize("isa", a64.PRODUCTS, ids=lambda isa: isa.name)
def test_a64_products_compute(isa: VectorIsa, tmp_path: Path) -> None:
    kernel = a64.arithmetic(isa, isa.format, Operation.FMA, LoopShape(12, 4), isa.flags)
    result = _emulated(kernel, product_data(isa), tmp_path)[48:64]
    half = isa.format is Precision.HALF
    # each step adds to a lane, in which four lanes' products are, 2^-7 times 1, or 1 times 1
    assert struct.unpack("<4f" if half else "<4i", result) == (
        25 * 4 * isa.products / 4 * (2.0**-7 if half else 1),) * 4


def _mov(register: int, value: int) -> list[int]:
    """MOVZ and MOVK of a 32-bit value."""
    return [0xD2800000 | (value & 0xFFFF) << 5 | register, 0xF2A00000 | (value >> 16) << 5 | register]


@pytest.mark.parametrize(("isa", "precision", "operation"), _a64_cases())
def test_a64_arithmetic_computes(isa: VectorIsa, precision: Precision, operation: Operation, tmp_path: Path) -> None:
    kernel = a64.arithmetic(isa, precision, operation, LoopShape(12, 4), isa.flags)
    size = isa.bytes(precision)
    result = _emulated(kernel, arithmetic_data(operation, precision, size), tmp_path)
    check(result[3 * size: 4 * size], operation, precision, 25 * 4, architecture="aarch64")


def _emulated(kernel: Kernel, data: bytes, tmp_path: Path) -> bytes:
    """The data after a program that runs the kernel 25 times and writes them to stdout, under an emulator."""
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("no AArch64 emulator is installed (Debian: qemu-user)")
    prologue_words = 17
    base = 0x400000 + 120
    at_data = base + 4 * prologue_words + len(kernel.code)
    at_data += -at_data % 64
    words = [
        *_mov(0, 25), *_mov(1, at_data), 0x94000000 | (prologue_words - 4),  # bl kernel
        *_mov(0, 1), *_mov(1, at_data), *_mov(2, len(data)), *_mov(8, 64), 0xD4000001,  # write(1, data, size)
        0xD2800000, 0xD2800BA8, 0xD4000001,  # exit(0)
    ]
    assert len(words) == prologue_words
    code = struct.pack(f"<{len(words)}I", *words) + kernel.code
    code += b"\0" * (at_data - base - len(code)) + data
    path = tmp_path / "kernel"
    path.write_bytes(static_elf(code, 4096))
    path.chmod(0o755)
    machine = ["-cpu", "max,sve-default-vector-length=32"]  # bytes, as the 256 bits of the case
    return subprocess.run([emulator, *machine, str(path)], capture_output=True, check=True).stdout  # noqa: S603


def test_isas_follow_the_flags() -> None:
    def names(*flags: str, architecture: str = "x86_64", sve: int = 0) -> list[str]:
        model = CpuModel(architecture=architecture, flags=frozenset(flags))
        return [isa.name for isa in described_isas(model, sve)]

    assert names("sse2") == ["scalar", "SSE"]
    assert names("sse2", "avx", "fma") == ["scalar", "SSE", "AVX"]
    assert names("sse2", "avx", "fma", "avx512f") == ["scalar", "SSE", "AVX", "AVX-512"]
    assert names("fp", "asimd", architecture="aarch64") == ["scalar", "NEON"]
    assert names("fp", "asimd", "sve", architecture="aarch64", sve=256) == ["scalar", "NEON", "SVE"]
    assert names("sse2", architecture="riscv64") == []


def test_without_fma_additions_and_multiplications_are_mixed() -> None:
    avx = x86.X86_ISAS[2]
    assert Operation.FMA not in operations(avx, frozenset({"sse2", "avx"}))
    assert operations(avx, frozenset({"sse2", "avx", "fma"}))[0] is Operation.FMA


def test_an_architecture_without_kernels_is_reported() -> None:
    with pytest.raises(MachineError, match="riscv64"):
        assembler_of(CpuModel(architecture="riscv64"))


def test_code_of_another_processor_is_never_executed() -> None:
    """/proc/cpuinfo under an emulator, or a made-up one, is of another processor than the one that executes."""
    other = CpuModel(architecture="aarch64" if os.uname().machine != "aarch64" else "x86_64",
                     flags=frozenset({"asimd", "sve", "sse2"}))
    with pytest.raises(MachineError, match=f"this process runs as {os.uname().machine}"):
        runnable_isas(other)
