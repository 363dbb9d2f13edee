"""Temperatures in the user's unit, on every screen, in every window and in every sentence."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import pytest
from dashboard_driver import dashboard, terminal_text, text_of
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.cell_cursor import CellCursorScreen
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.one_cell import FrameCell
from turbotui.app.screen_table import SCREENS
from turbotui.app.settings import parse_settings
from turbotui.app.why_window import WhyWindow
from turbotui.quantities.presentation import Presentation
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.widgets.explanation import explanation
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.panel import Target

MACHINE: Final = "laptop+heat"
"""Its sensors read what is told in sentences, on bars, in charts and by alerts."""
LIMIT: Final = 122
"""°F, of which an alert is made."""


@asynccontextmanager
async def hot_machine() -> AsyncIterator[tuple[TurbotuiApp, Pilot[int], SimulatedSession]]:
    """A dashboard in °F on a hot machine, with an alert about its temperature; all other tests' are in °C."""
    session = SimulatedSession(MACHINE)
    settings = parse_settings(f'[units]\ntemperature = "F"\n[[alert]]\nwhen = "PkgTmp>{LIMIT}"\n', "s")
    async with dashboard(session, size=(120, 40), settings=settings) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        yield app, pilot, session


async def shown_after(app: TurbotuiApp, pilot: Pilot[int], session: SimulatedSession, *keys: str) -> str:
    """Return everything that the terminal shows after some keys and an interval."""
    await pilot.press(*keys)
    session.tick()
    await pilot.pause()
    while isinstance(app.screen, WhyWindow) and app.screen.is_at_work:
        await pilot.pause()
    return terminal_text(app)


async def opened_by(app: TurbotuiApp, pilot: Pilot[int], key: str) -> str:
    """Return everything that the terminal shows while the window of a key is open."""
    before = app.screen
    await pilot.press(key)
    await pilot.pause()
    assert app.screen is not before, "a window is open"
    text = terminal_text(app)
    await pilot.press("escape")
    return text


async def test_no_screen_and_no_help_of_it_has_the_other_unit() -> None:
    async with hot_machine() as (app, pilot, session):
        for screen in SCREENS:
            assert "°C" not in await shown_after(app, pilot, session, screen.number), screen.id
            assert type(app.screen).__name__ == screen.name
            assert "°C" not in await opened_by(app, pilot, "question_mark"), f"help of {screen.id}"


@pytest.mark.parametrize("number", ["0", "1"])
async def test_no_window_has_the_other_unit(number: str) -> None:
    async with hot_machine() as (app, pilot, session):
        await pilot.press(number)
        seen = []
        for key in ("W", "exclamation_mark", "D"):
            seen.append(await shown_after(app, pilot, session, key))
            await pilot.press("escape")
        assert all("°C" not in text for text in seen)
        words, listed, asked = seen
        assert re.search(r"held at .* by heat \([\d,]+ °F, tj_max [\d,]+ °F\)", words)
        assert re.search(r"greatest PkgTmp [\d,]+ °F", listed)
        assert "°F at which the processor slows down" in asked


@pytest.mark.parametrize("number", ["0", "4"])
async def test_every_number_of_charts_and_panels_is_explained_in_it(number: str) -> None:
    async with hot_machine() as (app, pilot, session):
        result = [await shown_after(app, pilot, session, number, "home")]
        screen, cells = app.screen, list[Target]()
        assert isinstance(screen, CellCursorScreen)
        while screen.pointed is not None and screen.pointed not in cells[-1:]:  # the cursor stays on the last one
            column, row = screen.pointed
            result.append("\n".join(FrameCell(app.watched, column, row).lines(120)))
            if column.unit == "°C" and screen.pointed not in cells:
                result += [await opened_by(app, pilot, key) for key in "eg"]
            cells.append(screen.pointed)
            await pilot.press("right")
        assert all("°C" not in text for text in result)
        assert any(re.search(r"─ \w+Tmp\S* · .* · [\d,]+ °F ─", text) for text in result)


@pytest.mark.parametrize(("letter", "wanted", "other"), [("C", "°C", "°F"), ("F", "°F", "°C")])
def test_every_explanation_of_a_temperature_is_in_it(letter: str, wanted: str, other: str) -> None:
    session = SimulatedSession(MACHINE)
    session.start(lambda _: None)
    session.catalog = session.catalog.mapped(Presentation(letter).of)
    columns = [column for column in session.catalog.columns if column.unit == "°C"]
    session.want(column.id for column in columns)
    session.tick(2)
    frame = session.latest
    assert frame is not None
    known: list[Sequence[str]] = []
    for column in columns:
        for row in (SYSTEM_ROW, frame.rows(column.scope)[0]):
            lines = explanation(FrameContent(frame), column, row)
            assert other not in "\n".join(lines), column.id
            known += [lines] if frame.cell(column, row) is not None else []
    session.stop()
    assert known
    assert all(any(line.endswith(wanted) for line in lines) for lines in known)


async def test_the_conversion_of_a_reading_is_written_down() -> None:
    async with hot_machine() as (_app, pilot, session):
        cell = next(column for column in session.catalog.columns if column.id == "CoreTmp")
        frame = session.latest
        assert frame is not None
        text = "\n".join(explanation(FrameContent(frame), cell, SYSTEM_ROW))
        celsius = frame.cell(cell, SYSTEM_ROW)
        assert isinstance(celsius, int | float)
        assert f"{celsius * 1.8 + 32:g} °F = {celsius:g} x 1.8 + 32" in text
        assert re.search(r"core 0: [\d.]+ °F = \(\d+ - \d+\) x 1.8 \+ 32", text)
        await pilot.press("0")


async def test_the_target_of_the_sensors_is_typed_in_it() -> None:
    async with hot_machine() as (app, pilot, session):
        await pilot.press("1", "D", *"203", "enter")
        assert session.machine.tcc == 95
        session.tick()
        await pilot.pause()
        assert "SLOWS DOWN AT 203 °F (TCC)" in text_of(app, "status")
        await pilot.press("D", *["backspace"] * 3, *"hot", "enter")
        assert '"hot" is not a temperature in °F, such as 203' in text_of(app, "status")
