"""Reads a journal record by record: snapshots, gaps, events, and missing parts."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.row_kinds import KindId
from turbotui.recording.cpu_layout import CpuTableLayout, layout_from
from turbotui.recording.framing import (
    LONGEST_TEXT,
    Damage,
    DamagedError,
    Missing,
    Record,
    RecordKind,
    damage_of,
    missing_of,
)
from turbotui.recording.json_values import Allowance, JsonValue, unpacked
from turbotui.recording.kept_files import kept_from
from turbotui.recording.machine_facts import Header, header_from
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.row_streams import FIRST_STREAM, RowStreams
from turbotui.recording.stream_writer import Event, Gap
from turbotui.recording.tick_decoder import TickDecoder, head_of
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.snapshot import Snapshot
from turbotui.untrusted import in_cell


@dataclass(frozen=True, slots=True)
class RecordedTick:
    """One snapshot of a journal."""

    snapshot: Snapshot
    capabilities: Capabilities
    header: Header  # the header of the snapshot's session
    offset: int = 0  # the offset of the snapshot's record


_MOST_LAYOUTS: Final = 64
_MOST_LAYOUT_BYTES: Final = 128 << 20
"""Layouts that a reader keeps, with their documents; the newest one is kept whatever its size."""
_MOST_DAMAGED: Final = 256  # damaged layouts that are remembered: a stream may send them without end
_MOST_OF_EVENT: Final = 64  # values of an event or a gap, which have 10
_MOST_OF_HEADER: Final = 1 << 14  # likewise; that of 1,024 CPUs has 200

Item: TypeAlias = "RecordedTick | Gap | Event | Missing | KeptAnswers"


class KnownLayouts:
    """A cache of layouts and kept files for all files of a recording; parsing a layout of 256 CPUs takes 20 ms.

    Equal topologies are one object in all layouts, because frames compare topologies by identity.

    Attributes:
        allowance: for the values of the recording's layouts and kept files, and for the cells of its ticks.
    """

    def __init__(self) -> None:
        self.allowance = Allowance()
        self._known: OrderedDict[bytes, tuple[Header, int, CpuTableLayout]] = OrderedDict()
        self._damaged: dict[int, str] = {}  # what is wrong with layouts, by their payload's hash
        self._kept: tuple[bytes, KeptAnswers] | None = None  # the newest files

    def read(self, payload: bytes) -> tuple[Header, int, CpuTableLayout]:
        """Return header, number and layout of a record's payload.

        Raises:
            RecordingError: the payload has a later format.
            DamagedError: the payload is no layout.
        """
        known = self._known.get(payload)
        if known is None:
            key = hash(payload)
            if key in self._damaged:  # each pass over the recording meets it again
                raise DamagedError(self._damaged[key])
            try:
                known = self._known[payload] = self._unpacked(payload)
            except DamagedError as error:
                if len(self._damaged) == _MOST_DAMAGED:
                    self._damaged.clear()
                self._damaged[key] = str(error)
                raise
        self._known.move_to_end(payload)
        while _too_many([layout for _header, _number, layout in self._known.values()]):
            self._known.popitem(last=False)
        return known

    def kept(self, payload: bytes) -> KeptAnswers:
        """Return the files of a record's payload. Raises DamagedError if they are none."""
        if self._kept is None or self._kept[0] != payload:
            self._kept = payload, kept_from(self.allowance.unpacked(payload, "the files"))
        return self._kept[1]

    def _unpacked(self, payload: bytes) -> tuple[Header, int, CpuTableLayout]:
        stored = self.allowance.unpacked(payload, "a layout")
        header, number = header_from(stored["header"]), stored["number"].integer()
        layouts = [layout for _header, _number, layout in self._known.values()]
        return header, number, layout_from(stored, layouts, self.allowance.reason)


def _too_many(layouts: Sequence[CpuTableLayout]) -> bool:
    return len(layouts) > _MOST_LAYOUTS or (len(layouts) > 1
                                            and sum(layout.size for layout in layouts) > _MOST_LAYOUT_BYTES)


class StreamReader:
    """Decodes records; records that are damaged, or need damaged ones, become `Missing`.

    Args:
        layouts: the layouts known already, which other readers may share.
        kinds: gets the title of each kind of row that there is, by its id.

    Attributes:
        header: the header of the current session; None before the first one.
        ended: whether the writer closed the journal.
    """

    def __init__(self, layouts: KnownLayouts | None = None, kinds: dict[KindId, str] | None = None) -> None:
        self._kinds = kinds
        self._known = KnownLayouts() if layouts is None else layouts
        self.header: Header | None = None
        self.ended = False
        self._layouts: dict[int, tuple[CpuTableLayout, TickDecoder]] = {}
        self._layout_payload = b""
        self._unread: Record | None = None  # the newest layout, until a tick or rows need it
        self._files_of: set[str | int] = set()  # sessions, or hashes where no header was read: each has one
        self._rows = RowStreams(kinds, self._known.allowance)
        self._expected: int | None = None
        self._damage: Damage | None = None
        self._skipped = 0
        self._skipped_at = 0

    def begin(self, layout: Record) -> None:
        """Begin in the middle of a journal, at a key tick of this layout.

        Raises:
            RecordingError: the layout has a later format, or is none.
        """
        self._read(layout)
        self._layout_payload, self._expected = layout.payload, None

    def take(self, record: Record | Damage) -> Iterator[Item]:
        """Decode one record, or report what a damaged part of the stream leaves out.

        Raises:
            RecordingError: the record has a later format.
        """
        if isinstance(record, Damage):
            self._damage = record
            return
        damage, self._damage = self._damage, None
        expected, self._expected = self._expected, record.sequence + 1
        again = record.kind == RecordKind.HEADER and not record.sequence  # another session was appended
        if damage is not None or (expected is not None and expected != record.sequence and not again):
            lost = 0 if expected is None or again else record.sequence - expected
            if damage is None or not all(damage.streams) or len(damage.streams) != lost:
                for _layout, decoder in self._layouts.values():
                    decoder.forget()
                self._rows.forget()
            else:
                self._rows.forget(damage.streams)
            yield _missing(damage, record, lost)
        if 0 < record.stream < FIRST_STREAM:  # a table of rows as JSON, which `rows` reads
            return
        try:
            with damage_of("it"):
                if record.stream:
                    yield from self._read_layout(None)  # of another session, whose rows these are
                    yield from self._rows.take(record)
                elif record.kind in (RecordKind.KEY, RecordKind.DELTA):
                    yield from self._take_tick(record)
                elif record.kind == RecordKind.LAYOUT:
                    if record.payload != self._layout_payload:  # else a copy of the layout
                        self._layout_payload, self._unread = record.payload, record
                elif record.kind == RecordKind.HEADER:
                    yield from self._skipped_ticks()
                    self._enter(header_from(unpacked(record.payload, "the header", _MOST_OF_HEADER)))
                else:
                    yield from self._others(record)
        except DamagedError as error:
            yield missing_of(record, error)

    def items_of(self, record: Record) -> Iterator[Item]:
        """Decode a record other than a tick or layout, which needs no earlier record."""
        with contextlib.suppress(DamagedError), damage_of("it"):  # reported to readers that read everything in order
            yield from self._others(record)

    def rest(self) -> Iterator[Missing]:
        """Yield the missing ticks at the end of the data."""
        yield from self._skipped_ticks()
        yield from self._rows.rest()
        if self._damage is not None:
            damage, self._damage = self._damage, None
            yield Missing(damage.offset, damage.length, 0,
                          f"the last {damage.length:,} bytes, from byte {damage.offset:,} on, are no whole record")

    def _enter(self, header: Header) -> None:
        if self.header is None or header.session != self.header.session:
            self._layouts.clear()
            self._layout_payload, self._unread = b"", None
            self._rows = RowStreams(self._kinds, self._known.allowance)
            self.ended = False
        self.header = header

    def _read_layout(self, number: int | None) -> Iterator[Missing]:
        """Read the newest layout, unless the one that is needed is known: a file may hold many that no tick names."""
        record = self._unread
        if record is None or number in self._layouts:
            return
        self._unread = None
        try:
            with damage_of("it"):
                self._read(record)
        except DamagedError as error:
            yield missing_of(record, error)

    def _read(self, record: Record) -> None:
        header, number, layout = self._known.read(record.payload)
        self._enter(header)
        if number not in self._layouts:
            self._layouts[number] = layout, TickDecoder(layout.lane_layout)
            while _too_many([layout for layout, _decoder in self._layouts.values()]):
                del self._layouts[next(iter(self._layouts))]

    def _take_tick(self, record: Record) -> Iterator[Item]:
        number = head_of(record.payload).layout
        yield from self._read_layout(number)
        known = self._layouts.get(number)
        header = self.header
        if known is None or header is None:
            self._skip(record)
            return
        layout, decoder = known
        key = record.kind == RecordKind.KEY
        if not key and not decoder.begun:
            self._skip(record)
            return
        yield from self._skipped_ticks()
        cells = layout.lane_layout.count
        if not self._known.allowance.lets_in(record.payload, record.offset, cells):
            decoder.forget()
            raise DamagedError(f"a tick of {cells:,} cells, packed {len(record.payload):,} bytes: it and those before"
                               " it hold too many for their bytes")
        tick = decoder.decode(record.payload, key=key)
        for other, (_layout, beside) in self._layouts.items():
            if other != number and beside.begun:
                beside.forget()
        yield RecordedTick(layout.snapshot(tick, self._rows), layout.capabilities, header, record.offset)

    def _others(self, record: Record) -> Iterator[Item]:
        if record.kind == RecordKind.GAP:
            stored = unpacked(record.payload, "a gap", _MOST_OF_EVENT)
            yield Gap(stored["wall_ns"].integer(), stored["started_ns"].integer(), _short(stored["reason"]),
                      stored["seconds"].number(), stored["frames"].integer())
        elif record.kind == RecordKind.EVENT:
            yield event_from(unpacked(record.payload, "an event", _MOST_OF_EVENT))
        elif record.kind == RecordKind.FILES:
            session = self.header.session if self.header else hash(record.payload)
            if session not in self._files_of:
                self._files_of.add(session)
                yield self._known.kept(record.payload)
        elif record.kind == RecordKind.END:
            self.ended = True

    def _skip(self, record: Record) -> None:
        self._rows.taken()  # the rows of this tick
        if not self._skipped:
            self._skipped_at = record.offset
        self._skipped += 1

    def _skipped_ticks(self) -> Iterator[Missing]:
        if self._skipped:
            ticks, self._skipped = self._skipped, 0
            readings = "1 reading" if ticks == 1 else f"{ticks:,} readings"
            yield Missing(self._skipped_at, 0, ticks, f"{readings} from byte {self._skipped_at:,} on cannot be decoded "
                          f"without what is missing before {'it' if ticks == 1 else 'them'}")


def _missing(damage: Damage | None, record: Record, lost: int) -> Missing:
    many = f"{lost:,}" if lost > 0 else "an unknown number of"
    records = f"{many} record{'' if lost == 1 else 's'}"
    if damage is None:
        are = "is" if lost == 1 else "are"
        return Missing(record.offset, 0, 0, f"{records} before byte {record.offset:,} {are} not there")
    return Missing(damage.offset, damage.length, 0, f"{damage.length:,} bytes from byte {damage.offset:,} on are "
                   f"damaged: they held {records}")


def event_from(stored: JsonValue) -> Event:
    """Restore an event from its JSON document. Raises DamagedError if it is none."""
    return Event(stored["wall_ns"].integer(), stored["started_ns"].integer(), _short(stored["kind"]),
                 _short(stored["text"]))


def _short(stored: JsonValue) -> str:
    return in_cell(stored.document()[:LONGEST_TEXT])
