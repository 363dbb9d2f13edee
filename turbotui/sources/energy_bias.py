"""The energy performance bias in sysfs: what each CPU favours, from 0 (performance) to 15 (power saving).

File: kernel Documentation/admin-guide/pm/intel_epb.rst. The register behind it is IA32_ENERGY_PERF_BIAS (0x1B0).
"""

from __future__ import annotations

from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals
from turbotui.sources.sysfs_files import CPU_DIR

_FILE = f"{CPU_DIR}/power/energy_perf_bias"


class EnergyBias(LocatedFiles):
    """The `Source` of the energy performance bias."""

    id = "energy-bias"

    def _find(self, machine: Machine) -> LocatedSignals:
        if not any(machine.host.exists(_FILE.format(cpu=cpu)) for cpu in machine.topology.cpus):
            return LocatedSignals({"epb": _absent(machine)})
        signal = Signal("epb", Scope.CPU, Unit.COUNT, Behavior.GAUGE, Reduce.SAME, origin=_FILE,
                        document="kernel Documentation/admin-guide/pm/intel_epb.rst")
        return LocatedSignals({"epb": LocatedSignal.at(signal, lambda cpu: _FILE.format(cpu=cpu))})


def _absent(machine: Machine) -> Unavailable:
    detail = f"{_FILE.format(cpu='*')} is not there"
    if "epb" in machine.model.flags:
        return Unavailable(Reason.NO_DRIVER, detail, "use Linux 5.2 or later with CONFIG_CPU_SUP_INTEL")
    reason = Reason.VIRTUALISED if machine.model.x86_guest else Reason.NO_HARDWARE
    return Unavailable(reason, f"{detail}: this CPU announces no energy performance bias (flag epb)")
