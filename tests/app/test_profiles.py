"""Saved views: written, read back, refused, and applied by the dashboard."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dashboard_driver import dashboard, lines, table, text_of
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession

from turbotui.errors import TurbotuiError
from turbotui.quantities.scope import Scope
from turbotui.untrusted import visible
from turbotui.widgets.arrangement import NARROWEST, WIDEST
from turbotui.widgets.profiles import Profile, ProfileError, Profiles, file_of, parse_profile

VIEW = Profile(screen="cpus", columns=("CPU", "Busy%", "IRQ"), added=(), sort="IRQ", reverse=True,
               group=("package", "cpu"), filter="Busy%>5", interval=2.0, theme="contrast")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "turbotui" / "profiles"


def in_home(home: Path) -> Profiles:
    return Profiles({"XDG_CONFIG_HOME": str(home.parent.parent)})


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(visible)


@given(st.builds(Profile, screen=words, columns=st.lists(words, max_size=4).map(tuple),
                 added=st.lists(words, max_size=2).map(tuple), sort=words, reverse=st.booleans(),
                 group=st.lists(words, max_size=3).map(tuple), filter=words,
                 interval=st.floats(0.01, 1e6, allow_nan=False), theme=words,
                 order=st.lists(words, max_size=3).map(tuple),
                 widths=st.dictionaries(words, st.integers(NARROWEST, WIDEST), max_size=3)))
def test_whatever_is_saved_is_read_back(profile: Profile) -> None:
    assert parse_profile(file_of(profile), "here") == profile


@given(st.text(max_size=200))
def test_any_text_is_a_profile_or_a_sentence(text: str) -> None:
    with pytest.raises(ProfileError, match="the profile here"):
        parse_profile(text, "here")


@pytest.mark.parametrize(("old", "new", "said"), [
    ("format = 1", "format = 2", "is of format 2"),
    ("reverse = true", "reverse = 1", "reverse is 1, and has to be true or false"),
    ("interval = 2.0", "interval = -1.0", "interval is -1.0"),
    ("interval = 2.0", "interval = nan", "it holds nan, which is no finite number"),
    ('sort = "IRQ"', "", "sort is missing"),
    ('columns = ["CPU"', 'columns = [1, "CPU"', "columns is"),
    ('theme = "contrast"', 'theme = "contrast"\nthemes = 3', "'themes' means nothing here; did you mean theme?"),
    ("reverse = true", "reverse = ", "line 7 is not TOML"),
])
def test_a_damaged_profile_is_one_sentence(old: str, new: str, said: str) -> None:
    text = file_of(VIEW)
    assert old in text
    with pytest.raises(ProfileError, match=re.escape(said)) as caught:
        parse_profile(text.replace(old, new), "here")
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)


def test_a_file_of_somebody_else_is_never_overwritten(home: Path) -> None:
    home.mkdir(parents=True)
    foreign = home / "mine.toml"
    foreign.write_text("# my own notes\n")
    store = in_home(home)
    for attempt in (store.taken, lambda name: store.save(name, VIEW)):
        with pytest.raises(ProfileError, match="was not written by turbotui"):
            attempt("mine")
    assert foreign.read_text() == "# my own notes\n"
    assert [path.name for path in home.iterdir()] == ["mine.toml"], "nothing is left beside it"


def test_one_of_our_own_is_replaced_after_a_word_of_warning(home: Path) -> None:
    store = in_home(home)
    assert store.taken("night") == ""
    store.save("night", VIEW)
    assert "replaces" in store.taken("night")
    assert store.names() == ("night",)
    assert store.load("night") == VIEW


@pytest.mark.parametrize("name", ["../up", "", "a/b", ".hidden", "x" * 80, "a b"])
def test_a_name_stays_in_the_folder(home: Path, name: str) -> None:
    with pytest.raises(ProfileError, match="is no name for a profile"):
        in_home(home).save(name, VIEW)
    assert not home.exists()


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "turbotui").write_text("a file where the folder should be")
    with pytest.raises(TurbotuiError, match=r"cannot be saved as .*set XDG_CONFIG_HOME"):
        Profiles({"XDG_CONFIG_HOME": str(tmp_path)}).save("night", VIEW)


async def test_s_saves_what_is_seen(home: Path) -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("greater_than_sign", "t", "plus", "T", "s")
        await pilot.pause()
        await pilot.press(*"night", "enter")
        await pilot.pause()
        view = table(app).view
        assert f"Saved as {home}/night.toml" in text_of(app, "status")
        theme = app.theme
        shown = tuple(column.id for column in app.watched.columns)
    saved = in_home(home).load("night")
    assert saved.columns == shown
    assert saved.sort == (view.sort.id if view.sort else "")
    assert saved.reverse == view.reverse
    assert saved.group == ("package", "cpu")
    assert saved.interval == 2.0
    assert saved.theme == theme


async def test_a_profile_is_taken_up_by_name(home: Path) -> None:
    in_home(home).save("night", VIEW)
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        app.action_use_profile("night")
        await pilot.pause()
        session.tick()
        await pilot.pause()
        view = table(app).view
        assert {column.id for column in view.columns} == set(VIEW.columns)
        assert view.sort is not None
        assert (view.sort.id, view.reverse) == ("IRQ", True)
        assert view.levels == (Scope.PACKAGE, Scope.CPU)
        assert view.filter.text == "Busy%>5"
        assert session.interval == 2.0
        assert app.theme == "contrast"
        assert "IRQ▼" in lines(app)[0]


async def test_what_this_machine_lacks_is_reported_and_the_rest_is_shown(home: Path) -> None:
    other = Profile("cpus", ("CPU", "Busy%", "C99%"), (), "C99%", True, ("cpu",), "C99%>1", 1.0, "no such theme")
    in_home(home).save("other", other)
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        app.action_use_profile("other")
        await pilot.pause()
        assert {column.id for column in app.watched.columns} == {"CPU", "Busy%"}
        assert "not on this machine: C99%, filter C99%>1" in text_of(app, "status")


async def test_a_profile_that_is_gone_is_a_sentence(home: Path) -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        app.action_use_profile("night")
        await pilot.pause()
        text = text_of(app, "status").strip().rstrip("…")  # the folder's name may be longer than the line
        assert text.startswith('There is no profile "night" in /')
        assert f'There is no profile "night" in {home}'.startswith(text) or str(home) in text


async def test_added_counters_are_saved_and_come_back(home: Path) -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        app.watched.add("msr0x10,cpu,delta,TSC2")
        await pilot.press("s", *"hand", "enter")
        await pilot.pause()
    assert in_home(home).load("hand").added == ("msr0x10,cpu,delta,TSC2",)
    fresh = FakeSession()
    async with dashboard(fresh) as (app, pilot):
        app.action_use_profile("hand")
        await pilot.pause()
        assert [counter.name for counter in fresh.added] == ["TSC2"]


async def test_the_palette_lists_saved_views(home: Path) -> None:
    in_home(home).save("night", VIEW)
    session = FakeSession()
    async with dashboard(session) as (app, _pilot):
        assert "Profile: night" in [command.title for command in app.get_system_commands(app.screen)]


def in_a_terminal(*words: str) -> tuple[int, str]:
    """Exit status and output of turbotui in a pseudo-terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "turbotui", *words]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as run:  # noqa: S603 - our own program
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # EIO: the program has closed the terminal
            while data := os.read(ours, 4096):
                said += data
        status = run.wait()
    os.close(ours)
    return status, said.decode()


def test_the_command_line_refuses_a_bad_profile_with_its_status(home: Path) -> None:
    home.mkdir(parents=True)
    (home / "bad.toml").write_text("columns = 3\n")
    status, said = in_a_terminal("--machine", "guest", "--profile", "bad")
    assert status == 2
    assert "is of format None" in said
    status, said = in_a_terminal("--machine", "guest", "--profile", "none")
    assert status == 2
    assert "there are: bad" in said
    assert "Traceback" not in said
