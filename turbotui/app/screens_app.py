"""The part of the application that manages screens, each a mode that is rebuilt after a failure, and saved views."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from textual.await_complete import AwaitComplete
from textual.driver import Driver

from turbotui.app.base import WatchScreen
from turbotui.app.beside_app import BesideApp
from turbotui.app.containment import Containment
from turbotui.app.failed_screen import FailedScreen
from turbotui.app.palette import ActionPalette
from turbotui.app.saved_views import absent_of
from turbotui.app.screen_table import SCREENS, build_screen
from turbotui.app.themes import THEMES
from turbotui.app.watch import Watch
from turbotui.errors import TurbotuiError
from turbotui.feature import ScreenSpec
from turbotui.quantities.scope import RowId
from turbotui.widgets.profiles import Profile, Profiles

_FAILED = "failed "
"""Prefix of the mode that reports a failed screen."""


class ScreensApp(BesideApp):
    """Shows one screen at a time, by key, name or saved view; `screens` is in the order of the keys."""

    screens: ClassVar[Sequence[ScreenSpec]] = SCREENS

    def __init__(self, watched: Watch, driver_class: type[Driver], first_screen: str) -> None:
        super().__init__(watched, driver_class)
        self._first_screen = first_screen
        self.containment = Containment(self, self._show_failed)
        for spec in self.screens:
            self.add_mode(spec.id, partial(build_screen, spec, watched))

    @property
    def screen_table(self) -> tuple[tuple[str, str, str], ...]:
        """Mode, key and name of every screen, for footer and help."""
        return tuple((spec.id, spec.number, spec.word) for spec in self.screens)

    def action_command_palette(self) -> None:
        """Show the palette."""
        if not any(isinstance(window, ActionPalette) for window in self.screen_stack):
            self.push_screen(ActionPalette(id="--command-palette"))

    def action_show_screen(self, name: str) -> None:
        """Show a screen by its name."""
        left = self.current_mode
        self.switch_mode(name)
        if left.startswith(_FAILED):
            self.remove_mode(left)
        self.call_after_refresh(self._resumed)

    def show_row(self, name: str, row: RowId | None) -> None:
        """Show a screen by its name, with the cursor on a row."""
        self.action_show_screen(name)
        base = self._base
        if base is not None and row is not None:
            base.point_at(row)

    def push_screen(self, screen: Any, *rest: Any, **more: Any) -> Any:
        """Open a window, unless it has failed twice."""
        return AwaitComplete() if self.containment.refuses(screen) else super().push_screen(screen, *rest, **more)

    def _show_failed(self, screen: WatchScreen, sentence: str, again: bool) -> None:
        """Have a screen rebuilt when it is next shown, unless it failed again; if it is shown, say why it is gone."""
        spec = next(spec for spec in self.screens if spec.number == screen.number)
        failed = partial(FailedScreen, self.watched, spec.number, spec.word, sentence, for_good=again)
        if spec.id == self.current_mode:
            told = f"{_FAILED}{spec.id}"
            self.add_mode(told, failed)
            self.switch_mode(told)
            self.call_after_refresh(self._resumed)
        self.remove_mode(spec.id)
        self.add_mode(spec.id, failed if again else partial(build_screen, spec, self.watched))

    def _resumed(self) -> None:
        base = self._base
        if base is not None and base.composed:  # a screen that does not exist yet draws everything when it does
            base.show_columns()
            base.show_frame()
            self.read_wanted()

    def action_next_screen(self, by: int) -> None:
        """Show the next or previous screen."""
        base = self._base
        here = next(at for at, spec in enumerate(self.screens) if base is None or spec.number == base.number)
        self.action_show_screen(self.screens[(here + by) % len(self.screens)].id)

    def action_use_profile(self, name: str) -> None:
        """Show a saved view."""
        try:
            self._use_profile(name, Profiles(os.environ).load(name))
        except TurbotuiError as error:
            if self._base is not None:
                self._base.notice(str(error))

    def _use_profile(self, name: str, profile: Profile) -> None:
        self.watched.take(profile)
        if profile.theme in self.available_themes:
            self.theme = profile.theme
        absent = absent_of(profile, self.watched)
        said = f"profile {name}" + (f"; not on this machine: {', '.join(absent)}" if absent else "")
        known = any(profile.screen == spec.id for spec in self.screens)
        self.action_show_screen(profile.screen if known else self._first_screen)
        self.call_after_refresh(self._say, said)

    def action_next_theme(self) -> None:
        """Change to the next theme."""
        names = [theme.name for theme in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        if self._base is not None:
            self._base.notice(f"Theme {self.theme}")

    def action_close(self) -> None:
        """Return from what `i` showed, or remove the screen's cursor; Esc never quits."""
        if self._base is not None:
            self._base.drop_cursor()
            self._base.go_back()
