"""Tables of the Tegra410 and Tegra241 documents (docs/specs/nvidia.md 2, 3 and 6) on the simulated machines."""

from __future__ import annotations

import pytest

from turbotui.events.encoded import EncodedEvent
from turbotui.events.encoder import EventEncoder
from turbotui.simulated import ManualClock, simulated_host

CYCLES = 0x1_0000_0000
PCIE = {"rd_bytes": 0, "wr_bytes": 1, "rd_req": 2, "wr_req": 3, "rd_cum_outs": 4, "cycles": CYCLES}
LINK = {
    "cycles": 0, "in_rd_cum_outs": 1, "in_rd_req": 2, "in_wr_cum_outs": 3, "in_wr_req": 4, "out_rd_cum_outs": 5,
    "out_rd_req": 6, "out_wr_cum_outs": 7, "out_wr_req": 8,
}  # fmt: skip
VERA = {
    "nvidia_ucf_pmu": {
        "bus_cycles": 0x1D, "slc_allocate": 0xF0, "slc_wb": 0xF3, "slc_refill_rd": 0x109, "slc_refill_wr": 0x10A,
        "slc_access_rd": 0x111, "slc_access_wr": 0x112, "slc_bytes_rd": 0x113, "slc_bytes_wr": 0x114,
        "slc_hit_rd": 0x119, "mem_access_rd": 0x121, "mem_access_wr": 0x122, "mem_bytes_rd": 0x123,
        "mem_bytes_wr": 0x124, "local_snoop": 0x180, "ext_snp_access": 0x181, "ext_snp_evict": 0x182,
        "slc_access_dataless": 0x183, "slc_access_atomic": 0x184, "cycles": CYCLES,
    },
    "nvidia_pcie_pmu_0_rc": PCIE,
    "nvidia_pcie_tgt_pmu_1_rc": {"rd_bytes": 0, "wr_bytes": 1, "rd_req": 2, "wr_req": 3, "cycles": 4},
    "nvidia_cmem_latency_pmu": {"cycles": 0, "rd_req": 1, "rd_cum_outs": 2},
    "nvidia_nvlink_c2c_pmu": LINK,
    "nvidia_nvdlink_pmu": {"cycles": 0, "in_rd_cum_outs": 1, "in_rd_req": 2},
}  # fmt: skip
MCF = (
    "rd_bytes_loc", "rd_bytes_rem", "wr_bytes_loc", "wr_bytes_rem", "total_bytes_loc", "total_bytes_rem", "rd_req_loc",
    "rd_req_rem", "wr_req_loc", "wr_req_rem", "total_req_loc", "total_req_rem", "rd_cum_outs_loc", "rd_cum_outs_rem",
)  # fmt: skip


@pytest.fixture(scope="module")
def vera() -> EventEncoder:
    return EventEncoder(simulated_host("vera-2s", ManualClock()))


@pytest.fixture(scope="module")
def grace() -> EventEncoder:
    return EventEncoder(simulated_host("grace-2s", ManualClock()))


def words(event: EncodedEvent) -> tuple[int, int, int]:
    return event.attr.config, event.attr.config1, event.attr.config2


@pytest.mark.parametrize("pmu", sorted(VERA))
def test_every_event_of_tegra410_in_both_spellings(vera: EventEncoder, pmu: str) -> None:
    for name, code in VERA[pmu].items():
        for spelling in (name, name.upper()):
            events = vera.encode(f"{pmu}/{spelling}/")
            assert len(events) in (2, 6)
            assert {words(event) for event in events} == {(code, 0, 0)}, name
            for event in events:
                assert event.uncore
                assert event.cpus in ((0,), (88,))
                assert event.attr.flags == 0  # these PMUs refuse every exclude bit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # docs/specs/nvidia.md 3
        ("nvidia_ucf_pmu_0/event=0,src_loc_cpu=1,dst_loc_cmem=1/", (0, 0x102, 0)),
        ("nvidia_ucf_pmu_0/event=0,src_loc_noncpu=0x1,dst_rem=0x1/", (0, 0x801, 0)),
        ("nvidia_pcie_pmu_0_rc_4/event=1,src_rp_mask=3,dst_loc_cmem=1/", (1, 3, 1)),
        ("nvidia_pcie_pmu_0_rc_4/event=4,src_bdf=0x0180,src_bdf_en=1/", (4, 0x1018000, 0)),
        ("nvidia_pcie_tgt_pmu_0_rc_4/event=0,dst_rp_mask=3/", (0x18, 0, 0)),
        (
            "nvidia_pcie_tgt_pmu_0_rc_4/event=1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,dst_addr_en=1/",
            (0x801, 0x10000, 0xFFF00),
        ),
        ("nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=2/", (1, 2, 0)),
        # by the formula bus << 8 | device << 3 | function, 27:01.1
        ("nvidia_pcie_pmu_0_rc_4/rd_bytes,src_bdf=0x2709,src_bdf_en/", (0, 0x2709 << 8 | 1 << 24, 0)),
    ],
)
def test_filters(vera: EventEncoder, text: str, expected: tuple[int, int, int]) -> None:
    (event,) = vera.encode(text)
    assert words(event) == expected


def test_a_latency_triple_is_one_group_for_each_root_complex(vera: EventEncoder) -> None:
    pmu = "nvidia_pcie_pmu_1_rc"
    events = vera.encode(f"{{{pmu}/rd_req/,{pmu}/rd_cum_outs/,{pmu}/cycles/}}")
    assert [event.group for event in events] == [number for number in range(6) for _ in range(3)]
    assert [event.leader for event in events] == [True, False, False] * 6
    assert {event.cpus for event in events} == {(88,)}


def test_encoded_events_count(vera: EventEncoder) -> None:
    clock = ManualClock()
    host = simulated_host("vera-2s", clock)
    (event,) = EventEncoder(host).encode("nvidia_ucf_pmu_1/CYCLES/")
    opened = host.perf_event_open(event.attr, -1, event.cpus[0], -1)
    clock.advance(0.1)
    count = int.from_bytes(host.read_counter(opened, 64)[24:32], "little")
    assert count == pytest.approx(2.5e8, rel=1e-6)  # docs/specs/nvidia.md 1: 2.5 GHz


def test_names_do_not_reach_too_far(vera: EventEncoder, grace: EventEncoder) -> None:
    # docs/specs/nvidia.md 7
    both = ["nvidia_pcie_pmu_0", "nvidia_pcie_pmu_1"]
    assert [event.pmu for event in grace.encode("nvidia_pcie_pmu/cycles/")] == both
    assert [event.pmu for event in grace.encode("nvidia_pcie_pmu_0/cycles/")] == ["nvidia_pcie_pmu_0"]
    assert [event.pmu for event in vera.encode("nvidia_pcie_pmu_0_rc/cycles/")] == [
        f"nvidia_pcie_pmu_0_rc_{number}" for number in range(6)
    ]
    (cycles,) = grace.encode("cycles")
    assert (cycles.pmu, cycles.attr.type, cycles.attr.config) == ("armv8_pmuv3_0", 0, 0)


def test_grace(grace: EventEncoder) -> None:
    for pmu in ("nvidia_pcie_pmu_0", "nvidia_nvlink_c2c0_pmu_1", "nvidia_nvlink_c2c1_pmu_0", "nvidia_cnvlink_pmu_1"):
        for code, name in enumerate(MCF):
            assert words(grace.encode(f"{pmu}/{name}/")[0]) == (code, 0, 0)
        assert words(grace.encode(f"{pmu}/cycles/")[0]) == (CYCLES, 0, 0)
    assert words(grace.encode("nvidia_scf_pmu_0/cmem_wr_total_bytes/")[0]) == (0x1DB, 0, 0)
    assert words(grace.encode("nvidia_pcie_pmu_0/rd_bytes_loc,root_port=0x3/")[0]) == (0, 3, 0)
    assert words(grace.encode("nvidia_cnvlink_pmu_0/rd_bytes_rem,rem_socket=0xf/")[0]) == (1, 0xF, 0)
