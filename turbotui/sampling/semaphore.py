"""A semaphore that lets few workers read at a time, whatever their number."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Protocol

from turbotui.sampling.answers import Work


class Taking(Protocol):
    """A worker that takes a request when the semaphore admits it."""

    def take(self, work: Work) -> None:
        """Have the request now."""


_TOGETHER = 16  # workers at once: enough to hide how long a busy CPU takes to wake one (a few ms)
_SHARE = 4  # one worker in so many reads at a time, until there are as many as that
_STUCK_NS = 100_000_000  # a worker that takes longer gives its place to another and goes on beside it


def together(workers: int) -> int:
    """How many of so many workers read at a time: each read hands the interpreter's lock to whoever waits for it.

    Two CPUs and the files that hold all of them, read at once, were 120 futex calls a tick; one after the other, 20.
    """
    return max(1, min(_TOGETHER, workers // _SHARE))


class WorkerSemaphore:
    """Lets few workers at a time have their request, and the next one as soon as one has answered.

    A thread that waits for the interpreter's lock wakes at every switch interval to ask for it. A thousand that wait
    at once, all woken by one tick, leave hardly any time to the one that has it.

    Attributes:
        together: how many.
    """

    def __init__(self, together: int = _TOGETHER, stuck_ns: int = _STUCK_NS) -> None:
        self.together = together
        self._stuck_ns = stuck_ns
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Taking, Work]] = deque()
        self._inside: dict[Taking, int] = {}

    def enter(self, worker: Taking, work: Work) -> None:
        """Hand the request over when it is this worker's turn, from the next `admit` on."""
        with self._lock:
            self._waiting.append((worker, work))

    def admit(self) -> None:
        """Let in who may; workers that are stuck have to give their places to others."""
        with self._lock:
            self._admit()

    def leave(self, worker: Taking) -> None:
        """The worker has answered; on its own thread."""
        with self._lock:
            self._inside.pop(worker, None)
            self._admit()

    def _admit(self) -> None:
        now = time.monotonic_ns()
        if len(self._inside) >= self.together:
            self._inside = {worker: since for worker, since in self._inside.items() if now - since < self._stuck_ns}
        while self._waiting and len(self._inside) < self.together:
            worker, work = self._waiting.popleft()
            self._inside[worker] = now
            worker.take(work)
