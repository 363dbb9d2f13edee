"""Filters of Tegra410's PMUs: turbotui names the reason where the machine refuses, or counts nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from turbotui.events.encoder import EventEncoder
from turbotui.events.uncore import filters
from turbotui.machine.host import HostError
from turbotui.machine.pmus import EventError, read_pmu
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources.perf_source import attr_of


def test_addresses_follow_the_formula_not_the_examples() -> None:
    # nvidia-tegra410-pmu.rst, src_bdf: bus << 8 | device << 3 | function
    assert filters.bdf_value("27:01.1") == 0x2709
    assert filters.bdf_value("01:01.0") == 0x0108
    assert filters.bdf_value("0005:c1:1F.7") == 0xC1FF


@pytest.mark.parametrize("text", ["", "27:20.0", "27:01.8", "27:01", "zz:01.1", "1:2:3:4.5"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(filters.DeviceAddressError):
        filters.bdf_value(text)


ONE = {"src_bdf": 0x108, "src_bdf_en": 1}
RANGES = [{"dst_addr_en": 1, "dst_addr_base": n << 20, "dst_addr_mask": 0xFFF00000} for n in range(9)]


@pytest.mark.parametrize(
    ("check", "members", "error"),
    [
        (filters.check_pcie_group, [{**ONE, "src_rp_mask": 1}], filters.PortAndDeviceError),
        (filters.check_pcie_group, [{"src_bdf": 0x108}], filters.DeviceNotEnabledError),
        (filters.check_pcie_group, [ONE, {**ONE, "src_bdf": 0x109}], filters.SeveralDevicesError),
        (filters.check_target_group, [{"dst_addr_base": 4096}], filters.AddressNotEnabledError),
        (filters.check_target_group, RANGES, filters.AddressSlotsError),
    ],
)
def test_each_exclusion_has_its_name(
    check: Callable[[Sequence[Mapping[str, int]]], None], members: list[dict[str, int]], error: type[EventError]
) -> None:
    with pytest.raises(error):
        check(members)


def test_what_is_allowed() -> None:
    filters.check_pcie_group([ONE, ONE, {}, {"dst_rem": 1}])
    filters.check_pcie_group([{"src_rp_mask": 3}, {"src_rp_mask": 4}])
    filters.check_target_group([*RANGES[:8], RANGES[0], {"dst_rp_mask": 3}])


def test_the_machine_refuses_what_is_refused_here() -> None:
    host = simulated_host("vera-2s", ManualClock())
    terms = "rd_bytes,src_rp_mask=1,src_bdf=0x108,src_bdf_en=1"
    with pytest.raises(filters.PortAndDeviceError):
        EventEncoder(host).encode(f"nvidia_pcie_pmu_0_rc_4/{terms}/")
    pmu = read_pmu(host, "nvidia_pcie_pmu_0_rc_4")
    assert pmu is not None
    with pytest.raises(HostError, match="EINVAL"):
        host.perf_event_open(replace(attr_of(pmu, "rd_bytes"), config1=1 | 0x108 << 8 | 1 << 24), -1, 0, -1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nvidia_pcie_pmu_0_rc_4/rd_bytes,src_bdf=0x2709/", filters.DeviceNotEnabledError),
        ("nvidia_pcie_tgt_pmu_0_rc_4/rd_bytes,dst_addr_base=0x10000/", filters.AddressNotEnabledError),
    ],
)
def test_an_event_string_is_checked_wherever_it_comes_from(text: str, error: type[EventError]) -> None:
    with pytest.raises(error):
        EventEncoder(simulated_host("vera-2s", ManualClock())).encode(text)


def test_the_cycle_counter_has_no_filter() -> None:
    host = simulated_host("vera-2s", ManualClock())
    (event,) = EventEncoder(host).encode("nvidia_pcie_pmu_0_rc_4/cycles,src_bdf=0x2709/")
    assert event.attr.config == 1 << 32


def test_a_group_has_one_device() -> None:
    encoder = EventEncoder(simulated_host("vera-2s", ManualClock()))
    first, second = (f"nvidia_pcie_pmu_0_rc_4/{event},src_bdf={device},src_bdf_en/"
                     for event, device in (("rd_req", "0x2709"), ("rd_cum_outs", "0x2708")))
    with pytest.raises(filters.SeveralDevicesError):
        encoder.encode(f"{{{first},{second}}}")
    same = first.replace("rd_req", "rd_cum_outs")
    assert len(encoder.encode(f"{{{first},{same},nvidia_pcie_pmu_0_rc_4/cycles/,nvidia_pcie_pmu_0_rc_4/wr_req/}}")) == 4


def test_a_group_has_eight_address_ranges() -> None:
    encoder = EventEncoder(simulated_host("vera-2s", ManualClock()))
    events = [
        f"nvidia_pcie_tgt_pmu_0_rc_4/rd_bytes,dst_addr_en,dst_addr_base={number << 20:#x},dst_addr_mask=0xfff00000/"
        for number in range(9)
    ]
    assert len(encoder.encode("{" + ",".join(events[:8]) + "}")) == 8
    with pytest.raises(filters.AddressSlotsError):
        encoder.encode("{" + ",".join(events) + "}")
