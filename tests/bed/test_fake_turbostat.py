"""`turbotui stat` as a whole program beside the C turbostat in one fake machine on real time: dumps and layout.

Cells and header lines are compared in test_oracle, where both have one virtual clock.
"""

from __future__ import annotations

import shutil

import pytest
from fake_machine import FakeMachine, shape_of, why_not
from instruction_tracer import cannot_trace
from patience import PATIENCE

from bench.beside_turbostat import OURS

THEIRS = shutil.which("turbostat") or ""
pytestmark = [
    pytest.mark.skipif(bool(why_not() or cannot_trace()), reason=why_not() or cannot_trace() or "there is everything"),
    pytest.mark.skipif(not THEIRS, reason="turbostat is not installed (Debian: linux-cpupower)"),
]


def output(*command: str) -> str:
    machine = FakeMachine(shape_of("sapphire-2s", cores=2, packages=1), traced=command[0] == THEIRS)
    with machine.started(command) as running:
        result, errors = running.process.communicate(timeout=PATIENCE)
    assert running.process.returncode == 0, errors
    return result


def blocks(text: str) -> list[list[str]]:
    """The labels of each block of a dump; the first one with its number and flags."""
    result = [block.split("\n") for block in text.strip("\n").split("\n\n")]
    kept = [[line for line in block if not line.startswith(("t 0x", "tADDED", "cADDED", "pADDED"))] for block in result]
    return [[block[0], *(line.partition(":")[0] for line in block[1:])] for block in kept]


def test_a_dump_has_the_blocks_of_turbostat() -> None:
    theirs, ours = blocks(output(THEIRS, "-q", "-D")), blocks(output(*OURS, "-q", "-D"))
    assert len(ours) == 4
    for value, item in zip(ours, theirs, strict=True):
        assert value[0] == item[0], "the same CPUs in the same order, and the same flags"
        assert [label for label in item if label in value] == value, "the same labels in the same order, as far as read"
        assert {"TSC", "aperf", "mperf", "IRQ", "core", "c6", "DTS", "package", "Joules PKG"} <= {*value}


def test_rows_have_the_shape_of_turbostats() -> None:
    words = ("-q", "-i", "0.3", "-n", "2", "--show", "CPU,Core,TSC_MHz,IRQ,C6%,CPU%c6,PkgWatt,RAMWatt")
    theirs, ours = output(THEIRS, *words).splitlines(), output(*OURS, *words).splitlines()
    assert len(theirs) == len(ours) == 2 * 6
    for selected, item in zip(ours, theirs, strict=True):
        assert len(selected.split("\t")) == len(item.split("\t")), (selected, item)
        if "CPU" in selected:
            assert selected == item
