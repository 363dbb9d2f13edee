"""The tour at the first start: when it is offered, that it does not get in the way, and the key that ends it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dashboard_driver import dashboard, table, text_of
from scripted_machine import FakeSession

from turbotui.app.actions import ACTIONS
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.screen_table import SCREENS
from turbotui.app.settings import PersonalSettings, may_offer_tour, read_settings
from turbotui.app.tour import LEAST_LINES, STEPS, TourLines


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for settings that is a test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def written_in(home: Path) -> list[Path]:
    """The files that were written."""
    return list(home.iterdir())


def shown(app: TurbotuiApp) -> str:
    """The text of the tour on the screen that is shown; "" for none."""
    return "\n".join(lines.text for lines in app.screen_stack[0].query(TourLines))


def test_it_is_offered_to_people_with_a_home_until_they_end_it(tmp_path: Path) -> None:
    at_home = {"HOME": str(tmp_path)}
    assert may_offer_tour(PersonalSettings(), at_home)
    assert may_offer_tour(PersonalSettings(), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert not may_offer_tour(PersonalSettings(tour=False), at_home)
    assert not may_offer_tour(PersonalSettings(), {**at_home, "TURBOTUI_TOUR": "0"})
    assert not may_offer_tour(PersonalSettings(), {})
    assert not may_offer_tour(PersonalSettings(), {"HOME": "/nonexistent"})


def test_it_is_offered_while_the_folder_of_the_settings_does_not_exist_yet(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert may_offer_tour(PersonalSettings(), {"XDG_CONFIG_HOME": str(tmp_path / "not" / "yet")})
    assert not may_offer_tour(PersonalSettings(), {"XDG_CONFIG_HOME": str(tmp_path / "file" / "not")})
    relative = {"XDG_CONFIG_HOME": "relative"}  # the specification says to ignore it
    assert may_offer_tour(PersonalSettings(), {**relative, "HOME": str(tmp_path)})
    assert not may_offer_tour(PersonalSettings(), relative)


async def test_its_end_makes_the_folder_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "not" / "yet"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place))
    async with dashboard(FakeSession(), tour=True) as (app, pilot):
        await pilot.press("Q")
        await pilot.pause()
        assert "is not offered again" in text_of(app, "status")
    assert not read_settings({"XDG_CONFIG_HOME": str(place)}).tour


def test_every_step_names_actions_that_there_are() -> None:
    calls = {action.call.partition("(")[0] for action in ACTIONS} | {"show_screen"}
    ids = {action.id for action in ACTIONS}
    for step in STEPS:
        assert set(step.done) <= calls
        assert set(re.findall(r"\{(\w+)\}", step.text)) <= ids
    assert len(STEPS) == 5


async def test_it_is_not_there_unless_it_is_asked_for() -> None:
    async with dashboard(FakeSession()) as (app, _pilot):
        assert shown(app) == ""


async def test_it_stands_on_the_live_screen_and_keys_do_what_they_do(home: Path) -> None:
    async with dashboard(FakeSession(), screen="overview", tour=True) as (app, pilot):
        assert shown(app).startswith(" Tour 1/5: W says what slows the machine")
        await pilot.press("down", "down")
        await pilot.pause()
        assert " · cpu " in text_of(app, "status")
        assert "Tour 1/5" in shown(app)
        await pilot.press("3")
        await pilot.pause()
        assert app.current_mode == "map"
        assert "Tour 1/5" in shown(app)
        assert not written_in(home)


async def test_it_continues_when_a_user_does_what_a_step_is_about() -> None:
    async with dashboard(FakeSession(), screen="overview", tour=True) as (app, pilot):
        for number, keys in enumerate((("W", "escape"), ("1",), ("e", "escape"), ("comma",)), 2):
            await pilot.press(*keys)
            await pilot.pause()
            assert f"Tour {number}/5" in shown(app)


@pytest.mark.parametrize("keys", [("Q",), ("B", "B", "B", "B", "B"), ("B", "Q")])
async def test_it_is_ended_for_ever(home: Path, keys: tuple[str, ...]) -> None:
    async with dashboard(FakeSession(), tour=True) as (app, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert shown(app) == ""
        assert "is not offered again" in text_of(app, "status")
    assert not read_settings({"XDG_CONFIG_HOME": str(home)}).tour
    assert not may_offer_tour(read_settings({"XDG_CONFIG_HOME": str(home)}), {"XDG_CONFIG_HOME": str(home)})


async def test_a_key_that_was_typed_ahead_ends_it(home: Path) -> None:
    def ended() -> None:
        app.action_end_tour()

    app = TurbotuiApp(FakeSession(), tour=True, on_shown=ended)  # before a screen is drawn
    async with app.run_test() as pilot:
        await pilot.pause()
        assert shown(app) == ""
    assert not read_settings({"XDG_CONFIG_HOME": str(home)}).tour


async def test_escape_puts_it_away_until_the_next_start(home: Path) -> None:
    async with dashboard(FakeSession(), tour=True) as (app, pilot):
        await pilot.press("escape")
        await pilot.pause()
        assert shown(app) == ""
    assert read_settings({"XDG_CONFIG_HOME": str(home)}).tour


async def test_escape_undoes_what_is_newer_than_the_tour_first() -> None:
    async with dashboard(FakeSession(), tour=True) as (app, pilot):
        await pilot.press("backslash", *"Busy%>80", "enter")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not table(app).view.filter.text
        assert "Tour 1/5" in shown(app) or "Tour 5/5" in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert shown(app) == ""


async def test_settings_that_cannot_be_written_mean_that_it_is_offered_again(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    async with dashboard(FakeSession(), tour=True, size=(200, 36)) as (app, pilot):
        await pilot.press("Q")
        await pilot.pause()
        assert shown(app) == ""
        assert "is offered at the next start again: " in text_of(app, "status")


async def test_it_is_begun_again_by_its_key_and_is_then_remembered_no_second_time(home: Path) -> None:
    async with dashboard(FakeSession(), settings=PersonalSettings(tour=False)) as (app, pilot):
        await pilot.press("Q")
        await pilot.pause()
        assert "No tour is under way: B begins it" in text_of(app, "status")
        await pilot.press("B")
        await pilot.pause()
        assert "Tour 1/5" in shown(app)
        await pilot.press("Q")
        await pilot.pause()
        assert shown(app) == ""
    assert not written_in(home)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_no_step_is_cut_and_every_screen_has_it(size: tuple[int, int]) -> None:
    async with dashboard(FakeSession(), size=size, screen="overview", tour=True) as (app, pilot):
        for number, _step in enumerate(STEPS, 1):
            (line,) = shown(app).splitlines()
            assert f"Tour {number}/5" in line
            assert "…" not in line
            assert "Q end" in line
            assert len(line) <= size[0]
            if number < len(STEPS):
                await pilot.press("B")
                await pilot.pause()
        for spec in SCREENS:
            app.action_show_screen(spec.id)
            await pilot.pause()
            await pilot.pause()
            assert "Tour 5/5" in shown(app), spec.id


async def test_a_screen_without_room_has_no_tour() -> None:
    async with dashboard(FakeSession(), size=(80, 14), tour=True) as (app, pilot):
        assert shown(app) == ""
        await pilot.press("B")
        await pilot.pause()
        assert "The tour needs 16 lines" in text_of(app, "status")


async def test_its_keys_stand_there_after_another_size(home: Path) -> None:
    async with dashboard(FakeSession(), (120, 36), tour=True) as (app, pilot):
        for width, words in ((80, "B next Q end"), (120, "Esc not now"), (80, "B next Q end")):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            assert shown(app).rstrip().endswith(words), width
        await pilot.resize_terminal(80, LEAST_LINES - 1)
        await pilot.pause()
        assert not shown(app)
        await pilot.resize_terminal(80, LEAST_LINES)
        await pilot.pause()
        assert shown(app)
    assert not written_in(home)
