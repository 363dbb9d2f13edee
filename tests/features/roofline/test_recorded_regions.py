"""Regions of a recorded command: points of their own on screen 6, and in `roofline --replay`."""

from __future__ import annotations

from pathlib import Path

import jsontables
import pytest
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.cli import main
from turbotui.features.roofline.screen import RooflineScreen
from turbotui.features.tasks.region_totals import CountedRegion, KindCounts, RegionRecord, RegionTotals
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.recording.recorder import Recorder

NAME = "sapphire-2s+calculix"
CPUS = frozenset({0, 1, 60})
SECONDS = 2.0


def region(name: str, definition: MetricDefinition, scale: float) -> CountedRegion:
    """A region in which every event of a definition was counted so often."""
    counts = {event.key: scale for event in definition.events}
    kind = KindCounts(definition.slug, 4e9, 3e9, (SetInterval(SECONDS, 4e9, counts),))
    return CountedRegion(name, 5, SECONDS, 0.0, 1.5e9, kinds=(kind,))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    result = str(tmp_path_factory.mktemp("regions") / "r.ttj")
    machine, live = frames_of_machine(NAME, 4, cpus=CPUS)
    (definition,) = measured_definitions(live[0].capabilities.signals)
    recorder = Recorder(result, machine, sync_seconds=0.0)
    for frame in live:
        recorder.take(frame)
        totals = RegionTotals(4.0, 2.5e9, (region("solve", definition, 1e9), region("write 絵", definition, 1e8),
                                           CountedRegion("brief", 1)), lost=frame.seq)
        recorder.rows(RegionRecord(frame.newer.wall_ns, frame.newer.started_ns, totals))
    recorder.close()
    return result


def test_a_replay_places_the_regions_as_they_were_at_the_end(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["roofline", "--replay", path, "--format", "json"]) == 0
    rows = {row["region"]: row["values"] for row in jsontables.table(capsys.readouterr().out, "regions")["rows"]}
    assert rows["solve"]["GFLOP/s"] == pytest.approx(10 * rows["write 絵"]["GFLOP/s"])
    assert rows["solve"]["AI"] == pytest.approx(rows["write 絵"]["AI"])
    assert rows["brief"]["GFLOP/s"] is None
    assert rows["solve"]["open"] == SECONDS
    assert main(["roofline", "--replay", path]) == 0
    assert "A solve" in capsys.readouterr().out


def test_regions_that_nothing_was_counted_of_have_their_times(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = str(tmp_path / "r.ttj")
    machine, live = frames_of_machine("guest", 3)
    recorder = Recorder(result, machine, sync_seconds=0.0)
    for frame in live:
        recorder.take(frame)
        totals = RegionTotals(4.0, 2.5e9, (CountedRegion("solve", 5, SECONDS), CountedRegion("write", 1, 0.5)))
        recorder.rows(RegionRecord(frame.newer.wall_ns, frame.newer.started_ns, totals))
    recorder.close()
    assert main(["roofline", "--replay", result, "--format", "json"]) == 0
    rows = {row["region"]: row["values"] for row in jsontables.table(capsys.readouterr().out, "regions")["rows"]}
    assert {name: (values["open"], values["GFLOP/s"]) for name, values in rows.items()} == {
        "solve": (SECONDS, None), "write": (0.5, None)}
    assert main(["roofline", "--replay", result]) == 0
    assert "operations and bytes are not known: virtual machine" in capsys.readouterr().out


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_regions_are_points_with_names_beside_those_of_cores(path: str, size: tuple[int, int]) -> None:
    with recording.read(path) as journal:
        player = Player(TimeCursor(JournalPast(journal), live=False))
        player.cursor.go_to(1)
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player)
        async with app.run_test(size=size) as pilot:
            await pilot.press("6")
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, RooflineScreen)
            names = [point.name for point in screen.view.points]
            assert {"solve", "write 絵"} <= set(names)
            assert len(names) > 2  # cores, too
            drawn = screen.roof_plot.text
            assert "solve" in drawn
            assert "write ?" in drawn or size[0] == 80
            assert len({len("".join(text for text, _ in line)) for line in screen.roof_plot.segments}) == 1
            screen.table.select("region solve")
            await pilot.pause()
            assert screen.readout().startswith("solve: ")
            await pilot.press("right", "e")
            await pilot.pause()
            assert isinstance(app.screen, Explain)
            said = app.screen.copied()
            assert "entered: 5 times" in said
            assert "since the command's first mark" in said
