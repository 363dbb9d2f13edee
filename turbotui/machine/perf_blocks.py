"""Convert blocks of a ring to records, unpacking many samples at a time and thinning very frequent ones out.

Counters are cumulative. The last sample of a thread's own counters contains everything before it, and samples of a
CPU's counters can be merged by thread. A reader that is behind therefore loses time resolution but no counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import groupby
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.perf_records import (
    COUNTS,
    CPU_SWITCH,
    HEADER,
    LIFE,
    NOBODY,
    SAMPLE,
    SAMPLE_KIND,
    SWITCH,
    SWITCH_OUT,
    TRAILER,
    GroupReading,
    LastCounts,
    Lost,
    Misnumbered,
    ReadFormat,
    Record,
    RecordError,
    RecordType,
    Sample,
    Switched,
    life,
    parse_record,
    switched,
)
from turbotui.machine.sample_numbers import SETTLED, SampleNumbers

BEHIND: Final = 1 << 15  # bytes from which a block is thinned out: 300 samples in `clock_throttle.POLL_NS`
UNMERGED: Final = 1 << 18  # the same where each slice is wanted: 12,000 samples a second of a CPU
_TOGETHER: Final = 128  # records of such a block that are examined together
_FIRST: Final = 4  # records that are examined first: where threads come and go, runs of samples are short
_AT_ONCE: Final = 32 * _TOGETHER  # records unpacked at a time
# places in an unpacked sample: header (3 words), `SAMPLE` (6), `COUNTS` (3), values
_EVENT, _PID, _TID, _TIME, _CPU = 3, 4, 5, 6, 7
_ENABLED, _RUNNING, _VALUES = 10, 11, 12
_SWITCH_KIND: Final = int(RecordType.SWITCH)
_CPU_SWITCH_KIND: Final = int(RecordType.SWITCH_CPU_WIDE)
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
    damaged: int = 0  # number of records that could not be parsed
    merged: int = 0  # number of slices that were merged with others of their thread: when they ran is not known
    _whole: struct.Struct = field(init=False)
    _key: struct.Struct = field(init=False)
    _end: struct.Struct = field(init=False)
    _tells_lost: bool = field(init=False)
    _stride: int = field(init=False)
    _before: Words | None = None

    def __post_init__(self) -> None:
        self._stride = 1 + bool(self.read_format & ReadFormat.ID) + bool(self.read_format & ReadFormat.LOST)
        self._whole = struct.Struct(f"{HEADER.format}{SAMPLE.format}{COUNTS.format}{self._stride * self.counters}Q")
        self._end = struct.Struct(f"{HEADER.format}II{COUNTS.format}{self._stride * self.counters}Q{TRAILER.format}")
        self._tells_lost = bool(self.read_format & ReadFormat.LOST)
        # of a sample its type, length, event and thread; the rest is passed over
        self._key = struct.Struct(f"I2xHQ4xI{self._whole.size - 24}x")

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
        found: list[Record] = []
        view = memoryview(data)
        at, end, size = 0, len(data), self._whole.size
        behind = max(end, self.backlog) > self.behind or (more and self.behind <= BEHIND)
        while at < end:
            kind, _misc, length = HEADER.unpack_from(data, at) if end - at >= HEADER.size else (0, 0, 0)
            if length < HEADER.size or length > end - at:
                if more and at:
                    return found, at
                self.damaged += 1  # the start of the next record is unknown; the next block starts with a whole one
                return found, 0 if more else end
            if length == LIFE.size and kind in (_FORK_KIND, _EXIT_KIND):
                found.append(life(LIFE.unpack_from(data, at)))
                at += length
                continue
            if length == size:
                rows, taken = self._run(view[at:], behind=behind, more=more)
                if rows:
                    at += taken
                    found += self._samples(rows, behind=behind and self.shared)
                    continue
                if more and at and self.named and kind == SAMPLE_KIND:
                    return found, at
            rows = rows_of(self._end, _READ_KIND, view[at:]) if length == self._end.size else []
            if rows:
                at += len(rows) * length
                found += self._ends(rows)
                continue
            rows = rows_of(SWITCH, _SWITCH_KIND, view[at:]) if length == SWITCH.size else []
            if rows:
                at += len(rows) * length
                slices = list(whole_slices(rows) if behind else map(switched, rows))
                self.merged += len(rows) - len(slices)
                found += slices
                continue
            try:
                one = parse_record(data[at : at + length], self.read_format)
            except RecordError:
                self.damaged += 1
            else:
                found.append(one)
                if type(one) is Lost:
                    self._before = None  # the next sample's counts belong to several threads
            at += length
        return found, end

    def _run(self, view: memoryview, *, behind: bool, more: bool) -> tuple[list[Words], int]:
        """The samples at the start of a block, and the bytes that they take."""
        if behind and not self.shared:
            rows, taken = self._newest(view)
            self.merged += taken - len(rows)
            return rows, taken * self._whole.size
        if self.named:
            return self._named(view, more=more)
        rows = rows_of(self._whole, SAMPLE_KIND, view)
        return rows, len(rows) * self._whole.size

    def _samples(self, rows: Sequence[Words], *, behind: bool) -> Iterator[Record]:
        """Samples of rows; those on a whole CPU that another program numbered become one that is nobody's."""
        strange = set() if self.numbers is None else self.numbers.strange({words[_EVENT] for words in rows})
        if self.numbers is None or not strange:
            yield from map(self._sample, self._by_thread(rows) if behind else rows)
            self._before = rows[-1]
            return
        for foreign, run in groupby(rows, key=lambda words: words[_EVENT] in strange):
            part = list(run)
            if foreign:
                self.numbers.foreign += len(part)
                part = [self._in_time(words, self.numbers.now) for words in part]
                if self.shared:
                    yield Misnumbered(len(part), part[-1][_TIME])
                    part = part[-1:]
            yield from map(self._sample, self._by_thread(part) if behind and not foreign else part)
            self._before = part[-1]

    def _in_time(self, words: Words, now: int) -> Words:
        """A sample with a time that it can have: another program's event may go by another clock."""
        before = 0 if self._before is None else self._before[_TIME]
        return words if before <= words[_TIME] <= now else (*words[:_TIME], before or now, *words[_TIME + 1:])

    def _named(self, view: memoryview, *, more: bool) -> tuple[list[Words], int]:
        """Samples at the start of a block, with the threads that records of their switches name, and their bytes.

        The last sample is left for the next call where its record is.
        """
        numbers, size, at = self.numbers, self._whole.size, 0
        rows: list[Words] = []
        while numbers is not None and len(rows) < _AT_ONCE and len(view) - at >= size:
            words = self._whole.unpack_from(view, at)
            if words[0] != SAMPLE_KIND or words[2] != size:
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
                    numbers.compare(words[_EVENT], words[_PID:_TIME], (pid, tid))
                    words = (*words[:_EVENT], SETTLED, pid, tid, time, *words[_CPU:])
                after += CPU_SWITCH.size
            rows.append(words)
            at = after
        return rows, at

    def _sample(self, words: Words) -> Sample:
        stride = self._stride
        lost = words[_VALUES + stride - 1 :: stride] if self._tells_lost else ()
        reading = GroupReading(words[_ENABLED], words[_RUNNING], words[_VALUES::stride], lost)
        return Sample(words[_EVENT], words[_PID], words[_TID], words[_TIME], words[_CPU], reading)

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
        found: list[Words] = []
        first, step = 0, _FIRST
        while first < there:
            part = list(self._key.iter_unpack(view[first * size : min(there, first + step) * size]))
            last = dict(zip(part, range(first, first + len(part)), strict=True))
            good = len(part)
            if any(key[0] != SAMPLE_KIND or key[1] != size for key in last):
                good = next(at for at, key in enumerate(part) if key[0] != SAMPLE_KIND or key[1] != size)
                last = dict(zip(part[:good], range(first, first + good), strict=True))
            found += [self._whole.unpack_from(view, at * size) for at in sorted(last.values())]
            first += good
            if good < len(part):  # from there on words are not where they seem
                break
            step = min(2 * step, _TOGETHER)
        return found, first

    def _by_thread(self, rows: Sequence[Words]) -> Iterator[Words]:
        for first in range(0, len(rows), _TOGETHER):
            part = rows[first : first + _TOGETHER]
            before = rows[first - 1] if first else self._before
            if before is None or before[_ENABLED] > part[0][_ENABLED]:  # the ring's first, or counters opened anew
                yield from part
            else:
                merged = list(by_thread(part, before))
                self.merged += len(part) - len(merged)
                yield from merged


def rows_of(layout: struct.Struct, kind: int, view: memoryview) -> list[Words]:
    """The records of one type and length at the start of a block, up to a memory bound."""
    size = layout.size
    rows: list[Words] = []
    for words in layout.iter_unpack(view[: min(_AT_ONCE, len(view) // size) * size]):
        if words[2] != size or words[0] != kind:
            break  # from here on words are not where they seem
        rows.append(words)
    return rows


def whole_slices(rows: Sequence[Words]) -> Iterator[Switched]:
    """Records of switches with a thread's slices merged, if they start and end among these.

    Each thread then has one slice with the sum of their lengths, at the end of the last one.
    """
    for first in range(0, len(rows), _TOGETHER):
        since: dict[tuple[int, int], Words] = {}
        ran: dict[tuple[int, int], int] = {}
        last: dict[tuple[int, int], Words] = {}
        for words in rows[first : first + _TOGETHER]:
            thread = (words[8], words[4])
            if not words[1] & SWITCH_OUT:
                since[thread] = words
            elif thread in since:
                ran[thread] = ran.get(thread, 0) + words[5] - since.pop(thread)[5]
                last[thread] = words
            else:
                yield switched(words)  # it started before these
        for thread, words in last.items():
            yield Switched(words[3], words[4], words[6], out=False, time=words[5] - ran[thread],
                           event=words[8])
            yield switched(words)
        yield from map(switched, since.values())


def by_thread(rows: Sequence[Words], before: Words) -> Iterator[Words]:
    """Samples of a CPU's counters merged to one sample per thread, with the sum of its slices' counts.

    Args:
        rows: consecutive samples.
        before: the sample before them.

    Returns:
        Samples whose successive differences, starting from `before`, are those sums; the last has the values of the
        last of `rows`. Slices of threads that have given back their numbers are not merged, because they are not one
        thread.
    """
    ends: dict[int, list[Words]] = {}
    starts: dict[int, list[Words]] = {}
    last: dict[int, Words] = {}
    older = before[_ENABLED:]
    for number, words in enumerate(rows):
        key = words[_TID] if words[_TID] != NOBODY else -1 - number
        newer = words[_ENABLED:]
        if last.pop(key, None) is None:  # in the order of the last slices
            ends[key], starts[key] = [newer], [older]
        else:
            ends[key].append(newer)
            starts[key].append(older)
        last[key] = words
        older = newer
    total = list(before[_ENABLED:])
    for key, words in last.items():  # column sums: the counters at the ends of all slices less those at their starts
        sums = zip(total, map(sum, zip(*ends[key], strict=True)), map(sum, zip(*starts[key], strict=True)), strict=True)
        total = [had + end - start for had, end, start in sums]
        yield (*words[:_ENABLED], *total)
