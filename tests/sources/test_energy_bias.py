from __future__ import annotations

import errno

from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Reduce, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.energy_bias import EnergyBias

FILE = "/sys/devices/system/cpu/cpu{}/power/energy_perf_bias"
WITH_EPB = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F, flags=frozenset({"epb"}))


def test_each_cpu_has_its_own() -> None:
    _, machine = machine_of({FILE.format(0): "6\n", FILE.format(1): "15\n"}, model=WITH_EPB)
    source = EnergyBias()
    signal = source.probe(machine).signals["epb"]
    assert isinstance(signal, Signal)
    assert (signal.scope, signal.reduce) == (Scope.CPU, Reduce.SAME)
    assert [list(source.open(machine, cpu, frozenset({"epb"})).read()) for cpu in (0, 1)] == [[6], [15]]


def test_without_the_feature() -> None:
    _, machine = machine_of({})
    why = EnergyBias().probe(machine).signals["epb"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE


def test_with_the_feature_but_an_old_kernel() -> None:
    _, machine = machine_of({}, model=WITH_EPB)
    why = EnergyBias().probe(machine).signals["epb"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_DRIVER
    assert "5.2" in why.remedy


def test_not_permitted() -> None:
    _, machine = machine_of({FILE.format(0): errno.EACCES, FILE.format(1): errno.EACCES}, model=WITH_EPB)
    why = EnergyBias().probe(machine).signals["epb"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NOT_PERMITTED
    assert why.remedy == "run as root"
