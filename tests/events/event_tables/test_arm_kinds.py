"""Tables of Arm machines with several core types: each type's by its MIDR, and no metric of another type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turbotui.events.engines import open_engine
from turbotui.events.errors import UnknownEventError
from turbotui.events.event_tables.cpuid import cpuids_of_cores
from turbotui.events.event_tables.model import DEFAULT_CORE
from turbotui.events.event_tables.opening import name_event_tables, open_vendor_tables
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.added import AddError
from turbotui.sampling.adding_metrics import metric_requests

LITTLE, BIG, UNKNOWN = 0x410FD034, 0x410FD083, 0x410FDFF0  # Cortex-A53, Cortex-A72, none
CPUINFO = ("processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
           "CPU part\t: 0xd03\n")


def machine(root: Path, kinds: dict[str, tuple[str, int]]) -> LinuxHost:
    """The PMU of each kind, with its CPUs and what they are."""
    files = {"proc/cpuinfo": CPUINFO}
    for number, (pmu, (cpus, midr)) in enumerate(kinds.items()):
        base = f"sys/bus/event_source/devices/{pmu}"
        files |= {f"{base}/type": str(8 + number), f"{base}/cpus": cpus, f"{base}/format/event": "config:0-15",
                  f"{base}/caps/slots": f"0x{2 + 6 * number:08x}"}
        for cpu in range(int(cpus[0]), int(cpus[-1]) + 1):
            files[f"sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1"] = f"{midr:#018x}"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")
    return LinuxHost(str(root))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    arch = tmp_path / "pmu-events/arch/arm64"
    for name, code in (("a53", "0xe1"), ("a72", "0xe2")):
        (arch / name).mkdir(parents=True)
        (arch / name / "core.json").write_text(json.dumps([
            {"EventName": "STALL", "EventCode": code}, {"EventName": f"ONLY_{name}", "EventCode": "0x1"},
            {"MetricName": "stalled", "MetricExpr": "STALL / 2"},
            {"MetricName": "slotted", "MetricExpr": "#slots * stalled + faults"},
            {"MetricName": "which", "MetricExpr": "STALL * 2 if strcmp_cpuid_str(0x410fd034) else STALL * 3"},
            *({"MetricName": item, "MetricExpr": text} for item, text in LITTLES if name == "a53")]))
    (arch / "mapfile.csv").write_text("h\n0x00000000410fd030,v1,a53,core\n0x00000000410fd080,v1,a72,core\n")
    return str(tmp_path)


LITTLES = (("lent", "ONLY_A72 / 2"), ("asked", "ONLY_A72 if has_event(ONLY_A72) else STALL"))
"""Metrics in the table of A53 that name an event of A72."""
KINDS = {"armv8_cortex_a53": ("0-3", LITTLE), "armv8_cortex_a72": ("4-5", BIG)}


def test_each_pmu_has_the_codes_of_its_own_cores(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", KINDS)
    assert cpuids_of_cores(host) == {"armv8_cortex_a53": "0x00000000410fd034", "armv8_cortex_a72": "0x00000000410fd083"}
    name_event_tables(host, folder)
    engine = open_engine(host)
    result = {(event.pmu, event.attr.type, event.attr.config) for event in engine.encode("stall")}
    assert result == {("armv8_cortex_a53", 8, 0xE1), ("armv8_cortex_a72", 9, 0xE2)}
    assert [event.pmu for event in engine.encode("ONLY_A72")] == ["armv8_cortex_a72"]
    assert "a53 (mapfile.csv 0x00000000410fd030); armv8_cortex_a72: " in open_vendor_tables(host).source


def test_each_kind_has_its_metrics_over_its_own_counters(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", KINDS)
    name_event_tables(host, folder)
    watched = read_machine(host)
    planned = metric_requests(watched, open_vendor_tables(host), "metric:stalled,slotted,which")
    assert [request.refused for request in planned if request.refused is not None] == []
    columns = {column.name: column for request in planned for column in request.request.columns}
    names = ("stalled", "slotted", "which")
    assert set(columns) == {f"{name}.cortex_{kind}" for name in names for kind in ("a53", "a72")}
    little, big = "armv8_cortex_a53/STALL/", "armv8_cortex_a72/STALL/"
    counts: dict[str, float | None] = {little: 10.0, big: 100.0, "faults": 7.0}
    assert (columns["stalled.cortex_a53"].names, columns["stalled.cortex_a72"].names) == ((little,), (big,))
    assert [columns[f"stalled.cortex_{kind}"].value(counts) for kind in ("a53", "a72")] == [5.0, 50.0]
    # a fact of the PMU, a metric of the same kind, a software event, which is no kind's
    assert [columns[f"slotted.cortex_{kind}"].value(counts) for kind in ("a53", "a72")] == [2 * 5 + 7, 8 * 50 + 7]
    assert [columns[f"which.cortex_{kind}"].value(counts) for kind in ("a53", "a72")] == [20.0, 300.0]


def test_a_metric_of_an_event_that_only_the_other_kind_has_is_refused(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", KINDS)
    name_event_tables(host, folder)
    watched = read_machine(host)
    with pytest.raises(AddError, match=r"needs armv8_cortex_a53/ONLY_A72/: The PMU armv8_cortex_a53 has no event"):
        metric_requests(watched, open_vendor_tables(host), "metric:lent")
    (planned,) = metric_requests(watched, open_vendor_tables(host), "metric:asked")  # of which has_event() says no
    assert [column.name for column in planned.request.columns] == ["asked.cortex_a53"]
    assert planned.request.events == ("armv8_cortex_a53/STALL/",)


def test_a_kind_without_tables_is_reported(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", {**KINDS, "armv9_new": ("6-7", UNKNOWN)})
    name_event_tables(host, folder)
    assert {event.pmu for event in open_engine(host).encode("stall")} == {"armv8_cortex_a53", "armv8_cortex_a72"}
    with pytest.raises(UnknownEventError, match=r"armv9_new has none: .* has no row for the CPU 0x00000000410fdff0"):
        open_engine(host).encode("no.such")


def test_one_kind_of_core_is_read_as_before(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", {"armv8_pmuv3_0": ("0-3", LITTLE)})
    assert cpuids_of_cores(host) == {}
    name_event_tables(host, folder)
    assert len(open_vendor_tables(host).metrics()) == 3 + len(LITTLES)
    assert open_vendor_tables(host).metric("stalled")[0].pmu == DEFAULT_CORE
    assert [event.attr.config for event in open_engine(host).encode("stall")] == [0xE1]
