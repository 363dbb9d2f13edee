"""Charts below a table with few rows: if there is room, with the values of the shown past."""

from __future__ import annotations

import math

import pytest
from dashboard_driver import dashboard, lines, table
from patience import PATIENCE
from replayed_machine import Recording, ReplayedSession, recording
from scripted_machine import FakeSession, build_topology

COUNT = 12


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return recording("sapphire-2s", 20.0, COUNT, small=True)


def _heading(drawn: list[str]) -> list[str]:
    return [line.strip() for line in drawn if line.startswith(" cpu ") and " over " in line]


async def test_charts_are_of_the_row_under_the_cursor_and_only_where_there_is_room() -> None:
    async with dashboard(FakeSession(build_topology(1, 2, 1)), (120, 36)) as (app, pilot):
        [heading] = _heading(lines(app))
        assert heading.startswith("cpu 0 over ")
        await pilot.press("down")
        await pilot.pause()
        [heading] = _heading(lines(app))
        assert heading.startswith("cpu 1 over ")
        await pilot.resize_terminal(120, 14)
        await pilot.pause()
        assert not _heading(lines(app))


async def test_a_table_that_fills_the_screen_has_none() -> None:
    async with dashboard(FakeSession(build_topology(2, 16, 2)), (120, 36)) as (app, _pilot):
        assert not _heading(lines(app))


async def test_beside_many_narrow_rows_they_stand_at_the_right() -> None:
    async with dashboard(FakeSession(build_topology(2, 16, 2)), (300, 36)) as (app, pilot):
        drawn = lines(app)
        head = next(y for y, line in enumerate(drawn) if " over " in line)
        rows, charts = zip(*(line.rsplit("│", 1) for line in drawn[head:]), strict=True)
        assert {len(line) for line in drawn} == {len(drawn[0])}
        assert {len(row) for row in rows} == {len(rows[0])}
        assert all(row.strip() for row in rows), "the rows go on"
        shown = charts[0].split(" over ")[0].strip()
        assert any("█" in chart for chart in charts)
        await pilot.click("#table", offset=(len(rows[0]) + 3, head + 9))
        await pilot.pause()
        assert f"│  {shown} over " in lines(app)[head], "a click on a chart chooses no row"
        await pilot.click("#table", offset=(10, head + 9))
        await pilot.pause()
        row = table(app).current
        assert row is not None
        assert shown != f"cpu {row.key[0]}"
        assert f"│  cpu {row.key[0]} over " in lines(app)[head]


async def test_charts_of_the_past_have_what_led_to_it(recorded: Recording) -> None:
    async with dashboard(ReplayedSession(recorded), (200, 60), ticks=COUNT) as (app, pilot):
        await pilot.press("comma", "comma")
        column, row = table(app).selected or (None, None)
        assert column is not None
        assert row is not None
        frame = app.watched.frame
        assert frame is not None
        ring = None
        for _ in range(int(PATIENCE / 0.05)):
            ring = app.watched.history.ring(column.id, row)
            if ring is not None and ring.last == frame.seq and not math.isnan(sum(ring.values(3))):
                break
            await pilot.pause(0.05)
        assert ring is not None
        wanted = [item.cell(column, row) for item in recorded.frames[frame.seq - 2:frame.seq + 1]]
        assert list(ring.values(3)) == pytest.approx(wanted, rel=1e-6)
