"""What is derived from the events of Intel's, AMD's and Arm's own uncore PMUs, one row each.

Intel's and Arm's by the names that the kernel gives in sysfs; AMD's drivers name none, so their terms stand here.
"""

from __future__ import annotations

from turbotui.quantities.uncore.metric import Author, Metric

_INTEL = Author("kernel arch/x86/events/intel/uncore_snbep.c, uncore_snb.c; scale and unit files of the event")
_UMC = Author("AMD PPR, UMC performance monitor events; perf's amdzen5/memory-controller.json")
_L3 = Author("AMD PPR, L3 performance monitor events 0x04; perf's amdzen5/cache.json")
_CMN = Author("kernel drivers/perf/arm-cmn.c; Arm CoreLink CMN TRM, HN-F events")
_DSU = Author("kernel Documentation/admin-guide/perf/arm_dsu_pmu.rst; Arm DynamIQ Shared Unit TRM")

_IMC = "uncore_imc"
_FREE = "uncore_imc_free_running"
_IIO = "uncore_iio_free_running"
_PORTS = 8
_LOOKUPS, _MISSES = "event=0x4,umask=0xff", "event=0x4,umask=0x1"

OTHERS: tuple[Metric, ...] = (
    _INTEL.clock(_IMC, "clockticks"),
    _INTEL.metric(_IMC, "rd bandwidth", "GB/s", "cas_count_read / dt"),
    _INTEL.metric(_IMC, "wr bandwidth", "GB/s", "cas_count_write / dt"),
    # Granite Rapids, Sierra Forest and Clearwater Forest count the two subchannels of a channel apart
    _INTEL.metric(_IMC, "rd bandwidth", "GB/s", "(cas_count_read_sch0 + cas_count_read_sch1) / dt"),
    _INTEL.metric(_IMC, "wr bandwidth", "GB/s", "(cas_count_write_sch0 + cas_count_write_sch1) / dt"),
    _INTEL.metric(_IMC, "rd bandwidth", "GB/s", "data_reads / dt"),
    _INTEL.metric(_IMC, "wr bandwidth", "GB/s", "data_writes / dt"),
    _INTEL.clock(_FREE, "dclk"),
    *(
        _INTEL.metric(_FREE, f"{word} bandwidth", "GB/s", f"{event} / dt")
        for word, event in (
            ("rd", "data_read"), ("wr", "data_write"), ("all", "data_total"), ("rd", "read"), ("wr", "write"),
        )
    ),
    _INTEL.clock(_IIO, "ioclk"),
    *(
        # outgoing ones count requests of any size (kernel commit 506f981ab40f)
        _INTEL.metric(_IIO, f"in port {port}", "GB/s", f"bw_in_port{port} / dt") for port in range(_PORTS)
    ),
    *(
        _INTEL.clock(f"uncore_{box}", "clockticks")
        for box in ("cha", "cbox", "upi", "qpi", "iio", "m2m", "m2pcie", "m3upi", "ha", "r2pcie", "r3qpi", "arb",
                    "clock", "hbm", "mdf", "cxlcm", "cxldp", "b2cmi", "b2cxl", "b2hot", "b2upi", "ubox", "ubr")
    ),
    _UMC.clock("amd_umc", "event=0x0"),
    _UMC.metric("amd_umc", "rd bandwidth", "GB/s", "'event=0xa,rdwrmask=0x1' * 64 / dt"),
    _UMC.metric("amd_umc", "wr bandwidth", "GB/s", "'event=0xa,rdwrmask=0x2' * 64 / dt"),
    _L3.metric("amd_l3", "lookups", "M/s", f"'{_LOOKUPS}' / dt * 1000"),
    _L3.metric("amd_l3", "hits", "%", f"100 * (1 - '{_MISSES}' / '{_LOOKUPS}')"),
    _L3.metric("amd_l3", "miss bandwidth", "GB/s", f"'{_MISSES}' * 64 / dt"),
    _CMN.clock("arm_cmn", "dtc_cycles"),
    _CMN.metric("arm_cmn", "slc lookups", "M/s", "hnf_slc_sf_cache_access / dt * 1000"),
    _CMN.metric("arm_cmn", "slc hits", "%", "100 * (1 - hnf_cache_miss / hnf_slc_sf_cache_access)"),
    _CMN.metric("arm_cmn", "memory requests", "M/s", "hnf_mc_reqs / dt * 1000"),
    _DSU.clock("arm_dsu"),
    _DSU.metric("arm_dsu", "lookups", "M/s", "l3d_cache / dt * 1000"),
    _DSU.metric("arm_dsu", "hits", "%", "100 * (1 - l3d_cache_refill / l3d_cache)"),
    _DSU.metric("arm_dsu", "bus accesses", "M/s", "bus_access / dt * 1000"),
)  # fmt: skip
"""In the order they are shown."""
