"""`turbotui why`: the verdict first, exit statuses, formats, recordings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from watched_machines import frames_of_machine

from turbotui.cli import main
from turbotui.features.why.engine import watch_machine
from turbotui.machine.machine import read_machine
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES, simulated_host
from turbotui.simulated.causes import CAUSES
from turbotui.simulated.clock import RealClock

pytestmark = pytest.mark.usefixtures("few_cores")

QUICK = ("-i", "0.1", "-n", "2")
COLUMNS = ("Load%", "Busy%", "Bzy_MHz", "steal%", "iowait%", "irq%", "IRQ/s")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A minute of a laptop, on which one thread wanders from CPU to CPU."""
    machine, frames = frames_of_machine("laptop-old", 30, seconds=2.0, columns=COLUMNS)
    path = str(tmp_path_factory.mktemp("why") / "run.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    return path


def test_a_simulated_machine_says_so_before_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--machine", "guest", *QUICK]) in (0, 7)
    assert capsys.readouterr().out.startswith("# SIMULATED machine guest: nothing below was measured\n")


def test_an_interval_ends_before_its_time_where_a_signal_ended_the_work() -> None:
    def passed(frames: Iterable[Frame], _begin_ns: int, _end_ns: int, _what: str,
               interrupt: Callable[[], object]) -> Iterator[Frame]:
        for frame in frames:
            yield frame
            interrupt()

    report = watch_machine(read_machine(simulated_host("guest", RealClock(), 1)), 1, 1000.0, passed=passed)
    assert 0 < report.seconds < 1000


def test_the_status_says_whether_something_was_found(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["why", "--replay", recording, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["table"] == "findings"
    assert result["kind"] == "RECORDED"
    assert status == (7 if result["rows"] else 6)
    if result["rows"]:
        assert result["facts"]["verdict"] == result["rows"][0]["values"]["sentence"]


def test_a_span_of_a_recording_is_judged_as_a_whole(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["why", "--replay", recording, "--from=-40s", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["seconds"] == pytest.approx(40.0, abs=2.1)
    assert all(row["values"]["watched"] == pytest.approx(40.0, abs=2.1) for row in result["rows"])


def test_a_recording_of_one_reading_has_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict was that it waited for the first interval."""
    machine, frames = frames_of_machine("laptop-old", 1, seconds=2.0, columns=COLUMNS)
    path = str(tmp_path / "run.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    recorder.take(frames[0])
    recorder.close()
    assert main(["why", "--replay", path]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"turbotui: {path} holds one reading, and no interval yet\n"


def test_a_recording_without_the_readings_of_rules_is_unsure_and_says_why(
        recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["why", "--replay", recording, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert {"memory", "swapping", "idle-exits"} <= set(result["facts"]["blind"].split(", "))
    assert sum("memory pressure cannot be read here (memory not judged): not read: " in note
               for note in result["notes"]) == 1


@pytest.mark.parametrize("words", [("-n", "0"), ("-i", "soon"), ("--from", "-5m")])
def test_words_that_cannot_be_meant_are_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--machine", "guest", *words]) == 2
    assert capsys.readouterr().err.startswith("turbotui: ")


@pytest.mark.parametrize("name", ["guest-2cpu", "laptop-simulated"])
def test_on_a_copy_of_files_nothing_moves_and_nothing_is_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    machine = str(Path(__file__).parent.parent.parent / "machines" / f"{name}.tar.gz")
    assert main(["why", "--machine", machine, *QUICK]) == 6
    quiet = "Nothing found; .* cannot be read here .*: how busy the CPUs are is not known"
    assert re.search(quiet, capsys.readouterr().out)


BANDWIDTH = CAUSES["bandwidth"]
BESIDE = [cause.name for cause in CAUSES.values()
          if cause is not BANDWIDTH and not cause.at_odds(BANDWIDTH) and cause.where(SHAPES["forest-1s"])]


@pytest.mark.parametrize("name", ["", *BESIDE[::3]])
@pytest.mark.usefixtures("all_cores")
def test_memory_controllers_are_counted_beside_the_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--machine", f"forest-1s+bandwidth{f'+{name}' if name else ''}", "--json", *QUICK]) == 7
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["cause"] for row in rows[:2]} == {"bandwidth", name} - {""}
    assert "GB/s" in next(row["values"]["sentence"] for row in rows if row["cause"] == "bandwidth")


def test_tasks_are_named_behind_waits_and_wake_ups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--machine", "guest+memory+storage+interrupts", *QUICK]) == 7
    result = capsys.readouterr().out
    assert "compiling 30000 (session-3.scope, waits for storage)" in result
    assert "major faults/s)" in result
    assert "background 40000 (collectd.service, wakes " in result


@pytest.fixture
def own_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the settings of a user who reads temperatures in °F."""
    (tmp_path / "turbotui").mkdir()
    (tmp_path / "turbotui" / "settings.toml").write_text('[units]\ntemperature = "F"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.usefixtures("own_unit")
@pytest.mark.parametrize(("options", "unit", "other"), [((), "°F", "°C"), (("--json",), "°C", "°F")])
def test_sentences_for_people_are_in_their_unit(
        options: tuple[str, ...], unit: str, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--machine", "laptop+heat", *QUICK, *options]) == 7
    result = capsys.readouterr().out
    assert unit in result
    assert other not in result


@pytest.mark.usefixtures("own_unit")
def test_a_recording_is_shown_in_the_users_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine, frames = frames_of_machine("laptop+heat", 3, seconds=1.0, columns=(*COLUMNS, "PkgTmp", "TjMax", "PkgThr%"))
    path = str(tmp_path / "run.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    assert main(["why", "--replay", path]) == 7
    result = capsys.readouterr().out
    assert "tj_max 230 °F" in result
    assert "°C" not in result
