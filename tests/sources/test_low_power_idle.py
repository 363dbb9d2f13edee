from __future__ import annotations

import pytest
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.low_power_idle import LowPowerIdle

CPUIDLE = "/sys/devices/system/cpu/cpuidle"
CPU = f"{CPUIDLE}/low_power_idle_cpu_residency_us"
SYSTEM = f"{CPUIDLE}/low_power_idle_system_residency_us"
PMC = "/sys/kernel/debug/pmc_core/slp_s0_residency_usec"
IDS = frozenset({"lpi.cpu", "lpi.system"})


def test_both_from_the_firmware_s_table_in_seconds() -> None:
    _, machine = machine_of({CPU: "1500000\n", SYSTEM: "250000\n", PMC: "7\n"})
    source = LowPowerIdle()
    signals = source.probe(machine).signals
    reader = source.open(machine, 0, IDS)
    raw = dict(zip(reader.signals, reader.read(), strict=True))
    assert raw == {"lpi.cpu": 1_500_000, "lpi.system": 250_000}
    cpu = signals["lpi.cpu"]
    assert isinstance(cpu, Signal)
    assert cpu.scope is Scope.SYSTEM
    assert cpu.delta(500_000, 1_500_000) == pytest.approx(1.0)


def test_the_system_s_falls_back_to_the_pmc_driver() -> None:
    _, machine = machine_of({PMC: "42\n"})
    source = LowPowerIdle()
    signals = source.probe(machine).signals
    system = signals["lpi.system"]
    assert isinstance(system, Signal)
    assert system.origin == PMC
    assert list(source.open(machine, 0, frozenset({"lpi.system"})).read()) == [42]
    why = signals["lpi.cpu"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE


def test_a_counter_that_went_down_has_no_delta() -> None:
    _, machine = machine_of({CPU: "10\n"})
    cpu = LowPowerIdle().probe(machine).signals["lpi.cpu"]
    assert isinstance(cpu, Signal)
    assert cpu.delta(11, 10) is None


def test_in_a_guest() -> None:
    _, machine = machine_of({}, model=CpuModel(architecture="x86_64", vendor="GenuineIntel", hypervisor=True))
    why = LowPowerIdle().probe(machine).signals["lpi.system"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.VIRTUALISED
