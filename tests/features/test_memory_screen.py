"""The memory screen of a simulated machine: all levels unfolded, in the order of the machine, folded at any depth."""

from __future__ import annotations

from dashboard_driver import text_of
from simulated_session import SimulatedSession

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.kind_screen import KindScreen


def keys(screen: KindScreen) -> list[str]:
    return [str(line.row[0]) for line in screen.table.lines if isinstance(line.row, tuple)]


async def test_levels_are_a_tree_that_is_unfolded_and_folds_at_every_depth() -> None:
    session = SimulatedSession("icelake-2s", small=True)
    app = TurbotuiApp(session, screen="memory")
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        for _ in range(2):
            session.tick()
            await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, KindScreen)
        every = ["machine", "node 0", "L3 00", "node 1", "L3 01"]
        assert keys(screen) == every
        await pilot.press("down", "left")
        assert keys(screen) == ["machine", "node 0", "node 1", "L3 01"]
        await pilot.press("home", "left")
        assert keys(screen) == ["machine"]
        session.tick()
        await pilot.pause()
        assert keys(screen) == ["machine"], "it stays folded"
        await pilot.press("right")
        assert keys(screen) == ["machine", "node 0", "node 1", "L3 01"]
        assert "GB/s" in text_of(app, "status")
        assert "RMIDs are taken" in text_of(app, "notes"), "what the reader says of all rows"


async def test_a_filter_finds_levels_inside_folded_ones() -> None:
    session = SimulatedSession("icelake-2s", small=True)
    app = TurbotuiApp(session, screen="memory")
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        session.tick()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, KindScreen)
        await pilot.press("asterisk", "backslash", *"L3 01", "enter")
        assert keys(screen) == ["machine", "node 1", "L3 01"]
        await pilot.press("escape")
        assert keys(screen) == ["machine"], "folded again"
