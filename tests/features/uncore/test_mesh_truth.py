"""An Arm server with a mesh: every derived value through all layers, compared with the model, and sums that must
agree.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from model_truth import truth_of
from uncorewatch import SECONDS, UncoreWatch

from turbotui.features.uncore.counters import Reading
from turbotui.features.uncore.kinds import typed_metric
from turbotui.machine.pmus import EventError
from turbotui.quantities.uncore import Metric
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES

NS = SECONDS * 1e9
PEAK = 8 * 3200 * 8 / 1000
"""GB/s of a package: eight channels at 3,200 million transfers of 8 bytes, as its SMBIOS has them."""


class UncoreInterval:
    """An interval with every derived value counted, and what the model moved, in GB/s or per ns."""

    def __init__(self, mesh: str = "cmn-600") -> None:
        self.mesh = mesh
        self.watch = UncoreWatch(replace(SHAPES["neoverse-2s"], mesh=mesh), whole=True)
        self.typed = {kind: typed_metric(self.watch.units_of(kind), text) for kind, text in (
            ("arm_cmn", "watchpoint_up,wp_dev_sel=0,wp_chn_sel=3,wp_grp=0,wp_val=0,wp_mask=0xffffffffffffffff"),
            ("arm_ni", "amni,nodeid=1,eventid=3"))}
        for units in self.watch.counters.kinds:
            typed = self.typed.get(units.kind.id)
            self.watch.counters.show(units, (*units.metrics, *((typed,) if typed else ())))
        marks: list[list[dict[str, float]]] = []
        self.frame: Frame = self.watch.frames(2, lambda _sampler, _number: marks.append(self.counted()))[-1]
        self.moved = [{name: (new[name] - old[name]) / NS for name in new}
                      for old, new in zip(marks[-1], self.counted(), strict=True)]

    def counted(self) -> list[dict[str, float]]:
        model, places = truth_of(self.watch.host), self.watch.machine.topology.places
        result = []
        for package in range(2):
            truth = model.package_truth(package)
            cpus = [model.truth(cpu) for cpu, place in places.items() if place.package == package]
            result.append({"read": truth.read_bytes, "written": truth.written_bytes, "io_read": truth.io_read_bytes,
                           "io_written": truth.io_written_bytes, "lookups": sum(cpu.cache_references for cpu in cpus),
                           "misses": sum(cpu.cache_misses for cpu in cpus)})
        return result

    def readings(self, kind: str, package: int) -> dict[str, Reading]:
        units = self.watch.units_of(kind)
        row = next(row for row in units.rows if row.package == package and row.parent is None and not row.is_machine)
        return {metric.id: self.reading(kind, row.key, metric) for metric in self.watch.counters.shown(units)}

    def reading(self, kind: str, key: str, metric: Metric) -> Reading:
        units = self.watch.units_of(kind)
        row = next(row for row in units.rows if row.key == key)
        return self.watch.counters.reading(self.frame, units, row, metric)


@pytest.fixture(scope="module", params=["cmn-600", "cmn-700"])
def watched(request: pytest.FixtureRequest) -> UncoreInterval:
    return UncoreInterval(request.param)


def expected(moved: dict[str, float], mesh: float) -> dict[str, dict[str, float]]:
    """Return the expected value of each metric of a package."""
    read, written, lookups, misses = moved["read"], moved["written"], moved["lookups"], moved["misses"]
    return {
        "arm_cmn": {
            "slc lookups M/s": read / 64 / 0.35 * 1000, "slc hits %": 65.0, "memory requests M/s":
            (read + written) / 64 * 1000, "memory at most GB/s": read + written, "i/o rd bandwidth GB/s":
            moved["io_read"], "i/o wr bandwidth GB/s": moved["io_written"], "memory retries %": 2.0,
            "memory peak GB/s": PEAK, "at most used %": 100 * (read + written) / PEAK,
            "snoop filter hits %": 20.0, "slc retries %": 2.0, "i/o retries %": 2.0, "port 0 data GB/s": written,
            "port 1 data GB/s": read, "frequency GHz": mesh,
        },
        "arm_dsu": {
            "lookups M/s": lookups * 1000, "hits %": 100 * (1 - misses / lookups), "bus accesses M/s":
            1.4 * misses * 1000, "refill bandwidth GB/s": misses * 64, "write-backs M/s": 0.4 * misses * 1000,
            "bus accesses 1/cycle": 1.4 * misses / 2.0, "memory errors M/s": 0.0, "frequency GHz": 2.0,
        },
        "arm_ni": {"frequency GHz": 1.0},
    }  # fmt: skip


def bridged(moved: dict[str, float]) -> dict[str, float]:
    """Return what bridges to memory and links to the other package count in addition, if a mesh has some."""
    read, written = moved["read"], moved["written"]
    return {"sbsx rd requests M/s": read / 64 * 1000, "sbsx wr requests M/s": written / 64 * 1000,
            "sbsx rd at most GB/s": read, "sbsx wr bandwidth GB/s": written, "ccg sent M/s": 0.1 * written / 64 * 1000,
            "ccg received M/s": 0.1 * read / 64 * 1000, "port 2 data GB/s": 0.0, "port 3 data GB/s": 0.0}


@pytest.mark.parametrize("package", [0, 1])
def test_every_value_is_what_the_model_moved(watched: UncoreInterval, package: int) -> None:
    mesh = watched.readings("arm_cmn", package)["frequency GHz"].value or 0.0
    assert 0.8 <= mesh <= 2.2
    wanted = expected(watched.moved[package], mesh)
    if watched.mesh == "cmn-700":
        wanted["arm_cmn"] |= bridged(watched.moved[package])
    for kind, values in wanted.items():
        readings = watched.readings(kind, package)
        assert readings.keys() - values.keys() <= {metric.id for metric in watched.typed.values()}
        for name, value in values.items():
            assert readings[name].value == pytest.approx(value, rel=5e-3, abs=1e-9), (kind, name)


def test_memory_and_devices_have_no_place_but_a_sum(watched: UncoreInterval) -> None:
    both = {name: sum(item[name] for item in watched.moved) for name in watched.moved[0]}
    memory = watched.readings("arm_dmc620", -1)
    assert memory["bandwidth GB/s"].value == pytest.approx(both["read"] + both["written"], rel=5e-3)
    assert memory["used %"].value == pytest.approx(100 * (both["read"] + both["written"]) / (2 * PEAK), rel=5e-3)
    assert memory["row hits %"].value == pytest.approx(55.0, rel=5e-3), "its events are counted side by side"
    assert memory["frequency GHz"].value == pytest.approx(1.6, rel=5e-3)
    asked = (both["io_read"] + both["io_written"]) / 64 * 1000
    smmu = watched.readings("smmuv3_pmcg", -1)
    assert smmu["transactions M/s"].value == pytest.approx(asked, rel=5e-3)
    assert smmu["tlb misses %"].value == pytest.approx(3.0, rel=5e-3)
    assert smmu["table walks M/s"].value == pytest.approx(0.06 * asked, rel=5e-3)


def test_a_channel_is_held_against_its_own_peak(watched: UncoreInterval) -> None:
    units = watched.watch.units_of("arm_dmc620")
    peak = next(metric for metric in units.metrics if metric.id == "peak bandwidth GB/s")
    row = next(row for row in units.rows if not row.is_sum)
    assert watched.reading("arm_dmc620", row.key, peak).value == pytest.approx(PEAK / 8)


def test_a_peak_that_firmware_does_not_tell_is_a_reason() -> None:
    watch = UncoreWatch("laptop")
    units = watch.units_of("uncore_imc_free_running")
    (used,) = [metric for metric in units.starting if metric.id == "used %"]
    reading = watch.counters.reading(watch.frames(1)[-1], units, units.rows[0], used)
    assert reading.value is None
    assert reading.why is not None
    assert "SMBIOS type 17" in reading.why.sentence()


def test_a_watchpoint_is_the_bytes_that_memory_sends(watched: UncoreInterval) -> None:
    for package in (0, 1):
        flits = watched.readings("arm_cmn", package)[watched.typed["arm_cmn"].id]
        assert (flits.value or 0.0) * 32 / 1000 == pytest.approx(watched.moved[package]["read"], rel=5e-3)
        home = watched.readings("arm_cmn", package)["memory at most GB/s"].value
        assert home == pytest.approx(watched.moved[package]["read"] + watched.moved[package]["written"], rel=5e-3)


def test_an_event_that_needs_more_says_what(watched: UncoreInterval) -> None:
    units = watched.watch.units_of("arm_cmn")
    with pytest.raises(EventError, match="needs wp_chn_sel, wp_grp, wp_val, wp_mask; write watchpoint_up,wp_dev_sel"):
        typed_metric(units, "watchpoint_up,wp_dev_sel=0")
    with pytest.raises(EventError, match="no event and no field 'nodeids'"):
        typed_metric(units, "hnf_mc_reqs,bynodeid=1,nodeids=4")
    metric = typed_metric(units, "arm_cmn_0/hnf_mc_reqs,bynodeid=1,nodeid=0x44/")
    assert metric.needs == ("hnf_mc_reqs,bynodeid=1,nodeid=0x44",)
    assert metric.heading[0] == "hnf_mc_reqs,bynodeid=1,nodeid=0x44", "terms can be typed as they stand"
