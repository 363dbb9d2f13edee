"""A fleet in a recording: readings are restored, damage is reported, verb and screen replay it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fleetbed import fleet_answer, nodes, stub
from hypothesis import given
from hypothesis import strategies as st
from jsontables import tables

from turbotui.cli import main
from turbotui.features.fleet.engine import FleetQuestion, FleetReader
from turbotui.features.fleet.fleet_app import FleetApp
from turbotui.features.fleet.model import FleetCost, FleetNode, FleetReading
from turbotui.features.fleet.opening import NodeOpener
from turbotui.features.fleet.recorded import FleetRecord, reading_of, recorded_reading
from turbotui.features.fleet.replaying import replayed_fleet
from turbotui.features.fleet.screen import FleetScreen
from turbotui.features.fleet.server import Server, ServerAccess
from turbotui.features.fleet.session import FleetSession
from turbotui.recording import read
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import packed, unpacked
from turbotui.recording.recorder import Recorder
from turbotui.recording.rows import RecordedRows
from turbotui.sampling.frame import Frame
from turbotui.untrusted import in_cell, visible
from turbotui.widgets.segment_lines import SegmentLines

QUESTION = FleetQuestion()
TEXTS = st.text(max_size=8).map(lambda text: in_cell(visible(text)))  # as the server's answers are read


def _again(record: FleetRecord, change: Callable[[dict[str, object]], object] = lambda _facts: None) -> FleetReading:
    facts = dict(record.facts())
    change(facts)
    return recorded_reading(RecordedRows(record.wall_ns, unpacked(packed(facts), "record 7")), QUESTION)


NODES = st.builds(FleetNode, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3),
                  st.dictionaries(st.sampled_from(["Busy%", "CoreTmp", "Bzy_MHz"]), st.floats(-1e6, 1e6)),
                  gone=st.booleans())


@given(st.lists(NODES, max_size=6, unique_by=lambda node: node.name))
def test_a_reading_is_read_again(found: list[FleetNode]) -> None:
    reading = FleetReading("http://x", found, 5, 120.0, ("partial",), FleetCost(1, 2, 3, 4.0), {"Busy%": "up"})
    again = _again(FleetRecord(5, 6, reading))
    assert {node.name: (node.labels, node.values, node.gone) for node in again.nodes} == {
        node.name: (node.labels, node.values, node.gone) for node in found}
    assert (again.server, again.notes, again.queries, again.recorded) == (
        "http://x", ("partial",), {"Busy%": "up"}, True)


@pytest.mark.parametrize("change", [
    lambda facts: facts.pop("name"),
    lambda facts: facts.update(gone=[]),
    lambda facts: facts.update(values={"Busy%": [1.0]}),
    lambda facts: facts.update(values={"Busy%": ["x", 1.0, 2.0]}),
    lambda facts: facts.update(labels=7),
])
def test_damage_is_a_sentence(change: Callable[[dict[str, object]], object]) -> None:
    fleet_nodes = [FleetNode(name, {}, values) for name, values in nodes(3).items()]
    record = FleetRecord(5, 6, FleetReading("x", fleet_nodes, 5, 1.0, (), FleetCost(1, 2, 3, 4.0), {}))
    with pytest.raises(DamagedError, match="record 7"):
        _again(record, change)


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """A recording of three readings: the hot node is n0, n1, n2."""
    path = str(tmp_path / "fleet.ttj")
    values: dict[str, Mapping[str, float]] = dict(nodes(8))
    with stub(fleet_answer(values)) as server:
        session = FleetSession(FleetReader(Server(ServerAccess(server.url)), QUESTION), 1.0)
        session._on_frame = (frames := list[Frame]()).append
        recorder = Recorder(path, session.machine)
        for at in range(3):
            values.update(nodes(8, **{f"n{at}": {"CoreTmp": 95.0}}))
            session._ask()
            reading = session.reading(frames[-1])
            assert reading is not None
            recorder.take(frames[-1])
            recorder.rows(FleetRecord(frames[-1].newer.wall_ns, frames[-1].newer.started_ns, reading))
        recorder.close()
    return path


def test_the_verb_tells_of_a_recording(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "--replay", recording, "--json"]) == 0
    last = tables(capsys.readouterr().out)[0]
    assert last["kind"] == "RECORDED"
    assert last["rows"][0]["node"] == "n2"
    assert main(["fleet", "--replay", recording, "-n", "3", "--top", "1", "--show", "Odd"]) == 0
    # the first reading ends no interval
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("n")] == ["n1", "n2"]
    assert main(["fleet", "check", "--replay", recording, "--hotter", "10"]) == 7
    assert main(["fleet", "check", "--replay", recording, "--slower", "5"]) == 0
    assert main(["fleet", "--replay", recording, "--prometheus", "http://x:1"]) == 2


@pytest.mark.parametrize("words", [
    ("stat", "--replay"), ("power", "--replay"), ("why", "--replay"), ("doctor", "--replay"), ("diff",)])
def test_other_verbs_say_which_one_tells_of_it(recording: str, words: tuple[str, ...],
                                               capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, recording, *([recording] if words == ("diff",) else [])])
    output = capsys.readouterr()
    assert not output.out
    assert f"turbotui fleet --replay {recording}" in output.err


def test_nodes_are_read_of_a_file_of_version_1_for_ever() -> None:
    with read(str(Path(__file__).parents[2] / "recording" / "golden" / "version1.fleet.ttj")) as journal:
        first, second, third = (reading_of(journal.rows, frame, QUESTION) for frame in journal.frames())
        assert journal.check() == ()
    assert first is None
    assert second is not None
    assert third is not None
    assert (third.server, third.window, third.notes, third.queries, third.recorded) == (
        "http://x:1", 120.0, ("partial",), {"Busy%": "up"}, True)
    assert {node.name: (node.labels, node.values, node.gone) for node in third.nodes} == {
        "n0 é": ({"model": "made", "rack": "7"}, {"CoreTmp": 52.0, "Busy%": 12.5}, False),
        "n1": ({"model": "made"}, {"CoreTmp": 95.0}, False), "n2": ({}, {}, True)}
    assert next(node.values for node in second.nodes if node.name == "n0 é") == {"CoreTmp": 51.0, "Busy%": 12.5}


def test_a_recording_of_a_machine_holds_no_fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "machine.ttj")
    assert main(["record", path, "--machine", "guest", "-i", "0.05", "-n", "3"]) == 0
    capsys.readouterr()
    assert main(["fleet", "--replay", path, "-n", "1"]) == 1
    assert "holds no fleet" in capsys.readouterr().err


async def test_the_screen_steps_through_a_recording(recording: str) -> None:
    with read(recording) as journal:
        session, player = replayed_fleet(journal, QUESTION)
        app = FleetApp(session, NodeOpener(), player=player)
        async with app.run_test(size=(120, 36)) as pilot:
            while not isinstance(app.screen, FleetScreen) or app.screen.table.content is None:
                await pilot.pause(0.01)
            screen = app.screen
            assert screen.table.lines[0].row == (False, "n2")
            await pilot.press("comma")
            while screen.table.lines[0].row != (False, "n1"):
                await pilot.pause(0.01)
            assert "RECORDED" in screen.query_one("#banner", SegmentLines).text


def test_a_reading_that_is_added_to_is_the_later_one() -> None:
    reading = FleetReading("x", (), 5, 1.0, (), FleetCost(1, 2, 3, 4.0), {})
    first, later = FleetRecord(5, 6, reading), FleetRecord(7, 8, replace(reading, wall_ns=7))
    assert first.plus(later) is later
