"""Screens that have nothing to show on a machine say why, and fill their room with what the kernel tells everybody."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard, until_read
from simulated_session import SimulatedSession

from turbotui.app.base import WatchScreen


@pytest.mark.parametrize("key", ["4", "5", "6", "d"])
async def test_the_room_has_charts_of_the_whole_machine(key: str) -> None:
    session = SimulatedSession("guest")
    async with dashboard(session, size=(120, 40), ticks=4) as (app, pilot):  # type: ignore[arg-type]  # as the others
        await pilot.press(key)
        session.tick(3)
        await until_read(app, pilot)
        session.tick()
        await pilot.pause()
        assert isinstance(app.screen, WatchScreen)
        shown = [strip.text for strip in app.screen._compositor.render_strips()]
        [heading] = [at for at, line in enumerate(shown) if "Meanwhile, of the whole machine, by the kernel" in line]
        charts = "\n".join(shown[heading:])
        assert "Load%" in charts
        assert "█" in charts
        assert any("irtual machine" in line for line in shown[:heading])
