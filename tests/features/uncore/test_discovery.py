"""The uncore PMUs of machines, their kinds and places, from trees of files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uncoretree import CORESIGHT, EIGHT, GRACE_INFO, INTEL_INFO, OLYMPUS_INFO, machine

from turbotui.events.uncore.discovery import find_units, kind_of, mask_now, reader_of
from turbotui.features.uncore.absence import why_none
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import find_kinds, typed_metric
from turbotui.machine.machine import read_machine
from turbotui.machine.pmus import EventError
from turbotui.quantities.unavailable import Reason
from turbotui.simulated import ManualClock, simulated_host

TWO = ((0, 1), (2, 3))


@pytest.mark.parametrize(
    ("name", "kind", "numbers"),
    [
        ("uncore_cha_17", "uncore_cha", (17,)),
        ("uncore_imc_free_running_0", "uncore_imc_free_running", (0,)),
        ("uncore_iio_3", "uncore_iio", (3,)),
        ("uncore_pcu", "uncore_pcu", ()),
        ("amd_l3", "amd_l3", ()),
        ("amd_df", "amd_df", ()),
        ("amd_umc_11", "amd_umc", (11,)),
        ("arm_cmn_0", "arm_cmn", (0,)),
        ("arm_dsu_3", "arm_dsu", (3,)),
        ("arm_cspmu_2", "arm_cspmu", (2,)),
        ("smmuv3_pmcg_2b402", "smmuv3_pmcg", (0x2B402,)),
        ("hisi_sccl3_ddrc0", "hisi_ddrc", (0,)), ("hisi_sicl1_pa3", "hisi_pa", (3,)),
        ("smmuv3_pmcg_40000", "smmuv3_pmcg", (0x40000,)), ("arm_dmc620_1000c", "arm_dmc620", (0x1000C,)),
        ("ali_drw_21080", "ali_drw", (0x21080,)), ("dwc_rootport_13018", "dwc_rootport", (0x13018,)),
        ("mrvl_ddr_pmu_87e1c0000000", "mrvl_ddr_pmu", (0x87E1_C000_0000,)), ("arm_ni_1_cd_2", "arm_ni", (1, 2)),
        ("nvidia_ucf_pmu_1", "nvidia_ucf_pmu", (1,)),
        ("nvidia_pcie_pmu_1_rc_4", "nvidia_pcie_pmu", (1, 4)),
        ("nvidia_pcie_tgt_pmu_0_rc_0", "nvidia_pcie_tgt_pmu", (0, 0)),
        ("nvidia_nvlink_c2c_pmu_0", "nvidia_nvlink_c2c_pmu", (0,)),
        ("nvidia_nvlink_c2c1_pmu_0", "nvidia_nvlink_c2c1_pmu", (0,)),
        ("nvidia_pcie_pmu_1", "nvidia_grace_pcie", (1,)),
        ("nvidia_uncore_pmu_5", "nvidia_uncore_pmu", (5,)),
        ("uncore_type_5_2", "uncore_type_5", (2,)),
        ("imx8_ddr0", "imx8_ddr", (0,)),
        ("dmar12", "dmar", (12,)),
        ("cxl_pmu_mem0.1", "cxl_pmu_mem", (0, 1)),
        ("i915", "i915", ()),
    ],
)
def test_kinds(name: str, kind: str, numbers: tuple[int, ...]) -> None:
    assert kind_of(name, "", olympus=False) == (kind, numbers)


@given(st.text(max_size=40), st.text(max_size=12), st.booleans())
def test_any_name_is_of_some_kind(name: str, identifier: str, olympus: bool) -> None:
    kind, numbers = kind_of(name, identifier, olympus=olympus)
    assert kind or not name
    assert all(number >= 0 for number in numbers)


def test_a_unit_for_each_cpu_of_the_mask(tmp_path: Path) -> None:
    chas = {f"uncore_cha_{n}": {**EIGHT, "cpumask": "0,2"} for n in range(60)}
    result = machine(tmp_path, {**chas, "power": {**EIGHT, "cpumask": "0,2"}, "cpu": EIGHT}, INTEL_INFO, TWO)
    units = find_units(result)
    assert len(units) == 120
    assert {unit.kind for unit in units} == {"uncore_cha"}
    assert [(unit.package, unit.numbers, unit.cpu) for unit in units[:2]] == [(0, (0,), 0), (0, (1,), 0)]
    assert (units[60].package, units[60].cpu) == (1, 2)
    (kind,) = find_kinds(result)
    assert [row.label for row in kind.rows if row.is_sum] == ["machine Σ", "pkg 0 Σ", "pkg 1 Σ"]
    assert kind.rows[2].label == "pkg 0 #0"
    assert len({row.key for row in kind.rows}) == 123


def test_what_has_no_names_is_counted_by_its_terms(tmp_path: Path) -> None:
    result = machine(tmp_path, {"uncore_cha_0": {**EIGHT, "cpumask": "0,2"}}, GRACE_INFO, TWO)
    counters = UncoreCounters(result)
    (units,) = counters.kinds
    assert counters.shown(units) == ()
    assert counters.sources() == ()
    metric = typed_metric(units, " uncore_cha/event=0x35,umask=0x1/ ")
    assert metric.needs == ("event=0x35,umask=0x1",)
    counters.show(units, [metric])
    (source,) = counters.sources()
    probe = source.probe(result)
    named = [signal for name, signal in probe.signals.items() if name.endswith("umask=0x1")]
    assert len(named) == 2  # one a package; a recording opens nothing, and says so
    for wrong in ("event=0x35,mask=1", "event=0x1ff", "event=abc", "nothing", ""):
        with pytest.raises(EventError):
            typed_metric(units, wrong)


@pytest.mark.parametrize(
    ("info", "identifier", "kind"),
    [
        (OLYMPUS_INFO, "2cf2036b", "nvidia_uncore_fabric"),
        (OLYMPUS_INFO, "1030136b", "nvidia_uncore_pmu"),
        (OLYMPUS_INFO, "no number", "nvidia_uncore_pmu"),
        (GRACE_INFO, "2cf0036b", "nvidia_uncore_pmu"),
    ],
)
def test_an_older_kernel_names_the_fabric_by_its_identifier_only(
    tmp_path: Path, info: str, identifier: str, kind: str
) -> None:
    files = {**CORESIGHT, "cpumask": "2", "associated_cpus": "2-3", "identifier": identifier}
    result = machine(tmp_path, {"nvidia_uncore_pmu_0": files}, info, TWO)
    (unit,) = find_units(result)
    assert (unit.kind, unit.package) == (kind, 1)  # the number is no socket: the mask says where it is
    counters = UncoreCounters(result)
    keys = [metric.id for metric in counters.shown(counters.kinds[0])]
    fabric = ["rd bandwidth GB/s", "wr bandwidth GB/s", "frequency GHz"]
    assert keys == (fabric if kind == "nvidia_uncore_fabric" else ["cycles M/s"])
    (source,) = counters.sources()
    source.probe(result)
    if kind == "nvidia_uncore_fabric":
        encoded = counters.encoded(unit, "event=0xf1")
        assert not isinstance(encoded, str)
        assert (encoded.attr.config, encoded.attr.flags) == (0xF1, 0)  # neither inherit nor an exclusion


def test_the_reader_follows_the_mask(tmp_path: Path) -> None:
    near = {**CORESIGHT, "cpumask": "2", "associated_cpus": "2-3"}
    result = machine(tmp_path, {"nvidia_scf_pmu_1": near, "uncore_imc_0": {**EIGHT, "cpumask": "0,2"}}, GRACE_INFO, TWO)
    fabric, first, second = find_units(result)
    assert reader_of(result, fabric, (2,)) == 2
    assert reader_of(result, fabric, (3,)) == 3  # the CPU left, and the kernel moved the PMU
    assert reader_of(result, first, (1, 2)) == 1
    assert reader_of(result, second, (1, 2)) == 2
    assert reader_of(result, second, ()) is None
    only = read_machine(result.host, frozenset({0, 3}))
    assert reader_of(only, fabric, (2,)) == 3  # near enough: the kernel counts on its own CPU
    assert reader_of(only, second, (0, 2)) is None
    assert second.package == 1
    assert mask_now(result.host, "nvidia_scf_pmu_1") == (2,)
    assert mask_now(result.host, "gone") == ()


def test_the_simulated_machines() -> None:
    for shape, count in (("vera-2s", 34), ("grace-2s", 10), ("sapphire-2s", 162), ("turin-2s", 24 + 24 + 2)):
        units = find_units(read_machine(simulated_host(shape, ManualClock())))
        assert len(units) == count
        assert {unit.package for unit in units} == {0, 1}


def test_a_rate_has_the_unit_of_its_event(tmp_path: Path) -> None:
    box = {**EIGHT, "cpumask": "0"}
    for name, unit, scale in (("bytes", "MiB", "2"), ("energy", "Joules", "0.5"), ("plain", "", ""), ("odd", "", "x")):
        box[f"events/{name}"] = "event=0x1"
        box |= {f"events/{name}.unit": unit} if unit else {}
        box |= {f"events/{name}.scale": scale} if scale else {}
    result = machine(tmp_path, {"xyz_pmu": box}, INTEL_INFO, TWO)
    (units,) = find_kinds(result)
    # "odd" has a scale that cannot be read, and is not offered: it could only be a wrong number
    assert {metric.what: metric.unit for metric in units.raw} == {"bytes": "GB/s", "energy": "Joules/s", "plain": "M/s"}
    rates = [metric.expression.evaluate({metric.what: 3.0, "dt": 1.5e9}) for metric in units.raw]
    assert rates == pytest.approx([2e-9, 2.0, 2e-6])
    with pytest.raises(EventError):
        typed_metric(units, "odd")


@pytest.mark.parametrize(
    ("model", "scale", "bytes_each"),
    [(143, "3.814697266e-6", 32), (143, "3.0517578125e-5", 32), (106, "3.814697266e-6", 32), (85, "3.814697266e-6", 4)],
)
def test_io_counters_count_32_bytes_whatever_an_older_kernel_says(
    tmp_path: Path, model: int, scale: str, bytes_each: int
) -> None:
    box = {**EIGHT, "cpumask": "0", "events/ioclk": "event=0xff,umask=0x10"}
    for name in ("bw_in_port0", "bw_out_port0"):
        box |= {f"events/{name}": "event=0xff,umask=0x20", f"events/{name}.unit": "MiB", f"events/{name}.scale": scale}
    info = INTEL_INFO.replace("model\t\t: 143", f"model\t\t: {model}")
    counters = UncoreCounters(machine(tmp_path, {"uncore_iio_free_running_0": box}, info, TWO))
    (units,) = counters.kinds
    assert [metric.id for metric in counters.shown(units)] == ["in port 0 GB/s", "frequency GHz"]
    assert all("bw_out" not in metric.what for metric in units.raw)  # requests of any size: no unit is right
    counters.sources()
    assert counters.scale(units.units[0], "bw_in_port0") * 2**20 == pytest.approx(bytes_each)


def test_io_counters_of_diamond_rapids_are_what_its_kernel_says(tmp_path: Path) -> None:
    """Counters of Diamond Rapids count 4 bytes, the scale that kernels before 6.15 gave others wrongly."""
    box = {**EIGHT, "cpumask": "0", "events/clockticks": "event=0xff,umask=0x40"}
    for name, code in (("inb_data_port0", "0x10"), ("bw_in_port0", "0x20"), ("bw_out_port0", "0x30")):
        box |= {f"events/{name}": f"event=0xff,umask={code}", f"events/{name}.unit": "MiB",
                f"events/{name}.scale": "3.814697266e-6"}
    info = INTEL_INFO.replace("cpu family\t: 6", "cpu family\t: 19").replace("model\t\t: 143", "model\t\t: 1")
    counters = UncoreCounters(machine(tmp_path, {"uncore_iio_free_running_0": box}, info, TWO))
    (units,) = counters.kinds
    assert [metric.id for metric in counters.shown(units)] == ["in port 0 GB/s", "frequency GHz"]
    assert [metric.id for metric in units.metrics if metric.chosen] == ["out port 0 GB/s", "data in port 0 GB/s"]
    counters.sources()
    assert counters.scale(units.units[0], "bw_in_port0") * 2**20 == pytest.approx(4)


def test_free_running_memory_counters_of_sapphire_rapids_move_no_bytes(tmp_path: Path) -> None:
    """Its driver names cycles of the queues where Ice Lake's names bytes (spr_uncore_imc_freerunning_events)."""
    box = {**EIGHT, "cpumask": "0", "events/dclk": "event=0xff,umask=0x10",
           "events/rpq_cycles": "event=0xff,umask=0x20", "events/wpq_cycles": "event=0xff,umask=0x21"}
    counters = UncoreCounters(machine(tmp_path, {"uncore_imc_free_running_0": box}, INTEL_INFO, TWO))
    (units,) = counters.kinds
    assert [metric.id for metric in counters.shown(units)] == ["frequency GHz"]
    assert {metric.what for metric in units.raw} == {"dclk", "rpq_cycles", "wpq_cycles"}


def test_an_arm_mesh_and_a_shared_unit_by_their_names(tmp_path: Path) -> None:
    mesh = {
        "cpumask": "0", "format/type": "config:0-15", "format/eventid": "config:16-26", "events/dtc_cycles": "type=0x3",
        "events/hnf_cache_miss": "type=0x5,eventid=0x1", "events/hnf_slc_sf_cache_access": "type=0x5,eventid=0x2",
        "events/hnf_mc_reqs": "type=0x5,eventid=0xd",
    }  # fmt: skip
    shared = {"cpumask": "2", "associated_cpus": "2-3", "format/event": "config:0-31", "events/cycles": "event=0x11",
              "events/l3d_cache": "event=0x2b", "events/l3d_cache_refill": "event=0x2a"}
    result = machine(tmp_path, {"arm_cmn_0": mesh, "arm_dsu_0": shared, "xyz_pmu_3": shared}, GRACE_INFO, TWO)
    kinds = {units.kind.id: [metric.id for metric in units.starting] for units in find_kinds(result)}
    assert list(kinds) == ["arm_cmn", "arm_dsu", "xyz_pmu"]  # the unknown one last, by its name
    assert kinds["arm_cmn"] == ["slc lookups M/s", "slc hits %", "memory requests M/s", "memory at most GB/s",
                                "at most used %", "frequency GHz"]
    assert kinds["arm_dsu"] == ["lookups M/s", "hits %", "frequency GHz"]
    assert kinds["xyz_pmu"] == ["cycles M/s", "l3d_cache M/s", "l3d_cache_refill M/s"]


def test_a_machine_without_says_why() -> None:
    guest = why_none(read_machine(simulated_host("guest", ManualClock())))
    assert guest.reason is Reason.VIRTUALISED
    assert "--machine vera-2s" in guest.remedy


def test_a_recording_without_drivers_names_them(tmp_path: Path) -> None:
    why = why_none(machine(tmp_path, {"cpu": EIGHT}, INTEL_INFO, TWO))
    assert why.reason is Reason.NO_DRIVER
    assert "modprobe intel_uncore" in why.remedy
