"""The uncore PMUs of simulated Intel servers: names, formats and codes of the kernel and of Intel perfmon.

Kernel arch/x86/events/intel/uncore_snbep.c has the names and formats, and names no event but the memory controllers'.
The counts are in `intel_traffic`. Each translation unit of the IOMMU has a PMU (drivers/iommu/intel/perfmon.c).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.simulated import intel_free_running as always
from turbotui.simulated import intel_traffic as flow
from turbotui.simulated import skylake_cha
from turbotui.simulated.intel_generations import Generation, code, generation_of
from turbotui.simulated.intel_memory import HBM_CHANNELS, halves_events, hbm_counts, memory_counts, whole_events
from turbotui.simulated.intel_traffic import LINE, Events, Flows, Parts, times
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu, Value
from turbotui.simulated.pmu_codes import pmu_codes
from turbotui.simulated.root_ports import root_bus
from turbotui.simulated.shapes import Isa, MachineShape

_COUNTERS: Final = 4
_PORTS: Final = (0.6, 0.0, 0.3, 0.0, 0.1, 0.0, 0.0, 0.0)
_FEW_PORTS: Final = (0.6, 0.0, 0.3, 0.1)
"""The distribution of a stack's traffic over its ports, on newer processors and on Skylake."""
_LEVEL_MISSES: Final = (0.5, 0.3, 0.1)
"""The shares of IOTLB misses that miss each level of Skylake's page-table caches."""


@dataclass(frozen=True, slots=True)
class _Box:
    """A kind of PMU: its number per package, its `format` files, and the counts of each instance.

    A `filtered` PMU also has the events of `skylake_cha`; every event of a `free` one has a counter of its own.
    """

    name: str
    shares: tuple[float, ...]
    formats: Mapping[str, str]
    events: Callable[[Flows, float], Events]
    files: Mapping[str, EventFile] = field(default_factory=dict)
    filtered: bool = False
    free: bool = False


_REQUESTS: Final = {"READS_LOCAL": 1, "READS_REMOTE": 2, "WRITES_LOCAL": 4, "WRITES_REMOTE": 8,
                    "READS": 3, "WRITES": 12}
_PLAIN: Final = {"event": "config:0-7", "umask": "config:8-15", "edge": "config:18", "inv": "config:23",
                 "thresh": "config:24-31"}
_THREADS: Final = {early: {"tid_en": f"config:{19 if early else 16}", "filter_tid": "config1:0-9"}
                   for early in (True, False)}
"""The filter by core and thread, which only events with tid_en have (uncore_snbep.c, tid_en and tid_en2)."""


def has_stacks(shape: MachineShape) -> bool:
    """Whether the machine has PCI Express stacks that are counted."""
    return generation_of(shape) is not None


def intel_pmus(model: Model) -> list[SimulatedPmu]:
    """Every uncore PMU of the machine; none on other machines."""
    if (made := generation_of(model.shape)) is None:
        return []
    flows = [flow.flows_of(model, package, made.links) for package in range(model.shape.packages)]
    boxes, readers = _boxes(made, model.shape), partial(model.first_online, model.layout.package_cpus)
    # units with equal shares of a package count the same: one table of events for up to 60 of them
    resolvers = {(box.name, share): _resolver(model, box, share, flows) for box in boxes for share in box.shares}
    return [SimulatedPmu(f"uncore_{box.name}_{number}" if len(box.shares) > 1 else f"uncore_{box.name}", Context.UNCORE,
                         resolvers[box.name, share], box.formats, box.files, readers,
                         counters=0 if box.free else _COUNTERS, files=_mapping(model.shape, box, number))
            for box in boxes for number, share in enumerate(box.shares)]


def _resolver(model: Model, box: _Box, share: float,
              flows: list[Flows]) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    tables: dict[int, Events] = {}

    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        package = model.layout.places[cpu].package
        if package not in tables:
            tables[package] = box.events(flows[package], share)
        parts = tables[package].get(attr.config)
        setting = 0
        if parts is None and box.filtered:
            parts, setting = skylake_cha.count(flows[package], share, attr), skylake_cha.filter_of(attr)
        return errno.EINVAL if parts is None else SimulatedCounter(
            _value(model, parts), slots=0 if box.free else 1, filter=f"{setting:#x}" if setting else "")

    return resolve


def _value(model: Model, parts: Parts) -> Value:
    behind = [(model.package[package], form) for package, form in parts]
    return lambda now: sum(basis.value(form, now) for basis, form in behind)


def _mapping(shape: MachineShape, box: _Box, number: int) -> Mapping[str, str]:
    """The files dieN: the root bus of a stack, the other end of a link (sysfs-devices-mapping)."""
    dies = range(shape.packages)
    if box.name == "iio":
        return {f"die{die}": root_bus(die, number) for die in dies}
    kind, _, link = box.name.partition("_")
    if kind == "upi":
        return {f"die{die}": f"{box.name},die_{flow.far_end(die, int(link), len(dies))}" for die in dies}
    return {}


def _boxes(made: Generation, shape: MachineShape) -> list[_Box]:
    slices = shape.cores_per_package // made.slice_cores
    wide = _PLAIN if made.filtered else {**_PLAIN, "umask": "config:8-15,32-55"}
    iio = {**_PLAIN, "thresh": "config:24-35",
           **({"ch_mask": "config:36-43", "fc_mask": "config:44-46"} if made.filtered else
              {"ch_mask": "config:36-47", "fc_mask": "config:48-50"})}
    cha = pmu_codes("skylake-cha").formats if made.filtered else {**_PLAIN, "umask": made.mask, **_THREADS[made.early]}
    boxes = [
        _Box("cha", (1 / slices,) * slices, cha, lambda flows, share: _cha(made, flows, share), filtered=made.filtered),
        _Box("imc", (1 / made.channels,) * made.channels, _PLAIN if made.early else wide,
             lambda flows, share: memory_counts(made, flows, share),
             halves_events() if made.halves else whole_events(made)),
        _Box(made.mesh, (1 / made.meshes,) * made.meshes, wide, lambda flows, share: _mesh(made, flows, share)),
        _Box("iio", made.stacks, iio, _old_stack if made.filtered else _stack),
        _Box("pcu", (1.0,), _PLAIN, _nothing),
        _Box("ubox", (1.0,), _PLAIN, _nothing),
    ]
    if shape.packages > 1:
        upi = {**_PLAIN, "umask": "config:8-15,32-43,45-55"} if made.filtered else wide
        boxes += [_Box(f"upi_{link}", (1.0,), upi, partial(_link, made, link)) for link in range(len(made.links))]
    if made.cxl:
        boxes += [_Box("cxlcm", (0.7, 0.3), wide, _cxl_in), _Box("cxldp", (0.7, 0.3), wide, _cxl_out)]
    if made.free_running:
        ports = _FEW_PORTS if made.filtered else _PORTS
        boxes.append(_Box("iio_free_running", made.stacks, always.FORMATS,
                          lambda flows, share: always.port_counts(made, flows, share, ports),
                          always.port_files(made), free=True))
    if made.free_running and not made.filtered:
        boxes.append(_Box("imc_free_running", (1 / always.CONTROLLERS,) * always.CONTROLLERS, always.FORMATS,
                          lambda flows, share: always.memory_counts(made, flows, share), always.memory_files(),
                          free=True))
    if made.tiers == "hbm":
        boxes.append(_Box("hbm", (1 / HBM_CHANNELS,) * HBM_CHANNELS, wide, hbm_counts))
    return boxes + [_Box(name, (1 / count,) * count, wide, _nothing) for name, count in made.nameless]


def _cha(made: Generation, flows: Flows, share: float) -> Events:
    codes = {**pmu_codes("tor-inserts").codes, **pmu_codes(f"tor-inserts-{made.drd}").codes}
    counts = {code(made.cha_clock): flows.cha_cycles}
    for name, parts in flow.cha_events(flows, flow.PERSISTENT if made.tiers == "pmem" else 0.0).items():
        group, dot, word = name.partition(".")
        part = times(parts, share)
        if group == "REQUESTS":
            counts[code(0x50, _REQUESTS[word])] = part
        elif not made.filtered:
            counts[code(0x36 if dot else 0x35, codes[word or name])] = part
    return counts


def _mesh(made: Generation, flows: Flows, share: float) -> Events:
    read, written = times(flows.read, share / LINE), times(flows.written, share / LINE)
    lookup, snooped, updated, reads, writes = made.mesh_codes
    return {code(made.cha_clock): flows.cha_cycles, lookup: read, snooped: times(read, flow.SNOOPED),
            updated: times(written, flow.UPDATED), reads: read, writes: written,
            **_tags(made, read)}


def _tags(made: Generation, read: Parts) -> Events:
    """Return the hits and misses of a memory that caches other memory."""
    asked = {"hbm": times(read, 1 / flow.FAR), "2lm": read}.get(made.tiers, ())
    if made.filtered:
        return {}
    hit, missed = (0x2C, 0x61) if made.early else (0x1F, 0x4B)
    mask = 0x00 if made.early else 0x0F if made.halves else 0x03
    return {code(hit, 0x0F): times(asked, 1 - flow.FAR), code(missed, mask): times(asked, flow.FAR)}


def _link(made: Generation, link: int, flows: Flows, share: float) -> Events:
    codes = {"TxL_FLITS.ALL_DATA": code(0x02, 0x0F), "TxL_FLITS.NON_DATA": code(0x02, 0x97),
             "RxL_FLITS.ALL_DATA": code(0x03, 0x0F), "RxL_FLITS.NON_DATA": code(0x03, 0x97)}
    counts = {codes[name]: times(parts, share) for name, parts in flow.upi_events(flows, link).items()}
    return {code(0x01): times(flows.seconds, made.upi_hertz), **counts}


def _stack(flows: Flows, share: float) -> Events:
    """Return a stack's counts: four-byte units by port, and of all ports in one mask; its IOMMU."""
    counts: dict[int, Parts] = {code(0x01): times(flows.seconds, 1.0e9)}
    asked = times(flow.requests(flows), share)
    missed = times(asked, flow.IOTLB_MISSES)
    counts |= {code(0x40, 0x01): asked, code(0x40, 0x20): missed, code(0x40, 0x40): missed,
               code(0x40, 0x80): times(missed, flow.CONTEXT_HITS), code(0x41, 0x40): times(missed, flow.WALK_READS),
               code(0x41, 0xC0): times(missed, flow.WALK_READS)}
    counts |= {code(0x40, mask): times(asked, (1 - flow.IOTLB_MISSES) * part)
               for mask, part in zip((0x04, 0x08, 0x10), flow.PAGES, strict=True)}
    return {**counts, **_ports(flows, share, _PORTS, 48)}


def _old_stack(flows: Flows, share: float) -> Events:
    """Return the counts of a Skylake stack: as `_stack`, but its IOMMU counts cache hits and misses (VTD)."""
    asked = times(flow.requests(flows), share)
    missed = times(asked, flow.IOTLB_MISSES)
    counts: dict[int, Parts] = {code(0x01): times(flows.seconds, 1.0e9),
                                code(0x41, 0x01): times(asked, 1 - flow.IOTLB_MISSES), code(0x41, 0x20): missed,
                                code(0x41, 0x02): times(missed, 1 - flow.CONTEXT_HITS)}
    counts |= {code(0x41, mask): times(missed, part)
               for mask, part in zip((0x04, 0x08, 0x10), _LEVEL_MISSES, strict=True)}
    counts |= {0x84 | 0x04 << 8 | 1 << 40 + port | 7 << 44: times(missed, flow.WALK_READS * part)
               for port, part in enumerate((0.7, 0.3))}
    return {**counts, **_ports(flows, share, _FEW_PORTS, 44)}


def _ports(flows: Flows, share: float, ports: Sequence[float], classes: int) -> Events:
    """Return counts of four-byte units by port and of all ports; `classes` is the class mask's first bit."""
    counts: dict[int, Parts] = {}
    for event, mask, parts in ((0x83, 0x04, flows.io_read), (0x83, 0x01, flows.io_written),
                               (0xC0, 0x04, times(flows.io_read, flow.MMIO_READ)),
                               (0xC0, 0x01, times(flows.io_written, flow.MMIO_WRITTEN))):
        counts |= {event | mask << 8 | 1 << 36 + port | 7 << classes: times(parts, share * part / 4)
                   for port, part in enumerate(ports)}
        counts[event | mask << 8 | (1 << len(ports)) - 1 << 36 | 7 << classes] = times(parts, share / 4)
    return counts


def _cxl_in(flows: Flows, share: float) -> Events:
    return {code(0x41, 0x10): times(flows.read, share * flow.CXL / LINE)}


def _cxl_out(flows: Flows, share: float) -> Events:
    return {code(0x02, 0x20): times(flows.written, share * flow.CXL / LINE)}


def _nothing(_flows: Flows, _share: float) -> Events:
    """Return no counts, for the PCU and UBOX, whose events have no names."""
    return {}


_WITH_IOMMU: Final = (0xAD,)
_SHARES: Final = (0.5, 0.3, 0.15, 0.05)
"""The distribution of devices' requests over a package's units, each of which serves one PCI Express stack."""
_IOMMU_COUNTERS: Final = 8
_IOMMU_HERTZ: Final = 1.0e9
WALK_CYCLES: Final = 150.0
"""The duration of a page walk, in cycles of the IOMMU's clock."""


def iommu_pmus(model: Model) -> list[SimulatedPmu]:
    """Make every IOMMU PMU; the cpumask is the same CPU for all, wherever the unit is."""
    shape = model.shape
    if shape.isa is not Isa.INTEL or shape.hypervisor or shape.model not in _WITH_IOMMU:
        return []
    known, readers = pmu_codes("iommu"), partial(model.first_online, [range(len(model.online))])
    events = {name: EventFile(f"event_group={group:#x},event={code:#05x}")
              for name, (group, code) in known.events.items()}
    return [SimulatedPmu(f"dmar{number}", Context.UNCORE, _IommuUnit(model, number), known.formats, events, readers,
                         counters=_IOMMU_COUNTERS)
            for number in range(shape.packages * len(_SHARES))]


class _IommuUnit:
    def __init__(self, model: Model, number: int) -> None:
        package, place = divmod(number, len(_SHARES))
        flows = flow.flows_of(model, package)
        asked = times(flow.requests(flows), _SHARES[place])
        missed = times(asked, flow.IOTLB_MISSES)
        counted: dict[str, Parts] = {
            "iommu_clocks": times(flows.seconds, _IOMMU_HERTZ), "iommu_requests": asked, "iotlb_lookup": asked,
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
