"""Kinds of rows in a journal, each a stream of its own: the rows of a tick precede it (docs/specs/journal.md 10)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.row_kinds import KindId
from turbotui.recording.codec import MOST_CELLS
from turbotui.recording.framing import DamagedError, Missing, Record, RecordingError, RecordKind
from turbotui.recording.json_values import Allowance
from turbotui.recording.row_codec import EncodedRows, RowDecoder, RowEncoder, head_of_rows
from turbotui.recording.row_layout import row_layout_from
from turbotui.sampling.rows import RowTick, RowTicks
from turbotui.sampling.snapshot import Snapshot

FIRST_STREAM: Final = 16
"""Streams from here on are kinds; those below are tables of section 9."""
MOST_KINDS: Final = 64


class RowsEncoder:
    """Encodes the rows of ticks, each kind in its stream."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}  # kinds that cannot be recorded, with the reason
        self._encoders: dict[KindId, RowEncoder] = {}
        self._due: set[KindId] = set()

    def encode(self, snapshot: Snapshot, *, key: bool) -> tuple[EncodedRows, ...]:
        """Return the records of the rows that were read at a tick.

        Args:
            snapshot: of the tick.
            key: whether the tick can be decoded alone: it has the last rows of a kind that was late again, and a kind
                that it lacks begins anew where it comes next.
        """
        if key:
            self._due.update(self._encoders)
        return tuple(rows for kind, tick in snapshot.rows.items() if (key or kind not in snapshot.no_rows)
                     and (rows := self._encoded(kind, tick)) is not None)

    def _encoded(self, kind: KindId, tick: RowTick) -> EncodedRows | None:
        encoder = self._encoders.get(kind)
        if encoder is None:
            if len(self._encoders) >= MOST_KINDS:
                self.failures[tick.kind.title] = f"a recording has room for {MOST_KINDS} kinds of rows"
                return None
            encoder = self._encoders[kind] = RowEncoder(FIRST_STREAM + len(self._encoders))
        others = sum(row_encoder.cells for row_encoder in self._encoders.values() if row_encoder is not encoder)
        try:
            rows = encoder.encode(tick, key=kind in self._due, most_cells=MOST_CELLS - others)
        except RecordingError as error:
            self.failures[tick.kind.title] = str(error)
            self._due.add(kind)
            return None
        self._due.discard(kind)
        return rows


@dataclass(slots=True, eq=False)
class _KindStream:
    """The stream of a kind."""

    payload: bytes  # of the record of its layout
    number: int  # of the layout
    decoder: RowDecoder
    # ticks that cannot be decoded without what is missing before them, and the offset of the first
    skipped: int = 0
    skipped_at: int = 0


class RowStreams:
    """Decodes the records of kinds, and hands the rows of a tick to it.

    Args:
        kinds: gets the title of each kind that there is, by its id.
        allowance: for the values of layouts, which the whole recording shares.
    """

    def __init__(self, kinds: dict[KindId, str] | None = None, allowance: Allowance | None = None) -> None:
        self._kinds = {} if kinds is None else kinds
        self._allowance = Allowance() if allowance is None else allowance
        self._streams: dict[int, _KindStream] = {}
        self._waiting: dict[KindId, RowTick] = {}
        self._latest: dict[KindId, RowTick] = {}

    def take(self, record: Record) -> Iterator[Missing]:
        """Decode a record of a kind; those of later versions are left out.

        Raises:
            DamagedError: it cannot be decoded; the kind's rows come again with its next key tick.
        """
        if record.kind == RecordKind.ROW_LAYOUT:
            self._take_layout(record)
        elif record.kind in (RecordKind.ROW_KEY, RecordKind.ROW_DELTA):
            yield from self._take_tick(record)

    def take_encoded(self, rows: Iterable[EncodedRows]) -> None:
        """Decode the rows of a tick that were encoded in this process."""
        for row in rows:
            for kind, payload in row.records():
                for _missing in self.take(Record(kind, row.stream, 0, payload)):
                    pass

    def taken(self, missing: Collection[KindId] = ()) -> RowTicks:
        """Return the rows that came since the last tick, and the last ones of kinds that were not read at this tick."""
        taken, self._waiting = self._waiting, {}
        self._latest |= taken
        taken |= {kind: self._latest[kind] for kind in missing if kind in self._latest and kind not in taken}
        return taken

    def forget(self, streams: Collection[int] | None = None) -> None:
        """Note that records of some streams, or of all, are missing."""
        if streams is None:
            self._waiting.clear()
            self._latest.clear()
        for number, stream in self._streams.items():
            if streams is None or number in streams:
                stream.decoder.forget()

    def rest(self) -> Iterator[Missing]:
        """Yield the ticks at the end that could not be decoded."""
        for stream in self._streams.values():
            yield from _skipped(stream)

    def _take_layout(self, record: Record) -> None:
        known = self._streams.get(record.stream)
        if known is not None and known.payload == record.payload:
            return  # each key tick has a copy
        if known is None and len(self._streams) >= MOST_KINDS:
            raise DamagedError(f"a recording of more than {MOST_KINDS} kinds of rows is not possible")
        self._streams.pop(record.stream, None)
        number, layout = row_layout_from(self._allowance.unpacked(record.payload, "a layout of rows"))
        if len(self._kinds) < MOST_KINDS:
            self._kinds[layout.kind.id] = layout.kind.title
        self._streams[record.stream] = _KindStream(record.payload, number, RowDecoder(layout))

    def _take_tick(self, record: Record) -> Iterator[Missing]:
        stream, key = self._streams.get(record.stream), record.kind == RecordKind.ROW_KEY
        if stream is None or head_of_rows(record.payload).layout != stream.number:
            return  # the damaged record of its layout was reported
        if not key and not stream.decoder.begun:
            stream.skipped_at = stream.skipped_at if stream.skipped else record.offset
            stream.skipped += 1
            return
        yield from _skipped(stream)
        others = sum(kind_stream.decoder.cells for kind_stream in self._streams.values() if kind_stream is not stream)
        tick = stream.decoder.decode(record.payload, key=key, most_cells=MOST_CELLS - others)
        self._waiting[tick.kind.id] = tick


def _skipped(stream: _KindStream) -> Iterator[Missing]:
    if stream.skipped:
        many, stream.skipped = stream.skipped, 0
        title = stream.decoder.layout.kind.title
        yield Missing(stream.skipped_at, 0, 0, f"{title}: {many:,} reading{'s' * (many != 1)} from byte "
                      f"{stream.skipped_at:,} on cannot be decoded without what is missing before")
