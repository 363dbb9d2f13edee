"""thermal_throttle in sysfs: how often and how long Intel processors slowed down for heat.

Files: kernel drivers/thermal/intel/therm_throt.c. Each CPU keeps its own counters, of the interrupts that it took for
its core and for its package. The time grows when an episode ends, not while it lasts.
"""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.machine.kernel_build import boot_word, build_option
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.source import Probe, Reader
from turbotui.sources.sysfs_files import CPU_DIR, FileReader, ValueFile

_DOCUMENT = "kernel drivers/thermal/intel/therm_throt.c"


@dataclass(frozen=True, slots=True)
class _Fact:
    """One counter of throttling and its file."""

    signal: SignalId
    scope: Scope  # of the signal
    files: tuple[str, ...]  # below thermal_throttle, the newest name first
    unit: Unit  # of the signal
    scale: float  # from the file's unit
    since: str  # the Linux release that brought it


_FACTS: tuple[_Fact, ...] = (
    # "count" was the only file before Linux 2.6.34 separated cores and packages.
    _Fact("throttle.core.count", Scope.CORE, ("core_throttle_count", "count"), Unit.COUNT, 1.0, "2.6.34"),
    _Fact("throttle.core.time", Scope.CORE, ("core_throttle_total_time_ms",), Unit.SECOND, 1e-3, "5.5"),
    _Fact("throttle.pkg.count", Scope.PACKAGE, ("package_throttle_count",), Unit.COUNT, 1.0, "2.6.34"),
    _Fact("throttle.pkg.time", Scope.PACKAGE, ("package_throttle_total_time_ms",), Unit.SECOND, 1e-3, "5.5"),
)


class ThermalThrottle(PerCpuSource):
    """The `Source` of the thermal_throttle directories."""

    id = "thermal-throttle"

    def probe(self, machine: Machine) -> Probe:
        """List the directory of the first measured CPU that has one with files."""
        for cpu in machine.topology.cpus:
            directory = f"{CPU_DIR.format(cpu=cpu)}/thermal_throttle"
            files = frozenset(names_in(machine.host, directory))
            if files:  # without any it is a mask over the folder of this CPU
                return Probe({fact.signal: _probed(directory, files, fact) for fact in _FACTS})
        return Probe(dict.fromkeys((fact.signal for fact in _FACTS), _absent(machine)))

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for each counter on each reading CPU."""
        return readers * sum(fact.signal in wanted for fact in _FACTS)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        directory = f"{CPU_DIR.format(cpu=cpu)}/thermal_throttle"
        files = []
        for fact in _FACTS:
            if fact.signal in wanted:
                paths = [f"{directory}/{name}" for name in fact.files]
                files.append(ValueFile(fact.signal, (next(filter(machine.host.exists, paths), paths[0]),)))
        return FileReader(machine.host, cpu, files, inside_cpu=True)


def _probed(directory: str, files: frozenset[str], fact: _Fact) -> Signal | Unavailable:
    name = next((name for name in fact.files if name in files), None)
    if name is not None:
        return Signal(fact.signal, fact.scope, fact.unit, Behavior.COUNTER, Reduce.SUM,
                      origin=f"{CPU_DIR}/thermal_throttle/{name}", document=_DOCUMENT, scale=fact.scale)
    if fact.scope is Scope.PACKAGE and "core_throttle_count" in files and "package_throttle_count" not in files:
        return Unavailable(
            Reason.NO_HARDWARE, f"{directory}/{fact.files[0]}: this processor has no package thermal status")
    return Unavailable(Reason.NO_DRIVER, f"{directory}/{fact.files[0]}: this kernel does not have the file",
                       f"use Linux {fact.since} or later")


def _absent(machine: Machine) -> Unavailable:
    where = "/sys/devices/system/cpu/cpu*/thermal_throttle is not there"
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, f"{where}: guests are not told of thermal events")
    if machine.model.vendor != "GenuineIntel":
        return Unavailable(Reason.NO_HARDWARE, f"{where}: the kernel counts thermal events on Intel only")
    built = build_option(machine.host, "X86_THERMAL_VECTOR")
    if built == "n":
        return Unavailable(
            Reason.NO_DRIVER,
            f"{where}: the kernel was built without thermal interrupts (CONFIG_X86_THERMAL_VECTOR is not set)",
            "use a kernel with CONFIG_X86_THERMAL_VECTOR=y")
    # arch/x86/kernel/cpu/mce/core.c before Linux 5.11, and apic.c: no machine checks or no APIC, no thermal interrupts
    if word := boot_word(machine.host, "nomce", "mce=off", "nolapic", "disableapic"):
        return Unavailable(Reason.NO_DRIVER, f"{where}: the kernel was booted with {word}", f"boot without {word}")
    if built:
        return Unavailable(
            Reason.NO_HARDWARE,
            f"{where}, although the kernel has CONFIG_X86_THERMAL_VECTOR: the firmware keeps the thermal interrupt to "
            "itself, or the processor has none (drivers/thermal/intel/therm_throt.c)",
            "dmesg | grep -i 'thermal monitoring'")
    return Unavailable(
        Reason.NO_DRIVER,
        f"{where}: the kernel was built without thermal interrupts, or the firmware keeps them to itself",
        "use a kernel with CONFIG_X86_THERMAL_VECTOR=y, and see: dmesg | grep -i 'thermal monitoring'")
