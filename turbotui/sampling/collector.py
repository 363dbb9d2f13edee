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


class Alarm:
    """What a coroutine sleeps on: it wakes at its time, or when the alarm rings. One coroutine, on one loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._rung = False
        self._sleeping: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """Wake who sleeps, or else who sleeps next, at once. From any thread."""
        self._rung = True  # before the look at the loop, which the sleeper sets before it looks at this
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody sleeps there any more
                self._loop.call_soon_threadsafe(self._wake)

    @property
    def rung(self) -> bool:
        """Whether it has rung and nobody has woken of it yet."""
        return self._rung

    async def sleep_until(self, when: float) -> bool:
        """Sleep until the loop's clock says so or the alarm rings; True if it rang. A ring wakes once."""
        loop = self._loop = asyncio.get_running_loop()
        if not self._rung:
            self._sleeping = loop.create_future()
            timer = loop.call_at(when, self._wake)
            try:
                await self._sleeping
            finally:
                timer.cancel()
                self._sleeping = None
        rung, self._rung = self._rung, False
        return rung

    def _wake(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)


class Collector:
    """Gathers the answers to one tick; the last one wakes the loop once.

    Args:
        alarm: what rings when all that are expected have answered.
        late: takes the answers that come after `close`, on the worker's thread.
    """

    def __init__(self, alarm: Alarm, late: Callable[[Answer], None] | None = None) -> None:
        self._alarm = alarm
        self._late = late
        self._lock = threading.Lock()
        self._waiting: set[Answering] = set()
        self._answers: list[Answer] = []
        self._armed = False
        self._closed = False

    def expect(self, worker: Answering) -> None:
        """Wait for this worker too."""
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
            self._alarm.ring()

    def complete(self) -> bool:
        """Whether all have answered; from now on the last one to do so rings. After the last `expect`."""
        with self._lock:
            self._armed = True
            return not self._waiting

    def close(self) -> list[Answer]:
        """The answers there are; later ones are no part of this tick."""
        with self._lock:
            self._closed = True
            return self._answers
