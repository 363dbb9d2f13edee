"""Formats and events of NVIDIA's uncore PMUs, and what each event counts, as forms over a package's integrals.

Names, codes and fields: kernel Documentation/admin-guide/perf/nvidia-tegra{241,410}-pmu.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.simulated.basis import (
    PKG_IO_READ_BYTES,
    PKG_IO_WRITTEN_BYTES,
    PKG_READ_BYTES,
    PKG_SECONDS,
    PKG_WRITTEN_BYTES,
    Form,
    scaled,
    sum_of,
)

CYCLES: Final = 0x1_0000_0000
"""Config of the dedicated cycle counter of a CoreSight PMU: bit 32 of a 33-bit event field."""

_READ: Final[Form] = ((PKG_READ_BYTES, 1.0),)
_WRITE: Final[Form] = ((PKG_WRITTEN_BYTES, 1.0),)
_IO_READ: Final[Form] = ((PKG_IO_READ_BYTES, 1.0),)
_IO_WRITE: Final[Form] = ((PKG_IO_WRITTEN_BYTES, 1.0),)
_NONE: Final[Form] = ()


def _clock(hertz: float) -> Form:
    return ((PKG_SECONDS, hertz),)


@dataclass(frozen=True, slots=True)
class NvidiaPmuKind:
    """One kind of PMU.

    Attributes:
        name: device name with {socket} and, for PMUs of root complexes, {complex}.
        identifier: content of the file of that name.
        formats: format files.
        events: event file -> (config, what it counts).
        parts: filter bits: (config word, first bit, share of the traffic of each bit).
        counters: general counters.
        width: bits of the event code in config.
        peer: content of the peer file.
        unlisted: what a code without an event file counts, None where the driver refuses it. CoreSight drivers take any
            code: the document's own examples count event 0x0 of the UCF, which has no name.
    """

    name: str
    identifier: str
    formats: Mapping[str, str]
    events: Mapping[str, tuple[int, Form]]
    parts: tuple[tuple[int, int, tuple[float, ...]], ...] = ()
    counters: int = 8
    width: int = 33
    peer: str = ""
    complexes: int = 0
    unlisted: Form | None = None


_EVENT: Final = {"event": "config:0-32"}


def _latency(requests: Form, nanoseconds: float, hertz: float) -> Form:
    """Cycles summed over outstanding requests: each stays `nanoseconds`."""
    return scaled(requests, nanoseconds * 1e-9 * hertz)


def _lines(form: Form, size: float = 64.0) -> Form:
    return scaled(form, 1.0 / size)


_FABRIC_HZ: Final = 2.5e9
_SLC: Final = 1.8
"""System-level cache traffic for each byte of DRAM traffic."""

_UCF_EVENTS: Final[Mapping[str, tuple[int, Form]]] = {
    "bus_cycles": (0x1D, _clock(_FABRIC_HZ)),
    "slc_allocate": (0xF0, _lines(sum_of(_READ, _WRITE))),
    "slc_wb": (0xF3, _lines(_WRITE)),
    "slc_refill_rd": (0x109, _lines(_READ)),
    "slc_refill_wr": (0x10A, _lines(_WRITE)),
    "slc_access_rd": (0x111, _lines(scaled(_READ, _SLC))),
    "slc_access_wr": (0x112, _lines(scaled(_WRITE, _SLC))),
    "slc_bytes_rd": (0x113, scaled(_READ, _SLC)),
    "slc_bytes_wr": (0x114, scaled(_WRITE, _SLC)),
    "slc_hit_rd": (0x119, _lines(scaled(_READ, _SLC - 1.0))),
    "mem_access_rd": (0x121, _lines(_READ)),
    "mem_access_wr": (0x122, _lines(_WRITE)),
    "mem_bytes_rd": (0x123, _READ),
    "mem_bytes_wr": (0x124, _WRITE),
    "local_snoop": (0x180, _lines(scaled(_READ, 0.06))),
    "ext_snp_access": (0x181, _lines(scaled(_READ, 0.02))),
    "ext_snp_evict": (0x182, _lines(scaled(_READ, 0.004))),
    "slc_access_dataless": (0x183, _lines(scaled(_READ, 0.11))),
    "slc_access_atomic": (0x184, _lines(scaled(_READ, 0.003))),
    "cycles": (CYCLES, _clock(_FABRIC_HZ)),
}
_PCIE_HZ: Final = 1.95e9
_PCIE_READS: Final = _lines(_IO_READ, 128.0)
_PCIE_EVENTS: Final[Mapping[str, tuple[int, Form]]] = {
    "rd_bytes": (0x0, _IO_READ),
    "wr_bytes": (0x1, _IO_WRITE),
    "rd_req": (0x2, _PCIE_READS),
    "wr_req": (0x3, _lines(_IO_WRITE, 128.0)),
    "rd_cum_outs": (0x4, _latency(_PCIE_READS, 640.0, _PCIE_HZ)),
    "cycles": (CYCLES, _clock(_PCIE_HZ)),
}
_TARGET_HZ: Final = 1.04e9
_TARGET_EVENTS: Final[Mapping[str, tuple[int, Form]]] = {
    "rd_bytes": (0x0, scaled(_IO_READ, 0.02)),
    "wr_bytes": (0x1, scaled(_IO_WRITE, 0.03)),
    "rd_req": (0x2, _lines(scaled(_IO_READ, 0.02), 8.0)),
    "wr_req": (0x3, _lines(scaled(_IO_WRITE, 0.03), 8.0)),
    "cycles": (0x4, _clock(_TARGET_HZ)),
}
_CMEM_HZ: Final = 1.2e9
_CMEM_READS: Final = _lines(_READ, 32.0)
_LINK_HZ: Final = 1.1e9
_LINK_IN: Final = _lines(scaled(_READ, 0.08), 32.0)
_LINK_OUT: Final = _lines(scaled(_READ, 0.03), 32.0)
_LINK_IN_W: Final = _lines(scaled(_WRITE, 0.06), 32.0)
_LINK_OUT_W: Final = _lines(scaled(_WRITE, 0.02), 32.0)
_LINK_READS: Final[Mapping[str, tuple[int, Form]]] = {
    "cycles": (0x0, _clock(_LINK_HZ)),
    "in_rd_cum_outs": (0x1, _latency(_LINK_IN, 410.0, _LINK_HZ)),
    "in_rd_req": (0x2, _LINK_IN),
    "out_rd_cum_outs": (0x5, _latency(_LINK_OUT, 520.0, _LINK_HZ)),
    "out_rd_req": (0x6, _LINK_OUT),
}
_LINK_WRITES: Final[Mapping[str, tuple[int, Form]]] = {
    "in_wr_cum_outs": (0x3, _latency(_LINK_IN_W, 300.0, _LINK_HZ)),
    "in_wr_req": (0x4, _LINK_IN_W),
    "out_wr_cum_outs": (0x7, _latency(_LINK_OUT_W, 350.0, _LINK_HZ)),
    "out_wr_req": (0x8, _LINK_OUT_W),
}

TEGRA410: Final[tuple[NvidiaPmuKind, ...]] = (
    NvidiaPmuKind(
        name="nvidia_ucf_pmu_{socket}",
        identifier="2cf2036b",
        formats={
            **_EVENT,
            "src_loc_noncpu": "config1:0",
            "src_loc_cpu": "config1:1",
            "src_rem": "config1:2",
            "dst_loc_cmem": "config1:8",
            "dst_loc_gmem": "config1:9",
            "dst_loc_other": "config1:10",
            "dst_rem": "config1:11",
        },
        events=_UCF_EVENTS,
        unlisted=_lines(_READ),
        parts=((1, 0, (0.08, 0.9, 0.02)), (1, 8, (0.86, 0.04, 0.0, 0.1))),
    ),
    NvidiaPmuKind(
        name="nvidia_pcie_pmu_{socket}_rc_{complex}",
        identifier="1030136b",
        formats={
            **_EVENT,
            "src_rp_mask": "config1:0-7",
            "src_bdf": "config1:8-23",
            "src_bdf_en": "config1:24",
            "dst_loc_cmem": "config2:0",
            "dst_loc_gmem": "config2:1",
            "dst_loc_pcie_p2p": "config2:2",
            "dst_loc_pcie_cxl": "config2:3",
            "dst_rem": "config2:4",
        },
        events=_PCIE_EVENTS,
        unlisted=_NONE,
        parts=((1, 0, (0.4, 0.25, 0.15, 0.1, 0.1, 0.0, 0.0, 0.0)), (2, 0, (0.8, 0.1, 0.05, 0.0, 0.05))),
        complexes=6,
    ),
    NvidiaPmuKind(
        name="nvidia_pcie_tgt_pmu_{socket}_rc_{complex}",
        identifier="1070036b",
        formats={
            "event": "config:0-2",
            "dst_rp_mask": "config:3-10",
            "dst_addr_en": "config:11",
            "dst_addr_base": "config1:0-63",
            "dst_addr_mask": "config2:0-63",
        },
        events=_TARGET_EVENTS,
        parts=((0, 3, (0.4, 0.25, 0.15, 0.1, 0.1, 0.0, 0.0, 0.0)),),
        width=3,
        complexes=6,
    ),
    NvidiaPmuKind(
        name="nvidia_cmem_latency_pmu_{socket}",
        identifier="NVDA2021",
        formats={"event": "config:0-1"},
        events={
            "cycles": (0x0, _clock(_CMEM_HZ)),
            "rd_req": (0x1, _CMEM_READS),
            "rd_cum_outs": (0x2, _latency(_CMEM_READS, 145.0, _CMEM_HZ)),
        },
        counters=32,
        width=2,
    ),
    NvidiaPmuKind(
        name="nvidia_nvlink_c2c_pmu_{socket}",
        identifier="NVDA2023",
        formats={"event": "config:0-3", "gpu_mask": "config1:0-1"},
        events={**_LINK_READS, **_LINK_WRITES},
        parts=((1, 0, (0.5, 0.5)),),
        counters=32,
        width=4,
        peer="nr_gpu=2",
    ),
    NvidiaPmuKind(
        name="nvidia_nvclink_pmu_{socket}",
        identifier="NVDA2022",
        formats={"event": "config:0-3"},
        events=_LINK_READS,
        counters=32,
        width=4,
        peer="nr_cpu=1",
    ),
    NvidiaPmuKind(
        name="nvidia_nvdlink_pmu_{socket}",
        identifier="NVDA2020",
        formats={"event": "config:0-3"},
        events={"cycles": (0x0, _clock(_LINK_HZ)), "in_rd_cum_outs": (0x1, _NONE), "in_rd_req": (0x2, _NONE)},
        counters=32,
        width=4,
        peer="nr_cxlmem=1",
    ),
)
"""Tegra410, sold as Vera."""


def _four(text: str, first: int, form: Callable[[int], Form]) -> dict[str, tuple[int, Form]]:
    return {text.format(n): (first + n, form(n)) for n in range(4)}


def _socket_share(base: Form) -> Callable[[int], Form]:
    """The share of traffic that goes to socket n: this socket and one other."""
    return lambda n: scaled(base, (0.9, 0.1, 0.0, 0.0)[n])


_BEATS: Final = _lines(_READ, 32.0)
_WRITE_BEATS: Final = _lines(_WRITE, 32.0)
_SCF_HZ: Final = 3.0e9
_REMOTE: Final = scaled(_READ, 0.1)

_SCF_EVENTS: Final[Mapping[str, tuple[int, Form]]] = {
    "bus_cycles": (0x1D, _clock(_SCF_HZ)),
    "scf_cache_allocate": (0xF0, _lines(sum_of(_READ, _WRITE))),
    "scf_cache_refill": (0xF1, _lines(_READ)),
    "scf_cache": (0xF2, _lines(scaled(_READ, _SLC))),
    "scf_cache_wb": (0xF3, _lines(_WRITE)),
    **_four("socket_{}_rd_data", 0x101, _socket_share(_BEATS)),
    **_four("socket_{}_wb_data", 0x109, _socket_share(_WRITE_BEATS)),
    **_four("socket_{}_rd_outstanding", 0x115, _socket_share(_latency(_lines(_READ), 140.0, _SCF_HZ))),
    **_four("socket_{}_rd_access", 0x12D, _socket_share(_lines(_READ))),
    **_four("socket_{}_wb_access", 0x135, _socket_share(_lines(_WRITE))),
    **_four("socket_{}_wr_access", 0x139, _socket_share(scaled(_lines(_WRITE), 0.1))),
    **_four("socket_{}_wr_data", 0x17C, _socket_share(scaled(_WRITE_BEATS, 0.1))),
    "gmem_rd_data": (0x16D, scaled(_BEATS, 0.04)),
    "gmem_rd_access": (0x16E, scaled(_lines(_READ), 0.04)),
    "gmem_rd_outstanding": (0x16F, _latency(scaled(_lines(_READ), 0.04), 480.0, _SCF_HZ)),
    "gmem_wb_data": (0x173, scaled(_WRITE_BEATS, 0.03)),
    "gmem_wb_access": (0x174, scaled(_lines(_WRITE), 0.03)),
    "gmem_wr_data": (0x179, scaled(_WRITE_BEATS, 0.01)),
    "gmem_wr_access": (0x17B, scaled(_lines(_WRITE), 0.01)),
    "gmem_wr_total_bytes": (0x1A0, scaled(_WRITE, 0.04)),
    "remote_socket_wr_total_bytes": (0x1A1, scaled(_WRITE, 0.1)),
    "remote_socket_rd_data": (0x1A2, _lines(_REMOTE, 32.0)),
    "remote_socket_rd_outstanding": (0x1A3, _latency(_lines(_REMOTE), 260.0, _SCF_HZ)),
    "remote_socket_rd_access": (0x1A4, _lines(_REMOTE)),
    "cmem_rd_data": (0x1A5, _BEATS),
    "cmem_rd_access": (0x1A6, _lines(_READ)),
    "cmem_rd_outstanding": (0x1A7, _latency(_lines(_READ), 125.0, _SCF_HZ)),
    "cmem_wb_data": (0x1AB, _WRITE_BEATS),
    "cmem_wb_access": (0x1AC, _lines(_WRITE)),
    "cmem_wr_data": (0x1B1, scaled(_WRITE_BEATS, 0.1)),
    "cmem_wr_access": (0x1CA, scaled(_lines(_WRITE), 0.1)),
    "cmem_wr_total_bytes": (0x1DB, _WRITE),
    "cycles": (CYCLES, _clock(_SCF_HZ)),
}


def _mcf(read: Form, write: Form, hertz: float, remote: float) -> Mapping[str, tuple[int, Form]]:
    """The event list that Grace's PCIe, C2C and CNVLink PMUs share: local and remote parts of each quantity."""
    loc, rem = 1.0 - remote, remote
    total = sum_of(read, write)
    rows: dict[str, tuple[int, Form]] = {}
    parts = (
        ("rd_bytes", 0x0, read),
        ("wr_bytes", 0x2, write),
        ("total_bytes", 0x4, total),
        ("rd_req", 0x6, _lines(read)),
        ("wr_req", 0x8, _lines(write)),
        ("total_req", 0xA, _lines(total)),
        ("rd_cum_outs", 0xC, _latency(_lines(read), 700.0, hertz)),
    )
    for name, code, form in parts:
        rows[f"{name}_loc"] = (code, scaled(form, loc))
        rows[f"{name}_rem"] = (code + 1, scaled(form, rem))
    rows["cycles"] = (CYCLES, _clock(hertz))
    return rows


TEGRA241: Final[tuple[NvidiaPmuKind, ...]] = (
    NvidiaPmuKind("nvidia_scf_pmu_{socket}", "2cf0036b", _EVENT, _SCF_EVENTS, unlisted=_lines(_READ)),
    NvidiaPmuKind(
        name="nvidia_pcie_pmu_{socket}",
        identifier="1030036b",
        formats={**_EVENT, "root_port": "config1:0-9"},
        events=_mcf(_IO_READ, _IO_WRITE, 1.9e9, 0.1),
        parts=((1, 0, (0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05, 0.0, 0.0)),),
    ),
    NvidiaPmuKind(
        name="nvidia_nvlink_c2c0_pmu_{socket}",
        identifier="1050036b",
        formats={**_EVENT, "port": "config1:0-1"},
        events=_mcf(scaled(_READ, 0.05), scaled(_WRITE, 0.04), 2.0e9, 0.2),
        parts=((1, 0, (0.5, 0.5)),),
    ),
    NvidiaPmuKind(
        name="nvidia_nvlink_c2c1_pmu_{socket}",
        identifier="1040036b",
        formats={**_EVENT, "port": "config1:0-1"},
        events=_mcf(scaled(_READ, 0.01), scaled(_WRITE, 0.01), 2.0e9, 0.2),
        parts=((1, 0, (0.5, 0.5)),),
    ),
    NvidiaPmuKind(
        name="nvidia_cnvlink_pmu_{socket}",
        identifier="1060036b",
        formats={**_EVENT, "rem_socket": "config1:0-3"},
        events=_mcf(scaled(_READ, 0.06), scaled(_WRITE, 0.05), 2.0e9, 0.5),
        parts=((1, 0, (0.5, 0.5, 0.0, 0.0)),),
    ),
)
"""Tegra241, sold as Grace."""
