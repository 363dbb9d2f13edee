"""Opening and reading uncore counters: groups, changed filters, refusals, CPUs that go offline, descriptors."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from uncorewatch import SECONDS, UncoreWatch

from turbotui.events.uncore.filters import bdf_value
from turbotui.features.uncore.counters import bundles_of
from turbotui.features.uncore.explaining import with_numbers
from turbotui.features.uncore.kinds import raw_metric
from turbotui.features.uncore.ports import PORTS_UNKNOWN, PortMap
from turbotui.features.uncore.screen_rows import content_of
from turbotui.features.uncore.tables import uncore_table
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.plan import make_plan
from turbotui.sampling.sampler import Sampler
from turbotui.widgets.explanation import explanation

PCIE = "nvidia_pcie_pmu"
ROW = "pkg 0 rc 1"


def test_events_of_a_latency_are_one_group_and_nothing_is_counted_twice() -> None:
    watch = UncoreWatch("vera-2s")
    units = watch.units_of(PCIE)
    bundles = bundles_of(watch.counters.shown(units))
    assert set(bundles[0]) == {"rd_cum_outs", "rd_req", "cycles"}
    sets = [frozenset(events) for events in bundles]
    assert all(not item <= other for item in sets for other in sets if item is not other)
    assert frozenset(name for metric in units.metrics for name in metric.needs) == frozenset().union(*sets)


def test_all_counters_are_closed_in_the_end_and_few_are_open_meanwhile() -> None:
    watch = UncoreWatch("vera-2s")
    seen: list[int] = []
    watch.frames(1, lambda _sampler, _number: seen.append(len(watch.host._open)))
    distinct = sum(
        len({name for metric in watch.counters.shown(units) for name in metric.needs}) * len(units.units)
        for units in watch.counters.kinds
    )
    assert distinct <= seen[0] <= distinct + 4  # a clock of a second group of the fabric
    assert not watch.host._open


def test_more_events_than_counters_are_scaled_and_marked() -> None:
    watch = UncoreWatch("grace-2s")  # the fabric has more events on show than counters
    frame = watch.frames()[-1]
    reading = watch.reading(frame, "nvidia_scf_pmu", "pkg 0", "cmem rd latency ns")
    assert reading.value == pytest.approx(125.0, rel=1e-3)
    assert reading.estimated
    assert reading.ran is not None
    assert 0 < reading.ran < 1


def test_a_filter_set_live_counts_from_then_on() -> None:
    watch = UncoreWatch("vera-2s")

    def change(sampler: Sampler, number: int) -> None:
        if number == 2:
            watch.counters.set_filters(["nvidia_pcie_pmu_0_rc_1"], {"src_rp_mask": 0b1})
            watch.hand_over(sampler)

    before, restart, after = watch.frames(3, change)
    # the model's shares of the root ports: 0.4 on the first
    whole = watch.reading(before, PCIE, "pkg 0 rc 2", "rd bandwidth GB/s").value
    assert watch.reading(before, PCIE, ROW, "rd bandwidth GB/s").value != pytest.approx(whole)
    lost = watch.reading(restart, PCIE, ROW, "rd bandwidth GB/s")
    assert lost.value is None
    assert lost.why is not None
    assert watch.reading(restart, PCIE, "pkg 0 rc 2", "rd bandwidth GB/s").value is not None  # others go on
    total = watch.reading(restart, PCIE, "pkg 0 Σ", "rd bandwidth GB/s")
    assert total.partial
    filtered = watch.reading(after, PCIE, ROW, "rd bandwidth GB/s").value
    reference = watch.reading(after, PCIE, "pkg 0 rc 2", "rd bandwidth GB/s").value
    assert filtered is not None
    assert reference is not None
    assert filtered == pytest.approx(reference * 0.4 * 0.2 / 0.15, rel=1e-3)  # volumes of the complexes: 0.2, 0.15
    assert watch.reading(after, PCIE, ROW, "frequency GHz").value == pytest.approx(1.95)


@pytest.mark.parametrize(
    ("shape", "pmu", "settings", "metric", "share"),
    [
        ("vera-2s", "nvidia_ucf_pmu_0", {"src_loc_noncpu": 1}, "mem rd bandwidth GB/s", 0.08),
        ("vera-2s", "nvidia_ucf_pmu_0", {"src_loc_cpu": 1}, "mem rd bandwidth GB/s", 0.9),
        ("vera-2s", "nvidia_ucf_pmu_0", {"src_rem": 1, "dst_rem": 1}, "mem rd bandwidth GB/s", 0.002),
        ("vera-2s", "nvidia_ucf_pmu_0", {"dst_loc_gmem": 1}, "mem wr bandwidth GB/s", 0.04),
        ("vera-2s", "nvidia_ucf_pmu_0", {"dst_loc_other": 1}, "mem wr bandwidth GB/s", 0.0),
        ("vera-2s", "nvidia_pcie_pmu_0_rc_1", {"src_rp_mask": 0b110}, "rd bandwidth GB/s", 0.4),
        ("vera-2s", "nvidia_pcie_pmu_0_rc_1", {"dst_loc_pcie_p2p": 1}, "wr bandwidth GB/s", 0.05),
        ("vera-2s", "nvidia_pcie_pmu_0_rc_1", {"dst_loc_pcie_cxl": 1}, "wr bandwidth GB/s", 0.0),
        ("vera-2s", "nvidia_pcie_tgt_pmu_0_rc_1", {"dst_rp_mask": 0b11}, "rd bandwidth GB/s", 0.65),
        ("vera-2s", "nvidia_pcie_tgt_pmu_0_rc_1",
         {"dst_addr_en": 1, "dst_addr_base": 0x10000, "dst_addr_mask": 0xFFF00}, "rd bandwidth GB/s", 0.25),
        ("grace-2s", "nvidia_pcie_pmu_0", {"root_port": 0b11}, "rd loc bandwidth GB/s", 0.5),
        ("grace-2s", "nvidia_nvlink_c2c0_pmu_0", {"port": 2}, "wr rem bandwidth GB/s", 0.5),
        ("grace-2s", "nvidia_cnvlink_pmu_0", {"rem_socket": 0xE}, "rd rem bandwidth GB/s", 0.5),
    ],
)  # fmt: skip
def test_every_filter_lets_its_share_of_the_model_pass(
    shape: str, pmu: str, settings: dict[str, int], metric: str, share: float
) -> None:
    result: list[float] = []
    for filters in ({}, settings):
        watch = UncoreWatch(shape)
        watch.counters.set_filters([pmu], filters)
        frame = watch.frames()[-1]
        rows = [(units, row) for units in watch.counters.kinds for row in units.rows if not row.is_sum]
        kind, label = next((units.kind.id, row.label) for units, row in rows if row.units[0].pmu.name == pmu)
        value = watch.reading(frame, kind, label, metric).value
        assert value is not None
        result.append(value)
        clock = watch.reading(frame, kind, label, "frequency GHz").value
        assert clock is not None
        assert clock > 1.0  # no filter is for the clock
    assert result[1] == pytest.approx(result[0] * share, rel=1e-3, abs=1e-9)


def test_links_to_one_gpu_have_the_same_latency_and_half_the_requests() -> None:
    watch = UncoreWatch("vera-2s")
    units = watch.units_of("nvidia_nvlink_c2c_pmu")
    watch.counters.set_filters(["nvidia_nvlink_c2c_pmu_0"], {"gpu_mask": 2})
    frame = watch.frames()[-1]
    reading = watch.reading(frame, units.kind.id, "pkg 0", "in_rd latency ns")
    assert reading.value == pytest.approx(410.0, rel=1e-3)
    other = UncoreWatch("vera-2s")
    whole = other.reading(other.frames()[-1], units.kind.id, "pkg 0", "in_rd latency ns").inputs["in_rd_req"]
    assert whole is not None
    assert reading.inputs["in_rd_req"] == pytest.approx(whole / 2, rel=1e-3)


def test_groups_stay_small_where_the_kernel_does_not_check_them() -> None:
    watch = UncoreWatch("turin-2s")
    units = watch.units_of("amd_umc")
    named = [raw_metric("amd_umc", units.pmu, f"event=0xa,rdwrmask=0x{mask:x}") for mask in (0, 1, 2)]
    typed = [raw_metric("amd_umc", units.pmu, text) for text in ("event=0x0,rdwrmask=0x0", "event=0x00", "event=0x0")]
    watch.counters.show(units, [*units.metrics, *named, *typed])
    sizes: list[int] = []

    def look(_sampler: Sampler, _number: int) -> None:
        opened = [item for item in watch.host._open.values() if getattr(item, "pmu", None) is not None]
        groups = {id(one.group): one.group for one in opened if one.pmu.name == "amd_umc_0"}  # type: ignore[union-attr]
        sizes.extend(len(group.members) for group in groups.values())

    frame = watch.frames(1, look)[-1]
    assert sizes
    assert max(sizes) <= 4
    assert watch.reading(frame, "amd_umc", "pkg 0 #0", "rd bandwidth GB/s").value


def test_a_device_by_its_address() -> None:
    watch = UncoreWatch("vera-2s")
    device = bdf_value("0002:81:00.0")
    watch.counters.set_filters(["nvidia_pcie_pmu_0_rc_1"], {"src_bdf": device, "src_bdf_en": 1})
    frame = watch.frames()[-1]
    half = watch.reading(frame, PCIE, ROW, "rd bandwidth GB/s").value
    whole = watch.reading(frame, PCIE, "pkg 0 rc 2", "rd bandwidth GB/s").value
    assert half is not None
    assert whole is not None
    assert half == pytest.approx(whole * 0.5 * 0.2 / 0.15, rel=1e-3)  # a device has half of the model's traffic
    unit = next(unit for unit in watch.units_of(PCIE).units if unit.pmu.name == "nvidia_pcie_pmu_0_rc_1")
    encoded = watch.counters.encoded(unit, "rd_bytes")
    assert not isinstance(encoded, str)
    assert (encoded.attr.config, encoded.attr.config1) == (0, 0x1810000)


def test_a_filter_that_cannot_be_is_a_reason_and_never_a_number() -> None:
    watch = UncoreWatch("vera-2s")
    watch.counters.set_filters(["nvidia_pcie_pmu_0_rc_1"], {"src_bdf": 0x108, "src_rp_mask": 1, "src_bdf_en": 1})
    reading = watch.reading(watch.frames()[-1], PCIE, ROW, "rd bandwidth GB/s")
    assert reading.value is None
    assert reading.why is not None
    assert "exclude each other" in reading.why.detail


def test_without_rights_every_cell_says_what_to_do() -> None:
    watch = UncoreWatch("sapphire-2s", lambda host: host.set_privileges(uid=1000, capabilities=0, paranoid=2))
    reading = watch.reading(watch.frames()[-1], "uncore_imc", "pkg 0 Σ", "rd bandwidth GB/s")
    assert reading.why is not None
    assert reading.why.reason is Reason.NOT_PERMITTED
    assert "perf_event_paranoid" in reading.why.remedy


def test_what_the_kernel_refuses_at_the_opening_is_a_reason() -> None:
    watch = UncoreWatch("sapphire-2s")
    pmu = watch.units_of("uncore_imc").pmu
    watch.host.fail(("perf", pmu.type, 0xFF02), errno.EINVAL)
    frame = watch.frames()[-1]
    refused = watch.reading(frame, "uncore_imc", "pkg 0 #0", "row hits %")
    assert refused.value is None
    assert refused.why is not None
    assert "uncore_imc_0/event=0x2,umask=0xff/" in refused.why.detail
    assert watch.reading(frame, "uncore_imc", "pkg 0 #0", "wr bandwidth GB/s").value is not None
    assert watch.reading(frame, "uncore_imc", "pkg 0 Σ", "row hits %").partial


def test_too_few_descriptors_name_the_pmu_that_went_without() -> None:
    watch = UncoreWatch("vera-2s", lambda host: host.set_privileges(descriptors=(100, 100)))
    capabilities = probe_sources(watch.machine, ()).exchange(watch.machine, (), watch.counters.sources())
    plan = make_plan(watch.machine, capabilities, watch.counters.signals())
    assert 0 < plan.descriptors <= 100 - 64
    assert plan.dropped
    assert {why.reason for why in plan.dropped.values()} == {Reason.NO_DESCRIPTORS}
    frame = watch.frames()[-1]
    assert watch.reading(frame, "nvidia_ucf_pmu", "pkg 0", "frequency GHz").value == pytest.approx(2.5)
    last = watch.reading(frame, "nvidia_nvdlink_pmu", "pkg 1", "frequency GHz")
    assert last.why is not None
    assert "file descriptors" in last.why.detail


def test_a_unit_whose_cpu_leaves_is_read_on_another_one() -> None:
    watch = UncoreWatch("grace-2s")
    first = watch.machine.topology.instances(Scope.PACKAGE)[1].cpus[0]

    def leave(_sampler: Sampler, number: int) -> None:
        if number == 2:
            watch.host.set_online(first, False)

    frames = watch.frames(6, leave)
    reading = watch.reading(frames[-1], "nvidia_scf_pmu", "pkg 1", "frequency GHz")
    assert reading.value == pytest.approx(3.0)
    assert first not in frames[-1].topology.places


def test_only_what_is_shown_is_read() -> None:
    watch = UncoreWatch("vera-2s")
    for units in watch.counters.kinds:
        watch.counters.show(units, ())
    assert watch.counters.sources() == ()
    units = watch.units_of(PCIE)
    watch.counters.show(units, [raw_metric(PCIE, units.pmu, "wr_req")])
    frame = watch.frames()[-1]
    reading = watch.reading(frame, PCIE, ROW, "wr_req M/s")
    assert reading.value is not None
    assert reading.inputs["wr_req"] == pytest.approx(reading.value * 1e6 * SECONDS)
    assert len(frame.newer.values) == 12 * 3  # the event and the two times of each of 12 PMUs


def test_an_explanation_holds_everything_needed_to_repeat_it() -> None:
    watch = UncoreWatch("vera-2s")
    watch.counters.set_filters(["nvidia_pcie_pmu_0_rc_1"], {"dst_loc_cmem": 1})
    frame = watch.frames()[-1]
    units = watch.units_of(PCIE)
    row = next(row for row in units.rows if row.label == ROW)
    metric = next(item for item in units.metrics if item.id == "rd latency ns")
    content = content_of(uncore_table(watch.counters, units, frame, PortMap(watch.host)))
    text = "\n".join(explanation(content, metric, row.key, width=200))
    for part in (
        "rd latency ns = rd_cum_outs / rd_req * dt / cycles", " * 2,000,000,000 / ", "= 640.0 ns",
        "config 0x4, config2 0x1", "one group", "/sys/bus/event_source/devices/nvidia_pcie_pmu_0_rc_1",
        "opened on cpu 0, package 0", "dst_loc_cmem on",
        "root port 3: 0002:c0:00.0", "0002:81:00.0 144d:a826", "nvidia-tegra410-pmu.rst", "over 2.000000 s",
    ):  # fmt: skip
        assert part in text
    machine, total = (row for row in units.rows[:2] if row.is_sum)
    assert "all 12 PCIE units of the machine" in "\n".join(explanation(content, metric, machine.key, width=200))
    text = "\n".join(explanation(content, metric, total.key, width=200))
    assert "all 6 PCIE units of package 0" in text
    assert "cycles and the interval are averaged" in text


def test_the_rate_of_the_machine_is_the_sum_of_rates_of_units_read_at_different_times() -> None:
    watch = UncoreWatch("vera-2s")
    frame = watch.frames()[-1]
    values = {name: list(row) for name, row in frame.newer.values.items()}
    before = frame.older
    assert before is not None
    for unit in watch.units_of(PCIE).units[:3]:  # their interval is longer, with as many counts
        order = watch.counters.order_of(unit)
        assert order is not None
        for bundle in range(len(order.bundles)):
            times = order.times(unit, bundle)
            for name in (times.enabled, times.running):
                old, new = before.values[name][0], values[name][0]
                assert isinstance(old, int)
                assert isinstance(new, int)
                values[name][0] = new + (new - old) // 100
    late = Frame(before, replace(frame.newer, values=values), frame.capabilities)
    rates = {row.label: watch.reading(late, PCIE, row.label, "rd bandwidth GB/s").value
             for row in watch.units_of(PCIE).rows}
    parts = [rates[row.label] or 0.0 for row in watch.units_of(PCIE).rows if not row.is_sum]
    packages = [rates[row.label] or 0.0 for row in watch.units_of(PCIE).rows if row.is_sum]
    whole = max(packages)
    assert whole == pytest.approx(sum(parts), rel=1e-12)
    assert whole == pytest.approx(sum(packages) - whole, rel=1e-12)


def test_requests_per_cycle_of_units_read_over_different_times_are_those_of_each() -> None:
    """A unit whose counters were opened in the middle of the interval, or read late, has counts of another time."""
    watch = UncoreWatch("vera-2s")
    frame = watch.frames()[-1]
    before = frame.older
    assert before is not None
    late = watch.units_of(PCIE).units[:1]
    order = watch.counters.order_of(late[0])
    assert order is not None
    own = {name for name in order.signals() if late[0].key in name}
    values = dict(frame.newer.values)
    for name in own:
        old, new = before.values[name][0], values[name][0]
        assert isinstance(old, int)
        assert isinstance(new, int)
        values[name] = [(old + new) // 2]
    half = Frame(before, replace(frame.newer, values=values), frame.capabilities)
    for metric in ("rd requests 1/cycle", "rd latency cycles", "rd bandwidth GB/s"):
        for row in watch.units_of(PCIE).rows:
            expected = watch.reading(frame, PCIE, row.label, metric).value
            assert watch.reading(half, PCIE, row.label, metric).value == pytest.approx(expected, rel=1e-5), metric


def test_formulas_with_numbers() -> None:
    assert with_numbers("a / 'event=0x1,umask=0x2' * dt", {"a": 1000.0, "event=0x1,umask=0x2": None, "dt": 2e9}) == (
        "1,000 / — * 2,000,000,000"
    )


def test_root_ports_are_unknown_without_rights() -> None:
    watch = UncoreWatch("vera-2s", lambda host: host.set_privileges(uid=1000, capabilities=0))
    ports = PortMap(watch.host)
    unit = watch.units_of(PCIE).units[0]
    assert ports.note(unit) == PORTS_UNKNOWN
    assert ports.of(unit) == ()
    known = PortMap(UncoreWatch("vera-2s").host)
    assert known.note(unit) == "0001:00:00.0"
    assert known.elsewhere("0005:41:00.0", ["nvidia_pcie_pmu_0_rc_1"]) == "nvidia_pcie_pmu_0_rc_4"
    assert known.elsewhere("0005:41:00.0", ["nvidia_pcie_pmu_0_rc_4"]) == ""
    assert known.elsewhere("0099:41:00.0", ["nvidia_pcie_pmu_0_rc_4"]) == ""
