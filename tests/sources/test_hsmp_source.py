"""Signals from the metrics table of AMD MI300A."""

from __future__ import annotations

import errno

import pytest
from fakehost import FakeHost, machine

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.hsmp_metrics import SIZE, metric_fields
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.catalog.hsmp import COLUMNS
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.hsmp import HsmpMetrics

MI300A = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x19, model=0x90)
TURIN = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x1A, model=2)
TWO = [CpuPlace(cpu, cpu // 2, 0, cpu, cpu // 2, cpu, cpu % 2) for cpu in range(4)]
NAMES = frozenset({"hsmp.power", "hsmp.temp.vr", "hsmp.temp.hbm", "hsmp.c0", "hsmp.gfx", "hsmp.hbm", "hsmp.fclk",
                   "hsmp.uclk"})


def table(**values: float) -> str:
    data = bytearray(SIZE)
    for name, value in values.items():
        field = metric_fields()[name]
        data[field.offset : field.offset + 4] = round(value * (1 << field.fraction)).to_bytes(
            4, "little", signed=field.signed)
    return data.decode("latin-1")


def files(*tables: str) -> dict[str, str | int]:
    return {f"/sys/devices/platform/AMDI0097:{number:02X}/metrics_bin": item for number, item in enumerate(tables)}


def test_each_package_has_its_own_table_and_one_read_gives_all_of_it() -> None:
    host = FakeHost(files=files(
        table(socket_power=512.5, max_vr_temperature=-2, max_hbm_temperature=71, socket_c0_residency=37.5,
              socket_gfx_busy=80, dram_bandwidth_utilization=12.5, fclk_frequency=1800, uclk_frequency=1300),
        table(socket_power=100)))
    here, source = machine(host, MI300A, TWO), HsmpMetrics()
    signals = source.probe(here).signals
    assert signals.keys() == NAMES
    assert all(isinstance(signal, Signal) and signal.scope is Scope.PACKAGE for signal in signals.values())
    reader = source.open(here, 0, NAMES)
    values = dict(zip(reader.signals, reader.read(), strict=True))
    si = {name: signal.value(values[name]) for name, signal in signals.items() if isinstance(signal, Signal)}
    assert si == pytest.approx({"hsmp.power": 512.5, "hsmp.temp.vr": -2.0, "hsmp.temp.hbm": 71.0, "hsmp.c0": 0.375,
                                "hsmp.gfx": 0.8, "hsmp.hbm": 0.125, "hsmp.fclk": 1.8e9, "hsmp.uclk": 1.3e9})
    other = source.open(here, 2, frozenset({"hsmp.power"}))
    assert list(other.read()) == [100 * 1024]
    reader.close()
    other.close()
    assert source.descriptors(frozenset({"hsmp.power", "hsmp.c0"}), 2) == 2
    assert source.descriptors(frozenset({"energy.pkg"}), 2) == 0


@pytest.mark.parametrize(("given", "model", "reason", "words"), [
    ({}, TURIN, Reason.NO_HARDWARE, "MI300A alone"),
    ({}, MI300A, Reason.NO_DRIVER, "no metrics_bin"),
    (files(table(socket_power=1)), MI300A, Reason.FAILED, "which is whose is not known"),
    (files("short", "short"), MI300A, Reason.UNKNOWN_MODEL, "5 bytes"),
    (files(table(), table()), MI300A, Reason.FAILED, "has not filled"),
])
def test_why_there_is_nothing(given: dict[str, str | int], model: CpuModel, reason: Reason, words: str) -> None:
    signals = HsmpMetrics().probe(machine(FakeHost(files=given), model, TWO)).signals
    for why in signals.values():
        assert isinstance(why, Unavailable)
        assert why.reason is reason
        assert words in why.detail


def test_a_table_that_goes_away_gives_nothing_and_not_zero() -> None:
    path = "/sys/devices/platform/AMDI0097:00/metrics_bin"
    online = {"/sys/devices/system/cpu/cpu0/online": "1\n"}
    host = FakeHost(files={**files(table(socket_power=1), table(socket_power=2)), **online})
    here, source = machine(host, MI300A, TWO), HsmpMetrics()
    reader = source.open(here, 0, frozenset({"hsmp.power", "hsmp.c0"}))
    assert list(reader.read()) == [1024, 0]
    host.files[path] = errno.EIO
    assert list(reader.read()) == [None, None]
    host.files[path] = ""
    assert list(reader.read()) == [None, None]


def test_every_signal_has_a_column() -> None:
    assert {need for column in COLUMNS for need in column.needs} == NAMES
