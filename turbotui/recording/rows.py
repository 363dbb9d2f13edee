"""Tables beside the CPUs whose rows come and go: each interval is a record that can be read alone (journal.md 9)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, Self

from turbotui.dataclass import dataclass
from turbotui.recording.framing import DamagedError, Record, RecordKind
from turbotui.recording.said import Said, packed, unpacked
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
    """The rows of a table over one interval, as its feature has them."""

    @property
    def stream(self) -> int:
        """Number of the table's stream."""

    @property
    def wall_ns(self) -> int:
        """Wall clock of the tick that ended the interval, in ns since 1970."""

    @property
    def started_ns(self) -> int:
        """Monotonic clock of that tick, in ns."""

    def facts(self) -> Mapping[str, object]:
        """The rows as JSON has them."""

    def plus(self, later: Self) -> Self:
        """Join this interval and the one behind it."""


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """The rows of an interval, as a recording has them.

    Attributes:
        wall_ns: as in `IntervalRows`.
        said: the JSON document.
    """

    wall_ns: int
    said: Said


def rows_payload(rows: IntervalRows) -> bytes:
    """The payload of a record of rows."""
    return _HEAD.pack(rows.wall_ns, rows.started_ns) + packed(rows.facts())


def wall_of(record: Record) -> int | None:
    """When the interval of a record of rows ended; None for a record that holds none."""
    if record.kind != RecordKind.ROWS or len(record.payload) < _HEAD.size:
        return None
    wall: int = _HEAD.unpack_from(record.payload)[0]
    return wall


def rows_from(record: Record) -> RecordedRows:
    """The rows of a record.

    Raises:
        DamagedError: it holds none.
    """
    wall = wall_of(record)
    if wall is None:
        raise DamagedError(f"record {record.sequence} of the recording holds no rows")
    return RecordedRows(wall, unpacked(record.payload[_HEAD.size:], f"record {record.sequence}"))


FindRows = Callable[[int, int, int], Sequence[RecordedRows]]
"""Finds the rows of a stream between two wall clocks: `Journal.rows`, or what stands for it."""


def rows_of_interval(rows: FindRows, stream: int, frame: Frame) -> Sequence[RecordedRows]:
    """What was recorded of a stream in a frame's interval; nothing for the first frame, which has none."""
    return () if frame.older is None else rows(stream, frame.older.wall_ns, frame.newer.wall_ns)
