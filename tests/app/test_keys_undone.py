"""Esc undoes what every key of every screen changes: a key with a state of its own and no way back fails here."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
from dashboard_driver import dashboard
from simulated_session import SimulatedSession
from textual.screen import Screen

from turbotui.app.actions import ACTIONS
from turbotui.app.base import WatchScreen
from turbotui.app.screen_table import SCREENS
from turbotui.feature import EVERYWHERE, Action, ScreenSpec
from turbotui.widgets.table_widget import TableWidget

CHANGES_NO_VIEW = frozenset({
    # leave something behind: a file, a mark, settings, a copied text, another interval, which the first line says
    "remember", "save", "save_screen", "roof_svg", "roof_csv", "copy", "copy_rows", "record", "past_mark", "reset",
    "tcc", "longer", "shorter", "theme",
    # show a window or another screen, or end the program
    "help", "why", "alerts", "palette", "tour", "tour_end", "next_screen", "previous_screen", "open", "point",
    "explain", "graph", "acts", "output", "past_jump", "roof_curve", "roof_functions", "close", "quit", "suspend",
    "interrupt", "redraw", "end_interval", "chance", "category_of_cpus",
    # move the cursor
    "up", "down", "left", "right", "column_left", "column_right", "page_up", "page_down", "first", "last",
    "search_next", "map_left", "map_right", "map_back", "map_on", "roof_next", "roof_previous", "roof_left",
    "roof_right", "roof_up", "roof_down", "roof_column_left", "roof_column_right",
    # need a session that counts: test_view_states.py
    "add", "spies",
})
"""Ids of actions without a state of the view."""

IN_WINDOWS = {
    "columns": ("down", "space", "escape"), "sort_menu": ("down", "down", "enter"), "search": ("1", "enter"),
    "filter": ("1", "enter"), "category": ("k", "enter"), "arrange": ("right", "enter"),
    "watch": ("ctrl+u", "1", "enter"), "filters": ("down", "space", "escape"),
}
"""Keys that change something in the window that an action opens, by its id."""

OF_DRAWING = {*vars(Screen()), "directly", "noticed", "_noticed_empty", "_is_quiet", "_query", "_back", "_keys_fit",
              "_lit", "_seq", "_moment", "_grown", "_traffic", "_made", "_sum", "_reactive_stack_updates", "frame",
              "cursor"}
"""Attributes of screens that follow from numbers, sentences and the cursor."""
OF_THE_WATCH = ("paused", "mark", "interval", "in_past", "chosen", "added_texts", "plan_before_typed")


def screen_class(spec: ScreenSpec) -> type[WatchScreen]:
    """The class of a screen."""
    kind: type[WatchScreen] = getattr(importlib.import_module(spec.module), spec.name)
    return kind


def own_actions(spec: ScreenSpec) -> Iterator[Action]:
    """Actions whose method no screen before this one has, in the order of the tabs."""
    def method(action: Action, other: ScreenSpec) -> object:
        return getattr(screen_class(other), f"action_{action.call.partition('(')[0]}", None), action.call

    for action in ACTIONS:
        screens = [other for other in SCREENS if not {EVERYWHERE, other.place}.isdisjoint(action.where)]
        if spec in screens and action.id not in CHANGES_NO_VIEW and not any(
                method(action, other) == method(action, spec) for other in screens[:screens.index(spec)]):
            yield action


def is_plain(value: object) -> bool:
    """Whether a value is immutable and small, as states of views are."""
    return value is None or isinstance(value, str | int | float | Enum) or (
        isinstance(value, tuple | frozenset) and all(map(is_plain, value))) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
        and all(is_plain(getattr(value, field.name)) for field in dataclasses.fields(value)))


def state_of(screen: WatchScreen) -> dict[str, object]:
    """What a screen shows and how: its plain attributes, those of its view and counters, and its tables' views."""
    views = [getattr(screen, name) for name in ("view", "counters") if hasattr(getattr(screen, name, None), "__dict__")]
    state: dict[str, object] = {f"{type(owner).__name__}.{name}": value for owner in (screen, *views)
                                for name, value in vars(owner).items() if name not in OF_DRAWING and is_plain(value)}
    state |= {name: getattr(screen.watch_state, name) for name in OF_THE_WATCH}
    state["filters"] = getattr(getattr(screen, "counters", None), "every_setting", None)
    table: TableWidget[Any, Any, Any]
    for table in getattr(screen, "tables", ()):
        view = table.view
        state[f"table {table.id}"] = (view.sort and view.sort.id, view.reverse, view.levels, view.folded, view.tags,
                                      view.follow, view.filter.text, view.arrangement)
    return state


@pytest.mark.parametrize("spec", [spec for spec in SCREENS if [*own_actions(spec)]], ids=lambda spec: spec.id)
async def test_escape_undoes_what_each_key_changes(spec: ScreenSpec) -> None:
    session: Any = SimulatedSession("sapphire-2s", few=True, small=True)
    async with dashboard(session, size=(160, 48), screen=spec.id) as (app, pilot):
        screen = app.base
        assert screen is not None
        assert screen.number == spec.number
        await pilot.press("escape")  # the first look, from which changes are told
        for action in own_actions(spec):
            before = state_of(screen)
            await pilot.press(action.keys[0])
            if app.screen is not screen:
                await pilot.press(*IN_WINDOWS.get(action.id, ()))
            for _ in range(9):
                if app.screen is not screen or app.look_at_states():
                    await pilot.press("escape")
            assert not app.look_at_states(), action.id
            after = state_of(screen)
            left = {name: (value, after.get(name)) for name, value in before.items() if value != after.get(name)}
            assert left == {}, action.id
    session.stop()
