"""A screen that is not shown keeps nothing that the next drawing makes again, and a closed window no drawn lines."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterable

import pytest
from dashboard_driver import terminal_text
from simulated_session import SimulatedSession
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from turbotui.app import dashboard
from turbotui.app.column_requests import KEEP_READING, RecentScreens
from turbotui.app.dashboard import _GROWING, _MOST_CLOSED, TurbotuiApp
from turbotui.app.why_window import WhyWindow
from turbotui.feature_list import FEATURES
from turbotui.features.cpus.screen import CpuScreen


def widgets_of(screen: Screen[object]) -> list[Widget]:
    return list(screen.walk_children(Widget))


def drawn_lines(widgets: Iterable[Widget]) -> int:
    """Lines in Textual's caches."""
    return sum(len(widget._styles_cache._cache) + len(widget._render_cache.lines) for widget in widgets)


def lines_with_text(app: TurbotuiApp) -> int:
    return sum(line.strip() != "" for line in terminal_text(app).splitlines())


async def ticks(session: SimulatedSession, pilot: Pilot[int], count: int = 3) -> None:
    for _ in range(count):
        session.tick()
        await pilot.pause()


@pytest.mark.usefixtures("objects_of_the_test_alone")
@pytest.mark.parametrize("name", [spec.id for feature in FEATURES for spec in feature.screens if spec.id != "info"])
async def test_a_hidden_screen_keeps_no_frame_and_is_the_same_when_it_is_shown_again(name: str) -> None:
    session = SimulatedSession("sapphire-2s", few=True, small=True)
    app = TurbotuiApp(session, screen=name)
    if name not in {"overview", "power"}:  # the judge, which they share, keeps the frame that it judged last
        app._recent = RecentScreens(itertools.count(step=2 * KEEP_READING).__next__)  # left for long: it gets nothing
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        await ticks(session, pilot)
        hidden, frame = app.screen, app.watched.frame
        assert frame is not None
        last = weakref.ref(frame)
        del frame
        before = lines_with_text(app)
        app.action_show_screen("info")
        await pilot.pause()
        await ticks(session, pilot, 5)  # the ring of the past keeps up to so many, which it packs together
        gc.collect()
        assert last() is None
        assert drawn_lines(widgets_of(hidden)) == 0
        app.action_show_screen(name)
        await pilot.pause()
        assert app.screen is hidden
        session.tick()
        await pilot.pause()
        assert lines_with_text(app) > before // 2


async def test_a_window_over_a_screen_hides_nothing_of_it() -> None:
    session = SimulatedSession("laptop", small=True)
    app = TurbotuiApp(session, screen="cpus")
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        await ticks(session, pilot)
        below = app.screen
        await pilot.press("question_mark")
        await pilot.pause()
        window = app.screen
        assert window is not below
        widgets = widgets_of(window)
        assert drawn_lines(widgets)
        assert isinstance(below, CpuScreen)
        assert below.table.content is not None
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is below
        assert drawn_lines(widgets) == 0


@pytest.mark.usefixtures("objects_of_the_test_alone")
@pytest.mark.parametrize("key", ["question_mark", "W", "exclamation_mark", "f2", "a", "e"])
async def test_a_closed_window_is_let_go(key: str) -> None:
    """The dashboard goes on reading what a window asked for, and must not keep the window for it."""
    session = SimulatedSession("sapphire-2s", few=True, small=True)
    app = TurbotuiApp(session, screen="cpus")
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        await ticks(session, pilot)
        below = app.screen
        await pilot.press(key)
        while app.screen is below or (isinstance(app.screen, WhyWindow) and app.screen.is_at_work):
            await pilot.pause()
        await ticks(session, pilot)
        window = weakref.ref(app.screen)
        await pilot.press("escape")
        while app.screen is not below:
            await pilot.pause()
        await ticks(session, pilot)
        gc.collect()
        assert window() is None


@pytest.mark.parametrize(("most_keys", "keys"), [
    pytest.param(200, ["question_mark", "escape"] * _MOST_CLOSED, id="windows closed"),
    pytest.param(10, ["down"] * 11, id="many keys"),
])
async def test_what_grows_while_somebody_types_is_let_go_though_no_frame_comes(
        most_keys: int, keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An interval may be a minute, and in a minute of keys windows that were closed take tens of megabytes."""
    rests: list[list[int]] = []
    session = SimulatedSession("laptop", small=True)
    app = TurbotuiApp(session, screen="cpus",
                      on_rest=lambda: rests.append([cached.cache_info().currsize for cached in _GROWING]))
    monkeypatch.setattr(dashboard, "_QUIET", float("inf"))
    monkeypatch.setattr(dashboard, "_MOST_KEYS", most_keys)
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        await ticks(session, pilot)
        await pilot.press(*keys[:-1])
        assert rests == []
        await pilot.press(keys[-1], "up")
        await pilot.pause()
        assert rests == [[0] * len(_GROWING)]


async def test_after_any_key_a_frame_without_keys_is_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[int] = []
    session = SimulatedSession("laptop", small=True)
    app = TurbotuiApp(session, screen="cpus", on_rest=lambda: rests.append(1))
    monkeypatch.setattr(dashboard, "_QUIET", 0.0)
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        await ticks(session, pilot)
        assert rests == []
        await pilot.press("down")
        await ticks(session, pilot)
        assert rests == [1]
