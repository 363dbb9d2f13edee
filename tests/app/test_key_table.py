"""Every key of the table leads to its own action on every screen that it is said to work on."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard
from scripted_machine import FakeSession

from turbotui.app.actions import ACTIONS
from turbotui.app.base import WatchScreen
from turbotui.app.screen_table import SCREENS
from turbotui.feature import EVERYWHERE, ScreenSpec


@pytest.mark.parametrize("spec", SCREENS, ids=lambda spec: spec.id)
async def test_no_key_is_taken_by_something_else(spec: ScreenSpec) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press(spec.number)
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, WatchScreen)
        assert screen.number == spec.number
        for action in ACTIONS:
            if {EVERYWHERE, screen.where}.isdisjoint(action.where):
                continue
            for key in action.keys:
                chain = (reversed(screen._binding_chain) if action.priority else screen._binding_chain)
                result = [binding for _, bindings in chain for binding in bindings.key_to_bindings.get(key, ())
                          if binding.priority == action.priority]
                assert result, f"{key} does nothing on {screen.word}"
                assert result[0].id == action.id, f"{key} is taken by {result[0].action} on {screen.word}"


async def test_tab_steps_through_all_screens_and_back() -> None:
    async with dashboard(FakeSession(), screen="overview") as (app, pilot):
        seen = []
        for key in [*["tab"] * len(SCREENS), *["shift+tab"] * len(SCREENS)]:
            await pilot.press(key)
            await pilot.pause()
            seen.append(app.current_mode)
    there = [spec.id for spec in SCREENS]
    assert seen == [*there[1:], there[0], *reversed(there)]
