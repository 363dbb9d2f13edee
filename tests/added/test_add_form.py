"""The dashboard's form and picker with events, formulas and sets, over a real session of a simulated machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from named_events import event_folder
from textual.widgets import Input, Static

from turbotui.app.add import AddCounter
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.picker import Picker
from turbotui.machine.machine import read_machine
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources import SOURCES
from turbotui.widgets.listing import Listing

pytestmark = pytest.mark.usefixtures("few_cores")


def session_of(name: str) -> Session:
    host = simulated_host(name, ManualClock(1_000_000_000))
    return Session(read_machine(host, frozenset({0, 1})), SOURCES, 3600.0, host, frozenset({0, 1}))


async def test_an_event_a_group_and_a_formula_are_added_and_removed() -> None:
    session = session_of("sapphire-2s")
    async with TurbotuiApp(session).run_test(size=(120, 36)) as pilot:
        await pilot.press("a")
        await pilot.pause()
        window = pilot.app.screen
        assert isinstance(window, AddCounter)
        said = window.query_one("#answer", Static)
        for text, names in (("cycles:u,name=UCYC", ["UCYC"]), ("CPI=cycles/instructions", ["CPI"]),
                            ("{branches,branch-misses}", ["branches", "branch-misses"])):
            window.query_one(Input).value = text
            await pilot.press("enter")
            await pilot.pause()
            assert window.query_one(Input).value == ""
            assert all(name in str(said.render()) for name in names)
            assert set(names) <= {name for name, _what in session.by_hand()}
        window.query_one(Input).value = "instrctions"
        await pilot.press("enter")
        await pilot.pause()
        assert "did you mean instructions" in str(said.render())
        window.query_one(Input).value = "uncore_gone/clockticks/"
        await pilot.press("enter")
        await pilot.pause()
        assert "clockticks is not added: no hardware" in str(said.render())
        window.query_one(Listing).select("remove CPI")
        await pilot.press("delete")
        await pilot.pause()
        assert "CPI" not in {name for name, _what in session.by_hand()}
        assert session.catalog.get("CPI") is None
    session.stop()


async def test_tab_completes_a_pmus_event() -> None:
    session = session_of("sapphire-2s")
    async with TurbotuiApp(session).run_test(size=(80, 24)) as pilot:
        await pilot.press("a")
        await pilot.pause()
        field = pilot.app.screen.query_one(Input)
        field.value = "uncore_im"
        await pilot.pause()
        await pilot.press("tab")
        assert field.value == "uncore_imc/"
        await pilot.pause()
        await pilot.press("tab")
        assert field.value == "uncore_imc/cas_count_read/"
    session.stop()


async def test_the_picker_shows_and_hides_a_whole_set() -> None:
    session = session_of("sapphire-2s")
    async with TurbotuiApp(session).run_test(size=(120, 36)) as pilot:
        await pilot.press("C")
        await pilot.pause()
        window = pilot.app.screen
        assert isinstance(window, Picker)
        window.query_one(Input).value = "set:branches"
        await pilot.pause()
        window.query_one(Listing).select("set:branches")
        await pilot.press("space")
        await pilot.pause()
        assert [name for name, _what in session.by_hand()] == ["BrMiss%", "BrMPKI"]
        window.query_one(Listing).select("set:branches")
        await pilot.press("space")
        await pilot.pause()
        assert session.by_hand() == ()
    session.stop()


async def test_names_of_the_vendor_are_found_by_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tables").mkdir()
    monkeypatch.setenv("TURBOTUI_EVENT_TABLES", event_folder(tmp_path / "tables"))
    session = session_of("sapphire-2s")
    app = TurbotuiApp(session)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("a")
        await pilot.pause()
        await app.workers.wait_for_complete()
        window = app.screen
        window.query_one(Input).value = "retired store"
        await pilot.pause()
        assert "Retired store instructions" in window.query_one(Listing).text
        await pilot.press("tab")
        assert window.query_one(Input).value == "mem_inst_retired.all_stores"
        await pilot.press("enter")
        await pilot.pause()
        assert "mem_inst_retired.all_stores is shown" in str(window.query_one("#answer", Static).render())
    session.stop()
