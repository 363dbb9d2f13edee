"""Time axes: spans, places, round times."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.moments import NS, time_of_day
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.time_axis import TimeSpan, axis_lines, round_times

STARTS = st.integers(0, 4_000_000_000 * NS)
LENGTHS = st.integers(1, 10 * 86_400 * NS)
SPANS = st.builds(lambda first, length: TimeSpan(first, first + length), STARTS, LENGTHS)
WHEN = 1_790_000_000 * NS


@given(SPANS, st.integers(1, 500), st.data())
def test_places_divide_a_span_from_left_to_right(span: TimeSpan, size: int, data: st.DataObject) -> None:
    item = data.draw(st.integers(span.first + 1, span.last))
    other = data.draw(st.integers(item, span.last))
    assert 0 <= span.place(item, size) <= span.place(other, size) < size
    assert span.place(span.last, size) == size - 1
    place = data.draw(st.integers(0, size - 1))
    if span.length >= 2 * size:
        assert span.place(span.time(place, size), size) == place


@given(SPANS, st.floats(0.1, 10), st.data())
def test_what_is_zoomed_around_stays_where_it_is(span: TimeSpan, factor: float, data: st.DataObject) -> None:
    around = data.draw(st.integers(span.first, span.last))
    least = data.draw(st.integers(1, span.length))
    most = data.draw(st.integers(span.length, 2 * span.length))
    time_span = span.zoomed(factor, around, least, most)
    assert least <= time_span.length <= most
    assert time_span.first <= around <= time_span.last
    before, after = (around - span.first) / span.length, (around - time_span.first) / time_span.length
    assert abs(before - after) <= 1 / time_span.length + 1e-9


@given(SPANS, SPANS, st.data())
def test_a_span_moves_to_a_moment_and_never_beyond_the_newest(
        span: TimeSpan, whole: TimeSpan, data: st.DataObject) -> None:
    moment = data.draw(st.integers(whole.first + 1, whole.last))
    time_span = span.holding(moment, whole)
    assert time_span.length == span.length
    assert time_span.first <= moment <= time_span.last <= whole.last
    if time_span.length <= whole.length:
        assert time_span.first >= whole.first
    else:
        assert time_span.last == whole.last


def test_a_span_that_holds_a_moment_stays() -> None:
    whole = TimeSpan(0, 1000)
    assert TimeSpan(300, 400).holding(350, whole) == TimeSpan(300, 400)
    assert TimeSpan(300, 400).holding(395, whole) == TimeSpan(305, 405), "some time after it is seen"


@given(SPANS, st.integers(20, 300))
def test_round_times_are_inside_and_can_be_read(span: TimeSpan, width: int) -> None:
    times = round_times(span, width)
    assert all(span.first <= time.time_ns <= span.last for time in times)
    places = [span.place(time.time_ns, width) for time in times]
    assert all(b - a >= len(time.label) for a, b, time in zip(places, places[1:], times[1:], strict=False))
    assert len({b.time_ns - a.time_ns for a, b in pairwise(times)}) <= 1


@pytest.mark.parametrize(("seconds", "width", "step", "form"), [
    (2, 60, 0.5, r"\d\d:\d\d:\d\d\.\d"), (60, 60, 10, r"\d\d:\d\d:\d\d"), (600, 120, 60, r"\d\d:\d\d"),
    (3600, 70, 600, r"\d\d:\d\d"), (86_400, 70, 10_800, r"\d\d:\d\d|\d\d-\d\d"), (864_000, 70, 86_400, r"\d\d-\d\d"),
])
def test_steps_are_of_the_clock(seconds: int, width: int, step: float, form: str) -> None:
    times = round_times(TimeSpan(WHEN, WHEN + seconds * NS), width)
    assert (times[1].time_ns - times[0].time_ns) / NS == step
    assert all(re.fullmatch(form, time.label) for time in times)
    if form == r"\d\d:\d\d:\d\d":
        assert all(time.label == time_of_day(time.time_ns) and time.label.endswith("0") for time in times)


@given(SPANS, st.integers(12, 200), st.data())
def test_an_axis_is_as_wide_as_requested_and_has_its_cursor(
        span: TimeSpan, width: int, data: st.DataObject) -> None:
    cursor = data.draw(st.integers(span.first + 1, span.last))
    event = data.draw(st.integers(span.first + 1, span.last))
    marks, labels = axis_lines(span, width, [event, span.last + 1], cursor, now=data.draw(st.booleans()))
    line = "".join(text for text, _ in marks)
    assert len(line) == width == sum(len(text) for text, _ in labels)
    assert line.index("▲") == span.place(cursor, width)
    assert line.count("▲") == 1
    if span.place(event, width) != span.place(cursor, width):
        assert line.index("┴") == span.place(event, width)
        assert ("┴", StyleRole.AMBER) in marks
