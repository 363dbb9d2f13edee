"""The kernel's `msr` PMU: TSC, APERF, MPERF and the SMI count without the MSR device.

Each CPU has one group, so all four are read at the same moment (kernel arch/x86/events/msr.c).
"""

from __future__ import annotations

from typing import ClassVar

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal
from turbotui.quantities.units import Unit
from turbotui.sources.perf_group import GroupEvent
from turbotui.sources.perf_source import NamedEvents, Offer


@dataclass(frozen=True, slots=True)
class _Row:
    event: str
    unit: Unit
    reduce: Reduce
    document: str
    width_bits: int = 64


_EVENTS = {
    "tsc": _Row("tsc", Unit.CYCLE, Reduce.MEAN, "Intel SDM vol. 3, Time-Stamp Counter; kernel arch/x86/events/msr.c"),
    "aperf": _Row("aperf", Unit.CYCLE, Reduce.MEAN, "Intel SDM vol. 3, IA32_APERF; AMD APM vol. 2, APERF"),
    "mperf": _Row("mperf", Unit.CYCLE, Reduce.MEAN, "Intel SDM vol. 3, IA32_MPERF; AMD APM vol. 2, MPERF"),
    # the kernel extends the register's 32 bits (arch/x86/events/msr.c), so the low 32 bits are the count
    "smi": _Row("smi", Unit.COUNT, Reduce.SUM, "Intel SDM vol. 4, MSR_SMI_COUNT", width_bits=32),
}


_XEON_PHI_UNIT = 1024.0  # Knights Landing counts APERF and MPERF in 1024 cycles (docs/specs/turbostat.md 3.2)


class PerfMsr(NamedEvents):
    """perf's msr PMU."""

    id = "perf-msr"

    pmus: ClassVar = {"msr": {signal: row.event for signal, row in _EVENTS.items()}}

    def _offer(self, machine: Machine, pmu: Pmu, event: GroupEvent) -> tuple[Offer, Signal]:  # noqa: ARG002 - no need
        row = _EVENTS[event.signal]
        scaled = machine.platform.features.perf_multiplier and row.event in ("aperf", "mperf")
        return Offer(event), Signal(event.signal, Scope.CPU, row.unit, Behavior.COUNTER, row.reduce, origin=event.title,
            document=row.document, width_bits=row.width_bits, scale=_XEON_PHI_UNIT if scaled else 1.0)
