"""Tables of Arm machines with several kinds of core: each kind's by its own MIDR, and no metric of a wrong kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turbotui.events.engines import open_engine
from turbotui.events.errors import UnknownEventError
from turbotui.events.vendor.cpuid import cpuids_of_cores
from turbotui.events.vendor.opening import name_event_tables, open_vendor_tables
from turbotui.machine.linux import LinuxHost

LITTLE, BIG, UNKNOWN = 0x410FD034, 0x410FD083, 0x410FDFF0  # Cortex-A53, Cortex-A72, none
CPUINFO = ("processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
           "CPU part\t: 0xd03\n")


def machine(root: Path, kinds: dict[str, tuple[str, int]]) -> LinuxHost:
    """The PMU of each kind, with its CPUs and what they are."""
    files = {"proc/cpuinfo": CPUINFO}
    for number, (pmu, (cpus, midr)) in enumerate(kinds.items()):
        base = f"sys/bus/event_source/devices/{pmu}"
        files |= {f"{base}/type": str(8 + number), f"{base}/cpus": cpus, f"{base}/format/event": "config:0-15"}
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
            {"MetricName": "stalled", "MetricExpr": "STALL / 2"}]))
    (arch / "mapfile.csv").write_text("h\n0x00000000410fd030,v1,a53,core\n0x00000000410fd080,v1,a72,core\n")
    return str(tmp_path)


KINDS = {"armv8_cortex_a53": ("0-3", LITTLE), "armv8_cortex_a72": ("4-5", BIG)}


def test_each_pmu_has_the_codes_of_its_own_cores(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", KINDS)
    assert cpuids_of_cores(host) == {"armv8_cortex_a53": "0x00000000410fd034", "armv8_cortex_a72": "0x00000000410fd083"}
    name_event_tables(host, folder)
    engine = open_engine(host)
    found = {(one.pmu, one.attr.type, one.attr.config) for one in engine.encode("stall")}
    assert found == {("armv8_cortex_a53", 8, 0xE1), ("armv8_cortex_a72", 9, 0xE2)}
    assert [one.pmu for one in engine.encode("ONLY_A72")] == ["armv8_cortex_a72"]
    tables = open_vendor_tables(host)
    assert len(tables.metrics()) == 0
    assert "Metrics are left out" in tables.lacks_metrics
    assert "a53 (mapfile.csv 0x00000000410fd030); armv8_cortex_a72: " in tables.source


def test_a_kind_without_tables_is_said(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", {**KINDS, "armv9_new": ("6-7", UNKNOWN)})
    name_event_tables(host, folder)
    assert {one.pmu for one in open_engine(host).encode("stall")} == {"armv8_cortex_a53", "armv8_cortex_a72"}
    with pytest.raises(UnknownEventError, match=r"armv9_new has none: .* has no row for the CPU 0x00000000410fdff0"):
        open_engine(host).encode("no.such")


def test_one_kind_of_core_is_read_as_before(folder: str, tmp_path: Path) -> None:
    host = machine(tmp_path / "machine", {"armv8_pmuv3_0": ("0-3", LITTLE)})
    assert cpuids_of_cores(host) == {}
    name_event_tables(host, folder)
    assert len(open_vendor_tables(host).metrics()) == 1
    assert [one.attr.config for one in open_engine(host).encode("stall")] == [0xE1]
