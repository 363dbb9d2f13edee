"""The test of a comparison in the dashboard, on a machine of which every number is known."""

from __future__ import annotations

import re

from dashboard_driver import dashboard, text_of, until
from scripted_machine import FakeSession, Script, build_topology

from turbotui.features.diff.window import ChanceWindow


def stepped(at: int) -> FakeSession:
    """A machine whose load is 20 to 24 % in turn, and 50 % more from a tick on."""
    topology = build_topology()
    return FakeSession(topology, script=Script(
        topology, lambda cpu, tick: 0.2 + (tick * 7 + cpu) % 5 / 100 + (0.5 if tick > at else 0.0)))


async def test_a_difference_is_more_than_chance_where_all_values_moved_and_not_where_they_did_not() -> None:
    session = stepped(19)
    async with dashboard(session, ticks=20, size=(120, 48)) as (app, pilot):
        await pilot.press("vertical_line")
        await pilot.pause()
        assert "b compares" in text_of(app, "status")
        await pilot.press("b")
        session.tick()
        await pilot.pause()
        await pilot.press("vertical_line")
        await pilot.pause()
        assert "The test needs 5 intervals on each side of b: 19 before, 1 since" in text_of(app, "status")
        for _ in range(15):
            session.tick()
            await pilot.pause()
        await pilot.press("vertical_line")
        window = app.screen
        assert isinstance(window, ChanceWindow)
        await until(pilot, lambda: "differ" in window.copied())
        lines = map(str.split, window.copied().splitlines())
        rows = {words[0]: words for words in lines if "large" in words}
        assert "+1.00" in rows["Busy%"], "every value is greater"
        assert "TSC_MHz" not in rows
        assert "too wide" not in window.copied()
        narrow = window.tell(60)[1]
        assert any("too wide" in line and line.endswith("y copies them, too") for line in narrow)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, ChanceWindow)


async def test_columns_that_cannot_be_tested_are_named_with_the_reason() -> None:
    topology = build_topology()
    session = FakeSession(topology, script=Script(topology, lambda _cpu, tick: 0.2 + tick % 12 * 0.02))
    async with dashboard(session, ticks=13, size=(120, 48)) as (app, pilot):
        await pilot.press("b")
        for _ in range(12):
            session.tick()
            await pilot.pause()
        await pilot.press("vertical_line")
        window = app.screen
        assert isinstance(window, ChanceWindow)
        await until(pilot, lambda: "not tested: " in window.copied())
        text = " ".join(window.copied().split())
        assert re.search(r"not tested: [^:]*Busy%[^:]*: too few independent values: 1\d values of A", text), text
