"""Waits of threads by records of switches and wake-ups: for a CPU, for storage, or asleep.

A thread that can run and has no CPU waits on a run queue: since it was woken, or since another thread took its CPU.
Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass

IDLE: Final = 0
"""The idle task's number."""
_PUSHERS: Final = 32  # threads remembered as those that took a thread's CPU


class Left(Enum):
    """Why a thread left its CPU, as the records say."""

    PUSHED = "it could have run on"
    STORAGE = "it waits uninterruptibly, mostly for storage"
    ASLEEP = "it sleeps until something wakes it"
    AWAY = "it waits; the records do not say for what"
    ENDED = "it ended"


@dataclass(slots=True)
class Waited:
    """Waits of one thread, or of several, in a span of time; ns.

    Attributes:
        queued: for a CPU.
        times: how many waits for a CPU ended.
        longest: the greatest of them, or of one that goes on.
        pushed: times that the thread left its CPU and could have run on.
        held: of `queued` the time after it was pushed off a CPU that then had nothing to do: a quota, mostly.
        storage: uninterruptibly, mostly for storage.
        asleep: for something else.
        pushers: how often each thread took its CPU.
    """

    queued: int = 0
    times: int = 0
    longest: int = 0
    pushed: int = 0
    held: int = 0
    storage: int = 0
    asleep: int = 0
    pushers: dict[int, int] = field(default_factory=dict)

    def add(self, other: Waited) -> None:
        """Add the waits of another thread, or of another span."""
        self.queued += other.queued
        self.times += other.times
        self.longest = max(self.longest, other.longest)
        self.pushed += other.pushed
        self.held += other.held
        self.storage += other.storage
        self.asleep += other.asleep
        for tid, times in other.pushers.items():
            self.blame(tid, times)

    def blame(self, tid: int, times: int = 1) -> None:
        """Note that a thread took this one's CPU."""
        if tid in self.pushers or len(self.pushers) < _PUSHERS:
            self.pushers[tid] = self.pushers.get(tid, 0) + times

    @property
    def pusher(self) -> int | None:
        """The thread that took its CPU most often; None where nobody did."""
        return max(self.pushers, key=self.pushers.__getitem__, default=None)


class _State:
    """A wait that goes on: since when, up to when it is booked, and whether the CPU idled."""

    __slots__ = ("booked", "held", "left", "since")

    def __init__(self, left: Left, time: int, *, held: bool = False) -> None:
        self.left = left
        self.since = time
        self.booked = time
        self.held = held


class RunQueue:
    """Follows all threads of a machine from record to record, in the order of time.

    Without wake-ups (`woken` is never called) only waits after being pushed off a CPU are known: of a thread that slept
    nobody knows when it was woken.
    """

    def __init__(self) -> None:
        self._off: dict[int, _State] = {}
        self._waited: dict[int, Waited] = {}

    def switched(self, time: int, before: int, after: int, left: Left) -> None:
        """A CPU went from one thread to another."""
        if before != IDLE:
            if left is Left.ENDED:
                self._off.pop(before, None)
            else:
                self._off[before] = _State(left, time, held=left is Left.PUSHED and after == IDLE)
                if left is Left.PUSHED:
                    waited = self._of(before)
                    waited.pushed += 1
                    waited.blame(after)
        if after != IDLE:
            self.runs(time, after)

    def runs(self, time: int, tid: int) -> None:
        """A thread goes onto a CPU: its wait, if it had one, is over."""
        state = self._off.pop(tid, None)
        if state is None:
            return
        waited = self._of(tid)
        self._book(waited, state, time)
        if state.left is Left.PUSHED:
            waited.times += 1

    def woken(self, time: int, tid: int) -> None:
        """A thread can run from now on."""
        state = self._off.get(tid)
        if state is not None:
            if state.left is Left.PUSHED:
                return  # it was in the queue already
            self._book(self._of(tid), state, time)
        self._off[tid] = _State(Left.PUSHED, time)

    def lost(self) -> None:
        """Records are missing: what each thread waits for is not known before its next record."""
        self._off.clear()

    def take(self, now: int) -> Mapping[int, Waited]:
        """Waits since the last call by thread, those that go on included."""
        for tid, state in self._off.items():
            if state.left is not Left.AWAY:
                self._book(self._of(tid), state, now)
        found, self._waited = self._waited, {}
        return found

    def _of(self, tid: int) -> Waited:
        waited = self._waited.get(tid)
        if waited is None:
            waited = self._waited[tid] = Waited()
        return waited

    @staticmethod
    def _book(waited: Waited, state: _State, until: int) -> None:
        spent = until - state.booked
        if spent <= 0:
            return
        state.booked = until
        if state.left is Left.PUSHED:
            waited.queued += spent
            waited.longest = max(waited.longest, until - state.since)
            if state.held:
                waited.held += spent
        elif state.left is Left.STORAGE:
            waited.storage += spent
        elif state.left is Left.ASLEEP:
            waited.asleep += spent


def all_of(parts: Iterable[Waited]) -> Waited:
    """The waits of several threads together."""
    total = Waited()
    for one in parts:
        total.add(one)
    return total
