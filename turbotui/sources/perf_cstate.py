"""The kernel's cstate_core, cstate_module and cstate_pkg PMUs: residency of hardware C-states in TSC-rate cycles.

Which states a model has is the driver's knowledge (kernel arch/x86/events/intel/cstate.c); the PMUs list them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from turbotui.machine.efficiency_cores import c6_counts_c7
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sources.deeper import C7, WithoutDeeper, with_deeper
from turbotui.sources.perf_group import GroupEvent
from turbotui.sources.perf_power import domain_scope
from turbotui.sources.perf_source import NamedEvents, Offer, PerfReader, mask_readers

_DOCUMENT = "kernel arch/x86/events/intel/cstate.c; Intel SDM vol. 4"
_SCOPES = {"cstate_core": Scope.CORE, "cstate_module": Scope.MODULE, "cstate_pkg": Scope.PACKAGE}
_EVERYWHERE: SignalId = "cstate.core.c1"  # read on every CPU, as turbostat does: its column is a CPU's


def _events(prefix: str, *states: str) -> dict[SignalId, str]:
    return {f"{prefix}.{state}": f"{state}-residency" for state in states}


class PerfCstate(NamedEvents):
    """perf's residency events."""

    id = "perf-cstate"
    title = "perf cstate"
    gives = "hardware residency of core, module and package C-states"
    pmus: ClassVar = {
        "cstate_core": _events("cstate.core", "c1", "c3", "c6", "c7"),
        "cstate_module": _events("cstate.module", "c6"),
        "cstate_pkg": _events("cstate.pkg", "c2", "c3", "c6", "c7", "c8", "c9", "c10"),
    }

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> PerfReader:
        """Open the groups that hold wanted signals; on E cores C6 is returned without the C7 counted into it.

        Raises:
            CpuGone: the CPU is offline.
            HostError: none of the wanted counters opens any more.
        """
        self._findings.on(machine)
        if not (self._touched(frozenset({C7})) and c6_counts_c7(machine, cpu)):
            return super().open(machine, cpu, wanted)
        return WithoutDeeper(super().open(machine, cpu, with_deeper(wanted)), wanted)

    def _offer(self, machine: Machine, pmu: Pmu, event: GroupEvent) -> tuple[Offer, Signal]:
        scope = _SCOPES[pmu.name]
        if scope is Scope.PACKAGE:  # some models count these per die (kernel cstate.c, PERF_PMU_SCOPE_DIE)
            scope = domain_scope(machine, pmu.cpumask)
        signal = Signal(
            event.signal, scope, Unit.CYCLE, Behavior.COUNTER, Reduce.MEAN, origin=event.title, document=_DOCUMENT,
            readers=mask_readers(machine, pmu.cpumask, scope),
        )  # fmt: skip
        if event.signal == _EVERYWHERE:
            return Offer(event), replace(signal, scope=Scope.CPU, readers=())
        return Offer(event, frozenset(signal.readers)), signal
