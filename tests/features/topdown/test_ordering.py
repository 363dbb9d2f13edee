"""The default order of rows: most work first, without restless lines."""

from __future__ import annotations

import functools
import itertools

from hypothesis import given
from hypothesis import strategies as st
from topdown_bed import TopdownBed

from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.screen_rows import AHEAD, busiest_first


@functools.cache
def counters() -> TopdownCounters:
    return TopdownBed("vera-2s").counters


def made(number: int, slots: float | None) -> TopdownRow:
    """Make a core with a number of slots; None for a core that was not counted."""
    counts = {} if slots is None else dict.fromkeys(counters().branches[0].tree.events, slots / 10.0)
    return TopdownRow(CpuSet(RowLevel.CORE, ("core", number), f"core {number}", (number,)), counters().branches, counts)


@given(st.lists(st.none() | st.floats(0.0, 1e12), max_size=40))
def test_the_first_order_is_exact(slots: list[float | None]) -> None:
    rows = [made(number, each) for number, each in enumerate(slots)]
    result = [row.slots() or 0.0 for row in busiest_first(rows)]
    assert result == sorted(result, reverse=True)


@given(st.lists(st.floats(1.0, 1e12), min_size=1, max_size=40), st.randoms())
def test_no_row_stands_right_below_one_that_does_far_less(slots: list[float], random: object) -> None:
    rows = [made(number, each) for number, each in enumerate(slots)]
    before = [row.place.key for row in rows]
    random.shuffle(before)  # type: ignore[attr-defined]
    topdown_rows = busiest_first(rows, before)
    assert {row.place.key for row in topdown_rows} == {row.place.key for row in rows}
    for above, below in itertools.pairwise(topdown_rows):
        assert (below.slots() or 0.0) <= AHEAD * (above.slots() or 0.0)


def test_rows_that_work_alike_stay_where_they_are() -> None:
    before = [("core", 2), ("core", 0), ("core", 1)]
    rows = busiest_first([made(0, 100.0), made(1, 120.0), made(2, 98.0)], before)
    assert [row.place.key for row in rows] == before


def test_a_core_that_begins_to_work_is_first() -> None:
    before = [("core", 0), ("core", 1), ("core", 2)]
    rows = busiest_first([made(0, 100.0), made(1, 5.0), made(2, 900.0), made(3, None)], before)
    assert [row.place.key for row in rows] == [("core", number) for number in (2, 0, 1, 3)]
