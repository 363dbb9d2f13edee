"""Columns of who makes a program take long, and why they are unknown where switches went unseen."""

from __future__ import annotations

import math
import struct
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ringbytes import FORMAT, ended, fork, lost, record, sample, trailer
from test_recorded_facts import again, made_record
from test_simulated_tasks import passes, watching
from test_task_regions import _raw, _write
from watchedtasks import switches_allowed, tasks

from turbotui.features.tasks.application_totals import ApplicationTotals
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskInputs
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.parallel_columns import NOT_WEIGHED, PARALLEL, ParallelWindow, alone_by_name, cause_of
from turbotui.features.tasks.parallel_watch import ParallelWatch
from turbotui.features.tasks.recorded_tasks import RECORDED_BY
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.task_regions import TaskRegions, region_table
from turbotui.features.tasks.task_table import judge_task
from turbotui.features.tasks.thread_totals import RUN
from turbotui.features.tasks.totals_table import MultiplexedSets
from turbotui.features.tasks.watched_application import WatchedApplication
from turbotui.machine.perf_records import Throttled, parse_record
from turbotui.machine.region_pipes import RegionPipe
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.parallelism import ParallelTime
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.quantities.tables import Cell
from turbotui.quantities.unavailable import Reason, Unavailable

WEIGHED = tuple(column for column in TASK_COLUMNS if column.needs == (PARALLEL,))


def watched(mode: Mode = Mode.INHERITED, sets: int = 1, *, everything: bool = False) -> WatchedApplication:
    choice = TaskSampling(mode, SamplingMoment.SWITCHES, FORMAT, ())
    shared = MultiplexedSets() if sets > 1 else None
    aggregators = tuple(SampleAggregator(choice, {77: 5}, multiplexed=shared) for _ in range(sets))
    one = WatchedApplication(Application("web", everything=everything), (), aggregators, ApplicationTotals(aggregators),
                             Numerics(), (), None, 0, ({},) * sets, 0, ({},) * sets, 0)
    one.watch_parallel(True, 2)
    return one


def named(tid: int, name: bytes, time: int) -> bytes:
    return record(3, struct.pack("II", tid, tid) + name + bytes(8 - len(name) % 8) + trailer(tid, tid, time))


def feed(application: WatchedApplication, cpu: int, *records: bytes) -> None:
    application.aggregators[0].feed([RingRecords(cpu, tuple(parse_record(data, FORMAT) for data in records))])


def interval(item: WatchedApplication, by: Grouping = Grouping.THREAD) -> tuple[ParallelWindow, list[TaskRow]]:
    assert item.parallel is not None
    item.parallel.end_interval(item.unseen_switches())
    return item.parallel.window(whole=False), item.parallel.rows(item.aggregate.rows(by), whole=False)


def cells(row: TaskRow, window: ParallelWindow | None) -> dict[str, Cell]:
    inputs, judge = TaskInputs(row, 1.0, window=window), judge_task(None)
    return {column.id: judge(column, inputs, column.compute(inputs)) for column in WEIGHED}


def compile_and_link(application: WatchedApplication) -> None:
    """Thread 5 works for 100 ns, then two compilers for 200 ns each on two CPUs, then a linker for 300 ns."""
    feed(application, 0, named(5, b"make", 1), fork(6, 5, 6, 5, 60), named(6, b"cc1", 61), fork(7, 5, 7, 5, 62),
         named(7, b"cc1", 63), sample(5, 5, 100, (1, 100)), sample(6, 6, 300, (1, 200)), ended(6, 6, 301),
         fork(8, 5, 8, 5, 302), named(8, b"ld", 303), sample(8, 8, 600, (1, 300)), ended(8, 8, 601))
    feed(application, 1, sample(7, 7, 300, (1, 200), 1), ended(7, 7, 301), ended(5, 5, 602))


def test_rows_of_any_kind_have_their_share_of_the_wall_clock() -> None:
    application = watched()
    compile_and_link(application)
    application.finish_parallel()
    window, rows = interval(application, Grouping.COMMAND)
    result = {row.name: {name: cell.value for name, cell in cells(row, window).items()} for row in rows}
    assert result == {
        "make": {"Wall%": pytest.approx(100 / 6), "Parallel": 1.0, "Alone%": pytest.approx(100 / 6),
                 "Wall_s": pytest.approx(1e-7), "Alone_s": pytest.approx(1e-7)},
        "cc1": {"Wall%": pytest.approx(200 / 6), "Parallel": 2.0, "Alone%": 0.0, "Wall_s": pytest.approx(2e-7),
                "Alone_s": 0.0},
        "ld": {"Wall%": pytest.approx(50), "Parallel": 1.0, "Alone%": pytest.approx(50),
               "Wall_s": pytest.approx(3e-7), "Alone_s": pytest.approx(3e-7)}}
    sentence = window.sentence(alone_by_name((row.name, row.parallel) for row in rows))
    assert sentence.startswith("67 % of the time one thread ran alone: ld (50 %), make (17 %); none ran for 0 %")
    assert ParallelWindow(100, 60, 50, 41).sentence({"ld": 41.0}).startswith(
        "41 % of the time one thread ran alone: ld; none ran for 50 %, else 1.20 at a time")
    assert ParallelWindow(100).sentence({}) == ""


_MS = 1_000_000


def explained(looks: dict[int, dict[int, str]]) -> ParallelWindow:
    """A thread runs from 100 to 200 ms and from 900 to 1,000, watched by looks at these ms."""
    watch = ParallelWatch(None, 2, drawn=False, looks=True)
    for start in (100, 900):
        watch.slices.add(5, start * _MS, (start + 100) * _MS)
    for time_ms, waits in looks.items():
        watch.look(time_ms * _MS, waits)
        watch.settle(time_ms * _MS, None)
    watch.finish()
    watch.end_interval({})
    assert watch.window(whole=False).waited == ()
    return watch.window(whole=True)


def test_what_a_program_waited_for_while_none_of_its_threads_ran() -> None:
    window = explained({50: {5: "signal"}, 150: {6: "child"}, 201: {5: "futex"}, 300: {5: "timer", 6: "child"},
                        400: {5: "a CPU", 6: "timer"}, 500: {5: "a CPU"}, 600: {5: "fuse_request", 6: "poll"},
                        950: {5: "storage"}})
    assert dict(window.waited) == {"a CPU": 2, "timer": 1, "fuse_request": 1}, \
        "neither before it began, nor while it ran, nor where the look itself may have taken its CPU"
    sentence = window.sentence({"a": 200.0 * _MS})
    assert ("none ran for 78 % (waiting ~39 % for a CPU, ~19 % for a timer, ~19 % for fuse_request, by 4 looks at "
            "/proc), else 1.00 at a time") in sentence
    assert "none ran for 78 %, else" in explained({}).sentence({"a": 200.0 * _MS})
    assert "for what is not known" in explained({500: {}}).sentence({})


def test_threads_that_wait_for_each_other_do_not_hide_what_the_last_of_them_waits_for() -> None:
    inner = ["poll", "pipe", "signal", "kernel lock", "futex", "child"]
    for outer in ("a CPU", "storage", "socket", "timer", "io_uring", "fuse_request"):
        assert cause_of([*inner, outer]) == outer
    assert cause_of(["child", "futex"]) == "futex"


def test_a_command_is_looked_at_and_nothing_else_unless_its_stretches_are_drawn() -> None:
    application = watched()
    assert application.parallel is not None
    assert application.parallel.look_in(10**9) == math.inf
    application.watch_parallel(False, 2)
    application.application = replace(application.application, command=("true",))
    application.watch_parallel(True, 2)
    assert application.parallel is not None
    assert application.parallel.look_in(10**9) == 0
    application.parallel.look(10**9, {})
    assert [application.parallel.look_in(10**9 + ns) for ns in (0, 20 * _MS, 50 * _MS)] == [0.05, 0.03, 0.0]
    assert not application.parallel.slices.keep_stretches


def test_all_threads_of_the_machine_but_the_idle_task_run_beside_each_other() -> None:
    application = watched(Mode.CPUS, everything=True)
    feed(application, 0, sample(5, 5, 100, (1, 100)), sample(0, 0, 200, (2, 200)), sample(5, 5, 300, (3, 300)))
    feed(application, 1, sample(0, 0, 250, (1, 250), 1), sample(9, 9, 300, (2, 300), 1))
    assert application.parallel is not None
    application.parallel.slices.finish()
    window, rows = interval(application)
    result = {row.tid: (row.parallel.weighed, row.parallel.alone) for row in rows if row.parallel is not None}
    assert result == {5: (175.0, 150.0), 9: (25.0, 0.0)}
    assert (window.span, window.covered, window.alone) == (300.0, 200.0, 150.0)


def test_what_went_unseen_makes_this_interval_and_the_next_unknown() -> None:
    item = watched()
    feed(item, 0, sample(5, 5, 100, (1, 100)), lost(3, 150))
    for expected in (True, True, False):
        assert item.parallel is not None
        item.parallel.slices.add(0, (item.parallel.slices.settled or 0), (item.parallel.slices.settled or 0) + 100)
        item.parallel.slices.finish()
        window, rows = interval(item)
        assert (window.why is not None) is expected
        result = cells(rows[0], window)
        assert all((cell.value is None and cell.why is window.why) is expected for cell in result.values())
    assert item.parallel is not None
    whole = item.parallel.window(whole=True)
    assert whole.why is not None
    assert "lost" in whole.sentence({})


@pytest.mark.parametrize(("change", "word"), [
    (lambda item: setattr(item, "missed", 2), "two looks at /proc (2)"),
    (lambda item: setattr(item, "unfound", 1), "before they were found"),
    (lambda item: item.aggregators[0].book(0, Throttled(on=True, time=1)), "held samples of switches back"),
    (lambda item: setattr(item.aggregators[0], "misnumbered", 4), "numbered by another program"),
])
def test_each_way_to_miss_a_switch_has_its_reason(change: object, word: str) -> None:
    application = watched()
    compile_and_link(application)
    assert callable(change)
    change(application)
    application.finish_parallel()
    window, rows = interval(application)
    assert window.why is not None
    assert word in window.why.detail
    assert {cell.value for row in rows for cell in cells(row, window).values()} == {None}


def test_late_slices_multiplexed_sets_and_proc_alone_make_it_unknown() -> None:
    application = watched()
    assert application.parallel is not None
    application.parallel.slices.settle(1_000)
    compile_and_link(application)
    application.finish_parallel()
    assert "too late" in str(interval(application)[0].why)
    assert "multiplexed" in str(interval(watched(sets=2))[0].why)
    assert "without perf" in str(interval(watched(Mode.PROC))[0].why)


def test_merged_slices_and_more_threads_than_cpus_make_it_unknown() -> None:
    application = watched()
    application.readers = (SimpleNamespace(merged=7, want_slices=lambda _wanted: None),)
    compile_and_link(application)
    assert "slices of threads were merged" in str(interval(application)[0].why)
    application = watched()
    assert application.parallel is not None
    for thread in (1, 2, 3):
        application.parallel.slices.add(thread, 0, 100)
    application.parallel.slices.finish()
    assert "more threads ran than there are CPUs" in str(interval(application)[0].why)


def test_before_the_first_interval_and_without_run_time_the_reason_is_said() -> None:
    row = TaskRow(1, 1, "a", 1, (0,), 0, {"switches": 1, "run": 10}, 0, {}, 10, incomplete=False)
    for window in (None, ParallelWindow()):
        assert {cell.why for cell in cells(row, window).values()} == {NOT_WEIGHED}
    idle = cells(replace(row, parallel=ParallelTime()), ParallelWindow(100.0))
    assert (idle["Wall%"].value, idle["Alone%"].value, idle["Parallel"].value) == (0.0, 0.0, None)
    assert idle["Parallel"].why is not None


def test_simulated_tasks_share_the_time_by_the_clock_of_their_records() -> None:
    with watching("laptop-old", Application("all", everything=True, events="instructions,cycles")) as (
            host, applications, application):
        applications.watch_parallel(True)
        passes(host, applications, 40, 0.05)
        window = applications.report(application, Grouping.COMMAND).parallel
        assert window is not None
        passes(host, applications, 40, 0.05)
        report = applications.report(application, Grouping.COMMAND)
    assert report.parallel is not None
    assert report.parallel.why is None
    assert report.parallel.span == pytest.approx(2e9, rel=0.1)
    weighed = sum(row.parallel.weighed for row in report.rows if row.parallel is not None)
    assert weighed == pytest.approx(report.parallel.covered)
    assert ParallelWindow(1000.0, 900.0, 900.0, 1.0).sentence({"a": 1.0}).startswith(
        "0 % of the time one thread ran alone; none ran for 10 %")


def test_recorded_shares_are_the_same_again_and_joined_intervals_have_the_sum() -> None:
    why = Unavailable(Reason.NOT_READ, "samples of switches were lost (3)")

    def record(number: int, why: Unavailable | None = None) -> object:
        made = made_record(number)
        window = ParallelWindow(1000, 900, 700, 500 + number, why)
        return replace(made, reports={by: tuple(replace(report, parallel=window, rows=tuple(
            replace(row, parallel=ParallelTime(300, 200, 500, 100 + number)) for row in report.rows))
            for report in reports) for by, reports in made.reports.items()})

    first, second = record(1), record(2)
    for by in RECORDED_BY:
        [one], [other] = first.reports[by], again(first).reports[by]  # type: ignore[attr-defined, arg-type]  # a record
        assert other.parallel == one.parallel
        assert [row.parallel for row in other.rows] == [row.parallel for row in one.rows]
        [both] = again(first).plus(again(second)).reports[by]  # type: ignore[arg-type]  # records
        assert both.parallel == ParallelWindow(2000, 1800, 1400, 1003)
        assert {row.parallel.alone for row in both.rows if row.parallel is not None} == {203}
    [unknown] = again(record(3, why)).reports[Grouping.THREAD]  # type: ignore[arg-type]  # a record
    assert unknown.parallel is not None
    assert unknown.parallel.why == why


def test_a_region_has_what_ran_beside_each_other_while_it_was_open() -> None:
    base, second = time.monotonic_ns() - 20 * 10**9, 10**9
    with RegionPipe() as pipe:
        regions = TaskRegions(pipe, (RUN, "events"))
        _write(pipe, f"B {base + second} 7 7 0 solve", f"E {base + 5 * second} 7 7 4 solve")
        start = _raw(base)
        regions.add_pieces([(start, start + 2 * second, 1), (start + 2 * second, start + 4 * second, 3)])
        regions.settle()
        table = region_table(regions.rows(ParallelWindow(10.0 * second)))
        values = {column.id: column.compute(table.rows[0]) for column in table.columns}
        assert {name: values[name] for name in ("Wall%", "Parallel", "Alone%")} == {
            "Wall%": pytest.approx(30.0, rel=1e-3), "Parallel": pytest.approx(19 / 7, rel=1e-3),
            "Alone%": pytest.approx(10.0, rel=1e-3)}
        why = Unavailable(Reason.NOT_READ, "lost")
        lost = region_table(regions.rows(ParallelWindow(10.0 * second, why=why)))
        column = next(column for column in lost.columns if column.id == "Wall%")
        assert lost.cell(column, lost.rows[0]) == Cell(None, why)
        assert "Wall%" not in {column.id for column in region_table(regions.rows()).columns}


@pytest.mark.real
@pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here")
def test_a_command_ends_with_who_ran_alone() -> None:
    burn = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    done = tasks("--json", "--", sys.executable, "-c", burn)
    [run] = done.tables
    rows = [row for row in run["tasks"] if row["Wall_s"] is not None]
    if not rows:  # no CPU for the reader in time
        assert run["notes"][-1].startswith("who makes it long is unknown")
        return
    assert 0.15 < sum(row["Alone_s"] for row in rows) <= sum(row["Wall_s"] for row in rows) <= run["seconds"]
    assert "of the time one thread ran alone: python" in run["notes"][-1]


@pytest.mark.real
@pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here")
def test_a_command_that_sleeps_waits_for_a_timer() -> None:
    [run] = tasks("--json", "--", "sleep", "1.5").tables
    note = run["notes"][-1]
    assert "for a timer" in note or note.startswith("who makes it long is unknown")
