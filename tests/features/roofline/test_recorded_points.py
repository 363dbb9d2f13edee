"""`turbotui roofline --replay`: the points of a recording are those of its frames."""

from __future__ import annotations

from pathlib import Path

import jsontables
import pytest
from patience import least_disturbed
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.cli import main
from turbotui.features.roofline.engine import place_recorded
from turbotui.features.roofline.live import read_points
from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.recording.recorder import Recorder


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    result = str(tmp_path_factory.mktemp("roofline") / "r.ttj")
    machine, live = frames_of_machine("sapphire-2s+calculix", 4, cpus=frozenset({0, 1, 5}), small=True)
    recorder = Recorder(result, machine, sync_seconds=0.0)
    for frame in live:
        recorder.take(frame)
    recorder.close()
    return result


def test_points_are_those_of_the_frames(path: str) -> None:
    sizing = Sizing(WidthModel.MIX)
    machine, live = frames_of_machine("sapphire-2s+calculix", 4, cpus=frozenset({0, 1, 5}), small=True)
    definitions = measured_definitions(live[0].capabilities.signals)
    with recording.read(path) as journal:
        result = place_recorded(journal.machine, journal.frames(), journal.capabilities, journal.catalog, sizing=sizing)
    assert result.kind.value == "RECORDED"
    assert len(result.points) == 4
    for frame, point in zip(live[1:], result.points, strict=True):
        (then,) = read_points(frame, [(SYSTEM_ROW, "machine")], definitions, sizing, seconds=0.0).points
        assert (point.gflops, point.gbytes, point.intensity) == (then.gflops, then.gbytes, then.intensity)
    assert result.points[0].gflops > 0
    assert machine.topology.cpus == (0, 1, 5)


def test_the_verb_prints_them_in_every_format_for_a_time(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "csv", "json"):
        assert main(["roofline", "--replay", path, "--format", form]) == 0
        assert "RECORDED" in capsys.readouterr().out, form
    assert main(["roofline", "--replay", path, "--format", "json", "--every", "2s"]) == 0
    result = jsontables.table(capsys.readouterr().out, "roofline")
    assert (result["kind"], len(result["rows"])) == ("RECORDED", 2)


def test_a_recording_without_its_events_says_how_to_have_them(
    tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str],
) -> None:
    bare = str(tmp_path / "bare.ttj")
    assert main(["record", bare, "--machine", "sapphire-2s", "-c", "0", "-i", "0.05", "-n", "1", "-s", "Busy%"]) == 0
    assert main(["roofline", "--replay", bare]) != 0
    assert "turbotui record -e roofline" in capsys.readouterr().err
    assert main(["record", bare, "--machine", "sapphire-2s", "-c", "0", "-i", "0.1", "-n", "2", "-e", "roofline"]) == 0
    assert main(["roofline", "--replay", bare, "--from=-0.15s"]) == 0
    assert main(["roofline", "--replay", path, "-c", "0"]) == 2
    assert "leave --cpu" in capsys.readouterr().err
    assert main(["roofline", "--machine", "sapphire-2s", "--to", "last"]) == 2


@pytest.mark.parametrize("tables", [(), ("--tables", "uncore")], ids=["its own", "among all"])
@least_disturbed
def test_the_memory_s_traffic_is_recorded_with_its_columns(
    tmp_path: Path, tables: tuple[str, ...], capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(tmp_path / "m.ttj")
    Path(file).unlink(missing_ok=True)
    # one CPU of each package: a busy machine does not read all 224 in an interval, and traffic of late ones is unknown
    words = ("--machine", "sapphire-2s", "-c", "0,56", "-i", "0.5", "-n", "2", "-e", "roofline", *tables)
    assert main(["record", file, *words]) == 0
    assert main(["roofline", "--replay", file, "--json"]) == 0
    result = jsontables.table(capsys.readouterr().out, "working")
    with recording.read(file) as journal:
        machine = journal.machine
        there, bare = MemoryTraffic(machine, journal.definitions()), MemoryTraffic(machine, ())
        moved = seconds = 0.0
        for frame in journal.frames():
            by_package = there.read(frame)
            assert len(by_package) == (0 if frame.older is None else 2)
            assert bare.read(frame) == {}
            if frame.seconds is not None:
                moved, seconds = moved + sum(by_package.values()) / 1e9 * frame.seconds, seconds + frame.seconds
    assert moved > 0.0
    assert [row["values"]["memory"] for row in result["rows"]] == [pytest.approx(moved / seconds, rel=1e-3)]
    assert (there.sources(), bare.document) == ((), "")
