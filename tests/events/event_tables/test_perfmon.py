"""Intel's own collection: files with a header, and its differences from the kernel's format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turbotui.events.event_tables.errors import VendorTablesError
from turbotui.events.event_tables.perfmon import PerfmonTables, is_perfmon
from turbotui.machine.linux import LinuxHost

NOTHING = {"MSRIndex": "0x00", "MSRValue": "0x00", "CounterMask": "0", "Errata": "null", "Deprecated": "0",
           "PortMask": "0x000", "FCMask": "0x00", "Filter": "na", "ExtSel": "0"}
CPUINFO = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: %d\nstepping\t: 4\nflags\t: fpu\n"
CASES = (
    # keys as Intel writes them -> PMU and terms
    ({"EventCode": "0xd0", "UMask": "0x81"}, "default_core", "event=0xd0,umask=0x81"),
    ({"EventCode": "0x35", "UMask": "0x01", "UMaskExt": "0xC001FE", "Unit": "CHA"}, "uncore_cha",
     "event=0x35,umask=0xc001fe01"),
    ({"EventCode": "0x83", "UMask": "0x04", "UMaskExt": "0x7", "PortMask": "0x001", "FCMask": "0x07", "Unit": "IIO"},
     "uncore_iio", "event=0x83,ch_mask=1,fc_mask=7,umask=4"),
    ({"EventCode": "0x0", "CounterType": "FREERUN", "Unit": "iMC", "EventName": "UNC_MC1_RDCAS_COUNT_FREERUN"},
     "uncore_imc_free_running_1", "event=0xff,umask=0x20"),
    ({"CounterType": "FREERUN", "Unit": "IIO", "EventName": "UNC_IIO_BANDWIDTH_OUT.PART3_FREERUN"},
     "uncore_iio_free_running", "event=0xff,umask=0x33"),
    ({"EventCode": "0x1", "UMask": "0x1", "Counter": "FIXED", "Unit": "NCU", "EventName": "UNC_CLOCK.SOCKET"},
     "uncore_cncu", "event=0xff"),
    ({"EventCode": "0x35", "Filter": "Filter1", "FILTER_VALUE": "0x1234", "Unit": "CBO"}, "uncore_cbox",
     "event=0x35,config1=0x1234"),
    ({"EventCode": "0x35", "Filter": "CHAFilter1[8:0]", "Unit": "CHA"}, "uncore_cha", "event=0x35"),
)


def _collection(root: Path, core: object, uncore: object) -> LinuxHost:
    (root / "MTL/events").mkdir(parents=True)
    (root / "MTL/metrics/perf").mkdir(parents=True)
    (root / "mapfile.csv").write_text(
        "Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name\n"
        "GenuineIntel-6-AA,V1,/MTL/events/atom.json,hybridcore,0x20,0x2,Atom\n"
        "GenuineIntel-6-AA,V1,/MTL/events/uncore.json,uncore,,,\n"
        "GenuineIntel-6-AA,V1,/MTL/metrics/mtl_metrics.json,metrics,,,\n"
        "GenuineIntel-6-AA,V1,/MTL/metrics/latency.json,retire latency,,,\n")
    (root / "MTL/events/atom.json").write_text(json.dumps(core))
    (root / "MTL/events/uncore.json").write_text(json.dumps(uncore))
    (root / "MTL/metrics/perf/mtl_metrics_perf.json").write_text(
        '[{"MetricName": "cpi", "MetricExpr": "A / B", "MetricGroup": "", "ScaleUnit": "1per_instr"}]')
    (root / "proc").mkdir()
    (root / "proc/cpuinfo").write_text(CPUINFO % 170)
    return LinuxHost(str(root))


@pytest.mark.parametrize(("keys", "pmu", "terms"), CASES)
def test_rows_are_the_kernels(tmp_path: Path, keys: dict[str, str], pmu: str, terms: str) -> None:
    row = {"EventName": "A.B", "BriefDescription": "x", **NOTHING, **keys}
    host = _collection(tmp_path, {"Header": {}, "Events": []}, {"Header": {}, "Events": [row]})
    assert is_perfmon(str(tmp_path))
    (event,) = PerfmonTables(host, str(tmp_path)).read().events()
    assert (event.pmu, event.terms, event.per_package) == (pmu, terms, True)


def test_an_event_whose_register_the_kernel_does_not_fill_is_left_out(tmp_path: Path) -> None:
    registers = {"MSRIndex": "0x3E0,0x3E1,0x3E2,0x3E3", "MSRValue": "0xFF03F000000001"}
    core = {"Events": [{"EventName": "MEM_LOAD_L2_MISS_RETIRED.L3_MISS", "EventCode": "0xD6",
                        "UMask": "0x01,0x02,0x04,0x08", **registers},
                       {"EventName": "OMR.X", "EventCode": "0xb7", "UMask": "0x01,0x02,0x04,0x08", **registers}]}
    tables = PerfmonTables(_collection(tmp_path, core, {"Events": []}), str(tmp_path)).read()
    assert [(event.name, event.terms) for event in tables.events()] == [
        ("omr.x", "event=0xb7,umask=1,offcore_rsp=0xFF03F000000001")]


def test_kinds_of_core_and_metrics(tmp_path: Path) -> None:
    core = {"Header": {}, "Events": [{"EventName": "A.B", "EventCode": "0x1"},
                                     {"EventName": "OFFCORE_RESPONSE:request=X:response=Y", "EventCode": "0x2"},
                                     {"EventName": "UNC.Z", "EventCode": "0x3", "Filter": "HA_AddrMatch"}]}
    tables = PerfmonTables(_collection(tmp_path, core, {"Events": []}), str(tmp_path)).read()
    assert [(event.name, event.pmu) for event in tables.events()] == [("a.b", "cpu_atom"),
                                                                      ("offcore_response.x.y", "cpu_atom")]
    assert [(metric.name, metric.expression, metric.groups) for metric in tables.metrics()] == [("cpi", "A / B", ())]
    assert tables.source == f"{tmp_path} (mapfile.csv GenuineIntel-6-AA)"


def test_faults_are_reported(tmp_path: Path) -> None:
    host = _collection(tmp_path, [], {"Events": []})
    with pytest.raises(VendorTablesError, match="holds no object with Events"):
        PerfmonTables(host, str(tmp_path)).read()
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO % 143)
    with pytest.raises(VendorTablesError, match="no row for the CPU GenuineIntel-6-8F-4"):
        PerfmonTables(host, str(tmp_path))
