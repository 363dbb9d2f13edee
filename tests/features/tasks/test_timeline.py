from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from turbotui.features.tasks.timeline import RunSlice, Stretch, Timeline, place_texts, place_width

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
    shown = sum(stretch.share for stretch in line if stretch is not None) * (end - first) / places
    assert shown <= ran + 1e-6
    if end - first >= 4 * places:  # narrower places than bins round the shares up to 1
        assert shown >= 0.7 * ran - (end - first) / places


@given(SLICES.filter(bool), st.sampled_from([1, 7, 100]), st.integers(1, 200))
def test_all_of_the_run_time_is_in_the_places_however_narrow(slices: list[tuple[int, int, int, int]], size: int,
                                                             places: int) -> None:
    timeline = Timeline(size)
    for thread, cpu, start, length in slices:
        timeline.add(thread, cpu, start + 1, start + 1 + length)
    running = timeline.running(timeline.start, timeline.end + 1, places)
    span = timeline.end + 1 - timeline.start
    assert abs(sum(running) * span / places - timeline.total()) < 1e-6 * timeline.total()


@given(st.integers(1, 5_000), st.integers(1, 5_000), st.sampled_from([1, 10, 64]), st.integers(1, 200))
def test_a_thread_that_does_not_pause_is_one_in_every_place(start: int, length: int, size: int, places: int) -> None:
    timeline = Timeline(size)
    timeline.add(1, 3, start, start + length)
    assert all(abs(number - 1) < 1e-6 for number in timeline.running(start, start + length, places))
    line = timeline.line(frozenset({1}), start, start + length, places)
    assert all(stretch is not None and abs(stretch.share - 1) < 1e-6 for stretch in line)


@given(SLICES, st.sampled_from([1, 7, 100]))
def test_slices_of_a_cpu_have_its_run_time_and_do_not_overlap(slices: list[tuple[int, int, int, int]],
                                                              size: int) -> None:
    timeline = Timeline(size)
    ends: dict[int, int] = {}
    ran: Counter[tuple[int, int]] = Counter()
    for thread, cpu, _start, length in slices:  # one thread at a time is on a CPU
        start = ends.get(cpu, 1)
        ends[cpu] = start + length + length % 3
        timeline.add(thread, cpu, start, start + length)
        ran[cpu, thread] += length
    result = list(timeline.slices())
    for item, following in itertools.pairwise(result):
        assert item.cpu < following.cpu or item.end <= following.start
    drawn: Counter[tuple[int, int]] = Counter()
    for piece in result:
        drawn[piece.cpu, piece.thread] += piece.end - piece.start
    parts = sum(len(line.bins) for line in timeline._lines.values())
    for key, length in ran.items():
        assert abs(drawn[key] - length) <= parts, "half a ns is rounded at each bin"


def test_a_slice_goes_on_over_bins() -> None:
    timeline = Timeline(100)
    for thread, start, end in ((1, 100, 350), (2, 350, 420), (1, 480, 600)):
        timeline.add(thread, 3, start, end)
    assert list(timeline.slices()) == [RunSlice(3, 100, 350, 1), RunSlice(3, 350, 420, 2), RunSlice(3, 480, 600, 1)]


def test_who_ran_in_the_bin_before_is_first() -> None:
    """A timeline does not know the order within a bin: thread 2 ran in the middle of it."""
    timeline = Timeline(100)
    for thread, start, end in ((1, 100, 250), (2, 250, 280), (1, 280, 400)):
        timeline.add(thread, 3, start, end)
    assert list(timeline.slices()) == [RunSlice(3, 100, 270, 1), RunSlice(3, 270, 300, 2), RunSlice(3, 300, 400, 1)]


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
    assert all(stretch is not None for stretch in line)


def test_a_timeline_is_the_same_however_often_somebody_looks_at_it() -> None:
    looked_at, alone = Timeline(10, 400_000), Timeline(10, 400_000)
    for number in range(20_000):
        start = 50 * number - (number % 7) * 30 + 1_000
        for timeline in (looked_at, alone):
            timeline.add(number % 5, number % 3, start, start + number % 90)
        if number % 500 == 0:
            assert looked_at.total() > 0 or not number
            looked_at.forget()
            alone.forget()
    looked_at.forget()
    alone.forget()
    assert (looked_at.end, looked_at.bin_ns) == (alone.end, alone.bin_ns)
    begin, end = alone.end - 300_000, alone.end + 1
    for thread in range(5):
        line = looked_at.line(frozenset({thread}), begin, end, 60)
        assert any(line)
        assert line == alone.line(frozenset({thread}), begin, end, 60)


def test_what_lies_beyond_the_horizon_is_forgotten() -> None:
    timeline = Timeline(10, 1_000)
    timeline.add(1, 0, 100, 150)
    timeline.add(2, 0, 5_000, 5_500)
    timeline.forget()
    assert timeline.total() == 500
    timeline.add(3, 0, 100, 150)  # came too late
    assert timeline.total() == 500


@given(st.lists(st.none() | st.integers(0, 300), min_size=1, max_size=60))
def test_cpus_can_be_read_off_a_line_without_its_colours(cpus: list[int | None]) -> None:
    cell = len(str(max((cpu for cpu in cpus if cpu is not None), default=0)))
    texts = list(place_texts([None if cpu is None else Stretch(cpu, 1.0, False) for cpu in cpus], cell))
    assert {len(text) for text in texts} == {cell}
    line = "".join(texts)
    read: list[int | None] = []
    for at in range(0, len(line), cell):
        word = line[at : at + cell]
        read.append(read[-1] if word == "━" * cell else None if word.strip() == "·" else int(word))
    assert read == cpus
    for first, second, text in zip(cpus, cpus[1:], texts[1:], strict=False):
        if cell > 1 and first is not None and first == second:
            assert not any(letter.isdigit() for letter in text)


def test_a_thread_that_stays_on_a_cpu_of_several_digits_is_one_stretch() -> None:
    there, elsewhere = Stretch(184, 1.0, False), Stretch(7, 1.0, False)
    assert "".join(place_texts([there, there, there, None, elsewhere, elsewhere], 3)) == "184━━━━━━  ·  7━━━"
    assert "".join(place_texts([elsewhere, elsewhere, None], 1)) == "77·"


def test_a_thread_that_moves_all_the_time_has_numbers_that_can_be_told_apart() -> None:
    moving = [Stretch(cpu, 1.0, False) for cpu in (122, 320, 7)]
    assert "".join(place_texts(moving, place_width(320))) == " 122 320   7"
    assert place_width(9) == 1


def test_an_entry_takes_a_hundred_bytes() -> None:
    """60,000 are kept: a pair of bin and CPU as key took half as much again."""
    tracemalloc.start()
    try:
        timeline = Timeline(bin_ns=1000, horizon_ns=1 << 40)
        for number in range(20_000):
            timeline.add(number % 100, number % 300, number * 1000, number * 1000 + 999)
        taken, _most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 125 * 20_000
    assert timeline.total() == 20_000 * 999
