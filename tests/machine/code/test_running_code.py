"""Generated machine code, executed on the machine that runs the tests, by one thread and by several."""

from __future__ import annotations

import itertools
import signal
import struct
import threading
from pathlib import Path
from types import FrameType

import pytest
from kernel_results import check

from turbotui.errors import MachineError
from turbotui.machine.code import x86
from turbotui.machine.code.isas import assembler_of, product_isas, runnable_isas, why_not_runnable
from turbotui.machine.code.kernel_threads import KernelThreads
from turbotui.machine.code.mapping import Buffer, CodePage
from turbotui.machine.code.shapes import LoopShape, Mix, Operation, VectorIsa, arithmetic_data, product_data, tile_data
from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.precision import Precision

_PRECISIONS = (Precision.SINGLE, Precision.DOUBLE)
_HOST = LinuxHost()
_MODEL = read_cpu_model(_HOST)
_WHY_NOT = why_not_runnable(_MODEL)
_runs = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "they run here")
_x86 = pytest.mark.skipif(bool(_WHY_NOT) or _MODEL.architecture != "x86_64",
                          reason=_WHY_NOT or "these kernels are x86-64's")


@pytest.mark.real
@_x86
@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("precision", _PRECISIONS)
@pytest.mark.parametrize("isa", x86.X86_ISAS)
def test_x86_arithmetic_computes(isa: VectorIsa, precision: Precision, operation: Operation) -> None:
    needed = isa.flags | (isa.fma if operation is Operation.FMA else frozenset())
    if not needed <= _MODEL.flags:
        pytest.skip(f"this machine has no {' '.join(sorted(needed - _MODEL.flags))}")
    kernel = x86.arithmetic(isa, precision, operation, LoopShape(8, 4), _MODEL.flags)
    size = isa.bytes(precision)
    with Buffer(4096) as buffer, CodePage(kernel.code) as page:
        buffer.write(arithmetic_data(operation, precision, size))
        page.run(25, buffer.address, 0)
        check(buffer.read(size, 3 * size), operation, precision, 25 * 4, architecture="x86_64")


@pytest.mark.real
@_x86
@pytest.mark.parametrize(("operation", "value"), [
    (Operation.FMA, 1.0), (Operation.ADD, 1.0 + 40 * 2.0**-10), (Operation.MUL, 1.0)])
def test_half_precision_computes(operation: Operation, value: float) -> None:
    isa = x86.X86_ISAS[-1]
    if isa.half is None or not isa.flags | isa.half <= _MODEL.flags:
        pytest.skip("this machine has no avx512_fp16")
    kernel = x86.arithmetic(isa, Precision.HALF, operation, LoopShape(8, 4), _MODEL.flags)
    assert kernel.work == 8 * 4 * 32 * operation.flops
    with Buffer(4096) as buffer, CodePage(kernel.code) as page:
        buffer.write(arithmetic_data(operation, Precision.HALF, 64))
        page.run(10, buffer.address, 0)
        assert struct.unpack("<32e", buffer.read(64, 3 * 64)) == (value,) * 32


@pytest.mark.real
@_x86
@pytest.mark.parametrize("isa", [*x86.AMX, *x86.DOT_PRODUCTS], ids=lambda isa: f"{isa.name} {isa.format.word}")
def test_products_of_short_numbers_compute(isa: VectorIsa) -> None:
    isas, why_not = product_isas(_MODEL)
    if isa not in isas:
        pytest.skip(why_not or f"this machine has no {isa.name} in {isa.format.word}, or something wider")
    kernel = x86.arithmetic(isa, isa.format, Operation.FMA, LoopShape(6, 4), _MODEL.flags)
    assert kernel.work == 6 * 4 * isa.products * 2
    tiles = isa in x86.AMX
    size = isa.bits // 8
    with Buffer(4096) as buffer, CodePage(kernel.code) as page:
        buffer.write(tile_data(isa) if tiles else product_data(isa))
        page.run(10, buffer.address, 0)
        half = isa.format is Precision.HALF
        result = struct.unpack(f"<{size // 4}{'f' if half else 'i'}", buffer.read(size, 3 * size))
        # each step adds products of 2^-7 and 1, or of 1 and 1
        products = isa.products // (size // 4)
        assert result == (10 * 4 * products * (2.0**-7 if half else 1),) * (size // 4)


@pytest.mark.real
@_x86
@pytest.mark.parametrize("mix", Mix)
@pytest.mark.parametrize("isa", x86.X86_ISAS)
def test_x86_memory_kernel_writes_its_working_set_and_nothing_else(isa: VectorIsa, mix: Mix) -> None:
    if not isa.flags <= _MODEL.flags:
        pytest.skip(f"this machine has no {isa.name}")
    kernel = x86.memory(isa, Precision.DOUBLE, mix, LoopShape(0, 4), _MODEL.flags)
    size = max(16, isa.bytes(Precision.DOUBLE)) if mix is Mix.STREAMING else isa.bytes(Precision.DOUBLE)
    passes = 3
    with Buffer(64 * 1024) as buffer, CodePage(kernel.code) as page:
        pattern = bytes(range(1, size + 1)) + b"\xee" * (buffer.size - size)
        buffer.write(pattern)
        page.run(2, buffer.address, kernel.work * passes)
        after = buffer.read(buffer.size)
    loads, stores = mix.accesses
    elements = kernel.work * passes // size
    for element in range(elements + 3):
        stored = element < elements and element % (loads + stores) >= loads
        expected = pattern[:size] if stored or element == 0 else b"\xee" * size
        assert after[element * size: (element + 1) * size] == expected


@pytest.mark.real
@_runs
def test_executable_memory_is_never_writable() -> None:
    kernel = assembler_of(_MODEL).write_clock(LoopShape(0, 64))
    with CodePage(kernel.code) as page:
        maps = Path("/proc/self/maps").read_text(encoding="ascii")
        selected = [line.split()[1] for line in maps.splitlines()
                    if int(line.split("-")[0], 16) <= page.address < int(line.split()[0].split("-")[1], 16)]
    assert selected == ["r-xp"]


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
@_runs
def test_kernel_threads_are_all_counted_and_measure_a_believable_clock() -> None:
    assembler, isa = assembler_of(_MODEL), runnable_isas(_MODEL)[-1]
    kernel = assembler.write_memory(isa, Precision.DOUBLE, Mix.LOADS, assembler.memory[Mix.LOADS][0], _MODEL.flags)
    cpus = sorted(_HOST.usable_cpus() or {0})[:1]
    with KernelThreads(_HOST, cpus, assembler.write_clock(LoopShape(0, 64))) as threads:
        rounds = threads.measure(kernel, 16 * 1024, 0.002, 5)
    assert len(rounds.rounds) == 5
    assert rounds.best.rate == max(item.rate for item in rounds.rounds)
    assert 0.0 <= rounds.spread < 1.0
    assert all(0.0 < item.share <= 1.0 for item in rounds.rounds)
    assert 1e8 < rounds.best.hertz < 1e10
    # between one byte and four vectors a cycle: a wrong count of work or time is off by far more
    assert 1.0 < rounds.best.rate / rounds.best.hertz < 4 * 64


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
    """An exception raised by a signal handler, as Python's own does for Ctrl+C."""


class _SignallingHost(LinuxHost):
    """Signals the main thread when the threads have looked at the clock so often."""

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
@_runs
@pytest.mark.parametrize("at", [1, 2, 20, 140])  # in the first round, in later ones
def test_an_exception_in_the_caller_leaves_when_all_threads_are_at_rest(at: int) -> None:
    def leave(_number: int, _frame: FrameType | None) -> None:
        raise _Left

    assembler = assembler_of(_MODEL)
    kernel = assembler.write_arithmetic(runnable_isas(_MODEL)[-1], Precision.DOUBLE, Operation.ADD, LoopShape(8, 1),
                                        _MODEL.flags)
    host = _SignallingHost(at)
    before = signal.signal(signal.SIGUSR2, leave)
    try:
        with KernelThreads(
            host, sorted(_HOST.usable_cpus() or {0})[:2], assembler.write_clock(LoopShape(0, 64))
        ) as threads:
            with pytest.raises(_Left):
                threads.measure(kernel, 0, 0.002, 1000, b"\x3f" * 64)
            looks = host.looks
            assert at <= looks < 1000  # each round has two of each thread: most were not run
            threads.prepare(1 << 20)
            assert host.looks == looks  # nobody was still at it
            assert len(threads.measure(kernel, 0, 0.001, 3).rounds) == 3
    finally:
        signal.signal(signal.SIGUSR2, before)


@pytest.mark.real
@_runs
def test_kernel_threads_say_which_cpu_they_cannot_have() -> None:
    clock = assembler_of(_MODEL).write_clock(LoopShape(0, 64))
    with KernelThreads(_HOST, [8191], clock) as threads, pytest.raises(MachineError, match="8191"):
        threads.prepare(4096)
