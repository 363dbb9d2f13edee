"""The past: one cursor for all screens, jumps, conditions, marks, and the return to now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from dashboard_driver import dashboard, lines, text_of, until, until_read
from made_frames import calls_of
from replayed_machine import Recording, ReplayedSession, recording
from textual.pilot import Pilot
from timelines import FramesTimeline

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.past import Condition, FoundMoment, PastEvent, TimeCursor, first_row
from turbotui.app.time_line import TimeLine
from turbotui.quantities.filters import parse_filter
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.widgets.table_canvas import TableCanvas

COUNT = 12
NS = 1_000_000_000


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return recording("sapphire-2s", 20.0, COUNT, small=True)


# The cursor


def test_steps_end_at_the_first_moment_and_at_now(recorded: Recording) -> None:
    cursor = TimeCursor(FramesTimeline(recorded.frames))
    assert cursor.frame() is None
    assert not cursor.step(1)
    for back in range(1, COUNT):
        assert cursor.step(-1)
        frame = cursor.frame()
        assert frame is recorded.frames[COUNT - back]
    assert not cursor.step(-1)
    assert cursor.step(COUNT)
    assert cursor.at is None


def test_a_recording_has_no_now_behind_its_last_moment(recorded: Recording) -> None:
    cursor = TimeCursor(FramesTimeline(recorded.frames), live=False)
    assert cursor.jump(10**30)
    assert cursor.frame() is recorded.frames[-1]
    cursor.step(-3)
    cursor.now()
    assert cursor.frame() is recorded.frames[-1]


def test_a_moment_that_is_dropped_gives_way_to_the_oldest_that_is_there(recorded: Recording) -> None:
    timeline = FramesTimeline(recorded.frames)
    cursor = TimeCursor(timeline)
    cursor.go_to(0)
    timeline.frames = recorded.frames[4:]
    assert cursor.frame() is recorded.frames[4]


def test_a_jump_leads_to_the_last_moment_not_after_a_time(recorded: Recording) -> None:
    timeline = FramesTimeline(recorded.frames)
    cursor = TimeCursor(timeline)
    cursor.jump(timeline.times[4] + 1)
    assert cursor.frame() is recorded.frames[5]
    cursor.jump(0)
    assert cursor.frame() is recorded.frames[1]


def searched(cursor: TimeCursor, by: int, *, events: bool = True) -> FoundMoment | None:
    moments = [moment for moment in cursor.search(by, events=events) if moment is not None]
    assert len(moments) <= 1
    return moments[0] if moments else None


def onsets_of(recorded: Recording, condition: Condition) -> list[int]:
    """The moments at which a condition begins to hold, each judged by itself."""
    holds = [first_row(frame, condition) is not None for frame in recorded.frames[1:]]
    return [at for at in range(1, len(holds)) if holds[at] and not holds[at - 1]]


def test_a_condition_is_found_where_it_begins_to_hold_in_either_direction(recorded: Recording) -> None:
    texts = [f"cpu{cpu} IRQ>{limit}" for cpu in range(9) for limit in (281, 282)]
    conditions = [parse_filter(text, recorded.catalog.get) for text in texts]
    condition = max(conditions, key=lambda item: len(onsets_of(recorded, item)))
    onsets = onsets_of(recorded, condition)
    assert len(onsets) > 1
    timeline = FramesTimeline(recorded.frames)
    cursor = TimeCursor(timeline)
    cursor.condition = condition
    cursor.go_to(0)
    forward = []
    while (moment := searched(cursor, 1)) is not None:
        forward.append(timeline.times.index(moment.time_ns))
        assert cursor.jump(moment.time_ns) or cursor.at is None
        if cursor.at is None:
            break
    assert forward == onsets
    cursor.now()
    back = []
    while (moment := searched(cursor, -1)) is not None:
        back.append(timeline.times.index(moment.time_ns))
        cursor.jump(moment.time_ns)
        if cursor.index == 0:
            break
    assert [at for at in back if at] == [at for at in reversed(onsets) if at < COUNT - 1]


def test_no_event_stands_before_a_condition_that_was_asked_for(recorded: Recording) -> None:
    timeline = FramesTimeline(recorded.frames)
    cursor = TimeCursor(timeline)
    cursor.condition = parse_filter("cpu0 IRQ>281", recorded.catalog.get)
    assert (onset := searched(cursor, -1)) is not None
    timeline.events = [PastEvent(time_ns, "an interval left out") for time_ns in timeline.times]
    assert searched(cursor, -1) != onset
    assert searched(cursor, -1, events=False) == onset


def test_events_and_marks_are_found_and_a_nearer_condition_comes_first(recorded: Recording) -> None:
    timeline = FramesTimeline(recorded.frames)
    timeline.events = [PastEvent(timeline.times[3], "cpu 3 went offline")]
    cursor = TimeCursor(timeline)
    cursor.marks = (PastEvent(timeline.times[8], "Mark 1"),)
    assert searched(cursor, -1) == FoundMoment(timeline.times[8], "Mark 1")
    cursor.go_to(8)
    assert searched(cursor, -1) == FoundMoment(timeline.times[3], "cpu 3 went offline")
    cursor.go_to(0)
    assert searched(cursor, 1) == FoundMoment(timeline.times[3], "cpu 3 went offline")
    cursor.go_to(3)
    assert searched(cursor, 1) == FoundMoment(timeline.times[8], "Mark 1")
    cursor.go_to(8)
    assert searched(cursor, 1) is None


# The dashboard


async def at_the_end(app: TurbotuiApp, pilot: Pilot[int], session: ReplayedSession, recorded: Recording) -> None:
    """Give the dashboard a past of all that it has been shown."""
    timeline = FramesTimeline([])
    app.watched.cursor = TimeCursor(timeline)
    for _ in range(COUNT + 1):
        session.tick()
        await pilot.pause()
    timeline.frames = recorded.frames


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_keys_lead_into_the_past_and_back_on_every_screen(recorded: Recording, size: tuple[int, int]) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, size=size, ticks=0) as (app, pilot):
        await at_the_end(app, pilot, session, recorded)
        await until_read(app, pilot)
        now = lines(app)
        assert not app.screen.query_one(TimeLine).display
        await pilot.press("comma", "comma")
        assert app.watched.frame is recorded.frames[-3]
        assert text_of(app, "time").startswith(" PAST 2 s ago · ")
        assert "PAST" in text_of(app, "status")
        assert app.screen.query_one(TimeLine).display
        assert lines(app) != now
        for key in ("3", "2", "4", "8", "1"):
            await pilot.press(key)
            await pilot.pause()
            assert text_of(app, "time").startswith(" PAST 2 s ago · ")
        await pilot.press("full_stop")
        assert app.watched.frame is recorded.frames[-2]
        await pilot.press("left_curly_bracket")
        assert app.watched.frame is recorded.frames[1]
        await pilot.press("backspace")
        await until_read(app, pilot)
        assert app.watched.frame is recorded.frames[-1]
        assert lines(app) == now
        assert not app.screen.query_one(TimeLine).display


async def test_a_step_draws_the_table_once(recorded: Recording) -> None:
    """The table was laid out anew at every step, and so drawn twice: 25 ms of 224 CPUs on two tables in place of 19."""
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=0) as (app, pilot):
        await at_the_end(app, pilot, session, recorded)
        await pilot.press("comma")
        assert app.watched.in_past
        assert calls_of(TableCanvas.strips, lambda: app.action_past_step(-1)) == 1
        await pilot.press("7", "1")  # another screen in between
        await pilot.pause()
        assert app.watched.frame is recorded.frames[-3]
        assert text_of(app, "time").startswith(" PAST 2 s ago")


async def test_sampling_continues_behind_the_past(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=6) as (app, pilot):
        app.watched.cursor = TimeCursor(FramesTimeline(recorded.frames[:6]))
        await pilot.press("comma")
        shown = app.watched.frame
        session.tick()
        await pilot.pause()
        assert app.watched.frame is shown
        assert session.latest is recorded.frames[6]
        await pilot.press("backspace")
        assert app.watched.frame is recorded.frames[6]
        ring = app.watched.history.ring("PkgWatt", SYSTEM_ROW)
        assert ring is not None
        assert ring.last == recorded.frames[6].seq, "what came meanwhile is in the curves"


async def test_a_time_and_a_condition_are_jumped_to(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=0) as (app, pilot):
        await at_the_end(app, pilot, session, recorded)
        cursor = app.watched.cursor
        assert cursor is not None
        await pilot.press("at", *"-5s", "enter")
        await pilot.pause()
        assert app.watched.frame is recorded.frames[-6]
        await pilot.press("at", *time_of_day(recorded.frames[3].newer.wall_ns), "enter")
        await pilot.pause()
        assert abs(recorded.frames.index(app.watched.frame) - 3) <= 1
        await pilot.press("backspace", "at")
        for key in "PkgWatt>1":
            await pilot.press({">": "greater_than_sign"}.get(key, key))
        await pilot.press("enter")
        await until(pilot, lambda: cursor.at is not None)
        assert app.watched.frame is recorded.frames[1], "it held from the first moment on"
        assert "PkgWatt>1 in" in text_of(app, "status")


async def test_a_mark_is_found_again(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=0) as (app, pilot):
        await at_the_end(app, pilot, session, recorded)
        await pilot.press("comma", "comma", "comma", "M", "backspace", "left_parenthesis")
        await until(pilot, lambda: app.watched.in_past)
        assert app.watched.frame is recorded.frames[-4]
        assert "Mark 1" in text_of(app, "time")


async def test_a_click_on_the_bar_shows_that_moment(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=0) as (app, pilot):
        await at_the_end(app, pilot, session, recorded)
        await pilot.press("comma")
        bar = app.screen.query_one(TimeLine)
        await pilot.click(TimeLine, offset=(bar.text.index("─"), 0))
        assert app.watched.frame is recorded.frames[1]


async def test_without_a_past_keys_say_so(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=2) as (app, pilot):
        app.watched.cursor = None
        await pilot.press("comma")
        assert "No past yet" in text_of(app, "status")


async def test_sparks_of_a_moment_are_of_what_led_to_it(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=0) as (app, pilot):
        await at_the_end(app, pilot, session, recorded)
        await pilot.press("left_curly_bracket", "full_stop", "full_stop")
        await until_read(app, pilot)
        ring = app.watched.history.ring("PkgWatt", SYSTEM_ROW)
        assert ring is not None
        assert ring.count == 4
        assert app.watched.live_history.ring("PkgWatt", SYSTEM_ROW) is not ring


class EndlessCursor(TimeCursor):
    """A cursor in a past with moments without end, none of which is what is looked for."""

    def search(self, by: int, *, events: bool = True) -> Iterator[FoundMoment | None]:
        while True:
            yield None


@pytest.mark.parametrize("stop", ["close", "interrupt"])
async def test_a_search_is_stopped_and_says_how_far_it_came(recorded: Recording, stop: str) -> None:
    async with dashboard(ReplayedSession(recorded), ticks=4) as (app, _pilot):
        assert app.watched.cursor is not None
        app._do(app._search(EndlessCursor(app.watched.cursor.timeline), -1))
        for _ in range(3_000):  # a pilot would wait for the end of the search
            await asyncio.sleep(0.01)
            if "Searching back: " in text_of(app, "status"):
                break
        assert "Esc stops it" in text_of(app, "status")
        await app.run_action(stop)
        assert "The search was stopped: nothing in " in text_of(app, "status")
        assert not app.look_at_states()
        assert app.is_running
        assert app.return_code is None
