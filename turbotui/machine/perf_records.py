"""Records that a sampling perf event writes into its ring, and their binary layout.

Layouts are those of uapi linux/perf_event.h (Linux 6.18), enum perf_event_type. Nothing here does input or output.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import Final, NamedTuple, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.untrusted import decoded, one_line

HEADER: Final = struct.Struct("IHH")  # perf_event_header: type, misc, size
_EXEC: Final = 1 << 13  # PERF_RECORD_MISC_COMM_EXEC
SWITCH_OUT: Final = 1 << 13  # PERF_RECORD_MISCSWITCH_OUT
PREEMPTED: Final = 1 << 14  # PERF_RECORD_MISCSWITCH_OUT_PREEMPT
SAMPLE: Final = struct.Struct("QIIQII")  # what SAMPLE_TYPE puts before the counters
COUNTS: Final = struct.Struct("QQQ")  # a group's block: how many counters, ns enabled, ns running
_PAIR: Final = struct.Struct("II")
WORD: Final = struct.Struct("Q")
TRAILER: Final = struct.Struct("IIQIIQ")  # what sample_id_all and SAMPLE_TYPE put after every other record
SWITCH: Final = struct.Struct(f"{HEADER.format}{TRAILER.format}")  # its words: type, misc, size, pid, tid, time, cpu
CPU_SWITCH: Final = struct.Struct(f"{HEADER.format}II{TRAILER.format}")
"""Of a whole CPU's switch: type, misc, size, pid and tid of the other thread, then the trailer."""
LIFE: Final = struct.Struct(f"{HEADER.format}IIIIQ{TRAILER.format}")
"""Of births and ends: type, misc, size, pid, parent, tid, its creator, time, then the trailer."""
NOBODY: Final = 0xFFFFFFFF
"""The number of a thread that has given back its number (kernel/events/core.c)."""


class SampleType(IntFlag):
    """Fields of a sample (enum perf_event_sample_format), as far as tasks need them."""

    TID = 1 << 1
    TIME = 1 << 2
    READ = 1 << 4
    CPU = 1 << 7
    IDENTIFIER = 1 << 16


class ReadFormat(IntFlag):
    """Fields of a counter's reading (enum perf_event_read_format)."""

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
    READ = 8
    SAMPLE = 9
    LOST_SAMPLES = 13
    SWITCH = 14
    SWITCH_CPU_WIDE = 15


SAMPLE_KIND: Final = int(RecordType.SAMPLE)
_FORK: Final = int(RecordType.FORK)
SAMPLE_TYPE: Final = (SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.READ | SampleType.IDENTIFIER)
"""The one selection of fields that turbotui uses; the parser knows no other."""


class RecordError(ValueError):
    """Bytes that are not a record of this layout."""


class GroupReading(NamedTuple):
    """A group's counters at one instant, in the order of opening."""

    enabled: int  # ns for which the group was enabled
    running: int  # ns for which it was on the hardware; less than `enabled` if it was multiplexed
    values: tuple[int, ...]  # counts since the group was opened
    # records of each event that found no room; () if the kernel does not report them (before 6.0)
    lost: tuple[int, ...] = ()


class Sample(NamedTuple):
    """The counters of a thread at a switch or a tick; time in ns on the perf clock."""

    event: int
    pid: int
    tid: int
    time: int
    cpu: int
    reading: GroupReading


class LastCounts(NamedTuple):
    """The counters of a thread when it ended (PERF_RECORD_READ), inherited from `event`."""

    event: int
    pid: int
    tid: int
    time: int
    reading: GroupReading


@dataclass(frozen=True, slots=True)
class Lost:
    """Records that found no room in the ring since the last such record."""

    count: int
    time: int


@dataclass(frozen=True, slots=True)
class Misnumbered:
    """The next sample stands for `count` that another program's sampler numbered (`sample_numbers`)."""

    count: int
    time: int


@dataclass(frozen=True, slots=True)
class ThreadNamed:
    """A thread got a name, by exec(2) (`executed`) or by itself; `event` recorded it."""

    pid: int
    tid: int
    name: str
    time: int
    executed: bool = False
    event: int = 0


class Forked(NamedTuple):
    """A thread was created; `pid` differs from `parent_pid` for a new process. `event` recorded it."""

    pid: int
    parent_pid: int
    tid: int
    parent_tid: int
    time: int
    event: int = 0


class Exited(NamedTuple):
    """A thread ended on a CPU; `event` recorded it."""

    pid: int
    tid: int
    time: int
    cpu: int = -1
    event: int = 0


class Switched(NamedTuple):
    """A thread went on (`out` is false) or off a CPU. `event` recorded it."""

    pid: int
    tid: int
    cpu: int
    out: bool
    time: int
    event: int = 0


@dataclass(frozen=True, slots=True)
class Throttled:
    """The kernel held samples back (`on`) beyond kernel.perf_event_max_sample_rate, or resumed them."""

    on: bool
    time: int


@dataclass(frozen=True, slots=True)
class OtherRecord:
    """A record of a type that tasks do not need."""

    type: int
    time: int


@dataclass(frozen=True, slots=True)
class CounterReopened:
    """The counters of a CPU that had gone restart at zero; not a record of the kernel."""

    time: int


Record: TypeAlias = ("Sample | LastCounts | Lost | Misnumbered | ThreadNamed | Forked | Exited | Switched | Throttled "
                     "| OtherRecord | CounterReopened")


def parse_reading(data: bytes, read_format: int, start: int = 0) -> tuple[GroupReading, int]:
    """Parse a group's block, as read(2) and samples contain it.

    Args:
        read_format: has GROUP, ENABLED and RUNNING.

    Returns:
        The reading, and the end of the block.

    Raises:
        RecordError: the block does not fit into the bytes.
    """
    try:
        count, enabled, running = COUNTS.unpack_from(data, start)
        stride = 1 + bool(read_format & ReadFormat.ID) + bool(read_format & ReadFormat.LOST)
        end = start + 24 + 8 * stride * count
        if end > len(data):
            raise RecordError(f"{count} counters do not fit into {len(data)} bytes")
        words = struct.unpack_from(f"{stride * count}Q", data, start + 24)
    except struct.error as error:
        raise RecordError(str(error)) from error
    lost = words[stride - 1 :: stride] if read_format & ReadFormat.LOST else ()
    return GroupReading(enabled, running, words[::stride], lost), end


def parse_record(data: bytes, read_format: int) -> Record:
    """Parse one whole record, header included, of events with `SAMPLE_TYPE` and sample_id_all.

    Raises:
        RecordError: the bytes are not such a record.
    """
    try:
        kind, misc, size = HEADER.unpack_from(data)
        if size != len(data):
            raise RecordError(f"a record of {size} bytes in {len(data)}")
        if kind == RecordType.SAMPLE:
            event, pid, tid, time, cpu, _reserved = SAMPLE.unpack_from(data, 8)
            reading, end = parse_reading(data, read_format, 40)
            if end != size:
                raise RecordError(f"a sample of {size} bytes ends at {end}")
            return Sample(event, pid, tid, time, cpu, reading)
        return _other(kind, misc, data, read_format)
    except struct.error as error:
        raise RecordError(str(error)) from error


def life(words: Sequence[int]) -> Forked | Exited:
    """A record of a start or an end from the words of `LIFE`; its time is that of the trailer, as in other records."""
    _pid, _tid, time, cpu, _reserved, event = words[-6:]
    if words[0] == _FORK:
        return Forked(words[3], words[4], words[5], words[6], time, event)
    return Exited(words[3], words[5], time, cpu, event)


def switched(words: Sequence[int]) -> Switched:
    """A record of a switch from the words of `SWITCH`."""
    return Switched(words[3], words[4], words[6], bool(words[1] & SWITCH_OUT), words[5], words[8])


def _other(kind: int, misc: int, data: bytes, read_format: int) -> Record:
    """Parse a record that is no sample; with sample_id_all all end in the same words, the identifier last."""
    if len(data) < HEADER.size + TRAILER.size:
        raise RecordError(f"a record of {len(data)} bytes has no room for its trailer")
    trailer_pid, trailer_tid, time, _cpu, _reserved, event = TRAILER.unpack_from(data, len(data) - TRAILER.size)
    if kind == RecordType.READ:
        pid, tid = _PAIR.unpack_from(data, 8)
        reading, end = parse_reading(data, read_format, 16)
        if end + TRAILER.size != len(data) or (pid, tid) != (trailer_pid, trailer_tid):
            raise RecordError(f"the last counts of thread {tid} end at {end} of {len(data)} bytes, and name "
                              f"{trailer_tid}")
        return LastCounts(event, pid, tid, time, reading)
    if kind in (RecordType.LOST, RecordType.LOST_SAMPLES):
        return Lost(WORD.unpack_from(data, 16 if kind == RecordType.LOST else 8)[0], time)
    if kind == RecordType.COMM:
        owner, thread = _PAIR.unpack_from(data, 8)
        name = one_line(decoded(data[16 : len(data) - 32].partition(b"\0")[0]))
        return ThreadNamed(owner, thread, name, time, bool(misc & _EXEC), event)
    if kind in (RecordType.FORK, RecordType.EXIT):
        return life(LIFE.unpack(data))
    if kind == RecordType.SWITCH:
        return switched(SWITCH.unpack(data))
    if kind in (RecordType.THROTTLE, RecordType.UNTHROTTLE):
        return Throttled(kind == RecordType.THROTTLE, time)
    return OtherRecord(kind, time)
