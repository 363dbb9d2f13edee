from __future__ import annotations

import errno

import pytest
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.amd_energy import AmdEnergy

CHIP = "/sys/class/hwmon/hwmon3"
ROME = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x17, model=0x31)
# Two sockets of two cores; CPUs 4..7 are the second threads.
TOPOLOGY = topology_of(
    CpuPlace(cpu, cpu % 4 // 2, 0, cpu % 4, cpu % 4 // 2, cpu % 4, cpu % 2, smt=cpu // 4) for cpu in range(8)
)


def chip(*labels: str) -> dict[str, str | int]:
    files: dict[str, str | int] = {"/sys/class/hwmon/hwmon0/name": "k10temp\n", f"{CHIP}/name": "amd_energy\n"}
    for place, label in enumerate(labels, start=1):
        files[f"{CHIP}/energy{place}_label"] = f"{label}\n"
        files[f"{CHIP}/energy{place}_input"] = f"{place}000000\n"
    return files


ALL = chip("Ecore000", "Ecore001", "Ecore002", "Ecore003", "Esocket0", "Esocket1")
IDS = frozenset({"energy.core", "energy.pkg"})


def test_cores_and_sockets_by_label_in_joules() -> None:
    _, machine = machine_of(ALL, TOPOLOGY, ROME)
    source = AmdEnergy()
    signals = source.probe(machine).signals
    core, package = signals["energy.core"], signals["energy.pkg"]
    assert isinstance(core, Signal)
    assert isinstance(package, Signal)
    assert (core.scope, package.scope) == (Scope.CORE, Scope.PACKAGE)
    reader = source.open(machine, 7, IDS)  # the second thread of the fourth core, in the second socket
    values = {name: signals[name] for name in reader.signals}
    read = dict(zip(reader.signals, reader.read(), strict=True))
    assert {name: signal.value(read[name]) for name, signal in values.items() if isinstance(signal, Signal)} == {
        "energy.core": pytest.approx(4.0), "energy.pkg": pytest.approx(6.0),
    }  # fmt: skip


def test_sockets_only() -> None:
    _, machine = machine_of(chip("Esocket0", "Esocket1"), TOPOLOGY, ROME)
    signals = AmdEnergy().probe(machine).signals
    assert isinstance(signals["energy.core"], Unavailable)
    assert isinstance(signals["energy.pkg"], Signal)


def test_root_only() -> None:
    _, machine = machine_of({**ALL, f"{CHIP}/energy5_input": errno.EACCES, f"{CHIP}/energy6_input": errno.EACCES},
                            TOPOLOGY, ROME)  # fmt: skip
    why = AmdEnergy().probe(machine).signals["energy.pkg"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NOT_PERMITTED


def test_without_the_driver() -> None:
    _, machine = machine_of({"/sys/class/hwmon/hwmon0/name": "k10temp\n"}, TOPOLOGY, ROME)
    why = AmdEnergy().probe(machine).signals["energy.core"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_DRIVER
