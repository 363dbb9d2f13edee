from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from ringbytes import FORMAT, comm, ended, fork, lost, sample

from turbotui.features.tasks.application_totals import ApplicationTotals
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, TaskRow, task_rows
from turbotui.features.tasks.thread_totals import Thread
from turbotui.features.tasks.watched_application import moved_marks
from turbotui.machine.perf_records import GroupReading, parse_record
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.memory import pages_for
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.machine.tasks.tracer import Closing


def aggregator(mode: Mode, roots: dict[int, int] | None = None) -> SampleAggregator:
    return SampleAggregator(TaskSampling(mode, SamplingMoment.SWITCHES, FORMAT, ()), roots or {})


def ring(cpu: int, *records: bytes) -> RingRecords:
    return RingRecords(cpu, tuple(parse_record(data, FORMAT) for data in records))


def closing(root: int, cpu: int, *values: int) -> Closing:
    return Closing(root, cpu, GroupReading(100, values[1], values))


def test_differences_are_booked_once_and_across_cpus() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.feed(
        [ring(0, sample(5, 5, 10, (1, 100)), sample(5, 5, 30, (2, 150))), ring(1, sample(5, 5, 20, (1, 40), 1))]
    )
    [entry] = aggregate.entries()
    assert entry.totals == [3, 190]
    assert entry.cpus == {0, 1}


def test_a_thread_that_nobody_inherited_from_gets_the_rest_of_the_final_read() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.feed([ring(0, sample(5, 5, 10, (1, 100)))])
    aggregate.close([closing(5, 0, 2, 130), closing(5, 1, 0, 7)])
    assert aggregate.entries()[0].totals == [2, 137]
    assert aggregate.tail == (0, 0)


def test_what_heirs_did_after_their_last_samples_is_kept_apart() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.feed([ring(0, fork(5, 5, 6, 5, 5), sample(5, 5, 10, (1, 100)), sample(5, 6, 20, (1, 50)))])
    aggregate.close([closing(5, 0, 3, 180)])
    assert aggregate.sums() == (2, 150)
    assert aggregate.tail == (1, 30)
    assert aggregate.read == (3, 180)


def test_on_whole_cpus_a_count_belongs_to_the_thread_that_is_switched_out() -> None:
    aggregate = aggregator(Mode.CPUS)
    aggregate.feed([ring(0, sample(5, 5, 10, (1, 100)), sample(0, 0, 20, (2, 130)), sample(5, 5, 30, (3, 200)))])
    assert {totals.tid: totals.totals for totals in aggregate.entries()} == {5: [2, 170], 0: [1, 30]}
    assert [row.tid for row in task_rows(aggregate, Grouping.THREAD)] == [5]


def test_the_sum_of_rows_the_idle_task_and_others_are_what_was_booked() -> None:
    choice = TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ())
    for kept in (None, {5}):
        aggregate = SampleAggregator(choice, {}, kept=kept)
        aggregate.feed([ring(0, comm(5, 5, b"five", 1), sample(5, 5, 10, (1, 100)), sample(0, 0, 20, (2, 130)),
                             sample(8, 8, 30, (4, 200)), lost(3, 40), sample(5, 5, 50, (5, 209)))])
        marks = aggregate.marks()
        aggregate.feed([ring(0, sample(5, 5, 60, (6, 300)), sample(0, 0, 70, (7, 301)), sample(8, 8, 80, (9, 307)))])
        for since, whole in ((None, (9, 307)), (marks, (4, 98))):
            rows = task_rows(aggregate, Grouping.THREAD, since)
            apart = aggregate.apart(since)
            assert set(apart) == ({"idle"} if kept is None else {"idle", "others"})
            assert {row.tid for row in rows} <= ({5, 8, None} if kept is None else {5, None})
            assert [sum(row.counts[name] for row in rows) + sum(mark.totals[at] for mark in apart.values())
                    for at, name in enumerate(aggregate.names)] == list(whole)
        assert apart["idle"].totals == (1, 1)
        [item] = ApplicationTotals([aggregate]).totals().sets
        assert item["run"] == sum(row.counts["run"] for row in task_rows(aggregate, Grouping.PROCESS))


def test_who_is_no_row_becomes_none_however_long_he_is_silent() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {}, ended=0, kept={5})
    aggregate.feed([ring(0, comm(5, 5, b"five", 1), sample(5, 5, 10, (1, 100)), sample(0, 0, 20, (2, 130)),
                         sample(8, 8, 30, (3, 200)), lost(3, 40), sample(5, 5, 50, (4, 209)),
                         sample(5, 5, 200_000_000_000, (5, 300)))])
    aggregate.tidy()
    assert {row.name: row.counts["run"] for row in task_rows(aggregate, Grouping.COMMAND)} == {
        "five": 191, "(lost samples)": 9}
    assert {what: mark.totals for what, mark in aggregate.apart().items()} == {"idle": (1, 30), "others": (1, 70)}


def test_a_number_that_is_used_again_starts_at_zero() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.feed([ring(0, fork(8, 5, 8, 5, 1), sample(8, 8, 10, (1, 50)), ended(8, 8, 11), fork(8, 5, 8, 5, 20),
                         comm(8, 8, b"second", 21), sample(8, 8, 30, (1, 70)))])
    assert sorted(totals.totals for totals in aggregate.entries()) == [[1, 50], [1, 70]]
    assert aggregate.sums() == (2, 120)


def test_threads_with_one_number_have_rows_and_keys_of_their_own() -> None:
    aggregate = aggregator(Mode.CPUS)
    aggregate.feed([ring(0, comm(8, 8, b"first", 1), sample(8, 8, 10, (1, 50)), ended(8, 8, 11))])
    marks = aggregate.marks()
    aggregate.feed([ring(0, comm(9, 9, b"other", 12), sample(9, 9, 20, (2, 60)), ended(9, 9, 21),
                         fork(9, 5, 9, 5, 22), comm(9, 9, b"second", 23), sample(9, 9, 30, (3, 80)))])
    totals = ApplicationTotals([aggregate])
    rows = totals.rows(Grouping.THREAD, (marks,))
    assert {(row.name, row.counts["run"], row.key) for row in rows} == {("second", 20, "/9/9"), ("other", 10, "/9/9/")}
    whole = totals.rows(Grouping.THREAD)
    assert {row.name: row.key for row in whole} == {"first": "/8/8", "other": "/9/9/", "second": "/9/9"}
    assert totals.threads(whole) == {rows_of(whole, "first"): Thread(8, 8)}, "what is known of 9 is of both"
    aggregate.marks()
    aggregate.feed([ring(0, sample(9, 9, 40, (4, 90)))])
    assert totals.rows(Grouping.THREAD, (aggregate.marks(),)) == []


def rows_of(rows: list[TaskRow], name: str) -> int:
    """The serial number of the only entry of the row of this name."""
    [serial] = next(row.serials for row in rows if row.name == name)
    return serial


def test_a_row_has_the_threads_that_did_not_end_before_its_interval() -> None:
    aggregate = aggregator(Mode.CPUS)
    aggregate.feed([ring(0, *(record for tid in (5, 6, 7) for record in (
        comm(tid, tid, b"cc1", 10 * tid), sample(tid, tid, 10 * tid + 1, (tid, 10 * tid)))), ended(6, 6, 72))])
    [row] = task_rows(aggregate, Grouping.COMMAND, {})
    assert (row.threads, len(row.ran)) == (3, 3)
    marks = aggregate.marks()
    aggregate.feed([ring(0, sample(5, 5, 80, (9, 99)), ended(5, 5, 81))])
    [row] = task_rows(aggregate, Grouping.COMMAND, marks)
    assert (row.threads, len(row.ran)) == (2, 1), "6 ended before, 7 sleeps"
    assert row.serials > row.ran
    assert set(ApplicationTotals([aggregate]).threads([row]).values()) == {Thread(5, 5), Thread(7, 7)}
    [row] = task_rows(aggregate, Grouping.COMMAND)
    assert row.threads == 3


def test_a_thread_in_two_sets_is_counted_once() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5, 88: 6})
    aggregate.feed([ring(0, sample(5, 6, 10, (1, 40), event=77), sample(5, 6, 10, (1, 39), event=88),
                         sample(5, 9, 20, (1, 5), event=77), sample(5, 9, 20, (1, 5), event=88))])
    assert aggregate.sums() == (2, 45)
    aggregate.close([closing(5, 0, 2, 45), closing(6, 0, 2, 44)])
    assert aggregate.read == (2, 45)


def test_losses_are_counted_and_cost_no_counts_of_a_thread() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.feed([ring(0, sample(5, 5, 10, (1, 100)), lost(3, 40), sample(5, 5, 50, (5, 500)))])
    assert aggregate.lost == 3
    assert aggregate.sums() == (5, 500)


def test_names_come_from_parents_and_exec() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.name(5, "parent")
    aggregate.feed([ring(0, fork(6, 5, 6, 5, 1), sample(6, 6, 2, (1, 1)), comm(6, 6, b"child", 3), fork(7, 5, 7, 5, 4),
                         sample(7, 7, 5, (1, 1)))])
    assert {totals.tid: totals.name for totals in aggregate.entries()} == {6: "child", 7: "parent"}


def test_a_process_has_the_name_of_its_first_thread_also_while_that_sleeps() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.name(5, "server")
    aggregate.feed([ring(0, comm(5, 6, b"worker", 1), sample(5, 6, 2, (1, 1)))])
    assert [row.name for row in task_rows(aggregate, Grouping.PROCESS)] == ["server"]
    assert [row.name for row in task_rows(aggregate, Grouping.THREAD)] == ["worker"]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4), st.integers(0, 1000)), max_size=60))
def test_whatever_the_order_of_slices_nothing_is_lost(slices: list[tuple[int, int, int]]) -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 1})
    state: dict[tuple[int, int], list[int]] = {}
    rings: dict[int, list[bytes]] = {0: [], 1: []}
    for time, (cpu, tid, ran) in enumerate(slices):
        values = state.setdefault((tid, cpu), [0, 0])
        values[0] += 1
        values[1] += ran
        rings[cpu].append(sample(1, tid, time, (values[0], values[1]), cpu))
    aggregate.feed([ring(cpu, *data) for cpu, data in rings.items()])
    assert aggregate.sums() == (len(slices), sum(ran for _cpu, _tid, ran in slices))
    assert aggregate.timeline.total() == sum(ran for _cpu, _tid, ran in slices)


def test_an_interval_is_the_difference_of_two_tables() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.feed([ring(0, sample(5, 5, 10, (1, 100)), sample(6, 6, 11, (1, 9)))])
    marks = aggregate.marks()
    aggregate.feed([ring(0, sample(5, 5, 20, (2, 160)))])
    [row] = task_rows(aggregate, Grouping.PROCESS, marks)
    assert (row.pid, row.counts) == (5, {"switches": 1, "run": 60})


NOBODY = 0xFFFFFFFF


def test_the_last_slice_of_an_ending_thread_is_its_own() -> None:
    aggregate = aggregator(Mode.CPUS)
    aggregate.feed([ring(0, sample(5, 5, 10, (1, 100)), ended(5, 6, 20), ended(7, 7, 21),
                         sample(5, NOBODY, 30, (2, 140)), sample(NOBODY, NOBODY, 40, (3, 145)),
                         sample(8, NOBODY, 50, (4, 150)))])
    assert {(totals.pid, totals.tid): totals.totals for totals in aggregate.entries()} == {
        (5, 5): [1, 100], (5, 6): [1, 40], (7, 7): [1, 5], (8, -1): [1, 5]}


def test_very_many_ended_threads_are_put_together_and_nothing_is_lost() -> None:
    choice = TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ())
    aggregate = SampleAggregator(choice, {}, ended=10)
    run = 0
    for tid in range(1, 101):
        run += tid
        aggregate.name(tid, f"n{tid % 2}")
        aggregate.feed([ring(0, sample(tid, tid, tid * 10, (tid, run)), ended(tid, tid, tid * 10 + 1))])
    before = aggregate.sums()
    early = aggregate.marks()
    moved = aggregate.tidy()
    assert task_rows(aggregate, Grouping.COMMAND, moved_marks(early, moved)) == []
    entries = aggregate.entries()
    assert aggregate.sums() == before == (100, run)
    assert len(entries) == 12
    assert sorted(row.threads for row in task_rows(aggregate, Grouping.COMMAND)) == [50, 50]
    marks = aggregate.marks()
    aggregate.feed([ring(0, sample(200, 200, 2000, (101, run + 7)))])
    assert [row.counts["run"] for row in task_rows(aggregate, Grouping.THREAD, marks)] == [7]


def test_threads_with_sets_of_their_own_keep_their_entries_for_the_last_read() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.INHERITED, SamplingMoment.SWITCHES, FORMAT, ()), {77: 5}, ended=0)
    aggregate.feed([ring(0, sample(5, 5, 10, (1, 100)), ended(5, 5, 11))])
    aggregate.tidy()
    aggregate.close([closing(5, 0, 2, 130)])
    assert (aggregate.sums(), aggregate.read) == ((2, 130), (2, 130))


def test_migrations_are_samples_on_another_cpu() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.feed([ring(0, sample(5, 5, 10, (1, 10)), sample(5, 5, 40, (2, 20))), ring(1, sample(5, 5, 20, (1, 5), 1),
                                                                                        sample(5, 5, 30, (2, 9), 1))])
    [row] = task_rows(aggregate, Grouping.THREAD)
    assert (row.migrations, row.cpus, row.last_cpu) == (2, (0, 1), 0)
    assert row.loads == {0: 20, 1: 9}


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 50)), max_size=40), st.sets(st.integers(0, 40)))
def test_intervals_add_up_to_the_whole(slices: list[tuple[int, int]], cuts: set[int]) -> None:
    aggregate = aggregator(Mode.CPUS)
    seen: dict[int, int] = {}
    marks = aggregate.marks()
    total = 0
    for number, (tid, ran) in enumerate(slices):
        total += ran
        aggregate.feed([ring(0, sample(tid, tid, number, (number, total)))])
        if number in cuts:
            for row in task_rows(aggregate, Grouping.THREAD, marks):
                seen[row.tid or 0] = seen.get(row.tid or 0, 0) + row.counts["run"]
            marks = aggregate.marks()
    for row in task_rows(aggregate, Grouping.THREAD, marks):
        seen[row.tid or 0] = seen.get(row.tid or 0, 0) + row.counts["run"]
    whole = {row.tid or 0: row.counts["run"] for row in task_rows(aggregate, Grouping.THREAD)}
    assert {tid: ran for tid, ran in seen.items() if ran} == {tid: ran for tid, ran in whole.items() if ran}


def test_a_thread_that_was_never_switched_out_is_in_the_timeline_from_its_last_read() -> None:
    aggregate = aggregator(Mode.INHERITED, {77: 5})
    aggregate.name(5, "quick")
    aggregate.feed([ring(1, sample(5, 5, 400, (1, 100), 1), ended(5, 5, 1000))])
    aggregate.close([closing(5, 0, 0, 0), closing(5, 1, 1, 350)])
    [row] = task_rows(aggregate, Grouping.THREAD)
    assert (row.counts["run"], aggregate.timeline.total()) == (350, 350)
    assert aggregate.timeline.end == 1000


def test_a_command_that_never_left_its_cpu_ran_up_to_its_end_and_on_one_cpu() -> None:
    sampling = TaskSampling(Mode.INHERITED, SamplingMoment.SWITCHES, FORMAT, (), last=True)
    aggregate = SampleAggregator(sampling, {77: 5})
    aggregate.feed([ring(2, comm(5, 5, b"true", 600), ended(5, 5, 1000))])
    aggregate.close([closing(5, cpu, 0, 350 if cpu == 2 else 0, 0) for cpu in range(4)])
    [entry] = aggregate.entries()
    assert (entry.ended_ns, entry.cpus) == (1000, {2})
    [piece] = aggregate.timeline.slices()
    assert (piece.cpu, piece.end - piece.start, aggregate.timeline.end) == (2, 350, 1000)


@given(st.integers(1, 4096))
def test_rings_are_powers_of_two_and_do_not_eat_a_large_machine(cpus: int) -> None:
    pages = pages_for(cpus)
    assert pages & (pages - 1) == 0
    assert 32 <= pages <= 4096
    assert pages == 32 or pages * cpus <= 16_384
