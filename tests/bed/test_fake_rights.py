"""Every set of rights, given up before the program starts: each source degrades alone, with a reason."""

from __future__ import annotations

from typing import Any, Final

import pytest
from fake_machine import FakeMachine, Rights, shape_of, why_not
from jsontables import table

from turbotui.machine.host import CAP_PERFMON, CAP_SYS_RAWIO

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is everything")

_NOBODY: Final = 65534
_PERFMON: Final = 1 << CAP_PERFMON
_RAWIO: Final = 1 << CAP_SYS_RAWIO

# rights -> whether counters of perf and registers can be had (kernel Documentation/admin-guide/sysctl/kernel.rst,
# perf_event_paranoid; arch/x86/kernel/msr.c: CAP_SYS_RAWIO and the mode of the device node)
MATRIX: Final = {
    "root": (Rights(), True, True),
    "root in a container without capabilities": (Rights(0, 0, 2), False, False),
    "root with CAP_SYS_RAWIO only": (Rights(0, _RAWIO, 2), False, True),
    "anybody, level 2": (Rights(_NOBODY, 0, 2), False, False),
    "anybody, level 1": (Rights(_NOBODY, 0, 1), False, False),
    "anybody, level 0": (Rights(_NOBODY, 0, 0), True, False),
    "anybody, level -1": (Rights(_NOBODY, 0, -1), True, False),
    "CAP_PERFMON, level 2": (Rights(_NOBODY, _PERFMON, 2), True, False),
    "CAP_SYS_RAWIO without the mode of the node": (Rights(_NOBODY, _RAWIO, 2), False, False),
}


@pytest.fixture(scope="module", params=MATRIX)
def doctor(request: pytest.FixtureRequest) -> tuple[dict[str, Any], bool, bool]:
    rights, perf, registers = MATRIX[request.param]
    ended = FakeMachine(shape_of("sapphire-2s", cores=1, packages=1), rights=rights).run("doctor", "--json")
    assert ended.status == 0, ended.errors
    return table(ended.output, "signals"), perf, registers


def _signals(report: dict[str, Any], source: str) -> dict[str, dict[str, Any]]:
    return {item["signal"]: item["values"] for item in report["rows"] if item["source"] == source}


def test_counters_and_registers_are_there_for_those_who_may(doctor: tuple[dict[str, Any], bool, bool]) -> None:
    report, perf, registers = doctor
    assert _signals(report, "perf-msr")["aperf"]["usable"] == ("yes" if perf else "no")
    assert _signals(report, "msr")["aperf"]["usable"] == ("yes" if registers else "no")


def test_who_may_not_is_told_that_it_is_the_rights_and_what_to_do(doctor: tuple[dict[str, Any], bool, bool]) -> None:
    report, perf, registers = doctor
    for source, may in (("perf-msr", perf), ("msr", registers)):
        signal = _signals(report, source)["aperf"]
        if not may:
            assert signal["reason"] == "not permitted", signal
            assert signal["remedy"], signal


def test_files_are_read_whatever_the_rights(doctor: tuple[dict[str, Any], bool, bool]) -> None:
    report, _perf, _registers = doctor
    assert _signals(report, "proc-interrupts")["irq.total"]["usable"]
    assert all(item["usable"] for name, item in _signals(report, "cpuidle").items() if name == "cpuidle.1.time")
