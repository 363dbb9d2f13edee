"""Regions on simulated machines, compared with the model's work between their marks, live and recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from test_threads_truth import ThreadBed, truth
from test_topdown_truth import LEVEL_ONE, LEVEL_TWO
from topdown_bed import Slots
from watched_machines import frames_of_machine

from turbotui.cli import main
from turbotui.commands.recording import open_recorder
from turbotui.features.topdown.command_counters import added
from turbotui.features.topdown.counter_parts import Counts
from turbotui.features.topdown.engine import RECORDED_LEVELS, TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.recorded_regions import RegionSlotsRecord
from turbotui.features.topdown.region_interval_rows import interval_rows
from turbotui.features.topdown.region_slots import RegionInterval, RegionSlots
from turbotui.features.topdown.thread_counters import ThreadCounters
from turbotui.features.topdown.thread_search import ProcessThreads
from turbotui.machine.regions import RegionMark, RegionTimes
from turbotui.simulated.threads import process_of

pytestmark = pytest.mark.usefixtures("few_cores")

KIND = 1
PASSES = (("solve", 0.05), ("write", 0.02), ("solve", 0.03), ("", 0.04))
"""What is open for how many seconds, one after the other; "" between regions."""


class SimulatedPrograms:
    """The counters of a process of a simulated machine, thread by thread, added up."""

    def __init__(self, bed: ThreadBed, counters: TopdownCounters) -> None:
        self._threads = ThreadCounters(bed.machine, counters, ProcessThreads(bed.host, (process_of(KIND),)))

    refused: Mapping[str, int] = {}
    user_only = False

    def add(self, pid: int) -> None:
        assert pid == process_of(KIND)
        self._threads.look()

    def read(self) -> Counts:
        result: Counts = {}
        for counts in self._threads.measure().threads:
            result = added(result, counts.counts)
        return result

    def close(self) -> None:
        self._threads.close()


class MarkedBed(ThreadBed):
    """A process of a simulated machine that marks regions, and what it did in each of them."""

    def __init__(self, name: str, levels: int) -> None:
        super().__init__(name, KIND)
        self.slots = RegionSlots(self.machine, lambda counters, _family: SimulatedPrograms(self, counters), levels)
        self.happened: dict[str, dict[str, float]] = {}

    def run(self) -> RegionInterval:
        now = self.clock.now_ns
        times = RegionTimes(now())
        self.slots.open((process_of(KIND),), times, family=True)
        for name, seconds in PASSES:
            if name:
                times.take(RegionMark(True, now(), (1, 1), 0, name))
            before, began = truth(self, KIND), now()
            self.clock.advance(seconds)
            if name:
                times.take(RegionMark(False, now(), (1, 1), 0, name))
            self.slots.take(times.until(now()), (now() - began) / 1e9, times)
            self._note(name, before, truth(self, KIND))
        interval = self.slots.interval()
        assert interval is not None
        return interval

    def _note(self, name: str, before: Mapping[int, Slots], after: Mapping[int, Slots]) -> None:
        for row in (name, "the command"):
            sums = self.happened.setdefault(row, {})
            for cpu, slots in after.items():
                for form, value in slots.items():
                    sums[form] = sums.get(form, 0.0) + value - before[cpu][form]

    def hold(self, rows: Sequence[TopdownRow], nodes: Mapping[str, str], parent: str) -> int:
        """Compare shares below a node with what happened; how many were there."""
        compared = 0
        for row in rows:
            selected = self.happened[row.place.name]
            for node in row.nodes(parent):
                if node.id in nodes and row.percent(node.id) is not None:
                    expected = 100.0 * selected[nodes[node.id]] / selected["slots"]
                    assert row.percent(node.id) == pytest.approx(expected, abs=0.5), (row.place.name, node.id)
                    compared += 1
        return compared


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "grace-2s", "vera-2s"])
def test_a_region_has_the_slots_of_the_work_between_its_marks(name: str) -> None:
    bed = MarkedBed(name, 1)
    interval = bed.run()
    rows = interval_rows(bed.counters.branches, interval)
    assert [row.place.name for row in rows] == ["the command", "solve", "write"]
    for row in rows:
        assert row.slots() == pytest.approx(bed.happened[row.place.name]["slots"], rel=1e-3), row.place.name
        assert row.total() == pytest.approx(100.0, abs=0.1)
    assert bed.hold(rows, LEVEL_ONE, "") >= 12
    entries = {row.place.name: row.extent.entries for row in rows if row.extent is not None}
    assert entries == {"solve": 2, "write": 1}
    solve = next(row.extent for row in rows if row.place.name == "solve")
    assert solve is not None
    assert solve.seconds == pytest.approx(0.08)
    assert solve.of_slots == pytest.approx(bed.happened["solve"]["slots"] / bed.happened["the command"]["slots"],
                                           rel=1e-3)
    assert "see it while it runs" in rows[1].why("memory_bound").remedy or "memory_bound" not in {
        node.id for branch in rows[1].branches for node in branch.tree.nodes}


def test_a_recording_of_regions_is_replayed_with_level_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bed = MarkedBed("sapphire-2s", RECORDED_LEVELS)
    interval = bed.run()
    rows = interval_rows(bed.counters.branches, interval)
    assert sum(bed.hold(rows, LEVEL_TWO, parent.id) for parent in rows[0].nodes()) >= 12
    path = str(tmp_path / "regions.ttj")
    machine, frames = frames_of_machine("sapphire-2s", 3, cpus=frozenset({0, 1}))
    recorder = open_recorder(path, machine, None)
    for frame in frames:
        recorder.take(frame)
        recorder.rows(RegionSlotsRecord(frame.newer.wall_ns, frame.newer.started_ns, interval))
    recorder.close()
    assert main(["topdown", "--replay", path, "--level", "2", "--json"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    again = {row.get("region", "the command"): row["values"] for table in said for row in table["rows"]}
    for row in rows:
        values = again[row.place.name]
        for node in ("retiring", "backend", "memory_bound", "mispredicts"):
            column = row.branches[0].tree.by_id[node].words.column
            assert values[column] == pytest.approx(row.percent(node)), (row.place.name, node)
    assert main(["topdown", "--replay", path, "--per", "command"]) == 0
    assert "# marked regions" in capsys.readouterr().out
    assert main(["topdown", "--replay", path, "--per", "core"]) != 0
    assert "record --tables topdown" in capsys.readouterr().err
