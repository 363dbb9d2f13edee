"""`/` and `n` on every screen, including screens without a table."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

import pytest
from dashboard_driver import dashboard, table, terminal_text, text_of, until
from scripted_machine import FakeSession, build_topology
from simulated_session import SimulatedSession
from textual.widgets import Static

from turbotui.app.actions import ACTIONS, PLACES
from turbotui.app.base import WatchScreen
from turbotui.app.elsewhere import OtherScreens
from turbotui.app.picker import Picker
from turbotui.app.screen_table import SCREENS
from turbotui.app.sessions import WatchedSession
from turbotui.feature import EVERYWHERE
from turbotui.features.cpus.map_screen import MapScreen
from turbotui.features.overview.lines import TextPlace, places_of, texts_of
from turbotui.features.overview.screen import OverviewScreen
from turbotui.features.power.screen import PowerScreen
from turbotui.quantities.scope import RowId, Scope, cpu_row
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Listing
from turbotui.widgets.table_view import next_match


@pytest.mark.parametrize(("text", "start", "expected"), [
    ("7", 0, 1), ("7", 2, 4), ("7", 5, 1), ("17", 0, 2), ("CPU", 3, 3), ("nowhere", 0, None), ("P.G", 0, None),
    ("package", 0, 4), ("cpu 7", 2, 1), ("pu 1", 0, 2), ("0 cpu 7", 0, None),
])
def test_a_number_stands_for_itself_and_the_search_goes_around(text: str, start: int, expected: int | None) -> None:
    names = ["cpu 0", "cpu 7", "cpu 17", "cpu 71", "package 7"]
    assert next_match(names, text, start) == expected
    assert next_match([], text, start) is None


@pytest.mark.parametrize(("screen", "text", "row"), [
    ("cpus", "cpu 1", cpu_row(1)), ("cpus", "1", cpu_row(1)), ("cpus", "cpu1", cpu_row(1)),
    ("topology", "package 1", RowId(Scope.PACKAGE, (1,))), ("topology", "cpu 64", RowId(Scope.CORE, (0, 0, 8))),
])
async def test_a_row_is_found_by_the_name_that_the_screen_calls_it_by(screen: str, text: str, row: RowId) -> None:
    async with dashboard(SimulatedSession("cascade-2s"), screen=screen) as (app, pilot):  # type: ignore[arg-type]
        await pilot.press("end", "slash", *("space" if letter == " " else letter for letter in text), "enter")
        await pilot.pause()
        assert table(app).current == row
        assert "Nothing matches" not in text_of(app, "status")


def test_every_screen_can_be_searched() -> None:
    everywhere = frozenset(PLACES) - {EVERYWHERE}
    assert all(everywhere <= set(action.where) for action in ACTIONS if action.id in {"search", "search_next"})


@pytest.mark.parametrize("number", list("0123456789"))
async def test_what_is_not_there_is_reported(number: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press(number)
        await pilot.pause()
        assert isinstance(app.screen, WatchScreen)
        await pilot.press("slash", *"nowhere", "enter", "n")
        await pilot.pause()
        assert text_of(app, "status").startswith(" Nothing matches nowhere")


@pytest.mark.parametrize(("screen", "text", "cursor"), [
    ("cpus", "2", "table.current"), ("cpus", "pkgwatt", "table.selected"), ("map", "1", "heat_map.cpu"),
    ("overview", "pkg", "_cursor"), ("doctor", "machine", "table.current"),
])
async def test_letters_that_match_nothing_leave_the_cursor_where_it_was(screen: str, text: str, cursor: str) -> None:
    async with dashboard(FakeSession(), screen=screen) as (app, pilot):
        place = partial(attrgetter(cursor), app.screen)
        before = place()
        await pilot.press("slash", *text)
        await pilot.pause()
        assert place() != before
        await pilot.press("~")
        await pilot.pause()
        assert "Nothing matches" in terminal_text(app)
        assert place() == before


async def test_a_cpu_is_found_on_the_map_and_escape_goes_back() -> None:
    async with dashboard(FakeSession(build_topology(2, 8, 2)), screen="map") as (app, pilot):
        screen = app.screen
        assert isinstance(screen, MapScreen)
        await pilot.press("slash", *"17", "enter")
        await pilot.pause()
        assert screen.heat_map.cpu == 17
        assert text_of(app, "status").startswith(" cpu 17 ")
        await pilot.press("slash", *"package 0", "escape")
        await pilot.pause()
        assert screen.heat_map.cpu == 17
        await pilot.press("slash", *"package 1", "enter")
        await pilot.pause()
        first = screen.heat_map.cpu
        await pilot.press("n")
        await pilot.pause()
        frame = screen.watch_state.frame
        assert frame is not None
        assert first is not None
        assert screen.heat_map.cpu == frame.topology.cpus[frame.topology.cpus.index(first) + 1]


async def test_a_number_of_a_package_is_found_on_power_by_its_name() -> None:
    async with dashboard(FakeSession(build_topology(2, 2, 2)), screen="power", size=(160, 45)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, PowerScreen)
        await pilot.press("slash", *"pkgtmp", "enter")
        await pilot.pause()
        result = [screen.grid.target]
        await pilot.press("n")
        await pilot.pause()
        result.append(screen.grid.target)
        assert [target[0].id for target in result if target is not None] == ["PkgTmp", "PkgTmp"]
        assert result[0] != result[1]


async def test_a_number_of_the_overview_is_found_by_row_and_by_its_chart() -> None:
    async with dashboard(FakeSession(), screen="overview", size=(160, 45)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        await pilot.press("slash", *"cpu 3", "enter")
        await pilot.pause()
        assert " · cpu 3 · " in text_of(app, "status")
        await pilot.press("slash", *"cpu", "enter", "n")
        await pilot.pause()
        assert " · cpu " in text_of(app, "status")
        assert " · cpu 3 · " not in text_of(app, "status")
        await pilot.press("slash", *"load", "enter")
        await pilot.pause()
        assert text_of(app, "status").startswith(" Busy% · whole machine")


@pytest.mark.parametrize(("machine", "size", "text", "row"), [
    ("laptop-old", (200, 60), "cpu 1", cpu_row(1)),
    ("cascade-2s", (120, 36), "package 1", RowId(Scope.PACKAGE, (1,))),
])
async def test_a_name_beside_a_number_of_the_overview_leads_to_the_number(machine: str, size: tuple[int, int],
                                                                               text: str, row: RowId) -> None:
    async with dashboard(SimulatedSession(machine), screen="overview", size=size) as (app, pilot):  # type: ignore[arg-type]
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        await pilot.press("slash", *("space" if letter == " " else letter for letter in text), "enter")
        await pilot.pause()
        assert screen.pointed is not None
        assert screen.pointed[1] == row
        assert "found by /" not in text_of(app, "status")


async def test_every_cpu_is_found_where_a_mark_of_the_overview_is_a_core() -> None:
    async with dashboard(FakeSession(build_topology(2, 48, 2)), screen="overview", size=(80, 24)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        for cpu in ("5", "95", "96", "191"):
            await pilot.press("slash", *cpu, "enter")
            await pilot.pause()
            assert screen._cursor is not None
            frame = screen.watch_state.frame
            assert frame is not None
            row = screen._cursor[1]
            instance = frame.topology.instance(row)
            assert row.key[0] == int(cpu) or (instance is not None and int(cpu) in instance.cpus), cpu


async def test_words_that_are_no_number_are_lit_until_escape() -> None:
    async with dashboard(FakeSession(), screen="overview", size=(120, 36)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        numbers = {place.name(screen.watch_state.frame.topology).lower() for place in places_of(screen.drawn.lines)
                   if screen.watch_state.frame is not None}
        words = next(place for place in texts_of(screen.drawn.lines)
                     if not any(_word(place) in name for name in numbers))
        await pilot.press("slash", *_word(words), "enter")
        await pilot.pause()
        lit = [text for line in screen.drawn.segments for text, role in line if role is StyleRole.CELL]
        assert lit == [words.text]
        assert "found by /" in text_of(app, "status")
        await pilot.press("escape")
        await pilot.pause()
        assert not [role for line in screen.drawn.segments for _, role in line if role is StyleRole.CELL]


def _word(place: TextPlace) -> str:
    """The longest word of a text."""
    return max(place.text.lower().split(), key=len)


async def test_a_column_is_found_by_its_name_and_one_that_is_not_here_leads_to_the_reason() -> None:
    async with dashboard(FakeSession(), size=(200, 36)) as (app, pilot):
        await pilot.press("slash", *"pkgwatt")
        await pilot.pause()
        selected = table(app).selected
        assert selected is not None
        assert selected[0].id == "PkgWatt"
        await pilot.press("escape", "slash", *"ramwatt")
        await pilot.pause()
        assert "RAMWatt is not here (Enter: says why): " in terminal_text(app)
        await pilot.press("enter")
        await pilot.pause()
        window = app.screen
        assert isinstance(window, Picker)
        assert window.query_one(Listing).key == "RAMWatt"
        assert "not here: " in str(window.query_one("#about", Static).render())
        await pilot.press("escape", "slash", *"no such thing")
        await pilot.pause()
        assert "Nothing matches no such thing" in terminal_text(app)


async def test_a_column_is_searched_from_a_screen_without_columns_and_escape_leads_back() -> None:
    async with dashboard(FakeSession(), size=(200, 36), screen="overview") as (app, pilot):
        await pilot.press("slash", *"ramwatt", "enter")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        assert app.current_mode == "cpus"
        assert app.screen.query_one(Listing).key == "RAMWatt"
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.current_mode == "overview")
        await pilot.press("slash", *"user%", "enter")
        await until(pilot, lambda: app.current_mode == "cpus" and isinstance(app.screen, WatchScreen))
        await until(pilot, lambda: (table(app).selected or (None,))[0] is app.watched.known("user%"))


async def test_what_another_screen_shows_is_found_there() -> None:
    session = SimulatedSession("vera-2s", few=True, small=True)
    async with dashboard(session, size=(80, 24), screen="overview") as (app, pilot):  # type: ignore[arg-type]
        await pilot.press("slash", *"c2c")
        await pilot.pause()
        assert "NVLink-C2C is on screen 5, uncore (Enter: goes there)" in terminal_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "uncore" and "NVLink-C2C" in text_of(app, "status"))
        await pilot.press("escape")
        await until(pilot, lambda: app.current_mode == "overview")
        await pilot.press("slash", *"info")
        await pilot.pause()
        assert "info is screen 8 (Enter: goes there)" in terminal_text(app)
    session.stop()


def names_found(session: WatchedSession, text: str) -> list[tuple[str, str]]:
    return [(name.partition(": ")[0], spec.number) for name, spec in OtherScreens(session, SCREENS, "0").find(text)]


def test_names_of_other_screens_are_found_by_their_words() -> None:
    session = SimulatedSession("vera-2s", few=True, small=True)
    assert names_found(session, "c2c")[0] == ("NVLink-C2C", "5")
    assert names_found(session, "roofline")[0] == ("roofline", "6")
    assert names_found(session, "migrations") == [("Migrations", "7")]
    assert names_found(session, "Throttled%") == [("Throttled%", "u")]
    assert names_found(session, "no such thing") == []
    assert names_found(session, " ") == []
    session.stop()


@pytest.mark.parametrize(("key", "word"), [("at", "condition"), ("backslash", "filter")])
async def test_a_condition_on_a_column_that_is_not_here_says_why_beside_what_was_typed(key: str, word: str) -> None:
    async with dashboard(FakeSession(), size=(80, 24)) as (app, pilot):
        await pilot.press(key)
        await pilot.pause()
        assert word in terminal_text(app).splitlines()[-1]
        await pilot.press(*"RAMWatt>5")
        await pilot.pause()
        line = terminal_text(app).splitlines()[-1]
        assert "RAMWatt>5 " in line
        assert " RAMWatt is not here: " in line


@pytest.mark.parametrize(("text", "why"), [
    ("Busy%>1", "Not filtered: Busy% is not here: "), ("Load%>", "Not filtered: "),
    ("Nobody>1", "Not filtered: no column"),
])
async def test_a_filter_that_is_not_understood_is_none_and_says_why(text: str, why: str) -> None:
    async with dashboard(SimulatedSession("guest"), screen="cpus") as (app, pilot):  # type: ignore[arg-type]
        rows = table(app).view.filter, len(table(app).lines)
        await pilot.press("backslash", *text, "enter")
        await pilot.pause()
        assert text_of(app, "status").strip().startswith(why)
        assert (table(app).view.filter, len(table(app).lines)) == rows
