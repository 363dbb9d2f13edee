"""Objects of pmu-events files as rows: each key becomes one of perf's terms."""

from __future__ import annotations

import pytest

from turbotui.events.event_tables.cpuid import matches
from turbotui.events.event_tables.json_rows import event_row, metric_row, pmu_of, scale_of

TERMS = (
    # keys beside the name -> terms; the first column says which rule it is
    ("code and mask", {"EventCode": "0xd0", "UMask": "0x81", "SampleAfterValue": "1000003"},
     "event=0xd0,period=1000003,umask=0x81"),
    ("the first of two codes", {"EventCode": "0xB7,0xBB", "UMask": "0x1"}, "event=0xb7,umask=1"),
    ("offcore", {"EventCode": "0x2A,0x2B", "UMask": "0x1", "MSRIndex": "0x1a6,0x1a7", "MSRValue": "0x10001"},
     "event=0x2a,umask=1,offcore_rsp=0x10001"),
    ("offcore module", {"EventCode": "0x2A", "UMask": "0x1", "MSRIndex": "0x3E0,0x3E1,0x3E2,0x3E3",
                        "MSRValue": "0xFF03F000000001"}, "event=0x2a,umask=1,offcore_rsp=0xFF03F000000001"),
    ("latency", {"EventCode": "0xcd", "MSRIndex": "0x3F6", "MSRValue": "0x80"}, "event=0xcd,ldlat=0x80"),
    ("front end", {"EventCode": "0xc6", "MSRIndex": "0x3F7", "MSRValue": "0x11"}, "event=0xc6,frontend=0x11"),
    ("no register", {"EventCode": "0x0", "MSRIndex": "0x00", "MSRValue": "0x00"}, "event=0"),
    ("root port and flow", {"EventCode": "0x83", "PortMask": "0x0001", "FCMask": "0x07"},
     "event=0x83,ch_mask=1,fc_mask=7"),
    ("nothing that is 0", {"EventCode": "0x1", "CounterMask": "0", "Invert": "0x0", "EdgeDetect": "1"},
     "event=1,edge=1"),
    ("whole word", {"ConfigCode": "0x39"}, "config=0x39"),
    ("id instead of a code", {"EventidCode": "0x20"}, "eventid=0x20"),
    ("bit 8 of the code", {"EventCode": "0x80", "ExtSel": "1"}, "event=0x180"),
    ("filter", {"EventCode": "0x35", "Filter": "config1=0x12d40"}, "event=0x35,config1=0x12d40"),
    ("slices", {"EventCode": "0x9a", "EnAllCores": "0x1", "EnAllSlices": "0x1", "SliceId": "0x3", "ThreadMask": "0x3"},
     "event=0x9a,enallcores=1,enallslices=1,sliceid=3,threadmask=3"),
    ("reads and writes", {"EventCode": "0x0a", "RdWrMask": "0x1"}, "event=0xa,rdwrmask=1"),
)  # fmt: skip


@pytest.mark.parametrize(("row", "terms"), [row[1:] for row in TERMS], ids=[row[0] for row in TERMS])
def test_keys_become_terms(row: dict[str, str], terms: str) -> None:
    assert event_row({"EventName": "A.B", **row}, None, "").terms == terms


def test_fixed_counters_have_the_codes_that_the_kernel_takes() -> None:
    row = {"EventName": "INST_RETIRED.ANY", "EventCode": "0x0", "UMask": "0x1"}
    assert event_row(row, None, "").terms == "event=0xc0,period=2000003"


def test_a_row_keeps_what_people_read() -> None:
    row = {"EventName": "UNC_X.RD", "BriefDescription": "Reads.", "PublicDescription": "All reads", "Unit": "iMC",
           "ScaleUnit": "6.4e-5MiB", "PerPkg": "1", "Deprecated": "1", "Errata": "SPR42"}
    event = event_row(row, None, "uncore memory")
    assert (event.name, event.pmu, event.topic) == ("unc_x.rd", "uncore_imc", "uncore memory")
    assert (event.scale, event.unit, event.per_package, event.deprecated) == (6.4e-5, "MiB", True, True)
    assert event.brief == "Reads  Spec update: SPR42"


def test_a_standard_event_gives_what_the_row_leaves_out() -> None:
    standard = {"EventName": "INST_RETIRED", "EventCode": "0x08", "BriefDescription": "instructions"}
    event = event_row({"ArchStdEvent": "INST_RETIRED", "PublicDescription": "mine"}, standard, "retired")
    assert (event.name, event.terms, event.brief) == ("inst_retired", "event=8", "instructions")
    assert event.description == "mine"


def test_metrics() -> None:
    row = {"MetricName": "tma_x", "MetricExpr": "a / b", "MetricGroup": "TopdownL1;Tma", "ScaleUnit": "100%",
           "MetricThreshold": "tma_x > 0.2", "MetricConstraint": "NO_NMI_WATCHDOG", "MetricgroupNoGroup": "TopdownL1",
           "DefaultMetricgroupName": "TopdownL1", "Unit": "cpu_atom"}
    metric = metric_row(row, None, "metrics")
    assert (metric.groups, metric.no_group, metric.default_group) == (("TopdownL1", "Tma"), ("TopdownL1",), "TopdownL1")
    assert (metric.threshold, metric.constraint, metric.scale_unit) == ("tma_x > 0.2", "NO_NMI_WATCHDOG", "100%")
    assert metric.pmu == "cpu_atom"


def test_units_of_tables_are_pmus_of_the_kernel() -> None:
    assert [pmu_of(unit) for unit in ("", "CBO", "UPI LL", "L3PMC", "IRP", "cpu_core")] == [
        "default_core", "uncore_cbox", "uncore_upi", "amd_l3", "uncore_irp", "cpu_core"]


def test_scales() -> None:
    assert [scale_of(text) for text in ("", "100%", "64Bytes", "6.1E-5MiB", "1per_instr")] == [
        (1.0, ""), (100.0, "%"), (64.0, "Bytes"), (6.1e-5, "MiB"), (1.0, "per_instr")]


MATCHES = (
    ("GenuineIntel-6-8F", "GenuineIntel-6-8F-8", True),
    ("GenuineIntel-6-8F", "GenuineIntel-6-8E-8", False),
    ("GenuineIntel-6-55-[01234]", "GenuineIntel-6-55-4", True),
    ("GenuineIntel-6-55-[01234]", "GenuineIntel-6-55-7", False),
    ("AuthenticAMD-26-([12467][[:xdigit:]]|[[:xdigit:]])", "AuthenticAMD-26-2-1", True),
    ("AuthenticAMD-26-([12467][[:xdigit:]]|[[:xdigit:]])", "AuthenticAMD-26-5A-1", False),
    ("0x00000000410fd4f0", "0x00000000411fd4f1", True),  # r1p1 of what is r0p0 in the row
    ("0x00000000411fd4f0", "0x00000000410fd4f1", False),  # the row begins at r1p0
    ("0x00000000410fd4f0", "0x00000000410fd400", False),
    ("GenuineIntel-6-(", "GenuineIntel-6-8F-8", False),
)


@pytest.mark.parametrize(("pattern", "cpuid", "meant"), MATCHES)
def test_rows_of_mapfiles(pattern: str, cpuid: str, meant: bool) -> None:
    assert matches(pattern, cpuid) is meant
