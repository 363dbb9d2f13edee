"""The CMN-600 mesh of a simulated Arm server: its events, its nodes, and what each counts.

Names, codes, formats and refusals: kernel drivers/perf/arm-cmn.c, revision r3p1.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.simulated import basis as b
from turbotui.simulated.basis import Form, scaled
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import EventFile, SimulatedCounter

FORMATS: Final = {
    "type": "config:0-15", "eventid": "config:16-26", "occupid": "config:27-30", "bynodeid": "config:31",
    "nodeid": "config:32-47", "wp_dev_sel": "config:48-50", "wp_chn_sel": "config:51-55", "wp_grp": "config:56",
    "wp_exclusive": "config:57", "wp_combine": "config:27-30", "wp_val": "config1:0-63", "wp_mask": "config2:0-63",
}  # fmt: skip
IDENTIFIER: Final = "43406"
"""Part 434, revision 6: CMN-600 r3p1."""
COUNTERS: Final = 8
"""Of a debug and trace controller (DTC); and four of each crosspoint, which a node's events take there."""
LOCAL_COUNTERS: Final = 4

_DVM, _DTC, _HNI, _HNF, _XP, _SBSX, _RNI, _CXRA, _CXHA, _WATCHPOINT = (
    0x1, 0x3, 0x4, 0x5, 0x6, 0x7, 0xA, 0x100, 0x101, 0x7770)  # fmt: skip
_FLIT: Final = 32.0  # bytes of data
_LINE: Final = 64.0
SLC_MISSES: Final = 0.35
"""Of what home nodes look up in the system-level cache."""
RETRIES, SNOOP_HITS = 0.02, 0.2
"""Of requests those that are sent again, and of lookups those that the snoop filter has."""
OCCUPANCY: Final = 24.0
"""Cycles that a request stays in the queue of its home node."""
_SIDE: Final = 8  # crosspoints of a row
MEMORY_NODES: Final = (0x008, 0x038, 0x1C8, 0x1F8)
"""Crosspoints that have a memory controller at port 0."""
_DATA, _UP, _DOWN, _ANY = 3, 0, 2, (1 << 64) - 1

_HNF_NAMES: Final = (
    "cache_miss", "slc_sf_cache_access", "cache_fill", "pocq_retry", "pocq_reqs_recvd", "sf_hit", "sf_evictions",
    "dir_snoops_sent", "brd_snoops_sent", "slc_eviction", "slc_fill_invalid_way", "mc_retries", "mc_reqs",
    "qos_hh_retry", "", "pocq_addrhaz", "pocq_atomic_addrhaz", "ld_st_swp_adq_full", "cmp_adq_full", "txdat_stall",
    "txrsp_stall", "seq_full", "seq_hit", "snp_sent", "sfbi_dir_snp_sent", "sfbi_brd_snp_sent", "snp_sent_untrk",
    "intv_dirty", "stash_snp_sent", "stash_data_pull", "snp_fwded",
)  # fmt: skip
_RNI_NAMES: Final = (
    "s0_rdata_beats", "s1_rdata_beats", "s2_rdata_beats", "rxdat_flits", "txdat_flits", "txreq_flits_total",
    "txreq_flits_retried", "rrt_occ_ovfl", "wrt_occ_ovfl", "txreq_flits_replayed", "wrcancel_sent", "s0_wdata_beats",
    "s1_wdata_beats", "s2_wdata_beats", "rrt_alloc", "wrt_alloc", "rdb_unord", "rdb_replay", "rdb_hybrid", "rdb_ord",
)  # fmt: skip
_HNI_NAMES: Final = (
    "rrt_rd_occ_cnt_ovfl", "rrt_wr_occ_cnt_ovfl", "rdt_rd_occ_cnt_ovfl", "rdt_wr_occ_cnt_ovfl", "wdb_occ_cnt_ovfl",
    "rrt_rd_alloc", "rrt_wr_alloc", "rdt_rd_alloc", "rdt_wr_alloc", "wdb_alloc", "txrsp_retryack",
    "arvalid_no_arready", "arready_no_arvalid", "awvalid_no_awready", "awready_no_awvalid", "wvalid_no_wready",
    "txdat_stall", "nonpcie_serialization", "pcie_serialization",
)  # fmt: skip
_DVM_NAMES: Final = ("rxreq_dvmop", "rxreq_dvmsync", "rxreq_dvmop_vmid_filtered", "rxreq_retried")
_QUEUE: Final = ("all", "read", "write", "atomic", "stash")
_TRACKER: Final = ("all", "dvmop", "dvmsync")
_INTERFACES: Final = ("e", "w", "n", "s", "p0", "p1")
_CHANNELS: Final = ("req", "rsp", "snp", "dat")


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Nodes of one type: the ids by which an event chooses one."""

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


def event_files() -> Mapping[str, EventFile]:
    """The events folder: what the driver names where there are such nodes."""
    found = {"dtc_cycles": EventFile(f"type={_DTC:#x}")}
    for name, (kind, code, occupancy) in _named().items():
        terms = f"type={kind:#x},eventid={code:#x}"
        found[name] = EventFile(terms if occupancy is None else f"{terms},occupid={occupancy:#x}")
    for name, code in (("watchpoint_up", _UP), ("watchpoint_down", _DOWN)):
        found[name] = EventFile(f"type={_WATCHPOINT:#x},eventid={code:#x},"
                                "wp_dev_sel=?,wp_chn_sel=?,wp_grp=?,wp_val=?,wp_mask=?")
    return found


def _named() -> Mapping[str, tuple[int, int, int | None]]:
    """Type, event and occupancy filter of each event by its name."""
    found: dict[str, tuple[int, int, int | None]] = {}
    for kind, first, names in ((_DVM, 1, _DVM_NAMES), (_HNF, 1, _HNF_NAMES), (_HNI, 0x20, _HNI_NAMES),
                               (_RNI, 1, _RNI_NAMES)):
        found |= {f"{_NODES[kind].prefix}_{name}": (kind, first + at, None) for at, name in enumerate(names) if name}
    found |= {f"hnf_qos_pocq_occupancy_{name}": (_HNF, 0xF, at) for at, name in enumerate(_QUEUE)}
    found |= {f"dn_rxreq_trk_occupancy_{name}": (_DVM, 0x5, at) for at, name in enumerate(_TRACKER)}
    for channel, word in enumerate(_CHANNELS):
        for side, where in enumerate(_INTERFACES):
            found |= {f"mxp_{where}_{word}_{name}": (_XP, channel << 5 | side << 2 | code, None)
                      for name, code in (("txflit_valid", 1), ("txflit_stall", 2))}
    for side, where in enumerate(_INTERFACES[4:], 4):
        found[f"mxp_{where}_dat_partial_dat_flit"] = (_XP, _DATA << 5 | side << 2 | 3, None)
    return found


def _forms() -> Mapping[tuple[int, int, int | None], Form]:
    """What all nodes of a type count, over the integrals of their package; every other event stays 0."""
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
    }  # fmt: skip
    return {code: by_name.get(name, ()) for name, code in _named().items()}


_FORMS: Final = _forms()


class Mesh:
    """Resolves the events of the mesh of one package."""

    def __init__(self, model: Model, package: int) -> None:
        self._one = model.package[package]

    def __call__(self, attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        """The counter of an event, or the errno of the refusal."""
        del cpu
        kind, code = attr.config & 0xFFFF, attr.config >> 16 & 0x7FF
        if kind == _DTC:
            return self._counter(((b.PKG_UNCORE_CYCLES, 1.0),), kind, cycles=True)
        if kind == _WATCHPOINT:
            return self._watched(attr, code)
        nodes = _NODES.get(kind)
        if nodes is None:
            return errno.EINVAL
        filtered = (kind, code, attr.config >> 27 & 0xF)
        form = _FORMS.get(filtered, _FORMS.get((kind, code, None)))
        share = _share(attr, nodes.ids)
        # the driver opens any event code of a node that there is; what is not there counts nothing
        return errno.EINVAL if not share else self._counter(scaled(form or (), share), kind)

    def _watched(self, attr: PerfAttr, code: int) -> SimulatedCounter | int:
        """Flits that pass a port: data to memory go down at its crosspoints, data of memory come up there."""
        if code not in (_UP, _DOWN):
            return errno.EINVAL
        share = _share(attr, _CROSSPOINTS)
        if not share:
            return errno.EINVAL
        port, channel = attr.config >> 48 & 0x7, attr.config >> 51 & 0x1F
        chosen = not attr.config >> 31 & 1 or attr.config >> 32 & 0xFFFF in MEMORY_NODES
        if port or channel != _DATA or attr.config2 != _ANY or not chosen:
            return self._counter((), _XP)
        index = b.PKG_READ_BYTES if code == _UP else b.PKG_WRITTEN_BYTES
        part = 1.0 if not attr.config >> 31 & 1 else 1 / len(MEMORY_NODES)
        return self._counter(((index, part / _FLIT),), _XP)

    def _counter(self, form: Form, kind: int, *, cycles: bool = False) -> SimulatedCounter:
        one = self._one
        if cycles:
            return SimulatedCounter(lambda now: one.value(form, now), slots=0)
        return SimulatedCounter(lambda now: one.value(form, now), slots=1, local=f"{kind:#x}")


def _share(attr: PerfAttr, ids: Sequence[int]) -> float:
    """The part of a type's nodes that an event is of: one where it names it; 0 where there is none of that id."""
    if not attr.config >> 31 & 1:
        return 1.0
    return 1 / len(ids) if attr.config >> 32 & 0xFFFF in ids else 0.0


def fits(attrs: Sequence[PerfAttr]) -> bool:
    """Whether events may be one group: by counters of the controllers and crosspoints, and by filters."""
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
        elif (kind, attr.config >> 16 & 0x7FF, 0) in _FORMS:
            filters.setdefault((kind, 0), set()).add(attr.config >> 27 & 0xF)
    return all(len(one) == 1 for one in filters.values()) and all(count == 1 for count in watched.values())
