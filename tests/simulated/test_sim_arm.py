"""The uncore PMUs of an Arm server with a mesh: names of the kernel's drivers, counts, and what the drivers refuse."""

from __future__ import annotations

import pytest
from host_readers import group, machine, named, refusal, values
from model_truth import truth_of

from turbotui.machine.host import PerfAttr
from turbotui.machine.pmus import list_pmus, read_pmu
from turbotui.simulated import SimulatedHost
from turbotui.simulated.mesh_arm import MEMORY_NODES, SLC_MISSES
from turbotui.simulated.pmus_arm import STREAM, STREAM_SHARE, TLB_MISSES

DEVICES = "/sys/bus/event_source/devices"
ANY = "wp_grp=0,wp_val=0,wp_mask=0xffffffffffffffff"


def reader(host: SimulatedHost, pmu: str) -> int:
    result = read_pmu(host, pmu)
    assert result is not None
    return next(iter(result.cpumask))


def count(host: SimulatedHost, clock: object, pmu: str, *events: str) -> list[int]:
    leader = group(host, reader(host, pmu), [named(host, pmu, event) for event in events])
    clock.advance(3.0)  # type: ignore[attr-defined]
    result = values(host, leader)
    assert result[0] == result[1], "nothing shares the counters"
    return result[2]


def refused(host: SimulatedHost, pmu: str, *events: str, cpu: int | None = None) -> str:
    """The errno's name with which the last event is refused below the first one."""
    where = reader(host, pmu) if cpu is None else cpu
    attrs = [named(host, pmu, event) for event in events]
    leader = group(host, where, attrs[:-1]) if len(attrs) > 1 else -1
    return refusal(host.perf_event_open, attrs[-1], -1, where, leader)


def test_the_names_are_the_drivers() -> None:
    host, _clock = machine("neoverse-2s")
    names = list_pmus(host)
    assert sum(name.startswith("arm_dsu_") for name in names) == 2 * 64 // 4
    assert sum(name.startswith("arm_dmc620_") for name in names) == 16
    assert {"arm_cmn_0", "arm_cmn_1", "smmuv3_pmcg_27ffa0", "arm_ni_1_cd_0"} <= set(names)
    assert host.read_text(f"{DEVICES}/arm_cmn_1/identifier") == "43406\n"
    assert host.read_text(f"{DEVICES}/arm_cmn_1/cpumask") == "64\n"
    assert host.read_text(f"{DEVICES}/arm_cmn_0/events/hnf_mc_reqs") == "type=0x5,eventid=0xd\n"
    assert host.read_text(f"{DEVICES}/arm_cmn_0/events/hnf_qos_pocq_occupancy_write").endswith("occupid=0x2\n")
    assert host.read_text(f"{DEVICES}/arm_cmn_0/events/mxp_p1_dat_txflit_valid") == "type=0x6,eventid=0x75\n"
    assert "wp_mask=?" in host.read_text(f"{DEVICES}/arm_cmn_0/events/watchpoint_down")
    assert host.read_text(f"{DEVICES}/arm_dsu_3/associated_cpus") == "12-15\n"
    assert host.read_text(f"{DEVICES}/arm_dsu_3/cpumask") == "12\n"
    assert host.read_text(f"{DEVICES}/arm_dmc620_10008c000/events/clkdiv2_rdwr") == "event=0x12,clkdiv2=0x1\n"


def test_the_mesh_counts_what_the_memory_moves() -> None:
    host, clock = machine("neoverse-2s")
    old = truth_of(host).package_truth(1)
    result = count(host, clock, "arm_cmn_1", "hnf_slc_sf_cache_access", "hnf_cache_miss", "hnf_mc_reqs",
                   f"watchpoint_up,wp_dev_sel=0,wp_chn_sel=3,{ANY}", f"watchpoint_down,wp_dev_sel=0,wp_chn_sel=3,{ANY}")
    new = truth_of(host).package_truth(1)
    read, written = new.read_bytes - old.read_bytes, new.written_bytes - old.written_bytes
    assert result == pytest.approx([read / 64 / SLC_MISSES, read / 64, (read + written) / 64, read / 32, written / 32],
                                   abs=2)


def test_one_node_is_its_share_and_none_is_refused() -> None:
    host, clock = machine("neoverse-2s")
    every, item, port = count(host, clock, "arm_cmn_0", "hnf_mc_reqs", "hnf_mc_reqs,bynodeid=1,nodeid=0x44",
                              f"watchpoint_up,wp_dev_sel=0,wp_chn_sel=3,{ANY},bynodeid=1,nodeid={MEMORY_NODES[0]:#x}")
    assert item == pytest.approx(every / 32, rel=1e-6)
    assert port > 0
    assert refused(host, "arm_cmn_0", "hnf_mc_reqs,bynodeid=1,nodeid=0x7") == "EINVAL"
    assert refused(host, "arm_cmn_0", "type=0x200,eventid=0x1") == "EINVAL", "this mesh has no such node"


def test_what_a_mesh_does_not_open_together() -> None:
    host, _clock = machine("neoverse-2s")
    four = ("hnf_mc_reqs", "hnf_cache_miss", "hnf_sf_hit", "hnf_seq_hit")
    assert refused(host, "arm_cmn_0", *four) == ""
    assert refused(host, "arm_cmn_0", *four, "hnf_snp_sent") == "EINVAL", "a crosspoint has four counters"
    assert refused(host, "arm_cmn_0", *four, "dtc_cycles") == ""
    assert refused(host, "arm_cmn_0", "dtc_cycles", "dtc_cycles") == "EINVAL"
    eight = (*four, "rnid_rxdat_flits", "rnid_txdat_flits", "hni_wdb_alloc", "mxp_e_req_txflit_valid")
    assert refused(host, "arm_cmn_0", *eight) == ""
    assert refused(host, "arm_cmn_0", *eight, "mxp_w_req_txflit_valid") == "EINVAL", "a controller has eight"
    queues = ("hnf_qos_pocq_occupancy_read", "hnf_qos_pocq_occupancy_write")
    assert refused(host, "arm_cmn_0", *queues) == "EINVAL", "they share one filter"
    assert refused(host, "arm_cmn_0", f"watchpoint_up,wp_dev_sel=0,wp_chn_sel=3,{ANY}",
                   f"watchpoint_up,wp_dev_sel=0,wp_chn_sel=0,{ANY}") == "EINVAL", "one watchpoint a direction and group"


def test_too_many_events_of_a_node_share_the_crosspoints_counters() -> None:
    host, clock = machine("neoverse-2s")
    leaders = [group(host, 0, [named(host, "arm_cmn_0", event)]) for event in (
        "hnf_mc_reqs", "hnf_cache_miss", "hnf_sf_hit", "hnf_seq_hit", "hnf_snp_sent")]
    clock.advance(3.0)
    enabled, running, _counts = values(host, leaders[0])
    assert running / enabled == pytest.approx(4 / 5)


def test_a_cluster_counts_on_its_own_cpus_alone() -> None:
    host, clock = machine("neoverse-2s")
    old = [truth_of(host).truth(cpu) for cpu in range(4, 8)]
    lookups, refills = count(host, clock, "arm_dsu_1", "l3d_cache", "l3d_cache_refill")
    new = [truth_of(host).truth(cpu) for cpu in range(4, 8)]
    assert lookups == pytest.approx(sum(one.cache_references for one in new) - sum(one.cache_references for one in old),
                                    abs=4)
    assert refills == pytest.approx(sum(one.cache_misses for one in new) - sum(one.cache_misses for one in old), abs=4)
    assert refused(host, "arm_dsu_1", "l3d_cache", cpu=6) == "", "any CPU of the cluster will do"
    assert refused(host, "arm_dsu_1", "l3d_cache", cpu=8) == "EINVAL"
    events = ("l3d_cache", "l3d_cache_refill", "l3d_cache_wb", "bus_access", "bus_cycles", "l3d_cache_allocate")
    assert refused(host, "arm_dsu_1", *events, "cycles") == ""
    assert refused(host, "arm_dsu_1", *events, "memory_error") == "EINVAL"


def test_filters_and_sampling_of_smmus() -> None:
    host, clock = machine("neoverse-2s")
    item = "smmuv3_pmcg_27ffa0"
    every, missed, selected = count(host, clock, item, "transaction", "tlb_miss",
                                    f"transaction,filter_enable=1,filter_stream_id={STREAM:#x}")
    assert missed == pytest.approx(every * TLB_MISSES, rel=1e-3)
    assert selected == pytest.approx(every * STREAM_SHARE, rel=1e-6)
    attr = named(host, item, "transaction")
    sampled = PerfAttr(attr.type, attr.config, sample_period=1000)
    assert refusal(host.perf_event_open, sampled, -1, 0, -1) in ("EOPNOTSUPP", "ENOTSUP"), "two names of one errno"
    assert refused(host, item, "event=0x20") == "EINVAL"


def test_a_memory_controller_takes_one_event_a_group() -> None:
    host, clock = machine("neoverse-2s")
    name = "arm_dmc620_10008c000"
    assert refused(host, name, "clkdiv2_rdwr", "clkdiv2_activate") == "EINVAL"
    old = truth_of(host).package_truth(0)
    (moved,) = count(host, clock, name, "clkdiv2_rdwr")
    new = truth_of(host).package_truth(0)
    both = new.read_bytes + new.written_bytes - old.read_bytes - old.written_bytes
    assert moved == pytest.approx(both / 64 / 8, abs=2)


def test_a_network_counts_its_clock_and_what_somebody_names() -> None:
    host, clock = machine("neoverse-2s")
    cycles, asked = count(host, clock, "arm_ni_0_cd_0", "cycles", "amni,nodeid=1,eventid=0x3")
    assert cycles == pytest.approx(3e9, rel=1e-6)
    assert asked > 0
    assert refused(host, "arm_ni_0_cd_0", "amni,nodeid=9,eventid=0x3") == "EINVAL"
