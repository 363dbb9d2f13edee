"""The uncore PMUs of simulated Intel servers: names, formats and codes of the kernel and of Intel perfmon.

Kernel arch/x86/events/intel/uncore_snbep.c has the names and formats, and names no event but the memory controllers'.
What is counted is in `intel_traffic`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.simulated import intel_traffic as flow
from turbotui.simulated.intel_ports import root_bus
from turbotui.simulated.intel_traffic import LINE, Flows, Parts, times
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu, Value
from turbotui.simulated.shapes import Isa, MachineShape

_MEBIBYTE_SCALE: Final = "6.103515625e-5"
"""64 / 2^20: memory controllers count cache lines."""
_COUNTERS: Final = 4
_FIRST_HALF: Final = 0.6
"""Of a channel's traffic on its first subchannel or pseudochannel: unequal, so that one taken for both is seen."""
_HALVES: Final = (_FIRST_HALF, 1 - _FIRST_HALF)
_HBM_CHANNELS, _HBM_HZ = 32, 1.6e9
"""Four stacks of eight channels, at 3.2 GT/s."""
_LINKS: Final = (0.4, 0.35, 0.25)
_SIX_LINKS: Final = (0.25, 0.2, 0.2, 0.15, 0.1, 0.1)
_STACKS: Final = (0.5, 0.3, 0.15, 0.05)
"""How traffic between packages spreads over the links, and that of devices over the PCI Express stacks."""
_PORTS: Final = (0.6, 0.0, 0.3, 0.0, 0.1, 0.0, 0.0, 0.0)
_SLICE_CORES: Final = {0xAF: 4}
"""Cores for each slice of the last-level cache, where they are not one."""

Events = Mapping[int, Parts]


@dataclass(frozen=True, slots=True)
class _Box:
    """One kind of PMU: how many there are in a package, what its `format` folder says, what each instance counts."""

    name: str
    shares: tuple[float, ...]
    formats: Mapping[str, str]
    events: Callable[[Flows, float], Events]
    files: Mapping[str, EventFile]


@dataclass(frozen=True, slots=True)
class _Generation:
    """What differs between processors.

    Attributes:
        mask: format of a CHA's umask.
        cha_clock: code of the CHAs' and meshes' clock.
        memory_hertz: DCLK.
        activations, conflicts: codes of ACT, and of PRE for another row.
        mesh: name of what is between mesh and memory.
        mesh_codes: of its lookups, lookups in state A, updates, reads and writes.
        upi_hertz: an eighth of the links' rate.
        early: whether codes of memory and mesh are those before Sapphire Rapids.
        drd: the word for data reads of the cores in the vendor's names.
        channels: of the memory of a package.
        halves: whether the kernel names the counts of a channel's two subchannels apart.
        links: how what goes to other packages spreads over the links.
        tiers: of the machine's shape.
        nameless: further PMUs, of which neither kernel nor vendor names an event that is read here.
    """

    mask: str
    cha_clock: int
    memory_hertz: float
    activations: int
    conflicts: int
    mesh: str
    mesh_codes: tuple[int, int, int, int, int]
    upi_hertz: float
    early: bool = False
    drd: str = "DRD"
    channels: int = 8
    halves: bool = False
    links: tuple[float, ...] = _LINKS
    nameless: tuple[tuple[str, int], ...] = ()
    tiers: str = ""


def _code(event: int, mask: int = 0) -> int:
    """The config of an event: the umask's low byte at bit 8, the rest from bit 32."""
    return event | (mask & 0xFF) << 8 | mask >> 8 << 32


_ICX: Final = _Generation("config:8-15,32-57", 0x00, 1.6e9, _code(0x01, 0x0B), _code(0x02, 0x0C), "m2m",
                          (_code(0x2D, 0x01), _code(0x2D, 0x08), _code(0x2E, 0x01), _code(0x37, 0x704),
                           _code(0x38, 0x1C10)), 1.4e9, early=True)
_SPR: Final = _Generation("config:8-15,32-63", 0x01, 2.4e9, _code(0x02, 0xFF),
                          _code(0x03, 0x77), "m2m",
                          (_code(0x20, 0x01), _code(0x20, 0x08), _code(0x21, 0x301), _code(0x24, 0x304),
                           _code(0x25, 0x1810)), 2.0e9)
_SRF: Final = _Generation("config:8-15,32-63", 0x01, 1.6e9, _code(0x02, 0xF7),
                          _code(0x03, 0xF7), "b2cmi",
                          (_code(0x20, 0x01), _code(0x20, 0x08), _code(0x21, 0x301), _code(0x24, 0x104),
                           _code(0x25, 0x110)), 3.0e9, drd="DRD_OPT", halves=True)
_GNR: Final = replace(_SRF, memory_hertz=2.2e9, drd="DRD", channels=12, links=_SIX_LINKS,  # MRDIMM-8800
                      nameless=(("b2cxl", 2), ("b2hot", 4), ("b2upi", 3), ("mdf_sbo", 8), ("pciex16", 4),
                                ("pciex8", 2)))
_GENERATIONS: Final = {0x6A: _ICX, 0x8F: _SPR, 0xCF: _SPR, 0xAF: _SRF, 0xAD: _GNR}

_TOR: Final = {
    # Intel perfmon, UNC_CHA_TOR_INSERTS: umask with umask_ext above it; the same of these processors
    "IA_MISS": 0xC001FE01, "IA_HIT": 0xC001FD01, "IO_PCIRDCUR": 0xC8F3FF04, "IO_HIT_PCIRDCUR": 0xC8F3FD04,
    "IO_MISS_PCIRDCUR": 0xC8F3FE04, "IO_ITOM": 0xCC43FF04, "IO_MISS_ITOM": 0xCC43FE04,
    "IO_ITOMCACHENEAR": 0xCD43FF04, "IO_MISS_ITOMCACHENEAR": 0xCD43FE04, "IO_HIT_ITOM": 0xCC43FD04,
    "IO_HIT_ITOMCACHENEAR": 0xCD43FD04, "IO_RFO": 0xC803FF04, "IO_MISS_RFO": 0xC803FE04, "IO_HIT_RFO": 0xC803FD04,
    "IA_MISS_UCRDF": 0xC877DE01, "IA_MISS_WIL": 0xC87FDE01, "IA_MISS_WCIL": 0xC86FFE01, "IA_MISS_WCILF": 0xC867FE01,
    "IA_MISS_DRD_CXL_ACC": 0x10C8178201, "IA_MISS_DRD_PREF_CXL_ACC": 0x10C8978201, "IA_MISS_DRD_PMM": 0xC8178A01,
}  # fmt: skip
_READS: Final = {
    "DRD": {"IA_MISS_DRD": 0xC817FE01, "IA_HIT_DRD": 0xC817FD01, "IA_MISS_DRD_LOCAL": 0xC816FE01,
            "IA_MISS_DRD_REMOTE": 0xC8177E01, "IA_MISS_DRD_PREF_LOCAL": 0xC896FE01,
            "IA_MISS_DRD_PREF_REMOTE": 0xC8977E01},
    "DRD_OPT": {"IA_MISS_DRD": 0xC827FE01, "IA_HIT_DRD": 0xC827FD01, "IA_MISS_DRD_LOCAL": 0xC826FE01,
                "IA_MISS_DRD_REMOTE": 0xC8277E01, "IA_MISS_DRD_PREF_LOCAL": 0xC8A6FE01,
                "IA_MISS_DRD_PREF_REMOTE": 0xC8A77E01},
}  # fmt: skip
_REQUESTS: Final = {"READS_LOCAL": 1, "READS_REMOTE": 2, "WRITES_LOCAL": 4, "WRITES_REMOTE": 8}
_PLAIN: Final = {"event": "config:0-7", "umask": "config:8-15", "edge": "config:18", "inv": "config:23",
                 "thresh": "config:24-31"}


def intel_names(shape: MachineShape) -> list[str]:
    """Names of the PMUs; none on other machines."""
    return [] if _generation(shape) is None else [name for box in _boxes(shape) for name in _instances(box)]


def has_stacks(shape: MachineShape) -> bool:
    """Whether the machine has PCI Express stacks that are counted."""
    return _generation(shape) is not None


def intel_pmus(model: Model, types: Mapping[str, int]) -> list[SimulatedPmu]:
    """Every uncore PMU of the machine; none on other machines."""
    if _generation(model.shape) is None:
        return []
    flows = [flow.flows_of(model, package) for package in range(model.shape.packages)]

    def readers() -> list[int]:
        groups = model.layout.package_cpus
        found = (next((cpu for cpu in group if model.online[cpu]), None) for group in groups)
        return [cpu for cpu in found if cpu is not None]

    return [
        SimulatedPmu(
            name=name,
            type=types[name],
            context=Context.UNCORE,
            resolve=_resolver(model, box, share, flows),
            formats=box.formats,
            events=box.files,
            readers=readers,
            counters=_COUNTERS,
            files=_mapping(model.shape, box, number),
        )
        for box in _boxes(model.shape)
        for number, (name, share) in enumerate(zip(_instances(box), box.shares, strict=True))
    ]


def _generation(shape: MachineShape) -> _Generation | None:
    if shape.isa is not Isa.INTEL or shape.client or shape.hypervisor or shape.model not in _GENERATIONS:
        return None
    return replace(_GENERATIONS[shape.model], tiers=shape.tiers)


def _instances(box: _Box) -> list[str]:
    return [f"uncore_{box.name}_{number}" for number in range(len(box.shares))] if len(box.shares) > 1 else [
        f"uncore_{box.name}"]


def _resolver(model: Model, box: _Box, share: float,
              flows: list[Flows]) -> Callable[[PerfAttr, int], SimulatedCounter | int]:
    tables: dict[int, Events] = {}

    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        package = model.layout.places[cpu].package
        if package not in tables:
            tables[package] = box.events(flows[package], share)
        parts = tables[package].get(attr.config)
        return errno.EINVAL if parts is None else SimulatedCounter(_value(model, parts), slots=1)

    return resolve


def _value(model: Model, parts: Parts) -> Value:
    behind = [(model.package[package], form) for package, form in parts]
    return lambda now: sum(one.value(form, now) for one, form in behind)


def _mapping(shape: MachineShape, box: _Box, number: int) -> Mapping[str, str]:
    """The files dieN: the root bus of a stack, the other end of a link (sysfs-devices-mapping)."""
    dies = range(shape.packages)
    if box.name == "iio":
        return {f"die{die}": root_bus(die, number) for die in dies}
    if box.name == "upi":
        return {f"die{die}": f"upi_{number},die_{_neighbour(die, number, len(dies))}" for die in dies}
    return {}


def _neighbour(die: int, link: int, dies: int) -> int:
    """The die that a link goes to: of four and more each link goes to another one, both ends the same."""
    return die ^ (link % (dies - 1) + 1) if dies > 2 else 1 - die


def _boxes(shape: MachineShape) -> list[_Box]:
    made = _generation(shape)
    assert made is not None  # noqa: S101 - the callers have asked
    slices = shape.cores_per_package // _SLICE_CORES.get(shape.model, 1)
    wide = {**_PLAIN, "umask": "config:8-15,32-55"}
    iio = {**_PLAIN, "thresh": "config:24-35", "ch_mask": "config:36-47", "fc_mask": "config:48-50"}
    cha = {**_PLAIN, "umask": made.mask, "filter_tid": "config1:0-9"}
    found = [
        _Box("cha", (1 / slices,) * slices, cha, lambda flows, share: _cha(made, flows, share), {}),
        _Box("imc", (1 / made.channels,) * made.channels, _PLAIN if made.early else wide,
             lambda flows, share: _memory(made, flows, share), _halves() if made.halves else _whole(made)),
        _Box(made.mesh, (0.25,) * 4, wide, lambda flows, share: _mesh(made, flows, share), {}),
        _Box("iio", _STACKS, iio, _stack, {}),
        _Box("pcu", (1.0,), _PLAIN, _nothing, {}),
        _Box("ubox", (1.0,), _PLAIN, _nothing, {}),
    ]
    if shape.packages > 1:
        found.append(_Box("upi", made.links, wide, lambda flows, share: _link(made, flows, share), {}))
    if not made.early:
        found += [_Box("cxlcm", (0.7, 0.3), wide, _cxl_in, {}), _Box("cxldp", (0.7, 0.3), wide, _cxl_out, {})]
    if made.tiers == "hbm":
        found.append(_Box("hbm", (1 / _HBM_CHANNELS,) * _HBM_CHANNELS, wide, _near, {}))
    return found + [_Box(name, (1 / count,) * count, wide, _nothing, {}) for name, count in made.nameless]


def _whole(made: _Generation) -> Mapping[str, EventFile]:
    code, read, write = (0x04, 0x0F, 0x30) if made.early else (0x05, 0xCF, 0xF0)
    return {
        "clockticks": EventFile(f"event={0x00 if made.early else 0x01:#04x},umask=0x00"),
        "cas_count_read": EventFile(f"event={code:#04x},umask={read:#04x}", _MEBIBYTE_SCALE, "MiB"),
        "cas_count_write": EventFile(f"event={code:#04x},umask={write:#04x}", _MEBIBYTE_SCALE, "MiB"),
    }


def _halves() -> Mapping[str, EventFile]:
    found = {"clockticks": EventFile("event=0x01,umask=0x00")}
    for number in (0, 1):
        for way, mask in (("read", 0xCF), ("write", 0xF0)):
            terms = f"event={5 + number:#04x},umask={mask:#04x}"
            found[f"cas_count_{way}_sch{number}"] = EventFile(terms, _MEBIBYTE_SCALE, "MiB")
    return found


def _memory(made: _Generation, flows: Flows, share: float) -> Events:
    read, written = times(flows.read, share / LINE), times(flows.written, share / LINE)
    every, clock = read + written, times(flows.seconds, made.memory_hertz)
    found: dict[int, Parts] = {}
    if made.early:
        found = {_code(0x00): clock, _code(0x04, 0x0F): read, _code(0x04, 0x30): written, _code(0x04, 0x3F): every}
    else:
        found = {_code(0x01): times(clock, 0.5), _code(0x01, 0x01): clock}
        halves = ((0x05, _FIRST_HALF), (0x06, 1 - _FIRST_HALF)) if made.halves else ((0x05, 1.0),)
        for event, part in halves:
            found |= {_code(event, 0xCF): times(read, part), _code(event, 0xF0): times(written, part),
                      _code(event, 0xFF): times(every, part)}
    found |= {made.activations: times(every, flow.ACTIVATIONS), made.conflicts: times(every, flow.CONFLICTS)}
    found[_code(0x43, 0x01 if made.halves else 0)] = ()  # self-refresh: never here
    return {**found, **_queues(made, read, written), **({} if made.halves else _persistent(made, read, written))}


def _queues(made: _Generation, read: Parts, written: Parts) -> Events:
    """What waits for DRAM: occupancies count the cycles that each request waits, in DCLK."""
    ways = ((read, flow.READ_QUEUE), (written, flow.WRITE_QUEUE))
    found: dict[int, Parts] = {}
    if made.halves:  # subchannels, each of two pseudochannels
        for (lines, cycles), first, inserts in zip(ways, (0x80, 0x84), (0x10, 0x22), strict=True):
            for number, part in enumerate(_HALVES):
                found[_code(inserts, 0x30 << 2 * number)] = times(lines, part)
                found |= {_code(first + 2 * number + one): times(lines, part * half * cycles)
                          for one, half in enumerate(_HALVES)}
        return found
    for (lines, cycles), first, inserts in zip(ways, (0x80, 0x82), (0x10, 0x20), strict=True):
        found[_code(inserts, 0x03)] = lines
        found |= {_code(first + one): times(lines, half * cycles) for one, half in enumerate(_HALVES)}
    return found


def _near(flows: Flows, share: float) -> Events:
    """A channel of HBM that is DRAM's cache: lines are of two CAS, and DRAM has those that it has not."""
    read, written = (times(way, share / LINE / flow.FAR) for way in (flows.read, flows.written))
    cas = times(read + written, 2.0)
    found: dict[int, Parts] = {
        _code(0x01): times(flows.seconds, _HBM_HZ / 2), _code(0x01, 0x01): times(flows.seconds, _HBM_HZ),
        _code(0x05, 0xCF): times(read, 2.0), _code(0x05, 0xF0): times(written, 2.0), _code(0x05, 0xFF): cas,
        _code(0x02, 0xFF): times(cas, flow.ACTIVATIONS),
    }  # fmt: skip
    for lines, cycles, first, inserts in ((read, flow.READ_QUEUE, 0x80, 0x10), (written, flow.WRITE_QUEUE, 0x82, 0x20)):
        found[_code(inserts, 0x03)] = lines
        found |= {_code(first + one): times(lines, part * cycles) for one, part in enumerate(_HALVES)}
    return found


def _persistent(made: _Generation, read: Parts, written: Parts) -> Events:
    """Persistent memory beside DRAM, or behind it: DRAM is then its cache, and has most of the lines."""
    part = {"pmem": flow.PERSISTENT, "2lm": flow.FAR}.get(made.tiers, 0.0)
    lines = (times(read, part), times(written, part)) if part else ((), ())
    waits = times(lines[0], flow.PERSISTENT_QUEUE)
    found: dict[int, Parts] = {_code(0xE3): lines[0], _code(0xE7): lines[1], _code(0xE0, 0x01): waits,
                               _code(0xE0, 0x02): ()}
    for mask, share in ((0x01, 1 - flow.FAR), (0x02, flow.FAR / 2), (0x04, flow.FAR / 2)):
        found[_code(0xD3, mask)] = times(read, share) if made.tiers == "2lm" else ()
    return found


def _cha(made: _Generation, flows: Flows, share: float) -> Events:
    codes = {**_TOR, **_READS[made.drd]}
    found = {_code(made.cha_clock): flows.cha_cycles}
    for name, parts in flow.cha_events(flows, flow.PERSISTENT if made.tiers == "pmem" else 0.0).items():
        group, dot, word = name.partition(".")
        part = times(parts, share)
        if group == "REQUESTS":
            found[_code(0x50, _REQUESTS[word])] = part
        else:
            found[_code(0x36 if dot else 0x35, codes[word or name])] = part
    return found


def _mesh(made: _Generation, flows: Flows, share: float) -> Events:
    read, written = times(flows.read, share / LINE), times(flows.written, share / LINE)
    lookup, snooped, updated, reads, writes = made.mesh_codes
    return {_code(made.cha_clock): flows.cha_cycles, lookup: read, snooped: times(read, flow.SNOOPED),
            updated: times(written, flow.UPDATED), reads: read, writes: written,
            **_tags(made, read)}


def _tags(made: _Generation, read: Parts) -> Events:
    """Hits and misses of memory that is a cache of other memory."""
    asked = {"hbm": times(read, 1 / flow.FAR), "2lm": read}.get(made.tiers, ())
    hit, missed = (0x2C, 0x61) if made.early else (0x1F, 0x4B)
    mask = 0x00 if made.early else 0x0F if made.halves else 0x03
    return {_code(hit, 0x0F): times(asked, 1 - flow.FAR), _code(missed, mask): times(asked, flow.FAR)}


def _link(made: _Generation, flows: Flows, share: float) -> Events:
    codes = {"TxL_FLITS.ALL_DATA": _code(0x02, 0x0F), "TxL_FLITS.NON_DATA": _code(0x02, 0x97),
             "RxL_FLITS.ALL_DATA": _code(0x03, 0x0F), "RxL_FLITS.NON_DATA": _code(0x03, 0x97)}
    found = {codes[name]: times(parts, share) for name, parts in flow.upi_events(flows).items()}
    return {_code(0x01): times(flows.seconds, made.upi_hertz), **found}


def _stack(flows: Flows, share: float) -> Events:
    """Counts of four bytes by port, and of all ports in one mask; the IOMMU of the stack."""
    found: dict[int, Parts] = {_code(0x01): times(flows.seconds, 1.0e9)}
    asked = times(flow.requests(flows), share)
    missed = times(asked, flow.IOTLB_MISSES)
    found |= {_code(0x40, 0x01): asked, _code(0x40, 0x20): missed, _code(0x40, 0x40): missed,
              _code(0x40, 0x80): times(missed, flow.CONTEXT_HITS), _code(0x41, 0x40): times(missed, flow.WALK_READS),
              _code(0x41, 0xC0): times(missed, flow.WALK_READS)}
    found |= {_code(0x40, mask): times(asked, (1 - flow.IOTLB_MISSES) * part)
              for mask, part in zip((0x04, 0x08, 0x10), flow.PAGES, strict=True)}
    for event, mask, parts in (
        (0x83, 0x04, flows.io_read), (0x83, 0x01, flows.io_written),
        (0xC0, 0x04, times(flows.io_read, flow.MMIO_READ)), (0xC0, 0x01, times(flows.io_written, flow.MMIO_WRITTEN)),
    ):  # fmt: skip
        found |= {event | mask << 8 | 1 << 36 + port | 7 << 48: times(parts, share * part / 4)
                  for port, part in enumerate(_PORTS)}
        found[event | mask << 8 | 0xFF << 36 | 7 << 48] = times(parts, share / 4)
    return found


def _cxl_in(flows: Flows, share: float) -> Events:
    return {_code(0x41, 0x10): times(flows.read, share * flow.CXL / LINE)}


def _cxl_out(flows: Flows, share: float) -> Events:
    return {_code(0x02, 0x20): times(flows.written, share * flow.CXL / LINE)}


def _nothing(flows: Flows, share: float) -> Events:
    """PCU and UBOX: nobody names their events, and the model counts none of them."""
    del flows, share
    return {}
