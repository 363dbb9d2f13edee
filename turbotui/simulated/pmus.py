"""All PMUs of a simulated machine, with the type numbers that its boot handed out."""

from __future__ import annotations

from itertools import chain, count
from math import gcd

from turbotui.simulated.model import Model
from turbotui.simulated.nvidia_pmus import nvidia_names, nvidia_pmus
from turbotui.simulated.pmu import SimulatedPmu
from turbotui.simulated.pmus_amd import amd_names, amd_pmus, sampler_names, sampler_pmus
from turbotui.simulated.pmus_arm import arm_names, arm_pmus
from turbotui.simulated.pmus_core import RAW, core_pmus, software_pmu
from turbotui.simulated.pmus_cxl import cxl_names, cxl_pmus
from turbotui.simulated.pmus_intel import intel_names, intel_pmus
from turbotui.simulated.pmus_iommu import iommu_names, iommu_pmus
from turbotui.simulated.pmus_x86 import cstate_pmus, memory_names, memory_pmus, msr_pmu, power_pmus
from turbotui.simulated.shapes import Isa

_FIRST_DYNAMIC = 8


def _type_numbers(model: Model) -> dict[str, int]:
    """Number the dynamic PMUs, not in the order of their names, as on a real boot."""
    shape = model.shape
    names = ["msr", "power", "power_core", "cstate_core", "cstate_module", "cstate_pkg"]
    names += [kind.pmu for kind in shape.core_types if kind.pmu not in ("", "cpu")]
    names += memory_names(shape) + intel_names(shape) + nvidia_names(shape) + amd_names(shape)
    names += sampler_names(shape) + arm_names(shape) + iommu_names(shape) + cxl_names(shape)
    distinct = list(dict.fromkeys(names))
    # a common divisor would give two PMUs the same number, and confuse their counters
    stride = next(candidate for candidate in chain((7, 5), count(11)) if gcd(candidate, len(distinct)) == 1)
    types = {name: _FIRST_DYNAMIC + position * stride % len(distinct) for position, name in enumerate(distinct)}
    for kind in shape.core_types:
        if kind.pmu in ("cpu", "cpu_core"):
            types[kind.pmu] = RAW
    return types


def machine_pmus(model: Model) -> list[SimulatedPmu]:
    """Every PMU of the machine."""
    shape, types = model.shape, _type_numbers(model)
    pmus = [software_pmu(model), *core_pmus(model, types)]
    if shape.isa is not Isa.ARM:
        pmus.append(msr_pmu(model, types["msr"]))
        pmus.extend(cstate_pmus(model, types))
        pmus.extend(power_pmus(model, types))
        if not shape.hypervisor:
            pmus.extend(memory_pmus(model, types))
            pmus.extend(intel_pmus(model, types))
            pmus.extend(iommu_pmus(model, types))
            pmus.extend(cxl_pmus(model, types))
            pmus.extend(amd_pmus(model, types))
            pmus.extend(sampler_pmus(model, types))
    pmus.extend(nvidia_pmus(model, types))
    pmus.extend(arm_pmus(model, types))
    return pmus
