"""What goes wrong on real machines, made to happen under an unmodified `turbotui stat`."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest
from fake_machine import FakeMachine, Rights, shape_of, why_not

from turbotui.machine.simulated import SimulatedHost
from turbotui.machine.simulated.basis import CPU_CYCLES, KINDS, PKG_JOULES

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is everything")

_ENERGY_RANGE: Final = 2.0**32 * 2.0**-14
"""Joules that a 32-bit energy register counts, in units of 2^-14 J (Intel SDM vol. 4, MSR_RAPL_POWER_UNIT)."""


def small() -> SimulatedHost:
    return shape_of("sapphire-2s", cores=1, packages=1)


def row(report: dict[str, Any], cpu: int) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in report["rows"] if one.get("cpu") == cpu)
    return found


def live(machine: FakeMachine, *words: str) -> Iterator[dict[str, Any]]:
    """The reports of a `turbotui stat` as they come."""
    command = [sys.executable, "-m", "turbotui", "stat", "--format", "json", "-q", "-i", "0.25", *words]
    with machine.started(command) as running:
        for line in running.lines():
            yield json.loads(line)


def test_an_energy_register_that_wraps_gives_the_right_watts() -> None:
    host = small()
    with host._model.lock:
        package = host._model.package[0]
        now = host._model.now()
        power = package.rate[PKG_JOULES]
        # zero is passed about 1.6 s from now: later than the start of the program, sooner than its end
        package.start[PKG_JOULES] += _ENERGY_RANGE - package.at(PKG_JOULES, now) % _ENERGY_RANGE - 1.6 * power
    machine = FakeMachine(host, watched=frozenset({0}))
    ended = machine.run("stat", "--format", "json", "-q", "--no-perf", "--show", "PkgWatt", "-i", "0.5", "-n", "5")
    passed = 0
    for number, report in list(enumerate(ended.reports()))[1:]:
        ends = ended.marks.interval(0, number, 5)
        passed += any(one.package.joules // _ENERGY_RANGE != two.package.joules // _ENERGY_RANGE for one, two in ends)
        wants = [(two.package.joules - one.package.joules) / (two.package.seconds - one.package.seconds)
                 for one, two in ends]
        assert 0.99 * min(wants) < row(report, 0)["values"]["PkgWatt"] < 1.01 * max(wants)
    assert passed == 1, "the register has passed zero while it was watched"


def test_a_counter_that_goes_back_gives_no_number_for_one_interval_and_says_so() -> None:
    host = small()
    said: list[tuple[float | None, str]] = []
    for number, report in enumerate(live(FakeMachine(host), "--no-perf", "--show", "Bzy_MHz,CPU%c6", "-n", "4")):
        found = row(report, 0)
        said.append((found["values"]["Bzy_MHz"], found.get("why", {}).get("Bzy_MHz", "")))
        if number == 0:
            with host._model.lock:
                host._model.now()
                start = host._model.cpu[0].start
                start[CPU_CYCLES : CPU_CYCLES + KINDS] = [0.0] * KINDS
        assert found["values"]["CPU%c6"] is not None
    assert [value is None for value, _why in said] == [False, True, False, False]
    assert "went back" in said[1][1]


def test_one_register_that_cannot_be_read_loses_its_own_columns_only() -> None:
    host = small()
    # 0x611 MSR_PKG_ENERGY_STATUS stays; 0x3FD MSR_CORE_C6_RESIDENCY is refused on every CPU
    for cpu in (0, 1):
        host.fail(("msr", cpu, 0x3FD), errno.EIO)
    ended = FakeMachine(host).run("columns", "--json")
    lost = json.loads(ended.output)
    perf = {one["id"]: one for one in lost["columns"]}
    assert perf["CPU%c6"]["available"], "perf still has it"
    host = small()
    for cpu in (0, 1):
        host.fail(("msr", cpu, 0x3FD), errno.EIO)
    report = FakeMachine(host).run("stat", "--no-perf", "--list")
    names = set(report.output.strip().split(","))
    assert {"Busy%", "Bzy_MHz", "PkgWatt", "CoreTmp", "Pkg%pc6"} <= names
    assert "CPU%c6" not in names


def test_a_register_that_fails_later_gives_null_with_its_reason() -> None:
    host = small()
    for number, report in enumerate(live(FakeMachine(host), "--no-perf", "--show", "Busy%,CPU%c6,CoreTmp", "-n", "3")):
        found = row(report, 0)
        if number == 0:
            assert found["values"]["CPU%c6"] is not None
            host.fail(("msr", 0, 0x3FD), errno.EIO)
        if number == 2:
            assert found["values"]["CPU%c6"] is None
            assert found["why"]["CPU%c6"]
            assert found["values"]["CoreTmp"] is not None
            assert found["values"]["Busy%"] is not None


@pytest.mark.parametrize("words", [(), ("--no-perf",)])
def test_a_cpu_goes_offline_in_an_interval_and_comes_back(words: tuple[str, ...]) -> None:
    host = shape_of("sapphire-2s", cores=2, packages=1)
    machine = FakeMachine(host, plugging=True)
    away: list[int] = []
    back: list[int] = []
    for number, report in enumerate(live(machine, *words, "--show", "Busy%,Bzy_MHz,IRQ,PkgWatt", "-n", "10")):
        if number == 1:
            host.set_online(3, online=False)
        if number == 5:
            host.set_online(3, online=True)
        here = [one for one in report["rows"] if one.get("cpu") == 3]
        known = bool(here) and here[0]["values"]["Busy%"] is not None
        assert number in (1, 2) or known or not here or here[0]["why"]["Busy%"]
        (back if known else away).append(number)
        assert row(report, 0)["values"]["Busy%"] is not None
        assert row(report, 0)["values"]["PkgWatt"] is not None
        assert all(0.0 <= one["values"]["Busy%"] <= 101.0 for one in here if one["values"]["Busy%"] is not None)
    assert {3, 4, 5} <= set(away), "gone while it was away"
    assert {0, 1, 8, 9} <= set(back), "read before, and again after"
    assert host.open_descriptors == 0


@pytest.mark.parametrize(("limit", "kept"), [(60, "IRQ"), (250, "Busy%")])
def test_few_descriptors_cost_columns_and_not_the_program(limit: int, kept: str) -> None:
    machine = FakeMachine(shape_of("sapphire-2s", cores=8, packages=1), rights=Rights(files=(limit, limit)))
    ended = machine.run("stat", "--format", "json", "-q", "-i", "0.4", "-n", "1")
    assert ended.status == 0, ended.errors
    found = row(ended.reports()[0], 5)
    missing = {name: found["why"][name] for name, value in found["values"].items() if value is None}
    assert found["values"][kept] is not None
    assert any("descriptors" in why for why in missing.values())
    assert all(missing.values())


def test_without_perf_the_registers_give_the_same_columns() -> None:
    ended = FakeMachine(small(), no_perf=errno.ENOSYS).run("columns", "--json")
    rows = {one["id"]: one for one in json.loads(ended.output)["columns"]}
    for name in ("Busy%", "Bzy_MHz", "PkgWatt", "CPU%c6", "Pkg%pc6"):
        assert rows[name]["available"], name
        assert {one["source"] for one in rows[name]["sources"].values()} & {"msr", "powercap"}, name
    assert not rows["IPC"]["available"]


def test_the_doctor_knows_the_sources_of_a_large_machine() -> None:
    ended = FakeMachine(shape_of("sapphire-2s", cores=16, packages=2)).run("doctor", "--json")
    report = json.loads(ended.output)
    assert report["simulated"] == ""
    assert dict(report["facts"])["CPUs"] == "64 measured, 32 cores, 2 packages"
    states = {one["id"]: one["state"] for one in report["sources"]}
    assert states["perf-msr"] == "ready"
    assert states["msr"] in ("ready", "partial")


def test_the_text_is_that_of_turbostat_with_a_header_and_a_row_for_each_cpu() -> None:
    machine = FakeMachine(shape_of("sapphire-2s", cores=1, packages=2))
    ended = machine.run("stat", "--show", "Package,Core,CPU,Busy%,Bzy_MHz,PkgWatt", "-i", "0.3", "-n", "1",
                                     "-q")
    lines = ended.output.splitlines()
    assert lines[0].split("\t") == ["Package", "Core", "CPU", "Busy%", "Bzy_MHz", "PkgWatt"]
    assert [line.split("\t")[2] for line in lines[1:]] == ["-", "0", "2", "1", "3"]
