"""A few events of six tables, compared with perf 7.2.13's encodings (`perf stat -vv`).

docs/specs/vendor-tables.md has how all events of these tables were compared; `test_perf_tables.py` does it again where
a perf is installed.
"""

from __future__ import annotations

import pytest
from sysfs_trees import TREES

from turbotui.events.encoder import EventEncoder
from turbotui.events.event_tables.devices import VendorDevices
from turbotui.events.event_tables.json_rows import event_row
from turbotui.events.event_tables.model import VendorEvent, VendorRows, VendorTables
from turbotui.machine.linux import LinuxHost

SAMPLE = (
    # table, name, keys of its JSON object, PMU, config, config1
    ("sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS",
     "EventCode=0xd0 UMask=0x81 SampleAfterValue=1000003",
     "cpu", 0x81d0, 0x0),
    ("sapphirerapids", "INST_RETIRED.ANY", "UMask=0x1 SampleAfterValue=2000003", "cpu", 0xc0, 0x0),
    ("sapphirerapids", "CPU_CLK_UNHALTED.REF_TSC", "UMask=0x3 SampleAfterValue=2000003", "cpu", 0x300, 0x0),
    ("sapphirerapids", "CYCLE_ACTIVITY.STALLS_L3_MISS",
     "EventCode=0xa3 UMask=0x6 CounterMask=6 SampleAfterValue=1000003",
     "cpu", 0x60006a3, 0x0),
    ("sapphirerapids", "OCR.DEMAND_DATA_RD.L3_MISS",
     "EventCode=0x2A,0x2B UMask=0x1 MSRIndex=0x1a6,0x1a7 MSRValue=0x3FBFC00001 SampleAfterValue=100003",
     "cpu", 0x12a, 0x3fbfc00001),
    ("sapphirerapids", "FRONTEND_RETIRED.L2_MISS",
     "EventCode=0xc6 UMask=0x1 MSRIndex=0x3F7 MSRValue=0x13 SampleAfterValue=100007",
     "cpu", 0x1c6, 0x13),
    ("sapphirerapids", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128",
     "EventCode=0xcd UMask=0x1 MSRIndex=0x3F6 MSRValue=0x80 SampleAfterValue=1009",
     "cpu", 0x1cd, 0x80),
    ("sapphirerapids", "UNC_M_CAS_COUNT.RD", "EventCode=0x05 UMask=0xcf Unit=iMC", "uncore_imc_0", 0xcf05, 0x0),
    ("sapphirerapids", "UNC_CHA_TOR_INSERTS.IA_MISS",
     "EventCode=0x35 UMask=0xc001fe01 Unit=CHA",
     "uncore_cha_0", 0xc001fe00000135, 0x0),
    ("sapphirerapids", "UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.PART0",
     "EventCode=0x83 UMask=0x4 Unit=IIO PortMask=0x0001 FCMask=0x07",
     "uncore_iio_0", 0x7001000000483, 0x0),
    ("sapphirerapids", "UNC_IIO_BANDWIDTH_IN.PART3_FREERUN",
     "EventCode=0xff UMask=0x23 Unit=iio_free_running",
     "uncore_iio_free_running_0", 0x23ff, 0x0),
    ("sapphirerapids", "UNC_UPI_CLOCKTICKS", "EventCode=0x01 Unit=UPI", "uncore_upi_0", 0x1, 0x0),
    ("sapphirerapids", "TOPDOWN.SLOTS", "UMask=0x4 SampleAfterValue=10000003", "cpu", 0x400, 0x0),
    ("graniterapids", "MEM_LOAD_RETIRED.L3_MISS",
     "EventCode=0xd1 UMask=0x20 SampleAfterValue=50021",
     "cpu", 0x20d1, 0x0),
    ("graniterapids", "OCR.DEMAND_RFO.ANY_RESPONSE",
     "EventCode=0x2A,0x2B UMask=0x1 MSRIndex=0x1a6,0x1a7 MSRValue=0x3F3FFC0002 SampleAfterValue=100003",
     "cpu", 0x12a, 0x3f3ffc0002),
    ("graniterapids", "UNC_CHA_TOR_INSERTS.IA_MISS_DRD",
     "EventCode=0x35 UMask=0xc817fe01 Unit=CHA",
     "uncore_cha_0", 0xc817fe00000135, 0x0),
    ("graniterapids", "UNC_M_CAS_COUNT_SCH0.RD", "EventCode=0x05 UMask=0xcf Unit=IMC", "uncore_imc_0", 0xcf05, 0x0),
    ("graniterapids", "UNC_B2CMI_CLOCKTICKS", "EventCode=0x01 Unit=B2CMI", "uncore_b2cmi_0", 0x1, 0x0),
    ("graniterapids", "UNC_IIO_DATA_REQ_OF_CPU.MEM_WRITE.ALL_PARTS",
     "EventCode=0x83 UMask=0x1 Unit=IIO PortMask=0x0FF FCMask=0x07",
     "uncore_iio_0", 0x70ff000000183, 0x0),
    ("sierraforest", "INST_RETIRED.ANY", "UMask=0x1 SampleAfterValue=2000003", "cpu", 0xc0, 0x0),
    ("sierraforest", "TOPDOWN_BE_BOUND.ALL", "EventCode=0x74 SampleAfterValue=1000003", "cpu", 0x74, 0x0),
    ("sierraforest", "OCR.DEMAND_DATA_RD.L3_MISS",
     "EventCode=0xB7 UMask=0x1 MSRIndex=0x1a6,0x1a7 MSRValue=0x3FBFC00001 SampleAfterValue=100003",
     "cpu", 0x1b7, 0x3fbfc00001),
    ("sierraforest", "UNC_M_CAS_COUNT_SCH1.WR", "EventCode=0x06 UMask=0xf0 Unit=IMC", "uncore_imc_0", 0xf006, 0x0),
    ("sierraforest", "UNC_CHA_LLC_LOOKUP.DATA_RD",
     "EventCode=0x34 UMask=0x1bc1ff Unit=CHA",
     "uncore_cha_0", 0x1bc10000ff34, 0x0),
    ("amdzen5", "ls_dispatch.ld_dispatch", "EventCode=0x29 UMask=0x01", "cpu", 0x129, 0x0),
    ("amdzen5", "ex_ret_ops", "EventCode=0xc1", "cpu", 0xc1, 0x0),
    ("amdzen5", "de_no_dispatch_per_slot.no_ops_from_frontend",
     "EventCode=0x1a0 UMask=0x01",
     "cpu", 0x1000001a0, 0x0),
    ("amdzen5", "l3_lookup_state.all_coherent_accesses_to_l3",
     "EventCode=0x04 UMask=0xff Unit=L3PMC",
     "amd_l3", 0xff04, 0x0),
    ("amdzen5", "umc_cas_cmd.rd", "EventCode=0x0a Unit=UMCPMC RdWrMask=0x1", "amd_umc_0", 0x10a, 0x0),
    ("amdzen5", "fp_ops_retired_by_width.pack_512_uops_retired", "EventCode=0x08 UMask=0x20", "cpu", 0x2008, 0x0),
    ("amdzen5", "l3_xi_sampled_latency.dram_near",
     "EventCode=0xac UMask=0x01 Unit=L3PMC EnAllCores=0x1 EnAllSlices=0x1 SliceId=0x3 ThreadMask=0x3",
     "amd_l3", 0x303c000000001ac, 0x0),
    ("neoverse-v2", "INST_RETIRED", "EventCode=0x08", "armv8_pmuv3_0", 0x8, 0x0),
    ("neoverse-v2", "L1D_CACHE_REFILL", "EventCode=0x03", "armv8_pmuv3_0", 0x3, 0x0),
    ("neoverse-v2", "STALL_BACKEND", "EventCode=0x24", "armv8_pmuv3_0", 0x24, 0x0),
    ("neoverse-v2", "LL_CACHE_MISS_RD", "EventCode=0x37", "armv8_pmuv3_0", 0x37, 0x0),
    ("neoverse-v2", "SVE_INST_SPEC", "EventCode=0x8006", "armv8_pmuv3_0", 0x8006, 0x0),
    ("t410", "INST_RETIRED", "EventCode=0x08", "armv8_pmuv3_0", 0x8, 0x0),
    ("t410", "STALL_SLOT_FRONTEND", "EventCode=0x3E", "armv8_pmuv3_0", 0x3e, 0x0),
    ("t410", "L2D_CACHE_REFILL", "EventCode=0x17", "armv8_pmuv3_0", 0x17, 0x0),
    ("t410", "BR_MIS_PRED_DIR_UNCOND_RESOLVED", "EventCode=0x0189", "armv8_pmuv3_0", 0x189, 0x0),
)  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLE, ids=[f"{row[0]}-{row[1].lower()}" for row in SAMPLE])
def test_an_event_has_perfs_encoding(tmp_path_factory: pytest.TempPathFactory,
                                     sample: tuple[str, str, str, str, int, int]) -> None:
    table, name, keys, pmu, config, config1 = sample
    root = tmp_path_factory.getbasetemp() / f"tree-{table}"
    if not root.exists():
        TREES[table].write(root)
    row = event_row({"EventName": name, **dict(word.split("=", 1) for word in keys.split())}, None, "")
    rows: VendorRows[VendorEvent] = VendorRows({row.name: [row]}, lambda item: item)
    tables = VendorTables("sample", rows, VendorRows({}, lambda item: item))
    host = LinuxHost(str(root))
    events = EventEncoder(host, None, VendorDevices(host, tables)).encode(name)
    (first, *others) = events
    assert (first.pmu, first.attr.config, first.attr.config1) == (pmu, config, config1)
    assert {(event.attr.config, event.attr.config1) for event in others} <= {(config, config1)}
