"""The kernel's `msr` PMU: TSC, APERF, MPERF and the SMI count without the msr device.

One group for each CPU, so all four are read at the same moment (kernel arch/x86/events/msr.c).
"""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.pmus import read_pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.perf_source import Findings, Offer, OfferGroup, PerfSource, absent_pmu, named_event, try_offers


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
    # The kernel extends the register's 32 bits (arch/x86/events/msr.c), so its low 32 bits are what counts.
    "smi": _Row("smi", Unit.COUNT, Reduce.SUM, "Intel SDM vol. 4, MSR_SMI_COUNT", width_bits=32),
}


_XEON_PHI_UNIT = 1024.0  # Knights Landing counts APERF and MPERF in 1024 cycles (docs/specs/turbostat.md 3.2)


class PerfMsr(PerfSource):
    """perf's msr PMU."""

    id = "perf-msr"
    title = "perf msr"
    gives = "TSC, requested and achieved cycles, SMIs"

    def _find(self, machine: Machine) -> Findings:
        facts = circumstances(machine)
        pmu = read_pmu(machine.host, "msr")
        if pmu is None:
            return Findings((), absent_pmu("msr", _EVENTS, facts))
        signals: dict[SignalId, Signal | Unavailable] = {}
        offers = []
        for signal, row in _EVENTS.items():
            event = named_event(pmu, row.event, signal, facts)
            if isinstance(event, Unavailable):
                signals[signal] = event
            else:
                offers.append(Offer(event))
        usable, refused = try_offers(machine, offers, facts)
        signals |= refused
        scaled = machine.platform.features.perf_multiplier
        for offer in usable:
            row = _EVENTS[offer.event.signal]
            signals[offer.event.signal] = Signal(
                id=offer.event.signal,
                scope=Scope.CPU,
                unit=row.unit,
                behavior=Behavior.COUNTER,
                reduce=row.reduce,
                origin=offer.event.title,
                document=row.document,
                width_bits=row.width_bits,
                scale=_XEON_PHI_UNIT if scaled and row.event in ("aperf", "mperf") else 1.0,
            )
        return Findings((OfferGroup(usable),) if usable else (), signals)
