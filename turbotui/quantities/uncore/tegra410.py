"""What is derived from the events of NVIDIA's Tegra410 PMUs, one row each (nvidia-tegra410-pmu.rst).

Cycles come from one instance of what a PMU sums, so they are not divided by the number of instances.
"""

from __future__ import annotations

from turbotui.quantities.uncore.metric import Author, Metric
from turbotui.quantities.uncore.names import UNNAMED_FABRIC

_BY = Author("kernel Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst")
_POSTED = Author("selftests/resctrl, linux-kernel message 2644553: PMUs that the kernel cannot name")


def _latency(pmu: str, way: str) -> tuple[Metric, Metric]:
    """Of a link's "in_rd", or of "rd" where there is only one way."""
    return _BY.latency(pmu, way, f"{way}_cum_outs", f"{way}_req")


def _traffic(pmu: str) -> tuple[Metric, ...]:
    return tuple(
        row
        for way in ("rd", "wr")
        for row in (
            _BY.metric(pmu, f"{way} bandwidth", "GB/s", f"{way}_bytes / dt"),
            _BY.metric(pmu, f"{way} requests", "1/cycle", f"{way}_req / cycles"),
        )
    )


_FABRIC = "nvidia_ucf_pmu"
_PCIE = "nvidia_pcie_pmu"
_TARGET = "nvidia_pcie_tgt_pmu"
_MEMORY = "nvidia_cmem_latency_pmu"
_LINK = "nvidia_nvlink_c2c_pmu"
_CPU_LINK = "nvidia_nvclink_pmu"
_CXL_LINK = "nvidia_nvdlink_pmu"

TEGRA410: tuple[Metric, ...] = (
    _BY.clock(_FABRIC),
    *(
        row
        for part in ("slc", "mem")
        for way in ("rd", "wr")
        for row in (
            _BY.metric(_FABRIC, f"{part} {way} bandwidth", "GB/s", f"{part}_bytes_{way} / dt"),
            _BY.metric(_FABRIC, f"{part} {way} requests", "1/cycle", f"{part}_access_{way} / cycles"),
        )
    ),
    _BY.metric(_FABRIC, "slc rd hits", "%", "100 * slc_hit_rd / slc_access_rd"),
    _BY.clock(_PCIE),
    *_traffic(_PCIE),
    *_latency(_PCIE, "rd"),
    _BY.clock(_TARGET),
    *_traffic(_TARGET),
    _BY.clock(_MEMORY),
    _BY.metric(_MEMORY, "rd bandwidth", "GB/s", "rd_req * 32 / dt"),  # a request is 32 bytes
    *_latency(_MEMORY, "rd"),
    _BY.clock(_LINK),
    *(row for way in ("in_rd", "in_wr", "out_rd", "out_wr") for row in _latency(_LINK, way)),
    _BY.clock(_CPU_LINK),
    *(row for way in ("in_rd", "out_rd") for row in _latency(_CPU_LINK, way)),
    _BY.clock(_CXL_LINK),
    *_latency(_CXL_LINK, "in_rd"),
    _POSTED.clock(UNNAMED_FABRIC),
    # raw events of the fabric count lines of 64 bytes; the byte counters read 0 there
    _POSTED.metric(UNNAMED_FABRIC, "rd bandwidth", "GB/s", "'event=0xf1' * 64 / dt"),
    _POSTED.metric(UNNAMED_FABRIC, "wr bandwidth", "GB/s", "'event=0xf3' * 64 / dt"),
)
"""In the order they are shown."""
