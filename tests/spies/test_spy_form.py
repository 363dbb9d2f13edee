"""The form that gives CPUs their event sets, driven by keys over a simulated machine."""

from __future__ import annotations

from spiedmachine import SpiedMachine
from textual.widgets import Static

from turbotui.app import TurbotuiApp
from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.screens.spies import SpyForm


async def test_sets_are_given_changed_and_taken_away() -> None:
    spied = SpiedMachine("laptop-old", SpyPlan())
    app = TurbotuiApp(spied.session)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("S")
        assert isinstance(app.screen, SpyForm)
        await pilot.press("backspace", "backspace", "backspace", *"2-3: cycles;branches", "enter")
        await pilot.pause()
        assert spied.session.spies == SpyPlan((typed_spy("2-3", "cycles;branches"),))
        visible = {column.id for column in app.watched.columns}
        assert {"instructions", "cycles", "branches", "Samples"} <= visible
        await pilot.press(*"all: nonsense", "enter")
        await pilot.pause()
        said = str(app.screen.query_one("#said", Static).render())
        assert "nonsense" in said
        await pilot.press(*"socket 1: cycles", "enter")
        await pilot.pause()
        assert "names no CPUs" in str(app.screen.query_one("#said", Static).render())
        assert [spy.on.text for spy in spied.session.spies.spies] == ["2-3", "all"]
        await pilot.press("up", "up", "up", "up", "delete")
        await pilot.pause()
        assert [spy.on.text for spy in spied.session.spies.spies] == ["all"]
        await pilot.press("escape")
        await pilot.pause()
        assert "branches" not in {column.id for column in app.watched.columns}
