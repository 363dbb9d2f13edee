"""Low-power idle residency in sysfs: how long the CPUs and the whole system slept as deeply as S0ix requires.

Files: kernel Documentation/firmware-guide/acpi/lpit.rst, drivers/acpi/acpi_lpit.c; without the ACPI table the
intel_pmc_core driver counts the system's (drivers/platform/x86/intel/pmc/core.c). Both are the system's, in
microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals, everywhere

_DIRECTORY = "/sys/devices/system/cpu/cpuidle"
_DOCUMENT = "kernel Documentation/firmware-guide/acpi/lpit.rst"
_FILES: Mapping[SignalId, tuple[str, ...]] = {
    "lpi.cpu": (f"{_DIRECTORY}/low_power_idle_cpu_residency_us",),
    "lpi.system": (
        f"{_DIRECTORY}/low_power_idle_system_residency_us",
        "/sys/kernel/debug/pmc_core/slp_s0_residency_usec",
    ),
}


class LowPowerIdle(LocatedFiles):
    """The `Source` of the low-power idle residencies."""

    id = "low-power-idle"

    def _find(self, machine: Machine) -> LocatedSignals:
        signals: dict[SignalId, LocatedSignal | Unavailable] = {}
        for name, paths in _FILES.items():
            path = next((path for path in paths if machine.host.exists(path)), None)
            if path is None:
                signals[name] = _absent(machine, paths[0])
                continue
            signal = Signal(name, Scope.SYSTEM, Unit.SECOND, Behavior.COUNTER, Reduce.MEAN, origin=path,
                            document=_DOCUMENT, scale=1e-6)
            signals[name] = LocatedSignal.at(signal, everywhere(path))
        return LocatedSignals(signals)


def _absent(machine: Machine, path: str) -> Unavailable:
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, f"{path} is not there: guests have no low-power idle table")
    return Unavailable(Reason.NO_HARDWARE, f"{path} is not there: the firmware has no low-power idle table (ACPI LPIT)")
