"""Deliver keys one at a time: a key waits for the effects of the key before it, and goes to the widget that results.

A terminal may deliver several keys at once, and what a key does is decided only after the key has passed several
queues. Without the gate, the second of two keys would go to the screen that the first one is about to cover.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.message_pump import MessagePump
from textual.timer import Timer

_PATIENCE = 0.5
_MOST_WAITING = 256
"""Keys that may wait; on a machine that is minutes behind the oldest are lost, so that `q` still ends the program."""
_LONGEST = 20
"""Number of waits for a key that is still in a queue: on a busy machine a key can take seconds, but not for ever."""


class _Call(partial[Any]):
    """A call without arguments left; Textual counts those of any other partial by its signature, each time (8.2)."""

    _param_count = 0


def _queue(node: MessagePump, call: Callable[..., object], *arguments: object) -> bool:
    """Call a function behind the messages in a queue, as `call_later`; 14 % less of a key, which takes seven calls."""
    return node.post_message(events.Callback(callback=_Call(call, *arguments)))


class KeyGate:
    """Delivers keys one at a time: a key waits until the effects of the key before it are visible.

    Args:
        patience: seconds before checking whether the widget that holds a key has gone, which it does not report.
    """

    def __init__(self, app: App[int], pass_on: Callable[[events.Key], Awaitable[None]],
                 patience: float = _PATIENCE) -> None:
        self._app = app
        self._pass_on = pass_on
        self._patience = patience
        self._waiting: deque[events.Key] = deque(maxlen=_MOST_WAITING)
        self._turn = 0
        self._busy = False
        self._at: DOMNode | None = None  # whose queue holds the key; None for the app's
        self._screen: DOMNode | None = None  # which was on top when the key was delivered
        self._asked = 0
        self._watchdog: Timer | None = None

    @property
    def idle(self) -> bool:
        """Whether every accepted key has taken effect."""
        return not self._busy and not self._waiting

    async def take(self, key: events.Key) -> None:
        """Accept a key from the terminal, and deliver it at its turn."""
        self._waiting.append(key)
        if not self._busy:
            await self._next()
        elif self._watchdog is None:
            self._watch()

    def put_back(self, key: str, character: str | None) -> None:
        """Have the key that is being handled delivered once more, before those that wait: its window closes."""
        self._waiting.appendleft(events.Key(key, character))

    async def release(self) -> None:
        """Deliver the keys behind one whose widget has failed: without a message loop, it reports nothing."""
        await self._done(self._turn)

    async def _next(self) -> None:
        app = self._app
        if not self._waiting or not app.screen_stack:
            return
        self._turn += 1
        self._busy = True
        self._at, self._asked = None, 0
        self._screen = app.screen
        target = app.focused or app.screen
        await self._pass_on(self._waiting.popleft())
        self._follow(target, self._turn, self._acted)

    def _follow(self, node: DOMNode | None, turn: int, then: Callable[[int], Awaitable[None]]) -> None:
        """Follow the key through every queue on its way up to the app, which runs its action."""
        while node is not None and node is not self._app:
            if _queue(node, self._follow, node.parent, turn, then):
                self._at = node
                return
            node = node.parent  # this widget is closing and accepts nothing any more
        self._at = None
        _queue(self._app, then, turn)

    async def _acted(self, turn: int) -> None:
        """Wait for messages that the action posted: Enter in a field notifies its window, which then closes."""
        if self._app.screen_stack:  # otherwise the key made the program leave
            self._follow(self._app.focused or self._app.screen, turn, self._answered)

    async def _answered(self, turn: int) -> None:
        """Wait until a window opened by a key is complete and has the focus."""
        if not self._app.screen_stack:
            return
        self._at = self._app.screen
        if self._at is self._screen or not _queue(self._at, _queue, self._app, self._done, turn):
            await self._done(turn)

    def _watch(self) -> None:
        self._watchdog = self._app.set_timer(self._patience, partial(self._overdue, self._turn))

    async def _overdue(self, turn: int) -> None:
        """Release keys that wait for a key in the queue of a closed widget; keep waiting for a slow widget.

        A closing widget accepts no more messages but handles those that it has until it stops running. (It has no
        `task` then, which Textual reports by an assertion.)
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
        self._busy, self._screen = False, None  # a closed window is kept by nobody
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        await self._next()
        if self._busy and self._waiting and self._watchdog is None:
            self._watch()


def _nothing() -> None:
    """A callback that does nothing; only an existing widget runs it."""
