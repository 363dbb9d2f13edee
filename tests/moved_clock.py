"""A clock for a sampler and its workers that stands while anybody works, and moves when everybody waits for a time."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from patience import PATIENCE

from turbotui.sampling.collector import CLOCK, Clock, run_alone
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.workers import Worker
from turbotui.simulated.clock import RealClock

_LOOK = 0.001
"""Seconds of this machine between two looks at whether anybody works; they decide nothing."""


@dataclass
class _Rest:
    """The wait of a worker for a lock until a time; the sampler's thread alone ends it."""

    lock: threading.Lock
    until: float
    acquired: bool = False
    ended: threading.Event = field(default_factory=threading.Event)


class MovedClock(Clock):
    """Goes from one time that is waited for to the next, however long the machine takes for what is done then."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._rests: dict[Worker, _Rest] = {}
        self._hung: dict[threading.Thread, threading.Event] = {}
        self._calls: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return self._now

    def gate(self) -> threading.Event:
        """A gate; workers that it stops are not waited for."""
        return _Gate(self._hung)

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call something when this clock has moved so far."""
        self._calls.append((self._now + seconds, call))

    def wait(self, lock: threading.Lock, until: float) -> bool:
        if self._now >= until:
            return False
        worker = threading.current_thread()
        if isinstance(worker, Worker):
            rest = self._rests[worker] = _Rest(lock, until)
            assert rest.ended.wait(PATIENCE), "the sampler does not wait for this worker"
            return rest.acquired
        while not lock.acquire(timeout=_LOOK):
            # twice, since one may have woken another that was looked at before; nobody here wakes each other in turn
            if not (self._all_rest() and self._all_rest()):
                continue
            if lock.acquire(blocking=False):
                break
            self._move(until)
            if self._now >= until:
                return False
        return True

    def _all_rest(self) -> bool:
        return all(self._rests_now(thread) for thread in threading.enumerate()
                   if isinstance(thread, Worker) and thread._clock is self)

    def _rests_now(self, worker: Worker) -> bool:
        rest = self._rests.get(worker)
        if rest is not None:
            if rest.lock.acquire(blocking=False):
                self._end(worker, acquired=True)
                return False
            return True
        gate = self._hung.get(worker)
        if gate is not None:
            return not gate.is_set()
        if worker.busy:
            semaphore = worker._semaphore
            return semaphore is not None and any(waiting is worker for waiting, _work in semaphore._waiting)
        # what it does after it has answered, such as waking the sampler, is over when it waits for its next request
        frame = sys._current_frames().get(worker.ident or 0)
        return frame is None or frame.f_code is Worker._next.__code__

    def _move(self, until: float) -> None:
        self._now = min((until, *(rest.until for rest in self._rests.values()), *(when for when, _call in self._calls)))
        for worker, rest in list(self._rests.items()):
            if rest.until <= self._now:
                self._end(worker, acquired=False)
        due = [call for when, call in self._calls if when <= self._now]
        self._calls = [(when, call) for when, call in self._calls if when > self._now]
        for call in due:
            call()

    def _end(self, worker: Worker, *, acquired: bool) -> None:
        rest = self._rests.pop(worker)
        rest.acquired = acquired
        rest.ended.set()


class _Gate(threading.Event):
    """An event that notes which threads wait for it."""

    def __init__(self, hung: dict[threading.Thread, threading.Event]) -> None:
        super().__init__()
        self._hung = hung

    def wait(self, timeout: float | None = None) -> bool:
        thread = threading.current_thread()
        self._hung[thread] = self
        try:
            return super().wait(timeout)
        finally:
            del self._hung[thread]


class _Frames:
    """A mailbox that keeps every frame and may act on each."""

    def __init__(self, act: Callable[[Frame], None] | None) -> None:
        self.taken: list[Frame] = []
        self._act = act

    def put(self, frame: Frame) -> None:
        self.taken.append(frame)
        if self._act is not None:
            self._act(frame)


def frames_of(sampler: Sampler, intervals: int | None, act: Callable[[Frame], None] | None = None) -> list[Frame]:
    """Run a sampler to its end in a thread without a loop, where its own clock is all that it goes by."""
    frames = _Frames(act)
    sampler.bus.attach(frames)
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            run_alone(sampler.run(intervals))
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert ended, "the sampler does not end"
    if ended[0] is not None:
        raise ended[0]
    return frames.taken


def move_time(patch: pytest.MonkeyPatch) -> None:
    """Let commands that measure simulated machines go by a moved clock, and the machines with them.

    Samplers have the clock of this process as a default: it stays the same object. Each look at a machine's clock takes
    a nanosecond: no machine reads the same time twice.
    """
    moved, wall_ns, looks = MovedClock(), time.time_ns(), itertools.count()
    started = moved.now()
    patch.setattr(CLOCK, "__class__", MovedClock)
    patch.setattr(CLOCK, "__dict__", vars(moved))
    patch.setattr(RealClock, "now_ns", lambda _clock: round(CLOCK.now() * 1e9) + next(looks))
    patch.setattr(RealClock, "wall_ns", lambda _clock: wall_ns + round((CLOCK.now() - started) * 1e9))
