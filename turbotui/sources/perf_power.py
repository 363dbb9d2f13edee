"""The kernel's `power` and `power_core` PMUs: RAPL energy as 64-bit running counts.

Scale and unit come from sysfs beside each event (kernel arch/x86/events/rapl.c). Intel counts per die, AMD per package
and, by `power_core`, per core; the PMU's cpumask says which.
"""

from __future__ import annotations

import math

from turbotui.machine.cpumodel import AMD_VENDORS
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, circumstances
from turbotui.machine.pmus import Pmu, read_pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.perf_source import (
    Findings,
    Offer,
    OfferGroup,
    PerfSource,
    absent_pmu,
    mask_readers,
    named_event,
    try_offers,
)

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


class PerfPower(PerfSource):
    """perf's energy events."""

    id = "perf-power"
    title = "perf power"
    gives = "energy of packages, cores, graphics, memory and platform"

    def _find(self, machine: Machine) -> Findings:
        facts = circumstances(machine)
        signals: dict[SignalId, Signal | Unavailable] = {}
        groups = []
        for name, events in (("power", _DOMAINS), ("power_core", _PER_CORE)):
            pmu = read_pmu(machine.host, name)
            if pmu is None:
                signals |= absent_pmu(name, events, facts)
                continue
            scope = Scope.CORE if name == "power_core" else domain_scope(machine, pmu.cpumask)
            group, answers = _find_domains(machine, pmu, events, scope, facts)
            signals |= answers
            if group is not None:
                groups.append(group)
        return Findings(tuple(groups), signals)


def domain_scope(machine: Machine, cpumask: tuple[int, ...]) -> Scope:
    """DIE where the PMU's cpumask names a CPU in more than one die of a package, else PACKAGE.

    An AMD package has one counter (AMD PPR, Core::X86::Msr::PKG_ENERGY_STAT). Linux takes its core complexes for dies
    from 6.9 on and read it once for each, until "perf/x86/rapl: Fix the energy-pkg event for AMD CPUs".
    """
    if machine.model.vendor in AMD_VENDORS:
        return Scope.PACKAGE
    topology = machine.topology
    dies: dict[int, set[int]] = {}
    for cpu in cpumask:
        if cpu in topology.places:
            dies.setdefault(topology.index(Scope.PACKAGE, cpu), set()).add(topology.index(Scope.DIE, cpu))
    return Scope.DIE if any(len(found) > 1 for found in dies.values()) else Scope.PACKAGE


def _find_domains(
    machine: Machine,
    pmu: Pmu,
    events: dict[SignalId, str],
    scope: Scope,
    facts: Circumstances,
) -> tuple[OfferGroup | None, dict[SignalId, Signal | Unavailable]]:
    """Try a PMU's domains: the group of those that open, and the answer for each."""
    signals: dict[SignalId, Signal | Unavailable] = {}
    readers = mask_readers(machine, pmu.cpumask, scope)
    offers = []
    for signal, name in events.items():
        event = named_event(pmu, name, signal, facts)
        if isinstance(event, Unavailable):
            signals[signal] = event
            continue
        described = pmu.events[name]
        if described.unit != _JOULES or not (math.isfinite(described.scale) and described.scale > 0):
            signals[signal] = Unavailable(
                Reason.FAILED,
                f"{event.title}: its unit is {described.unit!r} and its scale {described.scale}, not a share of joules",
            )
            continue
        # The platform's counter is one, whatever package reads it.
        offers.append(Offer(event, frozenset(readers[:1] if signal == _SYSTEM else readers)))
    usable, refused = try_offers(machine, offers, facts)
    signals |= refused
    for offer in usable:
        signal = offer.event.signal
        whole = signal == _SYSTEM
        signals[signal] = Signal(
            id=signal,
            scope=Scope.SYSTEM if whole else scope,
            unit=Unit.JOULE,
            behavior=Behavior.COUNTER,
            reduce=Reduce.SUM,
            origin=offer.event.title,
            document=_DOCUMENT,
            scale=pmu.events[events[signal]].scale,
            readers=readers[:1] if whole else readers,
        )
    return (OfferGroup(usable) if usable else None), signals
