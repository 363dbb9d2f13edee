"""One key at a time: the next one waits until the one before has done all it does, and goes where that leads.

A terminal may hand over several keys at once, and what a key does is decided only after it has passed a few queues.
The second of two keys would else go to the screen that the first one is about to cover.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.timer import Timer

_PATIENCE = 0.5
_LONGEST = 20
"""Times that it may still be there: on a busy machine a key can take seconds, but none holds others back for ever."""


class KeyGate:
    """Hands keys on one at a time: a key waits until the effects of the key before it are shown.

    Args:
        app: whose keys.
        pass_on: what happens to a key when its turn has come.
        patience: seconds, after which it is asked whether the widget that a key is at has gone: it says nothing then.
    """

    def __init__(self, app: App[int], pass_on: Callable[[events.Key], Awaitable[None]],
                 patience: float = _PATIENCE) -> None:
        self._app = app
        self._pass_on = pass_on
        self._patience = patience
        self._waiting: deque[events.Key] = deque()
        self._turn = 0
        self._busy = False
        self._at: DOMNode | None = None  # whose queue the key is in; None: the app's
        self._asked = 0
        self._watchdog: Timer | None = None

    @property
    def idle(self) -> bool:
        """Whether every key that was taken has done what it does."""
        return not self._busy and not self._waiting

    async def take(self, key: events.Key) -> None:
        """Accept a key from the terminal, and hand it on when it is due."""
        self._waiting.append(key)
        if not self._busy:
            await self._next()
        elif self._watchdog is None:
            self._watch()

    async def _next(self) -> None:
        app = self._app
        if not self._waiting or not app.screen_stack:
            return
        self._turn += 1
        self._busy = True
        self._at, self._asked = None, 0
        target = app.focused or app.screen
        await self._pass_on(self._waiting.popleft())
        self._follow(target, self._turn, self._acted)

    def _follow(self, node: DOMNode | None, turn: int, then: Callable[[int], Awaitable[None]]) -> None:
        """Go behind the key through every queue on its way up to the app, where its action is run."""
        while node is not None and node is not self._app:
            if node.call_later(self._follow, node.parent, turn, then):
                self._at = node
                return
            node = node.parent  # this one is closing, and takes nothing any more
        self._at = None
        self._app.call_later(then, turn)

    async def _acted(self, turn: int) -> None:
        """Wait for messages that the action posted: Enter in a field tells its window, which then closes."""
        if self._app.screen_stack:  # else the key was to leave
            self._follow(self._app.focused or self._app.screen, turn, self._answered)

    async def _answered(self, turn: int) -> None:
        """Wait until the window that a key opened stands and has the focus."""
        if not self._app.screen_stack:
            return
        self._at = self._app.screen
        if not self._at.call_later(self._app.call_later, self._done, turn):
            await self._done(turn)

    def _watch(self) -> None:
        self._watchdog = self._app.set_timer(self._patience, partial(self._overdue, self._turn))

    async def _overdue(self, turn: int) -> None:
        """Let keys go on whose forerunner is in the queue of a widget that has gone; wait on for one that is slow.

        A widget that closes takes no message any more, but handles those that it has until it no longer runs. (It
        has no `task` then, which Textual says by an assertion.)
        """
        self._watchdog = None
        self._asked += 1
        gone = self._at is not None and not self._at.is_running and not self._at.call_later(_nothing)
        if turn == self._turn and self._busy and not gone and self._asked < _LONGEST:
            self._watch()
        else:
            await self._done(turn)

    async def _done(self, turn: int) -> None:
        if turn != self._turn or not self._busy:
            return
        self._busy = False
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        await self._next()
        if self._busy and self._waiting and self._watchdog is None:
            self._watch()


def _nothing() -> None:
    """What a widget that is there is asked to do."""
