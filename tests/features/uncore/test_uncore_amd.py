"""Uncore values of AMD servers of two generations, compared with the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from model_truth import truth_of
from uncoretree import machine
from uncorewatch import SECONDS, UncoreWatch

from turbotui.features.uncore.counters import UncoreCounters, bundles_of
from turbotui.features.uncore.kinds import UncoreUnits, find_kinds
from turbotui.quantities.uncore import EdgeKind, Metric, edges_of, metrics_of
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.simulated import SHAPES
from turbotui.simulated.pmus_amd import FAR_NS, LINKS_WIRED, NEAR_NS, REMOTE, ROW_HITS

GENERATIONS = {"zen4": replace(SHAPES["turin-2s"], family=25, model=0x11), "zen5": SHAPES["turin-2s"]}
CHANNELS, NS = 12, SECONDS * 1e9
PROCESSORS = ("AuthenticAMD-23-31", "AuthenticAMD-25-1", "AuthenticAMD-25-11", "AuthenticAMD-26-2")
INFO = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: {}\nmodel\t\t: {}\nmodel name\t: EPYC\n"
Traffic = list[dict[str, float]]


def read_all(kind: str, generation: str) -> tuple[UncoreWatch, UncoreUnits, Frame, Traffic]:
    """A frame with every value of a kind, and by how many bytes each package's traffic rose in it."""
    watch = UncoreWatch(GENERATIONS[generation])
    units = watch.units_of(kind)
    watch.counters.keep([units])
    watch.counters.show(units, units.metrics)
    marks: list[Traffic] = []

    def mark(_sampler: Sampler, _number: int) -> None:
        truths = [truth_of(watch.host).package_truth(package) for package in range(2)]
        marks.append([{"rd": truth.read_bytes, "wr": truth.written_bytes, "io rd": truth.io_read_bytes,
                       "io wr": truth.io_written_bytes} for truth in truths])

    frame = watch.frames(2, mark)[-1]
    mark(None, 0)  # type: ignore[arg-type]
    before, after = marks[-2:]
    return watch, units, frame, [{name: new[name] - old[name] for name in new}
                                 for old, new in zip(before, after, strict=True)]


def by_row(watch: UncoreWatch, units: UncoreUnits, frame: Frame, label: str) -> dict[str, float | None]:
    row = next(row for row in units.rows if row.label == label)
    return {metric.id: watch.counters.reading(frame, units, row, metric).value for metric in units.metrics}


def of_fabric(package: int, rose: Traffic) -> dict[str, float]:
    """GB/s of a package by the first words of a value's name."""
    selected, other = rose[package], rose[1 - package]
    result = {"xgmi out": REMOTE * (selected["rd"] + other["wr"]), "xgmi in": REMOTE * (other["rd"] + selected["wr"])}
    for way, cores in (("rd", "in"), ("wr", "out")):
        for part, name in ((f"dram {way}", way), (f"dma {way}", f"io {way}"), (f"cores {cores}", way)):
            result |= {part: selected[name], f"{part} local": (1 - REMOTE) * selected[name]}
            result[f"{part} remote"] = REMOTE * selected[name]
    return {name: value / NS for name, value in result.items()}


def expected_of(metric: Metric, truth: dict[str, float], generation: str) -> float:
    """The value of a metric of the fabric on a package."""
    what = metric.what.removesuffix(" bandwidth")
    if what in truth:
        return truth[what]
    words = what.split()
    number = int(words[-1])
    count = {"io": 8 if generation == "zen5" else 4, "cfi": 16, "ccm": 8}.get(words[2], 0)
    share = 1 / count if count else 1 / LINKS_WIRED if number < LINKS_WIRED else 0.0
    return truth[" ".join(words[:2])] * share


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_value_of_the_fabric(generation: str) -> None:
    watch, units, frame, rose = read_all("amd_df", generation)
    assert len(units.metrics) > 45
    for package in (0, 1):
        truth = of_fabric(package, rose)
        for metric, value in zip(units.metrics, by_row(watch, units, frame, f"pkg {package}").values(), strict=True):
            assert value == pytest.approx(expected_of(metric, truth, generation), rel=5e-3, abs=1e-6), metric.id
    total = by_row(watch, units, frame, "machine Σ")
    both = sum(of_fabric(package, rose)["xgmi out"] for package in (0, 1))
    assert total["xgmi out bandwidth GB/s"] == pytest.approx(both, rel=5e-3)
    assert not any("peak" in name for name in total), "nothing says how fast the links run"


def test_every_value_of_a_memory_controller() -> None:
    watch, units, frame, rose = read_all("amd_umc", "zen5")
    for label, packages, channels in (("machine Σ", (0, 1), 24), ("pkg 1 Σ", (1,), 12), ("pkg 0 #3", (0,), 1)):
        share = channels / len(packages) / CHANNELS
        read, written = (sum(rose[package][way] for package in packages) * share / NS for way in ("rd", "wr"))
        values, peak = by_row(watch, units, frame, label), channels * 48.0
        opened = (read + written) / 64 * 1000 * (1 - ROW_HITS)
        assert values == pytest.approx({
            "rd bandwidth GB/s": read, "wr bandwidth GB/s": written, "of peak %": 100 * (read + written) / peak,
            "bus use %": 100 * (read + written) / peak, "peak bandwidth GB/s": peak, "row hits %": 100 * ROW_HITS,
            "reads %": 100 * read / (read + written), "activates M/s": opened, "precharges M/s": opened,
            "rd bus use %": 100 * read / peak, "wr bus use %": 100 * written / peak, "frequency GHz": 3.0,
        }, rel=5e-3), label  # fmt: skip


def test_the_latency_of_a_miss_depends_on_where_the_data_were() -> None:
    watch, units, frame, _rose = read_all("amd_l3", "zen5")
    values = by_row(watch, units, frame, "pkg 0 Σ")
    assert values["near dram latency ns"] == pytest.approx(NEAR_NS, rel=1e-2)
    assert values["far dram latency ns"] == pytest.approx(FAR_NS, rel=1e-2)
    assert values["miss latency ns"] == pytest.approx((1 - REMOTE) * NEAR_NS + REMOTE * FAR_NS, rel=1e-2)
    assert values["near cxl latency ns"] is None, "nothing was answered from there"


@pytest.mark.parametrize(("kib", "factor"), [(32768, 1.0), (16384, 3.0)])
def test_zen4_counts_sampled_latency_by_the_size_of_its_l3(kib: int, factor: float) -> None:
    """The model counts in tens of ns; a smaller L3 counts in thirties (AMD PPR 55901)."""
    watch = UncoreWatch(replace(GENERATIONS["zen4"], l3_kib=kib))
    units = watch.units_of("amd_l3")
    watch.counters.keep([units])
    near = next(metric for metric in units.metrics if metric.id == "near dram latency ns")
    watch.counters.show(units, [near])
    reading = watch.counters.reading(watch.frames(1)[-1], units, units.rows[0], near)
    assert reading.value == pytest.approx(NEAR_NS * factor, rel=1e-2)
    assert reading.inputs["l3unit"] == 10 * factor


def test_a_sum_of_many_events_is_counted_in_groups_that_every_fabric_can_count() -> None:
    dram, _used, links, *_rest = metrics_of("amd_df", PROCESSORS[0])
    assert [len(bundle) for bundle in bundles_of([dram])] == [4, 4]
    assert bundles_of([links]) == (links.needs,)
    latency = next(metric for metric in metrics_of("amd_l3", PROCESSORS[0]) if "latency" in metric.what)
    assert (dram.additive, latency.additive, latency.together) == (True, False, True)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_edges_are_values_in_bytes(processor: str) -> None:
    for kind in ("amd_df", "amd_umc"):
        units = {metric.what: metric.unit for metric in metrics_of(kind, processor)}
        for edge in edges_of(kind, processor):
            named = [name for name in (edge.inward, edge.outward, edge.peak) if name]
            assert {units[name] for name in named} == {"GB/s"}, edge
    assert any(edge.kind is EdgeKind.PACKAGE for edge in edges_of("amd_df", processor))


OLDER = {"format/event": "config:0-7,32-35,59-60", "format/umask": "config:8-15"}
NEWER = {"format/event": "config:0-7,32-37", "format/umask": "config:8-15,24-27"}


@pytest.mark.parametrize(
    ("formats", "processor", "event", "config"),
    [
        # arch/x86/events/amd/uncore.c: event14 and umask8, event14v2 and umask12
        (OLDER, (0x17, 0x31), "event=0x7c7,umask=0x2", 0x7_0000_02C7),
        (OLDER, (0x19, 0x01), "event=0x107,umask=0x38", 0x1_0000_3807),
        (NEWER, (0x19, 0x11), "event=0xb5f,umask=0xf3e", 0xB_0F00_3E5F),
        (NEWER, (0x1A, 0x02), "event=0x81f,umask=0xffe", 0x8_0F00_FE1F),
        # perf 7.2's of local_socket_inbound_data_beats_link_5, local_or_remote_socket_upstream_read_data_beats_io_7
        (NEWER, (0x1A, 0x02), "event=0xe9f,umask=0xf3f", 0xE_0F00_3F9F),
        (NEWER, (0x1A, 0x02), "event=0x9df,umask=0xffe", 0x9_0F00_FEDF),
    ],
)
def test_the_fabric_of_each_family_by_its_own_format(
    formats: dict[str, str], processor: tuple[int, int], event: str, config: int, tmp_path: Path
) -> None:
    result = machine(tmp_path, {"amd_df": {**formats, "cpumask": "0,2"}}, INFO.format(*processor), ((0, 1), (2, 3)))
    counters = UncoreCounters(result)
    (units,) = counters.kinds
    assert event in {name for metric in units.starting for name in metric.needs}
    counters.sources()
    encoded = counters.encoded(units.units[0], event)
    assert not isinstance(encoded, str)
    assert encoded.attr.config == config


def test_a_fabric_of_which_nobody_knows_the_events(tmp_path: Path) -> None:
    result = machine(tmp_path, {"amd_df": {**NEWER, "cpumask": "0"}}, INFO.format(0x1A, 0x50), ((0, 1),))
    (units,) = find_kinds(result)
    assert (units.starting, units.edges) == ((), ())
