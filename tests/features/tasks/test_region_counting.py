"""Regions counted while a command runs, with page faults in place of operations: live, recorded, damaged."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import frames, machine, topology_of_cpus
from page_faults import TOUCH
from patience import least_disturbed

from turbotui import recording
from turbotui.cli import main
from turbotui.features.roofline.region_points import points_of_totals
from turbotui.features.tasks.region_counting import RegionCounting
from turbotui.features.tasks.region_totals import (
    CountedRegion,
    KindCounts,
    RegionRecord,
    RegionTotals,
    region_totals,
    regions_of,
)
from turbotui.features.tasks.screen_text import region_line
from turbotui.machine.core_metrics import CountedCoreType
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.observing import observe
from turbotui.machine.pmus import Pmu
from turbotui.machine.region_pipes import GivenPipe, RegionPipe
from turbotui.machine.regions import OTHERS
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, Term, Width
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.recording.recorder import Recorder
from turbotui.region_marks import VARIABLE

_PAGES = 24_000
_PROGRAM = TOUCH + f"""
import os, threading, time, turbotui

touch({_PAGES})  # nobody counts this: no mark was made yet
with turbotui.region("begin"):
    time.sleep(0.05)
with turbotui.region("all of it"):
    for _ in range(2):
        with turbotui.region("much"):
            one = threading.Thread(target=touch, args=({3 * _PAGES},))
            one.start()
            one.join()
        with turbotui.region("little"):
            child = os.fork()
            if not child:
                touch({_PAGES})
                os._exit(0)
            os.waitpid(child, 0)
never = turbotui.region("never ends")
never.__enter__()
"""
TOPOLOGY = topology_of_cpus(range(2))
WHY = Unavailable(Reason.VIRTUALISED, "no PMU", "use another machine")


def stand_in(counters: int) -> CountedCoreType:
    definition = MetricDefinition(
        slug="software", name="software", pmu=("software",),
        events=(MetricEvent("operations", 2, "page-faults"), MetricEvent("loads", 2, "page-faults"),
                MetricEvent("wide", 2, "page-faults", config1=0)),
        flops=(Term("operations", 1),), accesses=(Term("loads", 1),), widths=(Width("wide", 16, "SSE"),),
        counters=counters, note="a stand-in", source="perf_event_open(2)", instructions=2,
    )
    return CountedCoreType(definition, Pmu("software", 1), None)  # PERF_TYPE_SOFTWARE


@pytest.mark.real
@pytest.mark.parametrize("counters", [8, 1])
@least_disturbed
def test_threads_and_children_are_in_the_regions_of_a_command_that_runs(counters: int) -> None:
    here, core_type = read_machine(LinuxHost()), stand_in(counters)
    with RegionPipe() as pipe, observe([sys.executable, "-c", _PROGRAM], prepare=pipe.announce) as seen:
        counting = RegionCounting(here, pipe, (core_type,))
        counting.open(seen.commands[0].pid)
        counting.start()
        assert counting.totals().regions == ()
        seen.run()
        assert seen.wait()
        counting.stop()
        totals = counting.totals()
    found = {region.name: region for region in totals.regions}
    assert {name: region.entries for name, region in found.items()} == {
        "begin": 1, "all of it": 1, "much": 2, "little": 2, "never ends": 1}
    assert totals.still_open == 1
    faults = {name: one.kinds[0].instructions for name, one in found.items() if one.kinds}  # that are page faults too
    assert faults["all of it"] == pytest.approx(8 * _PAGES, rel=0.3)
    assert 1.5 < faults["much"] / faults["little"] < 6
    assert faults["begin"] < _PAGES / 2
    points = {point.name: point.point for point in points_of_totals(
        totals, Sizing(WidthModel.GIVEN, 8.0), TOPOLOGY, {"software": core_type.definition}.get)}
    much, little = points["much"], points["little"]
    assert much is not None
    assert little is not None or counters == 1  # it may end before the last set had its turn, and has no point then
    # Counters are read one after the other, and sets that took turns are joined.
    near = 0.02 if counters > 1 else 0.3
    assert much.intensity == pytest.approx(1 / 8, rel=near)
    assert much.gflops * much.length * 1e9 == pytest.approx(faults["much"], rel=max(0.05, near))
    if little is not None:
        assert 1.5 < much.gflops * much.length / (little.gflops * little.length) < 6
    assert much.estimated == (counters == 1 or found["much"].estimated or found["much"].apportioned >
                              0.05 * found["much"].seconds)
    assert 0 < found["much"].run_ns <= (totals.run_ns or 0)


_RUNNING = TOUCH + f"""
import threading, turbotui
print("runs", flush=True)
input()
with turbotui.region("first"):
    pass
print("marked", flush=True)
input()
with turbotui.region("much"):
    one = threading.Thread(target=touch, args=({3 * _PAGES},))
    one.start()
    one.join()
with turbotui.region("little"):
    touch({_PAGES})
turbotui.region("left open").__enter__()
"""


@pytest.mark.real
@least_disturbed
def test_a_program_that_runs_already_is_counted_from_its_first_mark_on(tmp_path: Path) -> None:
    path = tmp_path / "marks"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with GivenPipe(str(path)) as pipe, subprocess.Popen(  # noqa: S603 - this interpreter
            [sys.executable, "-c", _RUNNING], env={**os.environ, VARIABLE: str(path)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdout.readline()
        counting = RegionCounting(read_machine(LinuxHost()), pipe, (stand_in(8),))
        counting.start()
        program.stdin.write("\n")
        program.stdin.flush()
        program.stdout.readline()
        assert [region.name for region in counting.totals().regions] == ["first"]
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.wait() == 0
        counting.stop()
    totals = counting.totals()
    faults = {region.name: region.kinds[0].instructions for region in totals.regions if region.kinds}
    assert faults["much"] + faults["little"] == pytest.approx(4 * _PAGES, rel=0.3)
    assert 1.5 < faults["much"] / faults["little"] < 6
    assert counting.over


@pytest.mark.real
def test_a_command_that_marks_nothing_has_no_regions_and_its_counters_never_count() -> None:
    here = read_machine(LinuxHost())
    with RegionPipe() as pipe, observe(["true"], prepare=pipe.announce) as seen:
        counting = RegionCounting(here, pipe, ())
        counting.open(seen.commands[0].pid)
        counting.start()
        seen.run()
        seen.wait()
        counting.stop()
        counting.stop()  # once more does nothing
        assert counting.totals().regions == ()
        assert counting.totals().run_ns == 0.0


def made_totals(number: int = 1) -> RegionTotals:
    sets = (SetInterval(1.0, 4e9, {"scalar": 2e9}), SetInterval(0.5, 2e9, {"loads": 1e9}))
    regions = (CountedRegion("solve", 3, 4.0 * number, 0.1, 3e9 * number, kinds=(KindCounts("zen4", 6e9, 5e9, sets),)),
               CountedRegion("read", 1, 1.0, 1.0, 1e8, estimated=True))
    return RegionTotals(5.0, 4e9 * number, regions, 2, 1, 1, 3, user_only=True, why=WHY)


def again(totals: RegionTotals) -> RegionTotals:
    return region_totals(unpacked(packed(RegionRecord(1, 1, totals).facts()), "regions"))


def test_regions_are_the_same_again_and_later_totals_stand_for_both() -> None:
    assert again(made_totals()) == made_totals()
    assert again(replace(made_totals(), run_ns=None, why=None)).run_ns is None
    later = RegionRecord(2, 2, made_totals(2))
    assert RegionRecord(1, 1, made_totals()).plus(later) == later


def test_what_a_document_claims_is_damage_or_is_shown() -> None:
    facts, chosen, damaged = packed(RegionRecord(1, 1, made_totals()).facts()), random.Random(7), 0
    for _ in range(400):
        document = unpacked(facts, "regions").value
        inner: object = document
        while True:
            assert isinstance(inner, dict | list)
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = chosen.choice(keys)
            deeper = inner[key]
            if not isinstance(deeper, dict | list) or chosen.random() < 0.3:
                inner[key] = chosen.choice((None, [], {}, -1, "x", 2**62, True, [None], ["", 1]))
                break
            inner = deeper
        try:
            totals = region_totals(JsonValue(document, "regions"))
            assert totals.rows() is not None
            points_of_totals(totals, Sizing(WidthModel.MIX), TOPOLOGY)
        except DamagedError:
            damaged += 1
    assert damaged > 200


def test_names_beyond_the_first_ones_are_one_region_which_a_note_says() -> None:
    others = replace(made_totals(), regions=(CountedRegion(OTHERS, 9_800, 1.0),))
    assert any("all but the 200 with the most time" in note for note in others.notes())
    assert not any(OTHERS in note for note in made_totals().notes())


def test_unknown_counts_are_reasons_and_never_zero() -> None:
    uncounted = replace(made_totals(), run_ns=None)
    table = uncounted.table
    run = next(column for column in table.columns if column.id == "Time_s")
    for row in table.rows:
        cell = table.cell(run, row)
        assert (cell.value, cell.why) == (None, WHY)
    points = points_of_totals(made_totals(), Sizing(WidthModel.MIX), TOPOLOGY, lambda _slug: None)
    assert {(point.point, point.why) for point in points} == {(None, WHY)}


@pytest.mark.parametrize(("width", "said"), [
    (90, "regions: solve 75 % of CPU time · read 2 % of CPU time"), (40, "regions: solve 75 % of CPU time …"),
    (12, "regions: …")])
def test_a_line_has_as_many_regions_as_fit(width: int, said: str) -> None:
    assert region_line(made_totals(), width) == said


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "regions.ttj"
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(3, TOPOLOGY):
        recorder.take(frame)
        recorder.rows(RegionRecord(frame.newer.wall_ns, frame.newer.started_ns, made_totals(frame.seq + 1)))
    recorder.close()
    return path


def test_a_replay_has_a_table_of_regions_for_each_interval(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--replay", str(recorded), "--format", "json"]) == 0
    result = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [item["table"] for item in result] == ["regions"] * len(result)
    rows = {row["region"]: row["values"] for row in result[-1]["rows"]}
    assert rows["solve"]["Entered"] == 3
    assert rows["solve"]["IPC"] == pytest.approx(1.2)
    assert rows["solve"]["Run%"] == pytest.approx(75.0)
    assert main(["tasks", "--replay", str(recorded), "-n", "1"]) == 0
    text = capsys.readouterr().out
    assert "marked regions" in text
    assert "2 marks of regions were lost" in text


def test_regions_are_read_of_a_file_of_version_1_for_ever() -> None:
    path = Path(__file__).parents[2] / "recording" / "golden" / "version1.regions_threads.ttj"
    with recording.read(str(path)) as journal:
        result = [regions_of(journal.rows, frame) for frame in journal.frames()]
    assert result == [None, made_totals(2), made_totals(3)]
