"""The temperature target, the comparison mark and saved views in the dashboard."""

from __future__ import annotations

import re

from dashboard_driver import cpus, dashboard, lines, table, text_of
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.one_cell import FrameCell
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import Scope, cpu_row
from turbotui.widgets.cells import TOO_WIDE
from turbotui.widgets.comparison import difference, difference_text, marked_moment
from turbotui.widgets.listing import Listing
from turbotui.widgets.segment_lines import SegmentLines


def told(session: FakeSession) -> int | None:
    return session.machine.tcc


async def test_a_told_target_is_flagged_until_it_is_taken_back() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("D", "9", "5", "enter")
        await pilot.pause()
        assert told(session) == 95
        assert "SLOWS DOWN AT 95 °C (TCC)" in text_of(app, "status")
        await pilot.press("D", "ctrl+u", "enter")
        await pilot.pause()
        assert told(session) is None
        assert "TCC" not in text_of(app, "status")


async def test_a_target_that_is_no_temperature_changes_nothing() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("D", "h", "o", "t", "enter")
        await pilot.pause()
        assert told(session) is None
        assert "is not a temperature in whole °C" in text_of(app, "status")


def cell_of(app: TurbotuiApp, cpu: int, word: str) -> str:
    """The text of a column in the row of a CPU."""
    shown = lines(app)
    end = re.search(rf"{re.escape(word)}[▼▲]?", shown[0])
    assert end is not None, shown[0]
    row = next(line for line in shown[2:] if line.split("│")[0].split()[-1:] == [str(cpu)])
    return row[: end.end()].split()[-1]


async def test_the_mark_turns_cells_into_signed_differences_and_back() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        busy = session.catalog.by_id["Busy%"]
        await pilot.press("b")
        await pilot.pause()
        mark = app.watched.mark
        assert mark is not None
        compared = app.screen.query_one("#compared", SegmentLines)
        assert compared.display
        assert f"DIFFERENCES FROM {marked_moment(mark).words} · " in compared.text
        session.tick(2)
        await pilot.pause()
        now = app.watched.frame
        assert now is not None
        for cpu in (0, 1, 2):
            before, after = mark.cell(busy, cpu_row(cpu)), now.cell(busy, cpu_row(cpu))
            assert isinstance(before, float)
            assert isinstance(after, float)
            expected = after - before
            assert cell_of(app, cpu, "Busy%") == (f"{expected:+.2f}" if abs(expected) >= 0.005 else "±0")
        assert "  compared: " in "\n".join(FrameCell(app.watched, busy, cpu_row(0)).lines(96))
        await pilot.press("2")
        await pilot.pause()
        assert app.screen.query_one("#compared", SegmentLines).display, "every table says so"
        await pilot.press("1", "b")
        await pilot.pause()
        assert not app.screen.query_one("#compared", SegmentLines).display
        assert cell_of(app, 0, "Busy%") == f"{now.cell(busy, cpu_row(0)):.2f}"


async def test_sorting_goes_by_the_differences_that_are_shown() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        busy = session.catalog.by_id["Busy%"]
        await pilot.press("b")
        session.tick()
        await pilot.pause()
        mark = app.watched.mark
        table(app).select_column(busy)
        await pilot.press("o")
        await pilot.pause()
        listing = app.screen.query_one(Listing)
        listing.select("Busy%")
        await pilot.press("enter")
        await pilot.pause()
        now = app.watched.frame
        assert mark is not None
        assert now is not None
        shown = [difference(busy, now.cell(busy, cpu_row(cpu)), mark.cell(busy, cpu_row(cpu))) for cpu in cpus(app)]
        numbers = [round(value, busy.decimals) for value in shown if isinstance(value, float)]
        assert len(numbers) == len(shown)
        assert numbers == sorted(numbers, reverse=True)


async def test_nothing_can_be_compared_before_the_first_interval_is_over() -> None:
    session = FakeSession()
    async with dashboard(session, ticks=1) as (app, pilot):
        await pilot.press("b")
        await pilot.pause()
        assert app.watched.mark is None
        assert "Nothing to compare with yet" in text_of(app, "status")


@given(st.floats(-1e9, 1e9), st.integers(0, 3), st.integers(4, 9))
def test_a_difference_has_its_sign_and_keeps_its_width(value: float, decimals: int, width: int) -> None:
    column = CounterColumn("X", "", decimals, (), lambda _row: None, category=Category.OTHER, scope=Scope.CPU)
    text = difference_text(column, value, width)
    assert len(text) == max(width, len(text.strip()))
    if set(text) == {TOO_WIDE}:
        assert len(f"{abs(value):.{decimals}f}") > width - 1
        return
    assert text.strip() == "±0" or text.strip()[0] == ("-" if value < 0 else "+")
    if text.strip() == "±0":
        assert round(abs(value), decimals if width > decimals + 2 else 0) == 0
