"""b compares with a moment, and every screen says so until Esc."""

from __future__ import annotations

from dashboard_driver import dashboard
from scripted_machine import FakeSession, Script, build_topology

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
        assert line.text.strip().startswith("COMPARED WITH #")
        assert "· Busy% +5.0" in line.text
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
