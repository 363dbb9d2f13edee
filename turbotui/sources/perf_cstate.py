"""The kernel's cstate_core, cstate_module and cstate_pkg PMUs: residency of hardware C-states in TSC-rate cycles.

Which states a model has is the driver's knowledge (kernel arch/x86/events/intel/cstate.c); the PMUs list them.
"""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.machine.efficiency_cores import c6_counts_c7
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, circumstances
from turbotui.machine.pmus import Pmu, read_pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.deeper import C7, WithoutDeeper, with_deeper
from turbotui.sources.perf_power import domain_scope
from turbotui.sources.perf_source import (
    Findings,
    Offer,
    OfferGroup,
    PerfReader,
    PerfSource,
    absent_pmu,
    mask_readers,
    named_event,
    try_offers,
)

_DOCUMENT = "kernel arch/x86/events/intel/cstate.c; Intel SDM vol. 4"


@dataclass(frozen=True, slots=True)
class _Residencies:
    """The states of one PMU: signal id to (state, scope)."""

    pmu: str
    states: dict[SignalId, tuple[str, Scope]]


_RESIDENCIES = (
    _Residencies(
        "cstate_core",
        {
            # Core C1 is read on every CPU, as turbostat does: its column is a CPU's.
            "cstate.core.c1": ("c1", Scope.CPU),
            "cstate.core.c3": ("c3", Scope.CORE),
            "cstate.core.c6": ("c6", Scope.CORE),
            "cstate.core.c7": ("c7", Scope.CORE),
        },
    ),
    _Residencies("cstate_module", {"cstate.module.c6": ("c6", Scope.MODULE)}),
    _Residencies(
        "cstate_pkg",
        {f"cstate.pkg.{state}": (state, Scope.PACKAGE) for state in ("c2", "c3", "c6", "c7", "c8", "c9", "c10")},
    ),
)


class PerfCstate(PerfSource):
    """perf's residency events."""

    id = "perf-cstate"
    title = "perf cstate"
    gives = "hardware residency of core, module and package C-states"

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

    def _find(self, machine: Machine) -> Findings:
        facts = circumstances(machine)
        signals: dict[SignalId, Signal | Unavailable] = {}
        groups = []
        for residencies in _RESIDENCIES:
            pmu = read_pmu(machine.host, residencies.pmu)
            if pmu is None:
                signals |= absent_pmu(residencies.pmu, residencies.states, facts)
                continue
            group, answers = _find_states(machine, pmu, residencies, facts)
            signals |= answers
            if group is not None:
                groups.append(group)
        return Findings(tuple(groups), signals)


def _find_states(
    machine: Machine, pmu: Pmu, residencies: _Residencies, facts: Circumstances
) -> tuple[OfferGroup | None, dict[SignalId, Signal | Unavailable]]:
    """Try a PMU's states: the group of those that open, and the answer for each."""
    signals: dict[SignalId, Signal | Unavailable] = {}
    offers = []
    scopes: dict[SignalId, Scope] = {}
    for signal, (state, scope) in residencies.states.items():
        event = named_event(pmu, f"{state}-residency", signal, facts)
        if isinstance(event, Unavailable):
            signals[signal] = event
            continue
        # Some models count package states per die (kernel arch/x86/events/intel/cstate.c, PERF_PMU_SCOPE_DIE).
        scopes[signal] = domain_scope(machine, pmu.cpumask) if scope is Scope.PACKAGE else scope
        everywhere = scope is Scope.CPU
        offers.append(
            Offer(event, None if everywhere else frozenset(mask_readers(machine, pmu.cpumask, scopes[signal])))
        )
    usable, refused = try_offers(machine, offers, facts)
    signals |= refused
    for offer in usable:
        signal = offer.event.signal
        scope = scopes[signal]
        signals[signal] = Signal(
            id=signal,
            scope=scope,
            unit=Unit.CYCLE,
            behavior=Behavior.COUNTER,
            reduce=Reduce.MEAN,
            origin=offer.event.title,
            document=_DOCUMENT,
            readers=() if offer.readers is None else mask_readers(machine, pmu.cpumask, scope),
        )
    return (OfferGroup(usable) if usable else None), signals
