"""Encodes and decodes the ticks of a kind's rows (docs/specs/journal.md 9): columns, and which row has which slot."""

from __future__ import annotations

import math
import os
import re
import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.row_kinds import Form, KindId, QuantityId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.codec import HEAD, MOST_CELLS, Cell, TableTick, TickEncoder
from turbotui.recording.compression import TICK_TIMES, most_unpacked
from turbotui.recording.framing import DamagedError, RecordingError, RecordKind
from turbotui.recording.json_values import JsonValue, packed, reason_facts, reason_from, runs_of
from turbotui.recording.row_layout import RowLayout, layout_of_rows, row_layout_facts
from turbotui.recording.tick_decoder import DecodedTick, LazyColumns, TickDecoder, TickHead, head_of
from turbotui.sampling.rows import RawColumn, Roster, Row, RowSlot, RowTick

_CAPACITY: Final = struct.Struct("<I")
"""What a tick of rows has before that of a table: the number of its slots."""
_MOST_REASONS: Final = 1 << 16
_MOST_LETTERS: Final = 1 << 23
"""Letters of the reasons since a key tick, and of all rows."""
_MOST_NOTES: Final = 64
_MOST_LETTERS_OF_NOTES: Final = 1 << 14  # of all of them
_MOST_ABSENT: Final = 1 << 20  # values; quantities that the same rows lack count once
_NOT_FINITE: Final = Unavailable(Reason.FAILED, "the recording holds no finite number")
_ROW_PARTS: Final = 6
_SERIAL: Final = re.compile(r"-?[0-9a-f]{1,32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """A tick of rows that was encoded as the payload of a record."""

    kind: KindId
    stream: int  # the kind's stream
    layout: bytes  # the payload of the record of its layout
    key: bool  # whether it can be decoded with only its layout
    payload: bytes
    cells: int  # lanes of the tick

    def records(self) -> Iterator[tuple[RecordKind, bytes]]:
        """Yield the kinds and payloads of its records; a key tick has its layout with it."""
        if self.key:
            yield RecordKind.ROW_LAYOUT, self.layout
        yield (RecordKind.ROW_KEY if self.key else RecordKind.ROW_DELTA), self.payload


class RowEncoder:
    """Encodes the ticks of one kind, in their order, for its stream."""

    def __init__(self, stream: int) -> None:
        self.cells = 0  # lanes of the newest tick, which bound what readers keep
        self._stream = stream
        self._layout: RowLayout | None = None
        self._facts = b""
        self._number = int.from_bytes(os.urandom(4), "little")  # so that layouts of two sessions differ
        self._encoder: TickEncoder | None = None
        self._roster = Roster()
        self._expected: Mapping[RowSlot, Row] = {}
        self._absent: Mapping[QuantityId, Mapping[RowSlot, Unavailable]] = {}
        self._reasons: dict[Unavailable, int] = {}
        self._letters = self._letters_of_reasons = 0
        self._died: frozenset[RowSlot] = frozenset()
        self._notes: tuple[str, ...] = ()

    def encode(self, tick: RowTick, *, key: bool, most_cells: int = MOST_CELLS) -> EncodedRows:
        """Return the tick as a record.

        Args:
            tick: the rows.
            key: whether the tick must be decodable alone; the first of a layout or a capacity always is.
            most_cells: lanes that it may have.

        Raises:
            DamagedError: no recording can have so many rows with so many quantities.
            RecordingError: names, reasons or notes have more letters than a recording may have.
        """
        layout, capacity = self._layout, tick.roster.capacity
        if layout is None or not layout.fits(tick):
            layout = self._layout = layout_of_rows(tick)
            self._number = (self._number + 1) & 0xFFFF_FFFF
            self._facts = packed(row_layout_facts(layout, self._number))
            self._encoder = None
        if self._encoder is None or capacity != self._roster.capacity:
            self._encoder, self.cells = None, 0  # in case of a failure
            self._encoder, key = TickEncoder(self._number, layout.lanes(capacity, most_cells)), True
            self.cells = capacity * layout.columns
        if key:
            self._roster, self._died, self._notes = Roster(), frozenset(), ()
            self._absent, self._letters, self._letters_of_reasons = {}, 0, 0
            self._reasons.clear()
        extras = {name: facts for name, facts in self._extras(tick).items() if facts}
        if tick.notes != self._notes:
            extras["notes"], self._notes = list(tick.notes), tick.notes
            if len(tick.notes) > _MOST_NOTES or sum(map(len, tick.notes)) > _MOST_LETTERS_OF_NOTES:
                raise RecordingError(f"their notes have more than {_MOST_LETTERS_OF_NOTES:,} letters")
        if max(self._letters, self._letters_of_reasons) > _MOST_LETTERS or len(self._reasons) > _MOST_REASONS:
            if key:
                raise RecordingError(f"their names, or the reasons why values are absent, have more than "
                                     f"{_MOST_LETTERS:,} letters")
            return self.encode(tick, key=True, most_cells=most_cells)  # with those alone that there are now
        columns: list[Sequence[Cell]] = [tick.stamps[clock] for clock in layout.clocks]
        columns += [_cells(quantity.form, tick.values[quantity.id]) for quantity in layout.quantities.values()]
        counts = (tick.omitted, 0, 0, 0, 0, 0)
        encoded = self._encoder.encode(TableTick(tick.wall_ns, tick.started_ns, counts, columns, extras), key=key)
        if not key and HEAD.unpack_from(encoded)[-1] > most_unpacked(encoded, TICK_TIMES):
            return self.encode(tick, key=True, most_cells=most_cells)  # with names: no reader refuses it as a bomb
        return EncodedRows(layout.kind.id, self._stream, self._facts, key, _CAPACITY.pack(capacity) + encoded,
                           self.cells)

    def _extras(self, tick: RowTick) -> dict[str, object]:
        """What came, went and is absent, as changes of the tick before; all of it at a key tick."""
        extras: dict[str, object] = {}
        roster, before = tick.roster, self._roster
        if roster is not before or self._died:
            left = {slot: row for slot, row in before.rows.items() if slot not in self._died}
            came = [(slot, row) for slot, row in roster.rows.items() if left.get(slot) is not row]
            self._letters += sum(_letters(row) for _slot, row in came)  # since the key tick: more than there are now
            extras["rows"] = [[slot, row.key, f"{row.serial:x}", row.parent, row.name, row.born_ns]
                              for slot, row in came]
            extras["gone"] = runs_of(slot for slot in left if slot not in roster.rows)
            self._roster = roster
        extras["died"] = runs_of(tick.died)
        self._died = tick.died
        changed = {name: now for name in {**self._absent, **tick.absent}
                   if (now := tick.absent.get(name, {})) is not (then := self._absent.get(name, {})) and now != then}
        self._absent = tick.absent
        known = len(self._reasons)
        for absent in changed.values():
            for why in absent.values():
                self._reasons.setdefault(why, len(self._reasons))
        new = [*self._reasons][known:]
        self._letters_of_reasons += sum(len(why.detail) + len(why.remedy) for why in new)
        extras["reasons"] = [reason_facts(why) for why in new]
        extras["absent"] = {name: self._absent_facts(absent) for name, absent in changed.items()}
        return extras

    def _absent_facts(self, absent: Mapping[RowSlot, Unavailable]) -> list[tuple[int, list[list[int]]]]:
        """Convert what a quantity lacks to runs of slots by the number of the reason."""
        slots = lists_by_key((self._reasons[why], slot) for slot, why in absent.items())
        return [(number, runs_of(of_reason)) for number, of_reason in slots.items()]


def _cells(form: Form, column: RawColumn) -> Sequence[Cell]:
    """The cells of a column: texts as they are, and the bits of doubles as words."""
    if form is Form.DOUBLE:
        words = array("Q")
        words.frombytes(column.tobytes() if isinstance(column, array) else array("d", column).tobytes())
        return words
    return column


def _letters(row: Row) -> int:
    return len(row.key) + len(row.parent) + len(row.name)


class RowDecoder:
    """Decodes the ticks of one layout, in their order from a key tick on."""

    def __init__(self, layout: RowLayout) -> None:
        self.layout = layout
        self.cells = 0  # as in `RowEncoder`
        self._decoder: TickDecoder | None = None
        self._capacity = 0
        self._roster = Roster()
        self._died: frozenset[RowSlot] = frozenset()
        self._notes: tuple[str, ...] = ()
        self._reasons: list[Unavailable] = []
        self._letters = 0
        self._absent: dict[QuantityId, dict[RowSlot, Unavailable]] = {}
        self._texts: dict[QuantityId, tuple[str, ...]] = {}
        first = len(layout.clocks)
        self._clock_columns = {clock: at for at, clock in enumerate(layout.clocks)}
        self._columns = {name: first + at for at, name in enumerate(layout.quantities)}

    @property
    def begun(self) -> bool:
        """Whether the next tick can be decoded without being a key tick."""
        return self._decoder is not None and self._decoder.begun

    def forget(self) -> None:
        """Note that ticks are missing, so that the next tick must be a key tick."""
        self._decoder = None

    def decode(self, payload: bytes, *, key: bool, most_cells: int = MOST_CELLS) -> RowTick:
        """Decode one tick.

        Args:
            payload: the payload of a record of this layout.
            key: whether the tick is a key tick.
            most_cells: lanes that it may have.

        Raises:
            DamagedError: the payload is no tick, or not the next tick; then a key tick must follow.
        """
        (capacity,) = _CAPACITY.unpack_from(payload)
        decoder, self._decoder = self._decoder, None  # restored once all went well
        if key:
            same = decoder is not None and capacity == self._capacity
            decoder = decoder if same else TickDecoder(self.layout.lanes(capacity, most_cells))
            self._capacity, self.cells = capacity, capacity * self.layout.columns
            self._roster, self._died, self._reasons, self._absent = Roster(), frozenset(), [], {}
            self._letters, self._notes = 0, ()
        if decoder is None or capacity != self._capacity:
            raise DamagedError("a tick cannot be decoded: those before it are missing")
        tick = decoder.decode(payload[_CAPACITY.size:], key=key)
        stored = JsonValue(tick.extras, self.layout.kind.title)
        self._take_rows(stored)
        self._died = frozenset(stored.optional("died", lambda died: died.runs(capacity), ()))
        if not self._died <= self._roster.rows.keys() or tick.counts[0] < 0:
            raise DamagedError(f"{stored.where} of the recording ended without having been there")
        self._take_absent(stored)
        self._take_notes(stored)
        values = self._values(tick)
        row_tick = RowTick(self.layout.kind, self.layout.quantities, tick.head.wall_ns, tick.head.started_ns,
                           self._roster,
                           values, _Words(tick, self._clock_columns), self._absent | self._not_finite(values),
                           self._died, tick.counts[0], self._notes)
        self._decoder = decoder
        return row_tick

    def _take_rows(self, stored: JsonValue) -> None:
        """Take the rows that came and went; the roster stays the same object if none did."""
        came, gone = stored.get("rows"), stored.get("gone")
        if self._roster.capacity == self._capacity and came is None and gone is None and not self._died:
            return
        rows = {slot: row for slot, row in self._roster.rows.items() if slot not in self._died}
        for slot in () if gone is None else gone.runs(self._capacity):
            rows.pop(slot, None)
        for value in () if came is None else came.items():
            slot, row = _row_from(value)
            if not 0 <= slot < self._capacity:
                raise DamagedError(f"{value.where} of the recording has slot {slot} of {self._capacity}")
            rows.pop(slot, None)  # the order is that in which they came
            rows[slot] = row
        if sum(map(_letters, rows.values())) > _MOST_LETTERS:
            raise DamagedError(f"{stored.where} of the recording have names of more than {_MOST_LETTERS:,} letters")
        self._roster = Roster(rows, self._capacity)

    def _take_absent(self, stored: JsonValue) -> None:
        """Take what is absent from now on; quantities that the same rows lack share one object."""
        changed, known = stored.get("absent"), len(self._reasons)
        self._reasons += map(reason_from, stored.optional("reasons", JsonValue.items, ()))
        self._letters += sum(len(why.detail) + len(why.remedy) for why in self._reasons[known:])
        if len(self._reasons) > _MOST_REASONS or self._letters > _MOST_LETTERS:
            raise DamagedError(f"more than {_MOST_REASONS:,} reasons or {_MOST_LETTERS:,} letters since a key tick")
        if changed is None:
            return
        absent, shared = dict(self._absent), dict[str, dict[RowSlot, Unavailable]]()
        for name, stored_reasons in changed.entries().items():
            text = str(stored_reasons.value)
            if text not in shared:
                shared[text] = self._absent_from(stored_reasons)
            absent.pop(name, None)
            if shared[text] and name in self._columns:
                absent[name] = shared[text]
        if sum(len(reasons) for reasons in {id(reasons): reasons
                                            for reasons in absent.values()}.values()) > _MOST_ABSENT:
            raise DamagedError(f"{stored.where} of the recording lack more than {_MOST_ABSENT:,} values")
        self._absent = absent

    def _take_notes(self, stored: JsonValue) -> None:
        if (notes := stored.get("notes")) is not None:
            self._notes = tuple(notes.lines())
        if len(self._notes) > _MOST_NOTES or sum(map(len, self._notes)) > _MOST_LETTERS_OF_NOTES:
            raise DamagedError(f"{stored.where} of the recording have notes of more than {_MOST_LETTERS_OF_NOTES:,} "
                               "letters")

    def _absent_from(self, stored: JsonValue) -> dict[RowSlot, Unavailable]:
        absent: dict[RowSlot, Unavailable] = {}
        for value in stored.items():
            number, *runs = value.items() or (value,)
            at = number.integer()
            if len(runs) != 1 or not 0 <= at < len(self._reasons):
                raise DamagedError(f"{value.where} of the recording is no reason with its rows")
            absent |= dict.fromkeys(runs[0].runs(self._capacity), self._reasons[at])
        return absent

    def _values(self, tick: DecodedTick) -> Mapping[QuantityId, RawColumn]:
        """The values of a tick; words are decoded when they are needed, and texts that stay are the same object."""
        others: dict[QuantityId, RawColumn] = {}
        for quantity in self.layout.quantities.values():
            if quantity.form is Form.TEXT:
                texts = tuple(cell for cell in tick.column(self._columns[quantity.id]) if isinstance(cell, str))
                if len(texts) != self._capacity:
                    raise DamagedError(f"{quantity.id} of {self.layout.kind.title} in the recording are no texts")
                before = self._texts.get(quantity.id)
                others[quantity.id] = self._texts[quantity.id] = texts if before is None or before != texts else before
            elif quantity.form is Form.DOUBLE:
                doubles = others[quantity.id] = array("d")
                doubles.frombytes(array("Q", tick.words(self._columns[quantity.id])).tobytes())
        return _Values(tick, self._columns, others)

    def _not_finite(self, values: Mapping[QuantityId, RawColumn]) -> dict[QuantityId, dict[RowSlot, Unavailable]]:
        """What is absent because a damaged or hostile recording has a number there that is none."""
        wrong = {}
        for quantity in self.layout.quantities.values():
            if quantity.form is Form.DOUBLE and not all(map(math.isfinite, cast("array[float]", values[quantity.id]))):
                bad = [slot for slot, value in enumerate(values[quantity.id])
                       if not math.isfinite(cast("float", value))]
                wrong[quantity.id] = {**self._absent.get(quantity.id, {}), **dict.fromkeys(bad, _NOT_FINITE)}
        return wrong


def _row_from(stored: JsonValue) -> tuple[RowSlot, Row]:
    """Restore a row and its slot."""
    parts = stored.items()
    if len(parts) != _ROW_PARTS:
        raise DamagedError(f"{stored.where} of the recording is no row")
    slot, key, serial, parent, name, born_ns = parts
    number = serial.text()
    if not _SERIAL.fullmatch(number):
        raise DamagedError(f"{serial.where} of the recording is no serial: {number[:40]!r}")
    return slot.integer(), Row(key.document(), int(number, 16), parent.document(), name.document(), born_ns.integer())


def head_of_rows(payload: bytes) -> TickHead:
    """Parse the head of a tick of rows.

    Raises:
        DamagedError: it is too short.
    """
    return head_of(payload[_CAPACITY.size:])


class _Words(LazyColumns["array[int]"]):
    def _column(self, number: int) -> array[int]:
        return array("Q", self.tick.words(number))


class _Values(LazyColumns[RawColumn]):
    """The raw values of a tick; see `RowTick.values`."""

    __slots__ = ("_others",)

    def __init__(self, tick: DecodedTick, numbers: Mapping[QuantityId, int],
                 others: Mapping[QuantityId, RawColumn]) -> None:
        super().__init__(tick, numbers)
        self._others = {numbers[name]: column for name, column in others.items()}

    def _column(self, number: int) -> RawColumn:
        other = self._others.get(number)
        return array("Q", self.tick.words(number)) if other is None else other
