"""Power limits of AMD sockets by the amd_hsmp driver's hwmon chips."""

from __future__ import annotations

import errno

import pytest
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.hsmp import LIMIT, Hsmp

CLASS = "/sys/class/hwmon"
TURIN = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x1A, model=2, name="AMD EPYC 9655")
GUEST = CpuModel(architecture="x86_64", vendor="AuthenticAMD", name="AMD EPYC", hypervisor=True)
TWO = topology_of(CpuPlace(cpu, cpu // 2, 0, cpu, cpu // 2, cpu, cpu % 2) for cpu in range(4))


def chips(*watts: int, uids: tuple[str, ...] = (), first: int = 9) -> dict[str, str | int]:
    """One chip for each limit, hwmon9, hwmon10 ..., beside another one."""
    files: dict[str, str | int] = {f"{CLASS}/hwmon0/name": "k10temp\n"}
    for at, watt in enumerate(watts):
        files[f"{CLASS}/hwmon{first + at}/name"] = "amd_hsmp_hwmon\n"
        files[f"{CLASS}/hwmon{first + at}/power1_cap"] = f"{watt * 1_000_000}\n"
        if uids:
            files[f"{CLASS}/hwmon{first + at}/device/firmware_node/uid"] = f"{uids[at]}\n"
    return files


def limits(files: dict[str, str | int], topology: Topology = TWO) -> list[float | None]:
    """Watts as read on the first CPU of each package."""
    _, machine = machine_of(files, topology, TURIN)
    source = Hsmp()
    signal = source.probe(machine).signals[LIMIT]
    assert isinstance(signal, Signal)
    assert signal.scope is Scope.PACKAGE
    result = []
    for package in topology.instances(Scope.PACKAGE):
        reader = source.open(machine, package.cpus[0], frozenset({LIMIT}))
        result.append(signal.value(reader.read()[0]))
    return result


def test_chips_in_the_order_in_which_they_were_registered() -> None:
    assert limits(chips(400, 360)) == [400.0, 360.0]  # hwmon9 before hwmon10, not as text sorts them


def test_chips_by_the_number_that_acpi_gives_their_sockets() -> None:
    assert limits(chips(400, 360, uids=("ID01", "ID00"))) == [360.0, 400.0]
    assert limits(chips(400, 360, uids=("ID00", "ID00"))) == [400.0, 360.0]  # numbers that name nobody


def why(files: dict[str, str | int], model: CpuModel = TURIN) -> Unavailable:
    _, machine = machine_of(files, TWO, model)
    result = Hsmp().probe(machine).signals[LIMIT]
    assert isinstance(result, Unavailable)
    return result


def test_more_chips_than_packages_are_nobody_s() -> None:
    assert why(chips(400, 400, 400)).reason is Reason.FAILED


def test_a_limit_that_cannot_be_read_says_why() -> None:
    files = chips(400, 400)
    files[f"{CLASS}/hwmon9/power1_cap"] = files[f"{CLASS}/hwmon10/power1_cap"] = errno.EACCES
    assert "power1_cap" in why(files).detail


@pytest.mark.parametrize(
    ("model", "reason", "remedy"),
    [
        (TURIN, Reason.NO_DRIVER, "modprobe amd_hsmp"),
        (CpuModel("x86_64", "AuthenticAMD", 0x17, 1, name="AMD EPYC 7451 24-Core Processor"), Reason.NO_HARDWARE, ""),
        (CpuModel(architecture="x86_64", vendor="AuthenticAMD", name="AMD Ryzen 9 7950X"), Reason.NO_HARDWARE, ""),
        (CpuModel(architecture="x86_64", vendor="GenuineIntel"), Reason.NO_HARDWARE, ""),
        (GUEST, Reason.VIRTUALISED, ""),
    ],
)
def test_absence_is_explained(model: CpuModel, reason: Reason, remedy: str) -> None:
    unavailable = why({}, model)
    assert (unavailable.reason, unavailable.remedy.startswith(remedy)) == (reason, True)
    assert bool(unavailable.remedy) == bool(remedy)
