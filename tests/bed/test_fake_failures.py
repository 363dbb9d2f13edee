"""Failures of real machines, provoked under an unmodified `turbotui stat`."""

from __future__ import annotations

import errno
import re
from typing import Any, Final

import pytest
from fake_machine import FakeMachine, Rights, SteppedStat, held_up, shape_of, why_not
from jsontables import by, table
from model_truth import truth_of

from turbotui.simulated import SimulatedHost
from turbotui.simulated.basis import CPU_CYCLES, KINDS, PKG_JOULES

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is everything")

_ENERGY_RANGE: Final = 2.0**32 * 2.0**-14
"""Joules that a 32-bit energy register counts, in units of 2^-14 J (Intel SDM vol. 4, MSR_RAPL_POWER_UNIT)."""


def small() -> SimulatedHost:
    return shape_of("sapphire-2s", cores=1, packages=1)


def row(report: dict[str, Any], cpu: int) -> dict[str, Any]:
    result: dict[str, Any] = next(item for item in report["rows"] if item.get("cpu") == cpu)
    return result


def not_held_up(stepped: SteppedStat) -> dict[str, Any]:
    """CPU 0 in the next report in which none of its cells was held up."""
    while True:
        result = row(stepped.report(), 0)
        if not held_up(result, *result["values"]):
            return result


def _passed(machine: FakeMachine) -> int:
    """Return how often the package's energy register has passed zero."""
    return int(truth_of(machine.host).package_truth(0).joules // _ENERGY_RANGE)


def _soon_at_zero(machine: FakeMachine, seconds: float) -> None:
    """Have the register pass zero this long from now."""
    model = machine.host.model
    with model.lock:
        package, now = model.package[0], model.now()
        over = package.at(PKG_JOULES, now) % _ENERGY_RANGE
        package.start[PKG_JOULES] += _ENERGY_RANGE - over - seconds * package.rate[PKG_JOULES]


def test_an_energy_register_that_wraps_gives_the_right_watts() -> None:
    machine = FakeMachine(small(), watched=frozenset({0}))
    seconds = 1.0
    with machine.stepped("--no-perf", "--show", "PkgWatt") as stepped:
        stepped.report()
        while True:  # until the register is read before it passes zero: on a busy machine that takes its time
            _soon_at_zero(machine, seconds)
            before = _passed(machine)
            stepped.report()
            if _passed(machine) == before:
                break
            seconds *= 2
        stepped.span = 1.2 * seconds
        result = row(stepped.report(), 0)
        ends = stepped.running.marks.interval(0, len(stepped.reports) - 1)
        assert stepped.ended().status == 0
    assert all(two.package.joules // _ENERGY_RANGE == one.package.joules // _ENERGY_RANGE + 1 for one, two in ends)
    wants = [(two.package.joules - one.package.joules) / (two.package.seconds - one.package.seconds)
             for one, two in ends]
    watts = result["values"]["PkgWatt"]
    assert held_up(result, "PkgWatt") or 0.99 * min(wants) < watts < 1.01 * max(wants)


def test_a_counter_that_goes_back_gives_no_number_for_one_interval_and_says_so() -> None:
    host = small()
    with FakeMachine(host).stepped("--no-perf", "--show", "Bzy_MHz,CPU%c6") as stepped:
        assert not_held_up(stepped)["values"]["Bzy_MHz"] is not None
        result: dict[str, Any] | None = None
        while result is None or held_up(result, "Bzy_MHz", "CPU%c6"):
            with host.model.lock:
                host.model.now()
                start = host.model.cpu[0].start
                start[CPU_CYCLES : CPU_CYCLES + KINDS] = [0.0] * KINDS
            result = row(stepped.report(), 0)
        assert result["values"]["Bzy_MHz"] is None
        assert "went back" in result["why"]["Bzy_MHz"]
        assert result["values"]["CPU%c6"] is not None
        for _ in range(2):
            assert None not in not_held_up(stepped)["values"].values()


def test_one_register_that_cannot_be_read_loses_its_own_columns_only() -> None:
    host = small()
    # 0x611 MSR_PKG_ENERGY_STATUS stays; 0x3FD MSR_CORE_C6_RESIDENCY is refused on every CPU
    for cpu in (0, 1):
        host.fail(("msr", cpu, 0x3FD), errno.EIO)
    ended = FakeMachine(host).run("columns", "--json")
    perf = by(table(ended.output, "columns"), "id")
    assert perf["CPU%c6"]["available"] == "yes", "perf still has it"
    host = small()
    for cpu in (0, 1):
        host.fail(("msr", cpu, 0x3FD), errno.EIO)
    report = FakeMachine(host).run("stat", "--no-perf", "--list")
    names = set(report.output.strip().split(","))
    assert {"Busy%", "Bzy_MHz", "PkgWatt", "CoreTmp", "Pkg%pc6"} <= names
    assert "CPU%c6" not in names


def test_a_register_that_fails_later_gives_null_with_its_reason() -> None:
    host = small()
    with FakeMachine(host).stepped("--no-perf", "--show", "Busy%,CPU%c6,CoreTmp") as stepped:
        assert not_held_up(stepped)["values"]["CPU%c6"] is not None
        host.fail(("msr", 0, 0x3FD), errno.EIO)
        stepped.report()
        result = not_held_up(stepped)
    assert result["values"]["CPU%c6"] is None
    assert result["why"]["CPU%c6"]
    assert result["values"]["CoreTmp"] is not None
    assert result["values"]["Busy%"] is not None


@pytest.mark.parametrize("words", [(), ("--no-perf",)])
def test_a_cpu_goes_offline_in_an_interval_and_comes_back(words: tuple[str, ...]) -> None:
    host = shape_of("sapphire-2s", cores=2, packages=1)
    away: list[int] = []
    back: list[int] = []
    with FakeMachine(host, plugging=True).stepped(*words, "--show", "Busy%,Bzy_MHz,IRQ,PkgWatt") as stepped:
        for number in range(10):
            report = stepped.report()
            if number == 1:
                host.set_online(3, online=False)
            if number == 5:
                host.set_online(3, online=True)
            here = [item for item in report["rows"] if item.get("cpu") == 3]
            known = bool(here) and here[0]["values"]["Busy%"] is not None
            assert number in (1, 2) or known or not here or here[0]["why"]["Busy%"]
            if known or (here and held_up(here[0], "Busy%")):
                back.append(number)
            if not known:
                away.append(number)
            assert all(row(report, 0)["values"][name] is not None or held_up(row(report, 0), name)
                       for name in ("Busy%", "PkgWatt"))
            assert all(0.0 <= item["values"]["Busy%"] <= 101.0 for item in here if item["values"]["Busy%"] is not None)
        assert stepped.ended().status == 0
    assert {3, 4, 5} <= set(away), "gone while it was away"
    assert {0, 1, 8, 9} <= set(back), "read before, and again after"
    assert host.open_descriptors == 0


@pytest.mark.parametrize(("limit", "kept"), [(60, "IRQ"), (250, "Busy%")])
def test_few_descriptors_cost_columns_and_not_the_program(limit: int, kept: str) -> None:
    machine = FakeMachine(shape_of("sapphire-2s", cores=8, packages=1), rights=Rights(files=(limit, limit)))
    ended = machine.run("stat", "--format", "json", "-q", "-i", "0.4", "-n", "1")
    assert ended.status == 0, ended.errors
    result = row(ended.reports()[0], 5)
    missing = {name: result["why"][name] for name, value in result["values"].items() if value is None}
    assert result["values"][kept] is not None
    assert any("descriptors" in why for why in missing.values())
    assert all(missing.values())


def test_without_perf_the_registers_give_the_same_columns() -> None:
    ended = FakeMachine(small(), no_perf=errno.ENOSYS).run("columns", "--json")
    rows = by(table(ended.output, "columns"), "id")
    for name in ("Busy%", "Bzy_MHz", "PkgWatt", "CPU%c6", "Pkg%pc6"):
        assert rows[name]["available"] == "yes", name
        assert re.search(r": (msr|powercap), ", rows[name]["sources"]), name
    assert rows["IPC"]["available"] == "no"


def test_the_doctor_knows_the_sources_of_a_large_machine() -> None:
    ended = FakeMachine(shape_of("sapphire-2s", cores=16, packages=2)).run("doctor", "--json")
    report = table(ended.output, "sources")
    assert report["kind"] == "REAL"
    assert report["facts"]["CPUs"] == "64 measured, 32 cores, 2 packages"
    rows = by(report, "source")
    assert rows["perf-msr"]["state"] == "ready"
    assert rows["msr"]["state"] in ("ready", "partial")


def test_the_text_is_that_of_turbostat_with_a_header_and_a_row_for_each_cpu() -> None:
    machine = FakeMachine(shape_of("sapphire-2s", cores=1, packages=2))
    ended = machine.run("stat", "--show", "Package,Core,CPU,Busy%,Bzy_MHz,PkgWatt", "-i", "0.3", "-n", "1",
                        "-q")
    lines = ended.output.splitlines()
    assert lines[0].split("\t") == ["Package", "Core", "CPU", "Busy%", "Bzy_MHz", "PkgWatt"]
    assert [line.split("\t")[2] for line in lines[1:]] == ["-", "0", "2", "1", "3"]
