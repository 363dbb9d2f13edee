"""Decodes the ticks of a table that `codec` encoded; see docs/specs/journal.md 5."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.documents import DocumentError, parse_json
from turbotui.recording.codec import (
    CLOCK_OF_TICK,
    COUNTS,
    DOUBLE,
    HEAD,
    LONG,
    NO_COLUMN,
    WORD,
    Cell,
    Counts,
    LaneLayout,
    Tag,
    TickArithmetic,
    word_array,
)
from turbotui.recording.compression import TICK_TIMES, StreamDecompressor, most_unpacked, stream_decompressor
from turbotui.recording.framing import DamagedError
from turbotui.recording.lanes import MASK, SIZE, lanes_of
from turbotui.sampling.arithmetic import PACKED

_MOST_EXTRAS: Final = 1 << 24
_FREE_VALUES: Final = 1 << 14
_VALUES_A_CELL: Final = 8
"""Values beside the cells: a text each at most, its place in a run, and what failed on its CPU."""
_MOST_TEXTS: Final = 1 << 20
_MOST_LETTERS: Final = 1 << 25
"""Texts, and their letters, from one key tick to the next: cells of a later tick may be any of them."""
T = TypeVar("T")

_NONE: Final = int(Tag.NONE)
_DOUBLE: Final = bytes((Tag.DOUBLE,))
_UNKNOWN: Final = bytes((Tag.NONE,))
_HEX: Final = re.compile(r"-?0x[0-9a-f]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class TickHead:
    """The facts of a tick that are known without unpacking it."""

    wall_ns: int
    started_ns: int
    layout: int


def head_of(payload: bytes) -> TickHead:
    """Parse the head of a tick's payload. Raises DamagedError if it is too short."""
    if len(payload) < HEAD.size:
        raise DamagedError("a tick has no head")
    wall, started, number, _size = HEAD.unpack_from(payload)
    return TickHead(wall, started, number)


class DecodedTick:
    """One tick, whose columns are decoded when they are needed.

    Attributes:
        head: the tick's times and layout.
        counts: as in `TableTick`.
        extras: as in `TableTick`.
    """

    __slots__ = ("_lane_layout", "_lanes", "_tags", "_texts", "counts", "extras", "head")

    def __init__(self, head: TickHead, counts: Counts, extras: Mapping[str, object], lane_layout: LaneLayout, *,
                 tags: Sequence[bytes | int], texts: Sequence[str], sums: int) -> None:
        self.head = head
        self.counts = counts
        self.extras = extras
        self._tags = tags
        self._texts = texts
        self._lane_layout = lane_layout
        self._lanes: int | bytes = sums  # the integer until a column is asked for, then its bytes alone

    def column(self, number: int, *, floats: bool = True) -> Sequence[Cell]:
        """Return the cells of a column, by row; None for cells of an unknown kind, and for floats if there are none.

        Words alone are as in `words`.
        """
        words, tags = self.words(number), self._tags[number]
        if tags == Tag.WORD:
            return words
        if tags == Tag.NONE:
            return [None] * len(words)
        if isinstance(tags, int):
            tags = bytes((tags,)) * len(words)
        if not floats:
            tags = tags.replace(_DOUBLE, _UNKNOWN)
        return [None if tag == _NONE else self._cell(tag, word) if tag else word
                for tag, word in zip(tags, words, strict=True)]

    def words(self, number: int) -> Sequence[int]:
        """Return the lanes of a column, by row, whatever the cells' kind: many of them packed, as sampled ones are."""
        words = word_array(self._bytes(number))
        return words if len(words) >= PACKED else words.tolist()

    def _bytes(self, number: int) -> bytes:
        """Return the lanes of a column as bytes, with what they are stored against added."""
        if isinstance(self._lanes, int):
            self._lanes = self._lanes.to_bytes(self._lane_layout.size, "little")
        words = self._lanes[self._lane_layout.place(number)]
        against, rows = self._lane_layout.columns[number].against, len(words) // SIZE
        if against == NO_COLUMN:
            return words
        others = (self.head.started_ns & MASK).to_bytes(SIZE, "little") * rows if (
            against == CLOCK_OF_TICK) else self._bytes(against)
        total = lanes_of(rows).add(int.from_bytes(words, "little"), int.from_bytes(others, "little"))
        return total.to_bytes(len(words), "little")

    def _cell(self, tag: int, word: int) -> Cell:
        cell: Cell = None
        if tag == Tag.WORD:
            cell = word
        elif tag == Tag.TEXT and word < len(self._texts):
            cell = self._texts[word]
        elif tag == Tag.DOUBLE:
            (cell,) = DOUBLE.unpack(WORD.pack(word))
        elif tag == Tag.NEGATIVE:
            cell = word - LONG
        elif tag == Tag.LONG and word < len(self._texts) and _HEX.fullmatch(self._texts[word]):
            cell = int(self._texts[word], 16)
        return cell


class LazyColumns(Mapping[str, T], Generic[T]):
    """The columns of a tick by name, decoded once; names with one column number share a list.

    Args:
        tick: the tick.
        numbers: name -> number of its column.
    """

    __slots__ = ("_made", "_numbers", "tick")

    def __init__(self, tick: DecodedTick, numbers: Mapping[str, int]) -> None:
        self.tick = tick
        self._numbers = numbers
        self._made: dict[int, T] = {}

    def __getitem__(self, name: str) -> T:
        number = self._numbers[name]
        if (value := self._made.get(number)) is None:
            value = self._made[number] = self._column(number)
        return value

    def forget(self) -> None:
        """Let go of the decoded columns, which are decoded again if they are needed."""
        self._made.clear()

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def _column(self, number: int) -> T:
        raise NotImplementedError


class TickDecoder:
    """Decodes the ticks of one layout, in their order from a key tick on."""

    def __init__(self, lane_layout: LaneLayout) -> None:
        self._lane_layout = lane_layout
        self._arithmetic: TickArithmetic | None = None  # held from a key tick on
        self._stream: StreamDecompressor | None = None
        self._sums = 0
        self._texts: list[str] = []
        self._letters = 0

    @property
    def begun(self) -> bool:
        """Whether the next tick can be decoded without being a key tick."""
        return self._stream is not None

    def forget(self) -> None:
        """Note that ticks are missing, so that the next tick must be a key tick."""
        self._stream = self._arithmetic = None

    def decode(self, payload: bytes, *, key: bool) -> DecodedTick:
        """Decode one tick.

        Raises:
            DamagedError: the payload is no tick, or not the next tick; then a key tick must follow.
        """
        if key:
            self._stream, self._sums, self._texts, self._letters = stream_decompressor(), 0, [], 0
        stream, self._stream = self._stream, None  # restored once all went well
        if stream is None:
            raise DamagedError("a tick cannot be decoded: those before it are missing")
        head = head_of(payload)
        lane_layout = self._lane_layout
        arithmetic = self._arithmetic = self._arithmetic or lane_layout.arithmetic
        (size,) = struct.unpack_from("<I", payload, HEAD.size - 4)
        planes = lane_layout.size
        most = planes + COUNTS.size + len(lane_layout.columns) + lane_layout.count + _MOST_EXTRAS
        if size > min(most, most_unpacked(payload, TICK_TIMES)):
            raise DamagedError(f"a tick of {size:,} bytes, packed {len(payload):,}, is not possible in its layout")
        body = stream.decompress(payload[HEAD.size :], size)
        if size < COUNTS.size + len(lane_layout.columns) + planes:
            raise DamagedError(f"a tick of {size:,} bytes is too short for its layout")
        *counts, length = COUNTS.unpack_from(body)
        position = COUNTS.size + length
        extras = _extras(body[COUNTS.size : position], _FREE_VALUES + _VALUES_A_CELL * lane_layout.count)
        texts = extras.pop("texts", [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DamagedError("the texts of a tick are none")
        tags, position = self._tags(body, position)
        if len(body) - position != planes:
            raise DamagedError("a tick has other cells than its layout")
        self._letters += sum(map(len, texts))
        if len(self._texts) + len(texts) > _MOST_TEXTS or self._letters > _MOST_LETTERS:
            raise DamagedError(f"more than {_MOST_TEXTS:,} texts or {_MOST_LETTERS:,} letters since the last key tick")
        self._texts += texts
        lanes = arithmetic.lanes
        self._sums = lanes.add(self._sums & arithmetic.lasting,
                               lanes.unfolded(lanes.joined(memoryview(body)[position:])))
        self._stream = stream
        tick, span, busy, overruns, late, behind = counts
        return DecodedTick(head, (tick, span, busy, overruns, late, behind), extras, lane_layout,
                           tags=tags, texts=self._texts, sums=self._sums)

    def _tags(self, body: bytes, position: int) -> tuple[Sequence[bytes | int], int]:
        """Return each column's tag or its cells' tags, and the position behind them."""
        columns = self._lane_layout.columns
        tags: list[bytes | int] = list(body[position : position + len(columns)])
        position += len(columns)
        if len(tags) < len(columns):
            raise DamagedError("a tick has fewer columns than its layout")
        for number, tag in enumerate(tags):
            if tag == Tag.MIXED:
                rows = columns[number].rows
                tags[number] = body[position : position + rows]
                position += rows
                if position > len(body):
                    raise DamagedError("a tick has fewer cells than its layout")
        return tags, position


def _extras(data: bytes, most: int) -> dict[str, object]:
    if not data:
        return {}
    try:
        extras = parse_json(data, most)
    except DocumentError as error:
        raise DamagedError(f"what a tick has beside its cells cannot be read: {error}") from error
    if not isinstance(extras, dict):
        raise DamagedError("what a tick has beside its cells is no object")
    return extras
