"""`python -m bench.roofs`: compares turbotui's roof kernels with the same loops by gcc -O3 -march=native in one run.

Both run on one pinned CPU and one buffer, round about, so that a change of clock or load meets both. Needs gcc.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from turbotui.features.roofline.working_sets import working_sets
from turbotui.machine.caches import read_caches
from turbotui.machine.code.isas import assembler_of, runnable_isas
from turbotui.machine.code.mapping import Buffer, CodePage
from turbotui.machine.code.shapes import Kernel, Mix, Operation, VectorIsa, arithmetic_data
from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.precision import Precision

Run = Callable[[int, int, int], None]

_GOAL: Final = 0.95
_UNROLLS: Final = (4, 8, 16)
_FLAGS: Final = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-Wno-psabi")

_SOURCE: Final = r"""
typedef double vector __attribute__((vector_size(BYTES)));
#if SCALAR
typedef double element;
#else
typedef vector element;
#endif
#if defined(__x86_64__)
#define CONSUME(x) __asm__ volatile("" : : "v"(x))
#else
#define CONSUME(x) __asm__ volatile("" : : "w"(x))
#endif
#define ACCUMULATORS 12

void arithmetic(long iterations, char *base, long bytes)
{
    element multiplier = ((element *)base)[0], addend = ((element *)base)[1], sum[ACCUMULATORS];
    (void)bytes;
    for (int i = 0; i < ACCUMULATORS; i++) { sum[i] = ((element *)base)[2]; __asm__ volatile("" : "+m"(sum[i])); }
    for (long n = 0; n < iterations; n++) {
#pragma GCC unroll 16
        for (int i = 0; i < ACCUMULATORS; i++)
            sum[i] = sum[i] * multiplier + addend;
    }
    for (int i = 0; i < ACCUMULATORS; i++) CONSUME(sum[i]);
}

void memory(long iterations, char *base, long bytes)
{
    element stored = ((element *)base)[0];
    const long group = LOADS + STORES, step = group * UNROLL;
    for (long n = 0; n < iterations; n++)
        for (element *at = (element *)base, *end = (element *)(base + bytes); at != end; at += step) {
#pragma GCC unroll 16
            for (int u = 0; u < UNROLL; u++) {
#pragma GCC unroll 2
                for (int i = 0; i < LOADS; i++) { element x = at[u * group + i]; CONSUME(x); }
#pragma GCC unroll 2
                for (int i = 0; i < STORES; i++) *(volatile element *)&at[u * group + LOADS + i] = stored;
            }
        }
}
"""


@dataclass(frozen=True, slots=True)
class Contender:
    """One loop: how to run it, and its work in an iteration."""

    name: str
    run: Run
    work: float
    size: int


def _gcc(folder: str, isa: VectorIsa, unroll: int, mix: Mix) -> ctypes.CDLL:
    """Compile the reference loops for a width.

    Raises:
        subprocess.CalledProcessError: gcc failed; its words are on stderr.
    """
    source = os.path.join(folder, "reference.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(_SOURCE)
    target = os.path.join(folder, f"reference-{isa.name}-{unroll}-{mix.name}.so")
    defines = (f"-DBYTES={isa.bytes(Precision.DOUBLE)}", f"-DSCALAR={int(isa.bits == 0)}", f"-DUNROLL={unroll}",
               f"-DLOADS={mix.value[0]}", f"-DSTORES={mix.value[1]}")
    # or gcc makes vectors of the scalar loop, which is then no scalar peak
    scalar = ("-fno-tree-vectorize",) if isa.bits == 0 else ()
    subprocess.run(["gcc", *_FLAGS, *scalar, *defines, "-o", target, source], check=True)  # noqa: S603, S607 - gcc is the peer
    return ctypes.CDLL(target)


def _function(library: ctypes.CDLL, name: str) -> Run:
    function = library[name]
    function.restype = None
    function.argtypes = (ctypes.c_long, ctypes.c_void_p, ctypes.c_long)

    def run(iterations: int, base: int, size: int) -> None:
        function(iterations, base, size)

    return run


def _rate(contender: Contender, buffer: Buffer, iterations: int) -> float:
    start = time.thread_time_ns()  # other work on the CPU takes nothing from either side
    contender.run(iterations, buffer.address, contender.size)
    return contender.work * iterations * 1e9 / (time.thread_time_ns() - start)


def _iterations(contender: Contender, buffer: Buffer, seconds: float) -> int:
    iterations, elapsed = 1, 0.0
    while elapsed < seconds / 4:
        iterations *= 2
        elapsed = contender.work * iterations / _rate(contender, buffer, iterations)
    return max(1, round(iterations * seconds / elapsed))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Best and median rates of turbotui's fastest loop and of gcc's."""

    ours: str
    best: float
    gcc_best: float
    median_ratio: float

    @property
    def ratio(self) -> float:
        """Turbotui's rate over gcc's, by the best rounds."""
        return self.best / self.gcc_best


def compare(ours: Sequence[Contender], theirs: Sequence[Contender], buffer: Buffer, rounds: int,
            seconds: float) -> Comparison:
    """Run all contenders in turns, and compare the fastest of each side."""
    everyone = (*ours, *theirs)
    iterations = [_iterations(contender, buffer, seconds) for contender in everyone]
    rates: list[list[float]] = [[] for _ in everyone]
    for _ in range(rounds):
        for contender, count, contender_rates in zip(everyone, iterations, rates, strict=True):
            contender_rates.append(_rate(contender, buffer, count))
    our_rates, their_rates = rates[: len(ours)], rates[len(ours):]
    best = max(range(len(our_rates)), key=lambda index: max(our_rates[index]))
    peer = max(their_rates, key=max)
    return Comparison(ours[best].name, max(our_rates[best]), max(peer),
                      statistics.median(our_rates[best]) / statistics.median(peer))


def _contenders(kernels: Sequence[Kernel], pages: Sequence[CodePage], size: int) -> list[Contender]:
    contenders = []
    for kernel, page in zip(kernels, pages, strict=True):
        whole = size // kernel.work * kernel.work
        contenders.append(Contender(str(kernel.shape), page.run, whole or kernel.work, whole))
    return contenders


def main() -> int:
    """Run and print; the exit status says whether every ratio reaches the target."""
    parser = argparse.ArgumentParser(prog="python -m bench.roofs", description=__doc__)
    parser.add_argument("--cpu", type=int, default=0, help="where to run (default 0)")
    parser.add_argument("--rounds", type=int, default=15, help="of each loop (default 15)")
    parser.add_argument("--seconds", type=float, default=0.01, help="of a round (default 0.01)")
    arguments = parser.parse_args()
    if shutil.which("gcc") is None:
        print("gcc is not here, and it is what this compares with", file=sys.stderr)
        return 1
    host = LinuxHost()
    model = read_cpu_model(host)
    assembler, isas = assembler_of(model), runnable_isas(model)
    host.pin_this_thread([arguments.cpu])
    sets = working_sets(read_caches(host, arguments.cpu), [arguments.cpu], None)
    print(f"{model.title}{' (virtual machine)' if model.hypervisor else ''}, CPU {arguments.cpu}, load average "
          f"{os.getloadavg()[0]:.2f}; gcc {' '.join(_FLAGS[:2])}, {arguments.rounds} rounds in turns of "
          f"{1e3 * arguments.seconds:g} ms, best")
    print(f"{'':<28} {'ours':>8} {'gcc':>8}   {'ours/gcc':>8} {'medians':>8}  loop")
    ratios = []

    def show(name: str, unit: str, comparison: Comparison) -> None:
        ratios.append(comparison.ratio)
        print(f"{name:<28} {comparison.best / 1e9:8.1f} {comparison.gcc_best / 1e9:8.1f}   {comparison.ratio:8.1%} "
              f"{comparison.median_ratio:8.1%}  {comparison.ours} {unit}", flush=True)

    with tempfile.TemporaryDirectory() as folder, Buffer(max(item.bytes for item in sets)) as buffer:
        for isa in isas:
            size = isa.bytes(Precision.DOUBLE)
            data = arithmetic_data(Operation.FMA, Precision.DOUBLE, size)
            kernels = [assembler.write_arithmetic(isa, Precision.DOUBLE, Operation.FMA, shape, model.flags)
                       for shape in assembler.arithmetic]
            buffer.write(data)
            pages = [CodePage(kernel.code) for kernel in kernels]
            reference = Contender("gcc", _function(_gcc(folder, isa, 1, Mix.LOADS), "arithmetic"),
                                  12 * 2 * isa.lanes(Precision.DOUBLE), 0)
            show(f"{isa.name} FMA double", "GFLOP/s",
                 compare(_contenders(kernels, pages, 0), [reference], buffer, arguments.rounds, arguments.seconds))
            for page in pages:
                page.close()
        widest = isas[-1]
        for working_set in sets:
            for mix in Mix:
                kernels = [assembler.write_memory(widest, Precision.DOUBLE, mix, shape, model.flags)
                           for shape in assembler.memory[mix]]
                pages = [CodePage(kernel.code) for kernel in kernels]
                theirs = []
                for unroll in _UNROLLS:
                    step = unroll * sum(mix.value) * widest.bytes(Precision.DOUBLE)
                    whole = working_set.bytes // step * step
                    run = _function(_gcc(folder, widest, unroll, mix), "memory")
                    theirs.append(Contender(f"gcc x{unroll}", run, whole, whole))
                show(f"{working_set.level} {mix.word}", "GB/s",
                     compare(_contenders(kernels, pages, working_set.bytes), theirs, buffer, arguments.rounds,
                             arguments.seconds))
                for page in pages:
                    page.close()
    reached = sum(ratio >= _GOAL for ratio in ratios)
    print(f"{reached} of {len(ratios)} reach {_GOAL:.0%} of gcc; lowest {min(ratios):.1%}")
    return 0 if reached == len(ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
