"""Recorded threads of a top-down analysis: restored, added up, replayed, damaged."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from test_threads_truth import ThreadBed
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.cli import main
from turbotui.commands.recording import open_recorder
from turbotui.features.topdown.counter_parts import PartCount
from turbotui.features.topdown.recorded_threads import ThreadRecord, thread_record, threads_of
from turbotui.features.topdown.screen import TopdownScreen
from turbotui.features.topdown.thread_counters import ThreadCounts, ThreadInterval
from turbotui.features.topdown.thread_rows import thread_rows
from turbotui.features.topdown.thread_search import CountedThread
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.sampling.frame import Frame
from turbotui.widgets.segment_lines import SegmentLines

WHY = Unavailable(Reason.NOT_PERMITTED, "belongs to another user", "run as root")


@pytest.fixture(scope="module")
def bed() -> ThreadBed:
    return ThreadBed("sapphire-2s", 1, 2)


@pytest.fixture(scope="module")
def interval(bed: ThreadBed) -> ThreadInterval:
    value, _truth = bed.measured(0.2)
    first, *others = value.threads
    return replace(value, threads=(replace(first, counts={**first.counts, ("cpu", "frontend"): WHY}), *others),
                   left_out=3, refused={WHY: 2}, user_only=True)


def again(record: ThreadRecord) -> ThreadRecord:
    return thread_record(unpacked(packed(record.facts()), "threads"), record.wall_ns)


def test_rows_are_the_same_again(bed: ThreadBed, interval: ThreadInterval) -> None:
    back = again(ThreadRecord(7, 5, interval)).interval
    assert back == interval
    branches = bed.counters.branches
    for row, other in zip(thread_rows(branches, interval), thread_rows(branches, back), strict=True):
        assert (row.place, row.counts, row.ran, row.whys, row.busy) == (
            other.place, other.counts, other.ran, other.whys, other.busy)


def part(value: float, enabled: float = 10.0, running: float = 10.0, *names: str) -> tuple[PartCount, ...]:
    return (PartCount(dict.fromkeys(names or ("slots",), value), enabled, running),)


def test_intervals_add_up_and_what_stood_in_one_of_them_is_brought_to_both(interval: ThreadInterval) -> None:
    thread = interval.threads[0].thread
    other = interval.threads[1].thread
    first = ThreadInterval((ThreadCounts(thread, {("cpu", ""): part(100), ("cpu", "old"): part(4)}),
                            ThreadCounts(other, {("cpu", ""): part(1)})), 1.0, 2)
    later = ThreadInterval((ThreadCounts(thread, {("cpu", ""): part(300), ("cpu", "backend"): part(8, 10.0, 5.0),
                                                  ("cpu", "frontend"): WHY}),), 2.0, 1, {WHY: 1})
    both = ThreadRecord(1, 1, first).plus(ThreadRecord(2, 2, later)).interval
    assert (both.seconds, both.left_out, both.refused) == (3.0, 2, {WHY: 1})
    selected = both.threads[0].counts
    assert selected["cpu", ""] == part(400, 20.0, 20.0)
    assert selected["cpu", "backend"] == part(8, 20.0, 5.0)  # it stood in the first: a quarter of the time was counted
    assert selected["cpu", "old"] == part(4, 20.0, 10.0)
    assert selected["cpu", "frontend"] is WHY
    assert both.threads[1] == first.threads[1]
    deeper = ThreadInterval((ThreadCounts(thread, {("cpu", ""): part(50, 10.0, 10.0, "slots", "fetch")}),), 1.0)
    [joined] = ThreadRecord(1, 1, replace(first, threads=first.threads[:1])).plus(ThreadRecord(2, 2, deeper)
                                                                                  ).interval.threads
    assert joined.counts["cpu", ""] == part(50, 20.0, 10.0, "slots", "fetch")


def test_what_a_document_claims_is_damage_or_is_shown(interval: ThreadInterval) -> None:
    facts, chosen, damaged = packed(ThreadRecord(1, 1, replace(interval, threads=interval.threads[:3])).facts()), (
        random.Random(5)), 0
    for _ in range(400):
        document = unpacked(facts, "threads").value
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
            thread_record(JsonValue(document, "threads"), 1)
        except DamagedError:
            damaged += 1
    assert damaged > 200


def written(path: Path, bed: ThreadBed, interval: ThreadInterval | None) -> Path:
    """A recording of an interval, with its threads or without."""
    recorder = open_recorder(str(path), bed.machine, None)
    frame, _truth = bed.interval()
    assert frame.older is not None
    recorder.take(Frame(None, frame.older, frame.capabilities))
    recorder.take(frame)
    if interval is not None:
        recorder.rows(ThreadRecord(frame.newer.wall_ns, frame.newer.started_ns, interval))
    recorder.close()
    return path


@pytest.fixture(scope="module")
def recorded(bed: ThreadBed, interval: ThreadInterval, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("threads") / "threads.ttj", bed, interval)


@pytest.fixture(scope="module")
def without_threads(bed: ThreadBed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("none") / "none.ttj", bed, None)


def test_a_recording_shows_its_threads_in_every_format(
        recorded: Path, interval: ThreadInterval, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topdown", "--replay", str(recorded), "--threads", "--level", "2", "--format", "json"]) == 0
    [table] = map(json.loads, capsys.readouterr().out.splitlines())
    assert table["kind"] == "RECORDED"
    assert {row["tid"] for row in table["rows"]} == {counts.thread.tid for counts in interval.threads}
    ran = [row["values"] for row in table["rows"] if row["values"]["GSlots"]]
    assert ran
    assert all(abs(item["Sum%"] - 100.0) < 2.0 for item in ran)
    assert any("3 more ran" in note for note in table["notes"])
    tid = interval.threads[0].thread.pid
    assert main(["topdown", "--replay", str(recorded), "--pid", str(tid + 1)]) == 0
    assert "GSlots" in capsys.readouterr().out
    assert main(["topdown", "--replay", str(recorded), "--per", "command"]) == 1
    assert "record --tables region-slots" in capsys.readouterr().err


def test_a_recording_without_threads_says_how_they_are_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    golden = Path(__file__).parents[2] / "recording" / "golden" / "version1.ttj"
    assert main(["topdown", "--replay", str(golden), "--threads"]) == 1
    assert "turbotui record --tables threads" in capsys.readouterr().err
    assert main(["record", "x.ttj", "--tables", "topdown,threads"]) == 2
    assert "would be multiplexed" in capsys.readouterr().err


def test_a_recording_of_threads_alone_shows_them_unasked(
        recorded: Path, interval: ThreadInterval, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "alone.ttj")
    machine, frames = frames_of_machine("sapphire-2s", 3, cpus=frozenset({0, 1}))
    recorder = open_recorder(path, machine, None)
    for frame in frames:
        recorder.take(frame)
        recorder.rows(ThreadRecord(frame.newer.wall_ns, frame.newer.started_ns, interval))
    recorder.close()
    assert main(["topdown", "--replay", path, "-n", "1", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert {row["tid"] for row in table["rows"]} == {counts.thread.tid for counts in interval.threads}
    assert main(["topdown", "--replay", str(recorded), "--json"]) == 0  # it has the slots of CPUs, too
    assert [len(json.loads(line)["rows"]) for line in capsys.readouterr().out.splitlines()] == [1]


async def test_the_screen_shows_the_threads_of_a_recording_and_what_is_below_level_1(
        recorded: Path, interval: ThreadInterval) -> None:
    with recording.read(str(recorded)) as journal:
        player = Player(TimeCursor(JournalPast(journal), live=False))
        player.cursor.go_to(0)
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.press("d", "t", "t", "t", "t")
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, TopdownScreen)
            content = screen.table.content
            assert content is not None
            ran = {counts.thread.tid for counts in interval.threads if any(
                isinstance(parts, tuple) and parts[0].running for parts in counts.counts.values())}
            assert {content.value_of("TID", row) for row in content.rows} == ran
            await pilot.press("enter")
            await pilot.pause()
            below = screen.query_one("#tree", SegmentLines).text
            assert " › " in below
            assert " % of slots" in below
            await pilot.press("b")
            await pilot.pause()
            assert screen.marked is not None


async def test_a_moment_without_threads_says_how_they_are_recorded(without_threads: Path) -> None:
    with recording.read(str(without_threads)) as journal:
        player = Player(TimeCursor(JournalPast(journal), live=False))
        player.cursor.go_to(0)
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.press("d", "t", "t", "t", "t")
            await pilot.pause()
            assert isinstance(app.screen, TopdownScreen)
            assert "turbotui record --tables threads" in app.screen.readout()


MADE = ThreadInterval((ThreadCounts(CountedThread(7, 8, "sh"), {
    ("cpu", ""): (PartCount({"slots": 400.0, "retired": 100.0}, 20.0, 10.0),), ("cpu", "backend"): WHY}),), 1.0, 3,
    {WHY: 2}, user_only=True)


def test_threads_are_read_of_a_file_of_version_1_for_ever() -> None:
    path = Path(__file__).parents[2] / "recording" / "golden" / "version1.regions_threads.ttj"
    with recording.read(str(path)) as journal:
        intervals = [threads_of(journal.rows, frame) for frame in journal.frames()]
    assert intervals == [None, MADE, MADE]
