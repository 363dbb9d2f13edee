"""Moving and resizing columns by keys and mouse; profiles and settings keep the arrangement."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from dashboard_driver import dashboard, lines, table, text_of
from scripted_machine import FakeSession
from textual.events import MouseDown, MouseMove, MouseUp
from textual.pilot import Pilot

from turbotui.app.settings import kind_of_machine, parse_settings, read_settings, remember
from turbotui.machine.host import HostKind
from turbotui.widgets.arrangement import ColumnArrangement
from turbotui.widgets.profiles import Profiles


def titles(app: Any) -> list[str]:
    return [column.id for column in table(app).drawn[0]]


async def drag(pilot: Pilot[int], start: int, *through: int) -> None:
    """Press on the line of titles, move with the button held, and release the button."""
    shown = table(pilot.app)  # type: ignore[arg-type]
    place = shown.region

    def event(kind: Any, x: int) -> Any:
        return kind(shown, x, 0, 0, 0, 1, False, False, False, place.x + x, place.y)

    shown.post_message(event(MouseDown, start))
    for x in through:
        shown.post_message(event(MouseMove, x))
    shown.post_message(event(MouseUp, through[-1]))
    await pilot.pause()


async def test_keys_move_a_column_and_undo() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        before = titles(app)
        name = table(app).selected[0].id  # type: ignore[index]
        at = before.index(name)
        await pilot.press("m", "right")
        await pilot.pause()
        assert titles(app).index(name) == at + 1
        await pilot.press("escape")
        await pilot.pause()
        assert titles(app) == before
        await pilot.press("m", "right", "enter")
        await pilot.pause()
        assert len(app.screen_stack) == 1
        assert titles(app).index(name) == at + 1
        assert "Ctrl+S remembers" in text_of(app, "status")


async def test_keys_change_a_width_and_equals_makes_it_natural() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        column = table(app).selected[0]  # type: ignore[index]
        natural = table(app).width_of(column)
        assert natural is not None
        await pilot.press("m", "up", "up")
        await pilot.pause()
        assert table(app).width_of(column) == natural + 2
        await pilot.press(*["down"] * 20)
        await pilot.pause()
        assert table(app).width_of(column) == 3
        assert "…" in lines(app)[0]
        await pilot.press("equals_sign")
        await pilot.pause()
        assert table(app).width_of(column) == natural


async def test_the_picker_moves_and_widens_too() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        before, column = titles(app), table(app).selected[0]  # type: ignore[index]
        await pilot.press("C", "greater_than_sign", "right_square_bracket")
        await pilot.pause()
        assert titles(app).index(column.id) == before.index(column.id) + 1
        assert app.watched.arrangements["cpus"].widths[column.id] > column.width


async def test_a_title_that_is_dropped_takes_the_place_and_does_not_sort() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        head = lines(app)[0]
        await drag(pilot, head.index("Busy%") + 1, head.index("Bzy_MHz") + 2)
        result = titles(app)
        assert result.index("Busy%") == result.index("Bzy_MHz") + 1
        assert table(app).view.sort is None


async def test_a_border_is_dragged_and_two_clicks_bring_the_width_back() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        head = lines(app)[0]
        end = head.index("Busy%") + len("Busy%")
        await drag(pilot, end, end + 2, end + 4)
        assert lines(app)[0].index("Busy%") == head.index("Busy%") + 4
        await pilot.click("#table", offset=(end + 4, 0), times=2)
        await pilot.pause()
        assert lines(app)[0] == head
        assert table(app).view.sort is None


async def test_what_is_remembered_is_there_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "turbotui" / "settings.toml"
    file.parent.mkdir()
    file.write_text('[tables.cpus] # mine\norder = ["Bzy_MHz", "Absent", "Busy%"]\nwidths = {Absent = 9}\n')
    session = FakeSession(kind=HostKind.REAL)
    async with dashboard(session, settings=read_settings({"XDG_CONFIG_HOME": str(tmp_path)})) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        result = titles(app)
        assert result.index("Bzy_MHz") < result.index("Busy%")
        table(app).select_column(app.watched.find("Busy%"))  # type: ignore[arg-type]
        await pilot.press("m", "up", "enter", "ctrl+s")
        await pilot.pause()
    kept = tomllib.loads(file.read_text())["tables"]["cpus"]
    assert kept == {"order": ["Bzy_MHz", "Absent", "Busy%"], "widths": {"Absent": 9, "Busy%": 7}}
    assert "# mine" in file.read_text()


async def test_columns_of_a_table_of_rows_are_remembered_under_its_name(tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with dashboard(FakeSession(kind=HostKind.REAL)) as (_, pilot):
        await pilot.press("9")
        await pilot.pause()
        await pilot.press("m", "up", "enter", "ctrl+s")
        await pilot.pause()
    settings = read_settings({"XDG_CONFIG_HOME": str(tmp_path)})
    assert not settings.problems
    assert list(settings.tables) == ["sources"]


async def test_what_a_simulated_machine_remembers_leaves_real_ones_alone(tmp_path: Path,
                                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    remember(environment, {"cpus": ColumnArrangement(("IPC",))}, {"intel": ("CPU", "IPC")}, theme="contrast",
             interval=2.0, screen="power")
    before = read_settings(environment)
    async with dashboard(FakeSession(), settings=before, screen="cpus") as (app, pilot):
        await pilot.press("T", "plus", "m", "up", "enter", "c", "f", "ctrl+s")
        await pilot.pause()
        assert "not for real ones" in text_of(app, "status")
        kind, changed = kind_of_machine(app.session.machine), dict(app.watched.arrangements)
    after = read_settings(environment)
    for kind_of_real in ("intel", "amd-guest"):
        assert after.columns_on(kind_of_real) == before.columns_on(kind_of_real)
        assert after.tables_on(kind_of_real) == before.tables
    assert (after.theme, after.interval, after.screen) == (before.theme, before.interval, before.screen)
    assert not after.problems
    assert kind == "simulated-intel"
    assert after.tables_on(kind) == changed != before.tables
    async with dashboard(FakeSession(), settings=after, screen="cpus") as (app, _pilot):
        assert app.watched.arrangements == changed


def test_a_table_that_is_as_usual_again_is_taken_out_and_the_rest_stays(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    tables = {"cpus": ColumnArrangement(("a",), {"b%": 4}), "two words": ColumnArrangement(("x",))}
    remember(environment, tables, theme="calm")
    settings = read_settings(environment)
    assert dict(settings.tables) == tables
    remember(environment, {"cpus": ColumnArrangement()}, theme="calm")
    assert read_settings(environment).tables["two words"] == ColumnArrangement(("x",))
    assert read_settings(environment).tables["cpus"] == ColumnArrangement()


def test_what_is_wrong_in_a_table_is_reported_with_its_line_and_the_rest_holds() -> None:
    written = '[tables.a]\norder = ["x"]\n[tables.b]\nwidths = {x = 2}\norder = 5\nshow = ["y"]\ncolour = 1\n'
    settings = parse_settings(written, "s.toml")
    assert dict(settings.tables) == {"a": ColumnArrangement(("x",)), "b": ColumnArrangement(show=("y",))}
    assert [problem.split(":")[0] for problem in settings.problems] == [
        "s.toml, line 4", "s.toml, line 5", "s.toml, line 7"]


async def test_a_profile_keeps_order_and_widths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with dashboard(FakeSession(), screen="cpus") as (app, pilot):
        await pilot.press("m", "right", "up", "enter", "s", *"mine", "enter")
        await pilot.pause()
        wanted = lines(app)[0]
    profile = Profiles({"XDG_CONFIG_HOME": str(tmp_path)}).load("mine")
    assert profile.order
    assert profile.widths
    async with dashboard(FakeSession(), profile=("mine", profile)) as (app, _):
        assert lines(app)[0] == wanted
