"""The uncore PMUs of AMD servers: memory controllers, L3 slices, data fabric (linux arch/x86/events/amd/uncore.c).

The driver names no events: there is no directory events/, and codes are from AMD's PPR.

Codes of the data fabric: perf's amdzen4 and amdzen5/data-fabric.json. A tenth of the traffic of a package's memory and
devices is for the other package, and passes the links.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.simulated import basis as b
from turbotui.simulated.basis import Form
from turbotui.simulated.events_common import counts
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, SimulatedCounter, SimulatedPmu
from turbotui.simulated.shapes import Isa

REMOTE: Final = 0.1
"""The share of memory traffic and DMA for another package, if there is one."""
LINKS_WIRED: Final = 4
"""The links between two packages; the other links count nothing."""

_STEP: Final = 0x40  # from one instance's code to the next one's
_LOCAL, _REMOTE_BITS, _BOTH = 0x7, 0xB, 0xF  # umask bits 8 to 11
_OUTWARD_ON_LINKS: Final = 0xF3E
_INWARD_ON_LINKS: Final = 0xF3F


@dataclass(frozen=True, slots=True)
class _Instances:
    first: int  # the code of the first one
    count: int  # how many
    # read, written: the counts of the two umasks, over the package's integrals
    read: Form
    written: Form
    # bytes_read, bytes_written: bytes of one count
    bytes_read: float = 64.0
    bytes_written: float = 64.0

    def index(self, code: int) -> int | None:
        at, rest = divmod(code - self.first, _STEP)
        return at if not rest and 0 <= at < self.count else None


@dataclass(frozen=True, slots=True)
class _Fabric:
    parts: tuple[_Instances, ...]
    links: int
    links_first: int
    inward: bool


_MEMORY: Final = (((b.PKG_READ_BYTES, 1.0),), ((b.PKG_WRITTEN_BYTES, 1.0),))
_IO: Final = (((b.PKG_IO_READ_BYTES, 1.0),), ((b.PKG_IO_WRITTEN_BYTES, 1.0),))


def _halves() -> tuple[_Instances, ...]:
    """Make the interfaces of the cores, every other one of which has the next code."""
    read, written = (tuple((index, weight / 2) for index, weight in form) for form in _MEMORY)
    return tuple(_Instances(first, 8, read, written, bytes_read=32.0) for first in (0x41E, 0x41F))


_FABRICS: Final = {
    25: _Fabric((_Instances(0x1F, 12, *_MEMORY), _Instances(0x81F, 4, *_IO), *_halves()), 8, 0xB5F, inward=False),
    26: _Fabric((_Instances(0x1F, 12, *_MEMORY), _Instances(0x81F, 8, *_IO), *_halves()), 6, 0xD5F, inward=True),
}


def fabric_count(model: Model, package: int, code: int, umask: int) -> Callable[[float], float] | None:
    """Return the count of an event on a package; None if the generation has no such event."""
    if (fabric := _FABRICS.get(model.shape.family)) is None:
        return None
    link, rest = divmod(code - fabric.links_first, _STEP)
    if not rest and 0 <= link < fabric.links and (umask == _OUTWARD_ON_LINKS or
                                                  (fabric.inward and umask == _INWARD_ON_LINKS)):
        share = 1.0 / LINKS_WIRED / 64.0 if link < LINKS_WIRED else 0.0
        sides = crossing(model, package, outward=umask == _OUTWARD_ON_LINKS)
        return lambda now: share * sides(now)
    for part in fabric.parts:
        if part.index(code) is not None:
            return _counted_at(model, package, part, umask)
    return None


def crossing(model: Model, package: int, *, outward: bool) -> Callable[[float], float]:
    """Return the bytes over all links of a package: reads of its memory by others, and writes to theirs."""
    others = [at for at in range(model.shape.packages) if at != package]
    gives = [package] if outward else others
    writes = others if outward else [package]
    scale = REMOTE / max(1, len(others)) if others else 0.0

    def value(now: float) -> float:
        given = sum(model.package[at].at(b.PKG_READ_BYTES, now) for at in gives)
        return scale * (given + sum(model.package[at].at(b.PKG_WRITTEN_BYTES, now) for at in writes))

    return value


def _counted_at(model: Model, package: int, part: _Instances, umask: int) -> Callable[[float], float] | None:
    remote = REMOTE if model.shape.packages > 1 else 0.0
    share = {_LOCAL: 1.0 - remote, _REMOTE_BITS: remote, _BOTH: 1.0}.get(umask >> 8)
    direction = {0xFE: (part.read, part.bytes_read), 0xFF: (part.written, part.bytes_written)}.get(umask & 0xFF)
    if share is None or direction is None:
        return None
    form, size = direction
    basis, factor = model.package[package], share / size / part.count
    return lambda now: factor * basis.value(form, now)


_ZEN5: Final = 26  # family
_CONTROLLERS = 12  # of a package with SP5
_UMC_COUNTERS, _L3_COUNTERS, _DF_COUNTERS = 4, 6, 16
_LINE = 64.0
_CLOCK, _ACTIVATE, _PRECHARGE, _CAS, _SLOTS = 0x00, 0x05, 0x06, 0x0A, 0x14  # perf's amdzen5/memory-controller.json
ROW_HITS = 0.6
"""The share of CAS commands that find their row open; each opened row closes another one."""
_SLOTS_EACH = 8.0  # half clocks of the data bus that a CAS takes: 64 bytes at 16 a clock, counted twice
_LOOKUP = 0x04  # perf's amdzen5/cache.json, Unit L3PMC
_MISS, _ALL = 0x01, 0xFF
_LATENCY, _SAMPLES = 0xAC, 0xAD
_SAMPLED = 0.001  # of all misses
NEAR_NS, FAR_NS = 105.0, 205.0
"""The latency in ns of a miss to this package's memory, and to the other's."""


def sampler_pmus(model: Model) -> list[SimulatedPmu]:
    """ibs_op of Zen 4 and 5 (arch/x86/events/amd/ibs.c), which samples and counts nothing; Zen 5 filters by latency."""
    if model.shape.isa is not Isa.AMD or model.shape.hypervisor:
        return []
    formats = {"cnt_ctl": "config:19", "l3missonly": "config:16", "swfilt": "config2:0"}
    caps = {"caps/zen4_ibs_extensions": "1"}
    if model.shape.family >= _ZEN5:
        formats |= {"ldlat": "config1:0-11"}
        caps |= {"caps/ldlat": "1", "caps/dtlb_pgsize": "1"}
    return [SimulatedPmu("ibs_op", Context.SAMPLER, lambda _attr, _cpu: SimulatedCounter(lambda _now: 0.0), formats,
                         files=caps, modes=True)]


def amd_pmus(model: Model) -> list[SimulatedPmu]:
    """Every uncore PMU of the machine; none on other machines."""
    if model.shape.isa is not Isa.AMD or model.shape.hypervisor:
        return []
    layout = model.layout
    pmus = [SimulatedPmu(f"amd_umc_{number}", Context.UNCORE, _controller(model, number // _CONTROLLERS),
                         {"event": "config:0-7", "rdwrmask": "config:8-9"},
                         readers=partial(model.first_online, [layout.package_cpus[number // _CONTROLLERS]]),
                         counters=_UMC_COUNTERS)
            for number in range(_CONTROLLERS * model.shape.packages)]
    formats = {
        "event": "config:0-7", "umask": "config:8-15", "coreid": "config:42-44", "enallcores": "config:47",
        "enallslices": "config:46", "sliceid": "config:48-50", "threadmask": "config:56-57",
    }
    slices, packages = (partial(model.first_online, groups) for groups in (layout.l3_cpus, layout.package_cpus))
    fabric = {"event": "config:0-7,32-37", "umask": "config:8-15,24-27"}
    return [*pmus,
            SimulatedPmu("amd_l3", Context.UNCORE, _slice(model), formats, readers=slices, counters=_L3_COUNTERS),
            SimulatedPmu("amd_df", Context.UNCORE, _fabric(model), fabric, readers=packages, counters=_DF_COUNTERS)]


def _controller(model: Model, package: int) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    basis = model.package[package]
    part = 1.0 / _LINE / _CONTROLLERS
    reads, writes = (b.PKG_READ_BYTES, part), (b.PKG_WRITTEN_BYTES, part)
    forms: dict[int, b.Form] = {
        _CLOCK: ((b.PKG_SECONDS, model.shape.memory_mts * 1e6 / 2.0),),  # half the transfers
    }
    for code, each in ((_CAS, 1.0), (_ACTIVATE, 1.0 - ROW_HITS), (_PRECHARGE, 1.0 - ROW_HITS), (_SLOTS, _SLOTS_EACH)):
        for mask, parts in ((0, (reads, writes)), (1, (reads,)), (2, (writes,))):
            forms[code | mask << 8] = tuple((index, weight * each) for index, weight in parts)

    def resolve(attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        form = forms.get(attr.config)
        return errno.EINVAL if form is None else SimulatedCounter(lambda now: basis.value(form, now), slots=1)

    return resolve


def _slice(model: Model) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        code, mask = attr.config & 0xFF, attr.config >> 8 & 0xFF
        if (factor := _sampled(model, code, mask)) is None:
            return errno.EINVAL
        places = model.layout.places
        word = "llc-references" if code == _LOOKUP and mask == _ALL else "llc-misses"
        around = model.layout.l3_cpus[places[cpu].l3]
        parts = [(model.cpu[number], counts(model.shape.core_types[places[number].type])[word]) for number in around]
        return SimulatedCounter(lambda now: factor * sum(basis.value(form, now) for basis, form in parts), slots=1)

    return resolve


def _sampled(model: Model, code: int, mask: int) -> float | None:
    """Return the count of an L3 event per lookup or miss; None if the model has no such event.

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
