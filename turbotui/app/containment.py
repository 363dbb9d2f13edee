"""Close a failing window or screen and nothing else; what has failed twice stays closed."""

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
        replace: makes Textual forget a screen (for good if the last argument says so), and shows a sentence in the
            place of the one that is shown.

    Attributes:
        failures: of this run, each with its report.
    """

    def __init__(self, app: App[int], replace: Callable[[WatchScreen, str, bool], None]) -> None:
        self.failures = Failures(os.environ)
        self._app = app
        self._replace = replace
        self._condemned: WeakSet[Screen[object]] = WeakSet()
        self._closed: dict[type[Screen[object]], Failure] = {}

    def refuses(self, window: object) -> bool:
        """Whether a window has failed twice and stays closed, which is said."""
        failure = self._closed.get(type(window))  # type: ignore[arg-type]
        if failure is not None:
            self._tell(f"{failure.where} stays closed because it failed twice")
        return failure is not None

    def is_condemned(self, screen: Screen[object]) -> bool:
        """Whether a screen has failed and is about to go."""
        return screen in self._condemned

    def contain(self, error: BaseException, *, alive: bool = False) -> bool:
        """Take the failing screen away; false if there is none to take away, and the program has to end.

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
        if screen is None or not stack or isinstance(screen, FailedScreen):
            return False
        if alive and screen is stack[0]:
            return self._app.call_later(self._tell, failure.sentence)
        self._condemned.add(screen)
        return self._app.call_later(self._remove, screen, failure, again)

    def _remove(self, screen: Screen[object], failure: Failure, again: bool) -> None:
        app = self._app
        if isinstance(screen, WatchScreen):
            shown = app.screen_stack[0] is screen
            while shown and len(app.screen_stack) > 1:
                app.pop_screen()
            self._replace(screen, failure.sentence, again)
            if shown:
                return
        elif again:
            self._closed[type(screen)] = failure
        while screen in app.screen_stack[1:]:
            app.pop_screen()
        self._tell(failure.sentence)

    def _tell(self, sentence: str) -> None:
        base = self._app.screen_stack[0]
        if isinstance(base, WatchScreen):
            base.notice(sentence)


def _name(screen: Screen[object]) -> str:
    if isinstance(screen, WatchScreen):
        return f"screen {screen.number} {screen.word}"
    return f"the window {type(screen).__name__}"


def _raiser(error: BaseException) -> Screen[object] | None:
    screen: Screen[object] | None = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        owner = at.tb_frame.f_locals.get("self")
        if isinstance(owner, Screen):
            screen = owner
        elif isinstance(owner, Widget):
            screen = next((node for node in owner.ancestors if isinstance(node, Screen)), screen)
        at = at.tb_next
    return screen
