"""How the tests drive the dashboard."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from patience import PATIENCE
from scripted_machine import FakeSession
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.frames import FramesApp
from turbotui.app.row_table import RowTableScreen
from turbotui.features.cpus.screen import CounterTable, TableScreen
from turbotui.widgets.segment_lines import SegmentLines


@asynccontextmanager
async def dashboard(session: FakeSession, size: tuple[int, int] = (120, 36), ticks: int = 3,
                    **options: Any) -> AsyncIterator[tuple[TurbotuiApp, Pilot[int]]]:
    """A running dashboard that has seen some frames."""
    app = TurbotuiApp(session, **options)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        while not session.started:  # a busy machine shows the first screen later
            await pilot.pause()
        for _ in range(ticks):
            session.tick()
            await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[int], holds: Callable[[], object]) -> None:
    """Wait until a condition holds, which other threads or timers bring about."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        await pilot.pause(0.01)


async def until_read(app: FramesApp, pilot: Pilot[int]) -> None:
    """Wait until the past of all that is drawn has been read, and drawn; parts of it are read when nobody types."""
    for _ in range(int(PATIENCE / 0.02)):
        await pilot.pause(0.02)
        rows = [past for screen in app.screen_stack if isinstance(screen, RowTableScreen)
                for past in screen._pasts.values()]
        is_read = (not app.watched.history.wanted and app._histories._work is None
                   and not any(past.reads for past in rows) and not (
                       "judge" in app.watched.__dict__ and app.watched.judge.is_at_work))
        if is_read and all(worker.is_finished for worker in app.workers):
            return
    raise AssertionError("the past that is drawn was never read")


def table(app: TurbotuiApp) -> CounterTable:
    """The table on the screen, or under the window that is open."""
    screen = app.screen_stack[0]
    assert isinstance(screen, TableScreen)
    return screen.table


def lines(app: TurbotuiApp) -> list[str]:
    """The text of the table as it is drawn."""
    shown = table(app)
    return ["".join(segment.text for segment in shown.render_line(y)) for y in range(shown.size.height)]


def text_of(app: TurbotuiApp, name: str) -> str:
    """The text of the summary, status line, key bar or banner."""
    return app.screen_stack[0].query_one(f"#{name}", SegmentLines).text


def terminal_text(app: TurbotuiApp) -> str:
    """All that the terminal shows, windows included; what `pictures` makes beside the drawing."""
    visible_screen_stack.set(app._background_screens)
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def cpus(app: TurbotuiApp) -> list[int]:
    """CPU numbers of the rows from top to bottom."""
    return [line.row.key[0] for line in table(app).lines if line.open is None]
