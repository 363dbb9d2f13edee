"""Changed lines are written directly to the terminal, with the same content that Textual would draw."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest
from dashboard_driver import dashboard, until_read
from scripted_machine import FakeSession
from textual import messages
from textual.message import Message
from textual.pilot import Pilot

from turbotui.app.base import WatchScreen
from turbotui.app.dashboard import TurbotuiApp
from turbotui.widgets.table_widget import TableWidget

_PLACED = re.compile(r"\x1b\[(\d+);(\d+)H((?:(?!\x1b\[\d+;\d+H).)*)", re.DOTALL)
_STYLE = re.compile(r"\x1b\[[\d;]*m")


class Terminal:
    """The characters of a screen, as Textual has drawn them and as written since."""

    def __init__(self, app: TurbotuiApp, monkeypatch: pytest.MonkeyPatch) -> None:
        self._app = app
        self.lines = self.composed()
        self.updates = 0
        monkeypatch.setattr(app._driver, "write", self._write)

    def composed(self) -> list[str]:
        """The whole screen as Textual draws it now."""
        return [strip.text for strip in self._app.screen._compositor.render_strips()]

    def _write(self, data: str) -> None:
        self.updates += 1
        for line, column, words in _PLACED.findall(data):
            text, at = _STYLE.sub("", words), int(column) - 1
            before = self.lines[int(line) - 1]
            self.lines[int(line) - 1] = before[:at] + text + before[at + len(text):]


def _screen(app: TurbotuiApp) -> WatchScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, WatchScreen)
    return screen


async def _ticks(session: FakeSession, pilot: Pilot[int], count: int = 3) -> None:
    for _ in range(count):
        session.tick()
        await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("key", ["1", "2"])
async def test_what_is_written_is_what_textual_would_draw(key: str, size: tuple[int, int],
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    session = FakeSession()
    async with dashboard(session, size) as (app, pilot):
        await pilot.press(key)
        await pilot.pause()
        await _ticks(session, pilot)
        terminal = Terminal(app, monkeypatch)
        before = terminal.composed()
        await _ticks(session, pilot)
        await pilot.press("down", "down")
        await _ticks(session, pilot, 1)
        assert terminal.updates
        assert terminal.lines == terminal.composed() != before


async def test_a_frame_of_the_table_is_one_update_and_asks_textual_for_nothing() -> None:
    session, asked = FakeSession(), 0

    def hear(message: Message) -> None:
        nonlocal asked
        asked += isinstance(message, messages.Update)

    app = TurbotuiApp(session)
    async with app.run_test(size=(120, 36), message_hook=hear) as pilot:
        while not session.started:
            await pilot.pause()
        await pilot.press("1")
        await pilot.pause()
        await _ticks(session, pilot)
        await until_read(app, pilot)  # a tenth of a second after the screen was shown, its sparklines are drawn anew
        asked, drawn = 0, _screen(app).directly
        await _ticks(session, pilot, 5)
        assert _screen(app).directly == drawn + 5
        await pilot.press("down", "down", "down")
        await pilot.pause()
        assert _screen(app).directly == drawn + 8, "the rows and what the status line says of the new one"
        assert asked == 0


async def test_below_a_window_nothing_is_written_past_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    session = FakeSession()
    async with dashboard(session, (120, 36)) as (app, pilot):
        await until_read(app, pilot)  # its sparklines are drawn once more when the past of them has been read
        await pilot.press("question_mark")
        await pilot.pause()
        terminal = Terminal(app, monkeypatch)
        drawn = _screen(app).directly
        await _ticks(session, pilot)
        assert _screen(app).directly == drawn
        assert terminal.updates == 0
        await pilot.press("escape")
        await pilot.pause()
        await _ticks(session, pilot, 1)
        assert _screen(app).directly == drawn + 1


async def test_titles_of_another_view_come_with_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("1")
        await _ticks(session, pilot)
        terminal = Terminal(app, monkeypatch)
        table = _screen(app).query_one(TableWidget)
        before, hidden = terminal.composed(), table.view.columns[-1]
        assert table.content is not None
        table.show_view(replace(table.view, columns=tuple(item for item in table.view.columns[::2] if item != hidden)))
        table.show_content(table.content)
        await asyncio.sleep(0)  # what is written directly is, and Textual has not drawn yet
        assert terminal.lines == terminal.composed() != before
