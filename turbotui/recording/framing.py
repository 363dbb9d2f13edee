"""Records, the units of a journal: each has a length, a number and checksums, and can be found after damage.

A record is a head of 28 bytes and a payload (docs/specs/journal.md 2). The head has a checksum of its own, so that a
damaged payload costs only this record, whose length is still known; after a damaged head the parser searches the next
marker.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final
from zlib import crc32

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError

MARKER: Final = b"\xabTTJ"
"""The first bytes of every record, and so of every journal."""

MOST_PAYLOAD: Final = 1 << 26
"""The most bytes of a payload; longer ones are treated as damaged, whatever the checksum says."""

_FIELDS: Final = struct.Struct("<4sIQBBHI")  # marker, length, sequence, kind, flags, stream, checksum of the payload
_CHECK: Final = struct.Struct("<I")
HEAD_SIZE: Final = _FIELDS.size + _CHECK.size


LONGEST_TEXT: Final = 1_000
"""Characters of an event, or of what is missing; the longest that turbotui writes has some 200."""


class RecordingError(TurbotuiError):
    """A recording cannot be read or written; the message is a sentence that says why."""


class LaterFormatError(RecordingError):
    """A recording has a format that a later turbotui writes."""


class TornFileError(RecordingError):
    """A file of a recording ends before its first record is whole, as a kill or a full disk leaves it."""


class DamagedError(RecordingError):
    """A payload is intact by its checksum, but its content does not fit its kind."""


class MisreadError(DamagedError):
    """A payload whose reader raised an exception of the interpreter: damage for users, a fault of the reader for tests.

    Attributes:
        fault: the exception and its place in the program: "TypeError at turbotui/recording/lanes.py:7".
    """

    def __init__(self, why: str, fault: str) -> None:
        super().__init__(why)
        self.fault = fault


_FOREIGN: Final = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
                   struct.error)


@contextlib.contextmanager
def damage_of(place: str) -> Iterator[None]:
    """Turn what values of a payload can cause in the code that reads them into a `MisreadError` with its place.

    This is the edge of every reader: a payload with a right checksum may hold anything.

    Args:
        place: of the payload: "record 7".

    Raises:
        DamagedError: the block raised it.
        MisreadError: the block raised an exception of the interpreter.
    """
    try:
        yield
    except RecordingError:
        raise
    except _FOREIGN as error:
        raise MisreadError(f"{place} holds what no recording holds ({type(error).__name__}: {error})",
                           f"{type(error).__name__} at {_place_of(error)}") from error


def _place_of(error: BaseException) -> str:
    """Return the file and line at which an exception was raised."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return "" if last is None else f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}"


class RecordKind(IntEnum):
    """The kind of a record (docs/specs/journal.md 3)."""

    HEADER = 1
    LAYOUT = 2
    KEY = 3
    DELTA = 4
    GAP = 5
    EVENT = 6
    INDEX = 7
    FILES = 8
    END = 9
    ROWS = 10
    ROW_LAYOUT = 11
    ROW_KEY = 12
    ROW_DELTA = 13


@dataclass(frozen=True, slots=True)
class Record:
    """One whole record."""

    kind: int  # a `RecordKind`, or the number of a kind that a later version added
    stream: int  # the number of the record's table; 0 is the table of CPUs
    sequence: int  # the record's number in the journal, from 0
    payload: bytes  # its content
    offset: int = 0  # of the first byte from the beginning of the journal; 0 for a record that was not read

    @property
    def end(self) -> int:
        """The offset behind the record."""
        return self.offset + HEAD_SIZE + len(self.payload)


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a journal that form no whole record."""

    offset: int  # of the first of them
    length: int  # how many
    # the streams of the damaged records whose heads are intact; those of others are unknown
    streams: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """A part of a journal that cannot be read."""

    offset: int  # the offset of the part's first byte
    length: int  # in bytes; 0 if whole records are missing
    ticks: int  # the number of missing ticks, as far as known
    text: str  # a sentence for people
    fault: str = ""  # see `MisreadError`; "" for damage that the reader foresaw


def missing_of(record: Record, error: DamagedError) -> Missing:
    """Return what a damaged record leaves out."""
    text = f"record {record.sequence}: {error}"
    return Missing(record.offset, record.end - record.offset, 0,
                   text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}...",
                   error.fault if isinstance(error, MisreadError) else "")


def framed(record: Record) -> bytes:
    """Convert a record to bytes, without its `offset`.

    Raises:
        RecordingError: the payload is longer than `MOST_PAYLOAD`.
    """
    size = len(record.payload)
    if size > MOST_PAYLOAD:
        raise RecordingError(f"a record of {size:,} bytes is too long for a journal: watch fewer CPUs or columns")
    fields = _FIELDS.pack(MARKER, size, record.sequence, record.kind, 0, record.stream, crc32(record.payload))
    return b"".join((fields, _CHECK.pack(crc32(fields)), record.payload))


class RecordParser:
    """Parses the bytes of a journal, in pieces of any size, into records and the damage between them."""

    def __init__(self, offset: int = 0) -> None:
        self._buffer = bytearray()
        # of the first byte that was not yet returned in a record or a damage
        self.offset = offset
        self._damaged_from = -1
        self._streams: list[int] = []

    @property
    def waiting(self) -> int:
        """The bytes so far of an incomplete record."""
        return len(self._buffer)

    @property
    def wanted(self) -> int:
        """The bytes that the record at `offset` still lacks, once its head is complete; else 0."""
        if len(self._buffer) < HEAD_SIZE:
            return 0
        size: int = _FIELDS.unpack_from(self._buffer)[1]
        return HEAD_SIZE + min(size, MOST_PAYLOAD) - len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Record | Damage]:
        """Return every record and damage that these bytes complete, in order."""
        self._buffer += data
        position = 0
        try:
            while True:
                step, position = self._next(position)
                if step is None:
                    return
                yield from step
        finally:
            del self._buffer[:position]
            self.offset += position

    def finish(self) -> Damage | None:
        """Return the bytes of a torn record at the end, if any, as damage."""
        begin = self.offset if self._damaged_from < 0 else self._damaged_from
        end = self.offset + len(self._buffer)
        self._buffer.clear()
        self.offset, self._damaged_from = end, -1
        return Damage(begin, end - begin) if end > begin else None

    def _next(self, position: int) -> tuple[tuple[Record | Damage, ...] | None, int]:
        """Return the record at a position (None: more bytes are needed) and the position behind it."""
        buffer = self._buffer
        if len(buffer) - position < HEAD_SIZE:
            return None, position
        marker, size, sequence, kind, _flags, stream, check = _FIELDS.unpack_from(buffer, position)
        (head_check,) = _CHECK.unpack_from(buffer, position + _FIELDS.size)
        whole = marker == MARKER and crc32(buffer[position : position + _FIELDS.size]) == head_check
        if not whole or size > MOST_PAYLOAD:
            if self._damaged_from < 0:
                self._damaged_from = self.offset + position
            at = buffer.find(MARKER, position + 1)
            return (), at if at >= 0 else len(buffer) - len(MARKER) + 1
        begin, end = position + HEAD_SIZE, position + HEAD_SIZE + size
        if end > len(buffer):
            return None, position
        payload = bytes(buffer[begin:end])
        if crc32(payload) != check:
            if self._damaged_from < 0:
                self._damaged_from = self.offset + position
            self._streams.append(stream)
            return (), end
        record = Record(kind, stream, sequence, payload, self.offset + position)
        if self._damaged_from < 0:
            return (record,), end
        damage = Damage(self._damaged_from, record.offset - self._damaged_from, tuple(self._streams))
        self._damaged_from = -1
        self._streams.clear()
        return (damage, record), end
