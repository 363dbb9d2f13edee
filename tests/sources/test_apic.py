from __future__ import annotations

import errno

from fakehost import GUEST, SAPPHIRE_RAPIDS, FakeHost, machine

from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.apic import Apic

IDS = frozenset({"apic", "x2apic"})
CPUINFO = (
    "processor\t: 0\napicid\t\t: 300\ninitial apicid\t: 300\n\nprocessor\t: 1\napicid\t\t: 302\ninitial apicid\t: 302\n"
)
MILAN = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x19, flags=frozenset({"topoext"}))


def origins(host: FakeHost, model: CpuModel) -> dict[str, str]:
    signals = Apic().probe(machine(host, model)).signals
    return {name: result.origin for name, result in signals.items() if isinstance(result, Signal)}


def test_intel_by_cpuid() -> None:
    host = FakeHost(
        files={"/dev/cpu/0/cpuid": "", "/proc/cpuinfo": CPUINFO},
        leaves={0: (0x20, 0, 0, 0), 1: (0, 0x2A001234, 0, 0), 0xB: (1, 2, 0x100, 0x12A)},
    )
    reader = Apic().open(machine(host, SAPPHIRE_RAPIDS), 0, IDS)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"apic": 0x2A, "x2apic": 0x12A}
    assert not host.open
    assert origins(host, SAPPHIRE_RAPIDS)["x2apic"] == "CPUID 0xb EDX by /dev/cpu/{cpu}/cpuid"


def test_amd_by_its_extended_leaf_only_if_announced() -> None:
    leaves = {1: (0, 0x07000000, 0, 0), 0x80000000: (0x80000020, 0, 0, 0), 0x8000001E: (0x107, 0, 0, 0)}
    host = FakeHost(files={"/dev/cpu/0/cpuid": ""}, leaves=leaves)
    assert list(Apic().open(machine(host, MILAN), 0, IDS).read()) == [7, 0x107]
    assert list(Apic().open(machine(host, GUEST), 0, IDS).read()) == [7, None]
    host.leaves[0x80000000] = (0x80000008, 0, 0, 0)
    assert list(Apic().open(machine(host, MILAN), 0, IDS).read()) == [7, None]


def test_without_the_driver_by_cpuinfo_and_it_says_so() -> None:
    host = FakeHost(files={"/proc/cpuinfo": CPUINFO, "/dev/cpu/1/cpuid": errno.EACCES})
    assert list(Apic().open(machine(host, SAPPHIRE_RAPIDS), 1, IDS).read()) == [302 & 0xFF, 302]
    assert origins(host, SAPPHIRE_RAPIDS) == {
        "apic": "/proc/cpuinfo, low 8 bits of initial apicid", "x2apic": "/proc/cpuinfo, apicid",
    }  # fmt: skip


def test_nowhere() -> None:
    why = Apic().probe(machine(FakeHost(), SAPPHIRE_RAPIDS)).signals["apic"]
    assert isinstance(why, Unavailable)
    assert why.remedy == "modprobe cpuid"
    why = Apic().probe(machine(FakeHost(), CpuModel(architecture="aarch64"))).signals["apic"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE
