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

FORMATS: Final = {
    "type": "config:0-15", "eventid": "config:16-26", "occupid": "config:27-30", "bynodeid": "config:31",
    "nodeid": "config:32-47", "wp_dev_sel": "config:48-50", "wp_chn_sel": "config:51-55", "wp_grp": "config:56",
    "wp_exclusive": "config:57", "wp_combine": "config:27-30", "wp_val": "config1:0-63", "wp_mask": "config2:0-63",
}  # fmt: skip
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
    "s1_wdata_beats", "s2_wdata_beats", "rrt_alloc", "wrt_alloc",
)  # fmt: skip
_HNI_NAMES: Final = (
    "rrt_rd_occ_cnt_ovfl", "rrt_wr_occ_cnt_ovfl", "rdt_rd_occ_cnt_ovfl", "rdt_wr_occ_cnt_ovfl", "wdb_occ_cnt_ovfl",
    "rrt_rd_alloc", "rrt_wr_alloc", "rdt_rd_alloc", "rdt_wr_alloc", "wdb_alloc", "txrsp_retryack",
    "arvalid_no_arready", "arready_no_arvalid", "awvalid_no_awready", "awready_no_awvalid", "wvalid_no_wready",
    "txdat_stall", "nonpcie_serialization", "pcie_serialization",
)  # fmt: skip
_HNF_LATER: Final = {
    "atomic_fwd": 0x20, "mpam_hardlim": 0x21, "mpam_softlim": 0x22, "snp_sent_cluster": 0x23,
    "sf_imprecise_evict": 0x24, "sf_evict_shared_line": 0x25,
    "sf_precise_to_imprecise": 0x2C, "snp_intv_cln": 0x2D, "nc_excl": 0x2E,
    "excl_mon_ovfl": 0x2F,
}  # fmt: skip
_RNI_EARLY: Final = {"rdb_unord": 0x11, "rdb_replay": 0x12, "rdb_hybrid": 0x13, "rdb_ord": 0x14}
_RNI_LATER: Final = {
    "padb_occ_ovfl": 0x11, "rpdb_occ_ovfl": 0x12, "rrt_occup_ovfl_slice1": 0x13, "rrt_occup_ovfl_slice2": 0x14,
    "rrt_occup_ovfl_slice3": 0x15, "wrt_throttled": 0x16, "ldb_full": 0x17,
    **{f"rrt_rd_req_occup_ovfl_slice{at}": 0x18 + at for at in range(4)},
    **{f"rrt_burst_occup_ovfl_slice{at}": 0x1C + at for at in range(4)},
    "rrt_burst_alloc": 0x20, "awid_hash": 0x21, "atomic_alloc": 0x22, "atomic_occ_ovfl": 0x23,
}  # fmt: skip
_DVM_EARLY: Final = {"rxreq_dvmop": 1, "rxreq_dvmsync": 2, "rxreq_dvmop_vmid_filtered": 3, "rxreq_retried": 4}
_DVM_LATER: Final = {
    "dvmop_tlbi": 1, "dvmop_bpi": 2, "dvmop_pici": 3, "dvmop_vici": 4, "dvmsync": 5, "vmid_filtered": 6,
    "rndop_filtered": 7, "retry": 8, "txsnp_flitv": 9, "txsnp_stall": 0xA, "trkfull": 0xB, "trk_alloc": 0xF,
    "trk_cxha_alloc": 0x10, "trk_pdn_alloc": 0x11, "txsnp_stall_limit": 0x12, "rxsnp_stall_starv": 0x13,
    "txsnp_sync_stall_op": 0x14,
}  # fmt: skip
_SBSX_NAMES: Final = {
    "rd_req": 1, "wr_req": 2, "cmo_req": 3, "txrsp_retryack": 4, "txdat_flitv": 5, "txrsp_flitv": 6,
    "rd_req_trkr_occ_cnt_ovfl": 0x11, "wr_req_trkr_occ_cnt_ovfl": 0x12, "cmo_req_trkr_occ_cnt_ovfl": 0x13,
    "wdb_occ_cnt_ovfl": 0x14, "rd_axi_trkr_occ_cnt_ovfl": 0x15, "cmo_axi_trkr_occ_cnt_ovfl": 0x16,
    "rdb_occ_cnt_ovfl": 0x17, "arvalid_no_arready": 0x21, "awvalid_no_awready": 0x22, "wvalid_no_wready": 0x23,
    "txdat_stall": 0x24, "txrsp_stall": 0x25,
}  # fmt: skip
_CCLA_NAMES: Final = {
    "rx_cxs": 0x21, "tx_cxs": 0x22, "rx_cxs_avg_size": 0x23, "tx_cxs_avg_size": 0x24, "tx_cxs_lcrd_backpressure": 0x25,
    "link_crdbuf_occ": 0x26, "link_crdbuf_alloc": 0x27, "pfwd_rcvr_cxs": 0x28, "pfwd_sndr_num_flits": 0x29,
    "pfwd_sndr_stalls_static_crd": 0x2A, "pfwd_sndr_stalls_dynmaic_crd": 0x2B,
}  # fmt: skip
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
    """The nodes of one type, by the ids with which an event selects a node."""

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
}  # fmt: skip
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
    found = {"dtc_cycles": EventFile(f"type={_DTC:#x}")}
    for name, one in _named(mesh).items():
        terms = f"type={one.kind:#x},eventid={one.code:#x}"
        found[name] = EventFile(terms if one.occupancy is None else f"{terms},occupid={one.occupancy:#x}")
    for name, code in (("watchpoint_up", _UP), ("watchpoint_down", _DOWN)):
        found[name] = EventFile(f"type={_WATCHPOINT:#x},eventid={code:#x},"
                                "wp_dev_sel=?,wp_chn_sel=?,wp_grp=?,wp_val=?,wp_mask=?")
    return found


def _named(mesh: str) -> Mapping[str, _Event]:
    """The events by their names."""
    nodes, early = nodes_of(mesh), mesh == "cmn-600"
    tables: dict[int, Mapping[str, int]] = {
        _DVM: _DVM_EARLY if early else _DVM_LATER, _HNI: _numbered(_HNI_NAMES, 0x20),
        _HNF: _numbered(_HNF_NAMES) if early else {**_numbered(_HNF_NAMES), **_HNF_LATER},
        _RNI: {**_numbered(_RNI_NAMES), **(_RNI_EARLY if early else _RNI_LATER)},
        _SBSX: _SBSX_NAMES, _CCLA: _CCLA_NAMES,
    }  # fmt: skip
    found = {f"{nodes[kind].prefix}_{name}": _Event(kind, code)
             for kind, names in tables.items() if kind in nodes for name, code in names.items()}
    filtered = _FILTERED_EARLY if early else _FILTERED_LATER
    for kind, name, code, values, select in filtered:
        found |= {f"{nodes[kind].prefix}_{name}_{word}": _Event(kind, code, at, select)
                  for at, word in enumerate(values)}
    return {**found, **_crosspoints(early=early)}


def _numbered(names: Sequence[str], first: int = 1) -> Mapping[str, int]:
    return {name: first + at for at, name in enumerate(names) if name}


def _crosspoints(*, early: bool) -> Mapping[str, _Event]:
    """Events of crosspoints: a CMN-600 has two ports at each and four channels."""
    found: dict[str, _Event] = {}
    sides = _INTERFACES[:6] if early else _INTERFACES
    for channel, word in enumerate(_CHANNELS[:4] if early else _CHANNELS):
        for side, where in enumerate(sides):
            found |= {f"mxp_{where}_{word}_{name}": _Event(_XP, channel << 5 | side << 2 | code)
                      for name, code in (("txflit_valid", 1), ("txflit_stall", 2))}
    found |= {f"mxp_{where}_dat_partial_dat_flit": _Event(_XP, _DATA << 5 | side << 2 | 3)
              for side, where in enumerate(sides) if where.startswith("p")}
    return found


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
    }  # fmt: skip
    return {(one.kind, one.code, one.occupancy): by_name.get(name, ()) for name, one in _named(mesh).items()}


@functools.cache
def _selects(mesh: str) -> Mapping[tuple[int, int], int]:
    """Return the field with an event's filter, by type and code."""
    return {(one.kind, one.code): one.select for one in _named(mesh).values() if one.occupancy is not None}


class Mesh:
    """Resolves the events of the mesh of one package."""

    def __init__(self, model: Model, package: int) -> None:
        self._one = model.package[package]
        self._nodes, self._forms = nodes_of(model.shape.mesh), _forms(model.shape.mesh)

    def __call__(self, attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        """The counter of an event, or the errno of the refusal."""
        del cpu
        kind, code = attr.config & 0xFFFF, attr.config >> 16 & 0x7FF
        if kind == _DTC:
            return self._counter(((b.PKG_UNCORE_CYCLES, 1.0),), kind, cycles=True)
        if kind == _WATCHPOINT:
            return self._watched(attr, code)
        nodes = self._nodes.get(kind)
        if nodes is None:
            return errno.EINVAL
        filtered = (kind, code, attr.config >> 27 & 0xF)
        form = self._forms.get(filtered, self._forms.get((kind, code, None)))
        share = _share(attr, nodes.ids)
        # the driver opens any event code of an existing node; an unknown code counts nothing
        return errno.EINVAL if not share else self._counter(scaled(form or (), share), kind)

    def _watched(self, attr: PerfAttr, code: int) -> SimulatedCounter | int:
        """Return the flits at a port: data to memory leave the mesh at memory's crosspoints, data from memory enter."""
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
    return all(len(one) == 1 for one in filters.values()) and all(count == 1 for count in watched.values())
