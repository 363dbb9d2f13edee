"""The cursor of a graph is always visible, and stays within the moments."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from turbotui.widgets.graph_cursor import GraphCursor

ACTS: dict[str, Callable[[GraphCursor, int], None]] = {
    "step": GraphCursor.step, "page": GraphCursor.page, "end": GraphCursor.end, "zoom": GraphCursor.zoom,
    "whole": lambda cursor, _by: cursor.show_whole(),
}


@given(st.integers(1, 400), st.integers(1, 300), st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.sampled_from(
    [-10, -1, 1, 10])), max_size=30), st.integers(0, 30))
def test_the_cursor_is_on_a_moment_and_in_sight(
        count: int, places: int, keys: list[tuple[str, int]], later: int) -> None:
    moments = [1000 + 10 * at for at in range(count)]
    cursor = GraphCursor(moments, 10, places)
    for key, by in keys:
        if later:
            moments = [*moments[1:], moments[-1] + 10] if len(moments) > 1 else moments
            cursor.go_on(moments, 10, places)
        ACTS[key](cursor, by if key != "zoom" else max(-1, min(1, by)))
        assert cursor.here in moments
        assert cursor.span.first < cursor.here <= cursor.span.last <= moments[-1]
        assert cursor.span.length >= 10


def test_it_continues_with_the_newest_until_it_is_moved() -> None:
    cursor = GraphCursor(range(10, 1010, 10), 10, 50)
    cursor.go_on(range(10, 1020, 10), 10, 50)
    assert (cursor.here, cursor.span.last, cursor.span.length) == (1010, 1010, 500)
    cursor.step(-2)
    span = cursor.span
    cursor.go_on(range(10, 2010, 10), 10, 50)
    assert (cursor.here, cursor.span) == (990, span), "what is looked at stays"
    cursor.step(10**6)
    assert cursor.at is None
    assert cursor.span.last == 2000


def test_zoom_ends_at_a_few_intervals_and_at_the_whole() -> None:
    cursor = GraphCursor(range(10, 10_010, 10), 10, 100)
    assert cursor.span.length == 1000
    for _ in range(20):
        cursor.zoom(1)
    assert cursor.span.length == 80
    for _ in range(20):
        cursor.zoom(-1)
    assert cursor.span == cursor.whole
    cursor.zoom(1)
    cursor.show_whole()
    cursor.go_on(range(10, 20_010, 10), 10, 100)
    assert cursor.span == cursor.whole


def test_it_begins_around_a_moment_of_the_past_and_forgets_what_is_gone() -> None:
    cursor = GraphCursor(range(10, 10_010, 10), 10, 100, at=5000)
    assert (cursor.here, cursor.span.first, cursor.span.last) == (5000, 4500, 5500)
    cursor.go_on(range(6000, 12_010, 10), 10, 100)
    assert cursor.here == 6000


def test_a_moment_that_is_not_kept_is_the_nearest() -> None:
    cursor = GraphCursor(range(1010, 2010, 10), 10, 50, at=500)
    assert (cursor.here, cursor.span.first) == (1010, cursor.whole.first)
    assert GraphCursor(range(1010, 2010, 10), 10, 50, at=9000).here == 2000


def test_pages_are_what_is_seen_and_a_click_finds_its_interval() -> None:
    cursor = GraphCursor(range(10, 10_010, 10), 10, 100)
    cursor.page(-1)
    assert (cursor.here, cursor.span.last) == (9000, 9000 + cursor.span.length // 10)
    cursor.go_to(8995)
    assert cursor.here == 9000
    cursor.go_to(8990)
    assert cursor.here == 8990
