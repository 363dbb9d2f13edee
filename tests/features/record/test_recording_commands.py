# ruff: noqa: S603 - the program under test is run with words of these tests
"""`turbotui record`, and `stat --replay` of the result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import jsontables
import pytest
from patience import PATIENCE
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.cli import main
from turbotui.commands.recording import kept_answers
from turbotui.dataclass import dataclass
from turbotui.features.doctor.model import diagnose
from turbotui.features.info.model import configuration
from turbotui.features.record.engine import record
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.recording.recorded_tables import RecordedTables, RowRecorder
from turbotui.recording.recorder import Recorder
from turbotui.recording.rotation import Retention, RotatingRecorder
from turbotui.recording.rows import IntervalRows
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.simulated import simulated_host
from turbotui.sources import SOURCES

PROGRAM = (sys.executable, "-m", "turbotui")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("recorded") / "laptop.ttj")
    machine, live = frames_of_machine("laptop", 5, cpus=frozenset({0, 1, 12}))
    recorder = Recorder(path, machine, kept=kept_answers(machine))
    for frame in live:
        recorder.take(frame)
    recorder.mark("here")
    recorder.close()
    return path


def test_a_recording_is_printed_in_every_format_and_says_so(
    recorded: str, capsys: pytest.CaptureFixture[str],
) -> None:
    for form in ("text", "table", "csv", "json", "openmetrics"):
        assert main(["stat", "--replay", recorded, "-q", "--format", form]) == 0
        assert "RECORDED" in capsys.readouterr().out, form
    assert main(["stat", "--replay", recorded, "-q", "-S", "-s", "Busy%,PkgWatt", "--format", "json"]) == 0
    result = jsontables.tables(capsys.readouterr().out)
    assert len(result) == 5
    assert {item["kind"] for item in result} == {"RECORDED"}
    assert all(0 < item["rows"][0]["values"]["Busy%"] <= 100 for item in result)


def test_times_and_longer_intervals(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["stat", "--replay", recorded, "-q", "-S", "-s", "Busy%", "--format", "json"]
    assert main([*words, "--from", "+2.5s", "--to", "-0.5s"]) == 0
    assert len(jsontables.tables(capsys.readouterr().out)) == 2
    assert main([*words, "--every", "2s"]) == 0
    assert [table["seconds"] for table in jsontables.tables(capsys.readouterr().out)] == [2.0, 2.0, 1.0]
    assert main([*words, "-n", "3"]) == 0
    assert len(jsontables.tables(capsys.readouterr().out)) == 3
    assert main([*words, "--from", "noon"]) == 1
    assert "no time" in capsys.readouterr().err
    assert main(["stat", "--every", "2s"]) == 1
    assert "go with --replay" in capsys.readouterr().err
    assert main([*words, "--machine", "laptop"]) == 1
    assert "leave --machine out" in capsys.readouterr().err


def test_a_time_of_full_resolution_alone_limits_it(tmp_path: Path) -> None:
    path = tmp_path / "a.ttj"
    assert main(["record", str(path), "--machine", "guest", "-n", "2", "-i", "0.1", "--full", "2s"]) == 0
    assert any(item.name.startswith("a.ttj.10s.") for item in tmp_path.iterdir())
    assert any(item.name.startswith("a.ttj.60s.") for item in tmp_path.iterdir()), "as long as there is room"


def test_the_configuration_of_a_recording_is_that_of_its_machine(recorded: str) -> None:
    machine, _live = frames_of_machine("laptop", 1, cpus=frozenset({0, 1, 12}))
    with recording.read(recorded) as journal:
        assert configuration(journal.machine) == configuration(machine)
        assert [event.text for event in journal.events() if event.kind == "mark"] == ["here"]


def test_info_and_doctor_tell_of_a_recording(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--replay", recorded]) == 0
    assert "RECORDED" in capsys.readouterr().out
    assert main(["doctor", "--replay", recorded, "--format", "json"]) == 0
    result = jsontables.table(capsys.readouterr().out, "sources")
    assert result["kind"] == "RECORDED"
    machine, _live = frames_of_machine("laptop", 1, cpus=frozenset({0, 1, 12}))
    live = diagnose(machine, probe_sources(machine, SOURCES))
    assert {name: row["state"] for name, row in jsontables.by(result, "source").items()} == {
        report.id: report.state.value for report in live.sources}
    assert main(["info", "--replay", recorded, "--machine", "laptop"]) == 2
    assert "leave --machine" in capsys.readouterr().err


def test_columns_that_are_named_and_cannot_be_recorded_are_told(tmp_path: Path,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--machine", "guest", "-n", "1", "-i", "0.05", "--show", "IRQ,PkgWatt", "--add",
                 "uncore_gone/clockticks/", str(tmp_path / "run.ttj")]) == 0
    text = [line for line in capsys.readouterr().err.splitlines() if " is not recorded: " in line]
    assert sorted(line.split()[1] for line in text) == ["PkgWatt", "clockticks"]


def test_a_command_is_recorded_and_its_status_returned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "run.ttj")
    assert main(["record", path, "-i", "0.05", "--", "sh", "-c", "sleep 0.3; exit 3"]) == 3
    assert "readings" in capsys.readouterr().err
    with recording.read(path) as journal:
        assert len(list(journal.frames())) >= 2, "where the command began and where it ended"


def test_an_interrupted_recording_ends_whole_and_marks_are_in_it(tmp_path: Path) -> None:
    path = tmp_path / "night.ttj"
    words = [*PROGRAM, "record", str(path), "--machine", "laptop-old", "-i", "0.05"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        assert "Ctrl-C" in process.stderr.readline()
        while not path.exists() or not _readings(path):
            assert process.poll() is None
        process.send_signal(signal.SIGUSR1)
        while not _marks(path):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert _marks(path) == 1


def _readings(path: Path) -> int:
    try:
        with recording.read(str(path)) as journal:
            return sum(1 for _frame in journal.frames())
    except recording.RecordingError:
        return 0


def _marks(path: Path) -> int:
    with recording.read(str(path)) as journal:
        return sum(event.kind == "mark" for event in journal.events())


def test_what_is_old_is_kept_at_lower_resolution_and_removed_at_last(tmp_path: Path) -> None:
    path = str(tmp_path / "days.ttj")
    machine, live = frames_of_machine("guest", 240, seconds=2.0, columns=("Busy%",))
    retention = Retention(seconds=240.0, full_seconds=60.0)
    recorder = RotatingRecorder(path, machine, retention)
    largest = 0
    for frame in live:
        recorder.take(frame)
        largest = max(largest, len(list(tmp_path.iterdir())))
    recorder.close()
    last = live[-1].newer.wall_ns
    with recording.read(path) as journal:
        frames = list(journal.frames())
        tiers = {time.seconds for time in journal.covered()}
        age = (journal.last_ns - journal.first_ns) / 1e9
    assert tiers == {0.0, 10.0}
    assert 240.0 <= age <= 240.0 * (1 + 1 / 6)
    fine = [frame for frame in frames if last - frame.newer.wall_ns <= 58e9]
    assert len(fine) == 30
    assert all(frame.seconds == 2.0 for frame in fine)
    coarse = [frame for frame in frames if last - frame.newer.wall_ns > 90e9]
    assert {frame.seconds for frame in coarse if frame.older is not None} == {10.0}
    assert len({frame.newer.wall_ns for frame in frames}) == len(frames)
    assert largest <= 2 * 13 + 1


@pytest.mark.parametrize(("retention", "spans"), [
    (Retention(86_400.0), {"full": 1800.0, "10s": 28_800.0, "60s": 86_400.0}),
    (Retention(7200.0), {"full": 1800.0, "10s": 7200.0}),
    (Retention(600.0), {"full": 600.0}),
    (Retention(86_400.0, 43_200.0), {"full": 43_200.0, "60s": 86_400.0}),
    (Retention(3600.0, 7200.0), {"full": 3600.0}),
])
def test_tiers_are_kept_until_a_coarser_one_takes_over(retention: Retention, spans: dict[str, float]) -> None:
    assert {tier.name: seconds for tier, seconds in retention.tiers()} == spans


def test_no_more_is_kept_than_was_said(tmp_path: Path) -> None:
    path = str(tmp_path / "little.ttj")
    machine, live = frames_of_machine("guest", 300, columns=("Busy%",))
    recorder = RotatingRecorder(path, machine, Retention(most_bytes=400_000, full_seconds=30.0))
    for frame in live:
        recorder.take(frame)
    assert recorder.size <= 400_000 * 1.2
    recorder.close()
    with recording.read(path) as journal:
        assert journal.frame_at(live[-1].newer.wall_ns) is not None


@dataclass(frozen=True)
class LateRecord(IntervalRows):
    """An interval of `LateRows`."""

    stream = 1

    def facts(self) -> dict[str, object]:
        return {}


class LateRows(RowRecorder):
    """Rows that arrive when the next tick is waiting for them, or is recorded already."""

    def __init__(self, log: TickLog) -> None:
        super().__init__(log)
        self._log = log
        self._answering: list[threading.Thread] = []

    def settle(self) -> None:
        self._log.go_on.set()
        super().settle()

    def end_interval(self, frame: Frame) -> None:
        if frame.older is not None:
            self._asked = True
            self._log.go_on.clear()
            self._answering.append(threading.Thread(target=self._answer, args=frame.clocks))
            self._answering[-1].start()

    def stop(self) -> None:
        self.settle()
        for thread in self._answering:
            thread.join()

    def _answer(self, wall_ns: int, started_ns: int) -> None:
        assert self._log.go_on.wait(PATIENCE)
        self._record(LateRecord(wall_ns, started_ns))
        self._taken.release()


class TickLog:
    """A recorder that keeps the wall clocks of ticks and of rows in the order in which they come."""

    size = 0

    def __init__(self) -> None:
        self.came: list[tuple[str, int]] = []
        self.failures: dict[str, str] = {}
        self.go_on = threading.Event()

    def take(self, frame: Frame) -> None:
        self.came.append(("tick", frame.newer.wall_ns))
        self.go_on.set()

    def rows(self, rows: IntervalRows) -> None:
        if isinstance(rows, LateRecord):
            self.came.append(("rows", rows.wall_ns))

    def lost(self, frames: int) -> None:
        self.came.append(("lost", frames))

    def mark(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


def test_rows_of_a_tick_are_recorded_before_the_next_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of a stream waits for the next tick, and has then what belongs to the interval."""
    log = TickLog()
    late = RecordedTables({}, recorders=lambda request: request.made.append(LateRows(log)))
    monkeypatch.setattr("turbotui.features.record.engine.known_tables", lambda: (late,))
    session = Session(read_machine(simulated_host("laptop-old")), SOURCES, 0.05, LinuxHost())
    session.want(["Busy%"])
    record(session, log, intervals=4)
    ticks = [wall for what, wall in log.came if what == "tick"]
    assert log.came == [("tick", ticks[0]), *(pair for wall in ticks[1:] for pair in (("tick", wall), ("rows", wall)))]
