"""`turbotui export --format trace`, read by the published schema: the values are those of the recording's frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import NOON, SECOND, frames, machine, topology_of_cpus
from tracefiles import Trace, read_trace
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.cli import main
from turbotui.features.export.model import RecordedTime, named_columns
from turbotui.features.export.trace_export import TraceExport, thinned
from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.recorded_tasks import RECORDED_BY, TaskRecord
from turbotui.features.tasks.region_totals import CountedRegion, RegionRecord, RegionTotals
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import TaskRow
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame
from turbotui.tables.trace_events import TraceRoom

COLUMNS = ("Busy%", "Bzy_MHz", "PkgWatt", "CoreTmp", "Governor")


def recorded(folder: Path, made: Sequence[Frame], *, shape: str = "laptop-old", intervals: int = 12) -> str:
    """A recording of a simulated machine, without the frames that are not in `made`."""
    path = str(folder / "run.ttj")
    machine_of, _frames = frames_of_machine(shape, intervals, columns=COLUMNS)
    recorder = Recorder(path, machine_of, sync_seconds=0.0)
    for frame in made:
        recorder.take(frame)
    recorder.close()
    return path


def traced(path: str, capsys: pytest.CaptureFixture[str], *words: str) -> Trace:
    assert main(["export", "--from", path, "--format", "trace", *words]) == 0
    return read_trace(capsys.readouterr().out)


def value_at(samples: Sequence[tuple[float, float]], us: float) -> float:
    """What a counter shows at a moment: its last sample."""
    return [value for at, value in samples if at <= us + 1e-3][-1]


def test_a_counter_shows_what_the_frame_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mean stands over its interval, a reading from its tick on."""
    path = recorded(tmp_path, frames_of_machine("laptop-old", 12, columns=COLUMNS)[1])
    trace = traced(path, capsys, "--columns", ",".join(COLUMNS))
    with recording.read(path) as journal:
        known = [frame for frame in journal.frames() if frame.older is not None]
    columns = catalog_for(known[-1].capabilities.signals).by_id
    began = known[0].older.wall_ns if known[0].older is not None else 0
    compared = 0
    for frame in known:
        assert frame.older is not None
        middle, end = ((ns - began) / 1e3 for ns in (
            (frame.older.wall_ns + frame.newer.wall_ns) // 2, frame.newer.wall_ns))
        for name, scope, at in (("Busy%", Scope.CPU, middle), ("PkgWatt", Scope.PACKAGE, middle),
                                ("CoreTmp", Scope.CORE, end)):
            for row in frame.rows(scope):
                title = f"{name} {scope.value} {row.key[-1]}"
                assert value_at(trace.counters[title], at) == pytest.approx(
                    frame.cell(columns[name], row), rel=1e-6), title
                compared += 1
    assert compared > 100
    assert {event["name"] for event in trace.slices["cpus", "Governor cpu 0: unknown or marked"]} == {"powersave"}
    assert trace.facts["kind"] == "RECORDED"
    assert trace.facts["was"] == "SIMULATED"
    assert trace.facts["began_ns"] == str(began)
    assert trace.instants[-1]["name"] == "end of the trace"
    assert trace.instants[-1]["ts"] == pytest.approx((known[-1].newer.wall_ns - began) / 1e3)


def test_an_unknown_value_is_a_gap_with_its_reason_and_no_sample(tmp_path: Path,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    made = list(frames_of_machine("laptop-old", 12, columns=COLUMNS)[1])
    hidden = (5, 6)
    for at in hidden:
        newer = made[at].newer
        values = {name: [None if name == "mperf" and cpu == 3 else value for cpu, value in enumerate(column)]
                  for name, column in newer.values.items()}
        made[at] = Frame(made[at].older, replace(newer, values=values), made[at].capabilities)
    trace = traced(recorded(tmp_path, made), capsys, "--columns", "Busy%")
    name = f"Busy% cpu {made[0].rows(Scope.CPU)[3].key[-1]}"
    (gap,) = trace.slices["cpus", f"{name}: unknown or marked"]
    assert gap["name"] == "unknown"
    assert gap["args"]["why"]
    began = made[0].newer.wall_ns
    # an interval needs both of its readings
    assert gap["ts"] == pytest.approx((made[4].newer.wall_ns - began) / 1e3)
    assert gap["ts"] + gap["dur"] == pytest.approx((made[7].newer.wall_ns - began) / 1e3)
    inside = [at for at, _value in trace.counters[name]
              if gap["ts"] <= at < gap["ts"] + gap["dur"] - 1]
    assert not inside, "no number stands where none is known"
    assert len(trace.slices) == 1


def test_time_without_readings_is_a_gap_of_every_counter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = frames_of_machine("laptop-old", 12, columns=COLUMNS)[1]
    path = recorded(tmp_path, made[:5])
    machine_of, _frames = frames_of_machine("laptop-old", 12, columns=COLUMNS)
    recorder = Recorder(path, machine_of, sync_seconds=0.0)
    for frame in made[9:]:
        recorder.take(frame)
    recorder.close()
    trace = traced(path, capsys, "--columns", "Busy%")
    began = made[0].newer.wall_ns
    for cpu in range(8):
        (gap,) = trace.slices["cpus", f"Busy% cpu {cpu}: unknown or marked"]
        assert gap["name"] == "unknown"
        assert gap["args"] == {"why": "nothing was recorded"}
        assert (gap["ts"], gap["dur"]) == pytest.approx(
            ((made[4].newer.wall_ns - began) / 1e3, (made[9].newer.wall_ns - made[4].newer.wall_ns) / 1e3))


def test_a_sum_that_lacks_a_part_is_marked_and_no_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = list(frames_of_machine("laptop-old", 12, columns=COLUMNS)[1])
    newer = made[6].newer
    values = {name: [None if name == "mperf" and cpu == 3 else value for cpu, value in enumerate(column)]
              for name, column in newer.values.items()}
    made[6] = Frame(made[6].older, replace(newer, values=values), made[6].capabilities)
    path = recorded(tmp_path, made)
    trace = traced(path, capsys, "--columns", "Busy%", "--by", "machine")
    with recording.read(path) as journal:
        known = [frame for frame in journal.frames() if frame.older is not None]
    busy = catalog_for(known[0].capabilities.signals).by_id["Busy%"]
    of_parts = [frame for frame in known if frame.bare_cells(busy, (SYSTEM_ROW,)) == [None]]
    assert len(of_parts) == 2
    assert all(frame.cell(busy, SYSTEM_ROW) is not None for frame in of_parts)
    noted = trace.slices["machine", "Busy%: unknown or marked"]
    assert noted[0]["name"] == f"partial: {busy.amount(of_parts[0].cell(busy, SYSTEM_ROW))}"  # type: ignore[arg-type]
    assert noted[0]["args"]["why"]
    lengths = sum(item["dur"] for item in noted)
    assert lengths == pytest.approx(2e6)


def test_a_large_recording_is_thinned_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Intervals are joined, so that a counter's samples are means of longer intervals, and none is left out."""
    path = recorded(tmp_path, frames_of_machine("laptop-old", 60, columns=COLUMNS)[1], intervals=60)
    with recording.read_machine(path) as journal:
        time = RecordedTime(journal, journal.first_ns, journal.last_ns, 0.0)
        columns = named_columns(journal, ["Busy%", "CoreTmp"], None)
        assert not thinned(time, columns).words
        room = TraceRoom(60_000)
        limits = thinned(time, columns, room)
        assert limits.seconds > 1.0
        export = TraceExport("m", columns, replace(time, every=limits.seconds), limits)
        lines = [line for frame in replace(time, every=limits.seconds).frames() for line in export.interval(frame)]
        lines += export.end("")
        coarse = [frame for frame in journal.frames(every=limits.seconds) if frame.older is not None]
    text = "\n".join(lines)
    assert len(text) < room.size
    trace = read_trace(text)
    assert trace.facts["thinned"] == [limits.words]
    assert f"trace: {limits.words}" in capsys.readouterr().err
    assert "joined to" in limits.words
    busy = catalog_for(coarse[0].capabilities.signals).by_id["Busy%"]
    for frame in coarse:
        assert frame.older is not None
        middle = ((frame.older.wall_ns + frame.newer.wall_ns) // 2 - time.begin_ns) / 1e3
        assert value_at(trace.counters["Busy% cpu 0"], middle) == pytest.approx(
            frame.cell(busy, frame.rows(Scope.CPU)[0]), rel=1e-6)


def thread(tid: int, name: str, ns: int, loads: Mapping[int, int], **others: object) -> TaskRow:
    made = TaskRow(tid, tid, name, 1, tuple(loads), max(loads, default=-1), {"switches": 1, "run": ns}, 0, dict(loads),
                   ns, incomplete=False, application="all")
    return replace(made, **others)  # type: ignore[arg-type] # of its fields


def with_tasks(folder: Path) -> str:
    """Four intervals of a second on two CPUs, each with tasks and the regions of a command."""
    path, topology = str(folder / "tasks.ttj"), topology_of_cpus(range(2))
    recorder = Recorder(path, machine(topology), sync_seconds=0.0)
    for frame in frames(5, topology):
        recorder.take(frame)
        rows = (thread(8, "gcc", 900_000_000, {0: 600, 1: 300}), thread(9, "ld\x1b[2J", 300_000_000, {0: 1}),
                thread(10, "short", 50_000_000, {1: 5}, incomplete=True), thread(11, "nowhere", 7, {}))
        report = Report(EVERYTHING[0], seconds=1.0, names=("switches", "run"), rows=rows)
        recorder.rows(TaskRecord(NOON + frame.seq * SECOND, frame.seq * SECOND, dict.fromkeys(RECORDED_BY, (report,))))
        opened = 0.25 * frame.seq
        recorder.rows(RegionRecord(NOON + frame.seq * SECOND, frame.seq * SECOND, RegionTotals(
            float(frame.seq), regions=(CountedRegion("solve", frame.seq, opened),))))
    recorder.close()
    return path


def test_threads_are_on_the_tracks_of_their_cpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_tasks(tmp_path)
    trace = traced(path, capsys, "--columns", "Busy%")
    first, second = trace.slices["threads by CPU", "cpu 0"], trace.slices["threads by CPU", "cpu 1"]
    assert [(item["name"], item["ts"], item["dur"]) for item in first[:3]] == [
        ("gcc", 0.0, 600_000.0), ("ld\x1b[2J", 600_000.0, 300_000.0), ("gcc", 1_000_000.0, 600_000.0)]
    assert [(item["name"], item["dur"], item["args"].get("marks", "")) for item in second[:2]] == [
        ("gcc", 300_000.0, "estimated"), ("short", 50_000.0, "partial")]
    assert any("when it ran within the interval is not recorded" in note for note in trace.facts["notes"])
    assert any("whose CPU was not recorded" in note for note in trace.facts["notes"])
    regions = trace.slices["regions", "solve"]
    assert [(region["ts"], region["dur"], region["args"]) for region in regions[-2:]] == [
        (at * 1e6, 250_000.0, {"entered": 1}) for at in (2, 3)]


def test_threads_for_which_there_is_no_room_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The CPU time of a track stays what it was."""
    path = with_tasks(tmp_path)
    with recording.read_machine(path) as journal:
        time = RecordedTime(journal, journal.first_ns, journal.last_ns, 0.0)
        columns = named_columns(journal, ["Busy%"], None)
        export = TraceExport("m", columns, time, replace(thinned(time, columns), slices=1))
        lines = [line for frame in time.frames() for line in export.interval(frame)]
        trace = read_trace("\n".join([*lines, *export.end("")]))
    names = [item["name"] for item in trace.slices["threads by CPU", "cpu 0"]]
    assert names[:3] == ["gcc", "(other threads)", "gcc"]
    assert sum(item["dur"] for item in trace.slices["threads by CPU", "cpu 0"]) == pytest.approx(4 * 900_000.0)
    assert any("are joined to (other threads)" in words for words in trace.facts["thinned"])
    assert "joined to (other threads)" in capsys.readouterr().err


def test_tasks_alone_are_a_trace_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_tasks(tmp_path)
    assert main(["tasks", "--replay", path, "--timeline", "--format", "trace", "-n", "2"]) == 0
    trace = read_trace(capsys.readouterr().out)
    assert not trace.counters
    assert [item["name"] for item in trace.slices["threads by CPU", "cpu 0"]] == ["gcc", "ld\x1b[2J"] * 2


@pytest.mark.parametrize(("words", "said"), [
    (["export", "--format", "trace", "--elapsed", "--from"], "a trace has columns"),
    (["export", "--format", "trace", "--columns", "Busi%", "--from"], "did you mean Busy%"),
    (["tasks", "--format", "trace", "--replay"], "give --timeline too"),
    (["tasks", "--timeline", "--replay"], "leave --timeline out"),
])
def test_what_is_refused_is_one_sentence(words: list[str], said: str, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, with_tasks(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_marks_are_instants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = frames_of_machine("laptop-old", 12, columns=COLUMNS)[1]
    path = str(tmp_path / "run.ttj")
    recorder = Recorder(path, frames_of_machine("laptop-old", 12, columns=COLUMNS)[0], sync_seconds=0.0)
    for frame in made:
        recorder.take(frame)
        if frame.seq == made[4].seq:
            recorder.mark("the fan stopped\x1b[2J")
    recorder.close()
    names = [event["name"] for event in traced(path, capsys, "--columns", "Busy%").instants]
    assert "mark: the fan stopped\x1b[2J" in names
