"""Points by memory level: bytes compared with simulated machines, and the binding level."""

from __future__ import annotations

from dataclasses import replace

import pytest
from jsontables import tables
from knownmachines import known_machine
from model_truth import CpuTruth, truth_of
from roofline_bed import Bed

from turbotui.features.roofline.engine import place_recorded
from turbotui.features.roofline.level_points import level_notes, level_verdict
from turbotui.features.roofline.live import RooflinePoint, total_of
from turbotui.features.roofline.result_tables import level_table
from turbotui.features.roofline.roofs import Bandwidth, Origin, Peak, RoofSet
from turbotui.features.roofline.sharing import WorkingCores, WorkingShare, mean_working
from turbotui.features.roofline.text import report_lines
from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.features.roofline.verdicts import LevelRoofs
from turbotui.machine.code.shapes import Mix, Operation
from turbotui.quantities import metric_table
from turbotui.quantities.precision import Precision
from turbotui.quantities.roofline import Sizing, counted, levels_together
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.simulated import simulated_host
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "laptop-old", "grace-2s", "vera-2s", "laptop",
                                  "laptop-arrow", "forest-1s"])
def test_bytes_of_levels_are_the_lines_of_the_model(name: str) -> None:
    bed = Bed(name)
    bed.columns = tuple(column for column in bed.catalog.columns if "levels" in column.groups)
    marks: list[dict[int, CpuTruth]] = []
    frame = bed.frames(1.0, 1, lambda _number: marks.append(
        {cpu: truth_of(bed.host).truth(cpu) for cpu in bed.machine.topology.cpus}))[0]
    before, after = marks
    of_e = bed.machine.topology.cpus if name == "forest-1s" else [
        cpu for cpu, place in bed.machine.topology.places.items() if place.core_type in ("E", "LP")]
    for column, missed in (("L2GB/s", "l1_misses"), ("L3GB/s", "l2_misses")):
        total = 0.0
        for cpu in bed.machine.topology.cpus:
            # E cores have no event of what comes into their L1s, only of what these ask their L2 for
            count = "l2_references" if column == "L2GB/s" and cpu in of_e else missed
            lines = getattr(after[cpu], count) - getattr(before[cpu], count)
            total += lines
            assert bed.cell(frame, column, cpu_row(cpu)) == pytest.approx(64 * lines / 1e9, rel=1e-5, abs=1e-6)
        assert bed.cell(frame, column, SYSTEM_ROW) == pytest.approx(64 * total / 1e9, rel=1e-5)


def test_every_definition_of_levels_counts_each_line_once() -> None:
    for slug in metric_table.METRIC_DEFINITIONS.names():
        definition = metric_table.definition(slug)
        counts = {event.key: 1.0 for event in definition.every_event}
        result = counted(definition, counts, Sizing())
        if result is not None:
            assert dict(result.levels) == {level: 64.0 * len(keys) for level, keys in definition.terms_of_levels}
        assert bool(definition.levels) == bool(definition.levels_note), slug
        assert {event.key for event in definition.with_levels.events} == set(counts)
        assert definition.with_levels.signals == definition.signals


def test_levels_of_several_cores_are_those_that_all_know() -> None:
    assert levels_together([(("L2", 1.0), ("L3", 2.0)), (("L2", 4.0),)]) == (("L2", 5.0),)
    assert levels_together([]) == ()


def _roofs() -> LevelRoofs:
    rates = (("L1", 1000.0), ("L2", 400.0), ("L3", 200.0), ("DRAM", 100.0))
    return LevelRoofs(RoofSet(
        "made", Origin.THEORY, "all", (0, 1), 1e9,
        (Peak("AVX", 256, Precision.DOUBLE, Operation.FMA, 100e9),),
        tuple(Bandwidth(level, Mix.LOADS, "AVX", rate * 1e9) for level, rate in rates)), "made")


def _point(gflops: float, l1: float, l2: float, l3: float, dram: float | None) -> RooflinePoint:
    return RooflinePoint(SYSTEM_ROW, "made", gflops, l1, gflops / l1, "AVX", None, 1.0, 1.0, estimated=False,
                         levels=(("L2", l2), ("L3", l3)),
                         working=None if dram is None else WorkingShare(2.0, 1.0, 1.0, 1.0, 2.0, dram * 1e9))


@pytest.mark.parametrize(("point", "binds", "words"), [
    (_point(5.0, 100.0, 300.0, 20.0, 10.0), "L2", "L2 binds: 75 % of its bandwidth; compute 5 %"),
    (_point(5.0, 100.0, 100.0, 90.0, 80.0), "DRAM", "DRAM binds: 80 %"),
    (_point(5.0, 100.0, 432.0, 20.0, 10.0), "L2", "L2 binds: 108 %? of its bandwidth"),
    (_point(5.0, 100.0, 416.0, 20.0, 10.0), "L2", "L2 binds: 104 % of its bandwidth"),
    (_point(90.0, 100.0, 100.0, 20.0, 10.0), "", "compute binds: 90 %; of the levels L2 is used most, 25 %"),
    (_point(1.0, 10.0, 4.0, 2.0, 1.0), "", "no level binds: L1 is used most, 1 % of its bandwidth; compute 1 %"),
    (_point(5.0, 100.0, 10.0, 90.0, None), "L3", "L3 binds: 45 % of its bandwidth (of L1, L2, L3: DRAM not known)"),
])
def test_the_level_that_is_used_most_binds(point: RooflinePoint, binds: str, words: str) -> None:
    verdict = level_verdict(point, _roofs())
    assert [level_point.level for level_point in verdict.points] == ["L1", "L2", "L3", "DRAM"]
    assert [level_point.level for level_point in verdict.points if level_point.binds] == ([binds] if binds else [])
    assert words in verdict.sentence
    assert verdict.points[1].intensity == pytest.approx(point.gflops / dict(point.levels)["L2"])


def test_a_core_does_not_have_the_traffic_of_its_package() -> None:
    point = replace(_point(5.0, 100.0, 10.0, 90.0, 80.0), row=cpu_row(0))
    dram = level_verdict(point, _roofs()).points[-1]
    assert (dram.gbytes, dram.share) == (None, None)
    assert dram.why is not None
    assert "all cores of a package" in dram.why.detail


@pytest.mark.parametrize("cpus", [None, frozenset({0, 4})])
def test_measured_cpus_do_not_have_the_traffic_of_the_others(cpus: frozenset[int] | None) -> None:
    topology = known_machine(simulated_host("laptop-old"), cpus).topology
    package = topology.rows(Scope.PACKAGE)[0]
    working = WorkingCores(topology, {}, traffic={package: 80e9}).of(SYSTEM_ROW)
    assert working is not None
    assert mean_working([(working, 1.0), (working, 2.0)]) == working
    dram = level_verdict(replace(_point(5.0, 100.0, 10.0, 90.0, 80.0), working=working), _roofs()).points[-1]
    assert dram.gbytes == (80.0 if cpus is None else None)
    assert cpus is None or (dram.why is not None and "all cores of a package" in dram.why.detail)


def test_intervals_together_have_the_mean_rate_of_a_level() -> None:
    point = _point(5.0, 100.0, 10.0, 90.0, None)
    total = total_of([point, replace(point, length=3.0, levels=(("L2", 30.0),))])
    assert total is not None
    assert total.levels == (("L2", 25.0),)


def test_levels_are_reported_with_what_their_events_leave_out() -> None:
    bed = Bed("turin-2s")
    bed.columns = tuple(column for column in bed.catalog.columns if {"roofline", "levels"}.intersection(column.groups))
    traffic = MemoryTraffic(bed.machine, by_cache=True)
    bed.also = traffic.sources(), traffic.signals()
    outcome = place_recorded(bed.machine, bed.frames(0.5, 2), bed.capabilities, bed.catalog, traffic=traffic)
    result = replace(outcome, levels=True)
    envelope = Envelope(result.host, result.kind, 0, result.seconds)
    text = "\n".join(report_lines(envelope, result, plot=False, width=100, coloured=False))
    assert "points by memory level" in text
    assert "bytes of levels, AMD Zen 5: lines that are written back are not counted" in text
    (table,) = tables("\n".join(JsonLines().lines(envelope, level_table(result))))
    assert [row["level"] for row in table["rows"]] == ["L1", "L2", "L3", "DRAM"]
    assert all(row["values"]["GB/s"] > 0 for row in table["rows"])


def test_cores_without_such_events_are_reported() -> None:
    counted_ones = (_point(5.0, 100.0, 300.0, 20.0, 10.0),)
    points = tuple(replace(point, levels=()) for point in counted_ones)
    assert [note.partition(":")[0] for note in level_notes(points, wanted=True)] == [
        "bytes of L2 and L3 are not known"]
    assert level_notes(points, wanted=False) == level_notes(counted_ones, wanted=True) == []
    values = {point.level: point for point in level_verdict(points[0], _roofs()).points}
    assert values["L2"].gbytes is None
    assert values["L2"].why is not None
