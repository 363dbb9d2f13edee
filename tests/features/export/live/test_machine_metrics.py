"""Metrics of machines with known values: counters that never decrease, names, limits, what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from scraped import COST, counters, names, scrapes, series_of, text_of, values, watched

from turbotui.features.export.live.about import counts, source_reasons, sources_up
from turbotui.features.export.live.exposition import MOST_BYTES, MOST_SERIES
from turbotui.features.export.live.levels import CPU, MACHINE, LevelPlaces
from turbotui.features.export.live.machine_metrics import (
    BUSY_TIMES,
    ExportRequest,
    MachineMetrics,
    MeterMetrics,
    known_spreads,
    spread,
)
from turbotui.features.export.live.rendering import OPENMETRICS, PLAIN, RenderedScrape
from turbotui.features.export.live.totals import CounterTotals, known_counters
from turbotui.machine.topology import read_topology
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES, SimulatedHost

BUSY, TSC = "turbotui_{}_mperf_cycles_total", "turbotui_{}_tsc_cycles_total"


def without(frame: Frame, lost: Mapping[SignalId, int]) -> Frame:
    """The frame without the newer reading of a signal at one position."""
    holed = {name: [None if at == lost[name] else value for at, value in enumerate(frame.newer.values[name])]
             for name in lost}
    return Frame(frame.older, replace(frame.newer, values={**frame.newer.values, **holed}), frame.capabilities)


def cell(frame: Frame, name: str) -> float:
    result = frame.cell(catalog_for(frame.capabilities.signals).by_id[name], SYSTEM_ROW)
    assert isinstance(result, int | float)
    return float(result)


@pytest.mark.parametrize("shape", ["laptop-old", "turin-2s", "laptop"])
def test_the_quotient_of_two_counters_is_the_column(shape: str) -> None:
    _machine, frames = watched(shape, small=True)
    before, after = (text_of(scrape) for scrape in scrapes(shape, small=True)[1:])

    def rise(name: str) -> float:
        return values(after, name)[""] - values(before, name)[""]

    assert rise(BUSY.format("machine")) / rise(TSC.format("machine")) == pytest.approx(cell(frames[-1], "Busy%") / 100)
    ratio = rise("turbotui_machine_aperf_cycles_total") / rise("turbotui_machine_mperf_cycles_total")
    clock = ratio * rise(TSC.format("machine")) / rise("turbotui_sampled_seconds_total") / values(
        after, "turbotui_machine_cpus")[""]
    assert clock == pytest.approx(cell(frames[-1], "Bzy_MHz") * 1e6, rel=1e-3)


def test_joules_are_those_of_the_intervals() -> None:
    _machine, frames = watched("sapphire-2s", small=True)
    text = text_of(scrapes("sapphire-2s", small=True)[-1])
    joules = [sum(parts) for parts in zip(*(frame.deltas("energy.pkg") for frame in frames[1:]), strict=True)]
    assert values(text, "turbotui_package_energy_joules_total", "package") == pytest.approx(
        dict(zip("01", joules, strict=True)))
    assert values(text, "turbotui_machine_package_energy_joules_total")[""] == pytest.approx(sum(joules))


def test_cpus_and_packages_that_are_not_measured_are_counted() -> None:
    machine, _frames = watched("sapphire-2s", small=True)
    part = read_topology(machine.host, frozenset(machine.topology.cpus[:1]))
    numbers = [{metric.name.removeprefix("turbotui_machine_"): metric.samples[0][1]
                for metric in counts(LevelPlaces(topology, [MACHINE]))} for topology in (machine.topology, part)]
    assert [(known["unmeasured_cpus"], known["unmeasured_packages"]) for known in numbers] == [
        (0.0, 0.0), (numbers[0]["cpus"] - 1.0, 1.0)]


def test_levels_add_up_and_have_one_label_each() -> None:
    text = text_of(scrapes("turin-2s", intervals=1)[-1])
    whole = values(text, TSC.format("machine"))[""]
    for level, instances in (("package", 2), ("l3", 24)):
        parts = values(text, TSC.format(level), level)
        assert len(parts) == instances
        assert sum(parts.values()) == pytest.approx(whole)
    for name, labels in series_of(text):
        own = {label for label, _ in labels} - {"simulated", "stat"}
        assert len(own) <= 1 or name in {"turbotui_machine_info", "turbotui_source_reason_info"}, (name, own)
        assert dict(labels)["simulated"] == "true"


def test_no_counter_goes_down_when_cpus_go_offline_and_come_back() -> None:
    def between(host: SimulatedHost, number: int) -> None:
        for cpu in (1, 3):
            host.set_online(cpu, number not in {2, 3})

    reply = [text_of(scrape) for scrape in scrapes("laptop-old", ExportRequest(per="cpu"), intervals=6, between=between,
                                                   small=True)]
    cpus = [values(item, "turbotui_machine_cpus")[""] for item in reply]
    assert (min(cpus), cpus[-1]) == (6, 8), cpus
    highest: dict[object, float] = {}
    for text in reply:
        for key, value in counters(text).items():
            assert value >= highest.get(key, 0.0), key
            highest[key] = value
    gone = next(text for text in reply if values(text, "turbotui_machine_cpus")[""] == 6)
    assert set(values(gone, TSC.format("cpu"), "cpu")) == {"0", "2", "4", "5", "6", "7"}


def test_a_cpu_whose_counter_is_unknown_takes_its_part_out_of_both_sides_of_a_quotient() -> None:
    machine, frames = watched("laptop-old", small=True)
    older, newer = frames[0].newer, frames[1].newer
    holed = [None if at == 3 else value for at, value in enumerate(newer.values["mperf"])]
    changed = replace(newer, values={**newer.values, "mperf": holed})
    totals, families = CounterTotals(), known_counters(frames[0].capabilities, (MACHINE,))
    places = LevelPlaces(machine.topology, (MACHINE,))
    family = next(counter_family for counter_family in families if counter_family.stem == "tsc_cycles")
    totals.feed(Frame(older, changed, frames[0].capabilities), places, families)
    assert SYSTEM_ROW not in totals.of(family, MACHINE)  # the others' total is not the machine's
    totals.feed(frames[2], places, families)
    tweak = frames[1].whole_level("tsc_tweak") or 1.0
    ticks = [tick * tweak for at, tick in enumerate(frames[1].deltas("tsc")) if tick is not None and at != 3]
    whole = [tick * tweak for tick in frames[2].deltas("tsc") if tick is not None]
    assert totals.of(family, MACHINE)[SYSTEM_ROW] == pytest.approx(sum(ticks) + sum(whole), rel=1e-12)
    assert len(ticks) == 7


def test_a_total_that_lacks_a_part_again_and_again_is_left_out_until_all_are_known() -> None:
    machine, frames = watched("laptop-old", small=True)
    places, dead = LevelPlaces(machine.topology, (MACHINE, CPU)), {"irq.total": 3}
    totals, families = CounterTotals(), known_counters(frames[0].capabilities, (MACHINE, CPU))
    family = next(counter_family for counter_family in families if counter_family.stem == "interrupts")
    totals.feed(frames[1], places, families)
    for left in (True, True, False, False):
        totals.feed(without(frames[2], dead), places, families)
        assert (SYSTEM_ROW in totals.of(family, MACHINE)) is left
        assert cpu_row(0) in totals.of(family, CPU)
    totals.feed(frames[2], places, families)
    assert SYSTEM_ROW in totals.of(family, MACHINE)


def test_spreads_lack_nothing_that_was_not_read_and_no_idle_cpu() -> None:
    machine, frames = watched("laptop-old", small=True)
    frame, places = frames[2], LevelPlaces(machine.topology, (MACHINE,))
    catalog = catalog_for(frame.capabilities.signals)
    for family in known_spreads(frame.capabilities, catalog):
        if MACHINE in family.levels and family.scope is not Scope.PACKAGE:
            assert spread(frame, family, places, MACHINE, catalog), family
            signals = catalog.by_id[family.column].needs if family.column else BUSY_TIMES
            assert not spread(without(frame, {signals[0]: 1}), family, places, MACHINE, catalog), family


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_an_unasked_scrape_is_small_on_every_machine(shape: str) -> None:
    """After one interval, when a scrape already has every series; none is of a core, but some are of an L3 slice."""
    slices = {block.l3 < block.cores for block in SHAPES[shape].blocks if block.l3}
    scrape = scrapes(shape, intervals=1, small=slices == {False})[-1]
    text = text_of(scrape)
    assert len(series_of(text)) <= MOST_SERIES
    for form in (PLAIN, OPENMETRICS):
        assert len(scrape.body(form, packed=False)) <= MOST_BYTES
    assert "turbotui_machine_busy_seconds_total" in names(text)


def test_what_was_left_out_is_reported_in_its_order() -> None:
    scrape = scrapes("turin-2s", ExportRequest(series=75), intervals=1)[-1]
    text = text_of(scrape)
    assert list(values(text, "turbotui_export_left_out", "part")) == ["l3", "package spreads"]
    assert values(text, "turbotui_export_left_out", "part")["l3"] > 0
    assert not [name for name in names(text) if name.startswith("turbotui_l3_")]
    assert "turbotui_package_tsc_cycles_total" in names(text)


def test_what_a_user_asks_for_is_not_limited() -> None:
    scrape = scrapes("turin-2s", ExportRequest(per="cpu"), intervals=1)[-1]
    text = text_of(scrape)
    assert len(values(text, "turbotui_cpu_info", "cpu")) == 384
    assert len(values(text, TSC.format("cpu"), "cpu")) == 384
    places = [dict(labels) for (name, labels) in series_of(text) if name == "turbotui_cpu_info"]
    cores = values(text, TSC.format("core"), "core")
    assert {place["core"] for place in places} == set(cores)


def test_spreads_are_those_of_the_column() -> None:
    _machine, frames = watched("turin-2s", 1)
    frame = frames[-1]
    column = catalog_for(frame.capabilities.signals).by_id["Busy%"]
    shares = sorted(float(value) / 100 for value in frame.cells(column, frame.rows(Scope.CPU))
                    if isinstance(value, int | float))
    text = text_of(scrapes("turin-2s", intervals=1)[-1])
    assert values(text, "turbotui_machine_busy_ratio", "stat") == pytest.approx(
        {"min": shares[0], "p95": shares[364], "max": shares[-1]})


def test_a_guest_without_counters_says_how_busy_it_is_by_proc_stat() -> None:
    text = text_of(scrapes("guest", intervals=1)[-1])
    shares = values(text, "turbotui_machine_busy_ratio", "stat")
    assert 0.0 <= shares["min"] <= shares["p95"] <= shares["max"] <= 1.0
    assert "turbotui_machine_mperf_cycles_total" not in names(text), "unknown is not zero"


def test_a_source_that_lacks_what_the_hardware_has_is_not_up_and_says_why() -> None:
    text = text_of(scrapes("guest", intervals=1)[-1])
    down = {dict(labels)["source"]: dict(labels)["reason"] for name, labels in series_of(text)
            if name == "turbotui_source_reason_info"}
    assert "perf-msr" in down or "msr" in down
    assert all(down.values())
    assert down.keys() == {source for source, up in values(text, "turbotui_source_up", "source").items() if up == 0.0}
    assert values(text, "turbotui_source_up", "source")["proc-stat"] == 1.0
    assert 0.0 not in values(text_of(scrapes("sapphire-2s", small=True)[-1]), "turbotui_source_up", "source").values()


def test_a_counter_of_32_bits_that_passed_zero_continues() -> None:
    machine, frames = watched("sapphire-2s", small=True)
    signal = frames[0].capabilities.signals["throttled.pkg"]
    assert signal.width_bits == 32
    older, newer = (replace(frame.newer, values={**frame.newer.values, signal.id: raw}, wraps={}) for frame, raw in (
        (frames[0], [2**32 - 16, 5]), (frames[1], [16, 5])))
    totals, families = CounterTotals(), known_counters(frames[0].capabilities, (MACHINE,))
    totals.feed(Frame(older, newer, frames[0].capabilities), LevelPlaces(machine.topology, (MACHINE,)), families)
    held = next(totals.of(family, MACHINE)[SYSTEM_ROW] for family in families
                if family.stem == "power_throttled_seconds")
    assert held == pytest.approx(32 * signal.scale)


def test_an_arm_server_without_rapl_has_the_watts_of_its_meters() -> None:
    _machine, frames = watched("grace-2s", 1)
    text = text_of(scrapes("grace-2s", intervals=1)[-1])
    watts = values(text, "turbotui_meter_watts", "meter")
    assert watts["Socket0"] == frames[-1].whole_level("meter.socket.0.power")
    assert watts["Meter0"] > watts["Socket0"] > watts["CPUrail0"] > 0.0
    places = {dict(labels)["meter"]: dict(labels)["place"] for name, labels in series_of(text)
              if name == "turbotui_meter_info"}
    assert (places["Meter0"], places["Socket0"]) == ("platform", "part")
    assert "turbotui_package_energy_joules_total" not in names(text)


def test_the_joules_of_a_meter_that_is_no_longer_read_are_left_out() -> None:
    """Standing still they would be 0 W."""
    _machine, frames = watched("laptop-gpu", 1)
    metrics = MeterMetrics(frames[-1].capabilities.signals)
    (energy,) = [name for name in metrics.signals if name.endswith(".energy")]

    def joules() -> list[float]:
        (metric,) = [item for item in metrics.metrics(None) if item.name == "turbotui_meter_energy_joules"]
        return [value for _labels, value in metric.samples]

    metrics.feed(frames[-1])
    (first,) = joules()
    assert first > 0.0
    for expected in ([first], [first], []):
        metrics.feed(without(frames[-1], {energy: 0}))
        assert joules() == expected
    metrics.feed(frames[-1])
    assert joules() == [first], "from 0 on"


def test_counters_that_were_dropped_for_lack_of_descriptors_are_reported() -> None:
    _machine, frames = watched("sapphire-2s", small=True)
    capabilities = frames[0].capabilities
    lost = capabilities.without({"instructions": Unavailable(Reason.NO_DESCRIPTORS, "1,024 descriptors are too few")})
    wanted = frozenset({"instructions", "cycles", "stat.user"})
    assert source_reasons(capabilities, wanted) == {"perf-hardware": "", "proc-stat": ""}
    assert source_reasons(lost, wanted) == {
        "perf-hardware": "instructions: 1,024 descriptors are too few", "proc-stat": ""}


def test_a_reader_that_fails_now_takes_its_source_down_and_one_of_an_offline_cpu_does_not() -> None:
    _machine, frames = watched("laptop-old", small=True)
    newer = frames[-1].newer

    def up(cpu: int) -> dict[str, float]:
        failing = replace(newer, failures={("msr", cpu): "EIO at MSR 0x611"})
        metric, why = sources_up({"msr": "", "proc-stat": ""}, Frame(frames[-2].newer, failing, frames[0].capabilities))
        result = {labels["source"]: value for labels, value in metric.samples}
        assert [labels["reason"] for labels, _ in why.samples] == ["EIO at MSR 0x611"] * (0.0 in result.values())
        return result

    assert up(3) == {"msr": 0.0, "proc-stat": 1.0}
    assert up(99) == {"msr": 1.0, "proc-stat": 1.0}


def test_the_reason_of_what_is_left_out_for_lack_of_a_cpu_is_reported() -> None:
    machine, frames = watched("laptop-old", small=True)
    capabilities = frames[0].capabilities
    metrics = MachineMetrics(machine, capabilities, catalog_for(capabilities.signals), ExportRequest())
    lacking = without(frames[1], {"mperf": 3})
    metrics.feed(lacking)
    text = text_of(RenderedScrape(metrics.metrics(lacking, COST)))
    assert BUSY.format("machine") not in names(text)
    source = capabilities.provider["mperf"].id
    assert values(text, "turbotui_source_up", "source")[source] == 0.0
    reason = next(line for line in text.splitlines() if line.startswith("turbotui_source_reason_info{"))
    assert f"cpu {machine.topology.cpus[3]}:" in reason


def test_a_counter_that_is_read_no_more_is_unknown_not_still() -> None:
    machine, frames = watched("laptop-old", small=True)
    capabilities = frames[0].capabilities
    metrics = MachineMetrics(machine, capabilities, catalog_for(capabilities.signals), ExportRequest())
    lost = capabilities.without({name: Unavailable(Reason.NO_DESCRIPTORS, "too few") for name in (
        "energy.pkg", "temp.pkg", "limit.pkg.pl1", "mperf")})
    energy = "turbotui_package_energy_joules_total"

    def told(frame: Frame) -> str:
        metrics.feed(frame)
        return text_of(RenderedScrape(metrics.metrics(frame, COST)))

    first = told(frames[1])
    assert energy in names(first)
    later = [told(Frame(frames[1].newer, frames[2].newer, lost)) for _ in range(3)]
    assert energy in names(later[0]), "one interval may be unknown"
    gone = set(names(first)) - set(names(later[-1]))
    assert {energy, "turbotui_machine_mperf_cycles_total", "turbotui_package_temperature_celsius",
            "turbotui_package_pl1_watts"} <= gone
    assert "turbotui_machine_busy_seconds_total" in names(later[-1])
