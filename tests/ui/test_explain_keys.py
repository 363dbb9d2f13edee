"""The temperature target, the comparison mark and saved views in the dashboard."""

from __future__ import annotations

from driving import dashboard, text_of
from fakes import FakeSession


def told(session: FakeSession) -> int | None:
    return session.machine.tcc


async def test_a_told_target_is_flagged_until_it_is_taken_back() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("D", "9", "5", "enter")
        await pilot.pause()
        assert told(session) == 95
        assert "TCC 95 °C" in text_of(app, "status")
        await pilot.press("D", "ctrl+u", "enter")
        await pilot.pause()
        assert told(session) is None
        assert "TCC" not in text_of(app, "status").replace("TCC target", "")


async def test_a_target_that_is_no_temperature_changes_nothing() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("D", "h", "o", "t", "enter")
        await pilot.pause()
        assert told(session) is None
        assert "is not a temperature in whole °C" in text_of(app, "status")
