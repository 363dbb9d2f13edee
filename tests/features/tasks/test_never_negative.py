"""No count of a row, a sum or an interval is ever negative, whatever records arrive in whatever order."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from ringbytes import FORMAT, ended, fork, last_counts, lost, sample

from turbotui.features.tasks.application_totals import ApplicationTotals, Marks
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, task_rows
from turbotui.features.tasks.watched_application import late_marks, moved_marks
from turbotui.machine.perf_records import NOBODY, CounterReopened, GroupReading, parse_record
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.machine.tasks.tracer import Closing

ROOTS = {77: 5, 78: 6}
TIDS = st.integers(4, 9)
COUNTS = st.tuples(st.integers(0, 60), st.integers(0, 900_000_000), st.integers(0, 9))
STEPS = st.lists(st.tuples(st.sampled_from(["sample"] * 6 + ["fork", "end", "last", "lost", "reopen", "mark", "tidy",
                                                             "nobody"]),
                           TIDS, st.integers(0, 1), st.integers(0, 5), COUNTS, st.sampled_from((77, 78))), max_size=60)


def taken(kind: str, tid: int, cpu: int, time: int, *, values: tuple[int, ...], event: int) -> RingRecords:
    if kind == "reopen":
        return RingRecords(cpu, (CounterReopened(0),))
    data = {"sample": sample(5, tid, time, values or (0, 0), cpu, event=event),
            "nobody": sample(NOBODY, NOBODY, time, values or (0, 0), cpu, event=event),
            "fork": fork(5, 5, tid, 5, time), "end": ended(5, tid, time), "lost": lost(1, time),
            "last": last_counts(5, tid, time, values or (0, 0), event=event)}[kind]
    return RingRecords(cpu, (parse_record(data, FORMAT),))


CLOSINGS = st.lists(st.tuples(st.sampled_from((5, 6)), st.integers(0, 1), COUNTS), max_size=4)


@given(st.sampled_from(Mode), STEPS, CLOSINGS)
# a thread of two commands, of which the second counted nothing
@example(Mode.THREADS, [("sample", 4, 0, 0, (0, 0, 0), 78), ("sample", 4, 0, 0, (0, 1, 0), 78),
                        ("sample", 4, 0, 0, (0, 0, 0), 77)], [])
@settings(deadline=None)
def test_no_count_falls_below_zero(
        mode: Mode, steps: list[tuple[str, int, int, int, tuple[int, int, int], int]],
        closings: list[tuple[int, int, tuple[int, int, int]]]) -> None:
    aggregator = SampleAggregator(
        TaskSampling(mode, SamplingMoment.SWITCHES, FORMAT, (), last=mode is Mode.INHERITED), ROOTS, ended=1, alive=2
    )
    aggregate, now = ApplicationTotals([aggregator]), 0
    marks: Marks = ({},)
    width = aggregator.choice.width

    def check() -> None:
        since = tuple(late_marks(mark, aggregator.early()) for mark in marks)
        for reach in (None, since):
            rows = aggregate.rows(Grouping.THREAD, reach)
            assert all(value >= 0 for row in rows for value in row.counts.values())
            if reach is not None:
                for by in Grouping:  # rows of tasks that counted nothing are never made, and none other is left out
                    made = task_rows(aggregator, by, reach[0], idle=True)
                    assert task_rows(aggregator, by, reach[0]) == [row for row in made if any(row.counts.values())]
            assert all(load >= 0 for row in rows for load in row.loads.values())
            assert all(value >= 0 for part in aggregate.apart(reach).values()
                       for value in (*part.counts.values(), *part.loads.values()))
            [sums] = aggregate.totals(reach).sets
            assert all(value >= 0 for value in sums.values())
            assert sums["run"] == sum(row.counts["run"] for row in rows)

    for kind, tid, cpu, step, values, event in steps:
        now += step * 100_000_000 + 1
        if kind == "mark":
            check()
            marks = aggregate.marks()
            aggregator.began = now
        elif kind == "tidy":
            [moved] = aggregate.tidy()
            marks = (moved_marks(marks[0], moved),)
        else:
            aggregator.feed([taken(kind, tid, cpu, now, values=values[:width], event=event)])
    check()
    aggregator.close(
        [Closing(root, cpu, GroupReading(100, values[1], values[:width])) for root, cpu, values in closings]
    )
    check()


def test_what_is_a_threads_own_after_its_heirs_is_not_below_zero() -> None:
    aggregator = SampleAggregator(TaskSampling(Mode.INHERITED, SamplingMoment.SWITCHES, FORMAT, (), last=True), {77: 5})
    aggregator.feed([taken("fork", 8, 0, 1, values=(), event=77), taken("end", 8, 0, 20, values=(), event=77),
                     taken("last", 8, 0, 21, values=(5, 50, 0), event=77)])
    aggregator.close([Closing(5, 0, GroupReading(100, 40, (3, 40, 0)))])
    assert all(row.counts["switches"] >= 0 for row in ApplicationTotals([aggregator]).rows(Grouping.THREAD))
    assert aggregator.sums() == (5, 50)


def test_a_set_that_is_counted_by_another_leaves_no_negative_interval_behind() -> None:
    aggregator = SampleAggregator(TaskSampling(Mode.INHERITED, SamplingMoment.SWITCHES, FORMAT, ()), ROOTS)
    aggregate = ApplicationTotals([aggregator])
    aggregator.feed([taken("sample", 6, 0, 1, values=(4, 400), event=78)])
    before, marks = aggregate.totals(), aggregate.marks()
    aggregator.feed([taken("sample", 6, 0, 2, values=(5, 500), event=77)])  # thread 6 was made after 5's set was opened
    [whole], [interval] = aggregate.totals().sets, aggregate.totals(marks).sets
    assert before.sets[0]["run"] == 400
    assert whole == interval == {"switches": 5, "run": 500}
    aggregator.feed([taken("sample", 6, 0, 3, values=(6, 510), event=77)])
    assert aggregate.totals(aggregate.marks()).sets[0]["run"] == 0
