"""Who ran on a CPU for how long, by the times of its switches: each slice reaches from one switch to the next.

That is how the kernel accounts for CPU time (update_curr(), kernel/sched/fair.c): the switch itself is the next
thread's. A task clock, which counts while a thread's counters are on the CPU, leaves it out. Everything here is pure.

Both records of a switch are read, of the thread that leaves and of the one that comes: on some CPUs nothing is recorded
while the idle task is switched out (seen on Linux 6.18, of one CPU of two), and its time would be the next thread's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import chain
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.perf_records import HEADER, NOBODY, RecordType, SampleType

SAMPLE_TYPE: Final = SampleType.TID | SampleType.TIME
"""What each record says: whose it is, and when."""
_RECORD_WORDS: Final = 4  # header, numbers of the other thread of the switch, numbers, time
_HEADER: Final = int(RecordType.SWITCH_CPU_WIDE) | 8 * _RECORD_WORDS << 48  # first word of a switch, less its `misc`
_MISC: Final = 0xFFFF << 32
_OUT: Final = 1 << 32 + 13  # PERF_RECORD_MISC_SWITCH_OUT
_IDLE: Final = 0
_OUT_OF_IDLE_NS: Final = 6_000  # from there to the record of the thread that comes, with counters to start
_LONG_WAY_NS: Final = 50_000
_EXACT: Final = 0.01  # a thread of whose time more is worked out so is told to be estimated
_TICK: Final = struct.Struct("IIQ")  # process, thread, time
_FIRST: Final = 8  # records looked at together at first: where threads come and go, switches stand in short rows
_TOGETHER: Final = 4_096
_PIECE: Final = 1 << 16
_TID_SHIFT: Final = 32  # numbers of process and thread, in one word
_EXIT: Final = struct.Struct("IIII")  # process, parent, thread, its creator

Span = tuple[int, int]
"""From one time to another."""


@dataclass(slots=True)
class KnownUntil:
    """Times up to which the CPU time of threads is known from another source, so that slices leave it out.

    Attributes:
        at: by thread.
    """

    at: dict[int, int] = field(default_factory=dict)

    def known(self, tid: int, now: int) -> None:
        """The thread's CPU time is known up to now."""
        self.at[tid] = now

    def forget(self, before: int) -> None:
        """Drop what no slice that is still to come reaches back to."""
        self.at = {tid: time for tid, time in self.at.items() if time >= before}


@dataclass(slots=True)
class WayOutOfIdle:
    """Time from the idle task's record to that of the thread that follows, on any CPU.

    Attributes:
        total: ns of all that were seen.
        times: how many they were.
    """

    total: int = 0
    times: int = 0

    def seen(self, length: int) -> None:
        """A way was recorded whole; one in which the host took the CPU away says nothing of others."""
        if length <= _LONG_WAY_NS:
            self.total += length
            self.times += 1

    @property
    def mean(self) -> int:
        """Mean ns; 0 where none was seen."""
        return self.total // self.times if self.times else 0


class CpuSlices:
    """The slices of one CPU, by its records one after the other.

    Args:
        since: when the records began.
        way: how long threads take to come out of idle; shared by CPUs.

    Attributes:
        unknown: spans of which nobody knows who ran: records were lost.
        guessed: threads whose ways out of the idle task nobody recorded: they are as long as others were.
        damaged: records that could not be understood.
        last: time of the latest switch or tick.
    """

    __slots__ = ("_before", "_current", "_known_until", "_left", "_lost", "_ran", "_unseen", "_way", "damaged",
                 "guessed", "last", "unknown")

    def __init__(self, since: int, way: WayOutOfIdle | None = None) -> None:
        self._way = WayOutOfIdle() if way is None else way
        self.last = since
        self.unknown: list[Span] = []
        self.guessed: frozenset[int] = frozenset()
        self._unseen: dict[int, int] = {}
        self._before: list[Span] = [(0, since)]
        self.damaged = 0
        self._lost = False
        self._current: int | None = None  # the thread on the CPU, once a switch told of it
        self._left: int | None = None  # the thread whose leaving was the last record
        self._ran: dict[int, int] = {}
        self._known_until = KnownUntil()

    def read(self, data: bytes, known: KnownUntil) -> dict[int, int]:
        """The ns that each thread ran in the slices that end in a block of whole records.

        Args:
            data: the block.
            known: CPU time that is left out.
        """
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
                    self.damaged += 1  # where the next one begins is not known before the next block
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
            self._current = _EXIT.unpack_from(record, HEADER.size)[2]  # its last switch is nobody's
        elif kind == RecordType.SAMPLE:
            _process, tid, time = _TICK.unpack_from(record, HEADER.size)
            self._begin_anew(time)
            self._spend(tid, time)
        elif kind == RecordType.LOST:
            self._lost = True

    def _switches(self, words: memoryview, first: int) -> int:
        """Book the switches that stand here one after the other; returns how many words they are."""
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
        current, left = self._current, self._left
        for head, other, key, time in zip(heads, others, keys, times, strict=True):
            tid = key >> _TID_SHIFT
            if head & _OUT:
                # of one that has given its number back by then, the switch that brought it knows the number
                self._spend(tid if tid != NOBODY or current is None else current, time)
                current, left = other >> _TID_SHIFT, tid
            else:
                if other >> _TID_SHIFT == _IDLE:
                    if left == _IDLE:
                        self._way.seen(time - self.last)
                    else:  # that the idle task left was not recorded: it left as long ago as elsewhere
                        self._spend(_IDLE, max(self.last, time - self._way.mean))
                        self._unseen[tid] = self._unseen.get(tid, 0) + 1
                current, left = tid, None
        self._current, self._left = current, left

    def _spend(self, tid: int, time: int) -> None:
        """The CPU was a thread's up to a time."""
        spent = time - max(self.last, self._known_until.at.get(tid, 0))
        if spent > 0:
            self._ran[tid] = self._ran.get(tid, 0) + spent
        self.last = time

    def _begin_anew(self, time: int) -> None:
        """Where records were lost, nobody knows who ran until the next one."""
        if self._lost:
            self._lost = False
            self.unknown.append((self.last, time))
            self.last, self._current, self._left = time, None, None


@dataclass(frozen=True, slots=True)
class Ran:
    """CPU time of threads by the switches of all CPUs since the last call.

    Attributes:
        threads: ns by thread.
        unknown: by CPU the spans of which nobody knows who ran.
        cpus: that are watched.
        until: when this was taken.
        guessed: of `threads` those whose time is an estimate (see `CpuSlices`).
    """

    threads: Mapping[int, int]
    unknown: Mapping[int, tuple[Span, ...]]
    cpus: frozenset[int]
    until: int
    guessed: frozenset[int] = frozenset()

    def uncovered(self, cpu: int, begin: int, end: int) -> int:
        """How much of a slice on a CPU is not among `threads`, and never will be."""
        if cpu not in self.cpus:
            return end - begin
        spans = self.unknown.get(cpu, ())
        return sum(max(0, min(end, upper) - max(begin, lower)) for lower, upper in spans)


def added(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """The sum of the run times of threads on several CPUs."""
    total: dict[int, int] = {}
    for tid, spent in chain.from_iterable(part.items() for part in parts):
        total[tid] = total.get(tid, 0) + spent
    return total
