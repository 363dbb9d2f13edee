"""A moment of the past has the verdict that it had, and so has now after a screen that judges nothing."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard, until, until_read
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.column_requests import KEEP_READING
from turbotui.app.dashboard import TurbotuiApp


def judged(app: TurbotuiApp) -> tuple[object, ...]:
    """What is said of the shown moment: for how long a cause is there, and the share of time of a limit."""
    judge = app.watched.judge
    return (*((finding.rule.id, round(finding.seconds, 3), round(finding.share, 6), round(finding.window, 3))
              for finding in judge.verdict().findings),
            *((limit.state, round(limit.share, 6), round(limit.window, 3)) for limit in judge.limits()))


async def seen(app: TurbotuiApp, pilot: Pilot[int], session: SimulatedSession, ticks: int) -> dict[int, object]:
    """What is said of each interval when it is the newest."""
    result: dict[int, object] = {}
    for _ in range(ticks):
        session.tick()
        await pilot.pause()
        frame = app.watched.frame
        assert frame is not None
        result[frame.newer.wall_ns] = judged(app)
    return result


async def test_a_moment_of_the_past_has_the_verdict_that_it_had() -> None:
    session = SimulatedSession("laptop-old+heat")
    async with dashboard(session, ticks=1) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("4")
        await until_read(app, pilot)
        said = await seen(app, pilot, session, 8)
        for key in ("comma", "comma", "comma", "full_stop", "comma", "comma"):
            await pilot.press(key)
            await until_read(app, pilot)
            frame = app.watched.frame
            assert frame is not None
            assert app.watched.in_past
            assert judged(app) == said[frame.newer.wall_ns], key


async def test_the_next_moment_is_judged_without_reading_those_before_again() -> None:
    session = SimulatedSession("laptop-old+heat")
    async with dashboard(session, ticks=8) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("4", "comma", "comma", "comma")
        await until_read(app, pilot)
        (before,), past = app.watched.judge.limits(), app.watched.judge._past
        await pilot.press("full_stop")
        await until_read(app, pilot)
        assert past is not None
        assert app.watched.judge._past is not None
        assert app.watched.judge._past[1] is past[1]
        assert app.watched.judge.limits()[0].window == before.window + 1


@pytest.mark.parametrize("away", [3, 8], ids=["judged with the next", "the minute is read again"])
async def test_a_screen_that_judges_nothing_makes_no_cause_shorter(away: int) -> None:
    session = SimulatedSession("laptop-old+heat")
    async with dashboard(session, ticks=1) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("4")
        await until_read(app, pilot)
        await seen(app, pilot, session, 2)
        window = app.watched.judge.limits()[0].window
        await pilot.press("1")
        app._recent._clock = lambda: 1e9 + KEEP_READING  # nothing is done for a screen that was left so long ago
        for _ in range(away):
            session.tick()
            await pilot.pause()
        await pilot.press("4")
        session.tick()
        await pilot.pause()
        await until(pilot, lambda: app.watched.judge.limits()[0].window == window + away + 1)


async def test_a_moment_that_was_left_while_it_was_judged_is_judged_when_it_is_shown_again() -> None:
    session = SimulatedSession("laptop-old+heat")
    async with dashboard(session, ticks=8) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("comma", "comma")
        judge, cursor = app.watched.judge, app.watched.cursor
        assert cursor is not None
        assert judge.limits()[0].window == 1
        cursor.step(-2)  # before anything else is done
        await until(pilot, lambda: not judge.is_at_work)
        cursor.step(2)
        assert judge.limits()[0].window == 1
        await until(pilot, lambda: not judge.is_at_work)
        assert judge.limits()[0].window == len(cursor.before(60)) > 5


async def test_a_cause_that_is_older_than_the_kept_minute_is_there_for_that_long_or_longer(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.app.judge.KEPT", 4)
    session = SimulatedSession("laptop-old+heat")
    async with dashboard(session, ticks=1) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("4")
        await until_read(app, pilot)
        await seen(app, pilot, session, 10)
        (live, *_) = app.watched.judge.verdict().findings
        assert live.seconds > 5
        assert not live.at_least
        await pilot.press("comma")
        await until_read(app, pilot)
        past = next(finding for finding in app.watched.judge.verdict().findings if finding.rule is live.rule)
        assert past.since == "for 4.0 s or longer"
