"""Tasks of simulated machines, compared with the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from knownmachines import known_machine
from model_truth import truth_of
from smallmachines import small_host

from turbotui.errors import MachineError
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.energy import share_out
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.watched_application import WatchedApplication
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.sampling.energy import Energy
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import ManualClock
from turbotui.simulated.host import SimulatedHost
from turbotui.simulated.threads import process_of
from turbotui.simulated.workloads import COMPUTE, MEMORY

pytestmark = pytest.mark.usefixtures("few_cores")

EVERYTHING = Application("all", everything=True)


class RunningClock(ManualClock):
    """A clock that runs on by 5 ms at each look, as the clock of a machine that is busy."""

    def now_ns(self) -> int:
        self.advance(0.005)
        return super().now_ns()


@contextmanager
def watching(name: str, application: Application = EVERYTHING, *, whole: bool = False,
             clock: ManualClock | None = None) -> Iterator[
                 tuple[SimulatedHost, WatchedApplications, WatchedApplication]]:
    """All tasks of a machine of few cores, or of a whole one, on which more threads move."""
    host = (simulated_host if whole else small_host)(name, clock or ManualClock())
    applications = WatchedApplications(known_machine(host))
    try:
        yield host, applications, applications.add(application)
    finally:
        applications.close()


def passes(host: SimulatedHost, applications: WatchedApplications, rounds: int, seconds: float = 0.1) -> None:
    clock = host._clock
    assert isinstance(clock, ManualClock)
    for _ in range(rounds):
        clock.advance(seconds)
        applications.round(0.0)


def total(report: Report, name: str) -> int:
    return sum(row.counts[name] for row in report.rows)


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "vera-2s", "laptop", "laptop-old"])
def test_the_threads_together_are_the_machine(name: str) -> None:
    with watching(name) as (host, applications, application):
        cpus = range(len(applications._cpus))
        before = [truth_of(host).truth(cpu) for cpu in cpus]
        passes(host, applications, 20)
        after = [truth_of(host).truth(cpu) for cpu in cpus]
        report = applications.report(application, Grouping.THREAD)
    instructions = sum(b.instructions - a.instructions for a, b in zip(before, after, strict=True))
    assert total(report, "instructions") == pytest.approx(instructions, rel=1e-3)
    busy = sum(b.busy_seconds - a.busy_seconds for a, b in zip(before, after, strict=True))
    assert total(report, "run") / 1e9 == pytest.approx(busy, rel=1e-3)
    assert 0 < total(report, "cycles") <= sum(b.cycles - a.cycles for a, b in zip(before, after, strict=True)) + len(
        report.rows)


@pytest.mark.usefixtures("all_cores")
def test_threads_migrate_as_often_as_the_machine_counts_and_are_in_one_place_at_a_time() -> None:
    with watching("sapphire-2s", whole=True) as (host, applications, item):
        cpus = range(len(applications._cpus))
        passes(host, applications, 40, 0.05)
        before = sum(truth_of(host).truth(cpu).migrations for cpu in cpus)
        applications.report(item, Grouping.THREAD)
        passes(host, applications, 80, 0.05)
        counted = sum(truth_of(host).truth(cpu).migrations for cpu in cpus) - before
        rows = applications.report(item, Grouping.THREAD).rows
    # one that has no partner yet waits, and one that moved is seen when it next runs
    assert sum(row.migrations for row in rows) == pytest.approx(counted, rel=0.1)
    assert counted > 20
    assert max(row.counts["run"] for row in rows) <= 4.0e9 * 1.001
    lanes = [item.aggregate.timeline.line(row.serials, 0, item.aggregate.timeline.end + 1, 400) for row in rows]
    assert any(len({place.cpu for place in lane if place is not None}) > 1 for lane in lanes)


def test_the_busy_thread_of_a_laptop_stays_one_thread_wherever_it_goes() -> None:
    with watching("laptop-old") as (host, applications, application):
        places: list[int] = []
        while len(places) < 4:
            passes(host, applications, 2, 0.05)
            where = host.model.migrating
            assert where is not None
            places += [where[0]] if where[0] not in places[-1:] else []
        busiest, second, *_rest = applications.report(application, Grouping.THREAD).rows
    # a move is seen by the sample after it, and in a quiet phase of the machine the thread does not run
    assert len(busiest.cpus) > 1
    assert set(busiest.cpus) <= set(places)
    assert len(busiest.cpus) - 1 <= busiest.migrations < len(places)
    assert busiest.run_seconds > 1.5 * second.run_seconds


@pytest.mark.parametrize("name", ["sapphire-2s", "grace-2s"])
def test_flops_of_all_tasks_are_the_machines(name: str) -> None:
    with watching(name) as (host, applications, application):
        before = [truth_of(host).truth(cpu).flops for cpu in range(len(applications._cpus))]
        passes(host, applications, 10)
        flops = sum(truth_of(host).truth(cpu).flops for cpu in range(len(applications._cpus))) - sum(before)
        report = applications.report(application, Grouping.PROCESS)
    assert application.numerics.has_flops
    assert sum(application.numerics.flops(row.counts) or 0.0 for row in report.rows) == pytest.approx(flops, rel=2e-3)


def test_bytes_of_numerical_work_are_the_machines() -> None:
    with watching("sapphire-2s", Application("all", everything=True, events="instructions,cycles,double")) as (
            host, applications, application):
        passes(host, applications, 10)
        rows = {row.name: row for row in applications.report(application, Grouping.COMMAND).rows}
    row = rows["streaming"]  # full vectors only: 64 bytes an access, besides a few scalars
    accesses = row.counts["loads"] + row.counts["stores"]
    assert application.numerics.bytes(row.counts) == pytest.approx(64 * accesses, rel=0.15)


@pytest.mark.parametrize("clock", [ManualClock, RunningClock])
@pytest.mark.parametrize(("machine", "application"), [
    ("laptop-old", Application("all", everything=True, events="flops")), ("sapphire-2s", EVERYTHING)])
def test_rows_and_idle_time_are_the_time_of_the_cpus(machine: str, application: Application,
                                                     clock: type[ManualClock]) -> None:
    """Of one event set, and of multiplexed ones, each of which counts for a part of the time."""
    with watching(machine, application, clock=clock()) as (host, applications, watched_application):
        for _ in range(2):
            passes(host, applications, 40, 0.05)
            report = applications.report(watched_application, Grouping.PROCESS)
            ran = sum(row.counts["run"] for row in report.rows)
            idle = report.apart["idle"].counts["run"]
            assert ran > 0
            assert (ran + idle) / 1e9 == pytest.approx(report.seconds * len(applications._cpus), rel=0.01)


def test_energy_shares_add_up_to_the_packages() -> None:
    with watching("sapphire-2s") as (host, applications, application):
        before = [truth_of(host).package_truth(package).joules for package in range(2)]
        cycles = [truth_of(host).truth(cpu).aperf for cpu in range(len(applications._cpus))]
        passes(host, applications, 10)
        joules = {number: truth_of(host).package_truth(number).joules - was for number, was in enumerate(before)}
        used = {cpu: truth_of(host).truth(cpu).aperf - was for cpu, was in enumerate(cycles)}
        report = applications.report(application, Grouping.PROCESS)
        shares = share_out(report, Energy(joules, used, report.seconds), applications._machine.topology)
    assert sum(shares.values()) == pytest.approx(sum(joules.values()))
    assert shares.keys() == {*(row.key for row in report.rows), "idle"}
    assert shares["idle"] < 0.05 * sum(joules.values())


def test_an_interval_counts_from_the_one_before() -> None:
    with watching("laptop-old") as (host, applications, application):
        passes(host, applications, 10)
        first = applications.report(application, Grouping.THREAD)
        passes(host, applications, 10)
        second = applications.report(application, Grouping.THREAD)
        whole = applications.report(application, Grouping.THREAD, whole=True)
    assert first.seconds == pytest.approx(1.0)
    assert second.seconds == pytest.approx(1.0)
    assert total(first, "run") + total(second, "run") == total(whole, "run")
    found_lane = application.aggregate.timeline.total()
    assert found_lane == total(whole, "run")


@pytest.mark.usefixtures("all_cores")
def test_one_process_and_two_applications() -> None:
    host = simulated_host("sapphire-2s", ManualClock())
    applications = WatchedApplications(known_machine(host))
    try:
        dense = applications.add(Application("dense", pids=(process_of(COMPUTE),), events="instructions,cycles"))
        stream = applications.add(Application("stream", pids=(process_of(MEMORY),), events="cache-misses"))
        passes(host, applications, 5)
        [row] = applications.report(dense, Grouping.PROCESS).rows
        [other] = applications.report(stream, Grouping.PROCESS).rows
    finally:
        applications.close()
    assert (row.name, other.name) == ("dense algebra", "streaming")
    assert {"instructions", "cycles"} <= row.counts.keys()
    assert {"cache-misses"} == other.counts.keys() - {"run", "switches"}
    assert row.ipc == pytest.approx(2.4, rel=0.05)


def test_what_is_asked_for_by_name_comes_before_what_a_word_stands_for() -> None:
    with watching("laptop-old", Application("all", everything=True, events="branches,cache-misses,flops")) as (
            _host, _found, application):
        assert application.aggregate.names[2:4] == ("branches", "cache-misses")
        assert {"branches", "cache-misses"} <= set(application.aggregators[0].names)
        assert application.aggregate.set_count > 1, "what does not fit beside them is multiplexed"
        assert application.numerics.why is None


def test_what_a_simulated_machine_does_not_have() -> None:
    host = simulated_host("laptop-old", ManualClock())
    applications = WatchedApplications(known_machine(host))
    try:
        with pytest.raises(MachineError, match=r"no process 7; it has 10000 \(dense algebra\)"):
            applications.add(Application("7", pids=(7,)))
        with pytest.raises(MachineError, match="without control groups"):
            applications.add(Application("x", cgroup="/x"))
        assert host.open_descriptors == 0
    finally:
        applications.close()


def test_without_rights_the_reason_is_reported() -> None:
    host = simulated_host("laptop-old", ManualClock())
    host.set_privileges(uid=1000, capabilities=0)
    applications = WatchedApplications(known_machine(host))
    try:
        with pytest.raises(MachineError, match="may not be sampled by this user"):
            applications.add(EVERYTHING)
    finally:
        applications.close()


def test_an_interval_ends_with_what_was_taken_last_however_long_the_table_takes() -> None:
    with watching("laptop-old") as (host, applications, application):
        clock = host._clock
        assert isinstance(clock, ManualClock)
        passes(host, applications, 5)
        clock.advance(2.4)  # a stall between the taking of records and the table
        first = applications.report(application, Grouping.THREAD)
        passes(host, applications, 1, 0.04)
        second = applications.report(application, Grouping.THREAD)
    assert first.seconds == pytest.approx(0.5)
    assert second.seconds == pytest.approx(2.44)
    for report in (first, second):
        assert max(row.run_seconds for row in report.rows) <= report.seconds * len(applications._cpus) + 0.2
        assert total(report, "run") / 1e9 <= report.seconds * len(applications._cpus) + 0.2
