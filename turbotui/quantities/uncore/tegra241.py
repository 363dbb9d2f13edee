"""What is derived from the events of NVIDIA's Tegra241 (Grace) PMUs, one row each (nvidia-tegra241-pmu.rst).

The unit of the fabric's *_data events is not said there, so no bandwidth is made of them; *_total_bytes are bytes.
"""

from __future__ import annotations

from turbotui.quantities.uncore.metric import Author, Metric
from turbotui.quantities.uncore.names import GRACE_PCIE

_BY = Author("kernel Documentation/admin-guide/perf/nvidia-tegra241-pmu.rst")
_FABRIC = "nvidia_scf_pmu"
_LINKS = (GRACE_PCIE, "nvidia_nvlink_c2c0_pmu", "nvidia_nvlink_c2c1_pmu", "nvidia_cnvlink_pmu")
"""They count one list of events, each with a part to local and a part to remote memory."""


def _link(pmu: str) -> tuple[Metric, ...]:
    ways = ("loc", "rem")
    return (
        _BY.clock(pmu),
        *(
            _BY.metric(pmu, f"{kind} {way} bandwidth", "GB/s", f"{kind}_bytes_{way} / dt")
            for kind in ("rd", "wr") for way in ways
        ),
        *(
            _BY.metric(pmu, f"{kind} {way} requests", "1/cycle", f"{kind}_req_{way} / cycles")
            for kind in ("rd", "wr") for way in ways
        ),
        *(
            row for way in ways
            for row in _BY.latency(pmu, f"rd {way}", f"rd_cum_outs_{way}", f"rd_req_{way}")
        ),
    )  # fmt: skip


_TARGETS = (("cmem", "cmem"), ("gmem", "gmem"), ("remote", "remote_socket"))

TEGRA241: tuple[Metric, ...] = (
    _BY.clock(_FABRIC),
    *(_BY.metric(_FABRIC, f"{word} wr bandwidth", "GB/s", f"{name}_wr_total_bytes / dt") for word, name in _TARGETS),
    *(_BY.metric(_FABRIC, f"{word} rd requests", "1/cycle", f"{name}_rd_access / cycles") for word, name in _TARGETS),
    *(
        row
        for word, name in _TARGETS
        for row in _BY.latency(_FABRIC, f"{word} rd", f"{name}_rd_outstanding", f"{name}_rd_access")
    ),
    _BY.metric(_FABRIC, "scf refills", "%", "100 * scf_cache_refill / scf_cache"),
    *(
        row
        for socket in range(4)
        for row in _BY.latency(
            _FABRIC, f"skt{socket} rd", f"socket_{socket}_rd_outstanding", f"socket_{socket}_rd_access"
        )
    ),
    *(row for pmu in _LINKS for row in _link(pmu)),
)
"""In the order they are shown."""
