"""A terminal's input that is not handled yet: bounded, however fast it comes and however slow the machine is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from textual import events
from textual.app import App
from textual.message import Message

_MOST: Final = 256
"""Keys, pastes and events of the mouse that may wait; the oldest are lost, so that the last key still acts."""


class InputBacklog:
    """Hands input to an application as fast as it takes it, and keeps the newest of the rest.

    Of what is no key, paste or event of the mouse, such as a size or the focus, the newest of each kind is all of it.

    Args:
        app: its queue holds one part of the input at a time, and what ends it is never behind more than that.
        soon: runs a function on the application's thread.
    """

    def __init__(self, app: App[Any], soon: Callable[[Callable[[], None]], None]) -> None:
        self._app = app
        self._soon = soon
        self._lock = threading.Lock()
        self._waiting: deque[Message] = deque(maxlen=_MOST)
        self._states: dict[type[Message], Message] = {}
        self._under_way = False

    def put(self, message: Message) -> None:
        """Add what the terminal has sent; called on the thread that reads it."""
        with self._lock:
            if isinstance(message, events.InputEvent | events.Paste):
                self._waiting.append(message)
            else:
                self._states.pop(type(message), None)
                self._states[type(message)] = message
            under_way, self._under_way = self._under_way, True
        if not under_way:
            self._soon(self._hand_on)

    def _hand_on(self) -> None:
        """Post what waits, and come back when the application has taken it all from its queue."""
        with self._lock:
            taken = [*self._states.values(), *self._waiting]
            self._states.clear()
            self._waiting.clear()
            self._under_way = bool(taken)
        for message in taken:
            self._app.post_message(message)
        if taken:
            self._app.call_later(self._hand_on)
