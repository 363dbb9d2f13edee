"""The keys of every screen that save or copy, and the message of a key that does nothing on a screen."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from dashboard_driver import dashboard, text_of
from scripted_machine import GUEST_SIGNALS, FakeSession, build_topology
from textual.widgets import Input

from turbotui.app.actions import ACTIONS
from turbotui.app.arranging import ArrangeKeys
from turbotui.app.base import WatchScreen
from turbotui.app.command_lines_window import other_machine
from turbotui.app.copying import Clipboard, clipboard_of
from turbotui.app.screen_table import SCREENS
from turbotui.app.settings import parse_settings
from turbotui.app.table_keys import TableKeys
from turbotui.feature import EVERYWHERE, ScreenSpec
from turbotui.machine.host import HostKind
from turbotui.recording.machine_facts import Header
from turbotui.remote.session import RemoteHost
from turbotui.repertoire import Abilities
from turbotui.widgets.segment_lines import SegmentLines

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which pictures are saved."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def saved(folder: Path, suffix: str) -> list[Path]:
    """The files of a kind that were saved."""
    return sorted(folder.glob(f"*.{suffix}"))


def drawing_of(folder: Path) -> ET.Element:
    """The drawing that was saved."""
    return ET.parse(saved(folder, "svg")[0]).getroot()  # noqa: S314 - turbotui wrote it


def lines_of(folder: Path) -> list[str]:
    """The text that was saved."""
    return saved(folder, "txt")[0].read_text().splitlines()


@pytest.mark.parametrize("spec", SCREENS, ids=lambda spec: spec.id)
async def test_what_is_shown_is_saved_as_two_files(here: Path, spec: ScreenSpec) -> None:
    async with dashboard(FakeSession(kind=HostKind.SIMULATED)) as (app, pilot):
        await pilot.press(spec.number)
        await pilot.pause()
        assert isinstance(app.screen, WatchScreen)
        assert spec.place == app.screen.where, "its keys are those of its class"
        await pilot.press("P")
        await pilot.pause()
        said = text_of(app, "status")
        (drawing,), (text,) = saved(here, "svg"), saved(here, "txt")
        assert drawing.stem == text.stem
        assert re.fullmatch(rf"turbotui-{spec.id}-\d{{8}}-\d{{6}}", drawing.stem)
        assert said.startswith(f" Saved {drawing.name} and .txt in /")
        lines = lines_of(here)
        assert len(lines) == app.size.height
        assert "SIMULATED machine" in lines[0]
        assert lines[-1].strip() == text_of(app, "keys").strip()
        letters = "".join(node.text or "" for node in drawing_of(here).iter(f"{_SVG}text"))
        assert "SIMULATED" in letters
        assert "http" not in drawing.read_text().replace("http://www.w3.org/2000/svg", "")


async def test_a_drawing_has_the_colours_of_the_theme_and_each_character_in_its_cell(here: Path) -> None:
    async with dashboard(FakeSession(), theme="contrast") as (_app, pilot):
        await pilot.press("P")
        await pilot.pause()
    root = drawing_of(here)
    assert {"#000000"} == {node.get("fill") for node in root.iter(f"{_SVG}rect") if node.get("width") == "100%"}
    colours = {node.get("fill") for node in root.iter(f"{_SVG}text")}
    assert "#00d7ff" in colours
    busy = next(node for node in root.iter(f"{_SVG}text") if (node.text or "").startswith("Busy%"))
    text = lines_of(here)
    y = next(y for y, line in enumerate(text) if "Busy%" in line)
    assert float(busy.get("y", "0")) // 17 == y
    assert float(busy.get("textLength", "0")) == pytest.approx(8.4 * len(busy.text or ""), abs=0.1)


async def test_a_window_is_saved_with_the_screen_below_it(here: Path) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("e")
        await pilot.pause()
        await pilot.press("P")
        await pilot.pause()
        assert "Saved turbotui-cpus-" in text_of(app, "status")
    lines = lines_of(here)
    assert any("g graph · y copy · Esc close" in line for line in lines)
    assert lines[-1].strip().startswith("? help")


async def test_a_terminal_of_ascii_alone_is_saved_as_it_shows_it(here: Path) -> None:
    async with dashboard(FakeSession(), abilities=Abilities(encoding="ascii")) as (_app, pilot):
        await pilot.press("P")
        await pilot.pause()
    assert "".join(lines_of(here)).isascii()


async def test_files_of_one_second_do_not_overwrite_each_other(here: Path) -> None:
    async with dashboard(FakeSession()) as (_app, pilot):
        for _ in range(3):
            await pilot.press("P")
            await pilot.pause()
    names = {path.stem for path in saved(here, "svg")}
    assert len(names) == 3
    assert names == {path.stem for path in saved(here, "txt")}


async def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(here: Path) -> None:
    gone = here / "gone"
    gone.mkdir()
    os.chdir(gone)
    async with dashboard(FakeSession(), size=(200, 36)) as (app, pilot):
        here.joinpath("gone").rename(here / "away")
        here.joinpath("away").rmdir()
        await pilot.press("P")
        await pilot.pause()
        said = text_of(app, "status")
    assert said.startswith(" Not saved (")
    assert "start turbotui" in said


# Copying


async def test_a_number_of_a_distant_machine_names_the_machine_whatever_it_is_called() -> None:
    session = FakeSession(kind=HostKind.REAL)
    machine = session.machine
    name = os.uname().nodename  # a node may claim to be this machine
    header = Header("0.3.0", name, HostKind.REAL, machine.model, machine.privileges, None, "", 0, 0, "session")
    session.machine = replace(machine, host=RemoteHost(header))
    async with dashboard(session, size=(160, 45)) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        await pilot.press("down", "y")
        await pilot.pause()
        assert app.clipboard.endswith(f" (on {name})")
        assert other_machine(app.watched) == f"on {name}"


@pytest.mark.parametrize("spec", SCREENS, ids=lambda spec: spec.id)
async def test_the_cell_under_the_cursor_is_copied_with_its_row_unit_and_machine(spec: ScreenSpec) -> None:
    async with dashboard(FakeSession(kind=HostKind.SIMULATED), size=(160, 45)) as (app, pilot):
        await pilot.press(spec.number)
        await pilot.pause()
        await pilot.press("down", "y")
        await pilot.pause()
        if not app.clipboard:
            assert "Nothing is under the cursor to copy" in text_of(app, "status")
            # the scripted machine has none of these
            assert spec.rows or spec.id in {"uncore", "roofline", "topdown", "tasks", "groups"}
            return
        assert app.clipboard.endswith(f"(SIMULATED machine {app.session.machine.host.name})")
        column, row, value = app.clipboard.rpartition(" (SIMULATED")[0].split(" · ")[:3]
        assert column
        assert row
        assert value or row == "the machine"  # a row of facts has no state
        assert f"{column} · {row}" in text_of(app, "status")


async def test_what_is_copied_of_a_paused_picture_says_of_when_it_is_once_a_newer_frame_has_come() -> None:
    session = FakeSession(kind=HostKind.REAL)
    async with dashboard(session, ticks=2) as (app, pilot):
        await pilot.press("space", "y")
        await pilot.pause()
        assert app.watched.paused
        assert "PAUSED" not in app.clipboard
        session.tick()
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert re.search(r"PAUSED: \d\d:\d\d:\d\d\)$", app.clipboard)


async def test_what_is_copied_from_the_past_says_when_that_was() -> None:
    async with dashboard(FakeSession(), ticks=4) as (app, pilot):
        await pilot.press("comma", "y")
        await pilot.pause()
        assert re.search(r" PAST: \d\d:\d\d:\d\d\)$", app.clipboard)


async def test_an_explanation_is_copied_whole() -> None:
    async with dashboard(FakeSession(), size=(80, 24)) as (app, pilot):
        await pilot.press("down", "e")
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        lines = app.clipboard.splitlines()
        assert lines[0].startswith("Busy% · cpu ")
        assert any("Δmperf" in line for line in lines)
        assert f"and {len(lines) - 1} more lines" in text_of(app, "status") or "…" in text_of(app, "status")


@pytest.mark.parametrize(("environment", "expected"), [
    ({"TERM": "xterm-256color"}, Clipboard.MAY),
    ({"TERM": "tmux-256color", "TMUX": "/run/tmux,1,0", "KITTY_WINDOW_ID": "1"}, Clipboard.TMUX),
    ({"TERM": "xterm-kitty"}, Clipboard.TAKES),
    ({"TERM": "xterm-256color", "WT_SESSION": "x"}, Clipboard.TAKES),
    ({"TERM": "linux"}, Clipboard.NEVER),
    ({"TERM": "screen", "STY": "1.pts-0"}, Clipboard.NEVER),
    ({"TERM": "xterm", "TMUX": ""}, Clipboard.MAY),
    ({}, Clipboard.MAY),
])
def test_a_terminal_that_may_not_copy_is_distinguished_from_one_that_does(environment: dict[str, str],
                                                                          expected: Clipboard) -> None:
    assert clipboard_of(environment) is expected


# Keys that do nothing


async def test_a_key_of_another_screen_says_where_it_works() -> None:
    async with dashboard(FakeSession(), screen="map") as (app, pilot):
        await pilot.press("f")
        await pilot.pause()
        assert text_of(app, "status").startswith(" f works on uncore (5) and roofline (6), and does nothing here")
        await pilot.press("v")
        await pilot.pause()
        assert text_of(app, "status").startswith(
            " v works on CPUs (1), topology (2), roofline (6) and tasks (7), and does nothing here")


async def test_the_keys_of_every_other_screen_are_named_by_the_table_of_actions() -> None:
    async with dashboard(FakeSession(), screen="map") as (app, pilot):
        selected = {key for action in ACTIONS if {EVERYWHERE, "map"} & set(action.where) for key in action.keys}
        others = {key: action for action in ACTIONS for key in action.keys if key not in selected}
        assert len(others) > 10
        for key, action in others.items():
            await pilot.press(key)
            await pilot.pause()
            said = text_of(app, "status")
            spec = next(spec for spec in SCREENS if spec.place in action.where)
            assert " works on " in said, key
            assert f"{spec.word} ({spec.number})" in said or "more, and does nothing" in said, key


async def test_a_key_that_is_bound_nowhere_names_the_help_each_time() -> None:
    settings = parse_settings('[keys]\nhelp = "ctrl+g"\n', "s.toml")
    async with dashboard(FakeSession(), screen="map", settings=settings) as (app, pilot):
        for key, shown in (("U", "U"), ("f12", "F12"), ("U", "U"), ("dollar_sign", "$")):
            await pilot.press(key)
            await pilot.pause()
            assert text_of(app, "status").startswith(f" {shown} does nothing: ctrl+g lists the keys")


@pytest.mark.parametrize("screen", ["map", "tasks"])
async def test_keys_by_which_htop_acts_on_a_process_lead_to_the_key_that_does(screen: str) -> None:
    settings = parse_settings('[keys]\nacts = "ctrl+x"\n', "s.toml")
    async with dashboard(FakeSession(), screen=screen, settings=settings) as (app, pilot):
        for key in ("f7", "f8", "f9"):
            await pilot.press(key)
            await pilot.pause()
            assert text_of(app, "status").startswith(
                f" {key.upper()} of htop is ctrl+x on tasks (7) and groups (u): command lines to copy")


async def test_letters_typed_into_a_field_are_no_such_keys() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("slash", *"Uf")
        await pilot.pause()
        assert app.screen.query_one(Input).value == "Uf"
        assert "does nothing" not in text_of(app, "status")


async def test_a_key_that_does_nothing_in_a_window_says_nothing() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("e", "U", "f")
        await pilot.pause()
        assert "does nothing" not in text_of(app, "status")


@pytest.mark.parametrize("number", ["5", "6", "d"])
async def test_a_key_that_has_nothing_to_act_on_says_why(number: str) -> None:
    topology = build_topology(1, 2, 1)
    async with dashboard(FakeSession(topology, signals=GUEST_SIGNALS)) as (app, pilot):
        await pilot.press(number)
        await pilot.pause()
        screen: WatchScreen = app.screen_stack[0]  # type: ignore[assignment]  # as below
        assert isinstance(screen, TableKeys)
        assert not screen.table.lines
        for action in ACTIONS:
            if screen.where in action.where:
                screen.notice("")
                await pilot.press(action.keys[0])
                await pilot.pause()
                assert app.screen is not screen or screen.noticed, action
                while app.screen is not screen:
                    await pilot.press("escape")
                    await pilot.pause()


async def test_a_picture_that_was_paused_before_its_first_reading_says_what_continues() -> None:
    async with dashboard(FakeSession(), ticks=0) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        assert text_of(app, "status").startswith(" Waiting for the first reading")
        await pilot.press("space")
        await pilot.pause()
        await pilot.press("2")
        await pilot.pause()
        assert text_of(app, "status").startswith(" Paused before the first reading: space goes on")


async def test_what_a_key_says_of_an_empty_table_goes_when_rows_come() -> None:
    session = FakeSession()
    async with dashboard(session, ticks=0) as (app, pilot):
        await pilot.press("1", "e")
        await pilot.pause()
        assert text_of(app, "status").startswith(" Waiting for the first reading")
        session.tick(2)
        await pilot.pause()
        assert "Waiting" not in text_of(app, "status")


async def test_the_first_and_the_last_column_and_a_folded_tree_say_that_nothing_is_further() -> None:
    async with dashboard(FakeSession(build_topology(1, 2, 1)), size=(400, 36)) as (app, pilot):
        await pilot.press("1", *["left"] * 40)
        await pilot.pause()
        assert text_of(app, "status").startswith(" This is the first column")
        await pilot.press(*["right"] * 120)
        await pilot.pause()
        assert text_of(app, "status").startswith(" This is the last column")
        await pilot.press("2", "home", *["left"] * 3)
        await pilot.pause()
        assert text_of(app, "status").startswith(" It is folded: → unfolds it, Shift+← goes to the column before")


async def test_the_keys_that_arrange_a_column_fit_beside_its_name() -> None:
    async with dashboard(FakeSession(), size=(80, 24)) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        screen = app.screen_stack[0]
        assert isinstance(screen, TableKeys)
        column = screen.table.columns_in_order[1]
        app.push_screen(ArrangeKeys(screen, replace(column, id="read bandwidth of a memory GB/s")))
        await pilot.pause()
        text = app.screen.query_one(SegmentLines).text
        assert len(text.rstrip()) <= 80
        assert text.rstrip().endswith("Esc undo")
        assert text.startswith(" read ba")


async def test_clearing_tags_where_there_are_none_says_so() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("1")
        await pilot.pause()
        await pilot.press("V")
        await pilot.pause()
        assert text_of(app, "status").startswith(" No row is tagged")
