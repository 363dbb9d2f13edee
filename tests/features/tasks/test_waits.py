"""Waits of tasks: the source of each, and the reasons of missing ones."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import PIPE, Popen
from time import monotonic
from types import SimpleNamespace

import pytest
from patience import PATIENCE
from prochost import Content, ProcHost
from test_simulated_tasks import passes, watching
from watchedtasks import tasks

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskInputs, is_estimate
from turbotui.features.tasks.cpu_waits import cpu_wait_table
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.screen_text import task_evidence
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.task_table import judge_task, task_table
from turbotui.features.tasks.thread_totals import Thread
from turbotui.features.tasks.wait_watch import WaitWatch
from turbotui.features.tasks.waits import NOT_YET, WAIT, WAIT_BY_ID, Waits, waits_of_all
from turbotui.machine.host import HostError, HostKind, PerfAttr
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.group_names import GroupName
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.machine.tasks.run_queue import LeaveReason, RunQueue, WaitSums
from turbotui.machine.tasks.sleeping import sleeps_in
from turbotui.machine.tasks.wait_set import WaitSet
from turbotui.machine.tasks.wait_times import WaitTimes
from turbotui.quantities.histograms import bucket_bounds, bucket_of
from turbotui.quantities.tables import Cell, arithmetic_lines
from turbotui.quantities.unavailable import Reason, Unavailable

NO_RIGHT = Unavailable(Reason.NOT_PERMITTED, "no right to it")
MS = 1_000_000
LENGTHS = {bucket_of(MS): 800, bucket_of(5 * MS): 195, bucket_of(90 * MS): 5}
WAITED = WaitSums(queued=600_000_000, times=30, longest=90_000_000, pushed=20, held=0, storage=200_000_000,
                  asleep=100_000_000, pushers={7: 20}, lengths=LENGTHS)
BEHIND = (("batch", 71 * MS), ("web", 29 * MS))
ALL_KNOWN = Waits(WAITED, pusher="hog", sleeping="poll", behind=BEHIND)
SWITCHES_ONLY = Waits(WAITED, 800_000_000, 40, "hog", why_no_wakeups=NO_RIGHT, behind=BEHIND)
SCHEDSTAT_ONLY = Waits(None, 800_000_000, 40, why_no_records=NO_RIGHT)


def row(waits: Waits | None) -> TaskRow:
    counts = {"switches": 1, "run": 10, "cpu-time": 10}
    return TaskRow(1, 1, "a", 1, (0,), 0, counts, 0, {}, 10, incomplete=False, serials=frozenset({5}),
                   ran=frozenset({5}), waits=waits)


def top(length: int) -> object:
    """The highest length of a bucket, in ms."""
    return pytest.approx(bucket_bounds(bucket_of(length))[1] / MS)


def cells(waits: Waits | None, seconds: float = 2.0) -> dict[str, Cell]:
    inputs, judge = TaskInputs(row(waits), seconds), judge_task(None)
    return {column.id: judge(column, inputs, column.compute(inputs)) for column in TASK_COLUMNS if WAIT in column.needs}


def test_all_columns_where_everything_is_known() -> None:
    values = {name: cell.value for name, cell in cells(ALL_KNOWN).items()}
    assert values == {"Wait%": pytest.approx(30.0), "WaitMean": pytest.approx(20.0), "WaitMax": pytest.approx(90.0),
                      "WaitP50": top(MS), "WaitP99": top(5 * MS), "WaitP999": pytest.approx(90.0),
                      "Behind": "batch 71 %",
                      "Pushed/s": pytest.approx(10.0), "PushedBy": "hog", "Storage%": pytest.approx(10.0),
                      "Sleep%": pytest.approx(5.0), "WaitsFor": "CPU", "SleepsIn": "poll"}
    result = cells(ALL_KNOWN)
    assert [name for name in result if result[name].estimated] == ["SleepsIn"]


def test_without_wake_ups_schedstat_says_how_long_and_the_greatest_wait_is_marked() -> None:
    result = cells(SWITCHES_ONLY)
    assert result["Wait%"].value == pytest.approx(40.0)
    assert result["WaitMean"].value == pytest.approx(20.0)
    assert all(result[name].estimated for name in ("WaitMax", "WaitP50", "WaitP99", "WaitP999"))
    assert result["PushedBy"].value == "hog"
    assert {result[name].why for name in ("Storage%", "Sleep%", "WaitsFor")} == {NO_RIGHT}


def test_schedstat_alone_says_how_long_and_everything_else_has_its_reason() -> None:
    result = cells(SCHEDSTAT_ONLY)
    assert result["Wait%"].value == pytest.approx(40.0)
    rest = {name: cell for name, cell in result.items() if name not in {"Wait%", "WaitMean", "SleepsIn"}}
    assert {cell.value for cell in rest.values()} == {None}
    assert {cell.why for cell in rest.values()} == {NO_RIGHT}


@pytest.mark.parametrize(("waited", "word"), [
    (WaitSums(queued=900_000_000, held=800_000_000), "quota"), (WaitSums(storage=900_000_000), "storage"),
    (WaitSums(asleep=900_000_000), "sleep"), (WaitSums(queued=1_000_000), "nothing")])
def test_the_greatest_part_is_what_it_waits_for(waited: WaitSums, word: str) -> None:
    assert cells(Waits(waited))["WaitsFor"].value == word


def test_tails_of_too_few_waits_are_marked_and_those_that_are_unknown_have_their_reason() -> None:
    few = cells(replace(ALL_KNOWN, waited=replace(WAITED, lengths={bucket_of(MS): 150})))
    assert [few[name].estimated for name in ("WaitP50", "WaitP99", "WaitP999")] == [False, False, True]
    lost = cells(replace(ALL_KNOWN, lost=3))["WaitP99"]
    assert lost.value is None
    assert "3 records" in str(lost.why)
    none = cells(replace(ALL_KNOWN, waited=WaitSums(), behind=()))
    assert {none[name].value for name in ("WaitP50", "WaitP99", "WaitP999", "Behind")} == {None}
    unrecorded = cells(replace(ALL_KNOWN, why_no_lengths=NO_RIGHT))["WaitP50"]
    assert (unrecorded.value, unrecorded.why) == (None, NO_RIGHT)


def test_histograms_of_rows_and_who_ran_meanwhile_are_added() -> None:
    other = replace(ALL_KNOWN, waited=WaitSums(times=1, lengths={bucket_of(MS): 200}), behind=(("web", 100 * MS),))
    both = waits_of_all([ALL_KNOWN, other])
    assert both is not None
    assert both.waited is not None
    assert both.waited.lengths == LENGTHS | {bucket_of(MS): 1000}
    assert both.behind == (("web", 129 * MS), ("batch", 71 * MS))
    partly = waits_of_all([ALL_KNOWN, replace(other, why_no_lengths=NO_RIGHT)])
    assert partly is not None
    assert partly.why_no_lengths == NO_RIGHT


def test_each_cpu_has_the_waits_that_ended_on_it() -> None:
    table = cpu_wait_table({0: SWITCHES_ONLY, 1: replace(ALL_KNOWN, lost=1)}, 2.0)
    columns = {column.id: column for column in table.columns}
    first, second = ({name: table.cell(column, row) for name, column in columns.items()} for row in table.rows)
    assert (first["CPU"].value, first["Waits"].value, first["WaitP99"].value) == (0, 30, top(5 * MS))
    assert first["WaitP99"].estimated
    assert first["Behind"].value == "batch 71 %"
    assert second["WaitP50"].why is not None


def test_a_group_waits_behind_groups_and_a_thread_behind_threads(waiting: WaitSet) -> None:
    switches = RunQueue()
    for start in range(0, 40, 10):
        switches.switched(start * MS, 1, 7, LeaveReason.PUSHED)
        switches.switched((start + 6) * MS, 7, 8, LeaveReason.AWAY)
        switches.switched((start + 8) * MS, 8, 1, LeaveReason.AWAY)
    waited = switches.take(50 * MS)
    watch = WaitWatch(Tasks({"/proc/7/task/7/comm": "hog\n", "/proc/8/task/8/comm": "cc1\n"}), (0,), waiting,
                      beginning=True)
    watch._times = SimpleNamespace(  # type: ignore[assignment]  # all that is asked of it
        take=lambda _until: waited, take_cpus=switches.take_cpus, lost=0, why_no_wakeups=None)
    watch.end_interval("one", 0)
    batch = GroupName("slice", "batch.slice", path="/batch.slice")
    for group_of, behind in ((None, "hog 75 %"), ({7: batch, 8: batch}.get, "slice batch.slice 100 %")):
        [task_row] = watch.rows([row(None)], {5: Thread(1, 1)}, whole=False, group_of=group_of)
        assert cells(task_row.waits)["Behind"].value == behind
    assert watch.cpu_waits(whole=True)[0].behind == (("hog", 24 * MS), ("cc1", 8 * MS))


def test_sleep_is_named_by_the_kernel_function_and_marked() -> None:
    result = cells(Waits(WaitSums(asleep=900_000_000), sleeping="futex"))
    assert (result["WaitsFor"].value, result["WaitsFor"].estimated) == ("futex", True)
    awake = cells(Waits(WaitSums(queued=900_000_000), sleeping="futex"))
    assert (awake["WaitsFor"].value, awake["WaitsFor"].estimated) == ("CPU", False)
    both = waits_of_all([Waits(sleeping="poll"), Waits(sleeping="futex"), Waits(sleeping="futex"), Waits()])
    assert both is not None
    assert both.sleeping == "futex"


@pytest.mark.parametrize(("wchan", "word"), [
    ("futex_do_wait", "futex"), ("futex_wait_queue_me", "futex"), ("do_epoll_wait", "poll"),
    ("poll_schedule_timeout.constprop.0", "poll"), ("hrtimer_nanosleep", "timer"), ("anon_pipe_read", "pipe"),
    ("unix_stream_read_generic", "socket"), ("do_wait", "child"), ("kernel_clone", "child"),
    ("folio_wait_bit_common", "storage"),
    ("rcu_gp_fqs_loop", "rcu_gp_fqs_loop"), ("a_function_with_a_very_long_name", "a_function_with_a_ve"), ("0", ""),
    ("", "")])
def test_where_it_sleeps_is_reported_in_a_word(wchan: str, word: str) -> None:
    assert sleeps_in(ProcHost({"/proc/1/task/2/wchan": wchan}), 1, 2) == word
    assert sleeps_in(ProcHost({}), 1, 2) == ""


def test_before_the_first_whole_interval_each_cell_says_so() -> None:
    assert {cell.why for cell in cells(None).values()} == {NOT_YET}
    assert all(cell.why is not None for cell in cells(Waits(why_no_records=NO_RIGHT)).values())


def test_a_cell_can_be_explained() -> None:
    inputs = TaskInputs(row(ALL_KNOWN), 2.0)
    for column in TASK_COLUMNS:
        if WAIT in column.needs:
            assert isinstance(arithmetic_lines(column, inputs), list | tuple)
            assert is_estimate(column, inputs) is (column.id == "SleepsIn")


def test_waits_of_rows_are_added_and_who_pushed_most_is_named() -> None:
    both = waits_of_all([ALL_KNOWN, Waits(WaitSums(queued=1, longest=1, pushed=99), pusher="other")])
    assert both is not None
    assert both.queued == 600_000_001
    assert both.pusher == "other"
    two = waits_of_all([SCHEDSTAT_ONLY, SCHEDSTAT_ONLY])
    assert two is not None
    assert (two.waited, two.delay, two.slices) == (None, 1_600_000_000, 80)
    assert waits_of_all([ALL_KNOWN, None]) is None


@dataclass
class Tasks(ProcHost):
    """Threads by their files alone: perf refuses whole CPUs."""

    kind: HostKind = HostKind.REAL
    asked: list[str] = field(default_factory=list)

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        raise HostError(errno.EACCES, "perf_event_open")

    def read_text(self, path: str) -> str:
        self.asked.append(path)
        return super().read_text(path)


def schedstat(waited: int, slices: int) -> dict[str, Content]:
    return {"/proc/1/task/1/schedstat": f"5 {waited} {slices}\n", "/proc/1/task/2/schedstat": "5 0 0\n"}


@pytest.fixture
def waiting() -> Iterator[WaitSet]:
    wait_set = WaitSet()
    yield wait_set
    wait_set.close()


def of_row(watch: WaitWatch, threads: Sequence[Thread], *, whole: bool = False, again: bool = False) -> Waits | None:
    rows = watch.rows([row(None)], dict.fromkeys([5], threads[0]), whole=whole, again=again)
    return rows[0].waits


def test_schedstat_of_rows_interval_by_interval(waiting: WaitSet) -> None:
    host = Tasks(dict(schedstat(400, 7)))
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    thread = [Thread(1, 1)]
    host.files |= schedstat(1_000, 10)
    watch.forget(0)  # the waits while the counters were opened
    host.clock_ns += 5_000
    host.files |= schedstat(4_000, 12)
    watch.end_interval("one", 0)
    first = of_row(watch, thread)
    assert first is not None
    assert (first.delay, first.slices) == (3_000, 2)
    assert WAIT_BY_ID["Wait%"].of(first, 2e-6).value == 60.0, "of its own time, not of 2 us"
    assert first.why_no_records is not None
    assert "CAP_PERFMON" in first.why_no_records.remedy
    host.files |= schedstat(9_000, 13)
    assert of_row(watch, thread, again=True) == first, "the same interval in another light"
    watch.end_interval("one", 0)
    assert of_row(watch, thread) == Waits(None, 5_000, 1, why_no_records=first.why_no_records)
    watch.end_interval("one", 0)
    whole = of_row(watch, thread, whole=True)
    assert whole is not None
    assert (whole.delay, whole.slices) == (8_000, 3)


def several(watch: WaitWatch, threads: dict[int, Thread], *, ran: Sequence[int], serials: Sequence[int] = (),
            whole: bool = False) -> tuple[Waits, Cell]:
    """The waits of a row of several threads, and its Wait% in an interval of 10 us."""
    of_several = replace(row(None), serials=frozenset(serials or ran), ran=frozenset(ran))
    [with_waits] = watch.rows([of_several], threads, whole=whole)
    assert with_waits.waits is not None
    inputs = TaskInputs(with_waits, 1e-5)
    column = next(column for column in TASK_COLUMNS if column.id == "Wait%")
    return with_waits.waits, judge_task(None)(column, inputs, column.compute(inputs))


def shown(cell: Cell) -> tuple[float | None, bool]:
    """A cell's number, and whether it is marked as a part."""
    return None if cell.value is None else round(float(cell.value), 6), cell.partial


def test_a_sum_of_delays_without_those_of_a_thread_that_ended_is_marked(waiting: WaitSet) -> None:
    host = Tasks({f"/proc/1/task/{tid}/schedstat": "5 0 0\n" for tid in (1, 2)})
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    watch.forget(0)
    threads = {5: Thread(1, 1), 6: Thread(1, 2)}
    host.clock_ns += 10_000
    host.files |= {f"/proc/1/task/{tid}/schedstat": "9 4000 2\n" for tid in (1, 2)}
    watch.end_interval("one", 0)
    waits, cell = several(watch, threads, ran=(5, 6))
    assert (waits.delay, shown(cell)) == (8_000, (80.0, False))
    host.clock_ns += 10_000
    host.files |= {"/proc/1/task/1/schedstat": "9 5000 3\n"}
    del host.files["/proc/1/task/2/schedstat"]
    watch.end_interval("one", 0)
    waits, cell = several(watch, threads, ran=(5, 6))
    assert (waits.delay, shown(cell)) == (1_000, (10.0, True))
    assert cells(replace(SWITCHES_ONLY, delay_partial=True))["WaitMean"].partial
    assert not cells(replace(SWITCHES_ONLY, delay_partial=True))["WaitMax"].partial, "records have it"
    waits, cell = several(watch, threads, ran=(5, 6), whole=True)
    assert (waits.delay, cell.partial) == (9_000, True)
    host.clock_ns += 10_000
    watch.end_interval("one", 0)
    waits, cell = several(watch, {5: Thread(1, 1)}, ran=(5,), serials=(5, 6))
    assert (waits.delay, cell.partial) == (0, False), "it had ended before"


def test_what_a_mark_at_waits_means_is_said_of_the_row() -> None:
    lacking = row(replace(SWITCHES_ONLY, delay_partial=True))
    for part, words in ((lacking, "ended in the interval"), (row(replace(ALL_KNOWN, partial=True)), "put together"),
                        (row(replace(ALL_KNOWN, delay_partial=True)), "")):
        report = Report(Application("", everything=True), rows=(part,), seconds=2.0, names=("run",))
        remarks = task_evidence(TaskSnapshot(SnapshotRequest(), (report,)), None, TaskInputs(part, 2.0)).remarks
        assert [words in text for text in remarks if "* " in text[:2]] == [True] * bool(words)


def test_a_thread_that_was_read_once_has_no_delay_and_not_none(waiting: WaitSet) -> None:
    host = Tasks({"/proc/1/task/1/schedstat": "5 700 2\n"})
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    watch.forget(0)
    del host.files["/proc/1/task/1/schedstat"]
    host.clock_ns += 10_000
    watch.end_interval("one", 0)
    waits, cell = several(watch, {5: Thread(1, 1)}, ran=(5,), whole=True)
    assert (waits.delay, cell.value) == (None, None)


def test_threads_that_are_too_many_to_be_read_are_marked_and_have_their_own_interval_later(
        waiting: WaitSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.features.tasks.wait_watch._MOST_READ", 1)
    host = Tasks({f"/proc/1/task/{tid}/schedstat": "5 0 0\n" for tid in (1, 2)})
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    watch.forget(0)
    threads = {5: Thread(1, 1), 6: Thread(1, 2)}
    seen = []
    for interval, ran in enumerate(((5, 6), (6,), (6,)), 1):
        host.clock_ns += 10_000
        host.files |= {f"/proc/1/task/{tid}/schedstat": f"9 {1_000 * interval} {interval}\n" for tid in (1, 2)}
        watch.end_interval("one", 0)
        waits, cell = several(watch, threads, ran=ran, serials=(5, 6))
        seen.append((waits.delay, *shown(cell)))
    # the second interval has the delays of two, so they are of neither
    assert seen == [(1_000, 10.0, True), (None, None, False), (1_000, 10.0, False)]


def test_threads_that_ended_take_no_room_of_those_that_are_read(
        waiting: WaitSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.features.tasks.wait_watch._MOST_READ", 1)
    host = Tasks({"/proc/1/task/1/schedstat": "9 1000 1\n"})
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    watch.end_interval("one", 0)
    of_both = replace(row(None), serials=frozenset({4, 5}), ran=frozenset({4, 5}), died=frozenset({4}))
    [task_row] = watch.rows([of_both], {4: Thread(1, 9), 5: Thread(1, 1)}, whole=False)
    assert task_row.waits is not None
    assert (task_row.waits.delay, task_row.waits.delay_partial) == (1_000, True)
    assert "/proc/1/task/9/schedstat" not in host.asked


def test_a_thread_that_slept_has_the_delay_of_the_interval_in_which_it_ran(waiting: WaitSet) -> None:
    host = Tasks({"/proc/1/task/1/schedstat": "5 0 0\n"})
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    watch.forget(0)
    for ran in ((5,), (), (), (5,)):
        host.clock_ns += 10_000
        if ran:
            host.files |= {"/proc/1/task/1/schedstat": f"9 {host.clock_ns // 2} {host.clock_ns}\n"}
        watch.end_interval("one", 0)
        watch.rows([replace(row(None), ran=frozenset(ran))] if ran else [], {5: Thread(1, 1)}, whole=False)
    waits = of_row(watch, [Thread(1, 1)], again=True)
    assert waits is not None
    assert waits.delay == 15_000
    assert waits.delayed == 1.5, "over 10 us, not over the 30 us since it was read"


def test_a_new_thread_with_the_number_of_an_old_one_has_its_own_delay(waiting: WaitSet) -> None:
    host = Tasks({"/proc/1/task/1/schedstat": "5 900000 80\n"})
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    watch.forget(0)
    host.clock_ns += 10_000
    host.files |= {"/proc/1/task/1/schedstat": "9 4000 2\n"}
    watch.end_interval("one", 0)
    waits = of_row(watch, [Thread(1, 1)])
    assert waits is not None
    assert (waits.delay, waits.slices) == (4_000, 2)


def test_threads_whose_waits_are_not_known_by_number_have_none() -> None:
    merged_row = row(Waits(why_no_records=NO_RIGHT, why_no_wakeups=NO_RIGHT, why_no_delay=NO_RIGHT)).waits
    both = waits_of_all([merged_row, ALL_KNOWN])
    assert both is not None
    result = cells(both)
    assert shown(result["Wait%"]) == (30.0, True)
    assert result["WaitMax"].partial


@pytest.mark.parametrize("kind", ["records", "schedstat"])
def test_a_thread_waits_once_however_many_event_sets_count_it(kind: str, waiting: WaitSet) -> None:
    host = Tasks(dict(schedstat(0, 0)))
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    if kind == "records":
        watch._times = SimpleNamespace(  # type: ignore[assignment]  # all that is asked of it
            take=lambda _until: {1: WaitSums(queued=3_000)}, take_cpus=dict, lost=0, why_no_wakeups=None)
    else:
        watch.forget(0)
    host.clock_ns += 10_000
    host.files |= schedstat(3_000, 2)
    watch.end_interval("one", 0)
    waits, cell = several(watch, {5: Thread(1, 1), 6: Thread(1, 1), 7: Thread(1, 1)}, ran=(5, 6, 7))
    assert (waits.queued, shown(cell)) == (3_000, (30.0, False))


def test_threads_are_asked_where_they_sleep_once_an_interval(waiting: WaitSet) -> None:
    host = Tasks(schedstat(1_000, 10) | {"/proc/1/task/1/wchan": "futex_do_wait"})
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    for again in (False, True):
        if not again:
            watch.end_interval("one", 0)
        waits = of_row(watch, [Thread(1, 1)], again=again)
        assert waits is not None
        assert waits.sleeping == "futex"
    assert host.asked.count("/proc/1/task/1/wchan") == 1


def test_an_interval_that_began_before_is_left_unknown(waiting: WaitSet) -> None:
    host = Tasks(dict(schedstat(1_000, 10)))
    watch = WaitWatch(host, (0,), waiting, beginning=False)
    watch.end_interval("one", 0)
    assert of_row(watch, [Thread(1, 1)]) is None
    watch.end_interval("one", 0)
    assert of_row(watch, [Thread(1, 1)]) is not None


def test_applications_share_an_interval(waiting: WaitSet) -> None:
    host = Tasks(dict(schedstat(1_000, 10)))
    watch = WaitWatch(host, (0,), waiting, beginning=False)
    for application in ("one", "two"):
        watch.end_interval(application, 0)
        assert of_row(watch, [Thread(1, 1)]) is None
    for application in ("one", "two"):
        watch.end_interval(application, 0)
        assert of_row(watch, [Thread(1, 1)]) is not None


def test_a_second_application_has_the_whole_interval_too(waiting: WaitSet) -> None:
    host = Tasks(dict(schedstat(1_000, 10)))
    watch = WaitWatch(host, (0,), waiting, beginning=True)
    watch.forget(0)
    host.clock_ns += 10_000
    host.files |= schedstat(6_000, 12) | {"/proc/3/task/3/schedstat": "5 2500 1\n"}
    shares = {}
    for application, thread in (("one", Thread(1, 1)), ("two", Thread(1, 1)), ("three", Thread(3, 3))):
        watch.end_interval(application, 0)
        host.clock_ns += 2_000  # one application's rows are made after the other's
        waits = of_row(watch, [thread])
        assert waits is not None
        shares[application] = waits.delay, waits.delayed
    assert shares["one"] == shares["two"] == (5_000, 5_000 / 12_000)
    assert shares["three"] == (2_500, 2_500 / 16_000), "it may have begun at any time since the interval did"


def test_simulated_tasks_say_why_they_wait_for_nothing() -> None:
    with watching("turin-2s", Application("all", everything=True)) as (host, applications, application):
        passes(host, applications, 20, 0.05)
        silent = applications.report(application, Grouping.COMMAND)
        assert silent.waits_lost is None
        assert all(row.waits is None for row in silent.rows)
        applications.watch_waits(True)
        passes(host, applications, 20, 0.05)
        report = applications.report(application, Grouping.COMMAND)
        table = task_table(report, Grouping.COMMAND, {}, None, TaskLooks(None))
    assert {column.id for column in table.columns} >= WAIT_BY_ID.keys()
    plain = task_table(silent, Grouping.COMMAND, {}, None, TaskLooks(None))
    assert not {column.id for column in plain.columns} & WAIT_BY_ID.keys()
    inputs = TaskInputs(report.rows[0], report.seconds)
    column = next(column for column in TASK_COLUMNS if column.id == "Wait%")
    why = judge_task(None)(column, inputs, column.compute(inputs)).why
    assert why is not None
    assert "simulated" in why.detail


def may_trace() -> bool:
    wait_set = WaitSet()
    try:
        WaitTimes(LinuxHost(), sorted(os.sched_getaffinity(0)), wait_set).close()
    except HostError:
        return False
    finally:
        wait_set.close()
    return True


permitted = pytest.mark.skipif(not may_trace(), reason="watching whole CPUs needs root or CAP_PERFMON")


@pytest.mark.real
@permitted
def test_two_loops_on_one_cpu_push_each_other_off() -> None:
    """Whichever way this kernel allows: both wait, and each knows that something took its CPU."""
    cpu = min(os.sched_getaffinity(0))
    host, wait_set = LinuxHost(), WaitSet()
    loops = [Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"])  # noqa: S603
             for _ in range(2)]
    before = host.now_ns()
    times = WaitTimes(host, sorted(os.sched_getaffinity(0)), wait_set)
    try:
        total = {loop.pid: WaitSums() for loop in loops}
        end = monotonic() + PATIENCE
        while not all(sums.pushed > 3 and sums.queued and sums.times for sums in total.values()):
            assert monotonic() < end, total
            wait_set.wait(0.1)
            until = host.now_ns()
            for tid, waited in times.take(until).items():
                assert waited.queued + waited.storage + waited.asleep <= until - before, "a thread waits once at a time"
                if tid in total:
                    total[tid].add(waited)
            before = until
        assert all(sums.pusher is not None for sums in total.values())
    finally:
        times.close()
        wait_set.close()
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.real
@permitted
def test_the_verb_tells_waits_where_they_are_asked_for() -> None:
    done = tasks("--waits", "--format", "json", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
    assert done.status == 0, done.err
    assert done.tables[0]["tasks"][0]["values"].keys() >= WAIT_BY_ID.keys()
    plain = tasks("--format", "json", "--", "true")
    assert not plain.tables[0]["tasks"][0]["values"].keys() & WAIT_BY_ID.keys()


LOCKED = "import threading\nlock = threading.Lock()\nlock.acquire()\nprint(flush=True)\nlock.acquire()"


@pytest.mark.real
@pytest.mark.skipif(not Path("/proc/self/wchan").exists(), reason="this kernel shows no wait channels")
def test_a_thread_that_waits_for_a_lock_is_distinguished_from_one_that_reads(waiting: WaitSet) -> None:
    """A futex by one look, as soon as the thread has got there."""
    programs = {"futex": LOCKED, "pipe": "print(flush=True)\nimport sys\nsys.stdin.readline()"}
    for word, program in programs.items():
        with Popen([sys.executable, "-S", "-c", program], stdin=PIPE, stdout=PIPE) as child:  # noqa: S603 - ours
            assert child.stdout is not None
            child.stdout.readline()
            end = monotonic() + PATIENCE
            while (result := sleeps_in(LinuxHost(), child.pid, child.pid)) != word:
                assert monotonic() < end, result
                waiting.wait(0.01)
            child.kill()


def test_the_explanation_of_a_row_says_who_ran_while_it_waited() -> None:
    report = Report(Application("", everything=True), rows=(row(ALL_KNOWN),), seconds=2.0, names=("run",))
    evidence = task_evidence(TaskSnapshot(SnapshotRequest(), (report,)), None, TaskInputs(report.rows[0], 2.0))
    assert "on its CPU ran while it waited 0.1 ms or longer: batch 71 %, web 29 %" in evidence.remarks
