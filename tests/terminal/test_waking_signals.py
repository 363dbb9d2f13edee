"""Signals that end no wait: Python looks for them, then waits for events, and what comes between waits with it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest
from patience import PATIENCE
from textual import events
from textual.app import App
from textual.message import Message

from turbotui.terminal.driver import Continued, TerminalDriver
from turbotui.terminal.handover import Handover


class Posted(App[object]):
    """An application with what the driver has posted to it."""

    def __init__(self) -> None:
        super().__init__()
        self.expected: type[Message] = events.Resize
        self.came = asyncio.Event()
        self.handover: Handover | None = None
        self.stopped: list[bool] = []

    def stop_beside(self) -> None:
        """Note whether the terminal was taken over yet, and keep the tests from being stopped."""
        self.stopped.append(self.handover is not None and self.handover.taken)
        self.came.set()
        raise _StoppedError

    async def _post_message(self, message: Message) -> bool:
        if isinstance(message, self.expected):
            self.came.set()
        return True


@pytest.mark.parametrize(("number", "message"), [(signal.SIGWINCH, events.Resize), (signal.SIGCONT, Continued)],
                         ids=["SIGWINCH", "SIGCONT"])
async def test_a_signal_that_ends_no_wait_acts_at_once(number: signal.Signals, message: type[Message]) -> None:
    """By the kernel's choice of another thread, which Python's handlers never run on."""
    front, behind = os.openpty()
    woken, wake = os.pipe()
    before = signal.getsignal(number)

    def elsewhere() -> None:
        os.read(woken, 1)  # behind it the interpreter is free, which the first thread waits for events without
        signal.pthread_kill(threading.get_ident(), number)

    app = Posted()
    driver = TerminalDriver(app, size=(90, 30))
    try:
        with os.fdopen(os.dup(behind), "w", encoding="utf-8") as output:
            driver.fileno, driver._file = behind, output
            driver.start_application_mode()
            await asyncio.wait_for(app.came.wait(), PATIENCE)  # its first size
            app.expected = message
            app.came.clear()
            thread = threading.Thread(target=elsewhere)
            thread.start()
            os.write(wake, b"x")
            await asyncio.wait_for(app.came.wait(), PATIENCE)
            thread.join()
            driver.stop_application_mode()
    finally:
        driver.close()
        for descriptor in (front, behind, woken, wake):
            os.close(descriptor)
    assert signal.getsignal(number) == before
    assert signal.set_wakeup_fd(-1) == -1


class _StoppedError(Exception):
    """Where the process would stop."""


async def test_a_stop_that_came_before_the_driver_follows_when_it_has_the_terminal() -> None:
    front, behind = os.openpty()
    app = Posted()
    app.handover = Handover(stops=True)
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: None if isinstance(
        context.get("exception"), _StoppedError) else pytest.fail(str(context)))
    driver = TerminalDriver(app, size=(90, 30))
    try:
        with os.fdopen(os.dup(behind), "w", encoding="utf-8") as output:
            driver.fileno, driver._file = behind, output
            driver.start_application_mode()
            while not app.stopped:
                app.came.clear()
                await asyncio.wait_for(app.came.wait(), PATIENCE)
            assert app.stopped == [True]
            assert b"\x1b[?1049l" not in os.read(front, 1 << 16)  # a command is stopped first: leaving may take seconds
            driver.stop_application_mode()
    finally:
        driver.close()
        for descriptor in (front, behind):
            os.close(descriptor)
