"""Encodes the ticks of a table: the change since the previous tick, in byte planes, compressed in that tick's context.

A tick is a list of columns, each with one cell for each row: an integer, a visible text, a float or None, all kept
exactly. A key tick can be decoded alone; a later tick needs the key tick and all ticks in between. See
docs/specs/journal.md 5.
"""

from __future__ import annotations

import itertools
import struct
import sys
import weakref
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias, cast

from turbotui.dataclass import dataclass
from turbotui.errors import InternalError
from turbotui.recording.compression import (
    StreamCompressor,
    stream_compressor,
)
from turbotui.recording.framing import DamagedError
from turbotui.recording.lanes import MASK, SIZE, Lanes, lanes_of
from turbotui.untrusted import json_text

Cell: TypeAlias = "int | str | float | None"

Counts: TypeAlias = tuple[int, int, int, int, int, int]
"""Number of the tick, span, busy, overruns, late answers, frames behind."""

MOST_CELLS: Final = 1 << 21
"""The most cells of a tick in a credible layout: 4,096 CPUs with 500 counters have half as many."""
HEAD: Final = struct.Struct("<qqII")  # wall clock, monotonic clock, number of the layout, bytes of the body unpacked
COUNTS: Final = struct.Struct("<qqqqqII")  # tick, span, busy, overruns, late answers, frames behind, bytes of extras
DOUBLE: Final = struct.Struct("<d")
WORD: Final = struct.Struct("<Q")
LONG: Final = 1 << 64


class Tag(IntEnum):
    """The meaning of a cell's lane."""

    WORD = 0
    NONE = 1
    TEXT = 2
    DOUBLE = 3
    NEGATIVE = 4
    LONG = 5
    MIXED = 255


_MANY: Final = 2048
"""Lanes from which on each byte plane is a block with a code of its own, which saves 4 % and costs 30 bytes."""

STAMP_UNIT: Final = 1 << 20
"""Nanoseconds to which tiers of lower resolution round time stamps."""

NO_COLUMN: Final = -1
CLOCK_OF_TICK: Final = -2
"""Values of `against` that name no column."""


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """One column of a tick."""

    rows: int  # the number of cells
    # the number of an earlier, similar column with as many rows, whose difference is stored; -1: none; -2: the tick's
    # monotonic clock. A column against a -2 column is, like that one, stored anew at every tick.
    against: int = -1
    rounded: bool = False  # whether a tier of lower resolution may round its increases

    @property
    def follows(self) -> bool:
        """Whether the column is stored against another column."""
        return self.against >= 0


@lru_cache(maxsize=4096)
def _shared(column: ColumnLayout) -> ColumnLayout:
    """Return one object for equal columns: dozens of layouts have thousands each, most of them alike."""
    return column


@dataclass(frozen=True, slots=True)
class TableTick:
    """One tick of a table."""

    wall_ns: int
    started_ns: int  # the host's monotonic clock
    counts: Counts  # number of the tick, span, busy, overruns, late answers, frames behind
    columns: Sequence[Sequence[Cell]]  # cells by row, in the order of the layout
    extras: Mapping[str, object] = field(default_factory=dict)  # JSON of facts that few ticks have; usually empty


@dataclass(frozen=True, slots=True)
class _Related:
    columns: tuple[ColumnLayout, ...]
    place: slice
    others: tuple[slice | None, ...]  # places of the columns that these are stored against; None for the tick's clock
    lanes: Lanes


class LaneLayout:
    """The columns of a layout and the lanes of their cells. Raises DamagedError if no tick can have such a layout.

    Attributes:
        columns: equal ones are one object.
        count: the number of lanes, one for each cell.
    """

    def __init__(self, columns: Sequence[ColumnLayout]) -> None:
        self.columns = tuple(map(_shared, columns))
        for number, column in enumerate(self.columns):
            fits = NO_COLUMN > column.against >= CLOCK_OF_TICK or (
                0 <= column.against < number and columns[column.against].rows == column.rows)
            if column.rows < 0 or not (fits or column.against == NO_COLUMN):
                raise DamagedError(f"column {number} of a layout is not possible: {column}")
        self.count = sum(column.rows for column in self.columns)
        if self.count > MOST_CELLS:
            raise DamagedError(f"a layout of {self.count:,} cells is not possible")
        self._ends = array("I", itertools.accumulate((column.rows for column in self.columns), initial=0))
        self._arithmetic: weakref.ref[TickArithmetic] | None = None

    @property
    def size(self) -> int:
        """Bytes of the lanes of a tick."""
        return self.count * SIZE

    def place(self, number: int) -> slice:
        """The bytes of a column's lanes in those of a tick."""
        return slice(self._ends[number] * SIZE, self._ends[number + 1] * SIZE)

    @property
    def arithmetic(self) -> TickArithmetic:
        """The arithmetic of its ticks: one object while anybody holds it, because its masks are long."""
        arithmetic = None if self._arithmetic is None else self._arithmetic()
        if arithmetic is None:
            arithmetic = TickArithmetic(self)
            self._arithmetic = weakref.ref(arithmetic)
        return arithmetic


class TickArithmetic:
    """Arithmetic on the lanes of a layout's ticks; its masks take up to eight times the bytes of a tick.

    Attributes:
        lanes: arithmetic on all lanes.
        lasting: mask of lanes that are stored as changes; the others are stored anew at every tick.
    """

    def __init__(self, layout: LaneLayout) -> None:
        self.lanes = lanes_of(layout.count)
        self._related = tuple(_runs(layout))
        anew: list[bool] = []
        for column in layout.columns:
            anew.append(column.against == CLOCK_OF_TICK or (column.follows and anew[column.against]))
        self.lasting = int.from_bytes(b"".join(
            (b"\0" if every else b"\xff") * (column.rows * SIZE)
            for column, every in zip(layout.columns, anew, strict=True)
        ), "little") if any(anew) else -1

    def relative(self, lanes: bytes, started_ns: int) -> int:
        """Subtract from each lane the word that it is stored against, if any."""
        clock = (started_ns & MASK).to_bytes(SIZE, "little")
        words, done = memoryview(lanes), 0
        parts: list[bytes | memoryview] = []
        for run in self._related:
            others = b"".join([clock * column.rows if place is None else words[place]
                               for column, place in zip(run.columns, run.others, strict=True)])
            difference = run.lanes.subtract(int.from_bytes(words[run.place], "little"),
                                            int.from_bytes(others, "little"))
            parts += [words[done:run.place.start], difference.to_bytes(run.lanes.size, "little")]
            done = run.place.stop
        return int.from_bytes(b"".join((*parts, words[done:])), "little")


def _runs(layout: LaneLayout) -> Iterator[_Related]:
    """Return the runs of adjacent columns that are stored against other columns."""
    for relates, run in itertools.groupby(enumerate(layout.columns), lambda pair: pair[1].against != NO_COLUMN):
        if relates:
            numbers, columns = zip(*run, strict=True)
            yield _Related(
                columns, slice(layout.place(numbers[0]).start, layout.place(numbers[-1]).stop),
                tuple([layout.place(column.against) if column.follows else None for column in columns]),
                lanes_of(sum(column.rows for column in columns)))


class TickEncoder:
    """Encodes the ticks of one layout, in their order.

    Args:
        number: the number of the layout, which every tick carries.
        significant: bits to which the increases of rounded columns are rounded; 0: every bit is kept. The error is
            carried into the next increase, so totals do not drift, and no counter goes back.
    """

    def __init__(self, number: int, lane_layout: LaneLayout, significant: int = 0) -> None:
        self._number = number
        self._lane_layout = lane_layout
        self._arithmetic = lane_layout.arithmetic
        self._significant = significant
        self._stream: StreamCompressor = stream_compressor(lane_layout.size)
        self._begun = False
        self._before = 0
        self._exact = 0
        self._lanes = b""
        self._texts: dict[str, int] = {}
        self._new_texts: list[str] = []
        self._seen: dict[int, tuple[Sequence[Cell], bytes, bytes]] = {}

    def encode(self, tick: TableTick, *, key: bool) -> bytes:
        """Return the payload of one tick's record; with `key` it can be decoded alone, as the first tick always can."""
        if key or not self._begun:
            if self._begun:
                self._stream = stream_compressor(self._lane_layout.size)
            self._begun = True
            self._before = 0
            self._lanes = bytes(self._lane_layout.size)
            self._texts.clear()
            self._seen.clear()
        arithmetic, all_lanes = self._arithmetic, self._arithmetic.lanes
        tags, lanes = self._cells(tick.columns)
        relative = arithmetic.relative(lanes, tick.started_ns)
        stored = self._rounded(relative) if self._significant else relative
        moved = all_lanes.folded(all_lanes.subtract(stored, self._before & arithmetic.lasting))
        self._before, self._exact, self._lanes = stored, relative, lanes
        extras = dict(tick.extras)
        if self._new_texts:
            extras["texts"], self._new_texts = self._new_texts, []
        packed_extras = json_text(extras, compact=True).encode() if extras else b""
        first = b"".join((COUNTS.pack(*tick.counts, len(packed_extras)), packed_extras, tags))
        head = HEAD.pack(tick.wall_ns, tick.started_ns, self._number, len(first) + all_lanes.size)
        parts = (first, *all_lanes.planes(moved))
        return head + self._stream.compress(parts if all_lanes.count >= _MANY else (b"".join(parts),))

    def _cells(self, columns: Sequence[Sequence[Cell]]) -> tuple[bytes, bytes]:
        """Return the tags of all columns and the lanes of all cells."""
        lane_layout = self._lane_layout
        tags, inner, lanes = bytearray(len(lane_layout.columns)), [], []
        for number, (cells, layout) in enumerate(zip(columns, lane_layout.columns, strict=True)):
            if len(cells) != layout.rows:
                raise InternalError(f"a recorded column has {len(cells)} cells where its layout has {layout.rows}.")
            try:
                lane: bytes | array[int] = _words(cells)
            except (TypeError, OverflowError):
                of_cells, lane = self._odd_cells(number, cells)
                if of_cells.count(of_cells[0]) == len(of_cells):
                    tags[number] = of_cells[0]
                else:
                    tags[number] = Tag.MIXED
                    inner.append(of_cells)
            lanes.append(_little(lane))
        if len(self._seen) > len(tags) - tags.count(Tag.WORD):  # of columns that have words by now: thousands at once
            self._seen = {number: seen for number, seen in self._seen.items() if tags[number]}
        return bytes(tags) + b"".join(inner), b"".join(lanes)

    def _odd_cells(self, number: int, cells: Sequence[Cell]) -> tuple[bytes, bytes]:
        """Return tags and lanes of a column that holds not only words; the lane of a None keeps its old value."""
        seen = self._seen.get(number)
        if seen is not None and seen[0] == list(cells) and all(map(_same, seen[0], cells)):
            return seen[1], seen[2]
        lanes = array("Q", _little(self._lanes[self._lane_layout.place(number)]))
        tags = bytearray(len(cells))
        for row, cell in enumerate(cells):
            if cell is None:
                tags[row] = Tag.NONE
            elif isinstance(cell, str):
                tags[row], lanes[row] = Tag.TEXT, self._text(cell)
            elif isinstance(cell, float):
                tags[row], lanes[row] = Tag.DOUBLE, WORD.unpack(DOUBLE.pack(cell))[0]
            elif 0 <= cell < LONG:
                lanes[row] = cell
            elif -(LONG >> 1) <= cell < 0:
                tags[row], lanes[row] = Tag.NEGATIVE, cell & MASK
            else:
                tags[row], lanes[row] = Tag.LONG, self._text(hex(cell))
        odd = bytes(tags), lanes.tobytes()
        self._seen[number] = (list(cells), *odd)
        return odd

    def _text(self, text: str) -> int:
        number = self._texts.get(text)
        if number is None:
            number = self._texts[text] = len(self._texts)
            self._new_texts.append(text)
        return number

    def _rounded(self, relative: int) -> int:
        """Round the increases of rounded columns; a column against a rounded column keeps its difference."""
        lane_layout = self._lane_layout
        size = lane_layout.size
        now = bytearray(relative.to_bytes(size, "little"))
        stored, exact = self._before.to_bytes(size, "little"), self._exact.to_bytes(size, "little")
        for number, layout in enumerate(lane_layout.columns):
            if not layout.rounded:
                continue
            place = lane_layout.place(number)
            if layout.against == CLOCK_OF_TICK:
                rounded = [_rounded_stamp(word) for word in words_of(bytes(now[place]))]
            elif self._before:
                ends = words_of(stored[place]), words_of(exact[place]), words_of(bytes(now[place]))
                rounded = [self._shortened(*words) for words in zip(*ends, strict=True)]
            else:
                continue
            now[place] = _little(array("Q", rounded).tobytes())
        return int.from_bytes(now, "little")

    def _shortened(self, stored: int, before: int, now: int) -> int:
        """Return the rounded reading of a counter, from the previous tick's reading and its rounded value `stored`."""
        if now <= before or not stored:  # the counter stood still, began anew, or was absent
            return stored if now == before else now
        increase = now - stored
        if increase <= 0:  # the rounded value was already higher than the reading
            return stored
        spare = increase.bit_length() - self._significant
        return now if spare <= 0 else stored + ((increase + (1 << spare - 1)) >> spare << spare)


def _same(cell: Cell, other: Cell) -> bool:
    """Tell whether two equal cells have the same type and bits: 1 and 1.0 do not, nor do 0.0 and -0.0."""
    return cell is other or (type(cell) is type(other) and not isinstance(cell, float))


def _rounded_stamp(word: int) -> int:
    """Round a time since the tick began to about a millisecond; times far from the tick stay exact."""
    return word if word >> 33 else (word + (STAMP_UNIT >> 1)) // STAMP_UNIT * STAMP_UNIT


def word_array(data: bytes) -> array[int]:
    """Return the lanes of little-endian bytes."""
    words = array("Q", data)
    if sys.byteorder == "big":
        words.byteswap()
    return words


def words_of(data: bytes) -> list[int]:
    """Return the lanes of little-endian bytes as a list."""
    return word_array(data).tolist()


def _words(cells: Sequence[Cell]) -> array[int]:
    """Encode cells that are all words. Raises TypeError or OverflowError if a cell is no word."""
    packed = isinstance(cells, array) and cells.typecode == "Q"
    return cast("array[int]", cells) if packed else array("Q", cast("Sequence[int]", cells))


def _little(data: bytes | array[int]) -> bytes | array[int]:
    """Convert words between this machine's byte order and little endian."""
    if sys.byteorder == "little":
        return data
    swapped = array("Q", data)
    swapped.byteswap()
    return swapped.tobytes()
