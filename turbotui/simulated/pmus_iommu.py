"""The IOMMU PMUs of simulated Intel servers, one for each translation unit (kernel drivers/iommu/intel/perfmon.c)."""

from __future__ import annotations

import errno
from functools import partial
from typing import Final

from turbotui.machine.host import PerfAttr
from turbotui.simulated import intel_traffic as flow
from turbotui.simulated.intel_traffic import Parts, times
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu
from turbotui.simulated.pmu_codes import pmu_codes
from turbotui.simulated.shapes import Isa

_MODELS: Final = (0xAD,)
_SHARES: Final = (0.5, 0.3, 0.15, 0.05)
"""The distribution of devices' requests over a package's units, each of which serves one PCI Express stack."""
_COUNTERS: Final = 8
_HERTZ: Final = 1.0e9
WALK_CYCLES: Final = 150.0
"""The duration of a page walk, in cycles of the IOMMU's clock."""


def iommu_pmus(model: Model) -> list[SimulatedPmu]:
    """Make every IOMMU PMU; the cpumask is the same CPU for all, wherever the unit is."""
    shape = model.shape
    if shape.isa is not Isa.INTEL or shape.hypervisor or shape.model not in _MODELS:
        return []
    known, readers = pmu_codes("iommu"), partial(model.first_online, [range(len(model.online))])
    events = {name: EventFile(f"event_group={group:#x},event={code:#05x}")
              for name, (group, code) in known.events.items()}
    return [SimulatedPmu(f"dmar{number}", Context.UNCORE, _Unit(model, number), known.formats, events, readers,
                         counters=_COUNTERS)
            for number in range(shape.packages * len(_SHARES))]


class _Unit:
    def __init__(self, model: Model, number: int) -> None:
        package, place = divmod(number, len(_SHARES))
        flows = flow.flows_of(model, package)
        asked = times(flow.requests(flows), _SHARES[place])
        missed = times(asked, flow.IOTLB_MISSES)
        counted: dict[str, Parts] = {
            "iommu_clocks": times(flows.seconds, _HERTZ), "iommu_requests": asked, "iotlb_lookup": asked,
            "iotlb_hit": times(asked, 1 - flow.IOTLB_MISSES), "ctxt_cache_lookup": missed,
            "ctxt_cache_hit": times(missed, flow.CONTEXT_HITS), "iommu_mrds": times(missed, flow.WALK_READS),
            "pw_occupancy": times(missed, WALK_CYCLES),
        }
        self._model = model
        self._parts = {group << 28 | code: counted.get(name, ())
                       for name, (group, code) in pmu_codes("iommu").events.items()}

    def __call__(self, attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        """Return the counter of an event; an enabled filter matches nothing here."""
        if (parts := self._parts.get(attr.config)) is None:
            return errno.EINVAL
        behind = [] if attr.config1 & 0x1F else [(self._model.package[package], form) for package, form in parts]
        return SimulatedCounter(lambda now: sum(basis.value(form, now) for basis, form in behind), slots=1)
