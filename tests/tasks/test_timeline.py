from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turbotui.analysis.tasks.timeline import Stretch, Timeline

SLICES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 9_000), st.integers(1, 500)),
                  max_size=40)


@given(SLICES, st.sampled_from([1, 7, 100]))
def test_nothing_of_the_run_time_is_lost_whatever_the_resolution(slices: list[tuple[int, int, int, int]],
                                                                  size: int) -> None:
    timeline = Timeline(size)
    for thread, cpu, start, length in slices:
        timeline.add(thread, cpu, start + 1, start + 1 + length)
    assert timeline.total() == sum(length for *_, length in slices)


@given(SLICES.filter(bool), st.integers(1, 60))
def test_a_line_has_the_run_time_of_its_thread(slices: list[tuple[int, int, int, int]], places: int) -> None:
    timeline = Timeline(1)
    ends: dict[int, int] = {}
    ran = 0
    for thread, cpu, _start, length in slices:  # a thread is in one place at a time
        start = ends.get(thread, 1)
        timeline.add(thread, cpu, start, start + length)
        ends[thread] = start + length
        ran += length if thread == slices[0][0] else 0
    first, end = timeline.start, timeline.end + 1
    line = timeline.line(frozenset({slices[0][0]}), first, end, places)
    shown = sum(one.share for one in line if one is not None) * (end - first) / places
    assert shown <= ran + 1e-6
    if end - first >= 4 * places:  # narrower places than bins round the shares up to 1
        assert shown >= 0.7 * ran - (end - first) / places


def test_a_place_shows_where_the_thread_ran_longest() -> None:
    timeline = Timeline(10)
    timeline.add(1, 0, 1000, 1030)
    timeline.add(1, 5, 1030, 1100)
    timeline.add(2, 3, 1150, 1200)
    assert timeline.line(frozenset({1}), 1000, 1200, 2) == [Stretch(5, 1.0, True), None]
    assert timeline.line(frozenset({2}), 1000, 1200, 2) == [None, Stretch(3, 0.5, False)]
    assert timeline.line(frozenset({9}), 1000, 1200, 2) == [None, None]


def test_a_long_run_is_kept_whole_at_a_coarser_resolution() -> None:
    timeline = Timeline(1_000)
    for second in range(100):
        timeline.add(1, second % 2, 1 + second * 1_000_000, 1 + second * 1_000_000 + 400_000)
    assert timeline.total() == 100 * 400_000
    assert timeline.bin_ns >= 100_000_000 / 4096
    line = timeline.line(frozenset({1}), timeline.start, timeline.end, 100)
    assert all(one is not None for one in line)


def test_what_lies_beyond_the_horizon_is_forgotten() -> None:
    timeline = Timeline(10, 1_000)
    timeline.add(1, 0, 100, 150)
    timeline.add(2, 0, 5_000, 5_500)
    timeline.forget()
    assert timeline.total() == 500
    timeline.add(3, 0, 100, 150)  # came too late
    assert timeline.total() == 500
