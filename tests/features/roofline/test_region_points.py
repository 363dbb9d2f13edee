"""Points of a command's regions, with page faults in place of operations, as every kernel counts them."""

from __future__ import annotations

import os
import sys

import pytest
from jsontables import tables
from page_faults import TOUCH
from patience import least_disturbed

from turbotui.features.roofline.engine import count_command
from turbotui.features.roofline.region_points import RegionWatch
from turbotui.features.roofline.result import Result
from turbotui.features.roofline.result_tables import region_table
from turbotui.features.roofline.text import report_lines
from turbotui.machine.core_metrics import CountedCoreType
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.pmus import Pmu
from turbotui.machine.region_pipes import RegionPipe
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, Term, Width
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.speeds import Speed
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines

_PAGES = 24_000
_PROGRAM = TOUCH + f"""
import time, turbotui

with turbotui.region("all of it"):
    for _ in range(3):
        with turbotui.region("much"):
            touch({3 * _PAGES})
        with turbotui.region("little"):
            touch({_PAGES})
with turbotui.region("red \x1b[31m"):
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
"""


def _stand_in(counters: int) -> CountedCoreType:
    definition = MetricDefinition(
        slug="software", name="software", pmu=("software",),
        events=(MetricEvent("operations", 2, "page-faults"), MetricEvent("loads", 2, "page-faults"),
                MetricEvent("wide", 2, "page-faults", config1=0)),
        flops=(Term("operations", 1),), accesses=(Term("loads", 1),), widths=(Width("wide", 16, "SSE"),),
        counters=counters, note="a stand-in", source="perf_event_open(2)", instructions=1,
    )
    return CountedCoreType(definition, Pmu("software", 1), None)  # PERF_TYPE_SOFTWARE


def _result(counters: int) -> Result:
    return count_command(read_machine(LinuxHost()), [sys.executable, "-c", _PROGRAM], 0.5,
                         core_types=(_stand_in(counters),), sizing=Sizing(WidthModel.GIVEN, 8.0), theory=True)


@pytest.mark.real
@pytest.mark.parametrize("counters", [8, 1])
@least_disturbed
def test_each_region_has_its_own_operations(counters: int) -> None:
    """One counter: sets take turns, and a region is joined of the time slices in which it was open."""
    result = _result(counters)
    found = {region_point.name: region_point for region_point in result.regions.points}
    assert {name: region_point.entries for name, region_point in found.items()} == {
        "all of it": 1, "much": 3, "little": 3, "red ?[31m": 1}
    faults = {name: one.point.gflops * one.point.length * 1e9 for name, one in found.items() if one.point is not None}
    # A busy machine reads the counters late after a mark, and regions that follow each other then mix.
    assert 1.5 < faults["much"] / faults["little"] < 6
    assert faults["all of it"] == pytest.approx(12 * _PAGES, rel=0.3)
    assert faults.get("red ?[31m", 0.0) < faults["much"]  # too brief for three sets in turn
    assert found["red ?[31m"].seconds >= 0.04
    assert found["much"].seconds + found["little"].seconds == pytest.approx(found["all of it"].seconds, rel=0.2)
    for point in found.values():
        assert point.apportioned <= 1.0


def _speed(flops: float) -> Speed:
    return Speed(flops, flops * 2, flops, "AVX", WidthModel.GIVEN)


def _write(pipe: RegionPipe, *marks: str) -> None:
    descriptor = os.open(pipe.path, os.O_WRONLY)
    os.write(descriptor, "".join(f"{mark}\n" for mark in marks).encode())
    os.close(descriptor)


def test_a_region_gets_its_share_of_what_is_read_together_and_all_of_its_own() -> None:
    with RegionPipe() as pipe:
        watch = RegionWatch(pipe, 10.0)
        _write(pipe, "B 11000000000 7 7 0 solve", "what is this")
        watch.take_marks()
        watch.add(watch.until(12.0), _speed(4e9), estimated=False)  # half of these two seconds
        watch.add(watch.until(15.0), _speed(8e9), estimated=False)  # all of these three
        _write(pipe, "E 15000000000 7 7 2 solve", "E 15000000001 7 7 0 never")
        watch.take_marks()
        assert watch.until(16.0) == ()
    regions = watch.counted()
    (point,) = regions.points
    assert point.point is not None
    assert (point.name, point.entries) == ("solve", 1)
    assert point.seconds == pytest.approx(4.0)
    assert point.point.gflops * point.point.length == pytest.approx(4 * 1 + 8 * 3)
    assert point.point.intensity == pytest.approx(0.5)
    assert point.apportioned == pytest.approx(0.25)
    assert point.point.estimated
    words = " ".join(regions.notes)
    assert "2 marks of regions were lost" in words
    assert "1 ends of regions that had not begun" in words
    assert "1 lines in TURBOTUI_REGIONS were no marks" in words


def test_a_regions_slices_are_its_shares_of_each() -> None:
    with RegionPipe() as pipe:
        watch = RegionWatch(pipe, 0.0)
        _write(pipe, "B 0 7 7 0 solve", "E 1500000000 7 7 0 solve")
        watch.take_marks()
        for now in (1.0, 2.0, 3.0):
            watch.add_slice(watch.until(now))
    taken = [(0, SetInterval(1.0, 100.0, {"one": 10.0})), (0, SetInterval(1.0, 200.0, {"two": 4.0})),
             (0, SetInterval(1.0, 300.0, {"one": 7.0}))]
    assert watch.slices(taken) == {"solve": [
        (0, SetInterval(1.0, 100.0, {"one": 10.0})), (0, SetInterval(0.5, 100.0, {"two": 2.0}))]}
    (point,) = watch.counted({}).points
    assert point.point is None
    assert point.why is not None
    assert "too briefly" in point.why.detail


@pytest.mark.real
@least_disturbed
def test_regions_are_reported_in_words_and_tables() -> None:
    result = _result(8)
    envelope = Envelope(result.host, result.kind, 0, result.seconds)
    text = "\n".join(report_lines(envelope, result, plot=False, width=100, coloured=False))
    assert "marked regions" in text
    assert "\x1b" not in text
    assert "a region's counts are those of the whole program" in text
    (table,) = tables("\n".join(JsonLines().lines(envelope, region_table(result))))
    rows = {row["region"]: row for row in table["rows"]}
    assert rows["much"]["values"]["GFLOP/s"] is not None
    assert rows["much"]["values"]["entries"] == 3
