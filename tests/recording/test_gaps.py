"""Times without readings, in files and in the ring: a suspended machine, a changed clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from made_frames import NOON, SECOND, frames_of, machine, snapshot, topology_of_cpus

from turbotui import recording
from turbotui.recording.event_detection import Changes
from turbotui.recording.parts import paths_of
from turbotui.recording.recorder import Recorder
from turbotui.recording.rotation import Retention, RotatingRecorder
from turbotui.recording.rows import IntervalRows

TOPOLOGY = topology_of_cpus(range(2))
HOUR = 3600 * SECOND


def test_a_machine_that_slept_has_a_gap_and_no_clock_that_was_set(tmp_path: Path) -> None:
    """The wall clock goes on, and so do readings: its hardware may have counted on (`sampling/suspensions.py`)."""
    slept = [0]
    path = str(tmp_path / "slept.ttj")
    recorder = Recorder(path, machine(TOPOLOGY), sync_seconds=0.0, changes=Changes(lambda: slept[0]))
    late = [HOUR if number >= 5 else 0 for number in range(10)]
    live = frames_of([snapshot(number, TOPOLOGY, wall_ns=NOON + number * SECOND + late[number],
                               started_ns=number * SECOND + late[number]) for number in range(10)])
    for frame in live:
        slept[0] = HOUR if frame.seq >= 5 else 0
        recorder.take(frame)
    recorder.close()
    with recording.read(path) as journal:
        frames = list(journal.frames())
        assert [(gap.reason, gap.seconds, gap.wall_ns) for gap in journal.gaps()] == [
            ("suspend", 3600.0, NOON + 5 * SECOND + HOUR)]
        assert [frame.seconds for frame in frames[1:]] == [1.0] * 4 + [3601.0] + [1.0] * 4
        assert frames[5].deltas("work") == live[5].deltas("work")
        asleep = journal.frame_at(NOON + HOUR // 2)
        assert asleep is not None
        assert asleep.seq == 4, "a moment in the gap shows the last one before it"
        assert journal.last_ns - journal.first_ns == HOUR + 9 * SECOND


def test_a_clock_that_was_set_back_and_on_loses_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "set.ttj")
    recorder = Recorder(path, machine(TOPOLOGY), sync_seconds=0.0, changes=Changes(lambda: 0))
    for frame in frames_of([
        snapshot(number, TOPOLOGY, wall_ns=NOON + (number + {2: -100, 3: 50}.get(number // 5, 0)) * SECOND)
        for number in range(20)
    ]):
        recorder.take(frame)
    recorder.close()
    with recording.read(path) as journal:
        assert [(gap.reason, gap.seconds) for gap in journal.gaps()] == [("clock", -100.0), ("clock", 150.0)]
        assert [frame.seq for frame in journal.frames()] == list(range(20))
        assert all(frame.seconds == 1.0 for frame in journal.frames() if frame.older is not None)
        assert journal.check() == ()


@pytest.mark.parametrize("steps", [
    {5: -3600}, {5: 3600}, {5: 3600, 8: 0}, {5: -3600, 8: 0}, {5: -2}, {65: -3600}, {65: 90, 70: 20}, {1: 7200, 130: 0},
], ids=str)
def test_a_clock_that_was_set_hides_no_reading_from_those_who_ask_for_a_time(tmp_path: Path,
                                                                             steps: Mapping[int, int]) -> None:
    path, apart, walls = str(tmp_path / "set.ttj"), 0, list[int]()
    for number in range(140):
        apart = steps.get(number, apart)
        walls.append(NOON + (number + apart) * SECOND)
    recorder = Recorder(path, machine(TOPOLOGY), sync_seconds=0.0, changes=Changes(lambda: 0))
    for frame in frames_of([snapshot(number, TOPOLOGY, wall_ns=wall) for number, wall in enumerate(walls)]):
        recorder.take(frame)
    recorder.close()
    with recording.read(path) as journal:
        assert (journal.first_ns, journal.last_ns) == (min(walls), max(walls))
        assert [frame.seq for frame in journal.frames(journal.first_ns, journal.last_ns)] == list(range(140))
        assert list(journal.clocks()) == sorted({*walls})
        for begin, end in ((walls[3], walls[-2]), (walls[70], walls[100]), (walls[4], walls[6]),
                           (walls[-5], walls[-1])):
            wanted = [number for number, wall in enumerate(walls) if begin <= wall <= end]
            assert [frame.seq for frame in journal.frames(begin, end)] == wanted
        for wall in (walls[4], walls[90], walls[-1]):
            result = journal.frame_at(wall)
            assert result is not None
            assert (result.newer.wall_ns, result.seconds) == (wall, 1.0)


@dataclass(frozen=True, slots=True)
class Rows(IntervalRows):
    """Rows of a table that tell their interval."""

    stream: ClassVar[int] = 9

    def facts(self) -> Mapping[str, object]:
        return {"started": self.started_ns}


def test_rows_of_other_tables_are_recorded_after_the_clock_was_set_back(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.ttj")
    recorder = Recorder(path, machine(TOPOLOGY), sync_seconds=0.0, changes=Changes(lambda: 0))
    walls = [NOON + number * SECOND - (HOUR if number >= 5 else 0) for number in range(10)]
    for frame in frames_of([snapshot(number, TOPOLOGY, wall_ns=wall) for number, wall in enumerate(walls)]):
        recorder.take(frame)
        recorder.rows(Rows(frame.newer.wall_ns, frame.newer.started_ns))
    recorder.close()
    with recording.read(path) as journal:
        result = journal.rows(Rows.stream, journal.first_ns - 1, journal.last_ns)
        assert {rows.wall_ns for rows in result} == {*walls[1:]}, "the first tick has no interval"


def test_a_clock_that_was_set_back_does_not_end_the_limits_of_a_recording(tmp_path: Path) -> None:
    path = str(tmp_path / "long.ttj")
    recorder = RotatingRecorder(path, machine(TOPOLOGY), Retention(600.0, 600.0))
    walls = [NOON + number * SECOND - (100 * HOUR if number >= 5 else 0) for number in range(1500)]
    for frame in frames_of([snapshot(number, TOPOLOGY, wall_ns=wall) for number, wall in enumerate(walls)]):
        recorder.take(frame)
    recorder.close()
    with recording.read(path) as journal:
        frames = list(journal.frames())
    kept = [frame.seq for frame in frames]
    assert max(kept) == 1499
    assert {frame.seconds for frame in frames} == {None, 1.0}, "no interval goes back in time"
    assert 600 <= sum(seq >= 5 for seq in kept) <= 800


def test_what_happened_while_a_recording_went_on_to_its_next_file_is_in_it(tmp_path: Path) -> None:
    path = str(tmp_path / "long.ttj")
    recorder = RotatingRecorder(path, machine(TOPOLOGY), Retention(600.0, 600.0))
    missed = [replace(snapshot(number, TOPOLOGY), overruns=number) for number in range(200)]
    for frame in frames_of(missed):
        recorder.take(frame)
    recorder.close()
    assert len(paths_of(path)) > 2
    with recording.read(path) as journal:
        assert {gap.started_ns for gap in journal.gaps() if gap.reason == "missed"} == {
            tick.started_ns for tick in missed[1:]}
