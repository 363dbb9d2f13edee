"""Tasks outside a pid namespace: counted, never taken for the idle task, and never among the own numbers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE, least_disturbed
from ringbytes import FORMAT, comm, ended, fork, sample
from watchedtasks import busy_loops, in_namespaces, intervals

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot
from turbotui.features.tasks.report import Apart, Report, idle_apart
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.screen_text import note_lines, task_evidence
from turbotui.features.tasks.tables import Grouping, task_rows
from turbotui.features.tasks.totals_table import EITHER_PART, IDLE_PART, OUTSIDE_PART
from turbotui.machine.perf_records import NOBODY, parse_record
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.machine.tasks.sight import OUTSIDE


def test_records_of_tasks_outside_change_no_name_and_end_no_account() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {})
    records = (sample(0, 0, 10, (1, 100)), fork(0, 0, 0, 0, 11), comm(0, 0, b"true", 12), sample(5, 5, 20, (2, 130)),
               ended(0, 0, 30), sample(NOBODY, NOBODY, 31, (3, 150)), fork(0, 0, 0, 0, 40), sample(0, 0, 50, (4, 190)),
               ended(5, 5, 55), sample(NOBODY, NOBODY, 60, (5, 200)))
    aggregate.feed([RingRecords(0, tuple(parse_record(data, FORMAT) for data in records))])
    assert {what: mark.totals for what, mark in aggregate.apart().items()} == {
        IDLE_PART: (2, 140), OUTSIDE_PART: (1, 20)}  # the one that ended is not the idle task for certain
    assert [(row.tid, row.counts["run"], row.ended) for row in task_rows(aggregate, Grouping.THREAD)] == [(5, 40, True)]
    assert not {entry.name for entry in aggregate.entries()} & {"true"}


LOADS = st.dictionaries(st.integers(0, 3), st.integers(0, 10**10), max_size=4)


@given(LOADS, LOADS, st.none() | st.integers(0, 10**11), st.booleans())
def test_nothing_is_lost_where_idle_time_is_told_from_tasks_outside(
        either: dict[int, int], outside: dict[int, int], idle_ns: int | None, by_cycles: bool) -> None:
    apart = {IDLE_PART: Apart({"run": sum(either.values()), "switches": 7}, either),
             OUTSIDE_PART: Apart({"run": sum(outside.values()), "switches": 2}, outside),
             "others": Apart({"run": 3}, {0: 3})}
    result = idle_apart(apart, idle_ns, by_cycles=by_cycles)
    assert sum(part.counts["run"] for part in result.values()) == sum(part.counts["run"] for part in apart.values())
    for cpu in range(4):
        assert sum(part.loads.get(cpu, 0) for part in result.values()) == sum(
            part.loads.get(cpu, 0) for part in apart.values())
    assert result["others"] is apart["others"]
    if idle_ns is None:
        assert IDLE_PART not in result
        assert result[EITHER_PART] == apart[IDLE_PART]
    else:
        assert result[IDLE_PART].counts == {"run": min(idle_ns, sum(either.values()))}
    assert all(value >= 0 for part in result.values() for value in (*part.counts.values(), *part.loads.values()))


@pytest.fixture
def burners() -> Iterator[int]:
    """Busy loops on every CPU and processes that end at once; gives the number of the CPUs."""
    over = threading.Event()

    def short() -> None:
        while not over.wait(0.05):
            subprocess.run(["true"], check=True)  # noqa: S607 - coreutils

    thread = threading.Thread(target=short)
    thread.start()
    with busy_loops() as pids:
        yield len(pids)
    over.set()
    thread.join()


@in_namespaces
@pytest.mark.parametrize("mounted", [True, False])
@least_disturbed
def test_rows_idle_time_and_what_is_outside_are_all_of_the_cpus_time(burners: int, mounted: bool) -> None:
    """Also where /proc has the machine's numbers, which are nobody's in the namespace."""
    words = ["unshare", "-p", "-f", "--kill-child", *(["--mount-proc"] if mounted else []),
             sys.executable, "-m", "turbotui", "tasks", "--all", "-i", "1", "-n", "2", "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603 - ours
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(f"no namespace can be made here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    result = intervals(done.stdout)
    for table in result:
        parts = [table["sum"], table["after_last_samples"] or {"Time_s": 0.0}, *table["not_in_rows"].values()]
        whole = burners * table["seconds"]
        assert sum(part["Time_s"] for part in parts) == pytest.approx(whole, rel=0.01 if table is result[-1] else 0.1)
        assert table["not_in_rows"][OUTSIDE_PART]["Time_s"] > 0.5 * whole
        assert table["not_in_rows"][IDLE_PART]["Time_s"] < 0.1 * whole
        assert any("pid namespace" in note and OUTSIDE_PART in note for note in table["notes"])
        assert all(row["tid"] is None or row["tid"] < 500 for row in table["tasks"])
        if not mounted:
            assert not {row["User"] for row in table["tasks"] if "User" in row} - {None}
    assert any(row["tid"] == 1 for row in result[-1]["tasks"])


def test_the_screen_says_what_it_cannot_see_and_the_window_what_would_show_it() -> None:
    report = Report(Application("all", everything=True), TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()),
                    seconds=1.0, names=("switches", "run"), unseen=OUTSIDE,
                    apart={IDLE_PART: Apart({"run": 5 * 10**8}, {}), OUTSIDE_PART: Apart({"run": 15 * 10**8}, {})})
    snapshot = TaskSnapshot(SnapshotRequest(), (report,))
    lines = " ".join(text for text, _ in note_lines(snapshot, None, 80, 24))
    assert f"{OUTSIDE_PART}: 1.500 s, 75% of the CPUs' time" in lines
    assert "pid namespace" in lines
    assert any("--pid=host" in text for text in task_evidence(snapshot, None, None).remarks)
