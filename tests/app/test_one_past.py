"""What charts and sparklines show of the past is what the kept frames say, whatever was on the screen meanwhile."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

import pytest
from dashboard_driver import dashboard, terminal_text, until_read
from replayed_machine import Recording, ReplayedSession, recording
from scripted_machine import FakeSession
from textual.pilot import Pilot

from turbotui.app.column_requests import KEEP_READING
from turbotui.app.dashboard import TurbotuiApp
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, cpu_row

COUNT = 24
MISSED = 3
"""Intervals in which a screen draws nothing."""
SIZE = (200, 60)


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return recording("sapphire-2s", 20.0, 36, small=True)


class Steps:
    """A dashboard whose machine goes on when a test says so."""

    def __init__(self, app: TurbotuiApp, pilot: Pilot[int], session: ReplayedSession, recorded: Recording) -> None:
        self.app, self.pilot, self.session, self.recorded = app, pilot, session, recorded

    async def tick(self, count: int) -> None:
        for _ in range(count):
            self.session.tick()
            await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def size(self, *size: int) -> None:
        await self.pilot.resize_terminal(*size)
        await self.pilot.pause()


async def look_back(steps: Steps) -> None:
    await steps.press("comma", "comma", "comma")
    await steps.tick(MISSED)
    await steps.press("backspace")


async def a_small_window(steps: Steps) -> None:
    await steps.size(60, 10)
    await steps.tick(MISSED)
    await steps.size(*SIZE)


async def another_screen(steps: Steps) -> None:
    here = steps.app.current_mode
    await steps.press("1" if here == "power" else "4")
    steps.app._recent._clock = lambda: 1e9 + KEEP_READING  # nothing is kept for a screen that was left so long ago
    await steps.tick(MISSED)
    steps.app.action_show_screen(here)
    await steps.pilot.pause()


async def a_pause(steps: Steps) -> None:
    await steps.press("p")
    await steps.tick(MISSED)
    await steps.press("p")


async def nothing(steps: Steps) -> None:
    await steps.tick(MISSED)


MEANWHILE: list[Callable[[Steps], Awaitable[None]]] = [look_back, a_small_window, another_screen, a_pause]


async def pictures(recorded: Recording, screen: str,
                   meanwhile: Sequence[Callable[[Steps], Awaitable[None]]]) -> list[list[str]]:
    """What a screen shows after each of some disturbances."""
    session, shown = ReplayedSession(recorded), []
    async with dashboard(session, SIZE, ticks=2) as (app, pilot):
        steps = Steps(app, pilot, session, recorded)
        await steps.press(*screen)
        await steps.tick(2)
        for disturbance in meanwhile:
            await disturbance(steps)
            await steps.tick(2)
            await until_read(app, pilot)
            shown.append(terminal_text(app).split("\n"))
    return shown


def wanted(recorded: Recording, column: CounterColumn, row: RowId, until: int, count: int) -> list[float]:
    """What the frames say of a cell, a gap where it is unknown."""
    frames = recorded.frames[max(1, until - count + 1):until + 1]
    result = [frame.bare_cells(column, (row,))[0] for frame in frames]
    return [value if isinstance(value, float | int) else math.nan for value in result]


async def test_a_column_and_a_row_that_were_never_drawn_have_their_past(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, SIZE, ticks=COUNT) as (app, pilot):
        await pilot.press("1")
        column, row = recorded.catalog.get("CPU%c1"), cpu_row(5)
        assert column is not None
        app.watched.live_history.keep_only(())
        app.watched.recent(column, row, 20)
        await until_read(app, pilot)
        frame = app.watched.frame
        assert frame is not None
        assert list(app.watched.recent(column, row, 20)) == pytest.approx(
            wanted(recorded, column, frame.home(column, row) or row, frame.seq, 20), rel=1e-6)


async def test_a_chart_as_wide_as_the_terminal_is_read_as_a_whole() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        for _ in range(220):
            session.tick()
        await pilot.pause()
        busy = app.watched.busy
        assert busy is not None
        app.watched.recent(busy, SYSTEM_ROW, 200)
        await until_read(app, pilot)
        assert len(app.watched.recent(busy, SYSTEM_ROW, 200)) == 200
        assert not any(map(math.isnan, app.watched.recent(busy, SYSTEM_ROW, 200)))


async def test_a_later_screen_of_the_past_is_read_too(recorded: Recording) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, SIZE, ticks=COUNT) as (app, pilot):
        await pilot.press("comma", "comma", "1")
        await until_read(app, pilot)
        frame, busy = app.watched.frame, app.watched.busy
        assert frame is not None
        assert busy is not None
        await pilot.press("comma")
        await until_read(app, pilot)
        assert list(app.watched.recent(busy, SYSTEM_ROW, 20)) == pytest.approx(
            wanted(recorded, busy, SYSTEM_ROW, frame.seq - 1, 20), rel=1e-6)


@pytest.mark.parametrize("screen", ["0", "1", "2", "3", "4", "5", "6", "1g", "1e"])
async def test_charts_and_sparklines_have_no_holes(recorded: Recording, screen: str) -> None:
    undisturbed = await pictures(recorded, screen, [nothing] * len(MEANWHILE))
    for disturbance, seen, whole in zip(MEANWHILE, await pictures(recorded, screen, MEANWHILE), undisturbed,
                                        strict=True):
        assert seen == whole, disturbance.__name__


@pytest.mark.parametrize("size", [(80, 24), (120, 36), SIZE])
async def test_a_screen_that_stays_reads_no_frame_again(recorded: Recording, size: tuple[int, int]) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, size, ticks=1) as (app, pilot):
        for screen in "12345678":
            await pilot.press(screen)
            for _ in range(2):
                session.tick()
                await pilot.pause()
            await until_read(app, pilot)
            for _ in range(2):
                session.tick()
                await pilot.pause()
                assert not app.watched.history.wanted, screen
