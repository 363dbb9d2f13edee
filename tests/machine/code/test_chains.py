"""Chains of dependent instructions: the code, what is concluded from their times, and their run on this processor."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from disassembly import a64 as read_a64
from disassembly import x86 as read_x86
from hypothesis import example, given
from hypothesis import strategies as st
from patience import PATIENCE

from turbotui.errors import MachineError
from turbotui.machine.code.chains import A64, CHAINS, ROUNDS, X86, ChainSet, ChainTimer, judge
from turbotui.machine.code.isas import assembler_of, why_not_runnable
from turbotui.machine.code.mapping import CodePage
from turbotui.machine.code.shapes import LoopShape
from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.clock_moments import MomentVerdict, moment_error
from turbotui.simulated.host import made_stamps

_MODEL = read_cpu_model(LinuxHost())
_CHAINS = CHAINS.get(_MODEL.architecture)
_WHY_NOT = why_not_runnable(_MODEL) or ("" if _CHAINS and _CHAINS.flag in _MODEL.flags else "no CRC32C here")
_runs = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "they run here")
_SETS = {"x86-64": X86, "A64": A64}


def _longer(stamps: Sequence[int], chain: int, ns: float, rounds: Sequence[int] = range(ROUNDS)) -> list[int]:
    """The stamps with one chain of some rounds longer by some ns."""
    late, shifted = 0.0, []
    for at, stamp in enumerate(stamps):
        if at % 5 == chain + 1 and at // 5 in rounds:
            late += ns
        shifted.append(round(stamp + late))
    return shifted


@given(chains=st.sampled_from([X86, A64]), hertz=st.floats(0.4e9, 8e9), timing=st.floats(0, 2000),
       start=st.integers(0, 1 << 60), data=st.data())
def test_any_clock_of_a_known_core_is_found(chains: ChainSet, hertz: float, timing: float, start: int,
                                            data: st.DataObject) -> None:
    cycles = data.draw(st.sampled_from(sorted(chains.cores)))
    moment = judge(made_stamps(chains, hertz, cycles, timing, start), chains)
    assert moment.verdict is MomentVerdict.KNOWN
    assert moment.hertz == pytest.approx(hertz, rel=2e-3)  # stamps are whole ns
    assert moment.ratios == pytest.approx(cycles, rel=1e-2)


@given(hertz=st.floats(0.5e9, 6e9), chain=st.integers(0, 3), ns=st.floats(0, 1e8),
       rounds=st.sets(st.integers(0, ROUNDS - 1), max_size=ROUNDS - 2))
def test_a_disturbance_of_some_rounds_changes_nothing(hertz: float, chain: int, ns: float, rounds: set[int]) -> None:
    moment = judge(_longer(made_stamps(X86, hertz), chain, ns, sorted(rounds)), X86)
    assert moment.hertz == pytest.approx(hertz, rel=2e-3)


@example(hertz=4017803541.0, chain=1, share=0.650390625)
@given(hertz=st.floats(0.5e9, 6e9), chain=st.integers(0, 2), share=st.floats(0, 3))
def test_no_disturbance_of_a_chain_gives_a_wrong_clock(hertz: float, chain: int, share: float) -> None:
    """What slows one chain in every round is refused, or does not count: two others know better.

    Unless it slows one to the latency of another known core (a multiplication of 6 cycles): the clock is then off by as
    much as such a ratio may be from a whole number, 1 %, and by what whole ns leave unknown of any clock.
    """
    links = X86.shape.links[chain] * (1, 3, 3)[chain]
    moment = judge(_longer(made_stamps(X86, hertz), chain, share * 1e9 * links / hertz), X86)
    if moment.hertz is not None:
        own = tuple(map(round, moment.ratios)) == (3, 3)
        assert moment.hertz == pytest.approx(hertz, rel=4e-3 if own else 1.002 / 0.99 - 1)


@pytest.mark.parametrize("name", _SETS)
@pytest.mark.parametrize(("cycles", "verdict"), [
    ((3, 230), MomentVerdict.EMULATED),  # QEMU's CRC32C is a call
    ((230, 3), MomentVerdict.EMULATED),
    ((3, 22), MomentVerdict.DISTURBED),  # more than any core takes, and less than an emulator
    ((2.7, 3), MomentVerdict.DISTURBED),
    ((3, 3.04), MomentVerdict.DISTURBED),
    ((0.4, 3), MomentVerdict.DISTURBED),
    ((7, 7), MomentVerdict.UNKNOWN_CORE),
    ((1, 1), MomentVerdict.UNKNOWN_CORE),
    ((3, 3), MomentVerdict.KNOWN),
])
def test_verdicts(name: str, cycles: tuple[float, float], verdict: MomentVerdict) -> None:
    chains = _SETS[name]
    moment = judge(made_stamps(chains, 3e9, cycles), chains)
    assert moment.verdict is verdict
    assert (moment.hertz is None) is (verdict is not MomentVerdict.KNOWN)


@pytest.mark.parametrize("stamps", [
    [0] * (5 * ROUNDS),  # a clock that stands
    list(range(0, -5 * ROUNDS, -1)),  # one that runs back
    [at * 4_000_000 for at in range(5 * ROUNDS)],  # one of coarse steps: jiffies
    made_stamps(X86, 9e7),  # slower than any core
    made_stamps(X86, 2e10),
])
def test_times_that_no_core_gives(stamps: Sequence[int]) -> None:
    moment = judge(stamps, X86)
    assert moment.verdict is not MomentVerdict.KNOWN
    assert moment.hertz is None


def test_the_fastest_chain_that_fits_counts() -> None:
    stamps = made_stamps(X86, 4e9)
    slowed = _longer(stamps, 0, 0.005 * X86.shape.anchor / 4)  # the anchor 0.5 % slow, as beside a sibling
    assert judge(slowed, X86).hertz == pytest.approx(4e9, rel=1e-3)


def test_code_of_x86_is_what_it_says(tmp_path: Path) -> None:
    text = read_x86(X86.write(X86.shape), tmp_path)
    unroll = X86.shape.unroll
    assert [text.count(line) for line in ("xor rbp,r12", "imul rbp,rbp", "crc32 rbp,r12")] == [
        2 * unroll, unroll, unroll]
    assert text.count("call r13") == 5
    assert [line for line in text if line.startswith("mov ebx,")] == [
        f"mov ebx,{count // unroll:#x}" for count in X86.shape.links]
    assert text.count("mov edi,0x4") == 5  # CLOCK_MONOTONIC_RAW
    pushed = [line.split()[1] for line in text if line.startswith("push")]
    assert [line.split()[1] for line in text if line.startswith("pop")] == pushed[::-1]
    assert len(pushed) % 2 == 1  # with the return address, the stack is aligned to 16 bytes at each call
    assert text[-1] == "ret"


def test_code_of_a64_is_what_it_says(tmp_path: Path) -> None:
    text = read_a64(A64.write(A64.shape), tmp_path)
    unroll = A64.shape.unroll
    assert [text.count(line) for line in ("eor x23, x23, x24", "mul x23, x23, x23", "crc32cx w23, w23, x24")] == [
        2 * unroll, unroll, unroll]
    assert text.count("blr x20") == 5
    turns = [int(line.split()[2].strip("#"), 0) for line in text if line.startswith("mov w22")]
    assert turns == [count // unroll for count in A64.shape.links]
    assert text[-1] == "ret"


@pytest.mark.real
@_runs
def test_this_processor_is_known_or_refused_and_then_near_a_loop_of_known_work() -> None:
    timer, chains = ChainTimer(_MODEL.architecture), CHAINS[_MODEL.architecture]
    cpu = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        result = []
        with CodePage(assembler_of(_MODEL).write_clock(LoopShape(0, 64)).code) as page:
            for _ in range(30):
                first, stamps, last = timer.times()
                assert (first, last) == (cpu, cpu)
                began = time.thread_time_ns()
                page.run(20_000, 0, 0)
                took = time.thread_time_ns() - began  # before it is judged, which takes a tenth as long
                moment = judge(stamps, chains)
                if moment.hertz is not None:
                    result.append(moment.hertz * took / 1e9 / (20_000 * 64))
    finally:
        os.sched_setaffinity(0, before)
    if not result:
        pytest.skip("every moment was refused: an emulator, a core without an entry, or disturbed")
    assert min(result) > 0.5  # a chain is never faster than its clock; a loop may be slowed down
    assert sorted(result)[len(result) // 4] < 1.1


def test_an_architecture_without_chains() -> None:
    with pytest.raises(MachineError, match="no chains of instructions are known for riscv64"):
        ChainTimer("riscv64")


@pytest.mark.real
@_runs
def test_where_executable_memory_is_refused_the_reason_says_so() -> None:
    script = (
        "import ctypes, sys\n"
        "from turbotui.machine.uname import own_uname\n"
        "from turbotui.machine.code.chains import ChainTimer\n"
        "from turbotui.errors import MachineError\n"
        "if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0): sys.exit(9)\n"  # PR_SET_MDWE: Linux 6.3
        "try:\n    ChainTimer(own_uname().machine)\nexcept MachineError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603 - ours
    if done.returncode == 9:
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert done.stdout.startswith("this system refuses executable memory (mprotect: "), done.stderr
    assert "so the clock of a CPU cannot be timed; run outside" in done.stdout


def test_error_of_moments() -> None:
    assert moment_error(1, 0) == pytest.approx(0.0242, abs=1e-4)
    assert moment_error(10, 0) == pytest.approx(0.0082, abs=1e-4)
    assert moment_error(1, 0.009) == pytest.approx(0.0095, abs=1e-4)
    assert moment_error(10**6, 0.02) == pytest.approx(0.003, abs=1e-4)
