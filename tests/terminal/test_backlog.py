"""Input that comes faster than it is handled stays bounded, and the newest of it is handled."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import App
from textual.geometry import Size
from textual.message import Message

from turbotui.terminal.backlog import InputBacklog


class _Queue(App[int]):
    """An application whose queue is handled by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self.later: list[Callable[[], None]] = []

    def post_message(self, message: Message) -> bool:
        self.messages.append(message)
        return True

    def call_later(self, callback: Callable[[], None], *_args: object, **_kwargs: object) -> bool:  # type: ignore[override]
        self.later.append(callback)
        return True

    def take(self) -> list[str]:
        """Handle what is in the queue, and return the keys."""
        taken, self.messages = self.messages, []
        later = [*self.later]
        self.later.clear()
        for call in later:
            call()
        return [message.key for message in taken if isinstance(message, events.Key)]


def _of(app: _Queue) -> InputBacklog:
    return InputBacklog(app, app.later.append)


def _key(number: int) -> events.Key:
    return events.Key(f"f{number}", None)


def test_of_any_number_of_keys_the_queue_has_one_part_and_the_newest_wait() -> None:
    app = _Queue()
    backlog = _of(app)
    backlog.put(_key(0))
    app.take()
    for number in range(1, 10_000):
        backlog.put(_key(number))
    assert len(app.messages) == 1
    assert len(app.later) == 1
    assert app.take() == ["f0"]
    assert app.take() == [f"f{number}" for number in range(9_744, 10_000)]


def test_keys_that_are_handled_as_they_come_are_all_handled_in_their_order() -> None:
    app = _Queue()
    backlog = _of(app)
    handled: list[str] = []
    for number in range(1_000):
        backlog.put(_key(number))
        if number % 100 == 0:
            handled += app.take()
    while app.messages or app.later:
        handled += app.take()
    assert handled == [f"f{number}" for number in range(1_000)]


def test_the_newest_size_and_the_newest_focus_are_kept_however_many_keys_follow() -> None:
    app = _Queue()
    backlog = _of(app)
    backlog.put(_key(0))
    app.take()
    sizes = [Size(80 + number, 24) for number in range(500)]
    for size in sizes:
        backlog.put(events.Resize(size, size))
        backlog.put(events.AppFocus())
        backlog.put(events.AppBlur())
    for number in range(1_000):
        backlog.put(_key(number))
    app.take()
    others = [message for message in app.messages if not isinstance(message, events.Key)]
    assert [type(message) for message in others] == [events.Resize, events.AppFocus, events.AppBlur]
    assert isinstance(others[0], events.Resize)
    assert others[0].size == sizes[-1]
