"""All PMUs of a simulated machine, with the type numbers that its boot handed out."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from math import gcd

from turbotui.simulated.model import Model
from turbotui.simulated.nvidia_pmus import nvidia_pmus
from turbotui.simulated.pmu import SimulatedPmu
from turbotui.simulated.pmus_amd import amd_pmus, sampler_pmus
from turbotui.simulated.pmus_arm import arm_pmus
from turbotui.simulated.pmus_core import core_pmus, software_pmu
from turbotui.simulated.pmus_cxl import cxl_pmus
from turbotui.simulated.pmus_intel import intel_pmus, iommu_pmus
from turbotui.simulated.pmus_x86 import cstate_pmus, memory_pmus, msr_pmu, power_pmus
from turbotui.simulated.shapes import Isa

_FIRST_DYNAMIC = 8


def machine_pmus(model: Model) -> list[SimulatedPmu]:
    """Every PMU of the machine; type numbers are not in the order of their names, as on a real boot."""
    shape = model.shape
    pmus = [software_pmu(model), *core_pmus(model)]
    if shape.isa is not Isa.ARM:
        pmus += [msr_pmu(model), *cstate_pmus(model), *power_pmus(model)]
        if not shape.hypervisor:
            pmus += [*memory_pmus(model), *intel_pmus(model), *iommu_pmus(model), *cxl_pmus(model), *amd_pmus(model),
                     *sampler_pmus(model)]
    pmus += [*nvidia_pmus(model), *arm_pmus(model)]
    dynamic = sum(not pmu.type for pmu in pmus)
    # a common divisor would give two PMUs the same number, and confuse their counters
    stride = next(candidate for candidate in chain((7, 5), count(11)) if gcd(candidate, dynamic) == 1)
    places = count()
    return [pmu if pmu.type else replace(pmu, type=_FIRST_DYNAMIC + next(places) * stride % dynamic) for pmu in pmus]
