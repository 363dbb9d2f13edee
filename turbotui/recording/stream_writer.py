"""Writes a journal record by record to a file, a pipe or a socket (docs/specs/journal.md 3)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.recording.cpu_layout import CpuTableLayout, layout_facts
from turbotui.recording.framing import Record, RecordKind, framed
from turbotui.recording.machine_facts import Header, header_facts
from turbotui.recording.said import packed
from turbotui.recording.tiers import EncodedTick, Tier

INDEX: Final = struct.Struct("<qqQQQI")
"""Of an index record: wall and monotonic clock of the key tick before it, offset of that tick, of its layout, of the
index before (0: none), and how many offsets of gaps and events since that one follow, 8 bytes each."""

OFFSET: Final = struct.Struct("<Q")

_COPIES: Final = 2  # of a layout where it begins: without it no tick behind can be decoded
_LAYOUT_EVERY: Final = 30  # key ticks; then it is written again


@dataclass(frozen=True, slots=True)
class Gap:
    """A time of which there are no ticks, or a clock that jumped.

    Attributes:
        wall_ns, started_ns: clocks of the tick behind it.
        reason: "missed" (a tick took longer than the interval), "suspend", "clock" (the wall clock was set), "lost" (a
            reader was too slow).
        seconds: how long, or by how much the clock was set.
        frames: how many ticks, 0 where that is not known.
    """

    wall_ns: int
    started_ns: int
    reason: str
    seconds: float = 0.0
    frames: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a moment.

    Attributes:
        wall_ns, started_ns: when.
        kind: "mark" (a person's), "topology" (CPUs came or went), "alert".
        text: for people.
    """

    wall_ns: int
    started_ns: int
    kind: str
    text: str


class StreamWriter:
    """Frames records and keeps their numbers and the index.

    Args:
        write: takes the bytes of whole records; what it raises ends the journal.
        header: of the session.
        tier: of its ticks.
        offset: where the first record goes: the length of the file.
        last_index: offset of the last index that is in the file already, 0 if there is none.
        noted: offsets of what was noted in the file behind that index.
    """

    def __init__(self, write: Callable[[bytes], None], header: Header, tier: Tier, *, offset: int = 0,
                 last_index: int = 0, noted: Sequence[int] = ()) -> None:
        self._write = write
        self._header = replace(header, tier=(tier.seconds, tier.significant))
        self._offset = offset
        self._last_index = last_index
        self._sequence = 0
        self._layout: CpuTableLayout | None = None
        self._number = -1
        self._layout_record = b""
        self._layout_at = 0
        self._keys = 0
        self._noted = list(noted)
        self._put([(RecordKind.HEADER, packed(header_facts(self._header)))])

    @property
    def offset(self) -> int:
        """Bytes of the journal so far."""
        return self._offset

    def tick(self, encoded: EncodedTick) -> None:
        """Write a tick, before it its layout if that is new; the first one and the first of a layout are key ticks."""
        records: list[tuple[RecordKind, bytes]] = []
        begun = self._number != encoded.number
        if begun:
            facts = {"header": header_facts(self._header), "number": encoded.number, **layout_facts(encoded.layout)}
            self._layout, self._number, self._layout_record = encoded.layout, encoded.number, packed(facts)
            self._keys = 0
        if encoded.key and self._keys % _LAYOUT_EVERY == 0:
            self._layout_at = self._put([(RecordKind.LAYOUT, self._layout_record)] * (_COPIES if begun else 1))
        if not encoded.key:
            records.append((RecordKind.DELTA, encoded.payload))
            self._put(records)
            return
        self._keys += 1
        at = self._put([(RecordKind.KEY, encoded.payload)])
        index = INDEX.pack(encoded.snapshot.wall_ns, encoded.snapshot.started_ns, at, self._layout_at,
                           self._last_index, len(self._noted))
        index += b"".join(OFFSET.pack(one) for one in self._noted)
        self._noted.clear()
        self._last_index = self._put([(RecordKind.INDEX, index)])

    def gap(self, gap: Gap) -> None:
        """Write a gap, in front of the tick that follows the gap."""
        self._noted.append(self._put([(RecordKind.GAP, packed(asdict(gap)))]))

    def event(self, event: Event) -> None:
        """Write an event."""
        self._noted.append(self._put([(RecordKind.EVENT, packed(asdict(event)))]))

    def files(self, payload: bytes) -> None:
        """Write what was kept of the machine's files; see `kept_files`."""
        self._noted.append(self._put([(RecordKind.FILES, payload)]))

    def rows(self, stream: int, payload: bytes) -> None:
        """Write the rows of another table; see `rows`."""
        self._put([(RecordKind.ROWS, payload)], stream)

    def end(self) -> None:
        """Say that the journal ends here because it was closed."""
        self._put([(RecordKind.END, b"")])

    def _put(self, records: list[tuple[RecordKind, bytes]], stream: int = 0) -> int:
        """Write records at once; the offset of the last one."""
        parts = []
        for kind, payload in records:
            parts.append(framed(Record(kind, stream, self._sequence, payload)))
            self._sequence += 1
        self._write(b"".join(parts))
        self._offset += sum(map(len, parts))
        return self._offset - len(parts[-1])
