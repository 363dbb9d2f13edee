"""The kernel's `power` and `power_core` PMUs: RAPL energy as 64-bit running counts.

Scale and unit come from sysfs beside each event (kernel arch/x86/events/rapl.c). Intel counts per die, AMD per package
and, with `power_core`, per core; the PMU's cpumask shows which.
"""

from __future__ import annotations

import math
from typing import ClassVar

from turbotui.machine.cpumodel import AMD_VENDORS
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.by_key import sets_by_key
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.perf_group import GroupEvent
from turbotui.sources.perf_source import NamedEvents, Offer, mask_readers

_DOMAINS = {
    "energy.pkg": "energy-pkg",
    "energy.cores": "energy-cores",
    "energy.gpu": "energy-gpu",
    "energy.ram": "energy-ram",
    "energy.psys": "energy-psys",
}
_SYSTEM = "energy.psys"
_PER_CORE: dict[SignalId, str] = {"energy.core": "energy-core"}
_JOULES = "Joules"  # the only unit the kernel's RAPL driver writes (arch/x86/events/rapl.c)
_DOCUMENT = "kernel arch/x86/events/rapl.c; Intel SDM vol. 3, RAPL; AMD PPR"


class PerfPower(NamedEvents):
    """perf's energy events."""

    id = "perf-power"

    pmus: ClassVar = {"power": _DOMAINS, "power_core": _PER_CORE}

    def _offer(self, machine: Machine, pmu: Pmu, event: GroupEvent) -> tuple[Offer, Signal] | Unavailable:
        described = pmu.events[self.pmus[pmu.name][event.signal]]
        if described.unit != _JOULES or not (math.isfinite(described.scale) and described.scale > 0):
            return Unavailable(
                Reason.FAILED,
                f"{event.title}: its unit is {described.unit!r} and its scale {described.scale}, not a share of joules")
        scope = Scope.CORE if pmu.name == "power_core" else domain_scope(machine, pmu.cpumask)
        readers = mask_readers(machine, pmu.cpumask, scope)
        if event.signal == _SYSTEM:  # the platform has one counter, whichever package reads it
            scope, readers = Scope.SYSTEM, readers[:1]
        return Offer(event, frozenset(readers)), Signal(event.signal, scope, Unit.JOULE, Behavior.COUNTER, Reduce.SUM,
            origin=event.title, document=_DOCUMENT, scale=described.scale, readers=readers)


def domain_scope(machine: Machine, cpumask: tuple[int, ...]) -> Scope:
    """DIE if the PMU's cpumask names a CPU in more than one die of a package, otherwise PACKAGE."""
    # an AMD package has one counter (AMD PPR, Core::X86::Msr::PKG_ENERGY_STAT). Linux takes its core complexes for dies
    # from 6.9 on and read it once for each, until "perf/x86/rapl: Fix the energy-pkg event for AMD CPUs".
    if machine.model.vendor in AMD_VENDORS:
        return Scope.PACKAGE
    topology = machine.topology
    dies = sets_by_key((topology.index(Scope.PACKAGE, cpu), topology.index(Scope.DIE, cpu))
                       for cpu in cpumask if cpu in topology.places)
    return Scope.DIE if any(len(dies_of) > 1 for dies_of in dies.values()) else Scope.PACKAGE
