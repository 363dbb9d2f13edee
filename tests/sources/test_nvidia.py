"""NVIDIA's cards, with a replacement for the module that accesses NVML."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from prochost import Content, ProcHost, machine_of

from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.own_program import install_command
from turbotui.quantities.meters import meters_of
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.nvidia import Nvidia
from turbotui.sources.source import SharedReader

CARD = "0000:01:00.0"
FAKE = '''
class NVMLError(Exception):
    """The error that nvidia-ml-py raises."""

calls = []
energy = {b"0000:01:00.0": 5_000, b"0000:02:00.0": None}
broken = False

def nvmlInit():
    calls.append("init")

def nvmlShutdown():
    calls.append("shutdown")

def nvmlDeviceGetHandleByPciBusId(address):
    if broken:
        raise NVMLError("GPU is lost")
    return address

def nvmlDeviceGetTotalEnergyConsumption(card):
    if broken or energy[card] is None:
        raise NVMLError("Not Supported")
    return energy[card]

def nvmlDeviceGetPowerUsage(card):
    if broken:
        raise NVMLError("GPU is lost")
    return 71_500
'''


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "pynvml.py").write_text(FAKE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    yield importlib.import_module("pynvml")
    sys.modules.pop("pynvml", None)


def card(address: str = CARD, status: str = "active", control: str = "on",
         model: str = "NVIDIA RTX 6000") -> dict[str, Content]:
    device = f"/sys/bus/pci/devices/{address}/power"
    return {f"/proc/driver/nvidia/gpus/{address}/information": f"Model: \t\t {model}\nIRQ:   \t\t 188\n",
            f"{device}/runtime_status": f"{status}\n", f"{device}/control": f"{control}\n"}


def real(files: dict[str, Content]) -> tuple[ProcHost, Machine]:
    host, machine = machine_of(files)
    host.kind = HostKind.REAL
    return host, machine


def opened(machine: Machine) -> tuple[SharedReader, dict[SignalId, Signal]]:
    source = Nvidia()
    signals = {name: item for name, item in source.probe(machine).signals.items() if isinstance(item, Signal)}
    return source.open_shared(machine, frozenset(signals)), signals


def values(reader: SharedReader) -> dict[SignalId, Raw]:
    return {name: row[0] for name, row in zip(reader.signals, reader.read(), strict=True)}


def test_energy_and_power_of_each_card(nvml: ModuleType) -> None:
    _, machine = real({**card(), **card("0000:02:00.0", model="Tesla\x1b[31m P4")})
    reader, signals = opened(machine)
    result = values(reader)
    assert signals["meter.nvidia.0.energy"].value(result["meter.nvidia.0.energy"]) == 5.0
    assert signals["meter.nvidia.0.power"].value(result["meter.nvidia.0.power"]) == 71.5
    assert result["meter.nvidia.1.energy"] is None, "before Volta there is no counter"
    assert result["meter.nvidia.1.power"] == 71_500_000
    labels = [meter.label for meter in meters_of(signals)]
    assert labels[0] == f"NVIDIA RTX 6000 {CARD}"
    assert "\x1b" not in labels[1]
    reader.close()
    assert nvml.calls == ["init", "init", "shutdown", "shutdown"]


def test_nothing_is_asked_before_somebody_wants_it(nvml: ModuleType) -> None:
    _, machine = real(card())
    Nvidia().probe(machine)
    assert nvml.calls == []


def test_a_card_that_sleeps_is_not_asked_and_one_that_may_is_let_go(nvml: ModuleType) -> None:
    host, machine = real(card(status="suspended", control="auto"))
    reader, _ = opened(machine)
    assert values(reader)["meter.nvidia.0.state"] == "suspended"
    assert nvml.calls == []
    host.files[f"/sys/bus/pci/devices/{CARD}/power/runtime_status"] = "active\n"
    assert values(reader)["meter.nvidia.0.power"] == 71_500_000
    assert nvml.calls == ["init", "shutdown"], "an open session would keep it awake"


def test_a_card_that_falls_off_its_bus_is_unknown_until_it_is_back(nvml: ModuleType) -> None:
    _, machine = real(card())
    reader, _ = opened(machine)
    assert values(reader)["meter.nvidia.0.power"] == 71_500_000
    reader.close()
    reader, _ = opened(machine)
    vars(nvml)["broken"] = True
    assert values(reader)["meter.nvidia.0.power"] is None
    vars(nvml)["broken"] = False
    assert values(reader)["meter.nvidia.0.power"] == 71_500_000
    reader.close()
    assert nvml.calls.count("init") == nvml.calls.count("shutdown")


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    importlib.invalidate_caches()
    _, machine = real(card())
    why = Nvidia().probe(machine).signals["meter.nvidia.0.power"]
    assert isinstance(why, Unavailable)
    assert (why.reason, why.remedy) == (Reason.NO_DRIVER, install_command("nvidia-ml-py"))


@pytest.mark.parametrize(("files", "kind", "reason"), [
    ({}, HostKind.REAL, Reason.NO_HARDWARE),
    (card(), HostKind.RECORDED, Reason.RECORDED),
])
def test_why_there_is_none(files: dict[str, Content], kind: HostKind, reason: Reason) -> None:
    host, machine = machine_of(files)
    host.kind = kind
    why = Nvidia().probe(machine).signals["meter.nvidia.0.power"]
    assert isinstance(why, Unavailable)
    assert why.reason is reason
