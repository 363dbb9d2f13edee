"""A thread is counted to its end: by its last counts if the kernel reports them, else by the time of its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from ringbytes import FORMAT, comm, ended, fork, last_counts, sample, switch

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.watched_application import late_marks
from turbotui.machine.host import PerfAttr
from turbotui.machine.perf_records import CounterReopened, GroupReading, Sample, parse_record
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskCounter, TaskSampling
from turbotui.machine.tasks.tracer import Closing

FAULTS = TaskCounter("faults", PerfAttr(1, 2))


def aggregator(when: SamplingMoment = SamplingMoment.SWITCHES, *, last: bool = True,
               mode: Mode = Mode.INHERITED) -> SampleAggregator:
    return SampleAggregator(
        TaskSampling(mode, when, FORMAT, (FAULTS,) if when is not SamplingMoment.ENDS else (), last=last), {77: 5}
    )


def ring(cpu: int, *records: bytes) -> RingRecords:
    return RingRecords(cpu, tuple(parse_record(data, FORMAT) for data in records))


def closing(root: int, cpu: int, *values: int) -> Closing:
    return Closing(root, cpu, GroupReading(values[1], values[1], values))


def test_a_thread_that_was_never_sampled_has_what_it_counted_at_its_end() -> None:
    aggregate = aggregator()
    aggregate.feed([ring(0, fork(5, 5, 6, 5, 10), ended(5, 6, 20), last_counts(5, 6, 21, (0, 900, 3)))])
    [entry] = aggregate.entries()
    assert (entry.tid, entry.totals, entry.ended) == (6, [0, 900, 3], True)


def test_what_no_heir_counted_is_the_first_threads() -> None:
    aggregate = aggregator()
    aggregate.feed([ring(0, fork(5, 5, 6, 5, 10), sample(5, 5, 15, (1, 400, 2)), ended(5, 6, 20),
                         last_counts(5, 6, 21, (0, 900, 3))), ring(1, last_counts(5, 6, 22, (1, 50, 0)))])
    aggregate.close([closing(5, 0, 1, 1_700, 9), closing(5, 1, 1, 50, 0)])
    assert {totals.tid: totals.totals for totals in aggregate.entries()} == {5: [1, 800, 6], 6: [1, 950, 3]}
    assert aggregate.tail == (0, 0, 0)


def test_while_an_heir_lives_nobody_is_given_what_may_be_its() -> None:
    aggregate = aggregator()
    aggregate.feed([ring(0, fork(5, 5, 6, 5, 10), sample(5, 5, 15, (1, 400, 2)))])
    aggregate.close([closing(5, 0, 1, 1_700, 9)])
    assert aggregate.sums() == (1, 400, 2)
    assert aggregate.tail == (0, 1_300, 7)


def test_records_that_come_before_those_of_another_ring_are_of_the_same_life() -> None:
    aggregate = aggregator()
    aggregate.name(5, "parent")
    aggregate.feed([ring(1, sample(6, 6, 30, (1, 100, 1)), ended(6, 6, 40))])  # taken before its birth was
    aggregate.feed([ring(0, fork(6, 5, 6, 5, 10)), ring(1, last_counts(6, 6, 41, (1, 140, 1)))])
    [entry] = aggregate.entries()
    assert (entry.totals, entry.name) == ([1, 140, 1], "parent")
    aggregate.feed([ring(0, fork(6, 5, 6, 5, 90)), ring(1, last_counts(6, 6, 99, (0, 7, 0)))])
    assert sorted(totals.totals for totals in aggregate.entries()) == [[0, 7, 0], [1, 140, 1]]


def test_without_samples_run_time_is_that_between_switches_and_to_the_end() -> None:
    aggregate = aggregator(SamplingMoment.ENDS, last=False)
    aggregate.feed([ring(0, comm(5, 5, b"first", 100), switch(5, 130, out=True), fork(6, 5, 6, 5, 120),
                         switch(6, 200, out=False), switch(6, 250, out=True), switch(6, 300, out=False),
                         ended(6, 6, 345))])
    assert {totals.tid: totals.totals for totals in aggregate.entries()} == {5: [30], 6: [95]}
    assert aggregate.timeline.total() == 125


def test_a_tick_and_the_switches_around_it_are_not_counted_twice() -> None:
    aggregate = aggregator(SamplingMoment.TICKS, last=False)
    aggregate.feed(
        [
            ring(0, switch(6, 100, out=False)),
            RingRecords(0, (Sample(77, 6, 6, 150, 0, GroupReading(60, 60, (60, 2))),)),
            ring(0, switch(6, 190, out=True)),
        ]
    )
    assert [totals.totals for totals in aggregate.entries()] == [[100, 2]]


def test_a_reading_that_is_older_takes_nothing_away() -> None:
    aggregate = aggregator()
    aggregate.feed([ring(0, sample(5, 5, 10, (3, 100, 9)))])
    aggregate.feed([ring(0, sample(5, 5, 9, (2, 100, 7)))])
    assert aggregate.sums() == (3, 100, 9)


def test_counters_of_a_cpu_that_came_back_begin_at_zero() -> None:
    aggregate = aggregator(mode=Mode.CPUS, last=False)
    aggregate.feed([ring(1, sample(5, 5, 10, (3, 100, 9)))])
    aggregate.feed([RingRecords(1, (CounterReopened(0),)), ring(1, sample(5, 5, 20, (1, 30, 2)))])
    assert aggregate.sums() == (4, 130, 11)


@given(st.integers(1, 10**10), st.integers(0, 10**10))
def test_an_interval_holds_no_more_than_there_was_time_for(ran: int, inside: int) -> None:
    aggregate = aggregator()
    aggregate.feed([ring(0, sample(5, 5, 10**11, (1, 0, 0)))])
    marks = aggregate.marks()
    aggregate.began = 10**11
    aggregate.feed([ring(0, sample(5, 5, 10**11 + inside, (2, ran, 0)))])
    before = late_marks(marks, aggregate.early())[0].totals[1]
    shown = ran - before
    assert shown <= max(inside, 0) + 100_000_000 + 1
    assert aggregate.sums()[1] == ran  # the whole run has it
