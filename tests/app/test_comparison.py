"""b compares with a moment, and every screen says so until Esc."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from dashboard_driver import dashboard, text_of
from scripted_machine import FakeSession, Script, build_topology
from simulated_session import SimulatedSession

from turbotui.app.row_table import RowTableScreen
from turbotui.quantities.columns import Column
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.tables import RowTable
from turbotui.widgets.comparison import marked_moment
from turbotui.widgets.row_content import Naming, RowContent
from turbotui.widgets.segment_lines import SegmentLines


def climbing() -> FakeSession:
    """A machine whose load climbs by a percent in each interval."""
    topology = build_topology()
    return FakeSession(topology, script=Script(topology, lambda _cpu, tick: min(1.0, 0.2 + tick / 100)))


async def test_every_screen_says_that_it_compares_and_esc_ends_it_on_any_of_them() -> None:
    session = climbing()
    async with dashboard(session, ticks=12, screen="overview") as (app, pilot):
        line = app.screen.query_one("#compared", SegmentLines)
        shown_before = bool(line.display)
        await pilot.press("b")
        await pilot.pause()
        assert "Differences of the machine stand above" in text_of(app, "status"), "here cells stay values"
        for _ in range(5):
            session.tick()
            await pilot.pause()
        assert (shown_before, bool(line.display)) == (False, True)
        mark = app.watched.mark
        assert mark is not None
        local = time_of_day(mark.newer.wall_ns)  # as other times on screens
        assert line.text.strip().startswith(f"COMPARED WITH the 11 s before {local} · ")
        assert "· Busy% +10.0" in line.text, "to 5 intervals later, from the middle of 11"
        for number in ("1", "4", "7", "9"):
            await pilot.press(number)
            await pilot.pause()
            shown = app.screen.query_one("#compared", SegmentLines)
            assert shown.display, number
            assert "the 11 s before" in shown.text, number
        await pilot.press("escape")
        await pilot.pause()
        assert app.watched.mark is None
        assert not app.screen.query_one("#compared", SegmentLines).display
        await pilot.press("0")
        await pilot.pause()
        assert bool(line.display) is False


async def test_the_reference_is_the_mean_of_the_minute_before_and_not_its_last_interval() -> None:
    session = climbing()
    async with dashboard(session, ticks=90) as (app, pilot):
        await pilot.press("b")
        await pilot.pause()
        mark, cursor = app.watched.mark, app.watched.cursor
        assert mark is not None
        assert cursor is not None
        assert marked_moment(mark).seconds == 60.0
        busy = session.catalog.by_id["Busy%"]
        kept = [frame for time_ns in cursor.timeline.times[-60:] if (frame := cursor.timeline.frame(time_ns))]
        shares = [share for frame in kept if isinstance(share := frame.cell(busy, SYSTEM_ROW), float)]
        result = mark.cell(busy, SYSTEM_ROW)
        assert isinstance(result, float)
        assert result == pytest.approx(statistics.fmean(shares), rel=0.01)
        assert max(shares) - min(shares) >= 50.0


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_numbers_that_have_no_room_are_left_out_and_the_way_back_stays(width: int) -> None:
    async with dashboard(climbing(), ticks=12, screen="overview", size=(width, 30)) as (app, pilot):
        await pilot.press("b")
        await pilot.pause()
        text = app.screen.query_one("#compared", SegmentLines).text.strip()
        assert text.endswith("Esc ends it")
        assert "…" not in text


@pytest.mark.parametrize(("number", "name"), [("5", "uncore"), ("d", "topdown"), ("6", "roofline")])
async def test_rows_computed_from_signals_are_compared_with_their_mean_interval(number: str, name: str) -> None:
    session: Any = SimulatedSession("sapphire-2s", few=True, small=True)
    async with dashboard(session, ticks=2, size=(160, 48)) as (app, pilot):
        await pilot.press(number)
        for _ in range(9):
            session.tick()
            await pilot.pause()
        screen = app.base
        assert isinstance(screen, RowTableScreen)
        assert screen.where == name
        await pilot.press("b")
        await pilot.pause()
        content, mark, moment = screen.table.content, screen.table.view.mark, screen.marked
        assert content is not None
        assert mark is not None
        assert moment is not None
        assert moment.seconds > 5
        column = next(column for column in screen.table.columns_in_order if column.decimals > 0 and not column.identity)
        row = next(row for row in content.rows if content.value(column, row))
        cursor = app.watched.cursor
        assert cursor is not None
        kept = [frame for time_ns in cursor.timeline.times[-round(moment.seconds):]
                if (frame := cursor.timeline.frame(time_ns)) is not None]
        moments = [rows.bare(column, row) for frame in kept
                   if (rows := screen.moment(frame, content.whole.name)) is not None]
        values = [value for value in moments if isinstance(value, float | int)]
        mean = mark.value(column, row)
        assert isinstance(mean, float | int)
        assert len(values) > 5
        assert min(values) - 1e-9 <= mean <= max(values) + 1e-9
        assert mean != content.value(column, row), "that of the last interval"
    session.stop()


def test_amounts_of_rows_over_a_minute_are_those_of_one_interval_and_rates_are_not() -> None:
    amount: Column[float] = Column("J", "J", 1, (), lambda row: row * 60, accumulates=True)
    rate: Column[float] = Column("W", "W", 1, (), lambda row: row)
    naming: Naming[float] = Naming(str, str, str)
    content: RowContent[float] = RowContent(RowTable("rows", "row", (amount, rate), (5.0,)), naming)
    content.part = 1 / 60
    assert content.value(amount, "5.0") == pytest.approx(5.0)
    assert content.value(rate, "5.0") == 5.0
