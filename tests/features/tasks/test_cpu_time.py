"""CPU time of entries: schedstat first, then times of switches, then perf's task clock, each ns once."""

from __future__ import annotations

from ringbytes import FORMAT, ended, fork, sample

from turbotui.features.tasks.application_totals import ApplicationTotals, Marks
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, TaskRow, task_rows
from turbotui.features.tasks.thread_totals import ThreadTotals
from turbotui.features.tasks.watched_application import WatchedApplication
from turbotui.machine.host import PerfAttr
from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskCounter, TaskSampling
from turbotui.machine.tasks.slices import RunTimes

ROOT, CHILD = 100, 200
CPUS = frozenset({0})


def aggregator(*, ended_kept: int = 10) -> SampleAggregator:
    return SampleAggregator(
        TaskSampling(Mode.INHERITED, SamplingMoment.SWITCHES, FORMAT, ()), {77: ROOT}, scheduled=True, ended=ended_kept
    )


def feed(aggregate: SampleAggregator, *records: bytes, ran: RunTimes | None = None) -> None:
    assert aggregate.time is not None
    aggregate.time.cover(ran)
    aggregate.feed([RingRecords(0, tuple(Decoder(FORMAT, 2).records(b"".join(records))))])
    if ran is not None:
        aggregate.spend(ran)


def stat(aggregate: SampleAggregator, tid: int, spent: int, now: int) -> None:
    [entry] = [totals for totals in aggregate.of_threads() if totals.tid == tid]
    assert aggregate.time is not None
    aggregate.time.read(entry, spent, now)


def row(aggregate: SampleAggregator, tid: int) -> TaskRow:
    return next(task_row for task_row in task_rows(aggregate, Grouping.THREAD) if task_row.tid == tid)


def test_without_anything_better_the_task_clock_counts_and_the_row_is_an_estimate() -> None:
    aggregate = aggregator()
    feed(aggregate, sample(ROOT, ROOT, 1_000, (1, 400)))
    assert (row(aggregate, ROOT).cpu_ns, row(aggregate, ROOT).counts["run"], row(aggregate, ROOT).guessed) == (
        400,
        400,
        True,
    )


def test_schedstat_is_the_cpu_time_and_what_ran_since_is_added_once() -> None:
    aggregate = aggregator()
    assert aggregate.time is not None
    aggregate.time.base(ROOT, 5_000)  # it ran before it was watched
    feed(aggregate, sample(ROOT, ROOT, 1_000, (1, 400)))
    stat(aggregate, ROOT, 5_900, 1_300)
    assert (row(aggregate, ROOT).cpu_ns, row(aggregate, ROOT).guessed) == (900, False)
    feed(aggregate, sample(ROOT, ROOT, 1_500, (2, 800)))  # from 1,100 to 1,500: up to 1,300 it is in the schedstat
    assert (row(aggregate, ROOT).cpu_ns, row(aggregate, ROOT).guessed) == (1_100, True)
    feed(aggregate, sample(ROOT, ROOT, 9_000, (3, 1_000)))
    assert row(aggregate, ROOT).cpu_ns == 1_300
    stat(aggregate, ROOT, 7_000, 9_100)
    assert (row(aggregate, ROOT).cpu_ns, row(aggregate, ROOT).guessed) == (2_000, False)


def test_schedstat_takes_away_what_other_clocks_had_too_much_but_nothing_that_was_told() -> None:
    aggregate = aggregator()
    assert aggregate.time is not None
    aggregate.time.base(ROOT, 0)
    feed(aggregate, sample(ROOT, ROOT, 1_000, (1, 400)), ran=RunTimes({ROOT: 450}, {}, CPUS, 2_000))
    stat(aggregate, ROOT, 440, 2_000)
    assert row(aggregate, ROOT).cpu_ns == 440
    marks = aggregate.marks()
    stat(aggregate, ROOT, 430, 2_100)
    assert [task_row.cpu_ns for task_row in task_rows(aggregate, Grouping.THREAD)] == [440]
    assert task_rows(aggregate, Grouping.THREAD, marks) == []


def test_a_thread_whose_number_was_met_without_its_birth_or_base_is_never_read() -> None:
    aggregate = aggregator()
    feed(aggregate, sample(ROOT, ROOT, 1_000, (1, 400)))
    stat(aggregate, ROOT, 1_000_000, 1_300)
    assert row(aggregate, ROOT).cpu_ns == 400


def test_a_thread_that_was_born_under_watch_begins_at_zero() -> None:
    aggregate = aggregator()
    feed(aggregate, fork(ROOT, ROOT, CHILD, ROOT, 10), sample(ROOT, CHILD, 1_000, (1, 400)))
    stat(aggregate, CHILD, 650, 1_100)
    assert row(aggregate, CHILD).cpu_ns == 650


def test_times_of_switches_take_the_place_of_the_task_clock() -> None:
    aggregate = aggregator()
    feed(aggregate, sample(ROOT, ROOT, 1_000, (1, 400)), ran=RunTimes({ROOT: 430, 7: 99}, {}, CPUS, 2_000))
    assert (row(aggregate, ROOT).cpu_ns, row(aggregate, ROOT).counts["run"], row(aggregate, ROOT).guessed) == (
        430,
        400,
        False,
    )
    assert len(aggregate.entries()) == 1, "what is not watched has no row"


def test_where_their_records_were_lost_the_task_clock_stands_in() -> None:
    aggregate = aggregator()
    feed(aggregate, sample(ROOT, ROOT, 1_000, (1, 400)), ran=RunTimes({ROOT: 150}, {0: ((700, 850),)}, CPUS, 2_000))
    assert (row(aggregate, ROOT).cpu_ns, row(aggregate, ROOT).guessed) == (300, True)


def test_slices_that_are_known_as_one_sample_lie_between_it_and_the_one_before() -> None:
    """Two threads take turns on a CPU; of the second half of their time nobody knows who ran."""
    aggregate = aggregator()
    feed(aggregate, sample(ROOT, ROOT, 1_000, (1, 100)), ran=RunTimes({ROOT: 100}, {}, CPUS, 1_000))
    ran = RunTimes({ROOT: 250}, {0: ((1_500, 2_000),)}, CPUS, 2_000)
    feed(aggregate, sample(ROOT, ROOT, 2_000, (51, 600)), ran=ran)
    assert (row(aggregate, ROOT).cpu_ns, row(aggregate, ROOT).guessed) == (600, True)


def test_times_of_a_thread_without_samples_wait_for_its_entry() -> None:
    aggregate = aggregator()
    feed(aggregate, fork(ROOT, ROOT, CHILD, ROOT, 10), ran=RunTimes({CHILD: 70}, {}, CPUS, 500))
    feed(aggregate, sample(ROOT, CHILD, 1_000, (1, 40)), ran=RunTimes({CHILD: 5}, {}, CPUS, 2_000))
    assert row(aggregate, CHILD).cpu_ns == 75


def test_threads_that_were_put_together_keep_their_cpu_time() -> None:
    aggregate = aggregator(ended_kept=1)
    for number in range(5):
        tid, time = CHILD + number, 10_000_000_000 * (number + 1)
        feed(aggregate, fork(ROOT, ROOT, tid, ROOT, time), sample(ROOT, tid, time + 900, (1, 400)),
             ended(ROOT, tid, time + 950), ran=RunTimes({tid: 500}, {}, CPUS, time + 5_000_000_000))
        aggregate.tidy()
    assert aggregate.together > 0
    place = aggregate.names.index("cpu-time")
    assert aggregate.sums()[place] == 5 * 500


def test_a_thread_that_has_just_ended_waits_for_its_last_switch() -> None:
    aggregate = aggregator(ended_kept=0)
    feed(aggregate, fork(ROOT, ROOT, CHILD, ROOT, 10), sample(ROOT, CHILD, 900, (1, 400)), ended(ROOT, CHILD, 950),
         ran=RunTimes({CHILD: 500}, {}, CPUS, 1_000))
    aggregate.tidy()
    feed(aggregate, ran=RunTimes({CHILD: 50}, {}, CPUS, 3_000_000_000))
    assert row(aggregate, CHILD).cpu_ns == 550


def test_an_entry_stays_an_estimate_when_one_is_put_into_it() -> None:
    totals, other = (ThreadTotals(n, 1, n, 1, "a", [0, 0]) for n in (1, 2))
    other.guessed = True
    totals.add_thread(other, 1)
    assert totals.guessed


def test_what_is_read_after_the_end_of_an_interval_is_the_next_one_s() -> None:
    aggregate = aggregator()
    assert aggregate.time is not None
    aggregate.time.base(ROOT, 0)
    feed(aggregate, sample(ROOT, ROOT, 50_000, (1, 50_000)))
    stat(aggregate, ROOT, 62_000, 62_000)  # read 12,000 ns after the records were taken
    aggregate.cut(50_000)
    assert row(aggregate, ROOT).cpu_ns == 50_000
    marks = aggregate.marks()
    assert task_rows(aggregate, Grouping.THREAD, marks) == []  # the same interval in another light is the same
    aggregate.go_on()
    stat(aggregate, ROOT, 99_000, 99_000)
    aggregate.cut(50_000)
    assert [one.cpu_ns for one in task_rows(aggregate, Grouping.THREAD, marks)] == [49_000]  # nothing is lost, or twice


def test_of_whole_cpus_the_task_clock_is_cut_and_idle_time_is_not() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {})
    feed_plain(aggregate, sample(ROOT, ROOT, 60_000, (1, 60_000)), sample(0, 0, 160_000, (2, 160_000)))
    aggregate.cut(50_000)
    assert row(aggregate, ROOT).cpu_ns == 50_000
    assert aggregate.apart()["idle"].totals[aggregate.names.index("run")] == 100_000
    aggregate.go_on()
    assert row(aggregate, ROOT).cpu_ns == 60_000


def test_counts_beyond_an_interval_are_cut_with_the_run_time_so_that_the_clock_stays() -> None:
    """A thread that ran for 140,000 ns at 2 cycles a ns, of which the last 40,000 are the next interval's."""
    aggregate = SampleAggregator(counting("cycles"), {})
    feed_plain(aggregate, sample(ROOT, ROOT, 140_000, (1, 140_000, 280_000)))
    aggregate.cut(100_000)
    assert row(aggregate, ROOT).counts == {"switches": 1, "run": 100_000, "cycles": 200_000}
    marks = aggregate.marks()
    aggregate.go_on()
    feed_plain(aggregate, sample(ROOT, ROOT, 200_000, (2, 200_000, 400_000)))
    [rest] = task_rows(aggregate, Grouping.THREAD, marks)
    assert (rest.counts["run"], rest.counts["cycles"]) == (100_000, 200_000)


def test_multiplexed_sets_have_no_more_time_together_than_the_interval() -> None:
    """The first set was on for 70,000 of 100,000 ns; the second one's records go on for 20,000 ns beyond them."""
    first, second = (SampleAggregator(counting("cycles"), {}) for _ in range(2))
    feed_plain(first, sample(ROOT, ROOT, 70_000, (1, 70_000, 140_000)))
    feed_plain(second, sample(ROOT, ROOT, 120_000, (1, 50_000, 100_000)))
    watched = watched_sets(first, second, active=1)
    watched.end()
    assert [row(aggregate, ROOT).counts["run"] for aggregate in (first, second)] == [70_000, 30_000]
    assert row(second, ROOT).counts["cycles"] == 60_000


def counting(*events: str) -> TaskSampling:
    return TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT,
                        tuple(TaskCounter(event, PerfAttr(0, 0)) for event in events))


def watched_sets(*aggregators: SampleAggregator, active: int) -> WatchedApplication:
    marks: Marks = ({},) * len(aggregators)
    return WatchedApplication(Application("all", everything=True), (), aggregators, ApplicationTotals(aggregators),
                              Numerics(), (), None, 0, marks, 0, marks, 0, active, taken_ns=100_000)


def feed_plain(aggregate: SampleAggregator, *records: bytes) -> None:
    aggregate.feed([RingRecords(0, tuple(Decoder(FORMAT, 2).records(b"".join(records))))])


def test_what_a_thread_that_is_put_together_with_others_had_beyond_its_interval_is_theirs() -> None:
    aggregate = aggregator(ended_kept=1)
    for number in range(5):
        tid, time = CHILD + number, 10_000_000_000 * (number + 1)
        feed(aggregate, fork(ROOT, ROOT, tid, ROOT, time), sample(ROOT, tid, time + 900, (1, 400)),
             ended(ROOT, tid, time + 950), ran=RunTimes({tid: 500}, {}, CPUS, time + 5_000_000_000))
    aggregate.cut(300)
    place = aggregate.names.index("cpu-time")
    assert aggregate.sums()[place] == 5 * 300
    aggregate.tidy()
    assert aggregate.together > 0
    aggregate.go_on()
    assert aggregate.sums()[place] == 5 * 500
