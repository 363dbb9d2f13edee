"""Recorded tables other than the CPUs', whose rows come and go; each interval is one record (journal.md 9)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, Self

from turbotui.dataclass import dataclass
from turbotui.recording.framing import DamagedError, Record, RecordKind
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

_HEAD: Final = struct.Struct("<qq")  # wall clock and monotonic clock of the tick that ended the interval


class IntervalRows(Protocol):
    """The rows of a feature's table over one interval."""

    @property
    def stream(self) -> int:
        """The number of the table's stream."""

    @property
    def wall_ns(self) -> int:
        """The wall clock of the tick that ended the interval, in ns since 1970."""

    @property
    def started_ns(self) -> int:
        """The monotonic clock of that tick, in ns."""

    def facts(self) -> Mapping[str, object]:
        """Convert the rows to JSON."""

    def plus(self, later: Self) -> Self:
        """Join this interval with the next one."""


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """The rows of an interval, read from a recording.

    Attributes:
        wall_ns: as in `IntervalRows`.
        said: the JSON document.
    """

    wall_ns: int
    said: JsonValue


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
    """Restore the rows of a record.

    Raises:
        DamagedError: the record holds no rows.
    """
    wall = wall_of(record)
    if wall is None:
        raise DamagedError(f"record {record.sequence} of the recording holds no rows")
    return RecordedRows(wall, unpacked(record.payload[_HEAD.size:], f"record {record.sequence}"))


FindRows = Callable[[int, int, int], Sequence[RecordedRows]]
"""A function that finds the rows of a stream between two wall clocks, such as `Journal.rows`."""


def rows_of_interval(rows: FindRows, stream: int, frame: Frame) -> Sequence[RecordedRows]:
    """Return the recorded rows of a stream in a frame's interval; none for the first frame, without an interval."""
    return () if frame.older is None else rows(stream, frame.older.wall_ns, frame.newer.wall_ns)
