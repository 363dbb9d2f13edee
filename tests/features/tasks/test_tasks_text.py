"""Timelines and tables of tasks as text."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from ringbytes import FORMAT, ended, sample
from watchedtasks import switches_allowed, written

from turbotui.features.tasks.application_totals import ApplicationTotals
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, task_rows
from turbotui.features.tasks.text import TaskInterval, as_text, notes, timeline_lines
from turbotui.features.tasks.timeline import Timeline
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.perf_records import parse_record
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.sampling.energy import Energy
from turbotui.simulated import simulated_host


def table(lost: int = 0) -> TaskInterval:
    choice = TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ())
    aggregate = SampleAggregator(choice, {}, Timeline(10))
    aggregate.name(5, "worker")
    records = (sample(5, 5, 1500, (1, 500)), sample(5, 6, 2000, (2, 1000)), ended(5, 6, 2001))
    aggregate.feed([RingRecords(0, tuple(parse_record(data, FORMAT) for data in records))])
    aggregate.feed([RingRecords(11, (parse_record(sample(5, 5, 3000, (1, 400), 11), FORMAT),))])
    rows = tuple(task_rows(aggregate, Grouping.THREAD))
    report = Report(Application("web", pids=(5,)), choice, rows=rows, seconds=1.0, lost=lost, names=aggregate.names)
    energy = Energy({0: 3.0}, {})
    return TaskInterval(
        report,
        ApplicationTotals([aggregate]),
        1,
        {row.key: 0.5 for row in rows},
        energy,
        Grouping.THREAD,
        simulated_host("laptop-old"),
    )


def test_lanes_have_the_number_of_the_cpu_at_the_right_time() -> None:
    head, running, first, second = timeline_lines(table(), 50, colour=False)
    assert set(running.removeprefix("running").split()) == {"1", "·"}
    assert "0.000 s from left to right" in head
    lane = first.removeprefix("5 worker  ")
    assert len(lane) % 3 == 0
    places = [lane[at : at + 3].strip() for at in range(0, len(lane), 3)]
    assert (places[0], places[-1]) == ("0", "━━━")
    assert places.index("·") < places.index("11")
    assert set(second.removeprefix("6").split()) >= {"·"}
    assert "11" not in second


def test_on_a_terminal_a_cpu_has_its_colour_filled_where_the_thread_stayed() -> None:
    lane = timeline_lines(table(), 50, colour=True)[2]
    assert "\x1b[36;7m  0\x1b[0m" in lane
    assert "\x1b[35;7m 11\x1b[0m" in lane  # the fourth colour again


def test_the_machine_the_application_and_what_is_lost_are_reported() -> None:
    lines = as_text(table(lost=7))
    assert lines[0].startswith("# SIMULATED machine laptop-old")
    assert lines[1].startswith("# web: interval 1 of 1.000 s; each CPU is counted")
    assert any("7 samples LOST" in line and "stands in the row (lost samples)" in line for line in lines)
    assert any("estimate" in line for line in lines)
    rows = table().report.rows
    assert f"# sum of the rows: run {sum(row.run_seconds for row in rows):.6f} s, switches 3" in lines
    shown = table()
    result = written(shown.envelope, shown.tables)
    assert (result["kind"], result["application"], result["lost"]) == ("SIMULATED", "web", 0)


def test_a_note_that_was_said_is_not_reported_again_a_new_one_is() -> None:
    said = notes(table())
    assert said
    again = as_text(table(lost=7), said)
    assert [line for line in again if "LOST" in line]
    assert not any(note in line for note in said for line in again)


@pytest.mark.real
@pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here")
def test_what_perf_leaves_out_is_reported_where_a_row_has_very_many_switches() -> None:
    def said(switches: int) -> bool:
        interval = table()
        rows = tuple(replace(row, counts={"switches": switches, "run": 20_000_000}) for row in interval.report.rows)
        return any("schedstat" in note for note in notes(replace(interval, report=replace(interval.report, rows=rows))))

    assert said(1_000)
    assert not said(10)


def test_a_control_group_that_is_removed_ends_the_watch(tmp_path: Path) -> None:
    group = tmp_path / "group"
    group.mkdir()
    watching = WatchedApplications(read_machine(LinuxHost()))
    try:
        application = replace(watching.add(Application("own", pids=(os.getpid(),))), folder=str(group))
        assert not watching.gone(application)
        group.rmdir()
        assert watching.gone(application)
    finally:
        watching.close()
