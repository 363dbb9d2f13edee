# ruff: noqa: S603 - programs are run with words of these tests
"""Recorded tasks: every count as it was live, even in truncated or damaged files."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import jsontables
import pytest
from knownmachines import known_machine
from made_frames import NOON, SECOND, frames, machine, topology_of_cpus
from patience import PATIENCE

from turbotui import recording
from turbotui.cli import main
from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.process_tree import Ancestry
from turbotui.features.tasks.recorded_tasks import RECORDED_BY, TaskRecord, task_record
from turbotui.features.tasks.report import Apart, Report
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.waits import Waits
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.proc_facts import Stat, TaskFacts, TaskKey
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError, Record, RecordKind, RecordParser
from turbotui.recording.journal import Journal
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.recording.recorder import Recorder
from turbotui.recording.rows import TASKS_STREAM
from turbotui.recording.tiers import TEN_SECONDS
from turbotui.simulated import ManualClock, simulated_host

TOPOLOGY = topology_of_cpus(range(2))
GOLDEN = Path(__file__).parents[2] / "recording" / "golden" / "version1.tasks.ttj"
CHOICE = TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, 0, ())
NAMES = ("switches", "run", "cycles")


def row(pid: int | None, tid: int | None, name: str, run: int, **others: object) -> TaskRow:
    made = TaskRow(pid, tid, name, 1, (0, 1), 1, {"switches": 3, "run": run, "cycles": 2 * run}, 2,
                   {0: run, 1: run + 1}, 10 * run, incomplete=False, application="all")
    return replace(made, **others)  # type: ignore[arg-type] # of its fields


def made_record(number: int, loads: dict[int, int] | None = None) -> TaskRecord:
    """Tasks of interval `number` of `made_frames`, with these loads of the idle task."""
    rows = {
        Grouping.THREAD: (
            row(7, 8, "ä␛[2J", 1000 + number, guessed=True), row(7, 7, "", 500, incomplete=True, ended=True),
            row(9, 9, "late", 2**58, estimated=frozenset({"cycles"}), counts={"switches": 1, "run": 5}),
        ),
        Grouping.PROCESS: (row(7, None, "", 1500 + number, threads=2, by=Grouping.PROCESS),
                           row(9, None, "late", 5, by=Grouping.PROCESS)),
        Grouping.COMMAND: (row(None, None, "late", 1505 + number, threads=3, by=Grouping.COMMAND),),
    }
    report = Report(EVERYTHING[0], CHOICE, seconds=1.0 + number / 8, lost=number, names=NAMES,
                    apart={"idle": Apart({"run": 5 + number}, {1: number} if loads is None else loads)}, early=0.5,
                    used_ns=4)
    return TaskRecord(NOON + number * SECOND, number * SECOND,
                      {by: (replace(report, rows=rows[by]),) for by in RECORDED_BY})


def written(path: Path, ticks: int = 6, recorder: Recorder | None = None) -> None:
    recorder = recorder or Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(ticks, TOPOLOGY):
        recorder.take(frame)
        recorder.rows(made_record(frame.seq))
    recorder.close()


def again(record: TaskRecord, made_of: Machine) -> TaskRecord:
    stored = unpacked(packed(record.facts()), "tasks")
    return task_record(stored, record.wall_ns, made_of.model)


def test_what_is_joined_over_many_intervals_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks come and go: those that ran most are kept, the others counted."""
    monkeypatch.setattr("turbotui.features.tasks.recorded_tasks._MOST_JOINED", 3)
    joined = made_record(0)
    for number in range(1, 5):
        rows = (row(10 + number, 10 + number, "new", 2000 * number),)
        later = made_record(number)
        report = replace(later.reports[Grouping.THREAD][0], rows=rows)
        stat = Stat("new", "R", 1, 0, kernel=False, priority=20, nice=0, policy="")
        seen: dict[TaskKey, TaskFacts] = {(number, None): TaskFacts(stat, "new", "", "", None)}
        joined = joined.plus(replace(later, reports={Grouping.THREAD: (report,)}, left_out={Grouping.THREAD: (0,)},
                                     facts_seen=seen, ancestry=Ancestry({number: 1}, {number: "new"})))
        if number == 1:
            joined = replace(joined, left_out={Grouping.THREAD: (1,)})
    (report,) = joined.reports[Grouping.THREAD]
    assert [each.pid for each in report.rows] == [14, 13, 12]
    assert joined.left_out[Grouping.THREAD] == (4,)
    assert list(joined.facts_seen or {}) == [(4, None), (3, None), (2, None)]
    assert list(joined.ancestry.parents) == [4, 3, 2]


def same(item: TaskRecord, other: TaskRecord) -> bool:
    """Whether two records hold the same; what is not recorded is the timeline's and the multiplexed sets' alone."""
    def plain(record: TaskRecord) -> list[Report]:
        return [replace(report, sets=(), choice=None, numerics=replace(report.numerics, definition=None),
                        rows=tuple(replace(each, serials=frozenset(), ran=frozenset(), died=frozenset())
                                   for each in report.rows))
                for by in RECORDED_BY for report in record.reports[by]]

    def chosen(record: TaskRecord) -> list[tuple[Mode, SamplingMoment] | None]:
        return [None if (choice := report.choice) is None else (choice.mode, choice.when)
                for report in record.reports[Grouping.THREAD]]

    return item.wall_ns == other.wall_ns and plain(item) == plain(other) and chosen(item) == chosen(other)


def read_records(journal: Journal) -> list[TaskRecord]:
    return [task_record(rows.stored, rows.wall_ns, journal.machine.model)
            for rows in journal.rows(TASKS_STREAM, 0, 2**62)]


def test_made_records_are_the_same_again() -> None:
    assert same(again(made_record(3), machine(TOPOLOGY)), made_record(3))


def test_waits_that_lack_threads_are_recorded_as_such() -> None:
    record, why = made_record(3), Unavailable(Reason.NOT_PERMITTED, "no right to it")
    waits = [Waits(why_no_records=why, why_no_wakeups=why), Waits(None, 5, 1, why_no_records=why, delayed=0.25,
                                                                        delay_partial=True),
             Waits(None, 7, 1, why_no_records=why, partial=True, delay_partial=True)]
    [report] = record.reports[Grouping.THREAD]
    rows = tuple(replace(each, waits=wait) for each, wait in zip(report.rows, waits, strict=True))
    record = replace(record, reports={**record.reports, Grouping.THREAD: (replace(report, rows=rows),)})
    task_rows = again(record, machine(TOPOLOGY)).reports[Grouping.THREAD][0].rows
    read = [each.waits for each in task_rows]
    assert [(each.delay, each.partial, each.delay_partial) for each in read if each is not None] == [
        (None, False, False), (5, False, True), (7, True, True)]
    assert [each.delayed for each in read if each is not None] == [None, 0.25, None], "Wait% of the live table"
    assert {each.why_no_wakeups for each in read if each is not None} == {None}, "of the rows whose waits were read"


@pytest.mark.parametrize("shape", ["laptop", "sapphire-2s+tonto", "turin-2s", "grace-2s", "guest"])
def test_what_a_watcher_saw_is_the_same_again(shape: str) -> None:
    clock = ManualClock(50_000_000)
    watched = known_machine(simulated_host(shape, clock, seed=7))
    snapshots: list[TaskSnapshot] = []
    came = threading.Event()

    def publish(snapshot: TaskSnapshot) -> None:
        snapshots.append(snapshot)
        if snapshot.record is not None:
            came.set()

    watcher = TaskWatcher(watched, EVERYTHING, publish)
    watcher.start(SnapshotRequest())
    for number in range(1, 4):
        came.clear()
        clock.advance(1.0)
        watcher.snapshot(SnapshotRequest(Grouping.PROCESS, clocks=(number, number)))
        assert came.wait(PATIENCE)
    watcher.stop()
    records = [snapshot.record for snapshot in snapshots if snapshot.record is not None]
    assert [record.wall_ns for record in records] == [1, 2, 3]
    for record in records:
        assert set(record.reports) == set(RECORDED_BY)
        back = again(record, watched)
        assert same(back, record)
        for by in RECORDED_BY:
            for report, other in zip(record.reports[by], back.reports[by], strict=True):
                for task_row, theirs in zip(report.rows, other.rows, strict=True):
                    assert report.numerics.flops(task_row.counts) == other.numerics.flops(theirs.counts)
                    assert report.numerics.bytes(task_row.counts) == other.numerics.bytes(theirs.counts)
    assert any(record.reports[Grouping.THREAD][0].rows for record in records)


def test_tasks_stand_beside_the_ticks_and_are_found_by_their_interval(tmp_path: Path) -> None:
    path = tmp_path / "t.ttj"
    written(path)
    with recording.read(str(path)) as journal:
        assert [frame.seq for frame in journal.frames()] == list(range(6))
        assert journal.check() == ()
        found = read_records(journal)
        assert [one.wall_ns for one in found] == [NOON + at * SECOND for at in range(1, 6)]  # no interval before tick 0
        assert all(same(record, made_record(at)) for at, record in enumerate(found, 1))
        [third] = journal.rows(TASKS_STREAM, NOON + 2 * SECOND, NOON + 3 * SECOND)
        assert third.wall_ns == NOON + 3 * SECOND
        assert not list(journal.rows(2, 0, 2**62))


def test_a_reader_that_knows_no_rows_reads_everything_else(tmp_path: Path) -> None:
    """Version 1 says that records of other streams and of other kinds are left out."""
    path = tmp_path / "later.ttj"
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(6, TOPOLOGY):
        recorder.take(frame)
        for stream in (0, 5, 99):
            recorder._stream._put([(77, stream, b"later")])  # type: ignore[list-item] # of a later version
    recorder.close()
    with recording.read(str(path)) as journal:
        assert [frame.seq for frame in journal.frames()] == list(range(6))
        assert journal.check() == ()


def test_rows_of_a_later_session_do_not_end_the_first_one(tmp_path: Path) -> None:
    path = tmp_path / "t.ttj"
    written(path, 3)
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(4, TOPOLOGY, first=10):
        recorder.take(frame)
        recorder.rows(made_record(frame.seq))
    recorder.close()
    with recording.read(str(path)) as journal:
        assert [record.wall_ns for record in read_records(journal)] == [NOON + at * SECOND for at in (1, 2, 11, 12, 13)]


def test_a_tier_has_the_tasks_of_all_intervals_between_its_ticks(tmp_path: Path) -> None:
    path = tmp_path / "t.ttj"
    recorder = Recorder(str(path), machine(TOPOLOGY), tier=TEN_SECONDS, sync_seconds=0.0)
    written(path, 31, recorder)
    with recording.read(str(path)) as journal:
        records = read_records(journal)
        assert [record.wall_ns for record in records] == [NOON + at * SECOND for at in (10, 20, 30)]
    first = records[0].reports[Grouping.THREAD][0]
    assert first.seconds == sum(1.0 + at / 8 for at in range(1, 11))
    assert first.lost == 10
    assert first.apart == {"idle": Apart({"run": sum(5 + at for at in range(1, 11))}, {1: sum(range(1, 11))})}
    busy = next(task_row for task_row in first.rows if task_row.tid == 8)
    assert busy.counts["run"] == sum(1000 + at for at in range(1, 11))
    assert busy.loads == {0: busy.counts["run"], 1: busy.counts["run"] + 10}
    assert (busy.migrations, busy.whole_run, busy.guessed) == (20, 10 * 1010, True)
    assert next(task_row for task_row in first.rows if task_row.tid == 9).counts == {"switches": 10, "run": 50}


def test_every_flipped_bit_is_detected_or_harmless_and_ticks_need_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.ttj"
    written(path)
    whole = path.read_bytes()
    rows = [item for item in RecordParser().feed(whole) if isinstance(item, Record) and item.kind == RecordKind.ROWS]
    chosen = random.Random(4)
    inside = {record.offset + 28 + chosen.randrange(len(record.payload)) for record in rows for _ in range(6)}
    for at in sorted({*inside, *(record.offset + chosen.randrange(28) for record in rows for _ in range(4))}):
        path.write_bytes(bytes((*whole[:at], whole[at] ^ 1 << chosen.randrange(8), *whole[at + 1:])))
        with recording.read(str(path)) as journal:
            records = read_records(journal)
            assert all(same(record, made_record((record.wall_ns - NOON) // SECOND)) for record in records)
            ticks = len(list(journal.frames()))
            assert journal.check()
            if at in inside:  # its head says of which stream it is
                assert (len(records), ticks) == (4, 6)
            assert len(records) <= 4


def test_a_file_cut_off_anywhere_gives_every_whole_interval(tmp_path: Path) -> None:
    path = tmp_path / "t.ttj"
    written(path)
    whole = path.read_bytes()
    begins = whole.index(b"\xabTTJ", 3000)
    counts = []
    for size in (*sorted(random.Random(2).sample(range(begins, len(whole)), 40)), len(whole)):
        path.write_bytes(whole[:size])
        try:
            with recording.read(str(path)) as journal:
                records = read_records(journal)
        except recording.RecordingError:
            records = []  # not one tick is there yet
        assert all(same(record, made_record(at)) for at, record in enumerate(records, 1))
        counts.append(len(records))
    assert counts == sorted(counts)
    assert counts[-1] == 5


def test_what_a_document_claims_is_damage_or_is_shown() -> None:
    facts = JsonValue(unpacked(packed(made_record(1).facts()), "t").value, "tasks").value
    chosen = random.Random(1)
    wrong: tuple[object, ...] = (None, [], {}, -1, "x", 2**70, 0.5, [None], "0-99999999")
    damaged = 0
    for _ in range(400):
        copy = unpacked(packed(facts), "tasks").value  # type: ignore[arg-type]
        inner = copy
        while True:
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))  # type: ignore[arg-type]
            if not keys:
                break
            key = chosen.choice(keys)
            deeper = inner[key]  # type: ignore[index]
            if not isinstance(deeper, dict | list) or chosen.random() < 0.2:
                inner[key] = chosen.choice(wrong)  # type: ignore[index]
                break
            inner = deeper
        try:
            task_record(JsonValue(copy, "tasks"), 1, machine(TOPOLOGY).model)
        except DamagedError:
            damaged += 1
    assert damaged > 100


def test_a_killed_recorder_has_lost_no_interval_that_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "killed.ttj"
    words = [sys.executable, "-m", "turbotui", "record", str(path), "--machine", "laptop-old", "-i", "0.05",
             "--tables", "tasks", "-s", "Busy%"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, env=dict(os.environ)) as process:
        while _intervals(path) < 3:
            assert process.poll() is None
        before = _intervals(path)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    assert _intervals(path) >= before
    assert main(["tasks", "--replay", str(path), "-n", "1"]) == 0


def _intervals(path: Path) -> int:
    try:
        with recording.read(str(path)) as journal:
            return len(read_records(journal))
    except recording.RecordingError:
        return 0


def test_tasks_of_a_file_of_version_1_are_read_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    with recording.read(str(GOLDEN)) as journal:
        assert [same(item, made_record(at, loads={})) for at, item in enumerate(read_records(journal), 1)] == [True] * 3
    assert main(["tasks", "--replay", str(GOLDEN), "--format", "json", "--by", "process"]) == 0
    result = jsontables.tables(capsys.readouterr().out)
    assert [(item["kind"], item["seconds"]) for item in result] == [("RECORDED", 1.0 + at / 8) for at in (1, 2, 3)]
    assert result[0]["facts"]["lost_since_start"] == 1
    assert [(item["pid"], item["values"]["cycles"]) for item in result[2]["rows"]] == [(7, 3006), (9, 10)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("tasks") / "t.ttj")
    assert main(["record", path, "--machine", "laptop", "-i", "0.1", "-n", "6", "--tables", "tasks"]) == 0
    return path


def test_every_format_says_recorded(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "csv", "json", "openmetrics"):
        assert main(["tasks", "--replay", recorded, "--format", form]) == 0
        assert "RECORDED" in capsys.readouterr().out, form
    assert main(["tasks", "--replay", recorded, "--format", "csv", "--by", "command"]) == 0
    rows = list(csv.DictReader(line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")))
    assert {item["command"] for item in rows} >= {"background"}
    assert any(float(item["~J"]) > 0 for item in rows if item["~J"])


def test_longer_intervals_are_the_sums_of_shorter_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.ttj"
    written(path, 7)
    words = ["tasks", "--replay", str(path), "--format", "json", "--by", "process"]
    assert main(words) == 0
    short = jsontables.tables(capsys.readouterr().out)
    assert main([*words, "--every", "3s"]) == 0
    long = jsontables.tables(capsys.readouterr().out)
    assert (len(short), len(long)) == (6, 2)
    for at, table in enumerate(long):
        parts = short[3 * at:3 * at + 3]
        assert table["seconds"] == sum(part["seconds"] for part in parts)
        for row, *others in zip(table["rows"], *(part["rows"] for part in parts), strict=True):
            for name in ("cycles", "switches"):
                assert row["values"][name] == sum(other["values"][name] for other in others)


@pytest.mark.parametrize(("words", "why"), [
    (["--all"], "leave out what is to be watched"), (["-i", "2"], "--every"), (["--timeline"], "--timeline"),
    (["--machine", "guest"], "leave"), (["-n", "0"], "at least one"),
])
def test_what_a_recording_cannot_do_is_refused(
    words: list[str], why: str, recorded: str, capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tasks", "--replay", recorded, *words]) == 2
    assert why in capsys.readouterr().err


def test_a_recording_without_tasks_says_how_to_have_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "cpus.ttj")
    assert main(["record", path, "--machine", "guest", "-i", "0.05", "-n", "1"]) == 0
    assert main(["tasks", "--replay", path]) == 1
    assert "turbotui record --tables tasks" in capsys.readouterr().err
    assert main(["tasks", "--all", "--machine", "guest", "--every", "10s"]) == 2
    assert "go with --replay" in capsys.readouterr().err
