"""Waits of the sampler: until a time, until an event, or until every worker has answered.

Under the dashboard, and in a program with an asyncio loop, the sampler waits with futures and timers of the loop. Text
output has nothing else to run on a loop, so there the sampler waits on a lock and does not load asyncio, whose import
is a fifth of a start of `turbotui stat`. No `asyncio.timeout` surrounds the futures: at twenty intervals a second,
timeouts that end by cancelling a task are a tenth of the cost of sampling.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from turbotui.errors import InternalError
from turbotui.sampling.answers import Answer, AnsweringWorker

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


def loop_here() -> asyncio.AbstractEventLoop | None:
    """The asyncio loop that runs in this thread; None if none does."""
    # another thread may be importing asyncio right now: then it lacks the function, and no loop runs here
    running: Callable[[], asyncio.AbstractEventLoop] | None = getattr(sys.modules.get("asyncio"), "get_running_loop",
                                                                      None)
    if running is not None:
        with contextlib.suppress(RuntimeError):
            return running()
    return None


class Clock:
    """The time that a sampler and its workers share, the one of asyncio's loops: time.monotonic(), in seconds."""

    def now(self) -> float:
        """Seconds that never decrease."""
        return time.monotonic()

    def wait(self, lock: threading.Lock, until: float) -> bool:
        """Wait for a lock until a time; True if this thread has it now. If the time has come, nothing is tried."""
        left = until - self.now()
        return left > 0 and lock.acquire(timeout=min(left, threading.TIMEOUT_MAX))


CLOCK = Clock()
"""The clock of this machine."""


def clock_here(clock: Clock = CLOCK) -> Callable[[], float]:
    """The time of `WakeUp.sleep_until` in this thread: the loop's if one runs, otherwise this clock's."""
    loop = loop_here()
    return clock.now if loop is None else loop.time


def run_alone(coroutine: Coroutine[object, None, T]) -> T:
    """Run a coroutine that awaits nothing but `WakeUp`s to its end, in a thread of its own.

    Raises:
        InternalError: the coroutine awaits something else.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        _here.rest()
    coroutine.close()
    raise InternalError("the sampler waits for something that nobody does in its thread")


def run_on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on an asyncio loop that belongs to this thread."""
    import asyncio  # noqa: PLC0415 - a fifth of a start of text output, which runs without it

    return asyncio.run(coroutine)


class _Resting(threading.local):
    """Work that a thread does when it rests next."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], object]] = []
        self.rests = False  # this thread has rested in a `WakeUp`, and will again

    def rest(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()


_here = _Resting()


def when_resting(call: Callable[[], object]) -> None:
    """Call a function when the sampler of this thread rests next; in any other thread, call it at once.

    Two threads that run at the same time would wait for the interpreter's lock.
    """
    if (loop := loop_here()) is not None:
        loop.call_soon(call)
    elif _here.rests:
        _here.calls.append(call)
    else:
        call()


class WakeUp:
    """The sleep of a coroutine until a time, or until any thread requests its end."""

    def __init__(self, clock: Clock = CLOCK) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        # whether a wake-up is requested that no coroutine has received yet
        self.requested = False
        self._sleeping: asyncio.Future[None] | None = None
        self._wake_up = threading.Lock()  # unlocked by a wake-up
        self._wake_up.acquire()

    def request(self) -> None:
        """Wake the coroutine that sleeps here, or the next one that will; may be called from any thread."""
        self.requested = True  # set before reading the loop: the sleeper sets the loop before it reads this
        with contextlib.suppress(RuntimeError):  # it is free already; or the loop has closed: no task waits there
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._wake)
            else:
                self._wake_up.release()

    async def sleep_until(self, when: float) -> bool:
        """Sleep until a time or a requested wake-up; True for a wake-up, which is then used up.

        The time is that of `clock_here`.
        """
        loop = self._loop = loop_here()
        if loop is None:
            self._rest(when)
        elif not self.requested:
            self._sleeping = loop.create_future()
            timer = loop.call_at(when, self._wake)
            try:
                await self._sleeping
            finally:
                timer.cancel()
                self._sleeping = None
        requested, self.requested = self.requested, False
        return requested

    def _rest(self, when: float) -> None:
        """Rest until a time or a request, ignoring a lock that an earlier request unlocked."""
        _here.rests = True
        _here.rest()
        while not self.requested and self._clock.now() < when:
            self._clock.wait(self._wake_up, when)

    def _wake(self) -> None:
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)


class Collector:
    """Collects the answers to one tick; the last answer wakes the loop once.

    Args:
        wake_up: requested when all expected workers have answered.
        late: receives, on the worker's thread, the answers that come after `close`.
    """

    def __init__(self, wake_up: WakeUp, late: Callable[[Answer], None] | None = None) -> None:
        self._wake_up = wake_up
        self._late = late
        self._lock = threading.Lock()
        self._waiting: set[AnsweringWorker] = set()
        self._answers: list[Answer] = []
        self._armed = False
        self._closed = False

    def expect(self, worker: AnsweringWorker) -> None:
        """Wait for the answer of one more worker."""
        with self._lock:
            self._waiting.add(worker)

    def receive(self, answer: Answer) -> None:
        """Take an answer, on the worker's thread."""
        with self._lock:
            if self._closed and self._late is not None:
                self._late(answer)  # before the worker can be asked again
            answer.worker.busy = False
            self._waiting.discard(answer.worker)
            if self._closed:
                return  # too late for its tick: the row was shown as late
            self._answers.append(answer)
            last = self._armed and not self._waiting
        if last:
            self._wake_up.request()

    def complete(self) -> bool:
        """Whether all have answered; call it after the last `expect`, and the last answer then requests the wake-up."""
        with self._lock:
            self._armed = True
            return not self._waiting

    def close(self) -> list[Answer]:
        """The answers so far; later answers do not belong to this tick."""
        with self._lock:
            self._closed = True
            return self._answers
