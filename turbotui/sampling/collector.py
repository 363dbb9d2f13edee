"""Waiting in the sampler's loop: until a time, until something happens, or until every worker has answered.

Futures and timers of the loop, without `asyncio.timeout` around them: at twenty intervals a second a timeout that ends
by cancelling its task is a tenth of what sampling costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from turbotui.sampling.answers import Answer, Answering


class WakeUp:
    """What a coroutine sleeps on until a time or a request from any thread; for one coroutine on one loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._requested = False
        self._sleeping: asyncio.Future[None] | None = None

    def request(self) -> None:
        """Wake the coroutine that sleeps here, or the next one that would. From any thread."""
        self._requested = True  # before the look at the loop, which the sleeper sets before it looks at this
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody sleeps there any more
                self._loop.call_soon_threadsafe(self._wake)

    @property
    def requested(self) -> bool:
        """Whether a wake-up is requested and no coroutine has woken of it yet."""
        return self._requested

    async def sleep_until(self, when: float) -> bool:
        """Sleep until the loop's clock says so or a wake-up is requested; True for the latter. A request wakes once."""
        loop = self._loop = asyncio.get_running_loop()
        if not self._requested:
            self._sleeping = loop.create_future()
            timer = loop.call_at(when, self._wake)
            try:
                await self._sleeping
            finally:
                timer.cancel()
                self._sleeping = None
        requested, self._requested = self._requested, False
        return requested

    def _wake(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)


class Collector:
    """Gathers the answers to one tick; the last one wakes the loop once.

    Args:
        wake_up: requested when all that are expected have answered.
        late: takes the answers that come after `close`, on the worker's thread.
    """

    def __init__(self, wake_up: WakeUp, late: Callable[[Answer], None] | None = None) -> None:
        self._wake_up = wake_up
        self._late = late
        self._lock = threading.Lock()
        self._waiting: set[Answering] = set()
        self._answers: list[Answer] = []
        self._armed = False
        self._closed = False

    def expect(self, worker: Answering) -> None:
        """Wait for the answer of one more worker."""
        with self._lock:
            self._waiting.add(worker)

    def receive(self, answer: Answer) -> None:
        """Take an answer, on the worker's thread."""
        with self._lock:
            if self._closed and self._late is not None:
                self._late(answer)  # before it can be asked again
            answer.worker.busy = False
            self._waiting.discard(answer.worker)
            if self._closed:
                return  # too late for its tick: the row was shown as late
            self._answers.append(answer)
            last = self._armed and not self._waiting
        if last:
            self._wake_up.request()

    def complete(self) -> bool:
        """Whether all have answered; from now on the last answer requests the wake-up. After the last `expect`."""
        with self._lock:
            self._armed = True
            return not self._waiting

    def close(self) -> list[Answer]:
        """The answers there are; later ones are no part of this tick."""
        with self._lock:
            self._closed = True
            return self._answers
