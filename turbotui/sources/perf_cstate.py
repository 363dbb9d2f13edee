"""The kernel's cstate_core, cstate_module and cstate_pkg PMUs: residency of hardware C-states in TSC-rate cycles.

The driver knows which states a model has (kernel arch/x86/events/intel/cstate.c), and the PMUs list them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from turbotui.machine.efficiency_cores import c6_counts_c7
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sources.perf_group import GroupEvent
from turbotui.sources.perf_power import domain_scope
from turbotui.sources.perf_source import NamedEvents, Offer, PerfReader, mask_readers

C6: SignalId = "cstate.core.c6"
C7: SignalId = "cstate.core.c7"


class C6WithoutC7Reader:
    """A perf reader that returns C6 less C7 for C6; both are in one group and therefore of the same instant."""

    def __init__(self, reader: PerfReader, wanted: frozenset[SignalId]) -> None:
        self._reader = reader
        self._arrange(wanted)

    def read(self) -> Sequence[Raw]:
        """Read, and subtract C7 from C6; None for C6 if either is unknown. Raises CpuGone if the CPU went offline."""
        values = list(self._reader.read())
        if self._pair is not None:
            shallow, deep = self._pair
            first, second = values[shallow], values[deep]
            values[shallow] = first - second if isinstance(first, int) and isinstance(second, int) else None
        return [values[place] for place in self._places]

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Change what `read` returns; False, without a change, if one of `wanted` is not open here."""
        if not self._reader.choose(with_deeper(wanted)):
            return False
        self._arrange(wanted)
        return True

    def close(self) -> None:
        """Close every descriptor."""
        self._reader.close()

    def _arrange(self, wanted: frozenset[SignalId]) -> None:
        names = self._reader.signals
        self._places = tuple(place for place, name in enumerate(names) if name in wanted)
        self.signals = tuple(names[place] for place in self._places)
        self._pair = (names.index(C6), names.index(C7)) if C6 in wanted else None


def with_deeper(wanted: frozenset[SignalId]) -> frozenset[SignalId]:
    """The signals to read for `wanted`: C7 too if C6 is among them."""
    return wanted | {C7} if C6 in wanted else wanted


_DOCUMENT = "kernel arch/x86/events/intel/cstate.c; Intel SDM vol. 4"
_SCOPES = {"cstate_core": Scope.CORE, "cstate_module": Scope.MODULE, "cstate_pkg": Scope.PACKAGE}
_EVERYWHERE: SignalId = "cstate.core.c1"  # read on every CPU, as turbostat does: its column is a CPU's


def _events(prefix: str, *states: str) -> dict[SignalId, str]:
    return {f"{prefix}.{state}": f"{state}-residency" for state in states}


class PerfCstate(NamedEvents):
    """perf's residency events."""

    id = "perf-cstate"
    pmus: ClassVar = {
        "cstate_core": _events("cstate.core", "c1", "c3", "c6", "c7"),
        "cstate_module": _events("cstate.module", "c6"),
        "cstate_pkg": _events("cstate.pkg", "c2", "c3", "c6", "c7", "c8", "c9", "c10"),
    }

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> PerfReader:
        """Open the groups with wanted signals; on E cores C6 is returned without the C7 that it includes."""
        self._findings.on(machine)
        if not (self._touched(frozenset({C7})) and c6_counts_c7(machine, cpu)):
            return super().open(machine, cpu, wanted)
        return C6WithoutC7Reader(super().open(machine, cpu, with_deeper(wanted)), wanted)

    def _offer(self, machine: Machine, pmu: Pmu, event: GroupEvent) -> tuple[Offer, Signal]:
        scope = _SCOPES[pmu.name]
        if scope is Scope.PACKAGE:  # some models count these per die (kernel cstate.c, PERF_PMU_SCOPE_DIE)
            scope = domain_scope(machine, pmu.cpumask)
        signal = Signal(event.signal, scope, Unit.CYCLE, Behavior.COUNTER, Reduce.MEAN, origin=event.title,
                        document=_DOCUMENT, readers=mask_readers(machine, pmu.cpumask, scope))
        if event.signal == _EVERYWHERE:
            return Offer(event), replace(signal, scope=Scope.CPU, readers=())
        return Offer(event, frozenset(signal.readers)), signal
