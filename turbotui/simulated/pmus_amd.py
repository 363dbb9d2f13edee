"""The uncore PMUs of AMD servers: memory controllers, L3 slices, data fabric (linux arch/x86/events/amd/uncore.c).

The driver names no events: events/ is not there, and whoever counts knows the codes (AMD PPR). What the data fabric
counts is in `fabric_amd`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from turbotui.machine.host import PerfAttr
from turbotui.simulated import basis as b
from turbotui.simulated.events_common import counts
from turbotui.simulated.fabric_amd import REMOTE, fabric_count
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, SimulatedCounter, SimulatedPmu
from turbotui.simulated.shapes import Isa, MachineShape

_CONTROLLERS = 12  # of a package with SP5
_UMC_COUNTERS, _L3_COUNTERS, _DF_COUNTERS = 4, 6, 16
_MEMORY_HZ = 3.0e9  # DDR5-6000: the controller's clock runs at half the transfers
_LINE = 64.0
_CLOCK, _ACTIVATE, _PRECHARGE, _CAS, _SLOTS = 0x00, 0x05, 0x06, 0x0A, 0x14  # perf's amdzen5/memory-controller.json
ROW_HITS = 0.6
"""The share of CAS commands that find their row open; a row is closed for each that is opened."""
_SLOTS_EACH = 8.0  # half clocks of the data bus that a CAS takes: 64 bytes at 16 a clock, counted twice
_LOOKUP = 0x04  # perf's amdzen5/cache.json, Unit L3PMC
_MISS, _ALL = 0x01, 0xFF
_LATENCY, _SAMPLES = 0xAC, 0xAD
_SAMPLED = 0.001  # of all misses
NEAR_NS, FAR_NS = 105.0, 205.0
"""Nanoseconds that a miss takes to this package's memory, and to the other's."""


def amd_names(shape: MachineShape) -> list[str]:
    """Names of the PMUs; none on other machines."""
    if shape.isa is not Isa.AMD or shape.hypervisor:
        return []
    return [*(f"amd_umc_{number}" for number in range(_CONTROLLERS * shape.packages)), "amd_l3", "amd_df"]


def sampler_names(shape: MachineShape) -> list[str]:
    """Names of the PMUs that sample instructions; none on other machines, nor in a virtual one."""
    return ["ibs_op"] if shape.isa is Isa.AMD and not shape.hypervisor else []


def sampler_pmus(model: Model, types: Mapping[str, int]) -> list[SimulatedPmu]:
    """ibs_op of Zen 5 (arch/x86/events/amd/ibs.c), which samples and counts nothing."""
    formats = {"cnt_ctl": "config:19", "ldlat": "config1:0-11", "l3missonly": "config:16", "swfilt": "config2:0"}
    caps = {"caps/ldlat": "1", "caps/zen4_ibs_extensions": "1", "caps/dtlb_pgsize": "1"}
    return [SimulatedPmu(name, types[name], Context.SAMPLER, lambda _attr, _cpu: SimulatedCounter(lambda _now: 0.0),
                         formats, files=caps, modes=True) for name in sampler_names(model.shape)]


def amd_pmus(model: Model, types: Mapping[str, int]) -> list[SimulatedPmu]:
    """Every uncore PMU of the machine; none on other machines."""
    names = amd_names(model.shape)
    if not names:
        return []
    layout = model.layout
    found = [
        SimulatedPmu(
            name=name,
            type=types[name],
            context=Context.UNCORE,
            resolve=_controller(model, number // _CONTROLLERS),
            formats={"event": "config:0-7", "rdwrmask": "config:8-9"},
            readers=_first(model, (layout.package_cpus[number // _CONTROLLERS],)),
            counters=_UMC_COUNTERS,
        )
        for number, name in enumerate(names[:-2])
    ]
    formats = {
        "event": "config:0-7", "umask": "config:8-15", "coreid": "config:42-44", "enallcores": "config:47",
        "enallslices": "config:46", "sliceid": "config:48-50", "threadmask": "config:56-57",
    }  # fmt: skip
    slices, packages = _first(model, layout.l3_cpus), _first(model, layout.package_cpus)
    found.append(
        SimulatedPmu(
            "amd_l3", types["amd_l3"], Context.UNCORE, _slice(model), formats, readers=slices, counters=_L3_COUNTERS
        )
    )
    fabric = {"event": "config:0-7,32-37", "umask": "config:8-15,24-27"}
    found.append(
        SimulatedPmu(
            "amd_df", types["amd_df"], Context.UNCORE, _fabric(model), fabric, readers=packages, counters=_DF_COUNTERS
        )
    )
    return found


def _first(model: Model, groups: tuple[tuple[int, ...], ...]) -> Callable[[], list[int]]:
    def readers() -> list[int]:
        found = (next((cpu for cpu in group if model.online[cpu]), None) for group in groups)
        return [cpu for cpu in found if cpu is not None]

    return readers


def _controller(model: Model, package: int) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    one = model.package[package]
    part = 1.0 / _LINE / _CONTROLLERS
    reads, writes = (b.PKG_READ_BYTES, part), (b.PKG_WRITTEN_BYTES, part)
    forms: dict[int, b.Form] = {
        _CLOCK: ((b.PKG_SECONDS, _MEMORY_HZ),),
    }
    for code, each in ((_CAS, 1.0), (_ACTIVATE, 1.0 - ROW_HITS), (_PRECHARGE, 1.0 - ROW_HITS), (_SLOTS, _SLOTS_EACH)):
        for mask, parts in ((0, (reads, writes)), (1, (reads,)), (2, (writes,))):
            forms[code | mask << 8] = tuple((index, weight * each) for index, weight in parts)

    def resolve(attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        form = forms.get(attr.config)
        if form is None:
            return errno.EINVAL
        return SimulatedCounter(lambda now: one.value(form, now), slots=1)

    return resolve


def _slice(model: Model) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        code, mask = attr.config & 0xFF, attr.config >> 8 & 0xFF
        factor = _sampled(model, code, mask)
        if factor is None:
            return errno.EINVAL
        places = model.layout.places
        word = "llc-references" if code == _LOOKUP and mask == _ALL else "llc-misses"
        around = model.layout.l3_cpus[places[cpu].l3]
        parts = [(model.cpu[one], counts(model.shape.core_types[places[one].type])[word]) for one in around]
        return SimulatedCounter(lambda now: factor * sum(one.value(form, now) for one, form in parts), slots=1)

    return resolve


def _sampled(model: Model, code: int, mask: int) -> float | None:
    """What an event of the L3 counts for each lookup or miss; None where the model has no such event.

    All misses are answered by memory: that of mask 1 is near, that of mask 2 far. The other four sources stay 0.
    """
    if code == _LOOKUP:
        return 1.0 if mask in (_MISS, _ALL) else None
    if code not in (_LATENCY, _SAMPLES) or not mask or mask >> 6:
        return None
    remote = REMOTE if model.shape.packages > 1 else 0.0
    sources = (((1.0 - remote) * (mask & 1), NEAR_NS), (remote * (mask >> 1 & 1), FAR_NS))
    return _SAMPLED * sum(share * (ns / 10.0 if code == _LATENCY else 1.0) for share, ns in sources)


def _fabric(model: Model) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        code = attr.config & 0xFF | attr.config >> 24 & 0x3F00
        umask = attr.config >> 8 & 0xFF | attr.config >> 16 & 0xF00
        value = fabric_count(model, model.layout.places[cpu].package, code, umask)
        return errno.EINVAL if value is None else SimulatedCounter(value, slots=1)

    return resolve
