"""Reads one file of a journal: its records in order, and the index that finds any moment at once."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.recording.framing import (
    HEAD_SIZE,
    MARKER,
    Damage,
    DamagedError,
    Record,
    RecordingError,
    RecordKind,
    RecordParser,
    TornFileError,
)
from turbotui.recording.json_values import unpacked
from turbotui.recording.machine_facts import Header, header_from
from turbotui.recording.stream_writer import INDEX, OFFSET
from turbotui.untrusted import original

NOTED: Final = (RecordKind.GAP, RecordKind.EVENT, RecordKind.FILES)
"""The kinds of records that an index lists."""

_CHUNK: Final = 1 << 18
_TAIL: Final = 1 << 21
_FIRST_LOOK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key tick in the index."""

    # wall_ns, started_ns: the tick's wall and monotonic clock
    wall_ns: int
    started_ns: int
    key: int  # offset of the first record of the tick, which may be one of rows
    layout: int  # offset of the tick's layout
    noted: tuple[int, ...] = ()  # offsets of gaps and events between the previous key tick and this one


class JournalFile:
    """A file written by a `StreamWriter`, which may grow while it is read.

    Raises:
        TornFileError: the file is empty, or was cut off within its first record.
        RecordingError: the file cannot be opened, or is no recording.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._descriptor = os.open(original(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
        self._entries: list[KeyEntry] = []
        self._seen = 0
        try:
            begun = os.pread(self._descriptor, len(MARKER), 0)
            first = next((record for record in self.records(0, _FIRST_LOOK) if isinstance(record, Record)), None)
        except OSError as error:
            self.close()
            raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
        if first is None:
            self.close()
            if not begun:
                raise TornFileError(f"{path} is empty: its writer was stopped before the first record")
            if MARKER.startswith(begun):
                raise TornFileError(f"{path} was cut off within its first record")
            raise RecordingError(f"{path} is no recording of turbotui")

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def size(self) -> int:
        """Return the present length of the file in bytes."""
        return os.fstat(self._descriptor).st_size

    def records(self, offset: int = 0, end: int | None = None, *,
                grow: Callable[[], bool] | None = None) -> Iterator[Record | Damage]:
        """Yield records and damage from an offset on; a record must be whole and begin before `end`.

        Args:
            offset: of the first record.
            end: see above; None: at the end of the file.
            grow: called at the end of the file; returns whether the file has grown.
        """
        parser = RecordParser(offset)
        while end is None or offset < end or parser.waiting:
            data = os.pread(self._descriptor, _CHUNK, offset)
            if not data:
                if grow is None or not grow():
                    break
                continue
            offset += len(data)
            for entry in parser.feed(data):
                if end is not None and entry.offset >= end:
                    return
                yield entry
            if end is not None and parser.offset >= end:
                return
        if (torn := parser.finish()) is not None:
            yield torn

    def record_at(self, offset: int) -> Record | None:
        """Return the record that begins at an offset, or None."""
        data = os.pread(self._descriptor, _CHUNK if offset == 0 else HEAD_SIZE, offset)
        parser = RecordParser(offset)
        entry = next(iter(parser.feed(data)), None)
        if entry is None and len(data) >= HEAD_SIZE:
            entry = next(iter(parser.feed(os.pread(self._descriptor, parser.wanted, offset + len(data)))), None)
        return entry if isinstance(entry, Record) and entry.offset == offset else None

    def records_at(self, offsets: Iterable[int]) -> Iterator[Record]:
        """Yield the records at ascending offsets; one that begins within the record before is none of the file's."""
        end = 0
        for offset in offsets:
            record = self.record_at(offset) if offset >= end else None
            if record is not None:
                end = record.end
                yield record

    def header(self) -> Header | None:
        """Return the header at the file's beginning; None if damaged, but layouts repeat it.

        Raises:
            RecordingError: the file has a later format.
        """
        first = next((record for record in self.records() if isinstance(record, Record)), None)
        if first is None or first.kind != RecordKind.HEADER:
            return None
        try:
            return header_from(unpacked(first.payload, "the header"))
        except DamagedError:
            return None

    def index(self) -> list[KeyEntry]:
        """Return every key tick that can be found, in the order of the file."""
        size = self.size
        if size < self._seen:  # the file was truncated: begin anew
            self._entries, self._seen = [], 0
        if not self._seen:
            self._entries = self._from_the_end(size)
        elif size > self._seen:
            self._entries += self._forward(self._seen, size)
        return self._entries

    def tail(self) -> tuple[int, tuple[int, ...]]:
        """Return the offset of the last index record (0: none), and those of gaps and events behind it."""
        last = self._last_index(self.size)[0]
        behind = (record for record in self.records(last) if isinstance(record, Record))
        return last, tuple(record.offset for record in behind if record.kind in NOTED)

    def _from_the_end(self, size: int) -> list[KeyEntry]:
        """Return the entries of the chain of index records; where the chain is broken, read all records before."""
        at, self._seen = self._last_index(size)
        entries: list[KeyEntry] = []
        end = size
        while at:
            record = self.record_at(at)
            entry, before = (None, 0) if record is None or record.end > end else _entry(record)
            if entry is None or before >= at:
                entries += reversed(self._forward(0, at))
                break
            entries.append(entry)
            at, end = before, at
        return entries[::-1]

    def _last_index(self, size: int) -> tuple[int, int]:
        """Return the offset of the last index record, and the offset up to which records are whole."""
        window = _TAIL
        while True:
            begin = max(0, size - window)
            last, seen = 0, begin
            for record in self.records(begin, size):
                if isinstance(record, Record):
                    seen = record.end
                    if record.kind == RecordKind.INDEX:
                        last = record.offset
            if last or not begin:
                return last, seen
            window *= 4

    def _forward(self, begin: int, end: int) -> list[KeyEntry]:
        keys = []
        for record in self.records(begin, end):
            if isinstance(record, Record):
                self._seen = max(self._seen, record.end)
                entry, _before = _entry(record)
                if entry is not None:
                    keys.append(entry)
        return keys


def _entry(record: Record) -> tuple[KeyEntry | None, int]:
    """Return the entry of an index record (None: invalid), and the offset of the previous index record."""
    if record.kind != RecordKind.INDEX:
        return None, 0
    size = len(record.payload)
    if size < INDEX.size:
        return None, 0
    wall, started, key, layout, before, noted = INDEX.unpack_from(record.payload)
    if size != INDEX.size + noted * OFFSET.size or key >= record.offset or layout >= record.offset:
        return None, 0
    offsets = struct.unpack_from(f"<{noted}Q", record.payload, INDEX.size)
    return KeyEntry(wall, started, key, layout, offsets), before
