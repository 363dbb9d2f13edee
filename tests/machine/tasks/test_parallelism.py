"""Run time weighed by parallelism, on programs of known shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.tasks.parallelism import Parallelism, ParallelSpan, ParallelTime, SerialStretch

Slice = tuple[int, int, int]
"""A thread, and the start and the end of a time in which it was on a CPU."""
SLICES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4_000), st.integers(1, 900)), max_size=60)


def parallelism(slices: Iterable[Slice], steps: Sequence[int] = (), began: int | None = 0) -> Parallelism:
    """Slices that come in order of their ends, settled at each of the times once all of its slices have come."""
    result, left = Parallelism(began, keep_stretches=True), sorted(slices, key=lambda entry: entry[2])
    for until in steps:
        for item in [entry for entry in left if entry[1] < until]:
            left.remove(item)
            result.add(*item)
        result.settle(until)
    for item in left:
        result.add(*item)
    result.finish()
    return result



def numbers(time: ParallelTime) -> tuple[float, float, float, float]:
    return time.ran, time.weighed, time.crowd, time.alone


def test_a_serial_program_is_its_own_wall_clock_time() -> None:
    result = parallelism([(1, 0, 100), (2, 100, 400), (1, 450, 500)])
    assert result.threads == {1: ParallelTime(150, 150, 150, 150), 2: ParallelTime(300, 300, 300, 300)}
    assert result.span == ParallelSpan(span=500, ran=450, covered=450, alone=450)


def test_fork_and_join() -> None:
    """One thread for 100 ns, four for 400, one for 100: two thirds of the time are parallel, a quarter of it each's."""
    result = parallelism([(1, 0, 100), *((thread, 100, 500) for thread in (1, 2, 3, 4)), (1, 500, 600)])
    assert numbers(result.threads[1]) == pytest.approx((600, 300, 200 + 1600, 200))
    assert numbers(result.threads[3]) == pytest.approx((400, 100, 1600, 0))
    assert (result.span.covered, result.span.alone) == (600, 200)


def test_a_pipeline_has_its_slow_stage() -> None:
    """The reader runs for 20 of each 100 ns, the slow stage for all of it, the writer for 30 in the reader's pause."""
    slices = [(2, 0, 1_000)]
    for at in range(0, 1_000, 100):
        slices += [(1, at, at + 20), (3, at + 40, at + 70)]
    result = parallelism(slices)
    assert numbers(result.threads[1]) == pytest.approx((200, 100, 400, 0))
    assert numbers(result.threads[3]) == pytest.approx((300, 150, 600, 0))
    assert numbers(result.threads[2]) == pytest.approx((1_000, 750, 500 + 1_000, 500))


def test_a_convoy_at_a_lock_is_serial_although_it_has_many_threads() -> None:
    result = parallelism([(turn % 8, 50 * turn, 50 * turn + 50) for turn in range(80)])
    assert result.span.alone == result.span.covered == 4_000
    assert {thread: time.alone for thread, time in result.threads.items()} == dict.fromkeys(range(8), 500)


def test_make_with_four_jobs_and_a_linker() -> None:
    compilers = [(10 + job, 100 * (job // 4), 100 * (job // 4) + 100) for job in range(12)]
    result = parallelism([*compilers, (99, 300, 510)])
    assert result.threads[99] == ParallelTime(210, 210, 210, 210)
    assert sum(time.weighed for thread, time in result.threads.items() if thread != 99) == pytest.approx(300)
    assert result.longest_stretches() == [SerialStretch(300, 510, 99, 210)]


@given(SLICES, st.lists(st.integers(0, 5_000), max_size=6))
def test_shares_of_all_threads_and_idle_time_are_the_time_that_passed(slices: list[Slice], steps: list[int]) -> None:
    made = [(thread, start, start + length) for thread, start, length in slices]
    result = parallelism(made, sorted(steps))
    count = [sum(start <= at < end for _thread, start, end in made) for at in range(5_000)]
    span = max((end for _thread, _start, end in made), default=0)
    assert result.span.span == max([span, *steps])
    assert sum(time.weighed for time in result.threads.values()) == pytest.approx(sum(map(bool, count)))
    assert result.span.covered == sum(map(bool, count))
    assert result.span.alone == sum(running == 1 for running in count)
    for thread, time in result.threads.items():
        own = [at for item, start, end in made if item == thread for at in range(start, end)]
        assert numbers(time) == pytest.approx((len(own), sum(1 / count[at] for at in own), sum(count[at] for at in own),
                                               sum(count[at] == 1 for at in own)))


def test_a_slice_over_the_end_of_a_span_is_divided_between_both() -> None:
    result = Parallelism(0)
    result.add(1, 0, 300)
    assert result.settle(100) == [(0, 100, 1)]
    assert result.take() == (ParallelSpan(100, 100, 100, 100), {1: ParallelTime(100, 100, 100, 100)})
    result.add(2, 100, 300)
    result.settle(300)
    assert result.take()[1] == {1: ParallelTime(200, 100, 400, 0), 2: ParallelTime(200, 100, 400, 0)}


def test_what_comes_after_its_moment_was_settled_is_late_and_in_nobodys_time() -> None:
    result = Parallelism(50)
    result.add(1, 0, 300)
    result.settle(200)
    result.add(2, 0, 300)
    result.settle(300)
    assert result.span.late == 150
    assert numbers(result.threads[2]) == pytest.approx((100, 50, 200, 0))
    assert numbers(result.threads[1]) == pytest.approx((250, 200, 350, 150))


def test_moments_wait_for_the_thread_that_has_not_reported() -> None:
    result = Parallelism(0)
    result.add(1, 0, 400)
    result.settle(400, open_since=150)
    assert result.span.span == 150
    result.add(2, 150, 400)
    result.settle(400)
    assert numbers(result.threads[2]) == pytest.approx((250, 125, 500, 0))


def test_a_command_begins_with_its_first_slice_and_merged_threads_go_on_as_one() -> None:
    result = parallelism([(1, 10_000, 10_100), (2, 10_100, 10_300)], began=None)
    assert result.span.span == 300
    result.add(3, 10_300, 10_400)
    result.renumber({2: 1, 3: 1})
    result.finish()
    assert result.threads == {1: ParallelTime(400, 400, 400, 400)}


def test_a_stretch_goes_on_over_a_short_pause_and_ends_with_another_thread() -> None:
    pause = 90_000_000
    result = parallelism([(1, 0, 100), (1, pause, pause + 100), (2, pause + 100, pause + 150), (1, pause + 150,
                                                                                                pause + 300)])
    assert result.longest_stretches() == [
        SerialStretch(0, pause + 100, 1, 200), SerialStretch(pause + 100, pause + 150, 2, 50),
        SerialStretch(pause + 150, pause + 300, 1, 150)]


def test_only_the_longest_stretches_are_kept() -> None:
    result = parallelism([(at % 2, 1_000 * at, 1_000 * at + at + 1) for at in range(500)], [40_000, 90_000])
    kept = result.longest_stretches()
    assert len(kept) < 100
    assert min(stretch.ran for stretch in kept) > 400


def test_more_threads_than_cpus_are_noticed() -> None:
    result = Parallelism(0, cpus=2)
    for thread in (1, 2, 3):
        result.add(thread, 10 * thread, 100)
    result.finish()
    assert result.span.crowded == 70


def test_slices_of_another_clock_do_not_pile_up() -> None:
    result = Parallelism(10**12)
    for at in range(200_002):
        result.add(1, at, at + 1)
    assert result.settle(10**6) == []
    assert result.overrun
    result.finish()
    assert result.threads == {}
