"""Curves: no spike is lost, and unknown values are never joined."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.curves import Bucket, TimedValue, buckets, extent, raster, value_at, visible
from turbotui.widgets.time_axis import TimeSpan

NAN = math.nan
VALUES = st.one_of(st.just(NAN), st.floats(-1e6, 1e6))


@st.composite
def curves(draw: st.DrawFn) -> list[TimedValue]:
    """Intervals one after the other, some of them with time between."""
    result: list[TimedValue] = []
    at = draw(st.integers(0, 10**6))
    for value in draw(st.lists(VALUES, max_size=40)):
        at += draw(st.sampled_from([0, 0, 0, 500, 5000]))
        end = at + draw(st.integers(1, 1000))
        result.append(TimedValue(at, end, value))
        at = end
    return result


@st.composite
def spans(draw: st.DrawFn) -> TimeSpan:
    first = draw(st.integers(0, 10**6))
    return TimeSpan(first, first + draw(st.integers(1, 60_000)))


def start_place(span: TimeSpan, start: int, size: int) -> int:
    """The place in which an interval with this start begins; the nearest one if outside."""
    return max(0, min(size - 1, (start - span.first) * size // span.length))


@given(curves(), spans(), st.integers(1, 120))
def test_each_place_has_the_least_and_greatest_of_the_intervals_in_it(
        timed: list[TimedValue], span: TimeSpan, size: int) -> None:
    result = buckets(timed, span, size)
    inside = [item for item in timed if item.known and item.end > span.first and item.start < span.last]
    for place, bucket in enumerate(result):
        here = [item.value for item in inside
                if start_place(span, item.start, size) <= place
                <= max(span.place(item.end, size), start_place(span, item.start, size))]
        assert (bucket is None) == (not here)
        if bucket is not None:
            assert (bucket.low, bucket.high) == (min(here), max(here))
    if inside:
        assert max(item.high for item in result if item is not None) == max(item.value for item in inside)
        assert min(item.low for item in result if item is not None) == min(item.value for item in inside)


@given(curves(), spans(), st.integers(1, 120))
def test_what_is_unknown_is_not_joined(timed: list[TimedValue], span: TimeSpan, size: int) -> None:
    result = buckets(timed, span, size)
    for place, bucket in enumerate(result):
        if bucket is None or not bucket.joined:
            continue
        ends = [at for at, item in enumerate(timed) if item.known and start_place(span, item.start, size) <= place
                and span.place(item.end, size) >= place - 1]
        goes_through = any(start_place(span, timed[at].start, size) < place <= span.place(timed[at].end, size)
                           for at in ends)
        follows = any(b == a + 1 and timed[b].follows(timed[a]) for a in ends for b in ends)
        assert goes_through or follows


def test_a_gap_stays_empty_and_a_spike_stays() -> None:
    timed = [TimedValue(at, at + 1, 99.0 if at == 501 else 1.0) for at in range(1000) if not 600 <= at < 700]
    timed[300] = TimedValue(300, 301, NAN)
    result = buckets(timed, TimeSpan(0, 1000), 100)
    assert result[50] == Bucket(1.0, 99.0, joined=True)
    assert result[60:70] == [None] * 10
    assert result[70] == Bucket(1.0, 1.0, joined=False)
    near = buckets(timed, TimeSpan(299, 303), 8)
    assert near[:2] == [Bucket(1.0, 1.0, joined=False), Bucket(1.0, 1.0, joined=True)]
    assert near[2:4] == [None, None]
    assert near[4] == Bucket(1.0, 1.0, joined=False)


@given(curves(), spans())
def test_the_mean_is_over_time_and_between_the_extremes(timed: list[TimedValue], span: TimeSpan) -> None:
    result = extent(visible(timed, span))
    values = [item.value for item in timed if item.known and item.end > span.first and item.start < span.last]
    assert (result is None) == (not values)
    if result is not None:
        assert (result.low, result.high, result.count) == (min(values), max(values), len(values))
        assert result.low <= result.mean <= result.high


def test_a_long_interval_weighs_more() -> None:
    result = extent([TimedValue(0, 1, 10.0), TimedValue(1, 10, 20.0), TimedValue(10, 20, NAN)])
    assert result is not None
    assert result.mean == 19.0


@given(curves(), st.data())
def test_a_moment_is_found_in_its_interval(timed: list[TimedValue], data: st.DataObject) -> None:
    moment = data.draw(st.integers(0, 10**6 + 200_000))
    expected = [item for item in timed if item.start < moment <= item.end]
    assert value_at(timed, moment) == (expected[0] if expected else None)


def dots(lines: list[list[tuple[str, StyleRole]]]) -> set[tuple[int, int]]:
    """Columns and lines of dots, from the left and the top."""
    bits = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
    return {(2 * x + across, 4 * y + down) for y, line in enumerate(lines) for x, (char, _) in enumerate(line)
            if char != " " for down, pair in enumerate(bits) for across, bit in enumerate(pair)
            if (ord(char) - 0x2800) & bit}


def test_a_curve_reaches_from_its_least_to_its_greatest_and_to_its_neighbour() -> None:
    places = [Bucket(0.0, 0.0, joined=False), Bucket(10.0, 10.0, joined=True), None, Bucket(5.0, 10.0, joined=False)]
    result = dots(raster([(places, StyleRole.SPARK)], 0.0, 10.0, 2, 1))
    assert result == {(0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (3, 0), (3, 1), (3, 2)}


@given(st.lists(st.one_of(st.none(), st.tuples(VALUES, VALUES).filter(lambda pair: not any(map(math.isnan, pair)))),
                max_size=40), st.integers(1, 20), st.integers(1, 6))
def test_a_raster_is_of_its_size_and_has_dots_where_values_are(
        pairs: list[tuple[float, float] | None], width: int, height: int) -> None:
    places = [None if pair is None else Bucket(min(pair), max(pair), joined=False) for pair in pairs]
    lines = raster([(places, StyleRole.SPARK)], -1e6, 1e6, width, height)
    assert [len(line) for line in lines] == [width] * height
    assert {x for x, _ in dots(lines)} == {at for at, item in enumerate(places[:2 * width]) if item is not None}


def test_the_last_curve_has_the_colour_where_two_meet() -> None:
    flat = [Bucket(1.0, 1.0, joined=False)] * 4
    lines = raster([(flat, StyleRole.LANE_1), (flat[:2], StyleRole.LANE_0)], 0.0, 1.0, 2, 1)
    assert [role for _, role in lines[0]] == [StyleRole.LANE_0, StyleRole.LANE_1]
