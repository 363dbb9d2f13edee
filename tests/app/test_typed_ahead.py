"""Keys that arrive together have the same effects as keys that are typed slowly."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from dashboard_driver import dashboard, table, text_of
from scripted_machine import FakeSession
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.help import Help
from turbotui.features.cpus.screen import CpuScreen, TopologyScreen
from turbotui.quantities.columns import Category

KEYS = {"/": "slash", "?": "question_mark", " ": "space", "\x1b": "escape", "%": "percent_sign",
        "\\": "backslash", "\r": "enter", "\x7f": "backspace"}


async def type_at_once(app: TurbotuiApp, pilot: Pilot[int], text: str) -> None:
    """Send all keys in one read of the terminal, and wait for their effects."""
    await post_at_once(app, pilot, [events.Key(KEYS.get(letter, letter), letter) for letter in text])


async def post_at_once(app: TurbotuiApp, pilot: Pilot[int], keys: Iterable[events.Key]) -> None:
    """Hand keys over at once, and wait until each has done what it does, however slow the machine is."""
    taken = asyncio.Event()
    for key in keys:
        app.post_message(key)
    app.call_later(taken.set)  # behind the keys
    await taken.wait()
    while not app.key_gate.idle:
        await pilot.pause()
    await pilot.pause()


async def test_the_letter_behind_c_is_the_category() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        before = {column.category for column in table(app).view.columns}
        assert Category.FREQUENCY in before
        await type_at_once(app, pilot, "cf\x1b")
        assert {column.category for column in table(app).view.columns} == before - {Category.FREQUENCY}
        assert len(app.screen_stack) == 1
        await type_at_once(app, pilot, "cfcf\x1b")
        assert {column.category for column in table(app).view.columns} == before - {Category.FREQUENCY}


async def test_what_is_typed_behind_a_prompt_goes_into_it_in_order() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await type_at_once(app, pilot, "/cpu7")
        assert app.screen.query_one(Input).value == "cpu7"
        row = table(app).current
        assert row is not None
        assert row.key == (7,)


async def test_enter_in_a_prompt_has_closed_it_before_the_next_key() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await type_at_once(app, pilot, "\\cpu7\r\\\x7f\x7f\x7f\x7f\rv")
        assert len(app.screen_stack) == 1
        assert "filter" not in text_of(app, "status")
        assert len(table(app).view.tags) == 1, "the letter behind the second Enter is a key of the screen"


@pytest.mark.parametrize("keys", ["?q", "?\x1b", "??"])
async def test_a_window_that_is_closed_at_once_is_closed(keys: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await type_at_once(app, pilot, keys)
        assert isinstance(app.screen, CpuScreen)
        await type_at_once(app, pilot, "?")
        assert isinstance(app.screen, Help)


async def test_a_key_behind_that_of_another_screen_is_for_that_screen() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await type_at_once(app, pilot, "2t")
        assert isinstance(app.screen, TopologyScreen)
        assert "The tree shows every level" in text_of(app, "status")
        assert app.screen.table.view.levels == table(app).view.levels


async def test_a_burst_of_cursor_keys_moves_by_as_many_rows() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await post_at_once(app, pilot, [events.Key("down", None)] * 5)
        assert table(app).current == table(app).lines[5].row


@pytest.mark.parametrize("opens", ["/", "?/", "a", "ctrl+p"])
async def test_no_field_takes_more_than_a_path_has(opens: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await (pilot.press("ctrl+p") if opens == "ctrl+p" else type_at_once(app, pilot, opens))
        while not isinstance(app.focused, Input):  # the palette opens with its providers
            await pilot.pause()
        app.focused.value = ""
        for _ in range(3):
            app.focused.post_message(events.Paste("x" * 2048))
            await pilot.pause()
        assert app.focused.value == "x" * 4096
        await pilot.press("x")
        assert len(app.focused.value) == 4096
