"""perf events of control groups: known shares of simulated machines, scaling, refusals, recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from model_truth import truth_of

from turbotui.cli import main
from turbotui.errors import UsageError
from turbotui.features.groups.counting import MOST_READS, GroupEvents
from turbotui.features.groups.engine import GroupInterval, GroupsReader
from turbotui.features.groups.event_columns import cycles_in, event_columns, is_scaled
from turbotui.features.groups.event_plans import added_plans
from turbotui.features.groups.model import Group, GroupRow, rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.features.groups.recorded_groups import GroupRecord, group_record
from turbotui.features.groups.tables import group_table
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason
from turbotui.recording.json_values import JsonValue
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.energy import Energy
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.simulated.strain_files import GROUPS

pytestmark = pytest.mark.usefixtures("few_cores")

SECONDS = 2.0


class Bed:
    """A simulated machine with events of its groups."""

    def __init__(self, name: str, added: Sequence[str], uid: int = 0) -> None:
        self.clock = ManualClock()
        self.host: SimulatedHost = simulated_host(name, self.clock)
        if uid:
            self.host.set_privileges(uid=uid, capabilities=0)
        self.clock.advance(10.0)
        self.machine = read_machine(self.host)
        self.plans = added_plans(self.machine, probe_sources(self.machine, ()), added)
        self.events = GroupEvents(self.machine, self.plans)
        self.reader = GroupsReader(self.host, events=self.events)
        assert not self.reader.read().seconds

    def interval(self) -> GroupInterval:
        self.clock.advance(SECONDS)
        return self.reader.read()


@contextmanager
def bed(name: str, *added: str, uid: int = 0) -> Iterator[Bed]:
    item = Bed(name, added, uid)
    try:
        yield item
    finally:
        item.reader.close()


def table(interval: GroupInterval) -> RowTable[GroupRow]:
    return group_table(interval.rows, Energy({}, {}), 1, 1, event_columns(interval.counted))


def cell(interval: GroupInterval, path: str, name: str) -> Cell:
    made = table(interval)
    column = next(column for column in made.columns if column.id == name)
    return made.cell(column, next(row for row in interval.rows if row.group.path == path))


def number(interval: GroupInterval, path: str, name: str) -> float:
    value = cell(interval, path, name).value
    assert isinstance(value, int | float), cell(interval, path, name).why
    return value


@pytest.mark.parametrize("name", ["laptop", "laptop-arrow", "laptop-old"])
def test_a_group_has_its_share_of_what_every_cpu_counted(name: str) -> None:
    with bed(name, "IPC=instructions/cycles", "instructions", "task-clock,rate") as item:
        interval = item.interval()
        whole = [truth_of(item.host).truth(cpu) for cpu in item.machine.topology.cpus]
        item.clock.advance(SECONDS)
        after = [truth_of(item.host).truth(cpu) for cpu in item.machine.topology.cpus]
        interval = item.reader.read() or interval
        counted = sum(new.instructions - old.instructions for new, old in zip(after, whole, strict=True))
        cycles = sum(new.cycles - old.cycles for new, old in zip(after, whole, strict=True))
        for path, share in GROUPS:
            assert number(interval, f"/{path}", "instructions") == pytest.approx(share * counted, rel=0.01, abs=3)
            if share:
                assert number(interval, f"/{path}", "IPC") == pytest.approx(counted / cycles, rel=0.02)
                ran = next(row.rate("cpu_usec") or 0.0 for row in interval.rows if row.group.path == f"/{path}")
                assert number(interval, f"/{path}", "task-clock") == pytest.approx(ran * 1e3, rel=1e-3)
        assert not is_scaled(interval.rows[-1], ("perf instructions",))


class Scaled(DelegatingHost):
    """A core PMU that says a scale of one of its events, as of topdown-total-slots before Ice Lake, and a level."""

    def list_dir(self, path: str) -> tuple[str, ...]:
        more = ["branch-instructions.scale", "cache-misses.snapshot"] if path.endswith("/cpu/events") else []
        return (*super().list_dir(path), *more)

    def read_text(self, path: str) -> str:
        return "4\n" if path.endswith("/branch-instructions.scale") else super().read_text(path)


def test_an_event_of_a_group_has_the_unit_and_scale_that_its_pmu_says() -> None:
    machine = read_machine(Scaled(simulated_host("laptop-old", ManualClock())))
    branches = "cpu/branch-instructions/"
    texts = [branches, f"{branches},rate,name=B", "CPUs=task-clock/dt", "task-clock,rate", "cpu/cache-misses/"]
    plans = added_plans(machine, probe_sources(machine, ()), texts)
    assert list(plans[0].scales.values()) == [4.0]
    columns = {column.id: column for column in event_columns(plan.counted for plan in plans)}
    moved = {f"{name}{end}": value for plan in plans for name in plan.scales
             for end, value in (("", 6e8), (" enabled", 1e9), (" running", 1e9))}
    row = GroupRow(Group("slice", "/a", "a"), moved, spans={"Δt f": 2.0}, files=dict.fromkeys(moved, "f"))
    assert columns["CPUs"].compute(row) == pytest.approx(0.3), "seconds a second"
    assert (columns["task-clock"].unit, columns["task-clock"].compute(row)) == ("ns/s", 3e8)
    assert (columns["B"].unit, columns["B"].compute(row)) == ("/s", 3e8)
    [why] = {str(why.detail) for why in plans[4].refused.values()}
    assert "a level and no count" in why


def test_the_idle_time_belongs_to_the_outermost_group_alone() -> None:
    with bed("laptop", "task-clock,rate") as item:
        interval = item.interval()
        assert number(interval, "/", "task-clock") == pytest.approx(len(item.machine.topology.cpus) * 1e9, rel=1e-6)


def test_more_events_than_counters_are_scaled_and_marked() -> None:
    events = [f"{name}{mode}" for name in ("branches", "branch-misses", "cache-misses") for mode in ("", ":u", ":k")]
    with bed("laptop", *events) as item:
        item.interval()
        interval = item.interval()
        row = next(row for row in interval.rows if row.group.path == "/user.slice")
        assert is_scaled(row, ("perf branches",))
        assert cell(interval, "/user.slice", "branches").estimated
        made = table(interval)
        said = "\n".join(line for reading in made.evidence(made.columns[0], row).readings for line in reading)
        assert "% of that: the count is scaled to all of it" in said


def test_cycles_are_counted_for_each_package_and_always_for_the_outermost_group() -> None:
    with bed("sapphire-2s", "cycles") as item:
        item.events.follow(["/system.slice"])
        moment = item.events.merged(CgroupReader(item.host, {"cpu_usec"}).read())
        item.clock.advance(SECONDS)
        later = item.events.merged(CgroupReader(item.host, {"cpu_usec"}).read())
        rows = {row.group.path: row.increases for row in rows_between(moment, later)}
        share = dict(GROUPS)["system.slice"]
        for package in (0, 1):
            every = rows["/"][cycles_in(package)]
            assert rows["/system.slice"][cycles_in(package)] == pytest.approx(share * every, rel=0.02)
        assert sum(rows["/"][cycles_in(package)] for package in (0, 1)) == pytest.approx(rows["/"]["perf cycles"])


def test_what_counts_no_tasks_is_refused_with_its_reason() -> None:
    with bed("sapphire-2s", "power/energy-pkg/") as item:
        why = cell(item.interval(), "/user.slice", "power/energy-pkg/").why
        assert why is not None
        assert why.reason is Reason.NO_HARDWARE
        assert item.events.room == 0
    with pytest.raises(UsageError, match="tsc is counted for CPUs"):
        Bed("sapphire-2s", ["J=instructions/tsc"])


def test_the_busiest_groups_are_counted_where_all_are_too_many() -> None:
    with bed("sapphire-2s", "instructions") as item:
        cpus = len(item.machine.topology.cpus)
        item.host.set_privileges(descriptors=(4 * cpus * 4, 4 * cpus * 4))  # a quarter for counters: four on each CPU
        item.interval()
        interval = item.interval()
        assert item.events.room == 4 < len(GROUPS)
        counted = {row.group.path for row in interval.rows if "perf instructions" in row.increases}
        used = sorted(interval.rows, key=lambda row: -(row.rate("cpu_usec") or 0.0))
        assert counted == {row.group.path for row in used[: item.events.room]}
        why = cell(interval, "/init.scope", "instructions").why
        assert why is not None
        assert why.reason is Reason.NOT_READ
        assert f"{item.events.room} of {len(interval.rows)} groups" in interval.coverage
        assert item.events.room * cpus <= MOST_READS


def test_a_user_without_the_right_is_told_how_to_get_it() -> None:
    with bed("laptop", "instructions", uid=1000) as item:
        why = cell(item.interval(), "/user.slice", "instructions").why
        assert why is not None
        assert why.reason is Reason.NOT_PERMITTED
        assert "CAP_PERFMON" in why.sentence()


def test_a_cpu_that_goes_leaves_no_wrong_count() -> None:
    with bed("laptop", "instructions") as item:
        item.interval()
        item.host.set_online(3, online=False)
        assert "perf instructions" not in item.interval().rows[0].increases
        item.interval()
        assert number(item.interval(), "/user.slice", "instructions") > 0


def test_a_recording_has_the_columns_and_their_counts() -> None:
    with bed("laptop", "IPC=instructions/cycles", "context-switches,rate") as item:
        interval = item.interval()
        record = GroupRecord(1, 0, SECONDS, tuple(interval.rows), counted=interval.counted)
        back = group_record(JsonValue(json.loads(json.dumps(record.facts())), "test"), 1)
        assert back.counted == interval.counted
        columns = event_columns(back.counted)
        assert [column.id for column in columns] == ["IPC", "context-switches"]
        for column in columns:
            assert [column.compute(row) for row in back.rows] == [column.compute(row) for row in interval.rows]


def test_titles_of_groups_columns_are_not_given_twice() -> None:
    with pytest.raises(UsageError, match="have a column Mem already"):
        Bed("laptop", ["Mem=instructions*1"])
    with bed("laptop", "instructions,name=Mine") as item:
        counted = item.interval().counted
        assert [column.id for column in event_columns((*counted, *counted))] == ["Mine", "Mine~2"]


def test_the_verb_counts_and_says_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "--machine", "laptop", "-a", "instructions,rate", "-s", "CPU%", "-n1"]) == 0
    assert "instructions" in capsys.readouterr().out
    assert main(["groups", "--machine", "laptop", "-a", "msr0x10", "-n1"]) != 0
    assert "no counters of groups" in capsys.readouterr().err
