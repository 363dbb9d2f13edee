"""Spies through host, source, worker and frame: multiplexed sets, change, or cannot be counted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from model_truth import CpuTruth, truth_of
from patience import PATIENCE
from spiedmachine import SpiedMachine
from spy_files import plan_text

from turbotui.errors import UsageError
from turbotui.features.spies.intervals import Joiner
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.quantities.spies import SpyPlan, parse_plan, typed_spy
from turbotui.quantities.spy_signals import SAMPLES, SETS, SpySignals
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.sampling.spy_file import SpyFile
from turbotui.sources import SOURCES

_TRUE = {
    "instructions": "instructions",
    "cycles": "cycles",
    "branches": "branches",
    "branch-misses": "branch_misses",
    "cache-references": "cache_references",
    "cache-misses": "cache_misses",
}
_THREE = "cycles,branches;cache-references,cache-misses;branch-misses"


def plan_of(events: str, on: str = "all") -> SpyPlan:
    return SpyPlan((typed_spy(on, events),))


def counted(frame: Frame, event: str, cpu: int) -> float | None:
    result: float | None = frame.inputs(cpu_row(cpu)).delta(SpySignals(event).count)
    return result


def test_three_sets_are_joined_to_what_really_happened() -> None:
    spied = SpiedMachine("laptop-old", plan_of(_THREE))
    cpus = spied.machine.topology.cpus
    marks: list[dict[int, CpuTruth]] = []
    frames = spied.frames(0.05, 60, lambda _n: marks.append({cpu: truth_of(spied.host).truth(cpu) for cpu in cpus}))
    joiner = Joiner(spied.session.spies)
    joined = [interval for frame in frames for interval in joiner.add(frame)] + joiner.rest()
    assert len(joined) == len(frames) * len(cpus)
    assert all({*interval.counts} == set(_TRUE) for interval in joined)
    assert {len(interval.estimated) for interval in joined} == {3, 4}
    marks.append({cpu: truth_of(spied.host).truth(cpu) for cpu in cpus})
    for event, name in _TRUE.items():
        total = sum(interval.counts[event] for interval in joined)
        true = sum(getattr(marks[-1][cpu], name) - getattr(marks[0][cpu], name) for cpu in cpus)
        # Two thirds are drawn between neighbours while the load steps and bursts; instructions are counted.
        assert total == pytest.approx(true, rel=1e-6 if event == "instructions" else 0.03), event


def test_what_is_counted_in_an_interval_is_exact_and_what_is_not_is_marked() -> None:
    spied = SpiedMachine("laptop-old", plan_of(_THREE))
    marks: list[CpuTruth] = []
    frames = spied.frames(0.1, 6, lambda _n: marks.append(truth_of(spied.host).truth(2)))
    catalog = spied.session.catalog
    exact = 0
    for number, frame in enumerate(frames[:5]):
        for event, name in _TRUE.items():
            column = catalog.by_id[event]
            value, row = counted(frame, event, 2), cpu_row(2)
            if value is None:
                assert frame.estimated(column, row)
                continue
            exact += 1
            assert not frame.estimated(column, row)
            grown = getattr(marks[number + 1], name) - getattr(marks[number], name)
            assert value == pytest.approx(grown, rel=1e-6, abs=2)
            assert frame.cell(column, row) == pytest.approx(grown / 0.1, rel=1e-5, abs=20)
    assert exact == 5 + 2 + 1 + 2 + 2 + 1, "instructions in each, and one of the three sets after the other"


def test_the_sum_over_cpus_is_that_of_their_estimates() -> None:
    """CPUs with unlike work: a quotient of sums over them is far from the sum of their quotients."""
    plan = parse_plan("""
        [[spy]]
        on = "0-2"
        sets = [["cycles", "branches"], ["cache-misses", "branch-misses"]]
        [[spy]]
        on = "3-6"
        sets = [["branches"], ["cache-misses"], ["cycles"]]
    """)
    spied = SpiedMachine("laptop-old", plan)
    frames = spied.frames(0.1, 8)
    topology = spied.machine.topology
    rows = {SYSTEM_ROW: topology.cpus}
    rows |= {item.row: item.cpus for scope in (Scope.PACKAGE, Scope.CORE) for item in topology.instances(scope)}
    estimates = unknown = 0
    for frame in frames:
        for column in (spied.session.catalog.by_id[name] for name in ("cycles", "branches", "cache-misses")):
            for row, cpus in rows.items():
                counting = [cpu for cpu in cpus if cpu != 7]
                own = [frame.cell(column, cpu_row(cpu)) for cpu in counting]
                known = [value for value in own if isinstance(value, float)]
                estimates += frame.estimated(column, row)
                if len(known) == len(own):
                    assert frame.cell(column, row) == pytest.approx(sum(known), rel=1e-9), (column.id, row)
                else:
                    unknown += 1
                    assert frame.cell(column, row) is None, "part of a sum is not the sum"
                    assert frame.why(column, row) is not None
    assert estimates
    assert unknown


def test_a_set_that_does_not_fit_is_split_and_one_that_does_is_not() -> None:
    many = "cycles,branches,branch-misses,cache-references,cache-misses,L1-dcache-loads,LLC-loads,dTLB-loads"
    spied = SpiedMachine("laptop-old", plan_of(many))
    frame = spied.frames(0.1, 2)[-1]
    assert frame.levels(SETS)[0] == 2
    wide = SpiedMachine("laptop-old", plan_of("cycles,branches"))
    assert wide.frames(0.1, 1)[-1].levels(SETS)[0] == 1
    assert SpySignals("branches").last not in wide.session.capabilities.signals, "nothing has to be joined"


def test_sets_change_while_they_run_and_what_stays_loses_nothing() -> None:
    spied = SpiedMachine("laptop-old", plan_of("cycles,branches"))
    plans = [plan_of("branches,cache-misses"), plan_of(_THREE), plan_of("instructions"), plan_of("branches")]
    marks: list[CpuTruth] = []

    def change(number: int) -> None:
        marks.append(truth_of(spied.host).truth(1))
        if number % 2 == 0 and plans:
            spied.session.spy(plans.pop(0))

    frames = spied.frames(0.1, 10, change)
    assert not plans
    marks.append(truth_of(spied.host).truth(1))
    result = [counted(frame, "instructions", 1) for frame in frames]
    assert None not in result
    for number, value in enumerate(result):
        assert value == pytest.approx(marks[number + 1].instructions - marks[number].instructions, rel=1e-6, abs=2)
    assert [column.id for column in spied.session.spied][:2] == ["instructions", "branches"]
    assert SpySignals("cycles").count not in spied.session.capabilities.signals, "what nobody counts is forgotten"


def test_each_cpu_has_its_own_events_and_the_sum_knows_who_counts() -> None:
    plan = parse_plan("""
        [[spy]]
        on = "package 0"
        events = ["branches"]
        [[spy]]
        on = "core 1"
        sets = [["cycles"], ["cache-misses"]]
        [[spy]]
        on = "99"
        events = ["cycles"]
    """)
    spied = SpiedMachine("laptop-old", plan)
    frame = spied.frames(0.1, 3)[-1]
    core = next(instance for instance in spied.machine.topology.instances(Scope.CORE) if instance.label == 1)
    other = next(cpu for cpu in spied.machine.topology.cpus if cpu not in core.cpus)
    branches, cycles = (spied.session.catalog.by_id[name] for name in ("branches", "cycles"))
    assert frame.cell(branches, cpu_row(core.cpus[0])) is None
    assert isinstance(frame.cell(branches, cpu_row(other)), float)
    assert frame.cell(cycles, cpu_row(other)) is None
    own = [frame.cell(cycles, cpu_row(cpu)) for cpu in core.cpus]
    assert frame.cell(cycles, SYSTEM_ROW) == pytest.approx(sum(value for value in own if isinstance(value, float)))
    why = frame.why(cycles, cpu_row(other))
    assert why is not None
    assert why.reason is Reason.NOT_READ
    assert spied.session.spy_notes == ("99: no such CPU is measured here",)


def test_an_event_nobody_has_is_a_reason_and_the_others_continue() -> None:
    spied = SpiedMachine("laptop-old", plan_of("nonsense,branches"))
    assert any("nonsense" in note for note in spied.session.spy_notes)
    frame = spied.frames(0.1, 2)[-1]
    assert counted(frame, "branches", 0) is not None
    why = frame.why(spied.session.catalog.by_id["nonsense"], cpu_row(0))
    assert why is not None
    assert "nonsense" in why.detail


def test_an_event_that_is_called_as_a_column_changes_nothing() -> None:
    spied = SpiedMachine("laptop-old", plan_of("branches"))
    with pytest.raises(UsageError, match="CPU"):
        spied.session.spy(plan_of("CPU"))
    assert spied.session.spies == plan_of("branches")
    assert spied.session._spies.arrangement.plan == plan_of("branches"), "readers follow the arrangement"


def test_a_spied_cpu_that_goes_away_takes_its_row_only() -> None:
    spied = SpiedMachine("laptop-old", plan_of(_THREE))

    def unplug(number: int) -> None:
        if number == 3:
            spied.host.set_online(3, online=False)
        if number == 6:
            spied.host.set_online(3, online=True)

    frames = spied.frames(0.3, 9, unplug)
    assert [3 in frame.topology.cpus for frame in (frames[0], frames[3], frames[-1])] == [True, False, True]
    assert all(counted(frame, "instructions", 0) for frame in frames)
    assert counted(frames[-1], "instructions", 3)


def test_a_file_is_followed_and_a_bad_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "spies.toml"
    path.write_text(plan_text(plan_of("branches")))
    spied = SpiedMachine("laptop-old", plan_of("cycles"))
    spied.session.spy_by(SpyFile(str(path)))
    notes: list[str] = []

    def edit(number: int) -> None:
        notes.append(spied.session.spy_note)
        if number == 2:
            path.write_text(plan_text(plan_of("branches,cache-misses")))
        if number == 4:
            path.write_text("spy = broken")
        if number == 6:
            path.unlink()
        if number == 8:
            path.write_text(plan_text(plan_of("cycles")))

    frames = spied.frames(0.1, 11, edit)
    assert all(counted(frame, "branches", 0) is not None for frame in frames[:7])
    assert counted(frames[5], "cache-misses", 0) is not None, "the last good content goes on"
    assert counted(frames[-1], "cycles", 0) is not None
    assert "not TOML" in notes[5]
    assert "gone" in notes[7]
    assert notes[-1] == ""


@pytest.mark.parametrize("empty", ["", "\n", 'reference = "cycles"\n'])
def test_a_file_that_names_nothing_any_more_leaves_the_last_content_in_force(tmp_path: Path, empty: str) -> None:
    path = tmp_path / "spies.toml"
    path.write_text(plan_text(plan_of("branches")))
    spied = SpiedMachine("laptop-old", plan_of("cycles"))
    spied.session.spy_by(SpyFile(str(path)))
    notes: list[str] = []

    def edit(number: int) -> None:
        notes.append(spied.session.spy_note)
        if number == 2:
            path.write_text(empty)
        if number == 5:
            path.write_text(plan_text(plan_of("cycles")))

    frames = spied.frames(0.1, 8, edit)
    assert all(counted(frame, "branches", 0) is not None for frame in frames[:4])
    assert counted(frames[-1], "cycles", 0) is not None
    assert "names no event" in notes[4]
    assert notes[-1] == ""


def test_a_topdown_metric_is_spied_on_below_slots() -> None:
    spied = SpiedMachine("sapphire-2s", plan_of("cycles,cpu/topdown-retiring/", on="0"), frozenset({0, 1}))
    frame = spied.frames(0.3, 3)[-1]
    assert counted(frame, "cpu/topdown-retiring/", 0)
    assert counted(frame, "cycles", 0)


def test_a_pattern_that_stands_for_several_events_is_refused() -> None:
    """A spy has one number for each name, and of a pattern it counted the first event that fits."""
    spied = SpiedMachine("laptop-old", plan_of("cycles,cpu/*misses/"))
    frame = spied.frames(0.3, 2)[-1]
    why = frame.capabilities.why_missing(SpySignals("cpu/*misses/").count)
    assert "stands for 2 events" in why.detail
    assert counted(frame, "cycles", 0)


@pytest.mark.real
def test_a_session_that_has_nothing_left_to_count_continues() -> None:
    """At intervals that are read several at a time nobody is asked for anything then."""
    host = LinuxHost()
    session = Session(read_machine(host), SOURCES, 0.05, host)
    session.spy(SpyPlan((typed_spy("all", "context-switches"),), "task-clock"))
    frames: list[Frame] = []
    ended = threading.Event()

    def take(frame: Frame) -> None:
        frames.append(frame)
        if len(frames) == 8:
            session.spy(SpyPlan())

    session.start(take, intervals=24, on_end=ended.set, hold=0.2)
    assert ended.wait(PATIENCE)
    assert session.failure is None
    assert len(frames) == 25


def test_no_count_is_lost_while_another_program_writes_the_file(tmp_path: Path) -> None:
    """Every interval has another plan, written by a program of its own; the totals are those of the model."""
    path = tmp_path / "spies.toml"
    plans = [plan_text(plan_of(events)) for events in
             (_THREE, "cycles", "branches,cache-misses;cycles", "cache-references,branch-misses", "instructions")]
    path.write_text(plans[0])
    spied = SpiedMachine("laptop-old", plan_of("cycles"))
    spied.session.spy_by(SpyFile(str(path)))
    cpus = spied.machine.topology.cpus
    marks: list[dict[int, CpuTruth]] = []

    def edit(number: int) -> None:
        marks.append({cpu: truth_of(spied.host).truth(cpu) for cpu in cpus})
        new = str(tmp_path / f"new-{number}")
        script = "import os, sys; open(sys.argv[1], 'w').write(sys.argv[3]); os.replace(sys.argv[1], sys.argv[2])"
        words = [sys.executable, "-c", script, new, str(path), plans[number % len(plans)]]
        subprocess.run(words, check=True)  # noqa: S603 - the test's own words

    frames = spied.frames(0.05, 24, edit)
    marks.append({cpu: truth_of(spied.host).truth(cpu) for cpu in cpus})
    assert len(frames) == 24
    for cpu in cpus:
        result = [counted(frame, "instructions", cpu) for frame in frames]
        assert None not in result
        assert sum(item for item in result if item is not None) == pytest.approx(
            marks[-1][cpu].instructions - marks[0][cpu].instructions, rel=1e-6, abs=24)
    samples = [frame.inputs(cpu_row(cpus[0])).value(SAMPLES) for frame in frames]
    assert samples == sorted(samples, key=lambda item: item or 0.0), "no sample is counted twice or begins anew"
    assert len(set(samples)) == len(samples)


@pytest.mark.real
def test_real_software_events_and_the_tsc_of_every_cpu() -> None:
    host = LinuxHost()
    machine = read_machine(host)
    session = Session(machine, SOURCES, 0.05, host)
    session.spy(SpyPlan((typed_spy("all", "context-switches,page-faults;msr/tsc/,task-clock"),), "cpu-clock"))
    if not session.spied or SpySignals("cpu-clock").count not in session.capabilities.signals:
        pytest.skip("; ".join(session.spy_notes))
    frames: list[Frame] = []
    ended = threading.Event()
    costs: list[float] = []

    def take(frame: Frame) -> None:
        frames.append(frame)
        costs.append(session.own_cost().reads)

    session.start(take, intervals=8, on_end=ended.set)
    assert ended.wait(PATIENCE)
    assert session.failure is None
    for frame in frames[1:]:
        for cpu in machine.topology.cpus:
            if cpu in frame.newer.late:
                continue
            clock = counted(frame, "cpu-clock", cpu)
            seconds = frame.inputs(cpu_row(cpu)).elapsed(SpySignals("cpu-clock").count)
            assert clock is not None
            assert seconds is not None
            assert frame.older is not None
            lost = sum(ns for snapshot in (frame.older, frame.newer) for (_source, at), ns in
                       snapshot.interrupted.items() if at == cpu) / 1e9
            assert clock / 1e9 == pytest.approx(seconds, abs=0.05 * seconds + lost), "its ns are those between readings"
    tsc = [value for frame in frames[1:] if (value := counted(frame, "msr/tsc/", machine.topology.cpus[0])) is not None]
    if SpySignals("msr/tsc/").count in session.capabilities.signals:
        late = sum(bool(frame.newer.late) for frame in frames[1:])
        assert 4 - late <= len(tsc) <= 4, "every second interval, but for those in which a reader was late"
    assert all(reads >= len(machine.topology.cpus) for reads in costs[1:])


@pytest.mark.real
def test_the_monitor_is_bound_and_all_cpus_are_spied_on() -> None:
    host = LinuxHost()
    machine = read_machine(host)
    session = Session(machine, SOURCES, 0.05, host)
    session.spy(SpyPlan((typed_spy("all", "context-switches"),), "cpu-clock"))
    with pytest.raises(UsageError, match="CPU 99999"):
        session.bind(99999)
    cpu = machine.topology.cpus[-1]
    session.bind(cpu)
    where: list[frozenset[int]] = []
    frames: list[Frame] = []
    ended = threading.Event()

    def take(frame: Frame) -> None:
        where.append(frozenset(os.sched_getaffinity(0)))
        frames.append(frame)

    session.start(take, intervals=6, on_end=ended.set)
    assert ended.wait(PATIENCE)
    assert set(where) == {frozenset({cpu})}
    assert frames[-1].topology.cpus == machine.topology.cpus, "its own binding is not taken for somebody's"
