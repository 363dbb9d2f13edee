"""The last hour of a watched machine, and a recording that is made meanwhile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dashboard_driver import dashboard, text_of
from replayed_machine import Recording, ReplayedSession, recording

from turbotui.app.live_recorder import LiveRecorder, default_path
from turbotui.app.past import LivePast, past_events
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.signals import Raw, SignalId
from turbotui.recording import read
from turbotui.recording.framing import RecordingError
from turbotui.recording.recorder import Recorder
from turbotui.recording.stream_writer import Event, Gap
from turbotui.sampling.frame import Frame

COUNT = 12


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return recording("sapphire-2s", 20.0, COUNT, small=True)


def test_every_interval_is_there_as_it_was_and_none_without_a_reading_before(recorded: Recording) -> None:
    past = LivePast()
    assert (past.times, past.events, past.frame(5)) == ((), (), None)
    column = recorded.catalog.get("PkgWatt")
    assert column is not None
    for frame in recorded.frames[3:]:
        past.take(frame)
    assert list(past.times) == [frame.newer.wall_ns for frame in recorded.frames[4:]]
    for time_ns, frame in zip(past.times, recorded.frames[4:], strict=True):
        result = past.frame(time_ns)
        assert result is not None
        assert result.cell(column, SYSTEM_ROW) == frame.cell(column, SYSTEM_ROW)


def test_what_happened_is_reported_in_words_without_control_characters() -> None:
    events = past_events([
        Gap(9, 9, "suspend", 200.0), Gap(3, 3, "clock", -5.0), Gap(5, 5, "missed", frames=1),
        Gap(6, 6, "lost", frames=2), Event(1, 1, "mark", "a\x1b[2J"),
    ])
    assert [event.time_ns for event in events] == [1, 3, 5, 6, 9]
    assert "\x1b" not in events[0].text
    assert [event.text for event in events[1:]] == [
        "The clock was set back by 5 s", "1 interval left out: a reading took too long",
        "2 intervals lost: a reader was too slow", "The machine was suspended for 3 min 20 s"]


def readings(frame: Frame) -> dict[SignalId, list[Raw]]:
    """Return the readings at the end of an interval, from any container."""
    return {name: list(column) for name, column in frame.newer.values.items()}


async def test_the_dashboard_keeps_its_past_by_itself(recorded: Recording) -> None:
    async with dashboard(ReplayedSession(recorded), ticks=COUNT) as (app, pilot):
        shown = app.watched.frame
        assert shown is not None
        await pilot.press("comma", "comma")
        past = app.watched.frame
        assert past is not None
        assert past is not shown
        assert readings(past) == readings(recorded.frames[shown.seq - 2])
        await pilot.press("backspace")
        assert app.watched.frame is shown


async def test_a_key_records_until_it_is_pressed_again(recorded: Recording, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=2) as (app, pilot):
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert "Recording to" in text_of(app, "status")
        for _ in range(4):
            session.tick()
            await pilot.pause()
        assert re.search(r"● REC \d+\.\d MiB", text_of(app, "status")), "as sizes of memory beside it"
        await pilot.press("M", "ctrl+r")
        assert "Recorded" in text_of(app, "status")
        session.tick()
        await pilot.pause()
    [path] = tmp_path.iterdir()  # noqa: ASYNC240 - nothing else runs any more
    with read(str(path)) as journal:
        frames = list(journal.frames())
        assert [event.text for event in journal.events()] == ["Mark 1"]
        assert [readings(frame) for frame in frames] == [readings(frame) for frame in recorded.frames[2:6]]


async def test_an_unwritable_file_is_reported_and_screens_continue(recorded: Recording, tmp_path: Path) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=2) as (app, pilot):
        app._record_to(str(tmp_path / "no" / "folder.ttj"))
        assert app.watched.recorder is None
        assert "folder.ttj" in text_of(app, "status")
        session.tick()
        await pilot.pause()
        assert app.watched.frame is recorded.frames[2]


def test_two_recorders_of_one_file_are_refused(recorded: Recording, tmp_path: Path) -> None:
    path = str(tmp_path / "one.ttj")
    first = LiveRecorder(path, Recorder(path, recorded.machine))
    with pytest.raises(RecordingError):
        Recorder(path, recorded.machine)
    assert "Recorded" in first.stop()
    assert first.flag == ""


def test_a_name_is_that_of_the_machine_with_the_time(recorded: Recording) -> None:
    assert default_path(recorded.machine, 0.0).startswith("sapphire-2s-")
    assert "/" not in default_path(recorded.machine, 0.0)
