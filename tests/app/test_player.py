"""Playing recordings: speeds, pauses, the end."""

from __future__ import annotations

import pytest
from dashboard_driver import text_of, until
from hypothesis import given
from hypothesis import strategies as st
from replayed_machine import Recording, ReplayedSession, recording
from timelines import FramesTimeline

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.past import PastEvent, TimeCursor
from turbotui.app.player import SPEEDS, Player
from turbotui.sampling.frame import Frame

NS = 1_000_000_000


class Seconds:
    """Moments a second apart, with no frames."""

    events: tuple[PastEvent, ...] = ()

    def __init__(self, count: int) -> None:
        self.times = [second * NS for second in range(count)]

    def look_again(self) -> None:
        """Do nothing: no moments are added."""

    def frame(self, time_ns: int) -> Frame | None:
        raise AssertionError("a player looks at no frame")


def player_of(count: int, speed: float = 1.0, at: int = 0) -> Player:
    cursor = TimeCursor(Seconds(count), live=False)
    cursor.go_to(at)
    return Player(cursor, speed)


@given(st.sampled_from(SPEEDS), st.lists(st.floats(0.001, 3.0), max_size=40))
def test_what_passes_is_the_speed_times_the_time_in_whatever_steps(speed: float, steps: list[float]) -> None:
    player = player_of(5000, speed)
    for step in steps:
        player.advance(step)
    assert player.cursor.at is not None
    assert player.cursor.at <= min(sum(steps) * speed, 4999) * NS + 1000
    assert player.cursor.at > min(sum(steps) * speed, 4999) * NS - 1000 - NS


def test_a_moment_is_waited_for_at_the_speed_but_not_too_short() -> None:
    assert player_of(10, 0.1).wait() == pytest.approx(10.0)
    assert player_of(10).wait() == pytest.approx(1.0)
    assert player_of(10, 1000.0).wait() == 0.05
    assert player_of(10, at=9).wait() == 0.5, "the end may still grow"
    late = player_of(10)
    late.advance(0.4)
    assert late.wait() == pytest.approx(0.6)
    late.moved()
    assert late.wait() == pytest.approx(1.0)


def test_the_end_holds_and_what_is_appended_is_played_from_there() -> None:
    player = player_of(3)
    assert player.advance(50.0)
    assert not player.advance(50.0)
    timeline = player.cursor.timeline
    assert isinstance(timeline, Seconds)
    timeline.times += [3 * NS, 4 * NS]
    assert not player.advance(0.5)
    assert player.advance(0.6)
    assert player.cursor.at == 3 * NS


def test_speeds_are_a_row_with_ends() -> None:
    player = player_of(3, 5000.0)
    assert player.speed == SPEEDS[-1] == player.step_speed(1)
    for _ in range(len(SPEEDS)):
        player.step_speed(-1)
    assert player.speed == SPEEDS[0]


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return recording("sapphire-2s", 20.0, 12, small=True)


async def test_a_recording_begins_at_its_start_and_plays_on_and_stops_by_a_key(recorded: Recording) -> None:
    player = Player(TimeCursor(FramesTimeline(recorded.frames), live=False), 20.0)
    player.cursor.go_to(0)
    app = TurbotuiApp(ReplayedSession(recorded), player=player)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.watched.frame is not None)
        assert app.watched.frame is recorded.frames[1]
        assert text_of(app, "time").startswith(" ■ RECORDED · ")
        assert "PAST" not in text_of(app, "status")
        await pilot.press("space")
        assert text_of(app, "time").startswith(" ▶ 20x · ")
        await until(pilot, lambda: app.watched.frame is recorded.frames[-1])
        await pilot.press("space", "plus")
        assert not player.playing
        assert player.speed == 50.0
        assert "50 s of the recording in a second" in text_of(app, "status")
        await pilot.press("comma")
        assert app.watched.frame is recorded.frames[-2]
