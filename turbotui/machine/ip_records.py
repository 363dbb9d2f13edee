"""Records of sampled instruction pointers, and the mappings of files at the time of each sample.

Layouts are those of uapi linux/perf_event.h (Linux 6.18), enum perf_event_type. This module does no input or output.
"""

from __future__ import annotations

import bisect
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from turbotui.dataclass import dataclass
from turbotui.machine.perf_records import HEADER, RecordError
from turbotui.untrusted import decoded, one_line

SAMPLE_TYPE: Final = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 16  # IP, TID, TIME, PERIOD, IDENTIFIER
_LOST, _COMM, _FORK, _SAMPLE, _MMAP2, _LOST_SAMPLES = 2, 3, 7, 9, 10, 13
_CPU_MODE: Final = 7  # PERF_RECORD_MISC_CPUMODE_MASK
_KERNEL, _USER = 1, 2
_EXEC: Final = 1 << 13  # PERF_RECORD_MISC_COMM_EXEC
_BODY: Final = struct.Struct("=QQIIQQ")  # identifier, ip, pid, tid, time, period
_TRAILER: Final = struct.Struct("=IIQQ")  # pid, tid, time, identifier
_MAPPED: Final = struct.Struct("=IIQQQIIQQII")  # pid, tid, addr, len, pgoff, maj, min, ino, generation, prot, flags
_MOST_PLACES: Final = 1_000_000
_MOST_TASKS: Final = 20_000
_LOOKS: Final = 5
"""The most lookups of a process's mappings, which may grow if they are not recorded."""


class IpSample(NamedTuple):
    """One sampled instruction; time in ns of the perf clock."""

    time: int
    event: int  # identifier of the event that overflowed
    pid: int
    ip: int
    kernel: bool | None  # whether it is the kernel's; None for a hypervisor's or a guest's
    period: int  # the number of events that the sample stands for


class FileMapped(NamedTuple):
    """A file, or memory without a file, was mapped executable."""

    time: int
    pid: int
    start: int
    length: int
    offset: int
    inode: int
    path: str


class ProcessBegan(NamedTuple):
    """A process was forked, or (if `parent` is itself) executed another program."""

    time: int
    pid: int
    parent: int


class RecordsMissed(NamedTuple):
    """Records for which the ring had no room."""

    time: int
    number: int


IpRecord = IpSample | FileMapped | ProcessBegan | RecordsMissed


def parse_ip_records(data: bytes) -> Iterator[IpRecord]:
    """Parse whole records of a ring, leaving out unneeded ones.

    Raises:
        RecordError: the bytes are no records of this layout.
    """
    at = 0
    while at + HEADER.size <= len(data):
        kind, misc, size = HEADER.unpack_from(data, at)
        if size < HEADER.size or at + size > len(data):
            raise RecordError(f"a record of {size} bytes in {len(data) - at}")
        try:
            record = _record(kind, misc, data[at + HEADER.size : at + size])
        except struct.error as error:
            raise RecordError(str(error)) from error
        if record is not None:
            yield record
        at += size
    if at != len(data):
        raise RecordError(f"{len(data) - at} bytes are left over")


def _record(kind: int, misc: int, body: bytes) -> IpRecord | None:
    if kind == _SAMPLE:
        event, ip, pid, _tid, time, period = _BODY.unpack_from(body)
        mode = misc & _CPU_MODE
        return IpSample(time, event, pid, ip, True if mode == _KERNEL else False if mode == _USER else None, period)
    if kind not in (_LOST, _COMM, _FORK, _MMAP2, _LOST_SAMPLES):
        return None
    _pid, _tid, time, _event = _TRAILER.unpack_from(body, len(body) - _TRAILER.size)
    if kind == _MMAP2:
        pid, _tid, start, length, offset, _major, _minor, inode, _generation, _prot, _flags = _MAPPED.unpack_from(body)
        raw = body[_MAPPED.size : len(body) - _TRAILER.size].partition(b"\0")[0]
        return FileMapped(time, pid, start, length, offset, inode, one_line(decoded(raw)))
    if kind == _FORK:
        pid, parent = struct.unpack_from("=II", body)
        return ProcessBegan(time, pid, parent) if pid != parent else None
    if kind == _COMM:
        pid = struct.unpack_from("=I", body)[0]
        return ProcessBegan(time, pid, pid) if misc & _EXEC else None
    return RecordsMissed(time, struct.unpack_from("=Q", body, 0 if kind == _LOST_SAMPLES else 8)[0])


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file with code, or a name for code without a file."""

    path: str  # the file's visible path; "[vdso]", "//anon", "[kernel]", or "" if unknown
    inode: int = 0  # the file's inode when it was mapped; 0 without a file


KERNEL: Final = CodeFile("[kernel]")
OTHER_MODE: Final = CodeFile("[hypervisor]")
UNMAPPED: Final = CodeFile("")


class AddressSpaces:
    """The code that processes have mapped, from records in order of time, and the samples in it.

    Args:
        maps_of: returns the mappings of a process that ran before recording; None if all is recorded from exec(2) on.

    Attributes:
        weights: by event, file and offset, the number of samples and the events that they stand for.
        tasks: samples of each event and process.
        lost: records for which the ring had no room.
        left_out: samples at code positions beyond a million.
    """

    def __init__(self, maps_of: Callable[[int], Iterable[FileMapped]] | None = None) -> None:
        self._maps_of = maps_of
        self._looks: dict[int, int] = {}
        self.tasks: dict[tuple[int, int], int] = {}
        self._starts: dict[int, list[int]] = {}
        self._maps: dict[int, dict[int, FileMapped]] = {}
        self.weights: dict[tuple[int, CodeFile, int], tuple[int, int]] = {}
        self.lost = 0
        self.left_out = 0

    def take(self, record: IpRecord) -> None:
        """Take a record."""
        match record:
            case IpSample():
                self._sample(record)
            case FileMapped():
                self._map(record)
            case ProcessBegan() if self._maps_of is not None and record.parent not in self._maps:
                pass  # the parent is unknown, so its own mappings are looked up at its first sample
            case ProcessBegan():
                copied = self._maps.get(record.parent, {}) if record.parent != record.pid else {}
                self._maps[record.pid] = dict(copied)
                self._starts[record.pid] = sorted(copied)
            case RecordsMissed():
                self.lost += record.number

    def _map(self, record: FileMapped) -> None:
        maps = self._maps.setdefault(record.pid, {})
        end = record.start + record.length
        for start, old in list(maps.items()):
            if start < end and old.start + old.length > record.start:
                del maps[start]  # mappings that the new one covers are gone
        maps[record.start] = record
        self._starts[record.pid] = sorted(maps)

    def _sample(self, sample: IpSample) -> None:
        file, offset = self.place(sample)
        if file == UNMAPPED and self._look_up(sample.pid):
            file, offset = self.place(sample)
        task = (sample.event, sample.pid)
        if task in self.tasks or len(self.tasks) < _MOST_TASKS:
            self.tasks[task] = self.tasks.get(task, 0) + 1
        key = (sample.event, file, offset)
        if key not in self.weights and len(self.weights) >= _MOST_PLACES:
            self.left_out += 1
            return
        number, events = self.weights.get(key, (0, 0))
        self.weights[key] = number + 1, events + sample.period

    def _look_up(self, pid: int) -> bool:
        """Look up the present mappings of a process, and tell whether there are any."""
        looks = self._looks.get(pid, 0)
        if self._maps_of is None or looks >= _LOOKS:
            return False
        self._looks[pid] = looks + 1
        for mapped in self._maps_of(pid):
            self._map(mapped)
        return pid in self._maps

    def place(self, sample: IpSample) -> tuple[CodeFile, int]:
        """Return the file and offset of a sample; the address itself without a file."""
        if sample.kernel is not False:
            return (KERNEL if sample.kernel else OTHER_MODE), 0
        starts = self._starts.get(sample.pid, [])
        at = bisect.bisect_right(starts, sample.ip) - 1
        mapping = self._maps[sample.pid][starts[at]] if at >= 0 else None
        if mapping is None or sample.ip >= mapping.start + mapping.length:
            return UNMAPPED, 0
        return CodeFile(mapping.path, mapping.inode), sample.ip - mapping.start + mapping.offset
