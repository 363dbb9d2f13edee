"""The palette: what can be done on a screen, from the tables of actions and screens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from textual import events
from textual.app import App, SystemCommand
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, SearchIcon
from textual.dom import DOMNode
from textual.screen import Screen
from textual.system_commands import SystemCommandsProvider
from textual.widgets import Input

from turbotui.app.actions import KEYLESS, actions_of
from turbotui.app.base import SMALLEST, WatchScreen
from turbotui.app.modal import LONGEST_LINE
from turbotui.app.screen_table import SCREENS
from turbotui.feature import EVERYWHERE, ScreenSpec
from turbotui.widgets.direct_screen import skip_old_size
from turbotui.widgets.profiles import Profiles

_NOT_LISTED = frozenset({"palette", "interrupt", "close"})


_EXACT = 100.0
"""Score of a name that contains the text, above those of sentences with the same letters."""


class OrderedCommands(SystemCommandsProvider):
    """The commands in their own order, which Textual sorts by their first letters."""

    async def discover(self) -> Hits:
        """Offer every command before anything is typed."""
        for title, how, target, _listed in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(title, target, help=how)

    async def search(self, query: str) -> Hits:
        """Offer the commands that fit, and what / finds on other screens: columns, kinds of rows."""
        async for hit in super().search(query):
            yield hit
        screen, matcher = self.screen, self.matcher(query)
        if isinstance(screen, WatchScreen):
            for title, how, mode in screen.named_elsewhere(query):
                yield Hit(_EXACT, matcher.highlight(title), partial(screen.seek_on, mode, title), help=how)


class ActionPalette(CommandPalette):
    """Textual's palette, whose list may have no line to move to: a terminal may have one line."""

    VERTICAL_BREAKPOINTS = [(0, "-low"), (SMALLEST[1], "-high")]  # noqa: RUF012 - its type is that of the base
    DEFAULT_CSS = """
    ActionPalette.-low {
        Vertical { margin-top: 0; }
        #--input { border: none; }
        CommandInput, CommandInput:focus, CommandList, CommandList:focus { border: none; }
        CommandInput { height: 1; }
        SearchIcon { margin-top: 0; }
    }
    """

    def on_mount(self) -> None:
        """Bound what can be typed, as windows do, and show a character that terminals have."""
        self.query_one(SearchIcon).icon = "/"
        self.query_one(Input).max_length = LONGEST_LINE

    async def _on_resize(self, event: events.Resize) -> None:
        skip_old_size(self, event)

    def _action_command_list(self, action: str) -> None:
        if action == "select" or self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)


def palette_commands(app: App[int], screen: Screen[object],
                     screens: Sequence[ScreenSpec] = SCREENS) -> Iterator[SystemCommand]:
    """Every action that works on this screen, its own first and by rank, every screen, every saved view."""
    own_first = sorted((*actions_of(app), *KEYLESS),
                       key=lambda action: (EVERYWHERE in action.where, not action.label, action.rank))
    for action in own_first:
        if action.id in _NOT_LISTED:
            continue
        if EVERYWHERE in action.where:
            target: Callable[[], object] = _runner(app, action.call, app)
        elif isinstance(screen, WatchScreen) and screen.where in action.where:
            target = _runner(app, action.call, screen)
        else:
            continue
        how = f"key: {action.shown}" if action.keys else f"also: {action.shown}"
        yield SystemCommand(action.help.rstrip("."), how, target)
    for spec in screens:
        call = f"show_screen('{spec.id}')"
        yield SystemCommand(f"Screen: {spec.word}", f"key: {spec.number}", _runner(app, call, app))
    for name in Profiles(os.environ).names():
        yield SystemCommand(f"Profile: {name}", "a saved view", _runner(app, f"use_profile({name!r})", app))


def _runner(app: App[int], call: str, namespace: DOMNode) -> Callable[[], object]:
    return lambda: app.run_worker(app.run_action(call, default_namespace=namespace))
