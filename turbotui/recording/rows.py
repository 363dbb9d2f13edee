"""Recorded tables other than the CPUs', whose rows come and go; each interval is one record (journal.md 9)."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final, Self, TypeVar

from turbotui.dataclass import dataclass
from turbotui.recording.framing import DamagedError, Record, RecordKind, damage_of
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.sampling.frame import Frame

TASKS_STREAM: Final = 1
"""The stream of threads, processes and commands."""
GROUPS_STREAM: Final = 2
"""The stream of control groups and groups of resctrl."""
FLEET_STREAM: Final = 3
"""The stream of nodes of a fleet."""
TOPDOWN_STREAM: Final = 4
"""The stream of threads of a top-down analysis."""
REGIONS_STREAM: Final = 5
"""The stream of regions that a command marks."""
REGION_SLOTS_STREAM: Final = 6
"""The stream of regions of a top-down analysis."""
LOOKS_STREAM: Final = 7
"""The stream of what a diagnosis saw of tasks, groups and settings."""

T = TypeVar("T")
R = TypeVar("R", bound="IntervalRows")
_HEAD: Final = struct.Struct("<qq")  # wall clock and monotonic clock of the tick that ended the interval


@dataclass(frozen=True, slots=True)
class IntervalRows(ABC):
    """The rows of a feature's table over one interval."""

    stream: ClassVar[int]  # the number of the table's stream

    # wall_ns, started_ns: the wall clock (ns since 1970) and the monotonic clock of the tick that ended the interval
    wall_ns: int
    started_ns: int

    @abstractmethod
    def facts(self) -> Mapping[str, object]:
        """Convert the rows to JSON."""

    def plus(self, later: Self) -> Self:
        """Join this interval with the next one; by default the later rows have all of the earlier ones in them."""
        return later


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """The rows of an interval, read from a recording."""

    wall_ns: int  # as in `IntervalRows`
    stored: JsonValue  # the JSON document

    def restored(self, read: Callable[[JsonValue, int], T]) -> T:
        """Return what a feature's reader makes of the document and the wall clock.

        Raises:
            DamagedError: the document holds no such rows, whatever the reader raised.
        """
        with damage_of(self.stored.where):
            return read(self.stored, self.wall_ns)


def rows_payload(rows: IntervalRows) -> bytes:
    """Return the payload of a record of rows."""
    return _HEAD.pack(rows.wall_ns, rows.started_ns) + packed(rows.facts())


def wall_of(record: Record) -> int | None:
    """Return the end of the interval of a record of rows; None for a record without rows."""
    if record.kind != RecordKind.ROWS or len(record.payload) < _HEAD.size:
        return None
    wall: int = _HEAD.unpack_from(record.payload)[0]
    return wall


def rows_from(record: Record) -> RecordedRows:
    """Restore the rows of a record. Raises DamagedError if the record holds no rows."""
    if (wall := wall_of(record)) is None:
        raise DamagedError(f"record {record.sequence} of the recording holds no rows")
    return RecordedRows(wall, unpacked(record.payload[_HEAD.size:], f"record {record.sequence}"))


FindRows = Callable[[int, int, int], Iterable[RecordedRows]]
"""A function that finds the rows of a stream between two wall clocks, such as `Journal.rows`.

Each document is read when it is reached, and nobody keeps two: a day's are gigabytes.
"""


def newest_rows(rows: Iterable[RecordedRows]) -> RecordedRows | None:
    """Return the last rows; None if there are none."""
    newest = None
    for newest in rows:  # noqa: B007 - the last one is wanted
        pass
    return newest


def rows_of_interval(rows: FindRows, stream: int, frame: Frame) -> Iterable[RecordedRows]:
    """Return the recorded rows of a stream in a frame's interval; none for the first frame, without an interval."""
    return () if frame.older is None else rows(stream, frame.older.wall_ns, frame.newer.wall_ns)


def joined_rows(rows: FindRows, frame: Frame, kind: type[R], read: Callable[[JsonValue, int], R]) -> R | None:
    """Return the rows of a frame's interval, which may be several recorded ones; None if none were recorded.

    Args:
        read: restores rows from their JSON document and the wall clock at their end.

    Raises:
        DamagedError: the records hold other rows.
    """
    joined: R | None = None
    for record in rows_of_interval(rows, kind.stream, frame):
        later = record.restored(read)
        joined = later if joined is None else joined.plus(later)
    return joined
