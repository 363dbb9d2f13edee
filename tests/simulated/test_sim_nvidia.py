"""NVIDIA's uncore PMUs: devices, filters, refusals, and the configuration space that names root complexes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from host_readers import group, machine, named, refusal, values
from model_truth import truth_of

from turbotui.machine.host import PerfAttr
from turbotui.machine.pmus import list_pmus, read_pmu
from turbotui.simulated import SimulatedHost
from turbotui.simulated.root_ports import ROOT_PORTS
from turbotui.sources.perf_source import attr_of


def count(host: SimulatedHost, clock: object, pmu: str, events: list[str], seconds: float = 3.0) -> list[int]:
    result = read_pmu(host, pmu)
    assert result is not None
    leader = group(host, next(iter(result.cpumask)), [attr_of(result, event) for event in events])
    clock.advance(seconds)  # type: ignore[attr-defined]
    return values(host, leader)[2]


def test_tegra410_has_its_devices() -> None:
    host, _ = machine("vera-2s")
    names = [name for name in list_pmus(host) if name.startswith("nvidia_")]
    assert len(names) == 2 * (1 + 6 + 6 + 1 + 3)
    base = "/sys/bus/event_source/devices/nvidia_ucf_pmu_1"
    assert host.read_text(f"{base}/cpumask") == "88\n"
    assert host.read_text(f"{base}/associated_cpus").startswith("88-175")
    assert host.read_text(f"{base}/identifier") == "2cf2036b\n"
    assert host.read_text(f"{base}/events/cycles") == "event=0x100000000\n"
    assert host.read_text("/sys/bus/event_source/devices/nvidia_nvlink_c2c_pmu_0/peer") == "nr_gpu=2\n"
    types = [int(host.read_text(f"/sys/bus/event_source/devices/{name}/type")) for name in names]
    assert len(set(types)) == len(types)
    assert types != sorted(types)


def test_grace_has_its_devices_and_a_byte_is_a_byte() -> None:
    host, clock = machine("grace-2s")
    assert [name for name in list_pmus(host) if name.endswith("_pmu_0") and name.startswith("nvidia")] == [
        "nvidia_cnvlink_pmu_0",
        "nvidia_nvlink_c2c0_pmu_0",
        "nvidia_nvlink_c2c1_pmu_0",
        "nvidia_pcie_pmu_0",
        "nvidia_scf_pmu_0",
    ]
    old = truth_of(host).package_truth(0)
    (written,) = count(host, clock, "nvidia_scf_pmu_0", ["cmem_wr_total_bytes"])
    assert written == pytest.approx(truth_of(host).package_truth(0).written_bytes - old.written_bytes, abs=2)


def test_fabric_counts_memory_bytes_and_filters_split_them() -> None:
    host, clock = machine("vera-2s")
    old = truth_of(host).package_truth(0)
    (read,) = count(host, clock, "nvidia_ucf_pmu_0", ["mem_bytes_rd"])
    assert read == pytest.approx(truth_of(host).package_truth(0).read_bytes - old.read_bytes, abs=2)
    parts = ["mem_bytes_rd,src_loc_noncpu=1", "mem_bytes_rd,src_loc_cpu=1", "mem_bytes_rd,src_rem=1", "mem_bytes_rd"]
    values_seen = count(host, clock, "nvidia_ucf_pmu_0", parts)
    assert sum(values_seen[:3]) == pytest.approx(values_seen[3], abs=5)
    assert values_seen[1] > values_seen[0] > values_seen[2] > 0


def test_cycles_over_time_are_the_clock() -> None:
    host, clock = machine("vera-2s")
    assert count(host, clock, "nvidia_ucf_pmu_1", ["cycles"], 0.1)[0] == pytest.approx(2.5e8, rel=1e-6)
    assert count(host, clock, "nvidia_pcie_tgt_pmu_0_rc_2", ["cycles"], 0.1)[0] == pytest.approx(1.04e8, rel=1e-6)


def test_latency_is_outstanding_over_requests() -> None:
    host, clock = machine("vera-2s")
    cycles, requests, outstanding = count(host, clock, "nvidia_cmem_latency_pmu_0", ["cycles", "rd_req", "rd_cum_outs"])
    assert outstanding * 3.0e9 / (requests * cycles) == pytest.approx(145, rel=1e-3)


def test_a_device_filter_and_a_port_filter_exclude_each_other() -> None:
    host, _ = machine("vera-2s")
    pmu = read_pmu(host, "nvidia_pcie_pmu_0_rc_1")
    assert pmu is not None
    both = replace(attr_of(pmu, "rd_bytes"), config1=0x3 | 0x0108 << 8 | 1 << 24)  # the encoder would not say it
    assert refusal(host.perf_event_open, both, -1, 0, -1) == "EINVAL"
    alone = attr_of(pmu, "rd_bytes,src_bdf=0x0108,src_bdf_en=1")
    assert refusal(host.perf_event_open, alone, -1, 0, -1) == ""


def test_refusals_of_the_uncore() -> None:
    host, _ = machine("vera-2s")
    cycles = named(host, "nvidia_ucf_pmu_0", "cycles")
    assert refusal(host.perf_event_open, cycles, -1, 88, -1) == "EINVAL"
    assert refusal(host.perf_event_open, cycles, -1, 20, -1) == ""
    excluding = PerfAttr(cycles.type, cycles.config, flags=1 << 5)
    assert refusal(host.perf_event_open, excluding, -1, 0, -1) == "EINVAL"
    link = named(host, "nvidia_nvdlink_pmu_0", "cycles")
    assert refusal(host.perf_event_open, PerfAttr(link.type, 9), -1, 0, -1) == "ENOENT"


def test_the_active_cpu_moves_when_it_leaves() -> None:
    host, _ = machine("grace-2s")
    host.set_online(72, False)
    assert host.read_text("/sys/bus/event_source/devices/nvidia_scf_pmu_1/cpumask") == "73\n"


def test_every_root_port_carries_its_dvsec() -> None:
    host, _ = machine("vera-2s")
    base = "/sys/bus/pci/devices"
    assert len(host.list_dir(base)) == 2 * len(ROOT_PORTS)  # one device below each
    for port in ROOT_PORTS:
        descriptor = host.open_file(f"{base}/{port.segment:04x}:{port.bus:02x}:00.0/config")
        space = host.read_at(descriptor, 4096)
        assert len(space) == 4096
        offset, seen = 0x100, []
        while offset:
            header = int.from_bytes(space[offset : offset + 4], "little")
            seen.append(header & 0xFFFF)
            if header & 0xFFFF == 0x23:
                assert int.from_bytes(space[offset + 8 : offset + 10], "little") == 4
                fields = tuple(space[offset + 0x0C : offset + 0x11])
                assert fields == (port.bus, port.segment, port.port, port.complex, port.socket)
            offset = header >> 20 & ~3
        assert 0x23 in seen


def test_ordinary_users_see_the_header_only() -> None:
    host, _ = machine("vera-2s")
    host.set_privileges(uid=1000, capabilities=0)
    descriptor = host.open_file("/sys/bus/pci/devices/0001:00:00.0/config")
    assert len(host.read_at(descriptor, 4096)) == 64


def test_uncore_counters_outlive_the_cpu_they_were_opened_on() -> None:
    host, clock = machine("grace-2s")
    leader = group(host, 72, [named(host, "nvidia_scf_pmu_1", "cycles")])
    clock.advance(1)
    host.set_online(72, False)
    clock.advance(1)
    assert values(host, leader)[2][0] == pytest.approx(6e9, rel=1e-6)
