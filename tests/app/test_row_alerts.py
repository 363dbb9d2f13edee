"""Thresholds and alerts of tables other than that of CPUs: tasks and control groups."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from dashboard_driver import dashboard, text_of
from made_rows import DEFINITION, row_ticks
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.happened_window import HappenedWindow
from turbotui.app.row_alerts import ContentMoment
from turbotui.app.row_table import RowTableScreen
from turbotui.app.settings import parse_settings
from turbotui.app.why_window import WhyWindow
from turbotui.quantities.units import Unit
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import row_table
from turbotui.widgets.cells import StyleRole, slot_for
from turbotui.widgets.kind_rows import NAMING
from turbotui.widgets.row_content import RowContent


@asynccontextmanager
async def watched(settings: str, screen: str = "overview",
                  machine: str = "laptop") -> AsyncIterator[tuple[TurbotuiApp, Pilot[int], SimulatedSession]]:
    """Run a dashboard with a user's settings."""
    session = SimulatedSession(machine)
    async with dashboard(session, screen=screen, settings=parse_settings(settings, "s.toml")) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        yield app, pilot, session


async def content_of(app: TurbotuiApp, pilot: Pilot[int], session: SimulatedSession) -> RowContent[object]:
    """The rows on the screen: another thread reads them."""
    while True:
        screen = app.screen_stack[0]
        if isinstance(screen, RowTableScreen):
            content = screen.table.content
            if content is not None and content.rows and content.value_of("CPU%", content.rows[0]) is not None:
                return content
        session.tick()
        await pilot.pause()


def painted(app: TurbotuiApp, content: RowContent[object], row: Hashable) -> StyleRole:
    """The style in which the screen colours the CPU% of a row."""
    screen = app.screen_stack[0]
    assert isinstance(screen, RowTableScreen)
    column = next(column for column in content.whole.columns if column.id == "CPU%")
    return screen.painter(screen.table.view, 1.0, 120).segment(content, row, slot_for(column))[1]


async def alerted(app: TurbotuiApp, pilot: Pilot[int], session: SimulatedSession) -> str:
    """The first sentence of an alert that goes on."""
    alerts = app.watched.alerts
    assert alerts is not None
    while not alerts.sentences():
        session.tick()
        await pilot.pause()
    return alerts.sentences()[0]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file into which alerts are logged, below the test's own directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "turbotui" / "alerts.log"


def log_of(path: Path) -> str:
    """Return the content of the alert log."""
    return path.read_text()


@pytest.mark.parametrize("table", ["tasks", "groups"])
@pytest.mark.parametrize(("limits", "role"), [
    ("{high = 0.001, critical = 1000000}", StyleRole.AMBER), ("{critical = 0.001}", StyleRole.RED),
    ("{high = 1000000}", None),
])
async def test_a_threshold_marks_cells_of_its_table_only(table: str, limits: str, role: StyleRole | None) -> None:
    async with watched(f'[thresholds.{table}]\n"cpu%" = {limits}\n', table) as (app, pilot, session):
        content = await content_of(app, pilot, session)
        busiest = max(content.rows, key=lambda row: float(content.value_of("CPU%", row) or 0.0))
        style_role = painted(app, content, busiest)
        assert style_role is role if role is not None else style_role not in {StyleRole.AMBER, StyleRole.RED}


async def test_a_name_that_the_table_does_not_have_is_reported() -> None:
    async with watched("[thresholds.groups]\nNosuch = {high = 1}\n", "groups") as (app, pilot, session):
        await content_of(app, pilot, session)
        await pilot.pause()
        assert "[thresholds.groups] of your settings: no column here is called nosuch" in text_of(app, "status")


@pytest.mark.parametrize("text", ["[thresholds.tasks]\nx = 3\ny = {high = 1}\n",
                                  "[thresholds.tasks]\nx = {hight = 3}\n"])
def test_what_is_wrong_in_the_table_is_reported_with_its_line(text: str) -> None:
    assert [problem.split(":")[0] for problem in parse_settings(text, "s.toml").problems] == ["s.toml, line 2"]


@pytest.mark.parametrize("table", ["tasks", "groups"])
async def test_an_alert_continues_whatever_screen_is_shown(table: str, state: Path) -> None:
    when = f'[[alert]]\nwhen = "CPU%>0.01 for 2s"\ntable = "{table}"\n'
    async with watched(when) as (app, pilot, session):
        result = await alerted(app, pilot, session)
        assert result.startswith("CPU%>0.01 for 2s: ")
        assert ", greatest CPU% " in result
        session.tick()
        await pilot.pause()
        assert "ALERT CPU%>0.01 for 2s: " in app.pictures("x")[1]
        await pilot.press("exclamation_mark")
        assert isinstance(app.screen, HappenedWindow)
        assert f"CPU%>0.01 for 2s  (each row of {table})" in app.pictures("x")[1]
        await pilot.press("escape", "W")
        while not isinstance(app.screen, WhyWindow) or app.screen.is_at_work:
            await pilot.pause()
        session.tick()
        await pilot.pause()
        assert "Your alert goes on: CPU%>0.01 for 2s: " in " ".join(app.screen.text.split())
        marks = app.watched.cursor.marks if app.watched.cursor is not None else ()
        assert any("Alert CPU%>0.01 for 2s" in mark.text for mark in marks)
    assert " SIMULATED laptop begins CPU%>0.01 for 2s: " in log_of(state)


async def test_rows_of_a_kind_are_watched_without_their_screen_and_named() -> None:
    settings = '[[alert]]\nwhen = "Int/s>1 and timer for 2s"\ntable = "interrupts"\n'
    async with watched(settings, "map") as (app, pilot, session):
        result = await alerted(app, pilot, session)
        assert result.startswith("Int/s>1 and timer for 2s: LOC"), result
    assert parse_settings(settings.replace("Int/s", "Nosuch"), "s.toml").problems == ()
    async with watched(settings.replace("Int/s>1 and timer for 2s", "Nosuch>1")) as (app, pilot, session):
        assert app.watched.alerts is None or not app.watched.alerts.sentences()


async def test_cells_of_the_rows_have_its_colour() -> None:
    settings = '[[alert]]\nwhen = "CPU%>0.01"\ntable = "groups"\nlevel = "high"\n'
    async with watched(settings, "groups") as (app, pilot, session):
        await alerted(app, pilot, session)
        content = await content_of(app, pilot, session)
        while not content.alerted:
            session.tick()
            await pilot.pause()
            content = await content_of(app, pilot, session)
        assert painted(app, content, next(iter(content.alerted["CPU%"]))) is StyleRole.AMBER


@pytest.mark.parametrize(("settings", "told"), [
    ('[[alert]]\nwhen = "CPU%>1"\ntable = "cups"\n', "s.toml, line 3: no table is called cups"),
    ('[[alert]]\nwhen = "Nosuch>1"\ntable = "groups"\n', "s.toml, line 2: when: "),
    ('[[alert]]\nwhen = "Busy%>1"\ntable = "tasks"\n', "s.toml, line 2: when: "),
])
async def test_what_cannot_be_watched_is_reported_with_its_line(settings: str, told: str) -> None:
    async with watched(settings) as (app, _pilot, _session):
        assert told in text_of(app, "status")


def test_the_least_that_a_value_can_be_is_enough_for_a_limit_above() -> None:
    """Its words say what the heat lacks; a limit below it may hold of the least, and not of the value."""
    (tick,) = row_ticks(1, Random(4), known=True)
    heats = replace(tick.quantities["heat"], unit=Unit.RATIO, lacks="words")  # the made-up ones fit no sensor
    tick = replace(tick, quantities={**tick.quantities, "heat": heats})
    content = RowContent(row_table(DEFINITION, RowDifferences(None, tick)), NAMING)
    heat = next(column for column in DEFINITION.columns if column.id == "Heat")
    moment, rows = ContentMoment(content, 0, 1), content.rows
    least = [cell.partial for cell in (content.cell(heat, row) for row in rows)]
    assert set(least) == {False, True}
    assert None not in moment.cells(heat, rows, at_least=True)
    assert [value is None for value in moment.cells(heat, rows)] == least
