"""Writes a journal record by record to a file, a pipe or a socket (docs/specs/journal.md 3)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.recording.cpu_layout import CpuTableLayout, layout_facts
from turbotui.recording.framing import Record, RecordKind, framed
from turbotui.recording.json_values import packed
from turbotui.recording.machine_facts import Header, header_facts
from turbotui.recording.tiers import EncodedTick, Tier

INDEX: Final = struct.Struct("<qqQQQI")
"""The fields of an index record: wall and monotonic clock of the key tick before it; offsets of the first record of
that tick, which may be one of rows, of its layout, and of the previous index (0: none); and the number of 8-byte
offsets of gaps and events that follow."""

OFFSET: Final = struct.Struct("<Q")

_COPIES: Final = 2  # copies of a new layout, because no tick behind it can be decoded without it
_LAYOUT_EVERY: Final = 30  # key ticks, after which the layout is written again


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without ticks, or a jump of the clock."""

    wall_ns: int
    started_ns: int
    # "missed" (a tick took longer than the interval), "suspend", "clock" (the wall clock was set), "lost" (a reader was
    # too slow)
    reason: str
    seconds: float = 0.0  # the length of the gap, or by how much the clock was set
    frames: int = 0  # the number of missing ticks; 0 if unknown


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the journal: a mark, a change of CPUs, or an alert."""

    wall_ns: int
    started_ns: int
    kind: str  # "mark" (set by a user), "topology" (CPUs came or went), "alert"
    text: str


class StreamWriter:
    """Writes records with their numbers, and the index.

    Args:
        write: writes the bytes of whole records; an exception ends the journal.
        offset: the offset of the first record, which is the file's length.
        last_index: offset of the last index that the file already has; 0 if none.
        noted: offsets of gaps and events in the file behind that index.
    """

    def __init__(self, write: Callable[[bytes], None], header: Header, tier: Tier, *, offset: int = 0,
                 last_index: int = 0, noted: Sequence[int] = ()) -> None:
        self._write = write
        self._header = replace(header, tier=(tier.seconds, tier.significant))
        self.offset = offset
        self._last_index = last_index
        self._sequence = 0
        self._layout: CpuTableLayout | None = None
        self._number = -1
        self._layout_record = b""
        self._layout_at = 0
        self._keys = 0
        self._noted = list(noted)
        self._put([(RecordKind.HEADER, 0, packed(header_facts(self._header)))])

    def tick(self, encoded: EncodedTick) -> None:
        """Write a tick, preceded by its layout if new, and by its rows.

        The first tick of the journal or a layout is a key tick.
        """
        begun = self._number != encoded.number
        if begun:
            facts = {"header": header_facts(self._header), "number": encoded.number, **layout_facts(encoded.layout)}
            self._layout, self._number, self._layout_record = encoded.layout, encoded.number, packed(facts)
            self._keys = 0
        if encoded.key and self._keys % _LAYOUT_EVERY == 0:
            self._layout_at = self._put([(RecordKind.LAYOUT, 0, self._layout_record)] * (_COPIES if begun else 1))
        records = [(kind, rows.stream, payload) for rows in encoded.rows for kind, payload in rows.records()]
        at = self.offset
        self._put([*records, (RecordKind.KEY if encoded.key else RecordKind.DELTA, 0, encoded.payload)])
        if not encoded.key:
            return
        self._keys += 1
        index = INDEX.pack(encoded.snapshot.wall_ns, encoded.snapshot.started_ns, at, self._layout_at,
                           self._last_index, len(self._noted))
        index += b"".join(OFFSET.pack(offset) for offset in self._noted)
        self._noted.clear()
        self._last_index = self._put([(RecordKind.INDEX, 0, index)])

    def gap(self, gap: Gap) -> None:
        """Write a gap, before the tick that follows the gap."""
        self._noted.append(self._put([(RecordKind.GAP, 0, packed(asdict(gap)))]))

    def event(self, event: Event) -> None:
        """Write an event."""
        self._noted.append(self._put([(RecordKind.EVENT, 0, packed(asdict(event)))]))

    def files(self, payload: bytes) -> None:
        """Write the kept files of the machine."""
        self._noted.append(self._put([(RecordKind.FILES, 0, payload)]))

    def rows(self, stream: int, payload: bytes) -> None:
        """Write the rows of another table."""
        self._put([(RecordKind.ROWS, stream, payload)])

    def end(self) -> None:
        """Write the mark that the journal was closed here."""
        self._put([(RecordKind.END, 0, b"")])

    def _put(self, records: Sequence[tuple[RecordKind, int, bytes]]) -> int:
        """Write records, each with its stream, at once, and return the offset of the last one."""
        parts = []
        for kind, stream, payload in records:
            parts.append(framed(Record(kind, stream, self._sequence, payload)))
            self._sequence += 1
        self._write(b"".join(parts))
        self.offset += sum(map(len, parts))
        return self.offset - len(parts[-1])
