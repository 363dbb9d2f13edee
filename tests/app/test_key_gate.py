"""Keys are delivered one at a time: a slow key delays later ones, and a key of a closed widget does not."""

from __future__ import annotations

import asyncio

from textual import events
from textual._callback import count_parameters
from textual.app import App, ComposeResult
from textual.widgets import Button

from turbotui.app.key_gate import KeyGate, _Call


class _Slow(Button):
    """A widget that handles a key in a given time."""

    def __init__(self) -> None:
        super().__init__()
        self.done = asyncio.Event()

    async def on_key(self) -> None:
        """Wait."""
        await self.done.wait()


class _Gated(App[int]):
    """An application whose gate asks a millisecond after a key whether its widget has gone."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: list[str] = []
        self.both = asyncio.Event()
        self.leaves: _Slow | None = None
        self.gate = KeyGate(self, self._passed_on, patience=0.001)

    def compose(self) -> ComposeResult:
        """The one widget."""
        yield _Slow()

    async def _passed_on(self, key: events.Key) -> None:
        self.passed.append(key.key)
        if len(self.passed) > 1:
            self.both.set()
        leaves, self.leaves = self.leaves, None
        if leaves is not None:
            await leaves.remove()
        elif self.focused is not None:
            self.focused.post_message(key)


async def test_a_key_waits_for_a_slow_one_however_often_it_is_asked_for() -> None:
    app = _Gated()
    async with app.run_test() as pilot:
        slow = app.query_one(_Slow)
        slow.focus()
        await pilot.pause()
        await app.gate.take(events.Key("a", "a"))
        await app.gate.take(events.Key("b", "b"))
        for _ in range(3):
            await asyncio.sleep(0.002)  # longer than its patience
        assert app.passed == ["a"]
        slow.done.set()
        await app.both.wait()
        assert app.passed == ["a", "b"]


async def test_of_keys_that_come_faster_than_they_are_handled_the_newest_are_kept() -> None:
    app = _Gated()
    async with app.run_test() as pilot:
        slow = app.query_one(_Slow)
        slow.focus()
        await pilot.pause()
        for number in range(1_000):
            await app.gate.take(events.Key(f"f{number}", None))
        slow.done.set()
        while not app.gate.idle:  # noqa: ASYNC110 - the gate tells nobody
            await asyncio.sleep(0.001)
        assert app.passed == ["f0", *(f"f{number}" for number in range(744, 1_000))]


async def test_a_key_waits_for_one_whose_widget_closes_and_still_handles_it() -> None:
    app = _Gated()
    async with app.run_test() as pilot:
        slow = app.query_one(_Slow)
        slow.focus()
        await pilot.pause()
        await app.gate.take(events.Key("a", "a"))
        await app.gate.take(events.Key("b", "b"))
        await slow._close_messages(wait=False)  # as Textual closes a widget that is pruned
        assert not slow.call_later(slow.done.set)
        for _ in range(3):
            await asyncio.sleep(0.002)  # longer than the gate's patience
        passed = list(app.passed)
        slow.done.set()  # else the application would never end
        assert passed == ["a"]
        await app.both.wait()
        assert app.passed == ["a", "b"]


async def test_a_key_does_not_wait_for_one_whose_widget_has_gone() -> None:
    app = _Gated()
    async with app.run_test() as pilot:
        slow = app.query_one(_Slow)
        slow.done.set()
        slow.focus()
        await pilot.pause()
        app.leaves = slow
        await app.gate.take(events.Key("a", "a"))
        await app.gate.take(events.Key("b", "b"))
        await app.both.wait()
        assert app.passed == ["a", "b"]
        assert not app.query(_Slow)


async def test_keys_behind_one_whose_widget_has_failed_are_released() -> None:
    app = _Gated()
    async with app.run_test() as pilot:
        slow = app.query_one(_Slow)
        slow.focus()
        await pilot.pause()
        await app.gate.take(events.Key("a", "a"))
        await app.gate.take(events.Key("b", "b"))
        assert app.passed == ["a"]
        await app.gate.release()
        passed = list(app.passed)
        slow.done.set()
        await pilot.pause()
        assert passed == ["a", "b"]


class _Unasked:
    """A function whose signature nobody may ask for."""

    @property
    def __signature__(self) -> object:
        raise AssertionError("the parameters were counted by the signature")

    def __call__(self, *_arguments: object) -> None:
        """Do nothing."""


def test_textual_does_not_ask_for_the_signature_of_the_gates_calls() -> None:
    assert count_parameters(_Call(_Unasked(), 1)) == 0
