"""Computes waits of threads from records of switches and wake-ups: for a CPU, for storage, or asleep.

A runnable thread without a CPU waits on a run queue since it was woken, or since another thread took its CPU. This
module does no input or output.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.histograms import Buckets, bucket_of, merged_buckets

IDLE: Final = 0
"""The idle task's number."""
_PUSHERS: Final = 32  # most threads that are kept as those that took a thread's CPU, or ran while it waited
_EXPLAINED_NS: Final = 100_000  # waits from which on it is noted who ran meanwhile
_SLICES: Final = 256  # latest slices of a CPU that are kept, to say who ran during a wait


class LeaveReason(Enum):
    """Why a thread left its CPU, by the records."""

    PUSHED = "it could have run on"
    STORAGE = "it waits uninterruptibly, mostly for storage"
    ASLEEP = "it sleeps until something wakes it"
    AWAY = "it waits; the records do not say for what"
    ENDED = "it ended"


@dataclass(slots=True)
class WaitSums:
    """Waits of one or several threads in a span of time, in ns."""

    queued: int = 0  # waiting for a CPU
    times: int = 0  # the number of ended waits for a CPU
    longest: int = 0  # the longest of them, including one that continues
    pushed: int = 0  # how often a runnable thread lost its CPU
    held: int = 0  # the part of `queued` after losing a CPU that then was idle, mostly because of a quota
    storage: int = 0  # uninterruptible sleep, mostly for storage
    asleep: int = 0  # sleep for other reasons
    pushers: dict[int, int] = field(default_factory=dict)  # how often each thread took its CPU
    # lengths: of ended waits, in ns; behind: ns that each thread ran meanwhile on the CPU that the wait ended on, of
    # waits from 0.1 ms on
    lengths: Buckets = field(default_factory=dict, compare=False)
    ended: int = field(default=0, compare=False)  # the sum of `lengths`
    behind: dict[int, int] = field(default_factory=dict, compare=False)
    cpus: dict[int, int] = field(default_factory=dict, compare=False)  # ns of those waits by the CPU they ended on

    def add(self, other: WaitSums) -> None:
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
        self.ended += other.ended
        self.lengths = merged_buckets((self.lengths, other.lengths))
        for tid, ran in other.behind.items():
            self.wait_behind(tid, ran)
        for cpu, length in other.cpus.items():
            self.cpus[cpu] = self.cpus.get(cpu, 0) + length

    def wait_behind(self, tid: int, ran: int) -> None:
        """Add the time that a thread ran while this one waited."""
        if (known := self.behind.get(tid)) is not None:
            self.behind[tid] = known + ran
        elif len(self.behind) < _PUSHERS:
            self.behind[tid] = ran

    def blame(self, tid: int, times: int = 1) -> None:
        """Count a thread that took this one's CPU."""
        if tid in self.pushers or len(self.pushers) < _PUSHERS:
            self.pushers[tid] = self.pushers.get(tid, 0) + times

    @property
    def pusher(self) -> int | None:
        """The thread that took its CPU most often; None if none did."""
        return max(self.pushers, key=self.pushers.__getitem__, default=None)


class _State:
    """A continuing wait: its start, the time up to which it was counted, and whether the CPU idled."""

    __slots__ = ("booked", "held", "left", "since")

    def __init__(self, left: LeaveReason, time: int, *, held: bool = False) -> None:
        self.left = left
        self.since = time
        self.booked = time
        self.held = held


class RunQueue:
    """Tracks all threads of a machine by records in order of time.

    Without wake-ups (`woken` is never called) only waits after losing a CPU are known, because the end of a sleep is
    unknown.
    """

    def __init__(self) -> None:
        self._off: dict[int, _State] = {}
        self._waited: defaultdict[int, WaitSums] = defaultdict(WaitSums)
        self._by_cpu: defaultdict[int, WaitSums] = defaultdict(WaitSums)
        self._slices: defaultdict[int, deque[tuple[int, int]]] = defaultdict(partial(deque, maxlen=_SLICES))

    def switched(self, time: int, before: int, after: int, left: LeaveReason, cpu: int = 0) -> None:
        """Handle a switch of a CPU from one thread to another."""
        if before != IDLE:
            if left is LeaveReason.ENDED:
                self._off.pop(before, None)
            else:
                self._off[before] = _State(left, time, held=left is LeaveReason.PUSHED and after == IDLE)
                if left is LeaveReason.PUSHED:
                    waited = self._waited[before]
                    waited.pushed += 1
                    waited.blame(after)
        if after != IDLE and (state := self._off.pop(after, None)) is not None:
            self._end(state, after, time, cpu)
        self._slices[cpu].append((time, after))

    def runs(self, time: int, tid: int, cpu: int = 0) -> None:
        """Handle a thread that gets a CPU, where no record says whom it follows; ends its wait."""
        if (state := self._off.pop(tid, None)) is not None:
            self._end(state, tid, time, cpu)
            self._slices[cpu].append((time, tid))

    def _end(self, state: _State, tid: int, time: int, cpu: int) -> None:
        """End a wait; of one for a CPU count its length, for the thread and the CPU, and who ran there meanwhile."""
        waited = self._waited[tid]
        self._book(waited, state, time)
        if state.left is not LeaveReason.PUSHED:
            return
        on_cpu = self._by_cpu[cpu]
        since, end = state.since, time
        length = time - since
        bucket = bucket_of(length)
        for sums in (waited, on_cpu):
            sums.times += 1
            sums.ended += length
            sums.lengths[bucket] = sums.lengths.get(bucket, 0) + 1
        on_cpu.queued += length
        on_cpu.longest = max(on_cpu.longest, length)
        if length < _EXPLAINED_NS:
            return
        waited.cpus[cpu] = waited.cpus.get(cpu, 0) + length
        for start, thread in reversed(self._slices.get(cpu, ())):
            if thread != IDLE:
                ran = end - start if start > since else end - since
                waited.wait_behind(thread, ran)
                on_cpu.wait_behind(thread, ran)
            if start <= since:
                break
            end = start

    def woken(self, time: int, tid: int) -> None:
        """Handle a thread that becomes runnable."""
        if (state := self._off.get(tid)) is not None:
            if state.left is LeaveReason.PUSHED:
                return  # the thread was in the queue already
            self._book(self._waited[tid], state, time)
        self._off[tid] = _State(LeaveReason.PUSHED, time)

    def lost(self) -> None:
        """Handle missing records: each thread's wait is unknown until its next record."""
        self._off.clear()
        self._slices.clear()

    def take_cpus(self) -> dict[int, WaitSums]:
        """Return the waits that ended since the last call by the CPU on which they ended, with their whole lengths."""
        sums, self._by_cpu = self._by_cpu, defaultdict(WaitSums)
        return sums

    def take(self, now: int) -> Mapping[int, WaitSums]:
        """Return the waits since the last call by thread, including continuing ones."""
        for tid, state in self._off.items():
            if state.left is not LeaveReason.AWAY:
                self._book(self._waited[tid], state, now)
        sums, self._waited = self._waited, defaultdict(WaitSums)
        return sums

    @staticmethod
    def _book(waited: WaitSums, state: _State, until: int) -> None:
        spent = until - state.booked
        if spent <= 0:
            return
        state.booked = until
        if state.left is LeaveReason.PUSHED:
            waited.queued += spent
            waited.longest = max(waited.longest, until - state.since)
            if state.held:
                waited.held += spent
        elif state.left is LeaveReason.STORAGE:
            waited.storage += spent
        elif state.left is LeaveReason.ASLEEP:
            waited.asleep += spent
