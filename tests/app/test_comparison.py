"""b compares with a moment, and every screen says so until Esc."""

from __future__ import annotations

import statistics

import pytest
from dashboard_driver import dashboard
from scripted_machine import FakeSession, Script, build_topology

from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.widgets.comparison import marked_moment
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
        for _ in range(5):
            session.tick()
            await pilot.pause()
        assert (shown_before, bool(line.display)) == (False, True)
        assert line.text.strip().startswith("COMPARED WITH 11 s until ")
        assert "· Busy% +10.0" in line.text, "to 5 intervals later, from the middle of 11"
        for number in ("1", "4", "7", "9"):
            await pilot.press(number)
            await pilot.pause()
            shown = app.screen.query_one("#compared", SegmentLines)
            assert shown.display, number
            assert "COMPARED WITH" in shown.text, number
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
        found = mark.cell(busy, SYSTEM_ROW)
        assert isinstance(found, float)
        assert found == pytest.approx(statistics.fmean(shares), rel=0.01)
        assert max(shares) - min(shares) >= 50.0


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_numbers_that_have_no_room_are_left_out_and_the_way_back_stays(width: int) -> None:
    async with dashboard(climbing(), ticks=12, screen="overview", size=(width, 30)) as (app, pilot):
        await pilot.press("b")
        await pilot.pause()
        text = app.screen.query_one("#compared", SegmentLines).text.strip()
        assert text.endswith("Esc ends it")
        assert "…" not in text
