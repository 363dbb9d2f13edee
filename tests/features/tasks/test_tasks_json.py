"""The JSON of `turbotui tasks`: intervals, the whole run, multiplexed sets."""

from __future__ import annotations

import os
from typing import Any

import pytest
from model_truth import truth_of
from test_simulated_tasks import passes, watching
from watchedtasks import switches_allowed, tasks, written

from turbotui.features.tasks.application_totals import Totals
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.text import StartTotals, TaskInterval
from turbotui.features.tasks.watched_application import WatchedApplication
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.sampling.energy import Energy

pytestmark = pytest.mark.usefixtures("few_cores")

EVERYTHING = Application("all", everything=True)
FLOPS = Application("all", everything=True, events="flops")
NO_ENERGY = Energy({}, {})


def cut(value: WatchedApplications, item: WatchedApplication, number: int | None,
        earlier: StartTotals) -> tuple[Any, StartTotals]:
    report = value.report(item, Grouping.COMMAND, whole=number is None)
    shown = TaskInterval(report, item.aggregate, number, {}, NO_ENERGY, Grouping.COMMAND, value._host, earlier)
    return written(shown.envelope, shown.tables), shown.so_far()


def test_all_numbers_of_a_table_are_of_its_interval_and_those_since_the_start_say_so() -> None:
    with watching("turin-2s", EVERYTHING) as (host, applications, application):
        passes(host, applications, 10)
        first, earlier = cut(applications, application, 1, StartTotals())
        application.aggregators[0].lost += 3
        passes(host, applications, 10)
        second, _ = cut(applications, application, 2, earlier)
        applications.finish()
        whole, _ = cut(applications, application, None, StartTotals())
    for table in (first, second):
        for name in ("instructions", "Time_s"):
            assert table["sum"][name] == pytest.approx(sum(row[name] for row in table["tasks"]))
        assert table["final_read"] is None
        assert table["after_last_samples"] is None
    assert (first["lost"], second["lost"], second["lost_since_start"], whole["lost"]) == (0, 3, 3, 3)
    assert second["seconds_since_start"] == pytest.approx(first["seconds"] + second["seconds"])
    since = second["since_start"]
    assert since["instructions"] == first["sum"]["instructions"] + second["sum"]["instructions"]
    assert whole["sum"] == whole["since_start"]
    for name in whole["final_read"]:
        parts = [whole["sum"], whole["after_last_samples"], *whole["not_in_rows"].values()]
        assert sum(part[name] for part in parts) == pytest.approx(whole["final_read"][name]), name


@pytest.mark.real
@pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here")
@pytest.mark.skipif(os.geteuid() != 0, reason="whole CPUs need root or CAP_PERFMON")
def test_on_whole_cpus_that_rest_the_sum_is_of_the_rows_and_the_idle_task_stands_beside() -> None:
    done = tasks("--all", "--json", "-i", "0.2", "-n", "3")
    assert len(done.tables) >= 3
    for table in done.tables:
        for name, total in table["sum"].items():
            assert total == pytest.approx(sum(row[name] for row in table["tasks"])), name
    last = done.tables[-1]
    for name in ("Time_s", "switches", "faults"):
        parts = [last["sum"], last["after_last_samples"], *last["not_in_rows"].values()]
        assert sum(part[name] for part in parts) == pytest.approx(last["final_read"][name]), name


def test_sums_of_multiplexed_sets_are_of_the_whole_time_and_say_that_they_are_estimates() -> None:
    with watching("turin-2s", FLOPS) as (host, applications, application):
        before = [truth_of(host).truth(cpu) for cpu in applications._cpus]
        passes(host, applications, 200, 0.05)
        after = [truth_of(host).truth(cpu) for cpu in applications._cpus]
        table, _ = cut(applications, application, 1, StartTotals())
        numerics = application.numerics
        applications.finish()
        whole, _ = cut(applications, application, None, StartTotals())
    flops = sum(new.flops - old.flops for new, old in zip(after, before, strict=True))
    assert numerics.flops(table["sum"]) == pytest.approx(flops, rel=0.03)
    assert set(table["estimated"]) == set(application.aggregate.names) - application.aggregate.always
    busiest = max(table["tasks"], key=lambda row: float(row["FLOP"] or 0))
    assert {"FLOP", "Bytes", "loads"} <= set(busiest["estimated"])
    # raw counts stand by set, each with the run time that it saw
    assert len(table["set_counts"]) == table["sets"] == 4
    assert sum(each["Time_s"] for each in table["set_counts"]) == pytest.approx(
        table["sum"]["Time_s"])
    assert sum("loads" in each for each in table["set_counts"]) == 1
    assert set(whole["final_read"]) == set(whole["after_last_samples"])
    assert "loads" not in whole["final_read"]
    assert whole["final_read"]["instructions"] == sum(
        part["instructions"] for part in (whole["sum"], *whole["not_in_rows"].values()))


def test_what_no_set_saw_in_an_interval_is_unknown() -> None:
    change = Totals(({"instructions": 4, "flops": 2}, {"instructions": 0, "loads": 0}), 4)
    assert change.everything == {"instructions": 4, "flops": 2, "loads": None}
    assert change.lost == 4
    assert change.brought_to({"instructions": 2}) == {"instructions": 2, "flops": 1, "loads": None}
    newer = Totals(({"instructions": 9, "flops": 3}, {"instructions": 7, "loads": 2}))
    assert newer.everything == {"instructions": 16, "flops": 5, "loads": 5}
