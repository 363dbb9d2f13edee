"""A semaphore that lets a few workers read at a time, whatever their number."""

from __future__ import annotations

import threading
from collections import deque
from typing import Protocol

from turbotui.sampling.answers import ReadRequest
from turbotui.sampling.collector import CLOCK, Clock


class TakingWorker(Protocol):
    """A worker that takes a request when the semaphore admits it.

    Attributes:
        cpu: the CPU that it is on; a worker that goes from one to the next is not stuck.
    """

    cpu: int

    def take(self, work: ReadRequest) -> None:
        """Take the request now."""


_TOGETHER = 16  # workers at a time: enough to hide the few ms that a busy CPU takes to wake one
_SHARE = 4  # one worker in this many reads at a time, up to the limit above
_SLOW = 3  # workers that wait for busy CPUs beside the others; with more the interpreter's lock costs more than waiting
STUCK_SECONDS = 0.1  # a worker that takes longer passes its place on and continues beside the next


def together(workers: int) -> int:
    """How many of this many workers read at a time; every read passes the interpreter's lock to a waiting thread.

    With two CPUs and the shared files, reading at once took 120 futex calls a tick, reading in turn 20, and 11 % less
    CPU time (1.58 for 1.78 ms a tick, November 2026).
    """
    return max(1, min(_TOGETHER, workers // _SHARE))


class WorkerSemaphore:
    """Lets a few workers at a time take their request, and the next one as soon as one has answered.

    A thread that waits for the interpreter's lock wakes at every switch interval to ask for it. A thousand threads, all
    woken by one tick, leave hardly any time to the thread that holds the lock.

    Attributes:
        together: number of workers that read at a time.
    """

    def __init__(self, together: int = _TOGETHER, stuck: float = STUCK_SECONDS, clock: Clock = CLOCK) -> None:
        self.together = together
        self._stuck = stuck
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[tuple[TakingWorker, ReadRequest]] = deque()
        self._slow: set[TakingWorker] = set()
        self._inside: dict[TakingWorker, tuple[float, int]] = {}  # since when they are on which CPU

    def enter(self, worker: TakingWorker, work: ReadRequest) -> None:
        """Hand the request over at this worker's turn, from the next `admit` on."""
        with self._lock:
            self._waiting.append((worker, work))

    def admit(self) -> None:
        """Admit workers that may read; a stuck worker passes its place on."""
        with self._lock:
            self._admit()

    def leave(self, worker: TakingWorker) -> None:
        """Note on the worker's own thread that it has answered."""
        with self._lock:
            self._inside.pop(worker, None)
            self._slow.discard(worker)
            self._admit()

    def slow(self, worker: TakingWorker) -> None:
        """Note on the worker's own thread that it waits for busy CPUs, so that another one may read beside it."""
        with self._lock:
            if len(self._slow) < _SLOW and self._inside.pop(worker, None) is not None:
                self._slow.add(worker)
                self._admit()

    def _admit(self) -> None:
        now = self._clock.now()
        if len(self._inside) >= self.together:
            self._inside = {worker: (since, cpu) if worker.cpu == cpu else (now, worker.cpu)
                            for worker, (since, cpu) in self._inside.items()
                            if now - since < self._stuck or worker.cpu != cpu}
        while self._waiting and len(self._inside) < self.together:
            worker, work = self._waiting.popleft()
            self._inside[worker] = now, worker.cpu
            worker.take(work)
