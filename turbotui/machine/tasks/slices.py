"""Computes how long each thread ran on a CPU from the times of its switches: a slice lasts from one to the next.

The kernel accounts for CPU time in the same way (update_curr(), kernel/sched/fair.c): the time of the switch itself
belongs to the next thread. A task clock, which counts while a thread's counters are on the CPU, excludes that time.
This module does no input or output.

Both records of a switch are read, that of the thread that leaves and that of the thread that comes: some CPUs record
nothing when the idle task is switched out (seen on Linux 6.18, on one CPU of two), and the idle time would be added to
the next thread's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import chain, compress
from operator import sub
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.perf_records import HEADER, NOBODY, RecordType, SampleType
from turbotui.quantities.by_key import sums_by_key

SAMPLE_TYPE: Final = SampleType.TID | SampleType.TIME
"""The end of each record: process, thread and time."""
_RECORD_WORDS: Final = 4  # header, numbers of the other thread of the switch, numbers, time
_HEADER: Final = int(RecordType.SWITCH_CPU_WIDE) | 8 * _RECORD_WORDS << 48  # first word of a switch, less its `misc`
_MISC: Final = 0xFFFF << 32
_OUT: Final = 1 << 32 + 13  # PERF_RECORD_MISC_SWITCH_OUT
_IDLE: Final = 0
_OUT_OF_IDLE_NS: Final = 6_000  # from the idle task's record to that of the next thread, with counters to start
_LONGEST_IDLE_EXIT_NS: Final = 50_000
_EXACT: Final = 0.01  # a thread's time is an estimate if a larger share of it are unrecorded starts out of idle
_TICK: Final = struct.Struct("IIQ")  # process, thread, time
_FIRST: Final = 8  # records read at once at first: where threads begin and end, runs of switches are short
_TOGETHER: Final = 4_096
_TID_SHIFT: Final = 32  # ids of process and thread, in one word
_EXIT: Final = struct.Struct("IIII")  # process, parent, thread, its creator

Span = tuple[int, int]
"""The begin and the end of a span, in ns."""


@dataclass(slots=True)
class KnownTimes:
    """Times up to which the CPU time of threads is known from another source, so that slices leave it out."""

    at: dict[int, int] = field(default_factory=dict)  # the time in ns, by thread

    def known(self, tid: int, now: int) -> None:
        """Note that the thread's CPU time is known up to now."""
        self.at[tid] = now

    def forget(self, before: int) -> None:
        """Drop times that no later slice reaches back to."""
        self.at = {tid: time for tid, time in self.at.items() if time >= before}


@dataclass(slots=True)
class IdleExitTimes:
    """Times from the record of the idle task to that of the thread that follows, on any CPU."""

    total: int = 0  # the sum of the recorded times, in ns
    times: int = 0  # the number of recorded times

    def add(self, length: int) -> None:
        """Add one recorded time, unless it is so long that the hypervisor must have taken the CPU away meanwhile."""
        if length <= _LONGEST_IDLE_EXIT_NS:
            self.total += length
            self.times += 1

    @property
    def mean(self) -> int:
        """The mean in ns; 0 before the first recorded time."""
        return self.total // self.times if self.times else 0


class CpuSlices:
    """The slices of one CPU, computed from its records in order.

    Args:
        idle_exits: the times from the idle task to the next thread; shared by CPUs.

    Attributes:
        unknown: spans in which the running thread is unknown because records were lost.
        guessed: threads whose CPU time depends on starts out of idle that were not recorded, and so are estimated.
        damaged: the number of malformed records.
        last: the time of the latest switch or tick, in ns.
    """

    __slots__ = ("_before", "_current", "_idle_exits", "_known_until", "_left", "_lost", "_ran", "_unseen", "damaged",
                 "guessed", "last", "unknown")

    def __init__(self, since: int, idle_exits: IdleExitTimes | None = None) -> None:
        self._idle_exits = IdleExitTimes() if idle_exits is None else idle_exits
        self.last = since
        self.unknown: list[Span] = []
        self.guessed: frozenset[int] = frozenset()
        self._unseen: dict[int, int] = {}
        self._before: list[Span] = [(0, since)]
        self.damaged = 0
        self._lost = False
        self._current: int | None = None  # the thread on the CPU; None before the first switch
        self._left: int | None = None  # the thread that left the CPU in the last record
        self._ran: dict[int, int] = {}
        self._known_until = KnownTimes()

    def read(self, data: bytes, known: KnownTimes) -> dict[int, int]:
        """Return the ns that each thread ran in a block's slices; slices leave out the `known` CPU time."""
        self._ran, self._unseen, self._known_until = {}, {}, known
        self.unknown, self._before = self._before, []
        view = memoryview(data)
        words = view[: len(data) & ~7].cast("Q")
        at = 0
        while at < len(words):
            taken = self._switches(words, at)
            if not taken:
                kind, _misc, size = HEADER.unpack_from(view, 8 * at)
                if size < HEADER.size or size % 8 or size > len(data) - 8 * at:
                    self.damaged += 1  # the beginning of the next record is unknown until the next block
                    self._lost = True
                    break
                self._other(kind, view[8 * at : 8 * at + size])
                taken = size // 8
            at += taken
        ran = {tid: spent for tid, spent in self._ran.items() if tid not in (_IDLE, NOBODY)}
        self.guessed = frozenset(tid for tid, times in self._unseen.items()
                                 if times * _OUT_OF_IDLE_NS > _EXACT * ran.get(tid, 0))
        return ran

    def _other(self, kind: int, record: memoryview) -> None:
        if kind == RecordType.EXIT and self._current is None:
            self._current = _EXIT.unpack_from(record, HEADER.size)[2]  # the record of its last switch has no thread id
        elif kind == RecordType.SAMPLE:
            _process, tid, time = _TICK.unpack_from(record, HEADER.size)
            self._begin_anew(time)
            self._spend(tid, time)
        elif kind == RecordType.LOST:
            self._lost = True

    def _switches(self, words: memoryview, first: int) -> int:
        """Add the switches in an uninterrupted run of records, and return their number of words."""
        at, together = first, _FIRST
        while at + _RECORD_WORDS <= len(words):
            part = words[at : at + _RECORD_WORDS * together]
            part = part[: len(part) - len(part) % _RECORD_WORDS]
            heads = part[::_RECORD_WORDS].tolist()
            good = len(heads)
            if any(head & ~_MISC != _HEADER for head in set(heads)):
                good = next(at for at, head in enumerate(heads) if head & ~_MISC != _HEADER)
            if good:
                others, keys, times = (part[word : _RECORD_WORDS * good : _RECORD_WORDS].tolist() for word in (1, 2, 3))
                self._book(heads[:good], others, keys, times)
            at += _RECORD_WORDS * good
            if good < len(heads):
                break
            together = min(2 * together, _TOGETHER)
        return at - first

    def _book(self, heads: list[int], others: list[int], keys: list[int], times: list[int]) -> None:
        self._begin_anew(times[0])
        if 0 in keys or 0 in others or max(keys) >= NOBODY << _TID_SHIFT or not self._add_up(heads, keys, times):
            self._book_each(heads, others, keys, times)
        elif heads[-1] & _OUT:
            self._current, self._left = others[-1] >> _TID_SHIFT, keys[-1] >> _TID_SHIFT
        else:
            self._current, self._left = keys[-1] >> _TID_SHIFT, None

    def _add_up(self, heads: list[int], keys: list[int], times: list[int]) -> bool:
        """Add the slices of a CPU that does not idle; False, and nothing added, if a thread's time is known otherwise.

        Each slice ends where its thread leaves the CPU, and begins where the one before ended.
        """
        leaves = [head & _OUT for head in heads]
        ends = list(compress(times, leaves))
        lengths = list(map(sub, ends, [self.last, *ends]))
        if min(lengths, default=0) < 0 or max(self._known_until.at.values(), default=0) > self.last:
            return False
        ran: dict[int, int] = {}
        for key, length in zip(compress(keys, leaves), lengths, strict=True):
            if length:
                ran[key] = ran.get(key, 0) + length
        for key, spent in ran.items():
            self._ran[key >> _TID_SHIFT] = self._ran.get(key >> _TID_SHIFT, 0) + spent
        self.last = ends[-1] if ends else self.last
        return True

    def _book_each(self, heads: list[int], others: list[int], keys: list[int], times: list[int]) -> None:
        current, left = self._current, self._left
        for head, other, key, time in zip(heads, others, keys, times, strict=True):
            tid = key >> _TID_SHIFT
            if head & _OUT:
                # an ended thread's record has no thread id any more: it is that of the previous switch
                self._spend(tid if tid != NOBODY or current is None else current, time)
                current, left = other >> _TID_SHIFT, tid
            else:
                if other >> _TID_SHIFT == _IDLE:
                    if left == _IDLE:
                        self._idle_exits.add(time - self.last)
                    else:  # the idle task's switch was not recorded: the mean time is assumed
                        self._spend(_IDLE, max(self.last, time - self._idle_exits.mean))
                        self._unseen[tid] = self._unseen.get(tid, 0) + 1
                current, left = tid, None
        self._current, self._left = current, left

    def _spend(self, tid: int, time: int) -> None:
        """Add the time since the latest record to the thread that ran."""
        if (spent := time - max(self.last, self._known_until.at.get(tid, 0))) > 0:
            self._ran[tid] = self._ran.get(tid, 0) + spent
        self.last = time

    def _begin_anew(self, time: int) -> None:
        """After lost records, begin again: the running thread is unknown until this record."""
        if self._lost:
            self._lost = False
            self.unknown.append((self.last, time))
            self.last, self._current, self._left = time, None, None


@dataclass(frozen=True, slots=True)
class RunTimes:
    """CPU time of threads by the switches of all CPUs since the last call."""

    threads: Mapping[int, int]  # the CPU time in ns, by thread
    unknown: Mapping[int, tuple[Span, ...]]  # the spans in which the running thread is unknown, by CPU
    cpus: frozenset[int]  # the CPUs that are watched
    until: int  # the time of this call, in ns
    guessed: frozenset[int] = frozenset()  # those of `threads` whose time is an estimate

    def uncovered(self, cpu: int, begin: int, end: int) -> int:
        """Return how many ns of a slice on a CPU are not in `threads`, and never will be."""
        if cpu not in self.cpus:
            return end - begin
        return sum(max(0, min(end, upper) - max(begin, lower)) for lower, upper in self.unknown.get(cpu, ()))


def added(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Return the sum of the threads' run times on several CPUs."""
    return sums_by_key((tid, spent) for tid, spent in chain.from_iterable(part.items() for part in parts))
