"""Uncore PMUs of Arm servers over trees of files as their drivers write them: meshes, clusters, SMMUs, controllers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from uncoretree import GRACE_INFO, machine

from turbotui.events.uncore.discovery import reader_of
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits
from turbotui.features.uncore.tables import uncore_table

TWO = ((0, 1), (2, 3))
MESH_FORMATS = {
    # drivers/perf/arm-cmn.c: CMN_CONFIG_*
    "type": "config:0-15", "eventid": "config:16-26", "occupid": "config:27-30", "bynodeid": "config:31",
    "nodeid": "config:32-47", "wp_dev_sel": "config:48-50", "wp_chn_sel": "config:51-55", "wp_grp": "config:56-57",
    "wp_exclusive": "config:58", "wp_combine": "config:27-30", "wp_val": "config1:0-63", "wp_mask": "config2:0-63",
}
HNF = {"dtc_cycles": "type=0x3", "hnf_cache_miss": "type=0x5,eventid=0x1",
       "hnf_slc_sf_cache_access": "type=0x5,eventid=0x2",
       "hnf_mc_reqs": "type=0x5,eventid=0xd", "rnid_rxdat_flits": "type=0xa,eventid=0x4",
       "rnid_txdat_flits": "type=0xa,eventid=0x5", "mxp_p0_dat_txflit_valid": "type=0x6,eventid=0x71",
       "watchpoint_up": "type=0x7770,eventid=0x0,wp_dev_sel=?,wp_chn_sel=?,wp_grp=?,wp_val=?,wp_mask=?"}
HNS = {"dtc_cycles": "type=0x3", "hns_cache_miss_all": "type=0x200,eventid=0x1,occupid=0x0",
       "hns_slc_sf_cache_access_all": "type=0x200,eventid=0x2,occupid=0x0",
       "hns_mc_reqs_local_all": "type=0x200,eventid=0xd,occupid=0x0",
       "hns_mc_reqs_remote_all": "type=0x200,eventid=0x3b,occupid=0x0"}
SMMU_FORMATS = {"event": "config:0-15", "filter_stream_id": "config1:0-31", "filter_span": "config1:32",
                "filter_enable": "config1:33"}
SMMU = {name: f"event=0x{code:x}" for code, name in enumerate((
    "cycles", "transaction", "tlb_miss", "config_cache_miss", "trans_table_walk_access", "config_struct_access"))}


def files(formats: Mapping[str, str], events: Mapping[str, str], cpumask: str) -> dict[str, str]:
    return {"cpumask": cpumask, **{f"format/{name}": text for name, text in formats.items()},
            **{f"events/{name}": text for name, text in events.items()}}


def kind_of(counters: UncoreCounters, kind: str) -> UncoreUnits:
    return next(units for units in counters.kinds if units.kind.id == kind)


def test_two_meshes_are_two_units_with_a_sum(tmp_path: Path) -> None:
    meshes = {f"arm_cmn_{at}": files(MESH_FORMATS, HNF, str(2 * at)) for at in range(2)}
    counters = UncoreCounters(machine(tmp_path, meshes, GRACE_INFO, TWO))
    units = kind_of(counters, "arm_cmn")
    assert [row.label for row in units.rows] == ["machine Σ", "pkg 0", "pkg 1"]
    assert [metric.id for metric in units.starting] == [
        "slc lookups M/s", "slc hits %", "memory requests M/s", "memory at most GB/s",
        "at most used %", "i/o rd bandwidth GB/s", "i/o wr bandwidth GB/s",
        "frequency GHz"]
    assert "port 0 data GB/s" in {metric.id for metric in units.metrics if metric.chosen}
    assert "watchpoint_up" not in {metric.what for metric in units.raw}, "it needs parameters"
    counters.sources()
    encoded = counters.encoded(units.units[1], "hnf_mc_reqs")
    assert not isinstance(encoded, str)
    assert encoded.attr.config == 0x5 | 0xD << 16


def test_a_mesh_of_the_newer_home_nodes(tmp_path: Path) -> None:
    counters = UncoreCounters(machine(tmp_path, {"arm_cmn_0": files(MESH_FORMATS, HNS, "0")}, GRACE_INFO, TWO))
    units = kind_of(counters, "arm_cmn")
    assert [metric.id for metric in units.starting] == [
        "slc lookups M/s", "slc hits %", "local memory requests M/s", "remote memory requests M/s",
        "memory at most GB/s", "at most used %", "frequency GHz"]
    hits = next(metric for metric in units.starting if metric.id == "slc hits %")
    assert hits.compute({"hns_cache_miss_all": 30.0, "hns_slc_sf_cache_access_all": 120.0}) == pytest.approx(75.0)


def test_smmus_have_the_kernels_names_and_no_place(tmp_path: Path) -> None:
    names = ("smmuv3_pmcg_40000", "smmuv3_pmcg_2b400", "smmuv3_pmcg_2b402")
    result = machine(tmp_path, {name: files(SMMU_FORMATS, SMMU, "1") for name in names}, GRACE_INFO, TWO)
    counters = UncoreCounters(result)
    units = kind_of(counters, "smmuv3_pmcg")
    assert [row.label for row in units.rows] == ["Σ", *sorted(names)]
    assert {unit.package for unit in units.units} == {-1}, "the mask says where the driver was probed"
    assert [metric.id for metric in units.starting] == [
        "transactions M/s", "tlb misses M/s", "tlb misses %", "frequency GHz"]
    misses = next(metric for metric in units.starting if metric.id == "tlb misses %")
    assert misses.compute({"tlb_miss": 5.0, "transaction": 200.0}) == pytest.approx(2.5)
    assert reader_of(result, units.units[0], (3,)) == 3, "the kernel moved it"


CONTROLLERS = {
    # PMU -> formats, events, increases, GB/s over a second
    "ali_drw_21080": ({"event": "config:0-7"}, {"hif_rd": "event=0x2", "hif_wr": "event=0x1", "hif_rmw": "event=0x3"},
                      {"hif_rd": 1e8, "hif_wr": 2e7, "hif_rmw": 1e7},
                      {"rd bandwidth GB/s": 6.4, "wr bandwidth GB/s": 1.92}),
    "arm_dmc620_1000c": ({"event": "config2:3-8", "clkdiv2": "config2:9"}, {"clkdiv2_rdwr": "event=0x12,clkdiv2=0x1"},
                         {"clkdiv2_rdwr": 1e8}, {"bandwidth GB/s": 6.4}),
    "hisi_sccl1_hha0": ({"event": "config:0-7"}, {name: f"event=0x{0x1c + at:x}" for at, name in enumerate(
        ("rd_ddr_64b", "wr_ddr_64b", "rd_ddr_128b", "wr_ddr_128b"))},
        {"rd_ddr_64b": 1e8, "wr_ddr_64b": 1e7, "rd_ddr_128b": 1e7, "wr_ddr_128b": 0.0},
        {"rd bandwidth GB/s": 7.68, "wr bandwidth GB/s": 0.64}),
    "dwc_rootport_13018": ({"eventid": "config:0-15", "type": "config:16-19", "lane": "config:20-27"},
                           {"rx_pcie_tlp_data_payload": "eventid=0x21,type=0x0",
                            "tx_pcie_tlp_data_payload": "eventid=0x20,type=0x0"},
                           {"rx_pcie_tlp_data_payload": 1e8, "tx_pcie_tlp_data_payload": 5e7},
                           {"in bandwidth GB/s": 1.6, "out bandwidth GB/s": 0.8}),
}  # fmt: skip


@pytest.mark.parametrize("pmu", CONTROLLERS)
def test_bandwidths(pmu: str, tmp_path: Path) -> None:
    formats, events, rose, expected = CONTROLLERS[pmu]
    counters = UncoreCounters(machine(tmp_path, {pmu: files(formats, events, "0")}, GRACE_INFO, TWO))
    (units,) = counters.kinds
    values = {metric.id: metric.compute({**rose, "dt": 1e9}) for metric in units.starting}
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    assert units.edges


def test_what_names_no_events_says_so(tmp_path: Path) -> None:
    nameless = {"xyz_fabric_0": files({"event": "config:0-7"}, {}, "0")}
    counters = UncoreCounters(machine(tmp_path, nameless, GRACE_INFO, TWO))
    (units,) = counters.kinds
    (said,) = uncore_table(counters, units, None).reasons()
    assert "names no events" in said
    assert "-e xyz_fabric/event=0x1/" in said
    assert "fields: event" in said
