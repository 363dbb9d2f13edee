"""Convert blocks of a ring to records, unpacking many samples at a time and thinning very frequent ones out.

Counters are cumulative. The last sample of a thread's own counters contains everything before it, and samples of a
CPU's counters can be merged by thread. A reader that is behind therefore loses time resolution but no counts.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain, groupby
from operator import eq
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.perf_merging import by_thread, whole_slices
from turbotui.machine.perf_records import (
    COUNTS,
    CPU_SWITCH,
    HEADER,
    LIFE,
    SAMPLE,
    SAMPLE_KIND,
    SWITCH,
    SWITCH_OUT,
    TRAILER,
    WORD,
    GroupReading,
    LastCounts,
    Lost,
    Misnumbered,
    ReadFormat,
    Record,
    RecordError,
    RecordType,
    Sample,
    life,
    parse_record,
    switched,
)
from turbotui.machine.sample_numbers import SETTLED, SampleNumbers

BEHIND: Final = 1 << 15  # bytes from which a block is thinned out: 300 samples in `clock_throttle.POLL_NS`
UNMERGED: Final = 1 << 18  # the same where each slice is wanted: 12,000 samples a second of a CPU
_TOGETHER: Final = 128  # records of such a block that are examined together
_MERGED: Final = 1024  # of a CPU's, if they are of one moment
_MOMENT_NS: Final = 10_000_000  # no picture of when threads ran has finer cells
_FIRST: Final = 4  # records that are examined first: where threads come and go, runs of samples are short
_AT_ONCE: Final = 32 * _TOGETHER  # records unpacked at a time
# places in an unpacked sample: header (3 words), `SAMPLE` (6), `COUNTS` (3), values
_EVENT, _PID, _TID, _TIME, _CPU = 3, 4, 5, 6, 7
_COUNTERS, _ENABLED, _RUNNING, _VALUES = 9, 10, 11, 12
# the same in words of 64 bits: one of type, misc and length, one of process and thread
_EVENT_WORD, _THREAD_WORD, _TIME_WORD, _CPU_WORD = 1, 2, 3, 4
_COUNTERS_WORD, _ENABLED_WORD, _RUNNING_WORD, _VALUE_WORDS = 5, 6, 7, 8
_MISC: Final = 0xFFFF << 32
_OUT: Final = SWITCH_OUT << 32
_LENGTH: Final = 48
_HALF: Final = 32
_LOW: Final = (1 << 32) - 1
_SWITCH_KIND: Final = int(RecordType.SWITCH)
_CPU_SWITCH_KIND: Final = int(RecordType.SWITCH_CPU_WIDE)
_SWITCH_HEAD: Final = _CPU_SWITCH_KIND | CPU_SWITCH.size << _LENGTH
_READ_KIND: Final = int(RecordType.READ)
_FORK_KIND: Final = int(RecordType.FORK)
_EXIT_KIND: Final = int(RecordType.EXIT)

Words = tuple[int, ...]


@dataclass(slots=True)
class Decoder:
    """Turns the bytes of one ring into records."""

    read_format: int  # of its events
    counters: int  # number of counters in a complete set
    shared: bool = False  # whether the counters are a CPU's, shared by its threads, and not a thread's own
    behind: int = BEHIND  # bytes of a block from which samples are thinned out
    numbers: SampleNumbers | None = None  # tells whose numbers samples have; None where no other program's are expected
    backlog: int = 0  # bytes of which a block is a piece; 0 where it is all
    named: bool = False  # whether a record of the switch follows each sample of a switch on a whole CPU
    checked: int = 0  # number of samples whose thread is that of the record
    damaged: int = 0  # number of records that could not be parsed
    merged: int = 0  # number of slices that were merged with others of their thread: when they ran is not known
    _whole: struct.Struct = field(init=False)
    _key: struct.Struct = field(init=False)
    _end: struct.Struct = field(init=False)
    _tells_lost: bool = field(init=False)
    _stride: int = field(init=False)
    _before: Sample | None = None

    def __post_init__(self) -> None:
        self._stride = 1 + bool(self.read_format & ReadFormat.ID) + bool(self.read_format & ReadFormat.LOST)
        self._whole = struct.Struct(f"{HEADER.format}{SAMPLE.format}{COUNTS.format}{self._stride * self.counters}Q")
        self._end = struct.Struct(f"{HEADER.format}II{COUNTS.format}{self._stride * self.counters}Q{TRAILER.format}")
        self._tells_lost = bool(self.read_format & ReadFormat.LOST)
        # of a sample its type, length, event, thread and number of counters; the rest is passed over
        self._key = struct.Struct(f"I2xHQ4xI16xQ{self._whole.size - 48}x")

    @property
    def sample_bytes(self) -> int:
        """Size in bytes of a sample of a complete set."""
        return self._whole.size

    def records(self, data: bytes) -> list[Record]:
        """All records of a block of whole records; an impossible record ends the block and is counted."""
        return self.part(data, more=False)[0]

    def part(self, data: bytes, *, more: bool) -> tuple[list[Record], int]:
        """The records at the start of a block, and the bytes that they take.

        Args:
            data: starts with a whole record.
            more: whether bytes follow, so that the last record may be incomplete; it is then left for the next call.

        Returns:
            An impossible record ends the block and is counted: then no bytes are left, or 0 is returned if more follow.
        """
        records: list[Record] = []
        view = memoryview(data)
        at, end, size = 0, len(data), self._whole.size
        behind = max(end, self.backlog) > self.behind or (more and self.behind <= BEHIND)
        while at < end:
            kind, _misc, length = HEADER.unpack_from(data, at) if end - at >= HEADER.size else (0, 0, 0)
            if length < HEADER.size or length > end - at:
                if more and at:
                    return records, at
                self.damaged += 1  # the start of the next record is unknown; the next block starts with a whole one
                return records, 0 if more else end
            if length == LIFE.size and kind in (_FORK_KIND, _EXIT_KIND):
                records.append(life(LIFE.unpack_from(data, at)))
                at += length
                continue
            if length == size:
                samples, taken = self._run(view[at:], behind=behind, more=more)
                if taken:
                    at += taken
                    records += samples
                    continue
                if more and at and self.named and kind == SAMPLE_KIND:
                    return records, at
            rows = rows_of(self._end, _READ_KIND, view[at:]) if length == self._end.size else []
            if rows:
                at += len(rows) * length
                records += self._ends(rows)
                continue
            rows = rows_of(SWITCH, _SWITCH_KIND, view[at:]) if length == SWITCH.size else []
            if rows:
                at += len(rows) * length
                parts = [rows[first : first + _TOGETHER] for first in range(0, len(rows), _TOGETHER)]
                slices = list(chain.from_iterable(map(whole_slices, parts)) if behind else map(switched, rows))
                self.merged += len(rows) - len(slices)
                records += slices
                continue
            try:
                record = parse_record(data[at : at + length], self.read_format)
            except RecordError:
                self.damaged += 1
            else:
                records.append(record)
                if type(record) is Lost:
                    self._before = None  # the next sample's counts belong to several threads
            at += length
        return records, end

    def _run(self, view: memoryview, *, behind: bool, more: bool) -> tuple[Iterable[Record], int]:
        """The samples at the start of a block, and the bytes that they take."""
        size = self._whole.size
        if behind and not self.shared:
            rows, taken = self._newest(view)
            self.merged += taken - len(rows)
            return self._samples(rows, behind=False), taken * size
        # those that a ring had already when its records of switches ended are followed by them too
        named = self.named or (len(view) >= size + HEADER.size
                               and HEADER.unpack_from(view, size)[0] == _CPU_SWITCH_KIND)
        if behind:
            columns = self._columns(view, named=named)
            if columns[0] and self._are_ours(columns, named=named):
                return self._by_thread(columns), len(columns[0]) * (size + 2 * named * CPU_SWITCH.size)
        if named:
            rows, taken = self._named(view, more=more)
            return self._samples(rows, behind=behind), taken
        rows = rows_of(self._whole, SAMPLE_KIND, view)
        if any(words[_COUNTERS] != self.counters for words in rows):
            rows = rows[: next(at for at, words in enumerate(rows) if words[_COUNTERS] != self.counters)]
        return self._samples(rows, behind=behind), len(rows) * size

    def _columns(self, view: memoryview, *, named: bool = False) -> list[list[int]]:
        """The words of the samples at the start of a block, by their places in a sample.

        Args:
            named: whether each is followed by the records of a switch, the thread's that leaves and the one's that
                comes; their words follow those of the sample.
        """
        own, switch = self._whole.size // WORD.size, CPU_SWITCH.size // WORD.size
        stride = own + 2 * named * switch
        words = view[: min(_AT_ONCE, len(view) // (stride * WORD.size)) * stride * WORD.size].cast("Q")
        good = len(words) // stride
        heads = [(0, _MISC, SAMPLE_KIND | self._whole.size << _LENGTH), (_COUNTERS_WORD, 0, self.counters)]
        if named:
            heads += [(own, _MISC & ~_OUT, _SWITCH_HEAD | _OUT), (own + switch, _MISC & ~_OUT, _SWITCH_HEAD)]
        for place, passed, head in heads:
            given = words[place : good * stride : stride].tolist()
            if any(word & ~passed != head for word in set(given)):  # from there on words are not where they seem
                good = next(at for at, word in enumerate(given) if word & ~passed != head)
        return [words[place : good * stride : stride].tolist() for place in range(stride)]

    def _are_ours(self, columns: list[list[int]], *, named: bool) -> bool:
        """Whether samples have the numbers of this pid namespace; those that records of switches name get them."""
        if not named:
            return self.numbers is None or not self.numbers.strange(set(columns[_EVENT_WORD]))
        if self.numbers is None:
            return False
        own = self._whole.size // WORD.size
        threads, times = columns[own + _THREAD_WORD], columns[own + _TIME_WORD]
        self._compare(columns[_EVENT_WORD], columns[_THREAD_WORD], threads)
        columns[_EVENT_WORD], columns[_THREAD_WORD], columns[_TIME_WORD] = [SETTLED] * len(threads), threads, times
        del columns[own:]
        return True

    def _compare(self, events: Sequence[int], given: Sequence[int], named: Sequence[int]) -> None:
        """Compare the threads that samples have with those that records of their switches name."""
        if self.numbers is not None:
            self.numbers.compare(events, given, named)
            self.checked += sum(map(eq, given, named)) - named.count(0)

    def _samples(self, rows: Sequence[Words], *, behind: bool) -> Iterator[Record]:
        """Samples of rows; those on a whole CPU that another program numbered become one that is nobody's."""
        if not rows:
            return
        strange = set() if self.numbers is None else self.numbers.strange({words[_EVENT] for words in rows})
        for foreign, run in groupby(rows, key=lambda words: words[_EVENT] in strange):
            part = list(run)
            if foreign and self.numbers is not None:
                self.numbers.foreign += len(part)
                part = [self._in_time(words, self.numbers.now) for words in part]
                if self.shared:
                    yield Misnumbered(len(part), part[-1][_TIME])
                    part = part[-1:]
            if behind and not foreign:
                block = b"".join(self._whole.pack(*words) for words in part)
                yield from self._by_thread(self._columns(memoryview(block)))
                continue
            for words in part:
                stride = self._stride
                lost = words[_VALUES + stride - 1 :: stride] if self._tells_lost else ()
                reading = GroupReading(words[_ENABLED], words[_RUNNING], words[_VALUES::stride], lost)
                self._before = Sample(words[_EVENT], words[_PID], words[_TID], words[_TIME], words[_CPU], reading)
                yield self._before

    def _in_time(self, words: Words, now: int) -> Words:
        """A sample with a time that it can have: another program's event may go by another clock."""
        before = 0 if self._before is None else self._before.time
        return words if before <= words[_TIME] <= now else (*words[:_TIME], before or now, *words[_TIME + 1:])

    def _named(self, view: memoryview, *, more: bool) -> tuple[list[Words], int]:
        """Samples at the start of a block, with the threads that records of their switches name, and their bytes.

        The last sample is left for the next call where its record is.
        """
        numbers, size, at = self.numbers, self._whole.size, 0
        rows: list[Words] = []
        compared: list[tuple[int, int, int]] = []
        while numbers is not None and len(rows) < _TOGETHER and len(view) - at >= size:
            words = self._whole.unpack_from(view, at)
            if words[0] != SAMPLE_KIND or words[2] != size or words[_COUNTERS] != self.counters:
                break
            after = at + size
            if more and len(view) - after < CPU_SWITCH.size:
                break
            # the record is written right after the sample, before anything else can happen on the CPU
            # (perf_event_task_sched_out(), kernel/events/core.c)
            while len(view) - after >= CPU_SWITCH.size:
                switch = CPU_SWITCH.unpack_from(view, after)
                if switch[0] != _CPU_SWITCH_KIND or switch[2] != CPU_SWITCH.size:
                    break
                if switch[1] & SWITCH_OUT and words[_EVENT] != SETTLED:
                    _other_pid, _other_tid, pid, tid, time, *_ = switch[3:]
                    compared.append((words[_EVENT], words[_PID] | words[_TID] << _HALF, pid | tid << _HALF))
                    words = (*words[:_EVENT], SETTLED, pid, tid, time, *words[_CPU:])
                after += CPU_SWITCH.size
            rows.append(words)
            at = after
        if compared:
            self._compare(*zip(*compared, strict=True))
        return rows, at

    def _ends(self, rows: Sequence[Words]) -> Iterator[LastCounts]:
        """Last counts; damaged if two writers have mixed their words, or if a record of another set is among them."""
        stride = self._stride
        for words in rows:
            pid, tid, time, _cpu, _reserved, event = words[-6:]
            if (pid, tid) != words[3:5] or words[5] != self.counters:
                self.damaged += 1
                continue
            lost = words[8 + stride - 1 : -6 : stride] if self._tells_lost else ()
            yield LastCounts(event, pid, tid, time, GroupReading(words[6], words[7], words[8:-6:stride], lost))

    def _newest(self, view: memoryview) -> tuple[list[Words], int]:
        """The last sample of each thread in each run of samples at the start of a block, and their number."""
        size = self._whole.size
        there = min(_AT_ONCE, len(view) // size)
        newest: list[Words] = []
        first, step = 0, _FIRST
        while first < there:
            part = list(self._key.iter_unpack(view[first * size : min(there, first + step) * size]))
            last = dict(zip(part, range(first, first + len(part)), strict=True))
            good = len(part)
            whole = SAMPLE_KIND, size, self.counters
            if any((key[0], key[1], key[4]) != whole for key in last):
                good = next(at for at, key in enumerate(part) if (key[0], key[1], key[4]) != whole)
                last = dict(zip(part[:good], range(first, first + good), strict=True))
            newest += [self._whole.unpack_from(view, at * size) for at in sorted(last.values())]
            first += good
            if good < len(part):  # from there on words are not where they seem
                break
            step = min(2 * step, _TOGETHER)
        return newest, first

    def _by_thread(self, columns: Sequence[Sequence[int]]) -> Iterator[Sample]:
        """Samples on a CPU with those of a thread merged, many at a time if they are of one moment."""
        times, tids = columns[_TIME_WORD], [word >> _HALF for word in columns[_THREAD_WORD]]
        counts = [columns[_ENABLED_WORD], columns[_RUNNING_WORD], *columns[_VALUE_WORDS :: self._stride]]
        losses = columns[_VALUE_WORDS + self._stride - 1 :: self._stride] if self._tells_lost else ()
        first = 0
        while first < len(times):
            known = None if self._before is None else self._before.reading
            if known is None or known.enabled > counts[0][first]:  # the ring's first, or counters opened anew
                end, merged = first + 1, [(0, [column[first] for column in counts])]
            else:
                most = min(len(times), first + _MERGED)
                end = max(min(most, first + _TOGETHER), bisect_right(times, times[first] + _MOMENT_NS, first, most))
                merged = by_thread(tids[first:end], [column[first:end] for column in counts],
                                   (known.enabled, known.running, *known.values))
                self.merged += end - first - len(merged)
            for place, (enabled, running, *values) in merged:
                event, thread, cpu = (columns[word][first + place] for word in (_EVENT_WORD, _THREAD_WORD, _CPU_WORD))
                reading = GroupReading(enabled, running, tuple(values), tuple([loss[first + place] for loss in losses]))
                self._before = Sample(event, thread & _LOW, thread >> _HALF, times[first + place], cpu & _LOW, reading)
                yield self._before
            first = end


def rows_of(layout: struct.Struct, kind: int, view: memoryview) -> list[Words]:
    """The records of one type and length at the start of a block, up to a memory bound."""
    size = layout.size
    rows: list[Words] = []
    for words in layout.iter_unpack(view[: min(_AT_ONCE, len(view) // size) * size]):
        if words[2] != size or words[0] != kind:
            break  # from here on words are not where they seem
        rows.append(words)
    return rows
