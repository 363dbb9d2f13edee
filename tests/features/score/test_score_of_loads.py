"""`turbotui score run -- COMMAND`: a real command beside a simulated machine, in real time."""

from __future__ import annotations

import re

import pytest

from turbotui.errors import TurbotuiError
from turbotui.features.score.engine import Load, measure
from turbotui.machine.machine import read_machine
from turbotui.simulated import simulated_host

LOADED = "laptop-old+calculix"  # every CPU busy for 96 %


def test_the_load_is_run_while_it_is_measured_and_its_score_is_read(capfd: pytest.CaptureFixture[str]) -> None:
    machine = read_machine(simulated_host(LOADED))
    words = ("printf", "GFLOPS: 1\\nGFLOPS: 120.8\\nbye\\n")
    run, printed = measure(machine, 9.0, Load(words, re.compile(r"GFLOPS: ([0-9.]+)")))
    assert printed == 120.8, "the last one holds"
    assert run.seconds < 9.0
    assert "too short" in run.warnings[0]
    assert capfd.readouterr() == ("", "GFLOPS: 1\nGFLOPS: 120.8\nbye\n"), "stdout is the report's"
    assert measure(machine, 9.0, Load(("printf", "7"), re.compile("GFLOPS")))[1] is None


@pytest.mark.parametrize(("words", "says"), [(("false",), "false failed with status 1"),
                                             (("/nowhere/x",), "/nowhere/x cannot be run")])
def test_a_load_that_fails_concludes_nothing(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(TurbotuiError, match=says):
        measure(read_machine(simulated_host(LOADED)), 9.0, Load(words))
