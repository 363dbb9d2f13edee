"""Emitted machine code: disassembled by somebody else's program, and run."""

from __future__ import annotations

import itertools
import re
import shutil
import signal
import struct
import subprocess
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest
from disassembly import a64 as read_a64
from disassembly import static_elf
from disassembly import x86 as read_x86

from turbotui.errors import MachineError
from turbotui.machine.code import a64, x86
from turbotui.machine.code.constants import ADDEND, arithmetic_data
from turbotui.machine.code.crew import Crew
from turbotui.machine.code.isas import ASSEMBLERS, assembler_of, described_isas, operations, runnable_isas
from turbotui.machine.code.mapping import Buffer, CodePage
from turbotui.machine.code.shapes import Kernel, Mix, Operation, Shape, VectorIsa
from turbotui.machine.cpumodel import CpuModel, read_cpu_model
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.precision import Precision

_MODERN = frozenset({"sse2", "avx", "fma", "avx512f"})
_OLD = frozenset({"sse2"})
_SHAPE = Shape(14, 2)
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


@pytest.mark.parametrize("flags", [_MODERN, _OLD])
@pytest.mark.parametrize("mix", Mix)
@pytest.mark.parametrize("isa", x86.X86_ISAS)
def test_x86_accesses_cover_every_address_once(isa: VectorIsa, mix: Mix, flags: frozenset[str],
                                               tmp_path: Path) -> None:
    if isa.bits > 128 and flags is _OLD:
        return
    kernel = x86.memory(isa, Precision.DOUBLE, mix, Shape(0, 8), flags)
    loads: list[int] = []
    stores: list[int] = []
    for line in read_x86(_body(kernel), tmp_path)[:-3]:
        operands = line.split(maxsplit=1)[1]
        offset = re.search(r"\[rax\+?(0x[0-9a-f]+)?\]", operands)
        assert offset is not None, line
        (stores if operands.startswith(("XMM", "YMM", "ZMM", "QWORD")) else loads).append(int(offset[1] or "0", 16))
    size = isa.bytes(Precision.DOUBLE)
    ratio = mix.value
    assert sorted(loads + stores) == list(range(0, kernel.work, size))
    assert len(loads) * ratio[1] == len(stores) * ratio[0]
    assert (len(loads), len(stores)) == (8 * ratio[0], 8 * ratio[1])


@pytest.mark.parametrize("shape", ASSEMBLERS["x86_64"].arithmetic)
def test_x86_streams_leave_the_constants_alone(shape: Shape) -> None:
    assert shape.streams <= 14


def _a64_cases() -> list[tuple[VectorIsa, Precision, Operation]]:
    isas = (*a64.NEON_ISAS, a64.sve_isa(256))
    return [(isa, precision, operation) for isa in isas for precision in _PRECISIONS for operation in Operation]


_A64_NAMES = {
    ("scalar", Operation.FMA): "fmadd", ("NEON", Operation.FMA): "fmla", ("SVE", Operation.FMA): "fmla",
}
_A64_REGISTERS = {
    ("scalar", Precision.DOUBLE): "d{}", ("scalar", Precision.SINGLE): "s{}",
    ("NEON", Precision.DOUBLE): "v{}.2d", ("NEON", Precision.SINGLE): "v{}.4s",
    ("SVE", Precision.DOUBLE): "z{}.d", ("SVE", Precision.SINGLE): "z{}.s",
}


@pytest.mark.parametrize(("isa", "precision", "operation"), _a64_cases())
def test_a64_arithmetic_is_what_it_says(isa: VectorIsa, precision: Precision, operation: Operation,
                                        tmp_path: Path) -> None:
    shape = Shape(30, 2)
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
        size = isa.bytes(Precision.DOUBLE)
        for line in read_a64(_body(kernel), tmp_path):
            if not re.match(r"(ld|st)[rp] ", line):
                continue
            found = re.search(r"\[x9(?:, #(\d+)(?:, mul vl)?)?\]", line)
            assert found is not None, line
            place = int(found[1] or 0) // (1 if "mul vl" in line else size)
            places += [place, place + 1] if line.split()[0].endswith("p") else [place]
        assert sorted(places) == list(range(kernel.work // size))
        advance = [line for line in read_a64(_body(kernel), tmp_path) if re.match(r"add(vl)? x9, x9", line)]
        total = sum(int(line.rsplit("#", 1)[1], 0) for line in advance)
        assert total * (size if isa.name == "SVE" else 1) == kernel.work


def test_a64_asks_for_the_vector_length(tmp_path: Path) -> None:
    assert read_a64(a64.vector_length(), tmp_path) == ["rdvl x0, #1", "ret"]


def _mov(register: int, value: int) -> list[int]:
    """MOVZ and MOVK of a 32-bit value."""
    return [0xD2800000 | (value & 0xFFFF) << 5 | register, 0xF2A00000 | (value >> 16) << 5 | register]


@pytest.mark.parametrize(("isa", "precision", "operation"), _a64_cases())
def test_a64_arithmetic_computes(isa: VectorIsa, precision: Precision, operation: Operation, tmp_path: Path) -> None:
    """A program that runs the kernel and writes its data to stdout, under an emulator."""
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("no AArch64 emulator (qemu-user) is here")
    kernel = a64.arithmetic(isa, precision, operation, Shape(12, 4), isa.flags)
    size = isa.bytes(precision)
    data = arithmetic_data(operation, precision, size)
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
    done = subprocess.run([emulator, *machine, str(path)], capture_output=True, check=True)  # noqa: S603
    _check(done.stdout[3 * size: 4 * size], operation, precision, 25 * 4, architecture="aarch64")


def _check(result: bytes, operation: Operation, precision: Precision, steps: int, architecture: str) -> None:
    """The first stream's value in every lane, by the same steps in Python."""
    letter = "d" if precision is Precision.DOUBLE else "f"
    values = struct.unpack(f"<{len(result) // precision.value}{letter}", result)
    multiplier = struct.unpack(f"<{letter}", arithmetic_data(operation, precision, precision.value)[: precision.value])
    expected = 1.0
    for _ in range(steps):
        match operation:
            case Operation.FMA if architecture == "aarch64":
                expected += multiplier[0] * ADDEND
            case Operation.FMA:
                expected = expected * multiplier[0] + ADDEND
            case Operation.ADD | Operation.ADD_MUL:
                expected += ADDEND
            case Operation.MUL:
                expected *= multiplier[0]
    # 1e-6 of the result may be lost to rounding in single precision at each of 100 steps of about 1e-6 or 1e-7
    tolerance = 1e-12 if precision is Precision.DOUBLE else 1e-5
    assert values == pytest.approx([expected] * len(values), rel=tolerance)
    if operation is not Operation.FMA or architecture == "aarch64":
        assert expected > 1.0


_HOST = LinuxHost()
_MODEL = read_cpu_model(_HOST)
_runs = pytest.mark.skipif(_MODEL.architecture != "x86_64", reason="the kernels run here are x86-64's")


@pytest.mark.real
@_runs
@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("precision", _PRECISIONS)
@pytest.mark.parametrize("isa", x86.X86_ISAS)
def test_x86_arithmetic_computes(isa: VectorIsa, precision: Precision, operation: Operation) -> None:
    needed = isa.flags | (isa.fma if operation is Operation.FMA else frozenset())
    if not needed <= _MODEL.flags:
        pytest.skip(f"this machine has no {' '.join(sorted(needed - _MODEL.flags))}")
    kernel = x86.arithmetic(isa, precision, operation, Shape(8, 4), _MODEL.flags)
    size = isa.bytes(precision)
    with Buffer(4096) as buffer, CodePage(kernel.code) as page:
        buffer.write(arithmetic_data(operation, precision, size))
        page.run(25, buffer.address, 0)
        _check(buffer.read(size, 3 * size), operation, precision, 25 * 4, architecture="x86_64")


@pytest.mark.real
@_runs
@pytest.mark.parametrize("mix", Mix)
@pytest.mark.parametrize("isa", x86.X86_ISAS)
def test_x86_memory_kernel_writes_its_working_set_and_nothing_else(isa: VectorIsa, mix: Mix) -> None:
    if not isa.flags <= _MODEL.flags:
        pytest.skip(f"this machine has no {isa.name}")
    kernel = x86.memory(isa, Precision.DOUBLE, mix, Shape(0, 4), _MODEL.flags)
    size = isa.bytes(Precision.DOUBLE)
    passes = 3
    with Buffer(64 * 1024) as buffer, CodePage(kernel.code) as page:
        pattern = bytes(range(1, size + 1)) + b"\xee" * (buffer.size - size)
        buffer.write(pattern)
        page.run(2, buffer.address, kernel.work * passes)
        after = buffer.read(buffer.size)
    loads, stores = mix.value
    elements = kernel.work * passes // size
    for element in range(elements + 3):
        stored = element < elements and element % (loads + stores) >= loads
        expected = pattern[:size] if stored or element == 0 else b"\xee" * size
        assert after[element * size: (element + 1) * size] == expected


@pytest.mark.real
def test_executable_memory_is_never_writable() -> None:
    kernel = assembler_of(_MODEL).write_clock(Shape(0, 64))
    with CodePage(kernel.code) as page:
        maps = Path("/proc/self/maps").read_text(encoding="ascii")
        mine = [line.split()[1] for line in maps.splitlines()
                if int(line.split("-")[0], 16) <= page.address < int(line.split()[0].split("-")[1], 16)]
    assert mine == ["r-xp"]


def test_buffer_is_aligned_written_and_guarded() -> None:
    with Buffer(3 << 20) as large, Buffer(100) as small:
        assert large.address % (2 << 20) == 0
        assert small.address % 4096 == 0
        assert large.read(8, (3 << 20) - 8) == b"\x3f" * 8
        with pytest.raises(ValueError, match="do not fit"):
            small.write(b"x", 100)
        with pytest.raises(ValueError, match="are not in"):
            small.read(2, 99)


@pytest.mark.real
def test_a_crew_counts_all_threads_and_measures_a_believable_clock() -> None:
    assembler, isa = assembler_of(_MODEL), runnable_isas(_MODEL)[-1]
    kernel = assembler.write_memory(isa, Precision.DOUBLE, Mix.LOADS, assembler.memory[Mix.LOADS][0], _MODEL.flags)
    cpus = sorted(_HOST.usable_cpus() or {0})[:1]
    with Crew(_HOST, cpus, assembler.write_clock(Shape(0, 64))) as crew:
        found = crew.measure(kernel, 16 * 1024, 0.002, 5)
    assert len(found.rounds) == 5
    assert found.best.rate == max(one.rate for one in found.rounds)
    assert 0.0 <= found.spread < 1.0
    assert all(0.0 < one.share <= 1.0 for one in found.rounds)
    assert 1e8 < found.best.hertz < 1e10
    # between one byte and four vectors a cycle: a wrong count of work or time is off by far more
    assert 1.0 < found.best.rate / found.best.hertz < 4 * 64


def test_memory_that_is_held_is_unmapped_when_the_last_thread_lets_go() -> None:
    buffer = Buffer(4096)
    with buffer.held():
        with buffer.held():
            buffer.close()
            still = [buffer.mapped]
        still.append(buffer.mapped)
        assert buffer.read(1) == b"\x3f"
        with pytest.raises(ValueError, match="closed"), buffer.held():
            pass
    assert [*still, buffer.mapped] == [True, True, False]
    buffer.close()
    assert not buffer.mapped


class _Left(BaseException):
    """What the signal's handler raises, as Python's own does for Ctrl-C."""


class _SignallingHost(LinuxHost):
    """Signals the main thread when the crew has looked at the clock so often."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at
        self._counter = itertools.count(1)  # next() of it is one step for all threads
        self.looks = 0

    def now_ns(self) -> int:
        self.looks = next(self._counter)
        if self.looks == self._at:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2)
        return super().now_ns()


@pytest.mark.real
@pytest.mark.parametrize("at", [1, 2, 20, 140])  # in the first round, in later ones
def test_an_exception_in_the_caller_leaves_when_all_threads_are_at_rest(at: int) -> None:
    def leave(_number: int, _frame: FrameType | None) -> None:
        raise _Left

    assembler = assembler_of(_MODEL)
    kernel = assembler.write_arithmetic(runnable_isas(_MODEL)[-1], Precision.DOUBLE, Operation.ADD, Shape(8, 1),
                                        _MODEL.flags)
    host = _SignallingHost(at)
    before = signal.signal(signal.SIGUSR2, leave)
    try:
        with Crew(host, sorted(_HOST.usable_cpus() or {0})[:2], assembler.write_clock(Shape(0, 64))) as crew:
            with pytest.raises(_Left):
                crew.measure(kernel, 0, 0.002, 1000, b"\x3f" * 64)
            looks = host.looks
            assert at <= looks < 1000  # each round has two of each thread: most were not run
            crew.prepare(1 << 20)
            assert host.looks == looks  # nobody was still at it
            assert len(crew.measure(kernel, 0, 0.001, 3).rounds) == 3
    finally:
        signal.signal(signal.SIGUSR2, before)


@pytest.mark.real
def test_a_crew_says_which_cpu_it_cannot_have() -> None:
    clock = assembler_of(_MODEL).write_clock(Shape(0, 64))
    with Crew(_HOST, [8191], clock) as crew, pytest.raises(MachineError, match="8191"):
        crew.prepare(4096)


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


def test_an_architecture_without_kernels_is_told() -> None:
    with pytest.raises(MachineError, match="riscv64"):
        assembler_of(CpuModel(architecture="riscv64"))
