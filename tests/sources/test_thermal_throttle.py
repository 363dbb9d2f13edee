from __future__ import annotations

import pytest
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.source import CpuGone
from turbotui.sources.thermal_throttle import ThermalThrottle

DIRECTORY = "/sys/devices/system/cpu/cpu{}/thermal_throttle"
IDS = frozenset({"throttle.core.count", "throttle.core.time", "throttle.pkg.count", "throttle.pkg.time"})
INTEL = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F)


def throttle(cpu: int, *names: str) -> dict[str, str]:
    names = names or (
        "core_throttle_count", "core_throttle_max_time_ms", "core_throttle_total_time_ms",
        "package_throttle_count", "package_throttle_max_time_ms", "package_throttle_total_time_ms",
    )  # fmt: skip
    return {f"{DIRECTORY.format(cpu)}/{name}": f"{100 * cpu + place}\n" for place, name in enumerate(names)}


def test_each_counter_from_its_own_file_at_its_scope_in_seconds() -> None:
    host, machine = machine_of({**throttle(0), **throttle(1)})
    source = ThermalThrottle()
    reader = source.open(machine, 1, IDS)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {
        "throttle.core.count": 100, "throttle.core.time": 102, "throttle.pkg.count": 103, "throttle.pkg.time": 105,
    }  # fmt: skip
    assert len(host.descriptors) == source.descriptors(IDS, 1)
    signals = source.probe(machine).signals
    time, count = signals["throttle.pkg.time"], signals["throttle.core.count"]
    assert isinstance(time, Signal)
    assert isinstance(count, Signal)
    assert (time.scope, count.scope) == (Scope.PACKAGE, Scope.CORE)
    assert time.delta(0, 1500) == pytest.approx(1.5)


def test_the_oldest_layout_has_one_file() -> None:
    _, machine = machine_of(throttle(0, "count"))
    source = ThermalThrottle()
    signals = source.probe(machine).signals
    assert isinstance(signals["throttle.core.count"], Signal)
    assert list(source.open(machine, 0, frozenset({"throttle.core.count"})).read()) == [0]
    why = signals["throttle.core.time"]
    assert isinstance(why, Unavailable)
    assert "5.5" in why.remedy


def test_a_processor_without_package_status() -> None:
    _, machine = machine_of(throttle(0, "core_throttle_count", "core_throttle_total_time_ms"))
    why = ThermalThrottle().probe(machine).signals["throttle.pkg.time"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (INTEL, Reason.NO_DRIVER),
        (CpuModel(vendor="AuthenticAMD"), Reason.NO_HARDWARE),
        (CpuModel("x86_64", vendor="GenuineIntel", hypervisor=True), Reason.VIRTUALISED),
        (CpuModel("s390x", vendor="IBM/S390", hypervisor=True), Reason.NO_HARDWARE),
    ],
)
def test_absence_is_explained(model: CpuModel, reason: Reason) -> None:
    _, machine = machine_of({}, model=model)
    signals = ThermalThrottle().probe(machine).signals
    assert set(signals) == IDS
    assert {s.reason for s in signals.values() if isinstance(s, Unavailable)} == {reason}


def test_the_directory_goes_with_its_cpu() -> None:
    host, machine = machine_of(throttle(0))
    reader = ThermalThrottle().open(machine, 0, IDS)
    host.remove(DIRECTORY.format(0))
    with pytest.raises(CpuGone):
        reader.read()
