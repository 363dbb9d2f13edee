"""The window of an uncore table finds the vendor's events, explains them, and adds them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from named_events import event_folder
from simulated_session import SimulatedSession
from textual.pilot import Pilot
from textual.widgets import Input, Static

from turbotui.app.dashboard import TurbotuiApp
from turbotui.features.uncore.events_window import EventPicker
from turbotui.features.uncore.screen import UncoreScreen
from turbotui.widgets.listing import Listing


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tables").mkdir()
    monkeypatch.setenv("TURBOTUI_EVENT_TABLES", folder := event_folder(tmp_path / "tables"))
    return folder


@asynccontextmanager
async def shown(*keys: str) -> AsyncIterator[tuple[SimulatedSession, Pilot[int]]]:
    """The dashboard on a simulated machine after some keys, the tables read."""
    session = SimulatedSession("sapphire-2s", few=True, small=True)
    app = TurbotuiApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        while not session.started:
            await pilot.pause()
        session.tick(2)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await app.workers.wait_for_complete()
        yield session, pilot


async def typed(pilot: Pilot[int], text: str) -> Listing:
    pilot.app.screen.query_one(Input).value = text
    await pilot.pause()
    return pilot.app.screen.query_one(Listing)


async def test_the_picker_of_an_uncore_table_finds_and_adds_them(tables: str) -> None:
    async with shown("5") as (session, pilot):
        screen = pilot.app.screen
        assert isinstance(screen, UncoreScreen)
        table = next(widget for widget in screen.tables if widget.content and widget.content.whole.name == "uncore_imc")
        table.focus()
        await pilot.press("C")
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()
        picker = pilot.app.screen
        assert isinstance(picker, EventPicker)
        assert "unc_m_cas_count.rd" not in picker.query_one(Listing).text  # a thousand names of a CHA are no list
        listing = await typed(pilot, "memory's")
        assert "of the vendor's tables" in listing.text
        listing.select("table unc_m_cas_count.rd")
        await pilot.pause()
        about = str(picker.query_one("#about", Static).render())
        assert "Reads by the memory's columns" in about
        assert f"{tables}/model" in about
        await pilot.press("space")
        await pilot.pause()
        assert any(column.id == "unc_m_cas_count.rd M/s" for column in table.view.columns)
        assert "table unc_m_cas_count.rd" not in listing.text
        session.tick(2)
        await pilot.press("escape")
