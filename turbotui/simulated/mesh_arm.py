"""The mesh of a simulated Arm server, CMN-600 r3p1 or CMN-700 r2p0: its events, nodes and counts.

Names, codes, formats and refusals: kernel drivers/perf/arm-cmn.c.
"""

from __future__ import annotations

import errno
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.simulated import basis as b
from turbotui.simulated.basis import Form, scaled
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import EventFile, SimulatedCounter
from turbotui.simulated.pmu_codes import pmu_codes

IDENTIFIERS: Final = {"cmn-600": "43406", "cmn-700": "43c02"}
"""Part 434, revision 6: CMN-600 r3p1; part 43c, revision 2: CMN-700 r2p0."""
COUNTERS: Final = 8
"""Counters of a debug and trace controller (DTC); each crosspoint has four, which its nodes' events use."""
LOCAL_COUNTERS: Final = 4

_DVM, _DTC, _HNI, _HNF, _XP, _SBSX, _RNI, _CCLA, _WATCHPOINT = 0x1, 0x3, 0x4, 0x5, 0x6, 0x7, 0xA, 0x105, 0x7770
_FLIT: Final = 32.0  # bytes of data
_LINE: Final = 64.0
SLC_MISSES: Final = 0.35
"""Shares of the home nodes' lookups in the system-level cache."""
RETRIES, SNOOP_HITS = 0.02, 0.2
"""The share of requests that are retried, and of lookups that hit the snoop filter."""
OCCUPANCY: Final = 24.0
"""Cycles for which a request stays in its home node's queue."""
CROSSING: Final = 0.1
"""Lines that go over the links to the other package, for each one that memory reads or writes (CMN-700)."""
_SIDE: Final = 8  # crosspoints of a row
MEMORY_NODES: Final = (0x008, 0x038, 0x1C8, 0x1F8)
"""Crosspoints that have a memory controller at port 0."""
_DATA, _UP, _DOWN, _ANY = 3, 0, 2, (1 << 64) - 1

_QUEUE: Final = ("all", "read", "write", "atomic", "stash")
_TRACKER: Final = ("all", "dvmop", "dvmsync")
_CLASSES: Final = tuple(f"class{at}" for at in range(4))
_THROTTLE: Final = ("all", "group0_read", "group0_write", "group1_read", "group1_write", "read", "write")
_Filtered: TypeAlias = tuple[int, str, int, tuple[str, ...], int]
_FILTERED_EARLY: Final[tuple[_Filtered, ...]] = (
    (_HNF, "qos_pocq_occupancy", 0xF, _QUEUE, 0), (_DVM, "rxreq_trk_occupancy", 0x5, _TRACKER, 0))
_FILTERED_LATER: Final[tuple[_Filtered, ...]] = (
    (_HNF, "qos_pocq_occupancy", 0xF, _QUEUE, 0), (_DVM, "trk_occupancy", 0xC, _TRACKER, 0),
    (_DVM, "trk_occupancy_cxha", 0xD, _TRACKER, 0), (_DVM, "trk_occupancy_pdn", 0xE, _TRACKER, 0),
    (_HNF, "pocq_class_occup", 0x26, _CLASSES, 1), (_HNF, "pocq_class_retry", 0x27, _CLASSES, 1),
    (_HNF, "class_mc_reqs", 0x28, _CLASSES, 1), (_HNF, "class_cgnt_cmin", 0x29, _CLASSES, 1),
    (_HNF, "sn_throttle", 0x2A, _THROTTLE, 2), (_HNF, "sn_throttle_min", 0x2B, _THROTTLE, 2))
"""Events with a filter: type, name, code, names of the filter's values, and the node's field with the filter."""
_INTERFACES: Final = ("e", "w", "n", "s", "p0", "p1", "p2", "p3")
_CHANNELS: Final = ("req", "rsp", "snp", "dat", "pub")


@dataclass(frozen=True, slots=True)
class _Nodes:
    prefix: str
    ids: tuple[int, ...]


def _crosspoint(x: int, y: int) -> int:
    """The node id of a crosspoint of a mesh of 8 x 8: three bits each above those of port and device."""
    return x << 6 | y << 3


_CROSSPOINTS: Final = tuple(_crosspoint(x, y) for y in range(_SIDE) for x in range(_SIDE))
_NODES: Final = {
    _DVM: _Nodes("dn", (_crosspoint(3, 0) | 4,)),
    _HNI: _Nodes("hni", (_crosspoint(3, 7) | 4, _crosspoint(4, 7) | 4)),
    _HNF: _Nodes("hnf", tuple(_crosspoint(x, y) | 4 for x in (1, 2, 5, 6) for y in range(_SIDE))),
    _XP: _Nodes("mxp", _CROSSPOINTS),
    _RNI: _Nodes("rnid", tuple(_crosspoint(x, 7) for x in (2, 3, 4, 5))),
}
_LATER: Final = {
    _SBSX: _Nodes("sbsx", MEMORY_NODES), _CCLA: _Nodes("ccla", (_crosspoint(0, 3) | 4, _crosspoint(7, 3) | 4)),
}
"""Additional nodes of a CMN-700: bridges to memory, and links to the other package."""


def nodes_of(mesh: str) -> Mapping[int, _Nodes]:
    """Return the nodes of a mesh by type."""
    return _NODES if mesh == "cmn-600" else {**_NODES, **_LATER}


@dataclass(frozen=True, slots=True)
class _Event:
    """An event: the type of its node, its code, and the filter that it sets, with the number of that filter's field."""

    kind: int
    code: int
    occupancy: int | None = None
    select: int = 0


def event_files(mesh: str) -> Mapping[str, EventFile]:
    """Return the files of the events directory, for the types of nodes that the mesh has."""
    files = {"dtc_cycles": EventFile(f"type={_DTC:#x}")}
    for name, event in _named(mesh).items():
        terms = f"type={event.kind:#x},eventid={event.code:#x}"
        files[name] = EventFile(terms if event.occupancy is None else f"{terms},occupid={event.occupancy:#x}")
    for name, code in (("watchpoint_up", _UP), ("watchpoint_down", _DOWN)):
        files[name] = EventFile(f"type={_WATCHPOINT:#x},eventid={code:#x},"
                                "wp_dev_sel=?,wp_chn_sel=?,wp_grp=?,wp_val=?,wp_mask=?")
    return files


def _named(mesh: str) -> Mapping[str, _Event]:
    nodes, early = nodes_of(mesh), mesh == "cmn-600"
    tables: dict[int, Mapping[str, int]] = {_DVM: _codes("dvm-early" if early else "dvm-later"), _HNI: _codes("hni"),
        _HNF: _codes("hnf") if early else _codes("hnf", "hnf-later"),
        _RNI: _codes("rni", "rni-early" if early else "rni-later"), _SBSX: _codes("sbsx"), _CCLA: _codes("ccla")}
    events = {f"{nodes[kind].prefix}_{name}": _Event(kind, code)
              for kind, names in tables.items() if kind in nodes for name, code in names.items()}
    filtered = _FILTERED_EARLY if early else _FILTERED_LATER
    for kind, name, code, values, select in filtered:
        events |= {f"{nodes[kind].prefix}_{name}_{word}": _Event(kind, code, at, select)
                   for at, word in enumerate(values)}
    return {**events, **_crosspoints(early=early)}


def _codes(*tables: str) -> Mapping[str, int]:
    return {name: code for table in tables for name, code in pmu_codes(f"cmn-{table}").codes.items()}


def _crosspoints(*, early: bool) -> Mapping[str, _Event]:
    """Events of crosspoints: a CMN-600 has two ports at each and four channels."""
    events: dict[str, _Event] = {}
    sides = _INTERFACES[:6] if early else _INTERFACES
    for channel, word in enumerate(_CHANNELS[:4] if early else _CHANNELS):
        for side, where in enumerate(sides):
            events |= {f"mxp_{where}_{word}_{name}": _Event(_XP, channel << 5 | side << 2 | code)
                       for name, code in (("txflit_valid", 1), ("txflit_stall", 2))}
    events |= {f"mxp_{where}_dat_partial_dat_flit": _Event(_XP, _DATA << 5 | side << 2 | 3)
               for side, where in enumerate(sides) if where.startswith("p")}
    return events


Key: TypeAlias = tuple[int, int, int | None]


@functools.cache
def _forms(mesh: str) -> Mapping[Key, Form]:
    """Return the counts of all nodes of a type, over their package's integrals; other events stay 0."""
    read, written = b.PKG_READ_BYTES, b.PKG_WRITTEN_BYTES
    looked: Form = ((read, 1 / _LINE / SLC_MISSES),)
    asked: Form = ((read, 1 / _LINE), (written, 1 / _LINE))
    devices: Form = ((b.PKG_IO_READ_BYTES, 1 / _LINE), (b.PKG_IO_WRITTEN_BYTES, 1 / _LINE))
    by_name: dict[str, Form] = {
        "hnf_slc_sf_cache_access": looked, "hnf_cache_miss": scaled(looked, SLC_MISSES),
        "hnf_pocq_reqs_recvd": looked, "hnf_pocq_retry": scaled(looked, RETRIES),
        "hnf_sf_hit": scaled(looked, SNOOP_HITS), "hnf_mc_reqs": asked, "hnf_mc_retries": scaled(asked, RETRIES),
        "hnf_qos_pocq_occupancy_all": scaled(looked, OCCUPANCY),
        "rnid_rxdat_flits": ((b.PKG_IO_READ_BYTES, 1 / _FLIT),),
        "rnid_txdat_flits": ((b.PKG_IO_WRITTEN_BYTES, 1 / _FLIT),),
        "rnid_txreq_flits_total": devices, "rnid_txreq_flits_retried": scaled(devices, RETRIES),
        "mxp_p0_dat_txflit_valid": ((written, 1 / _FLIT),), "mxp_p1_dat_txflit_valid": ((read, 1 / _FLIT),),
        "sbsx_rd_req": ((read, 1 / _LINE),), "sbsx_wr_req": ((written, 1 / _LINE),),
        "sbsx_txdat_flitv": ((written, 1 / _FLIT),), "ccla_rx_cxs": ((read, CROSSING / _LINE),),
        "ccla_tx_cxs": ((written, CROSSING / _LINE),),
    }
    return {(event.kind, event.code, event.occupancy): by_name.get(name, ()) for name, event in _named(mesh).items()}


@functools.cache
def _selects(mesh: str) -> Mapping[tuple[int, int], int]:
    """Return the field with an event's filter, by type and code."""
    return {(event.kind, event.code): event.select for event in _named(mesh).values() if event.occupancy is not None}


class Mesh:
    """Resolves the events of the mesh of one package."""

    def __init__(self, model: Model, package: int) -> None:
        self._package = model.package[package]
        self._nodes, self._forms = nodes_of(model.shape.mesh), _forms(model.shape.mesh)

    def __call__(self, attr: PerfAttr, _cpu: int) -> SimulatedCounter | int:
        """The counter of an event, or the errno of the refusal."""
        kind, code = attr.config & 0xFFFF, attr.config >> 16 & 0x7FF
        if kind == _DTC:
            return self._counter(((b.PKG_UNCORE_CYCLES, 1.0),), kind, cycles=True)
        if kind == _WATCHPOINT:
            return self._watched(attr, code)
        if (nodes := self._nodes.get(kind)) is None:
            return errno.EINVAL
        form = self._forms.get((kind, code, attr.config >> 27 & 0xF), self._forms.get((kind, code, None)))
        share = _share(attr, nodes.ids)
        # the driver opens any event code of an existing node; an unknown code counts nothing
        return errno.EINVAL if not share else self._counter(scaled(form or (), share), kind)

    def _watched(self, attr: PerfAttr, code: int) -> SimulatedCounter | int:
        """Return the flits at a port: data to memory leave the mesh at memory's crosspoints, data from memory enter."""
        if code not in (_UP, _DOWN) or not _share(attr, _CROSSPOINTS):
            return errno.EINVAL
        port, channel = attr.config >> 48 & 0x7, attr.config >> 51 & 0x1F
        chosen = not attr.config >> 31 & 1 or attr.config >> 32 & 0xFFFF in MEMORY_NODES
        if port or channel != _DATA or attr.config2 != _ANY or not chosen:
            return self._counter((), _XP)
        index = b.PKG_READ_BYTES if code == _UP else b.PKG_WRITTEN_BYTES
        part = 1.0 if not attr.config >> 31 & 1 else 1 / len(MEMORY_NODES)
        return self._counter(((index, part / _FLIT),), _XP)

    def _counter(self, form: Form, kind: int, *, cycles: bool = False) -> SimulatedCounter:
        basis = self._package
        if cycles:
            return SimulatedCounter(lambda now: basis.value(form, now), slots=0)
        return SimulatedCounter(lambda now: basis.value(form, now), slots=1, local=f"{kind:#x}")


def _share(attr: PerfAttr, ids: Sequence[int]) -> float:
    """Return the share of a type's nodes that an event counts: one node if it names an id, 0 for an unknown id."""
    if not attr.config >> 31 & 1:
        return 1.0
    return 1 / len(ids) if attr.config >> 32 & 0xFFFF in ids else 0.0


def fits(mesh: str, attrs: Sequence[PerfAttr]) -> bool:
    """Tell whether events fit one group, by the counters of controllers and crosspoints, and by filters."""
    selects = _selects(mesh)
    kinds = [attr.config & 0xFFFF for attr in attrs]
    if kinds.count(_DTC) > 1 or len(kinds) - kinds.count(_DTC) > COUNTERS:
        return False
    local = Counter(_XP if kind == _WATCHPOINT else kind for kind in kinds if kind != _DTC)
    if any(count > LOCAL_COUNTERS for count in local.values()):
        return False
    filters: dict[tuple[int, int], set[int]] = {}
    watched: Counter[int] = Counter()
    for attr, kind in zip(attrs, kinds, strict=True):
        if kind == _WATCHPOINT:
            watched[(attr.config >> 16 & 0x7FF) + (attr.config >> 56 & 1)] += 1
        elif (select := selects.get((kind, attr.config >> 16 & 0x7FF))) is not None:
            filters.setdefault((kind, select), set()).add(attr.config >> 27 & 0xF)
    return all(len(members) == 1 for members in filters.values()) and all(count == 1 for count in watched.values())
