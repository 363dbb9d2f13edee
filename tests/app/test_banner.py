"""Numbers of another machine or time are marked, under every window and at every size."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard
from scripted_machine import FakeSession
from textual._compositor import LayoutUpdate

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.screen_table import SCREENS
from turbotui.machine.host import HostKind

_SIZES = [(40, 10), (80, 24), (120, 36), (200, 60)]
_WINDOWS = ["?", "C", "c", "/", "\\", "a", "o", "e", "g", "D", "s", "ctrl+p"]


def shown(app: TurbotuiApp) -> list[str]:
    """The lines of the terminal, windows and what is behind them put together."""
    background = app._background_screens
    update = app.screen._compositor.render_update(full=True, screen_stack=background)
    assert isinstance(update, LayoutUpdate)
    return ["".join(segment.text for segment in strip) for strip in update.strips]


@pytest.mark.parametrize("size", _SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_banner_stands_above_every_window(size: tuple[int, int]) -> None:
    async with dashboard(FakeSession(kind=HostKind.SIMULATED), size=size) as (app, pilot):
        for key in _WINDOWS:
            await pilot.press(key)
            await pilot.pause()
            assert len(app.screen_stack) == 2
            assert any("SIMULATED" in line for line in shown(app)), f"{key}: {shown(app)}"
            await pilot.press("escape")
            await pilot.pause()


@pytest.mark.parametrize("number", [spec.number for spec in SCREENS if spec.number != "7"])
async def test_the_banner_stands_above_every_small_screen(number: str) -> None:
    async with dashboard(FakeSession(kind=HostKind.RECORDED), size=(40, 10)) as (app, pilot):
        await pilot.press(number)
        await pilot.pause()
        assert "RECORDED" in shown(app)[0]
        await pilot.press("?")
        await pilot.pause()
        assert "RECORDED" in shown(app)[0]
