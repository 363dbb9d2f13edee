"""The memory of totals is bounded whatever runs, and no count is lost."""

from __future__ import annotations

import struct

from ringbytes import FORMAT, comm, ended, fork, group, last_counts, record, sample

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, active_tasks, task_rows
from turbotui.features.tasks.timeline import Timeline
from turbotui.features.tasks.watched_application import moved_marks
from turbotui.machine.perf_records import NOBODY, parse_record
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling


def ring(*records: bytes) -> RingRecords:
    return RingRecords(0, tuple(parse_record(data, FORMAT) for data in records))


def whole_sample(tid: int, time: int, values: tuple[int, ...]) -> bytes:
    """A sample of counters that counted all the time."""
    return record(9, struct.pack("QIIQII", 77, 1, tid, time, 0, 0) + group(values, values[1], values[1]))


def test_processes_that_end_in_their_only_slice_are_put_together_on_whole_cpus() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, ended=50)
    most = 0
    for number in range(1, 2_001):
        tid, time = 100 + number, number * 10
        # waited for already or not: the last switch-out knows the number, or nobody's
        out = sample(tid, tid, time + 2, (number, number * 7)) if number % 2 else sample(
            tid, NOBODY, time + 2, (number, number * 7))
        aggregate.feed([ring(fork(tid, 1, tid, 1, time), ended(tid, tid, time + 1), out)])
        if aggregate.is_full:
            aggregate.tidy()
        most = max(most, len(aggregate.entries()))
    assert most <= 60
    assert aggregate.sums() == (2_000, 14_000)
    assert sum(totals.threads for totals in aggregate.entries()) == 2_000


def test_tasks_that_counted_nothing_in_an_interval_are_passed_over() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, ended=50)
    for tid in range(100, 140):
        aggregate.feed([ring(fork(5, 1, tid, 1, tid), sample(5, tid, tid + 1, (tid, tid * 7)))])
    marks = aggregate.marks()
    assert active_tasks(aggregate, Grouping.THREAD, marks) == set()
    aggregate.feed([ring(sample(5, 101, 500, (200, 2_000)))])
    assert active_tasks(aggregate, Grouping.THREAD, marks) == {(5, 101)}
    assert [row.tid for row in task_rows(aggregate, Grouping.THREAD, marks)] == [101]
    [process] = task_rows(aggregate, Grouping.PROCESS, marks)
    assert process.threads == 40, "a process has its threads that did nothing too"


def test_heirs_keep_their_entry_until_their_last_counts_have_come() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.INHERITED, SamplingMoment.SWITCHES, FORMAT, (), last=True), {77: 1},
                                 ended=0)
    assert aggregate.choice.width == 3  # switches, run time, and the event that reports them
    aggregate.feed([ring(fork(5, 1, 5, 1, 10), ended(5, 5, 20))])
    aggregate.tidy()
    aggregate.feed([ring(last_counts(5, 5, 21, (1, 50, 0)))])
    aggregate.tidy()
    assert aggregate.sums() == (1, 50)


def test_of_threads_that_live_those_that_ran_least_are_put_together() -> None:
    for mode in (Mode.CPUS, Mode.INHERITED):
        aggregate = SampleAggregator(
            TaskSampling(mode, SamplingMoment.SWITCHES, FORMAT, (), last=mode is Mode.INHERITED), {77: 1}, alive=40
        )
        other, most, ran = (0,) * (mode is Mode.INHERITED), 0, [0] * 1_000
        switches = run = 0
        for turn in range(3):
            for number in range(1_000):
                tid, time, more = 100 + number, turn * 1_000_000 + 10 * number, 1_000_000 + number
                if not turn:
                    aggregate.feed([ring(fork(1, 1, tid, 1, time))])
                ran[number] += more
                switches, run = switches + 1, run + more
                own = (turn + 1, ran[number]) if mode is Mode.INHERITED else (switches, run)
                aggregate.feed([ring(whole_sample(tid, time + 2, (*own, *other)))])
                if aggregate.is_full:
                    aggregate.tidy()
                most = max(most, len(aggregate.entries()))
        assert most <= 50
        assert aggregate.sums() == (3_000, run), "not one count is lost or booked twice"
        assert sum(totals.threads for totals in aggregate.entries()) == 1_000, "who has a row again is not in two"
        aggregate.tidy()
        own_rows = {totals.tid: totals.totals[1] for totals in aggregate.entries() if totals.tid > 0}
        assert len(own_rows) <= 40
        assert aggregate.together == 1_000 - len(own_rows)
        assert not any(totals.is_incomplete(1) for totals in aggregate.entries())


def test_a_process_whose_threads_are_in_other_rows_does_not_tell_what_it_ran_in_all() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, ended=0)
    aggregate.feed([ring(*(data for tid in (5, 6) for data in (
        comm(5, tid, b"web", tid), sample(5, tid, 10 * tid, (tid, 10 * tid)))))])
    [row] = task_rows(aggregate, Grouping.PROCESS)
    assert row.whole_run == 60
    aggregate.feed([ring(ended(5, 6, 100))])
    marks = aggregate.marks()
    aggregate.tidy()
    aggregate.feed([ring(sample(5, 5, 200, (9, 90)))])
    row = next(row for row in task_rows(aggregate, Grouping.PROCESS, marks) if row.pid == 5)
    assert (row.counts["run"], row.whole_run) == (30, None), "it was 80 of 90"
    [thread] = [row for row in task_rows(aggregate, Grouping.THREAD, marks) if row.tid == 5]
    assert thread.whole_run == 80
    [command] = task_rows(aggregate, Grouping.COMMAND, marks)
    assert command.whole_run == 90
    aggregate.feed([ring(ended(5, 5, 300), fork(5, 1, 5, 1, 400), comm(5, 5, b"new", 401),
                         sample(5, 5, 500, (11, 120)))])
    new = next(row for row in task_rows(aggregate, Grouping.PROCESS, marks) if row.pid == 5)
    assert new.whole_run is not None, "another process"


def test_a_thread_that_has_a_row_again_does_not_tell_what_it_ran_in_all() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, alive=1)
    aggregate.feed([ring(*(sample(tid, tid, tid, (tid, 10 * tid)) for tid in (5, 6, 7)))])
    aggregate.tidy()
    marks = aggregate.marks()
    aggregate.feed([ring(sample(6, 6, 50, (8, 80)))])
    [row] = task_rows(aggregate, Grouping.THREAD, marks)
    assert (row.tid, row.counts["run"], row.whole_run) == (6, 10, None)


def test_a_number_that_is_used_again_is_not_taken_out_of_those_put_together() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, alive=1)
    for tid in (5, 6, 7):
        aggregate.feed([ring(fork(tid, 1, tid, 1, tid), sample(tid, tid, tid + 10, (tid, 10 * tid)))])
    aggregate.tidy()
    assert aggregate.together == 2
    aggregate.feed([ring(ended(5, 5, 50), fork(5, 1, 5, 1, 60), sample(5, 5, 61, (8, 80)))])
    assert sum(totals.threads for totals in aggregate.entries()) == 4
    assert aggregate.sums() == (8, 80)


def test_what_came_before_an_interval_stays_so_when_its_thread_is_put_together_with_others() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, alive=1)
    second = 1_000_000_000
    aggregate.feed([ring(*(sample(tid, tid, tid, (tid, 10 * tid)) for tid in (5, 6, 7)))])
    aggregate.began = second
    aggregate.feed([ring(sample(5, 5, second + 1, (8, second)))])
    early = sum(item[1] for item in aggregate.early().values())
    assert early > 0
    aggregate._entries[-1, 7].totals[1] += 2 * second  # it ran more
    aggregate.tidy()
    aggregate.tidy()
    assert sum(item[1] for item in aggregate.early().values()) == early
    assert all(serial in {totals.serial for totals in aggregate.entries()} for serial in aggregate.early())


def test_a_shared_counter_marks_the_threads_that_ran_meanwhile() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {})
    millisecond = 1_000_000

    def shared(tid: int, time: int, enabled: int, run: int) -> bytes:
        body = struct.pack("QIIQII", 77, tid, tid, time, 0, 0) + group((time, run), enabled, run)
        return record(9, body)

    aggregate.feed([ring(shared(5, 1, 50 * millisecond, 50 * millisecond),
                         shared(6, 2, 100 * millisecond, 70 * millisecond))])
    assert {totals.tid: totals.is_incomplete(1) for totals in aggregate.entries()} == {5: False, 6: True}


def test_many_threads_make_a_timeline_coarser_not_larger() -> None:
    line = Timeline(most=1_000)
    for thread in range(300):
        for turn in range(100):
            start = turn * 50_000 + thread
            line.add(thread, 0, start, start + 20_000)
    entries = sum(len(entries.bins) for entries in line._lines.values())
    assert entries <= 1_100
    assert line.total() == 300 * 100 * 20_000


def test_a_timeline_that_nobody_draws_keeps_nothing() -> None:
    line = Timeline(most=0)
    line.add(1, 0, 10, 20)
    assert line.total() == 0


def test_threads_that_ended_long_ago_are_looked_at_no_more_and_nothing_is_lost() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, ended=60)
    marks, before, booked, run = aggregate.marks(), aggregate.marks(), 0, 0
    for second in range(1, 61):
        records = []
        for number in range(4):
            tid, time = 1_000 * (1 + number) + second, second * 10**9 + number * 10**6
            run += second + number
            records += [fork(5, 1, tid, 1, time), sample(5, tid, time + 1, (second, run))]
            records += [ended(5, tid, time + 2)] if number else []
        if second > 2:  # of a thread that ended 1.9 s ago and had to wait for a CPU to leave it
            run += 1
            records.append(sample(5, 2_000 + second - 2, second * 10**9 - 100_000_000, (second, run)))
        aggregate.feed([ring(*records)])
        marks, before = (moved_marks(each, moved) for moved in [aggregate.tidy()] for each in (marks, before))
        rows = {row.tid: row.cpu_ns for row in task_rows(aggregate, Grouping.THREAD, marks)}
        [process] = task_rows(aggregate, Grouping.PROCESS, marks)
        assert process.cpu_ns == sum(rows.values()) == aggregate.sums_since(marks)[1], second
        assert sum(totals.totals[1] for totals in aggregate.entries()) == run
        assert process.whole_run == (None if any(totals.pid < 0 for totals in aggregate.entries()) else run)
        before, marks = marks, aggregate.marks()
        again = {row.tid: row.cpu_ns for row in task_rows(aggregate, Grouping.THREAD, before)}
        assert again == rows, "the same interval in another light"
        booked += sum(rows.values())
    assert booked == run == aggregate.sums()[1]
    everyone = aggregate.entries()
    assert sum(totals.threads for totals in everyone) == 240, "no thread is in two entries"
    assert len(marks) == len(everyone) <= 60 + 60 + 5
    assert sum(totals.ended for totals in aggregate.recent()) < 20
