"""The ring buffer of a sampling perf event: whole records out of it, and what is in a record.

Layouts are those of uapi linux/perf_event.h (Linux 6.18): the control page at struct perf_event_mmap_page, records at
enum perf_event_type. Parsing is pure; only `Ring` touches memory that the kernel shares.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final, NamedTuple

from turbotui.machine.host import HostError

_ID: Final = 0x80082407  # PERF_EVENT_IOC_ID, _IOR('$', 7, __u64 *)
SET_OUTPUT: Final = 0x2405  # PERF_EVENT_IOC_SET_OUTPUT, _IO('$', 5)
WHOLE_GROUP: Final = 1  # PERF_IOC_FLAG_GROUP

_HEAD: Final = 1024  # perf_event_mmap_page.data_head; data_tail, data_offset and data_size follow it
_TAIL: Final = 1032
_OFFSET: Final = 1040
_HEADER: Final = struct.Struct("IHH")  # perf_event_header: type, misc, size
_SWITCH_OUT: Final = 1 << 13  # PERF_RECORD_MISC_SWITCH_OUT
_PREEMPTED: Final = 1 << 14  # PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
_SAMPLE: Final = struct.Struct("QIIQII")  # what SAMPLE_TYPE puts before the counters
_COUNTS: Final = struct.Struct("QQQ")  # a group's block: how many counters, ns enabled, ns running
_PAIR: Final = struct.Struct("II")
_FOUR: Final = struct.Struct("IIII")
_WORD: Final = struct.Struct("Q")


class SampleType(IntFlag):
    """What a sample carries (enum perf_event_sample_format), as far as tasks need it."""

    TID = 1 << 1
    TIME = 1 << 2
    READ = 1 << 4
    CPU = 1 << 7
    IDENTIFIER = 1 << 16


class ReadFormat(IntFlag):
    """What reading a counter gives (enum perf_event_read_format)."""

    ENABLED = 1
    RUNNING = 2
    ID = 4
    GROUP = 8
    LOST = 16


class RecordType(IntEnum):
    """Records that are understood (enum perf_event_type)."""

    LOST = 2
    COMM = 3
    EXIT = 4
    THROTTLE = 5
    UNTHROTTLE = 6
    FORK = 7
    SAMPLE = 9
    LOST_SAMPLES = 13
    SWITCH = 14


_SAMPLE_KIND: Final = int(RecordType.SAMPLE)
SAMPLE_TYPE: Final = (
    SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.READ | SampleType.IDENTIFIER
)
"""The one choice that turbotui samples with; the parser knows no other."""


class RecordError(ValueError):
    """Bytes that are no record of this layout."""


class Reading(NamedTuple):
    """A group's counters at one instant, in the order in which they were opened.

    Attributes:
        enabled: ns for which the group was enabled.
        running: ns for which it was on the hardware; less than `enabled` means that it took turns.
        values: counts since the group was opened.
        lost: records of each event that found no room, () where the kernel does not tell (before 6.0).
    """

    enabled: int
    running: int
    values: tuple[int, ...]
    lost: tuple[int, ...] = ()


class Sample(NamedTuple):
    """The counters of a thread at a switch or a tick; time in ns of the perf clock."""

    event: int
    pid: int
    tid: int
    time: int
    cpu: int
    reading: Reading


@dataclass(frozen=True, slots=True)
class Lost:
    """Records that found no room in the ring since the one before."""

    count: int
    time: int


@dataclass(frozen=True, slots=True)
class Named:
    """A thread got a name, by exec or by itself."""

    pid: int
    tid: int
    name: str
    time: int


@dataclass(frozen=True, slots=True)
class Forked:
    """A thread came into being; `pid` differs from `parent_pid` for a new process."""

    pid: int
    parent_pid: int
    tid: int
    parent_tid: int
    time: int


@dataclass(frozen=True, slots=True)
class Exited:
    """A thread ended."""

    pid: int
    tid: int
    time: int


@dataclass(frozen=True, slots=True)
class Switched:
    """A thread went on (`out` false) or off a CPU; `preempted` where it could have run on."""

    pid: int
    tid: int
    cpu: int
    out: bool
    preempted: bool
    time: int


@dataclass(frozen=True, slots=True)
class Throttled:
    """The kernel held samples back (`on`), for more came than kernel.perf_event_max_sample_rate, or let them go."""

    on: bool
    time: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A record of a type that tasks do not need."""

    type: int
    time: int


Record = Sample | Lost | Named | Forked | Exited | Switched | Throttled | Unread


def parse_reading(data: bytes, read_format: int, start: int = 0) -> tuple[Reading, int]:
    """A group's block, as read(2) and samples give it.

    Args:
        data: holds the block.
        read_format: has GROUP, ENABLED and RUNNING.
        start: where the block begins.

    Returns:
        The reading, and where the block ends.

    Raises:
        RecordError: it does not fit into the bytes.
    """
    try:
        count, enabled, running = _COUNTS.unpack_from(data, start)
        stride = 1 + bool(read_format & ReadFormat.ID) + bool(read_format & ReadFormat.LOST)
        end = start + 24 + 8 * stride * count
        if end > len(data):
            raise RecordError(f"{count} counters do not fit into {len(data)} bytes")
        words = struct.unpack_from(f"{stride * count}Q", data, start + 24)
    except struct.error as error:
        raise RecordError(str(error)) from error
    lost = words[stride - 1 :: stride] if read_format & ReadFormat.LOST else ()
    return Reading(enabled, running, words[::stride], lost), end


def parse_record(data: bytes, read_format: int) -> Record:
    """One whole record, header included, of events that have `SAMPLE_TYPE` and sample_id_all.

    Raises:
        RecordError: the bytes are not such a record.
    """
    try:
        kind, misc, size = _HEADER.unpack_from(data)
        if size != len(data):
            raise RecordError(f"a record of {size} bytes in {len(data)}")
        if kind == RecordType.SAMPLE:
            event, pid, tid, time, cpu, _reserved = _SAMPLE.unpack_from(data, 8)
            reading, end = parse_reading(data, read_format, 40)
            if end != size:
                raise RecordError(f"a sample of {size} bytes ends at {end}")
            return Sample(event, pid, tid, time, cpu, reading)
        # sample_id_all: the same words stand at the end of every other record, identifier last
        pid, tid, time, cpu, _reserved, _event = struct.unpack_from("IIQIIQ", data, size - 32)
        return _other(kind, misc, data, (pid, tid, time, cpu))
    except struct.error as error:
        raise RecordError(str(error)) from error


def _other(kind: int, misc: int, data: bytes, trailer: tuple[int, int, int, int]) -> Record:
    pid, tid, time, cpu = trailer
    if len(data) < 40:
        raise RecordError(f"a record of {len(data)} bytes has no room for its trailer")
    match kind:
        case RecordType.LOST:
            return Lost(_WORD.unpack_from(data, 16)[0], time)
        case RecordType.LOST_SAMPLES:
            return Lost(_WORD.unpack_from(data, 8)[0], time)
        case RecordType.COMM:
            owner, thread = _PAIR.unpack_from(data, 8)
            name = data[16 : len(data) - 32].partition(b"\0")[0].decode("utf-8", "replace")
            return Named(owner, thread, name, time)
        case RecordType.FORK:
            new, parent, thread, creator = _FOUR.unpack_from(data, 8)
            return Forked(new, parent, thread, creator, time)
        case RecordType.EXIT:
            owner, _parent, thread, _creator = _FOUR.unpack_from(data, 8)
            return Exited(owner, thread, time)
        case RecordType.SWITCH:
            return Switched(pid, tid, cpu, bool(misc & _SWITCH_OUT), bool(misc & _PREEMPTED), time)
        case RecordType.THROTTLE | RecordType.UNTHROTTLE:
            return Throttled(kind == RecordType.THROTTLE, time)
        case _:
            return Unread(kind, time)


def split_records(ring: bytes | mmap.mmap, start: int, size: int, tail: int, head: int) -> Iterator[bytes]:
    """Whole records between two positions of a ring, those that wrap put together.

    Args:
        ring: memory that holds the ring.
        start: where in it the ring begins.
        size: of the ring in bytes, a power of two.
        tail: position of the first byte, counted since the ring was made.
        head: position after the last byte.

    Raises:
        RecordError: a header that cannot be: shorter than itself, or beyond `head`.
    """
    while tail < head:
        place = tail % size  # the kernel keeps records aligned to 8 bytes, so a header never wraps
        length: int = _HEADER.unpack_from(ring, start + place)[2]
        if length < _HEADER.size or tail + length > head:
            raise RecordError(f"a record of {length} bytes with {head - tail} left in the ring")
        first = ring[start + place : start + min(place + length, size)]
        yield first if len(first) == length else first + ring[start : start + length - len(first)]
        tail += length


class Ring:
    """The mapped ring of one perf event.

    Args:
        descriptor: the event's.
        pages: of data, a power of two.

    Raises:
        HostError: EPERM beyond the memory that this user may lock, EINVAL for inherited events of no one CPU.
    """

    def __init__(self, descriptor: int, pages: int) -> None:
        try:
            self._map = mmap.mmap(descriptor, (pages + 1) * mmap.PAGESIZE)
        except OSError as error:
            raise HostError(error.errno or errno.EIO, f"mmap of a ring of {pages} pages") from error
        self._start, self.size = struct.unpack_from("QQ", self._map, _OFFSET)
        self._tail = ctypes.c_uint64.from_buffer(self._map, _TAIL)  # one store of 8 bytes, never torn

    @property
    def waiting(self) -> int:
        """Bytes that the kernel has written and nobody has taken."""
        head: int = _WORD.unpack_from(self._map, _HEAD)[0]
        return head - self._tail.value

    def records(self, read_format: int, counters: int) -> tuple[list[Record], int]:
        """As `take`, parsed; samples of a set that is complete, which is nearly all there is, without a copy.

        Args:
            read_format: of the events.
            counters: in a complete set.

        Returns:
            The records, and how many could not be understood.
        """
        head: int = _WORD.unpack_from(self._map, _HEAD)[0]
        tail, size, start, memory = self._tail.value, self.size, self._start, self._map
        if head == tail:
            return [], 0
        stride = 1 + bool(read_format & ReadFormat.ID) + bool(read_format & ReadFormat.LOST)
        tells_lost = bool(read_format & ReadFormat.LOST)
        whole = struct.Struct(f"{_HEADER.format}{_SAMPLE.format}{_COUNTS.format}{stride * counters}Q")
        found: list[Record] = []
        damaged = 0
        while tail < head:
            place = start + tail % size
            kind, _misc, length = _HEADER.unpack_from(memory, place)
            if kind == _SAMPLE_KIND and length == whole.size and place + length <= start + size:
                words = whole.unpack_from(memory, place)
                reading = Reading(words[10], words[11], words[12::stride], words[11 + stride :: stride] if tells_lost
                                  else ())
                found.append(Sample(words[3], words[4], words[5], words[6], words[7], reading))
            else:
                data = next(split_records(memory, start, size, tail, head))
                try:
                    found.append(parse_record(data, read_format))
                except RecordError:
                    damaged += 1
            tail += length
        self._tail.value = head
        return found, damaged

    def take(self) -> list[bytes]:
        """All whole records that are there now, in the order in which they were written; their room is given back."""
        head: int = _WORD.unpack_from(self._map, _HEAD)[0]
        records = list(split_records(self._map, self._start, self.size, self._tail.value, head))
        self._tail.value = head
        return records

    def close(self) -> None:
        """Unmap it."""
        del self._tail  # the map cannot be closed while a view into it lives
        self._map.close()


def event_id(descriptor: int) -> int:
    """The identifier that the samples of a perf event carry; threads that inherit it keep it.

    Raises:
        HostError: not a perf event.
    """
    answer = bytearray(8)
    try:
        fcntl.ioctl(descriptor, _ID, answer)
    except OSError as error:
        raise HostError(error.errno or errno.EIO, "identifier of a perf event") from error
    found: int = _WORD.unpack(answer)[0]
    return found
