"""Event sets that do not fit together are multiplexed: counts add up, or are marked as estimates."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from knownmachines import known_machine
from model_truth import truth_of
from patience import PATIENCE, least_disturbed
from smallmachines import small_host
from test_simulated_tasks import passes, total, watching
from watchedtasks import switches_allowed

from turbotui.errors import MachineError, UsageError
from turbotui.features.tasks.application_totals import joined
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.choosing import ChosenSets
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.watched_application import WatchedApplication, slice_for
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.host import PerfAttr
from turbotui.machine.launching import HeldCommand
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.tasks.sample_reader import SampleReader
from turbotui.machine.tasks.sets import TaskCounter, choose, with_wanted
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import ManualClock
from turbotui.simulated.threads import process_of
from turbotui.simulated.workloads import COMPUTE

pytestmark = pytest.mark.usefixtures("few_cores")

FLOPS = Application("all", everything=True, events="flops")


def row(tid: int, **counts: int) -> TaskRow:
    return TaskRow(5, tid, "worker", 1, (0,), 0, {"run": 100, **counts}, 0, {0: 7}, 1_000, incomplete=False,
                   serials=frozenset({tid}))


def test_what_every_set_counts_is_added_up_and_the_rest_is_brought_to_all_instructions() -> None:
    parts = [[row(1, instructions=300, flops=30)], [row(1, instructions=100, loads=40)]]
    [task_row] = joined(parts, ("run", "instructions", "flops", "loads"), frozenset({"run", "instructions"}))
    assert task_row.counts == {"run": 200, "instructions": 400, "flops": 40, "loads": 160}
    assert task_row.estimated == {"flops", "loads"}
    assert (task_row.whole_run, task_row.loads) == (2_000, {0: 14})


def test_a_thread_that_did_not_run_while_a_set_was_on_has_no_count_of_it() -> None:
    parts = [[row(1, instructions=300, flops=30)], [row(1, instructions=0, loads=0), row(2, instructions=9, loads=3)]]
    first, second = joined(parts, ("run", "instructions", "flops", "loads"), frozenset({"run", "instructions"}))
    assert first.counts == {"run": 200, "instructions": 300, "flops": 30}
    assert second.counts == {"run": 100, "instructions": 9, "loads": 3}


def test_an_event_whose_set_had_no_slice_keeps_its_last_rate() -> None:
    names, always = ("run", "instructions", "flops", "loads"), frozenset({"run", "instructions"})
    parts = [[row(1, instructions=300, flops=30)], [row(1, instructions=0, loads=0)]]
    longer = [[row(1, instructions=400, flops=80)], [row(1, instructions=200, loads=50)]]
    [task_row] = joined(parts, names, always, longer)
    assert task_row.counts == {"run": 200, "instructions": 300, "flops": 30, "loads": 75}


@pytest.mark.parametrize(("seconds", "sets", "milliseconds"), [
    (1.0, 4, 100), (0.2, 4, 25), (0.05, 2, 20), (5.0, 3, 100)])
def test_every_set_has_two_slices_in_an_interval(seconds: float, sets: int, milliseconds: int) -> None:
    assert slice_for(round(seconds * 1e9), sets) == milliseconds * 1_000_000


def test_a_row_that_did_nothing_has_counted_nothing() -> None:
    parts = [[row(1, instructions=0, flops=0)], [row(1, instructions=0, loads=0)]]
    [task_row] = joined(parts, ("run", "instructions", "flops", "loads"), frozenset({"run", "instructions"}))
    assert (task_row.counts["flops"], task_row.counts["loads"]) == (0, 0)


@pytest.mark.parametrize(("name", "sets"), [("turin-2s", 4), ("laptop-old", 3), ("sapphire-2s", 2), ("vera-2s", 2)])
def test_flops_of_multiplexed_sets_are_the_machines(name: str, sets: int) -> None:
    with watching(name, FLOPS) as (host, applications, item):
        cpus = range(len(applications._cpus))
        before = [truth_of(host).truth(cpu) for cpu in cpus]
        passes(host, applications, 100, 0.05)
        after = [truth_of(host).truth(cpu) for cpu in cpus]
        report = applications.report(item, Grouping.COMMAND)
    assert report.set_count == sets
    assert total(report, "instructions") == pytest.approx(
        sum(new.instructions - old.instructions for new, old in zip(after, before, strict=True)), rel=1e-2)
    busy = sum(new.busy_seconds - old.busy_seconds for new, old in zip(after, before, strict=True))
    assert total(report, "run") / 1e9 == pytest.approx(busy, rel=1e-2)
    flops = sum(new.flops - old.flops for new, old in zip(after, before, strict=True))
    numerics = item.numerics
    assert sum(numerics.flops(each.counts) or 0 for each in report.rows) == pytest.approx(flops, rel=0.03)
    assert numerics.has_bytes
    assert all(numerics.bytes(each.counts) is not None for each in report.rows if each.run_seconds > 1)
    assert all(each.estimated == set(item.aggregate.names) - item.aggregate.always for each in report.rows)
    assert {"instructions", "cycles", "run", "switches", "faults"} <= item.aggregate.always


def test_sets_of_a_simulated_machine_lose_nothing_between_their_slices() -> None:
    with watching("turin-2s", FLOPS) as (host, applications, application):
        passes(host, applications, 37, 0.05)
        applications.finish()
        aggregate = application.aggregate
        assert aggregate.read is not None
        assert tuple(map(sum, zip(aggregate.sums(), aggregate.tail, strict=True))) == aggregate.read
        assert application.slices > 4


class SlowToOpen(WatchedApplications):
    """The counters of many CPUs take seconds to open."""

    def _aim(self, watched: WatchedApplication, reader: SampleReader, *, on_exec: bool) -> str | None:
        clock = self._host._clock  # type: ignore[attr-defined]
        clock.advance(0.3)
        folder = super()._aim(watched, reader, on_exec=on_exec)
        clock.advance(0.3)
        return folder


def test_the_first_interval_has_the_time_in_which_later_sets_were_opened() -> None:
    host = small_host("turin-2s", ManualClock())
    watching_all = SlowToOpen(known_machine(host))
    try:
        application = watching_all.add(FLOPS)
        assert len(application.readers) > 1
        passes(host, watching_all, 10)
        report = watching_all.report(application, Grouping.THREAD)
    finally:
        watching_all.close()
    counted = total(report, "run") + report.apart["idle"].counts["run"]
    assert counted / 1e9 == pytest.approx(report.seconds * len(watching_all._cpus), rel=1e-3)


def test_a_watcher_is_not_woken_for_slices_of_a_clock_that_stands_still() -> None:
    with watching("turin-2s", FLOPS) as (host, applications, application):
        passes(host, applications, 1, 0.05)
        assert applications.pause == application.readers[0].pause
        clock = host._clock
        assert isinstance(clock, ManualClock)
        clock.advance(0.001)
        assert applications.pause < application.readers[0].pause


@pytest.mark.usefixtures("all_cores")
def test_threads_that_move_are_seen_to_move_once() -> None:
    with watching("sapphire-2s", FLOPS, whole=True) as (host, applications, application):
        cpus = range(len(applications._cpus))
        before = sum(truth_of(host).truth(cpu).migrations for cpu in cpus)
        passes(host, applications, 120, 0.05)
        counted = sum(truth_of(host).truth(cpu).migrations for cpu in cpus) - before
        rows = applications.report(application, Grouping.THREAD).rows
    assert sum(each.migrations for each in rows) == pytest.approx(counted, rel=0.15)


def test_events_of_choice_and_the_metric_definition_are_both_there() -> None:
    with watching("laptop-old", replace(FLOPS, events="branches,flops")) as (host, applications, application):
        passes(host, applications, 100, 0.05)
        rows = applications.report(application, Grouping.COMMAND).rows
        branches = application.aggregators[0].names.index("branches")
    assert branches == 2
    assert {"branches"} <= rows[0].estimated
    assert rows[0].counts["branches"] > 0
    assert application.numerics.flops(rows[0].counts)


def test_without_the_word_nothing_is_multiplexed_over_a_process() -> None:
    host = simulated_host("turin-2s", ManualClock())
    applications = WatchedApplications(known_machine(host))
    try:
        application = applications.add(Application("dense", pids=(process_of(COMPUTE),)))
        assert application.aggregate.set_count == 1
        assert application.numerics.why is not None
        assert "flops" in application.numerics.why.sentence()
    finally:
        applications.close()


def test_over_whole_cpus_everything_that_has_a_column_is_counted() -> None:
    with watching("turin-2s", Application("all", everything=True)) as (host, applications, application):
        passes(host, applications, 60, 0.05)
        rows = applications.report(application, Grouping.COMMAND).rows
    assert application.aggregate.set_count > 1
    assert application.numerics.why is None
    assert {"cache-misses", "instructions", "cycles", "faults"} <= rows[0].counts.keys()
    assert rows[0].estimated.isdisjoint({"instructions", "cycles", "faults"})


def test_where_descriptors_do_not_suffice_for_every_set_there_is_the_first() -> None:
    machine = known_machine(simulated_host("turin-2s", ManualClock()))

    class Poor(WatchedApplications):
        def _aim(self, watched_application: WatchedApplication, reader: SampleReader, *, on_exec: bool) -> str | None:
            if reader is not watched_application.readers[0]:
                raise MachineError("no file descriptor left")
            return super()._aim(watched_application, reader, on_exec=on_exec)

    result = Poor(machine)
    try:
        application = result.add(FLOPS)
        assert application.aggregate.set_count == 1
        assert application.numerics.has_flops
        assert not application.numerics.has_bytes
        assert result.watched == [application]
    finally:
        result.close()


SLICES = 12
CHILD = f"""
import os, sys, time
open("/proc/self/comm", "w").write("forker")  # no other process of this machine has this name
forks, end = 0, time.monotonic() + {PATIENCE}  # nobody watches any more
while (forks < 50 or not os.path.exists(sys.argv[1])) and time.monotonic() < end:
    forks += 1
    for _ in range(2000):
        pass
    time.sleep(0.002)
    if os.fork() == 0:
        block = bytearray(400_000)
        os._exit(0)
    os.wait()
"""
SOFTWARE = 1


class Multiplexing(WatchedApplications):
    """Two sets of software events that would fit together, but for one application; run time is the instructions."""

    def _choose(self, application: Application, pids: Sequence[int]) -> ChosenSets:
        first = choose(self._host, self._cpus[0], (), whole_cpus=application.whole_cpus)
        anchor = TaskCounter("instructions", PerfAttr(SOFTWARE, 1))
        sets = tuple(
            with_wanted(self._host, first, self._cpus[0], (anchor, TaskCounter(name, PerfAttr(SOFTWARE, config))))
            for name, config in (("faults", 2), ("minor", 5)))
        assert all(len(sampling.counters) == 2 for sampling in sets)
        return ChosenSets(sets[:1] if application.name == "exact" else sets, Numerics())


@pytest.mark.skipif(not switches_allowed(), reason="kernel.perf_event_paranoid hides switches from this user")
@pytest.mark.parametrize("everything", [False, True], ids=["command", "all"])
@least_disturbed
def test_real_sets_are_multiplexed_over_a_program_that_forks(everything: bool, tmp_path: Path) -> None:
    enough = tmp_path / "enough"
    enough.unlink(missing_ok=True)
    multiplexing = Multiplexing(read_machine(LinuxHost()))
    held = HeldCommand([sys.executable, "-S", "-c", CHILD, str(enough)])
    try:
        item, exact = (
            multiplexing.add(Application(name, everything=everything, command=() if everything else ("child",)),
                             child=None if everything else held.pid)
            for name in ("multiplexed", "exact"))
        multiplexing.waiting.add(held.descriptor)
        held.go()
        while held.status is None:
            multiplexing.round(multiplexing.pause)
            if item.slices >= SLICES:
                enough.touch()
        multiplexing.finish()
        sums = {}
        for watched in (item, exact):
            aggregate = watched.aggregate
            assert aggregate.read is not None
            assert tuple(map(sum, zip(aggregate.sums(), aggregate.tail, strict=True))) == aggregate.read
            rows = [each for each in multiplexing.report(watched, Grouping.COMMAND, whole=True).rows
                    if not everything or each.name == "forker"]
            left = (
                dict.fromkeys(aggregate.names, 0)
                if everything
                else dict(zip(aggregate.names, aggregate.tail, strict=True))
            )
            sums[watched.application.name] = {
                name: left[name] + sum(each.counts.get(name, 0) for each in rows) for name in aggregate.names}
    finally:
        multiplexing.close()
    several, known = sums["multiplexed"], sums["exact"]
    assert item.slices >= SLICES
    for name in ("run", "switches"):  # what runs between two slices is lost: more where this test has no CPU
        assert 0.7 * known[name] < several[name] < 1.1 * known[name], "one set alone would have half of it"
    assert known["faults"] > 1_000
    if everything:
        assert several["faults"] == pytest.approx(known["faults"], rel=0.3), "counted for half of the time"
        return
    for aggregator in item.aggregators:  # each counted for its part of the run time; the rows are brought to all of it
        assert aggregator.read is not None
        read = dict(zip(aggregator.names, aggregator.read, strict=True))
        whole = read[aggregator.names[-1]] * known["run"] / read["run"]
        assert whole == pytest.approx(known["faults"], rel=0.2)


def open_counters() -> int:
    """Count the counters that this process has open."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(os.readlink(link) == "anon_inode:[perf_event]" for link in links)


def test_sets_that_rest_are_closed_with_the_others() -> None:
    multiplexing = Multiplexing(read_machine(LinuxHost()))
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        multiplexing.add(Application("sleeper", pids=(sleeper.pid,)))
        assert open_counters()
    finally:
        multiplexing.close()
        sleeper.communicate()
    assert not open_counters()


@pytest.mark.parametrize("name", ["grace-2s", "forest-1s", "turin-2s", "sapphire-2s"])
def test_bytes_per_instruction_are_those_of_the_machine(name: str) -> None:
    with watching(name, FLOPS) as (host, applications, application):
        cpus = range(len(applications._cpus))
        before = [truth_of(host).truth(cpu) for cpu in cpus]
        passes(host, applications, 100, 0.05)
        after = [truth_of(host).truth(cpu) for cpu in cpus]
        rows = applications.report(application, Grouping.COMMAND).rows
    moved = sum(new.bytes_loaded + new.bytes_stored - old.bytes_loaded - old.bytes_stored
                for new, old in zip(after, before, strict=True))
    assert sum(application.numerics.bytes(each.counts) or 0 for each in rows) == pytest.approx(moved, rel=0.25)


@pytest.mark.parametrize(("name", "events"), [
    ("grace-2s", "cache-misses,branch-misses,branches,dTLB-load-misses,iTLB-load-misses,LLC-loads,cache-references"),
    ("laptop-old", "branches,branch-misses,cache-misses,cache-references,LLC-loads,LLC-load-misses"),
])
def test_events_of_choice_that_do_not_fit_are_multiplexed(name: str, events: str) -> None:
    with watching(name, replace(FLOPS, events=events)) as (host, applications, application):
        passes(host, applications, 100, 0.05)
        rows = applications.report(application, Grouping.COMMAND).rows
    assert application.aggregate.set_count > 1
    assert set(events.split(",")) <= rows[0].counts.keys()
    assert rows[0].counts["branches"] > rows[0].counts["branch-misses"] > 0


def test_both_words_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="one of the two"), watching("turin-2s", replace(FLOPS, events="flops,double")):
        pass
