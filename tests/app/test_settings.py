"""A user's settings: what is read, which mistakes are reported, and what Ctrl+S writes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from dashboard_driver import dashboard, text_of
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession

from turbotui.app.actions import ACTIONS
from turbotui.app.help import Help
from turbotui.app.player import Player
from turbotui.app.settings import PersonalSettings, parse_settings, read_settings, remember
from turbotui.app.user_keys import PRESETS, key_named, with_keys
from turbotui.errors import TurbotuiError
from turbotui.machine.host import HostKind
from turbotui.widgets.listing import Listing

WRITTEN = """\
# mine
theme = "contrast"
interval = 0.01
colour = "red"

[keys]
quit = ["Q", "f10"]
pause = 5
"""


def test_what_is_wrong_is_reported_with_its_line_and_the_rest_holds() -> None:
    settings = parse_settings(WRITTEN, "s.toml")
    assert (settings.theme, settings.interval, dict(settings.keys)) == ("contrast", None, {"quit": ("Q", "f10")})
    places = [problem.split(":")[0] for problem in settings.problems]
    assert places == ["s.toml, line 3", "s.toml, line 4", "s.toml, line 8"]


def test_a_file_that_is_no_toml_is_reported_with_its_line() -> None:
    settings = parse_settings('theme = "calm"\ninterval = = 2\n', "s.toml")
    assert settings == PersonalSettings(problems=settings.problems, where="s.toml")
    assert settings.problems[0].startswith("s.toml, line 2 is not TOML: ")


@pytest.mark.parametrize(("text", "said"), [
    ("theme = 'calm'\ninterval = 1\ntheme = 'ansi'\n", "s.toml, line 3 is not TOML: this name has a value already"),
    ("[keys]\n[units]\n[keys]\n", "s.toml, line 3 is not TOML: "),
    ("interval = 1e300\n", "s.toml, line 1: interval has to be a number of seconds, from 0.05 to 1,000,000"),
    ("nosuch = 1\n", "s.toml, line 1: there is no setting"),
])
def test_a_narrow_screen_shows_the_line_of_a_mistake_in_a_file_of_deep_folders(text: str, said: str) -> None:
    settings = parse_settings(text, f"/home/{'somebody/' * 20}.config/turbotui/s.toml")
    assert settings.problems[0].startswith(said)


async def test_all_mistakes_are_listed_above_the_keys() -> None:
    settings = parse_settings('interval = 1e300\n[keys]\nnosuch = "x"\n[units]\nenergy = "cal"\n', "/etc/xdg/s.toml")
    async with dashboard(FakeSession(), settings=settings, size=(80, 24)) as (app, pilot):
        assert "3 mistakes (? lists them): s.toml, line 1: " in text_of(app, "status")
        await pilot.press("question_mark")
        await pilot.pause()
        help_ = app.screen
        assert isinstance(help_, Help)
        shown = ["".join(text for text, _ in item.segments) for item in help_.query_one(Listing).items]
        assert shown[0] == "Mistakes in the settings, /etc/xdg/s.toml"
        assert [line.split(":")[0].strip() for line in shown[1:8] if "s.toml" in line] == [
            "s.toml, line 1", "s.toml, line 5", "s.toml, line 3"]


def test_there_are_no_settings_without_a_file(tmp_path: Path) -> None:
    assert read_settings({"XDG_CONFIG_HOME": str(tmp_path)}) == PersonalSettings()


def test_why_a_file_cannot_be_read_comes_before_its_folders(tmp_path: Path) -> None:
    (tmp_path / "turbotui" / "settings.toml").mkdir(parents=True)
    [said] = read_settings({"XDG_CONFIG_HOME": str(tmp_path)}).problems
    assert said == "settings.toml cannot be read: it is a directory, not a regular file"


def test_what_is_remembered_is_read_again_and_the_rest_stays(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    file = tmp_path / "turbotui" / "settings.toml"
    file.parent.mkdir()
    file.write_text('# mine\ncolumns = [ # these\n  "CPU", "]",\n]\ntheme = "ansi"\n\n[keys] # own\nquit = "Q"\n')
    remember(environment, theme="calm", interval=2.0, screen="power", columns=("CPU", 'a "b"'))
    value = read_settings(environment)
    assert (value.theme, value.interval, value.screen, value.columns) == ("calm", 2.0, "power", ("CPU", 'a "b"'))
    assert dict(value.keys) == {"quit": ("Q",)}
    assert not value.problems
    assert file.read_text().startswith("# mine\n")
    assert "[keys] # own\n" in file.read_text()


def test_a_file_that_is_no_toml_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "turbotui" / "settings.toml"
    file.parent.mkdir()
    file.write_text("theme = \n")
    with pytest.raises(TurbotuiError, match="left alone"):
        remember({"XDG_CONFIG_HOME": str(tmp_path)}, theme="calm")
    assert file.read_text() == "theme = \n"


_TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8)


@given(st.dictionaries(st.sampled_from(["a", "theme", "b-1"]), st.one_of(_TEXTS, st.lists(_TEXTS, max_size=3))),
       _TEXTS, st.lists(_TEXTS, max_size=3))
def test_whatever_stands_in_a_file_other_values_stay(tmp_path_factory: pytest.TempPathFactory,
                                                     values: dict[str, str | list[str]], theme: str,
                                                     columns: list[str]) -> None:
    folder = tmp_path_factory.mktemp("xdg")
    file = folder / "turbotui" / "settings.toml"
    file.parent.mkdir()
    lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
    file.write_text("\n".join(lines) + "\n[other]\ntheme = 1\n")
    before = tomllib.loads(file.read_text())
    remember({"XDG_CONFIG_HOME": str(folder)}, theme=theme, columns=tuple(columns))
    after = tomllib.loads(file.read_text())
    assert after == before | {"theme": theme, "columns": columns}


def _toml(value: str | list[str]) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(_toml(item) for item in value) + "\n]"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize("preset", PRESETS)
def test_every_key_of_a_preset_can_be_used(preset: str) -> None:
    actions, problems = with_keys(PRESETS[preset])
    assert not problems
    assert [action.id for action in actions if action.keys != next(a.keys for a in ACTIONS if a.id == action.id)] == [
        action.id for action in ACTIONS if action.id in PRESETS[preset]]


def test_a_key_that_does_something_else_there_is_refused_until_that_is_moved() -> None:
    assert with_keys({"quit": ("e",)})[1] == {"quit": '"e" is the key of explain: give that another one too'}
    assert with_keys({"quit": ("e",), "explain": ("ctrl+g",)})[1] == {}
    assert with_keys({"filters": ("v",)})[1] == {}  # another screen's
    assert list(with_keys({"nothing": ("v",)})[1]) == ["nothing"]


@pytest.mark.parametrize(("written", "key"), [
    ("?", "question_mark"), ("-", "minus"), ("hyphen_minus", "minus"), ("X", "X"), ("F5", "f5"), ("Ctrl+D", "ctrl+d"),
    ("PgUp", "pageup"), ("shift+left", "shift+left"), ("foo bar", ""), ("x,y", ""), ("", ""), ("ctrl+", ""),
    ("foo+x", ""),
])
def test_a_key_is_known_by_textuals_name_its_character_or_its_name_on_keyboards(written: str, key: str) -> None:
    assert key_named(written) == key


def test_a_key_that_no_keyboard_has_leaves_the_usual_one_and_is_reported() -> None:
    actions, problems = with_keys({"quit": ("foo bar",), "help": ("?",)})
    assert problems == {"quit": 'no key is called "foo bar": write x, X, f5, ctrl+d, shift+left, space or slash'}
    assert [action.keys for action in actions if action.id in {"quit", "help"}] == [("question_mark",), ("q", "f10")]
    assert list(with_keys({"pause": ("?",)})[1]) == ["pause"]  # a character is the same key as its name


def test_every_usual_key_has_a_name_that_settings_may_use() -> None:
    assert [key for action in ACTIONS for key in action.keys if key_named(key) != key] == []


async def test_keys_of_ones_own_act_and_are_shown_and_the_usual_ones_do_not() -> None:
    settings = parse_settings('[keys]\nhelp = "ctrl+g"\nnosuch = "x"\n', "s.toml")
    async with dashboard(FakeSession(), settings=settings) as (app, pilot):
        assert "ctrl+g help" in text_of(app, "keys")
        assert "s.toml, line 3" in text_of(app, "status")
        await pilot.press("question_mark")
        await pilot.pause()
        assert len(app.screen_stack) == 1
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert len(app.screen_stack) == 2


async def test_theme_and_screen_of_the_settings_are_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    session = FakeSession(kind=HostKind.REAL)
    async with dashboard(session, settings=PersonalSettings(theme="ansi", screen="Power")) as (app, pilot):
        assert (app.theme, app.current_mode) == ("ansi", "power")
        await pilot.press("ctrl+s")
        await pilot.pause()
    settings = read_settings({"XDG_CONFIG_HOME": str(tmp_path)})
    assert (settings.theme, settings.screen, settings.columns) == ("ansi", "power", ())


async def test_the_interval_of_a_recording_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with dashboard(FakeSession(kind=HostKind.REAL)) as (app, pilot):
        assert app.watched.cursor is not None
        app.watched.player = Player(app.watched.cursor, 1.0)
        await pilot.press("ctrl+s")
        await pilot.pause()
    settings = read_settings({"XDG_CONFIG_HOME": str(tmp_path)})
    assert settings.theme == "calm"
    assert settings.interval is None


async def test_a_screen_that_is_not_there_is_reported_and_the_usual_one_shown() -> None:
    async with dashboard(FakeSession(), settings=parse_settings('screen = "nosuch"\n', "s.toml")) as (app, _):
        assert app.current_mode == "overview"
        assert 'line 1: no screen is called "nosuch"' in text_of(app, "status")
