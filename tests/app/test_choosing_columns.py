"""Columns chosen in one step: by letters, only those listed, the default ones; settings by kind of machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dashboard_driver import dashboard, table, text_of, until
from scripted_machine import FakeSession
from textual.pilot import Pilot
from textual.widgets import Static

from turbotui.app.category import CategoryKeys
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.palette import palette_commands
from turbotui.app.picker import Picker
from turbotui.app.settings import kind_of_machine, parse_settings, read_settings, remember
from turbotui.machine.machine import read_machine
from turbotui.simulated import simulated_host
from turbotui.widgets.geometry import arrange
from turbotui.widgets.segment_lines import SegmentLines


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A place for settings that is a test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def values(app: TurbotuiApp) -> list[str]:
    """Names of the visible columns that are no name of a row."""
    return [column.id for column in app.watched.columns if not column.identity]


async def said_by_groups(app: TurbotuiApp, pilot: Pilot[int], *keys: str) -> str:
    """The window of groups after keys."""
    await pilot.press(*keys)
    await pilot.pause()
    assert isinstance(app.screen, CategoryKeys)
    return app.screen.query_one(SegmentLines).text


async def test_columns_of_the_command_line_that_are_not_here_are_named_with_the_reason() -> None:
    app = TurbotuiApp(FakeSession())
    app.named_columns = ("busy%", "ramwatt")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await until(pilot, lambda: "Not here" in text_of(app, "status"))
        assert text_of(app, "status").startswith(" Not here (C says why): RAMWatt: no driver: ")


async def test_letters_change_groups_one_after_the_other_and_show_the_state_of_each() -> None:
    async with dashboard(FakeSession(), size=(200, 36)) as (app, pilot):
        before = values(app)
        text = await said_by_groups(app, pilot, "c")
        assert " clock 4/" in text
        assert " waits -" in text
        text = await said_by_groups(app, pilot, "f", "t")
        assert " clock 0/" in text
        assert "thermal: 2 columns hidden" in text
        await said_by_groups(app, pilot, "f", "t")
        await pilot.press("down")
        await pilot.pause()
        assert not isinstance(app.screen, CategoryKeys)
        assert values(app) == before


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_every_group_and_the_list_fit_on_the_screen(width: int) -> None:
    async with dashboard(FakeSession(), size=(width, 36)) as (app, pilot):
        line = (await said_by_groups(app, pilot, "c")).splitlines()[0]
        assert len(line.rstrip()) < width
        assert line.rstrip().endswith("c list")
        assert "…" not in line


async def test_a_capital_letter_shows_its_group_alone_and_further_letters_add(environment: dict[str, str]) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("c", "F", "p", "ctrl+s")
        await pilot.pause()
        assert values(app) == ["Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz", "PkgWatt"]
        kind = kind_of_machine(app.session.machine)
    assert set(values(app)) < set(read_settings(environment).columns_on(kind))


async def test_a_key_behind_a_changed_group_is_a_key_of_the_screen() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("c", "t", "greater_than_sign")
        await pilot.pause()
        assert table(app).view.sort is not None


async def test_groups_say_how_many_of_their_columns_have_no_room() -> None:
    async with dashboard(FakeSession(), size=(60, 24)) as (app, pilot):
        assert re.search(r"\d+ columns outside: ← → · Esc closes", await said_by_groups(app, pilot, "c")), "at once"
        assert re.search(r"hidden, \d+ others outside the picture", await said_by_groups(app, pilot, "k"))
        assert re.search(r"shown, \d+ of them outside the picture", await said_by_groups(app, pilot, "k"))


async def test_columns_that_are_hidden_leave_no_room_empty_that_others_can_fill() -> None:
    async with dashboard(FakeSession(), size=(60, 24)) as (app, pilot):
        await pilot.press(*["right"] * 30)
        await pilot.pause()
        canvas = table(app)._canvas
        assert canvas.painter.offset > 1
        await said_by_groups(app, pilot, "c")
        for letter in "kf":
            await said_by_groups(app, pilot, letter)
            painter, offset = canvas.painter, canvas.painter.offset
            assert not offset or arrange(painter.moving, painter.edge, painter.width, offset - 1).more_right


async def test_only_the_listed_columns_are_shown_by_one_key_and_the_default_ones_come_back(
        environment: dict[str, str]) -> None:
    async with dashboard(FakeSession(), size=(120, 36)) as (app, pilot):
        before = values(app)
        await pilot.press("C", *"/bzy_mhz,pkgw", "tab")  # the slash of habit, by which other windows search
        await pilot.pause()
        assert values(app) == ["Bzy_MHz", "PkgWatt"]
        assert "Only these are shown: Bzy_MHz, PkgWatt" in str(app.screen.query_one("#about", Static).content)
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert not isinstance(app.screen, Picker)
        assert "Remembered" in text_of(app, "status")
        await pilot.press("C", *"default", "space", "escape")
        await pilot.pause()
        assert values(app) == before


async def test_nothing_is_hidden_where_no_listed_column_is_here() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        before = values(app)
        await pilot.press("C", *"ramwatt", "tab")
        await pilot.pause()
        assert values(app) == before
        assert "nothing is hidden" in str(app.screen.query_one("#about", Static).content)


async def test_rows_without_a_value_say_what_to_do() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        app.watched.show_only(())
        await pilot.press("down", "down")
        await pilot.pause()
        app._resumed()
        await pilot.pause()
        assert values(app) == []
        assert text_of(app, "status").startswith(" Every column with a value is hidden: C shows them")


async def test_a_machine_without_any_of_the_chosen_columns_shows_the_usual_ones_and_says_so() -> None:
    session = FakeSession()
    absent = [column for column in session.catalog.columns if column.id in {"RAMWatt", "CPU"}]
    async with dashboard(session, columns=absent, ticks=0, size=(160, 36)) as (app, _pilot):
        assert "PkgWatt" in values(app)
        assert "None of the chosen columns" in text_of(app, "status")


async def test_the_palette_has_default_columns_and_settings() -> None:
    async with dashboard(FakeSession()) as (app, _pilot):
        titles = [command.title for command in palette_commands(app, app.screen)]
    assert any(title.startswith("Default columns") for title in titles)
    assert any(title.startswith("Default settings") for title in titles)


async def test_default_settings_leave_keys_and_what_is_no_choice_of_view(environment: dict[str, str]) -> None:
    file = Path(environment["XDG_CONFIG_HOME"]) / "turbotui" / "settings.toml"
    file.parent.mkdir()
    file.write_text('theme = "contrast"\ninterval = 5\ncolumns = ["CPU"]\n[keys]\nquit = "Q"\n'
                    '[machines.amd]\ncolumns = ["CPU", "IPC"]\n[tables.cpus]\norder = ["IPC"]\n')
    async with dashboard(FakeSession(), settings=read_settings(environment)) as (app, pilot):
        before = values(app)
        app.watched.show_only({"IPC"})
        await app.run_action("app.default_settings")
        await pilot.pause()
        assert values(app) == before
    left = read_settings(environment)
    assert (left.theme, left.interval, left.columns, left.columns_on("amd"), left.keys) == (
        "", None, (), (), {"quit": ("Q",)})
    assert all(arrangement.order == () for arrangement in left.tables.values())


def test_columns_belong_to_a_kind_of_machine(environment: dict[str, str]) -> None:
    remember(environment, columns=("CPU", "IPC"))
    remember(environment, {}, {"simulated-intel": ("CPU", "PkgWatt"), "amd": ()})
    settings = read_settings(environment)
    assert settings.columns_on("simulated-intel") == ("CPU", "PkgWatt")
    assert settings.columns_on("amd") == ()
    assert settings.columns_on("amd-guest") == ("CPU", "IPC")


def test_a_mistake_in_the_columns_of_a_kind_is_reported_with_its_line() -> None:
    value = parse_settings('[machines.amd]\ncolumns = 3\nrows = ["a"]\n', "settings.toml")
    assert [item.partition(":")[0] for item in value.problems] == ["settings.toml, line 2", "settings.toml, line 3"]
    assert not value.machines


def test_simulated_machines_and_guests_are_other_kinds_than_the_machine_itself() -> None:
    kinds = {name: kind_of_machine(read_machine(simulated_host(name))) for name in ("laptop", "turin-2s", "grace-2s",
                                                                                    "guest")}
    assert kinds["laptop"] == "simulated-intel"
    assert kinds["turin-2s"] == "simulated-amd"
    assert kinds["grace-2s"] == "simulated-aarch64"
    assert kinds["guest"].endswith("-guest")
