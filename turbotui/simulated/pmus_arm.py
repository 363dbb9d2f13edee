"""The uncore PMUs of a simulated Arm server with a mesh: CMN, DSUs, SMMUs, memory controllers and a network-on-chip.

Names, formats and refusals: kernel drivers/perf/arm-cmn.c, arm_dsu_pmu.c, arm_smmuv3_pmu.c, arm_dmc620_pmu.c, arm-ni.c.
The counts of the mesh are in `mesh_arm`.
"""

from __future__ import annotations

import errno
from functools import partial
from typing import Final

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import PerfAttr
from turbotui.simulated import basis as b
from turbotui.simulated import mesh_arm
from turbotui.simulated.basis import Form
from turbotui.simulated.events_common import counts
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, EventFile, Resolve, SimulatedCounter, SimulatedPmu
from turbotui.simulated.pmu_codes import pmu_codes

_LINE: Final = 64.0
_DSU_COUNTERS: Final = 6
WRITE_BACKS: Final = 0.4
"""Lines that leave a cluster's L3 for each line that enters."""
_CLUSTER_HZ: Final = 2.0e9
_SMMU_COUNTERS: Final = 4
_SMMU_SHARES: Final = (0.75, 0.25)
"""The distribution of devices' requests over a package's SMMUs, by the page frame of their registers."""
_SMMU_PAGES: Final = (0x27FFA0, 0x2BFFA0)
STREAM, STREAM_SHARE = 0x100, 0.5
"""A device's stream id, and its share of its SMMU's traffic."""
TLB_MISSES, CONFIG_MISSES, WALK_READS = 0.03, 0.001, 2.0
"""The share of transactions that miss, and table reads for each miss."""
_SMMU_HZ: Final = 1.0e9
_CHANNELS: Final = 8
_DMC_COUNTERS: Final = 10
_DMC_HZ: Final = 1.6e9
ROW_MISSES: Final = 0.45
"""The share of memory reads and writes that open a row first."""
_NI_CYCLES, _NI_AMNI, _NI_COUNTERS = 0x6, 0x5, 8
_NI_NODES: Final = 2


def arm_pmus(model: Model) -> list[SimulatedPmu]:
    """Every uncore PMU of the machine; none on machines without a mesh."""
    shape = model.shape
    if not shape.mesh:
        return []
    clusters = shape.packages * sum(block.cores // block.l3 for block in shape.blocks)
    pmus = [_cluster(model, number) for number in range(clusters)]
    for package in range(shape.packages):
        pmus += [_mesh(model, package), _network(model, package)]
        # named by the page frame of their registers (arm_smmuv3_pmu.c)
        pmus += [_smmu(model, package, f"smmuv3_pmcg_{page + package * 0x400000:x}", share)
                 for page, share in zip(_SMMU_PAGES, _SMMU_SHARES, strict=True)]
        pmus += [_controller(model, package, 0x10008C000 + package * 0x400000000000 + number * 0x400000)
                 for number in range(_CHANNELS)]
    return pmus


def _mesh(model: Model, package: int) -> SimulatedPmu:
    name, mesh = f"arm_cmn_{package}", model.shape.mesh
    return SimulatedPmu(
        name, Context.UNCORE, mesh_arm.Mesh(model, package), pmu_codes("cmn").formats,
        mesh_arm.event_files(mesh), partial(model.first_online, [model.layout.package_cpus[package]]),
        counters=mesh_arm.COUNTERS, local_counters=mesh_arm.LOCAL_COUNTERS,
        files={"identifier": mesh_arm.IDENTIFIERS[mesh]},
        fits=partial(mesh_arm.fits, mesh),
    )


def _cluster(model: Model, number: int) -> SimulatedPmu:
    """Make the shared unit of a cluster, which accepts only events on the cluster's CPUs."""
    cpus, name = model.layout.l3_cpus[number], f"arm_dsu_{number}"
    places = model.layout.places

    def of(word: str) -> list[tuple[b.Basis, Form]]:
        return [(model.cpu[cpu], counts(model.shape.core_types[places[cpu].type])[word]) for cpu in cpus]

    refills, lookups = of("llc-misses"), of("llc-references")
    package = model.package[places[cpus[0]].package]
    parts: dict[int, list[tuple[b.Basis, Form]]] = {
        0x11: [(package, ((b.PKG_SECONDS, _CLUSTER_HZ),))], 0x1D: [(package, ((b.PKG_SECONDS, _CLUSTER_HZ / 2),))],
        0x2B: lookups, 0x2A: refills, 0x29: refills, 0x1A: [],
        0x2C: [(basis, b.scaled(form, WRITE_BACKS)) for basis, form in refills],
        0x19: [(basis, b.scaled(form, 1 + WRITE_BACKS)) for basis, form in refills],
    }

    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        behind = parts.get(attr.config)
        if cpu not in cpus or behind is None:
            return errno.EINVAL
        return SimulatedCounter(lambda now: sum(basis.value(form, now) for basis, form in behind),
                                slots=1, fixed="cycles" if attr.config == 0x11 else "")

    return SimulatedPmu(
        name, Context.UNCORE, resolve, {"event": "config:0-31"},
        {event: EventFile(f"event={code:#x}") for event, code in pmu_codes("dsu").codes.items()},
        partial(model.first_online, [cpus]),
        counters=_DSU_COUNTERS, files={"associated_cpus": format_cpulist(cpus)}, sampling=errno.EOPNOTSUPP,
        fits=lambda attrs: (sum(attr.config == 0x11 for attr in attrs) <= 1
                            and sum(attr.config != 0x11 for attr in attrs) <= _DSU_COUNTERS),
    )


def _smmu(model: Model, package: int, name: str, share: float) -> SimulatedPmu:
    """A counter group of an SMMU: its mask names the CPU that probed the driver, wherever the SMMU is."""
    basis = model.package[package]
    passed = dict.fromkeys((b.PKG_IO_READ_BYTES, b.PKG_IO_WRITTEN_BYTES), share / _LINE)
    weights = (0.0, 1.0, TLB_MISSES, CONFIG_MISSES, TLB_MISSES * WALK_READS, CONFIG_MISSES * WALK_READS, 0.0, 0.0)

    def resolve(attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        event = attr.config & 0xFFFF
        if event >= len(weights):
            return errno.EINVAL
        part = weights[event] * _stream_share(attr)
        form: Form = (((b.PKG_SECONDS, _SMMU_HZ),) if event == 0 else
                      tuple((index, weight * part) for index, weight in passed.items()))
        return SimulatedCounter(lambda now: basis.value(form, now), slots=1)

    return SimulatedPmu(
        name, Context.UNCORE, resolve,
        {"event": "config:0-15", "filter_stream_id": "config1:0-31", "filter_span": "config1:32",
         "filter_enable": "config1:33"},
        {event: EventFile(f"event={code:#04x}") for event, code in pmu_codes("smmu").codes.items()},
        partial(model.first_online, [model.layout.package_cpus[0]]), counters=_SMMU_COUNTERS, sampling=errno.EOPNOTSUPP,
    )


def _stream_share(attr: PerfAttr) -> float:
    """Return the share of an SMMU's requests that passes the filter; all pass without the enable bit."""
    if not attr.config1 >> 33 & 1:
        return 1.0
    return STREAM_SHARE if not attr.config1 >> 32 & 1 and attr.config1 & 0xFFFFFFFF == STREAM else 0.0


def _controller(model: Model, package: int, address: int) -> SimulatedPmu:
    """Make a memory channel, whose driver cannot stop counters together and so accepts one event a group."""
    basis = model.package[package]
    each: Form = tuple((index, 1 / _LINE / _CHANNELS) for index in (b.PKG_READ_BYTES, b.PKG_WRITTEN_BYTES))
    halved: dict[int, Form] = {0x00: ((b.PKG_SECONDS, _DMC_HZ / 2),), 0x11: b.scaled(each, ROW_MISSES), 0x12: each}
    whole, divided = pmu_codes("dmc620").codes, pmu_codes("dmc620-clkdiv2").codes
    clocked: dict[int, Form] = {0x00: ((b.PKG_SECONDS, _DMC_HZ),), 0x01: each}

    def resolve(attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        event, half = attr.config2 >> 3 & 0x3F, attr.config2 >> 9 & 1
        if event >= len(divided if half else whole):
            return errno.EINVAL
        form = (halved if half else clocked).get(event, ())
        return SimulatedCounter(lambda now: basis.value(form, now), slots=1)

    events = {f"clkdiv2_{event}": EventFile(f"event={code:#x},clkdiv2=0x1") for event, code in divided.items()}
    events |= {f"clk_{event}": EventFile(f"event={code:#x},clkdiv2=0x0") for event, code in whole.items()}
    return SimulatedPmu(f"arm_dmc620_{address:x}", Context.UNCORE, resolve, pmu_codes("dmc620").formats, events,
                        partial(model.first_online, [model.layout.package_cpus[0]]), counters=_DMC_COUNTERS,
                        fits=lambda attrs: len(attrs) < 2)


def _network(model: Model, package: int) -> SimulatedPmu:
    """Make a clock domain of a network-on-chip: its clock, and any named event of a node."""
    basis, name = model.package[package], f"arm_ni_{package}_cd_0"
    asked: Form = ((b.PKG_IO_READ_BYTES, 1 / _LINE / _NI_NODES),)

    def resolve(attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        kind, node = attr.config & 0xFFFF, attr.config >> 16 & 0xFFFF
        if kind == _NI_CYCLES:
            return SimulatedCounter(lambda now: basis.value(((b.PKG_SECONDS, 1.0e9),), now), slots=0)
        if kind != _NI_AMNI or node >= _NI_NODES:
            return errno.EINVAL
        return SimulatedCounter(lambda now: basis.value(asked, now), slots=1)

    events = {"cycles": EventFile(f"type={_NI_CYCLES:#x}"),
              "amni": EventFile(f"type={_NI_AMNI:#x},eventid=?,nodeid=?")}
    resolver: Resolve = resolve
    return SimulatedPmu(
        name, Context.UNCORE, resolver, pmu_codes("ni").formats, events,
        partial(model.first_online, [model.layout.package_cpus[package]]), counters=_NI_COUNTERS,
        files={"identifier": "43b01"},
        fits=lambda attrs: (sum(attr.config & 0xFFFF == _NI_CYCLES for attr in attrs) <= 1
                            and sum(attr.config & 0xFFFF != _NI_CYCLES for attr in attrs) <= _NI_COUNTERS),
    )
