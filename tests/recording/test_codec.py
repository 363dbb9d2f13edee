"""Ticks as bytes are restored bit for bit, at a key tick and after it."""

from __future__ import annotations

import math
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.recording.codec import HEAD, Cell, ColumnLayout, LaneLayout, TableTick, TickEncoder
from turbotui.recording.framing import DamagedError
from turbotui.recording.lanes import MASK, Lanes
from turbotui.recording.tick_decoder import TickDecoder
from turbotui.untrusted import visible

_WORDS = st.integers(0, MASK) | st.integers(0, 1000)
_CELLS = _WORDS | st.none() | st.text(max_size=5).map(visible) | st.floats() | st.integers()


def exactly(cell: Cell) -> object:
    """A cell as something that is equal only if type and bits are."""
    return (type(cell), struct.pack("<d", cell)) if isinstance(cell, float) else (type(cell), cell)


def coded(layout: list[ColumnLayout], ticks: list[list[list[Cell]]], keys: int = 60) -> list[list[list[Cell]]]:
    lane_layout = LaneLayout(layout)
    encoder, decoder = TickEncoder(7, lane_layout), TickDecoder(LaneLayout(layout))
    result = []
    for number, columns in enumerate(ticks):
        key = number % keys == 0
        payload = encoder.encode(TableTick(number, -number, (number, 1, 2, 3, 4, 5), columns), key=key)
        tick = decoder.decode(payload, key=key)
        assert (tick.head.wall_ns, tick.head.started_ns, tick.head.layout) == (number, -number, 7)
        assert tick.counts == (number, 1, 2, 3, 4, 5)
        result.append([list(tick.column(at)) for at in range(len(layout))])
    return result


@given(st.integers(0, 4).flatmap(lambda rows: st.lists(
    st.tuples(*[st.lists(_CELLS, min_size=rows, max_size=rows)] * 3).map(list), min_size=1, max_size=6)))
def test_every_cell_comes_back_bit_for_bit(ticks: list[list[list[Cell]]]) -> None:
    for first in (-1, -2):
        layout = [ColumnLayout(len(ticks[0][0]), against) for against in (first, 0, 1)]
        result = coded(layout, ticks, keys=4)
        assert [[list(map(exactly, column)) for column in tick] for tick in result] == [
            [list(map(exactly, column)) for column in tick] for tick in ticks
        ]


def test_cells_are_not_kept_of_a_column_that_has_words_by_now() -> None:
    """Thousands of uncore counters have no words at the tick at which they are opened."""
    cell = float("25000.5")
    encoder, held = TickEncoder(7, LaneLayout([ColumnLayout(1)])), sys.getrefcount(cell)
    encoder.encode(TableTick(0, 0, (0, 1, 2, 3, 4, 5), [[cell]]), key=True)
    assert sys.getrefcount(cell) == held + 1
    encoder.encode(TableTick(1, 1, (1, 1, 2, 3, 4, 5), [[5]]), key=False)
    assert sys.getrefcount(cell) == held


@given(st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=9))
def test_lanes_are_added_and_subtracted_each_by_itself(pairs: list[tuple[int, int]]) -> None:
    lanes = Lanes(len(pairs))
    left, right = (sum(pair[side] << 64 * at for at, pair in enumerate(pairs)) for side in (0, 1))
    minus, plus = lanes.subtract(left, right), lanes.add(left, right)
    for at, (item, other) in enumerate(pairs):
        assert minus >> 64 * at & MASK == (item - other) & MASK
        assert plus >> 64 * at & MASK == (item + other) & MASK
    assert lanes.joined(b"".join(lanes.planes(left))) == left
    assert lanes.unfolded(lanes.folded(left)) == left


def test_small_differences_of_either_sign_become_small_numbers() -> None:
    lanes = Lanes(5)
    differences = sum((number & MASK) << 64 * at for at, number in enumerate((0, -1, 1, -2, 2)))
    assert [lanes.folded(differences) >> 64 * at & MASK for at in range(5)] == [0, 1, 2, 3, 4]


def test_equal_cells_of_other_types_are_not_taken_for_each_other() -> None:
    ticks: list[list[list[Cell]]] = [[[None, 1.0, 0.0]], [[None, 1, -0.0]], [[None, True + 0, 0]], [[None, 1.0, 0.0]]]
    result = coded([ColumnLayout(3)], ticks)
    assert [[exactly(cell) for cell in tick[0]] for tick in result] == [
        [exactly(cell) for cell in tick[0]] for tick in ticks
    ]


def test_a_tick_whose_predecessor_is_missing_is_refused_until_the_next_key() -> None:
    lane_layout = LaneLayout([ColumnLayout(2)])
    encoder, decoder = TickEncoder(0, lane_layout), TickDecoder(lane_layout)
    ticks = [encoder.encode(TableTick(at, at, (at, 0, 0, 0, 0, 0), [[at, 5]]), key=at == 3) for at in range(5)]
    with pytest.raises(DamagedError, match="missing"):
        decoder.decode(ticks[1], key=False)
    decoder.decode(ticks[0], key=True)
    with pytest.raises(DamagedError):
        decoder.decode(ticks[1][:-3], key=False)
    with pytest.raises(DamagedError, match="missing"):
        decoder.decode(ticks[2], key=False)
    assert decoder.decode(ticks[3], key=True).column(0) == [3, 5]
    assert decoder.decode(ticks[4], key=False).column(0) == [4, 5]


def test_columns_that_cannot_be_are_refused() -> None:
    for columns in ([ColumnLayout(1, 0)], [ColumnLayout(1), ColumnLayout(2, 0)], [ColumnLayout(-1)],
                    [ColumnLayout(1, -3)], [ColumnLayout(1, 1)], [ColumnLayout(1 << 40)]):
        with pytest.raises(DamagedError):
            LaneLayout(columns)


@given(st.lists(st.integers(0, 1 << 45), min_size=2, max_size=30), st.integers(8, 16))
def test_increases_that_are_rounded_neither_drift_nor_go_back(increases: list[int], significant: int) -> None:
    lane_layout = LaneLayout([ColumnLayout(1, rounded=True), ColumnLayout(1, against=0)])
    encoder, decoder = TickEncoder(0, lane_layout, significant), TickDecoder(lane_layout)
    total, before, last, largest = 10**15, -1, -1, 0
    for number, increase in enumerate(increases):
        total += increase
        payload = encoder.encode(TableTick(0, 0, (0, 0, 0, 0, 0, 0), [[total], [total - 17]]), key=number == 0)
        tick = decoder.decode(payload, key=number == 0)
        stored, beside = tick.column(0)[0], tick.column(1)[0]
        assert isinstance(stored, int)
        assert beside == stored - 17
        if before >= 0:
            assert stored >= before
            if increase:
                largest = max(largest, increase, total - before)
                assert abs(total - stored) <= math.ldexp(largest, -significant)
            else:
                assert stored == before
        before, last = stored, total
    assert last == total


@pytest.mark.parametrize(("cells", "window"), [(9, 1 << 15), (1 << 12, 1 << 19), (1 << 15, 1 << 20)])
def test_the_window_of_a_stream_holds_ten_ticks_and_no_more_than_it_must(cells: int, window: int) -> None:
    """A mebibyte for each kind of rows, in each tier and each decoded group, was more than all of their ticks."""
    tick = TableTick(0, 0, (0, 0, 0, 0, 0, 0), [[1] * cells])
    payload = TickEncoder(7, LaneLayout([ColumnLayout(cells)])).encode(tick, key=True)
    assert payload[HEAD.size:][:4] == b"\x28\xb5\x2f\xfd"
    exponent = payload[HEAD.size + 5] >> 3  # the window descriptor (RFC 8878 3.1.1.1.2)
    assert 1 << 10 + exponent == window
