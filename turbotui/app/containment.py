"""Close a failing window or screen and nothing else; a second failure at the same place ends the program."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from weakref import WeakSet

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerFailed

from turbotui.app.base import WatchScreen
from turbotui.app.failed_screen import FailedScreen
from turbotui.app.failures import Failure, Failures


class Containment:
    """Finds the screen that an exception came from, and takes it away.

    Textual ends the message loop of whatever raised, so that a failing widget is dead: its window is closed, its screen
    is replaced by one that says so.

    Args:
        app: whose screens.
        replace: makes Textual forget a screen, and shows a sentence in its place if it is the one that is shown.

    Attributes:
        failures: of this run, each with its report.
    """

    def __init__(self, app: App[int], replace: Callable[[WatchScreen, str], None]) -> None:
        self.failures = Failures(os.environ)
        self._app = app
        self._replace = replace
        self._condemned: WeakSet[Screen[object]] = WeakSet()

    def is_condemned(self, screen: Screen[object]) -> bool:
        """Whether a screen has failed and is about to go."""
        return screen in self._condemned

    def contain(self, error: BaseException, *, alive: bool = False) -> bool:
        """Take the failing screen away; false if that cannot be done or did not help: the program has to end.

        Args:
            error: what was raised.
            alive: in one of the app's actions: a screen lives on, a window (which may be half there) is closed.
        """
        if isinstance(error, WorkerFailed):
            error = error.error
        stack = self._app.screen_stack if self._app.is_running else ()
        screen = _raiser(error) or (stack[-1] if stack else None)
        if screen is not None and self.is_condemned(screen):
            return True  # what it did before it was gone
        failure, again = self.failures.take(error, "the dashboard" if screen is None else _name(screen))
        if screen is None or not stack:
            return False
        if alive and screen is stack[0] and not again:
            return self._app.call_later(self._tell, failure)
        self._condemned.add(screen)
        if again or isinstance(screen, FailedScreen):
            return False
        return self._app.call_later(self._remove, screen, failure)

    def _remove(self, screen: Screen[object], failure: Failure) -> None:
        app = self._app
        if isinstance(screen, WatchScreen):
            shown = app.screen_stack[0] is screen
            while shown and len(app.screen_stack) > 1:
                app.pop_screen()
            self._replace(screen, failure.sentence)
            if shown:
                return
        while screen in app.screen_stack[1:]:
            app.pop_screen()
        self._tell(failure)

    def _tell(self, failure: Failure) -> None:
        base = self._app.screen_stack[0]
        if isinstance(base, WatchScreen):
            base.notice(failure.sentence)


def _name(screen: Screen[object]) -> str:
    if isinstance(screen, WatchScreen):
        return f"screen {screen.number} {screen.word}"
    return f"the window {type(screen).__name__}"


def _raiser(error: BaseException) -> Screen[object] | None:
    """The screen of the innermost widget that was at work."""
    found: Screen[object] | None = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        owner = at.tb_frame.f_locals.get("self")
        if isinstance(owner, Screen):
            found = owner
        elif isinstance(owner, Widget):
            found = next((node for node in owner.ancestors if isinstance(node, Screen)), found)
        at = at.tb_next
    return found
