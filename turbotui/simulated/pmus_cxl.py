"""The PMUs of memory devices on CXL of simulated Intel servers, one a package (kernel drivers/perf/cxl_pmu.c)."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from functools import partial
from typing import Final

from turbotui.machine.host import PerfAttr
from turbotui.simulated import basis as b
from turbotui.simulated import intel_traffic as flow
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu
from turbotui.simulated.pmu_codes import pmu_codes
from turbotui.simulated.shapes import Isa, MachineShape
from turbotui.simulated.tree import Node, fixed_texts, folder

_MODELS: Final = (0xAD,)
_VENDOR: Final = 0x1E98  # of the CXL consortium
_COUNTERS: Final = 8
_HERTZ: Final = 1.0e9
ROW_MISSES: Final = 0.3
"""Rows that the device opens for each of its transfers."""


def _devices(shape: MachineShape) -> range:
    """A memory device for each package; none on other machines."""
    known = shape.isa is Isa.INTEL and not shape.hypervisor and shape.model in _MODELS
    return range(shape.packages if known else 0)


def cxl_pmus(model: Model) -> list[SimulatedPmu]:
    """Make the PMU of every memory device; the cpumask is the same CPU for all, wherever the device is."""
    if not (devices := _devices(model.shape)):
        return []
    known, readers = pmu_codes("cxl"), partial(model.first_online, [range(len(model.online))])
    events = {name: EventFile(f"config={_config(*code):#x}") for name, code in known.events.items()}
    return [SimulatedPmu(f"cxl_pmu_mem{package}.0", Context.UNCORE, _Device(model, package), known.formats, events,
                         readers, counters=_COUNTERS)
            for package in devices]


def _config(group: int, mask: int) -> int:
    return _VENDOR << 48 | group << 32 | mask


class _Device:
    def __init__(self, model: Model, package: int) -> None:
        lines = flow.CXL / flow.LINE
        read, written = (b.PKG_READ_BYTES, lines), (b.PKG_WRITTEN_BYTES, lines)
        counted: dict[str, b.Form] = {"clock_ticks": ((b.PKG_SECONDS, _HERTZ),), "m2s_req_memrd": (read,),
            "s2m_drs_memdata": (read,), "m2s_rwd_memwr": (written,), "ddr_casrd": (read,), "ddr_caswr": (written,),
            "ddr_act": b.scaled((read, written), ROW_MISSES), "ddr_pre": b.scaled((read, written), ROW_MISSES)}
        self._package = model.package[package]
        self._forms = {_config(*code): counted.get(name, ()) for name, code in pmu_codes("cxl").events.items()}

    def __call__(self, attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        form = self._forms.get(attr.config)
        return errno.EINVAL if form is None else SimulatedCounter(lambda now: self._package.value(form, now), slots=1)


def cxl_devices(shape: MachineShape) -> Mapping[str, Node]:
    """/sys/bus/pci/devices of the memory devices: each on a root bus of its own, its memory device below it."""
    texts = {"vendor": "0x144d", "device": "0xa900", "class": "0x050210", "current_link_speed": "32.0 GT/s PCIe",
             "current_link_width": 8}
    return {f"0000:{0x70 + package * 0x80:02x}:00.0": folder({
        **fixed_texts(**texts), f"mem{package}": folder(fixed_texts(numa_node=package))})
        for package in _devices(shape)}
