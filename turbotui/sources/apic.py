"""APIC ids of CPUs, from the cpuid driver, which executes the instruction on the given CPU, or from /proc/cpuinfo.

Leaves: Intel SDM vol. 2, CPUID 01H and 0BH; AMD APM vol. 3, CPUID Fn0000_0001 and Fn8000_001E. The driver's file is 16
bytes at an offset that is the leaf (kernel arch/x86/kernel/cpuid.c).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.reading import LeafReader, cpuid_of
from turbotui.machine.small_files import text_of
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import CachedSearch, NothingToClose, PerCpuSource
from turbotui.sources.source import Probe, Reader

_SIGNALS = ("apic", "x2apic")
_DEVICE = "/dev/cpu/{cpu}/cpuid"
_CPUINFO = "/proc/cpuinfo"
_FIRST, _TOPOLOGY, _AMD_IDS, _EXTENDED = 0x1, 0xB, 0x8000001E, 0x80000000
_AMD = frozenset({"AuthenticAMD", "HygonGenuine"})
_X86 = frozenset({"x86_64", "i386"})


class _Constants(NothingToClose):
    """A reader of values that were read when it was created."""

    def __init__(self, values: Mapping[SignalId, Raw]) -> None:
        self.signals, self._values = tuple(values), tuple(values.values())

    def read(self) -> Sequence[Raw]:
        """Return the APIC ids, which do not change while a CPU is online."""
        return self._values


class Apic(PerCpuSource):
    """The `Source` of APIC ids. Each is read once, when opened."""

    id = "apic"

    def __init__(self) -> None:
        # the kernel's text about all CPUs, read once for a topology because it grows with their number
        self._cpuinfo = CachedSearch(lambda machine: _cpuinfo_ids(machine.host))

    def probe(self, machine: Machine) -> Probe:
        """Read the first CPU's ids."""
        if machine.model.architecture not in _X86:
            return Probe(dict.fromkeys(_SIGNALS, Unavailable(Reason.NO_HARDWARE, "APIC ids exist on x86 only")))
        cpu = machine.topology.cpus[0]
        by_cpuid, by_cpuinfo = _by_cpuid(machine, cpu), self._cpuinfo.look(machine).get(cpu, {})
        origins = {"apic": (f"CPUID 0x1 EBX[31:24] by {_DEVICE}", f"{_CPUINFO}, low 8 bits of initial apicid"),
                   "x2apic": (f"CPUID {_x2apic_leaf(machine)} by {_DEVICE}", f"{_CPUINFO}, apicid")}
        answers: dict[SignalId, Signal | Unavailable] = {}
        for name, (first, second) in origins.items():
            if by_cpuid.get(name) is not None:
                answers[name] = _signal(name, first)
            elif by_cpuinfo.get(name) is not None:
                answers[name] = _signal(name, second)
            else:
                answers[name] = Unavailable(Reason.NO_DRIVER,
                    f"{_DEVICE.format(cpu=cpu)} and {_CPUINFO} do not tell it", "modprobe cpuid")
        return Probe(answers)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Read the ids of one CPU."""
        values = _by_cpuid(machine, cpu)
        if not wanted <= values.keys():
            values = {**self._cpuinfo.on(machine).get(cpu, {}), **values}
        return _Constants({name: values.get(name) for name in _SIGNALS if name in wanted})


def _signal(name: SignalId, origin: str) -> Signal:
    return Signal(name, Scope.CPU, Unit.COUNT, Behavior.GAUGE, Reduce.NONE, origin=origin,
                  document="Intel SDM vol. 2, CPUID; AMD APM vol. 3, CPUID")


def _x2apic_leaf(machine: Machine) -> str:
    return f"{_AMD_IDS:#x} EAX" if machine.model.vendor in _AMD else f"{_TOPOLOGY:#x} EDX"


def _by_cpuid(machine: Machine, cpu: int) -> dict[SignalId, int]:
    """The ids according to the CPU itself; empty without a readable driver."""
    try:
        with cpuid_of(machine.host, cpu) as leaf:
            return _ids(leaf, amd=machine.model.vendor in _AMD, topoext="topoext" in machine.model.flags)
    except HostError:
        return {}


def _ids(leaf: LeafReader, *, amd: bool, topoext: bool) -> dict[SignalId, int]:
    """Read the APIC ids from CPUID, from no leaf beyond the CPU's highest."""
    ids: dict[SignalId, int] = {"apic": leaf(_FIRST).ebx >> 24}
    if amd:
        if topoext and leaf(_EXTENDED).eax >= _AMD_IDS:  # 80000001H:ECX[22], which the kernel calls topoext
            ids["x2apic"] = leaf(_AMD_IDS).eax
    elif leaf(0).eax >= _TOPOLOGY and leaf(_TOPOLOGY).ebx:  # EBX 0: the leaf does not exist
        ids["x2apic"] = leaf(_TOPOLOGY).edx
    return ids


def _cpuinfo_ids(host: Host) -> dict[int, dict[SignalId, int]]:
    """The ids by CPU; the initial apicid is 32 bits wide if CPUs have x2APIC ids."""
    by_cpu: dict[int, dict[SignalId, int]] = {}
    for block in text_of(host, _CPUINFO).split("\n\n"):
        keys = {}
        for line in block.splitlines():
            key, _, value = line.partition(":")
            keys[key.strip()] = value.strip()
        cpu, initial, own = (whole_number(keys.get(key, "")) for key in ("processor", "initial apicid", "apicid"))
        if cpu is None:
            continue
        ids = by_cpu[cpu] = {}
        if initial is not None:
            ids["apic"] = initial & 0xFF
        if own is not None:
            ids["x2apic"] = own
    return by_cpu
