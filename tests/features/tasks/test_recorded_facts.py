"""Recorded facts of tasks beside their counts: /proc, ancestry, waits."""

from __future__ import annotations

import csv
import io
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import NOON, SECOND, frames, machine, topology_of_cpus

from turbotui import recording
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.cli import main
from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.live import facts_of
from turbotui.features.tasks.loads import SampledLoads
from turbotui.features.tasks.process_tree import Ancestry
from turbotui.features.tasks.recorded_tasks import NOT_RECORDED, RECORDED_BY, TaskRecord, task_record, tasks_of
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.screen import TasksScreen
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.waits import Waits
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.host import HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.tasks.group_names import group_name
from turbotui.machine.tasks.load_records import LoadCounts, Served
from turbotui.machine.tasks.proc_facts import Stat, TaskFacts, TaskKey
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.recording.recorder import Recorder
from turbotui.recording.tiers import TEN_SECONDS

GOLDEN = Path(__file__).parents[2] / "recording" / "golden"
TOPOLOGY = topology_of_cpus(range(2))
MODEL = machine(TOPOLOGY).model
UNIT = group_name(("/system.slice/nightly.service",))
WHY = Unavailable(Reason.NOT_PERMITTED, "tracepoints", "run as root")
STAT = Stat("sh", "S", 1, 0, kernel=False, priority=20, nice=0, policy="OTHER", threads=2, memory=9 << 20, ran=250,
            allowed="0-3,8")
SHELL = TaskFacts(STAT, "sh", "sh -c 'make ␛[2J'", "ann", UNIT)
MAKE = TaskFacts(Stat("make", "R", 7, 0, kernel=False, priority=-2, nice=0, policy="FIFO", threads=3), "make",
                 "make -j 4", "ann", None)
FACTS: Mapping[TaskKey, TaskFacts] = {
    (7, None): SHELL, (7, 7): SHELL, (7, 8): replace(SHELL, stat=replace(STAT, name="", state="D", nice=5)),
    (9, None): MAKE, (9, 9): MAKE}
BORN = Ancestry({9: 7, 7: 1}, {7: "sh", 1: "init"})


def row(pid: int | None, tid: int | None, name: str, waits: Waits | None = None) -> TaskRow:
    return TaskRow(pid, tid, name, 1, (0, 1), 1, {"switches": 3, "run": 500}, 2, {0: 500}, 5000, incomplete=False,
                   application=EVERYTHING[0].name, waits=waits)


def waits(number: int) -> Waits:
    return Waits(WaitSums(900 + number, 3, 800, 2, 100, 50, 10**8, lengths={40 + number: 2, 700: 1}), 1000, 4, "cc1",
                 "futex", None, WHY, behind=(("cc1", 500), ("ld", number)), lost=number % 2)


def made_record(number: int) -> TaskRecord:
    rows = {Grouping.THREAD: (row(7, 8, "sh", waits(number)), row(7, 7, "sh", replace(waits(number), waited=None)),
                              row(9, 9, "make")),
            Grouping.PROCESS: (row(7, None, "sh", waits(number)), row(9, None, "make")),
            Grouping.COMMAND: (row(None, None, "sh"), row(None, None, "make"))}
    report = Report(EVERYTHING[0], seconds=1.0, names=("switches", "run"), waits_lost=number)
    return TaskRecord(NOON + number * SECOND, number * SECOND, {by: (replace(report, rows=rows[by]),)
                                                                for by in RECORDED_BY}, {}, FACTS, BORN)


def sums(row: TaskRow) -> Waits | None:
    """The waits of a row without what version 1 did not have of single waits."""
    return None if row.waits is None else replace(row.waits, behind=(), lost=0, why_no_lengths=None)


def lengths(row: TaskRow) -> object:
    return None if row.waits is None or row.waits.waited is None else row.waits.waited.lengths


def again(record: TaskRecord) -> TaskRecord:
    return task_record(unpacked(packed(record.facts()), "tasks"), record.wall_ns, MODEL)


def test_facts_ancestry_and_waits_are_the_same_again() -> None:
    record, back = made_record(3), again(made_record(3))
    assert back.facts_seen == record.facts_seen
    assert back.ancestry == BORN
    for by in RECORDED_BY:
        [report], [other] = record.reports[by], back.reports[by]
        assert [sums(each) for each in other.rows] == [sums(each) for each in report.rows]
        assert [each.waits and (each.waits.behind, each.waits.lost) for each in other.rows] == [
            each.waits and (each.waits.behind, each.waits.lost) for each in report.rows]
        assert [lengths(each) for each in other.rows] == [lengths(each) for each in report.rows]
        assert other.waits_lost == 3
    assert back.looks.at(9) == MAKE
    assert back.looks.at(12) is NOT_RECORDED


def test_names_with_line_breaks_still_fill_one_line() -> None:
    record = made_record(3)
    torn = "sh␊rm -rf ~␉"
    seen = {**FACTS, (7, None): replace(SHELL, process=torn, arguments=f"sh -c {torn}")}
    report = record.reports[Grouping.PROCESS][0]
    rows = (replace(report.rows[0], name=torn), report.rows[1])
    reports = {**record.reports, Grouping.PROCESS: (replace(report, rows=rows),)}
    back = again(replace(record, facts_seen=seen, ancestry=Ancestry({9: 7}, {7: torn}), reports=reports))
    assert back.facts_seen is not None
    assert back.facts_seen[7, None].arguments == f"sh -c {torn}"
    assert back.facts_seen[7, None].process == torn
    assert back.ancestry is not None
    assert back.ancestry.names == {7: torn}
    assert [row.name for row in back.reports[Grouping.PROCESS][0].rows] == [torn, "make"]


def test_a_recording_without_them_says_so_and_one_with_more_is_read() -> None:
    document = dict(unpacked(packed(made_record(1).facts()), "tasks").value)  # type: ignore[call-overload] # a dict
    document |= {"later": [1], "facts": {**document["facts"], "later": {"a": 1}}}
    assert task_record(JsonValue(document, "tasks"), 1, MODEL).facts_seen == FACTS
    del document["facts"], document["ancestry"]
    old = task_record(JsonValue(document, "tasks"), 1, MODEL)
    assert (old.facts_seen, old.ancestry) == (None, Ancestry())
    assert old.looks.at(7) is NOT_RECORDED


def test_long_command_lines_are_cut_and_a_group_is_written_once() -> None:
    many: dict[TaskKey, TaskFacts] = {(pid, None): replace(SHELL, arguments="x" * 9999) for pid in range(300)}
    facts = replace(made_record(1), facts_seen=many).facts()["facts"]
    assert isinstance(facts, dict)
    assert {len(fact) for fact in facts["processes"]["arguments"]} == {256}
    assert len(facts["groups"]) == 1


def test_what_a_document_claims_is_damage_or_is_shown() -> None:
    facts, chosen, damaged = packed(made_record(1).facts()), random.Random(3), 0
    for _ in range(600):
        document = unpacked(facts, "tasks").value
        assert isinstance(document, dict)
        inner: object = document[chosen.choice(("facts", "ancestry"))] if chosen.random() < 0.7 else (
            document["applications"][0]["rows"][chosen.choice(("thread", "process"))]["waits"])
        while True:
            assert isinstance(inner, dict | list)
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = chosen.choice(keys)
            deeper = inner[key]
            if not isinstance(deeper, dict | list) or chosen.random() < 0.3:
                inner[key] = chosen.choice((None, [], {}, -1, "x", 2**62, 0.5, True, [None], ["", 1]))
                break
            inner = deeper
        try:
            record = task_record(JsonValue(document, "tasks"), 1, MODEL)
            assert all(isinstance(task_facts, TaskFacts) for task_facts in (record.facts_seen or {}).values())
        except DamagedError:
            damaged += 1
    assert damaged > 300


def written(path: Path, ticks: int, recorder: Recorder | None = None) -> None:
    recorder = recorder or Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(ticks, TOPOLOGY):
        recorder.take(frame)
        recorder.rows(made_record(frame.seq))
    recorder.close()


def test_a_tier_adds_waits_up_and_keeps_what_was_said_last(tmp_path: Path) -> None:
    path = tmp_path / "tier.ttj"
    written(path, 21, Recorder(str(path), machine(TOPOLOGY), tier=TEN_SECONDS, sync_seconds=0.0))
    with recording.read(str(path)) as journal:
        frame = list(journal.frames())[-1]
        record = tasks_of(journal.rows, frame, journal.machine.model, Grouping.PROCESS)
    assert record is not None
    [report] = record.reports[Grouping.PROCESS]
    result = next(task_row.waits for task_row in report.rows if task_row.pid == 7)
    assert result is not None
    assert result.waited is not None
    assert result.waited.queued == sum(900 + number for number in range(11, 21))
    assert result.waited.longest == 800
    assert (result.delay, result.pusher, result.sleeping) == (10_000, "cc1", "futex")
    assert record.facts_seen == FACTS


@pytest.mark.parametrize("path", [GOLDEN / "version1.task_facts.ttj"])
def test_they_are_read_of_a_file_of_version_1_for_ever(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with recording.read(str(path)) as journal:
        for frame in list(journal.frames())[1:]:
            record = tasks_of(journal.rows, frame, journal.machine.model, Grouping.THREAD)
            assert record is not None
            without = {task: replace(facts, stat=replace(facts.stat, threads=None, memory=None, ran=None, allowed=None))
                       for task, facts in FACTS.items()}
            assert (record.facts_seen, record.ancestry) == (without, BORN)
            kept = record.reports[Grouping.THREAD][0].rows
            assert [sums(item) for item in kept] == [sums(item) for item in made_record(frame.seq).reports[
                Grouping.THREAD][0].rows]
            assert all(task_row.waits is None or task_row.waits.why_no_lengths is not None for task_row in kept)
    assert main(["tasks", "--replay", str(path), "--by", "thread", "--format", "csv", "-n", "1"]) == 0
    rows = {(item["pid"], item["tid"]): item for item in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    thread = rows["7", "8"]
    assert (thread["S"], thread["User"], thread["Group"], thread["Nice"]) == ("D", "ann", "nightly.service", "5")
    assert (thread["PushedBy"], thread["WaitMax"], thread["Storage%"]) == ("cc1", "0.001", "")
    assert (rows["9", "9"]["Args"], rows["9", "9"]["Wait%"]) == ("make -j 4", "")
    assert main(["tasks", "--replay", str(path), "--by", "unit", "--format", "csv", "-n", "1"]) == 0
    units = [item["unit"] for item in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert units == ["(ended, its group was not seen)", "nightly.service"]


def test_a_recording_that_lacks_groups_says_that_and_not_that_tasks_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--replay", str(GOLDEN / "version1.tasks.ttj"), "--by", "unit", "--format", "csv"]) == 0
    assert {item["unit"] for item in csv.DictReader(io.StringIO(capsys.readouterr().out))} == {
        "(groups were not recorded)"}


async def test_the_screen_shows_the_tree_the_users_and_the_waits_of_a_recording() -> None:
    with recording.read(str(GOLDEN / "version1.task_facts.ttj")) as journal:
        player = Player(TimeCursor(JournalPast(journal), live=False))
        player.cursor.go_to(0)
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
        async with app.run_test(size=(200, 36)) as pilot:
            await pilot.press("7", "t", "t")
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, TasksScreen)
            assert screen.view.tree
            table = screen.tables[0]
            assert [(str(line.row), line.depth) for line in table.lines] == [
                ("all/1/", 0), ("all/7/", 1), ("all/9/", 2)]
            drawn = "\n".join("".join(segment.text for segment in table.render_line(y))
                              for y in range(table.size.height))
            for text in ("ann", "nightly.service", "make -j 4"):
                assert text in drawn
            await pilot.press("t", "t")
            await pilot.pause()
            assert screen.view.by is Grouping.UNIT
            content = table.content
            assert content is not None
            assert [inputs.row.name for line in table.lines if (inputs := content.get(line.row))] == [
                "(ended, its group was not seen)", "nightly.service"]


@pytest.mark.real
def test_this_machine_s_processes_are_looked_up_and_their_number_is_bounded() -> None:
    host = LinuxHost()
    assert host.kind is HostKind.REAL
    watching = WatchedApplications(read_machine(host), live=True)
    try:
        me = os.getpid()
        report = Report(EVERYTHING[0], rows=(row(me, None, "me"), row(1, None, "init")))
        threads = Report(EVERYTHING[0], rows=(row(me, me, "me"),))
        result = facts_of(watching, [report], [threads])
        assert result[me, None].stat.parent == os.getppid()
        assert result[me, me] == result[me, None]
        assert set(facts_of(watching, [report], [threads], most=1)) == {(me, None), (me, me)}
    finally:
        watching.close()


@pytest.mark.real
def test_waits_are_recorded_where_they_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "waits.ttj")
    assert main(["record", path, "--tables", "waits", "-i", "0.2", "-n", "4"]) == 0
    said = capsys.readouterr().err
    if "no tasks" in said:
        pytest.skip(said)
    with recording.read(path) as journal:
        records = [record for frame in journal.frames()
                   if (record := tasks_of(journal.rows, frame, journal.machine.model, Grouping.THREAD)) is not None]
        assert records[-1].reports[Grouping.THREAD][0].waits_lost is not None
        assert any(each.waits is not None for item in records for report in item.reports[Grouping.THREAD]
                   for each in report.rows)
        assert any(item.facts_seen for item in records)
        assert any(item.ancestry.parents for item in records)


def sampled(*numbers: int) -> SampledLoads:
    return SampledLoads(LoadCounts([*numbers, *[0] * (len(Served) - len(numbers))], 3, 900, 300_000))


def record_of_loads(number: int, *loads: SampledLoads | None) -> TaskRecord:
    """A record whose rows have these sampled loads, and the first ones once more."""
    record, said = made_record(number), f"loads: {number} samples"
    return replace(record, reports={
        by: tuple(replace(item, sampling=said, rows=tuple(
            replace(each, sampled=value) for each, value in zip(item.rows, (*loads, *loads), strict=False)))
            for item in reports) for by, reports in record.reports.items()})


def test_sampled_loads_are_the_same_again_and_add_up() -> None:
    record = record_of_loads(1, sampled(4, 2), sampled(7), None)
    back = again(record)
    for by in RECORDED_BY:
        [report], [other] = record.reports[by], back.reports[by]
        assert [each.sampled for each in other.rows] == [each.sampled for each in report.rows]
        assert other.sampling == "loads: 1 samples"
    both = record.plus(record_of_loads(2, sampled(1), None, sampled(5))).reports[Grouping.THREAD][0]
    result = {each.tid: each.sampled for each in both.rows}
    assert result[8] == SampledLoads(LoadCounts([5, 2, *[0] * 6], 6, 1800, 600_000))
    assert (result[7], result[9]) == (None, None)  # of a part of the time nothing is known


def test_why_loads_were_not_sampled_is_recorded() -> None:
    refused = SampledLoads(why=WHY)
    for by in RECORDED_BY:
        [report] = again(record_of_loads(1, refused, refused, refused)).reports[by]
        assert {each.sampled for each in report.rows} == {refused}
    assert all(each.sampled is None for each in again(made_record(1)).reports[Grouping.THREAD][0].rows)


@pytest.mark.parametrize("change", [("served", {}), ("timed", [1]), ("why", ["x"]), ("cycles", ["a", "b", "c"])])
def test_damaged_loads_are_damage(change: tuple[str, object]) -> None:
    document = unpacked(packed(record_of_loads(1, *[sampled(3)] * 3).facts()), "tasks").value
    assert isinstance(document, dict)
    document["applications"][0]["rows"]["thread"]["sampled"][change[0]] = change[1]
    with pytest.raises(DamagedError):
        task_record(JsonValue(document, "tasks"), 1, MODEL)


def test_a_replay_has_the_columns_of_loads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "loads.ttj"
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(3, TOPOLOGY):
        recorder.take(frame)
        recorder.rows(replace(record_of_loads(frame.seq, sampled(75, 25), sampled(1), None),
                              wall_ns=frame.newer.wall_ns))
    recorder.close()
    assert main(["tasks", "--replay", str(path), "--format", "csv", "-n", "1"]) == 0
    rows = {item["tid"]: item for item in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert (rows["8"]["LoadLat"], rows["8"]["LoadL1%"], rows["8"]["LoadBuf%"]) == ("300", "75.0", "25.0")
    assert rows["9"]["LoadL1%"] == ""
    assert main(["tasks", "--replay", str(path), "-n", "1"]) == 0
    assert "loads: 1 samples" in capsys.readouterr().out
