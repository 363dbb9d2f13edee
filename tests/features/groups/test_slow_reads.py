"""Rates of groups on a machine whose reads take time: each is true to 5 %, or unknown, and no rate is impossible."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakehost import SlowHost, machine
from hypothesis import given
from hypothesis import strategies as st

from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.engine import GroupInterval, GroupsReader
from turbotui.features.groups.event_columns import event_columns
from turbotui.features.groups.event_plans import EventPlan
from turbotui.features.groups.tables import group_table
from turbotui.machine.host import PerfAttr
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.event_columns import parse_requests
from turbotui.quantities.tables import Cell
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.energy import Energy
from turbotui.sources.cgroup_events import GroupBundle

TOP = "/sys/fs/cgroup"
CPUS = 2
SURE = pytest.approx(CPUS * 1e9, rel=0.053)
CLOCK, CYCLES = PerfAttr(9, 0), PerfAttr(9, 1)


class BusyHost(SlowHost):
    """A host on which some reads are interrupted; a group uses all CPUs."""

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        self.pause()
        used = self.now * CPUS // 1000
        self.files |= {f"{TOP}/cpu.stat": f"usage_usec {used}\nuser_usec {used}\nsystem_usec 0\n"}
        result = super().read_at(descriptor, size, offset)
        self.pause()
        return result


class Groups:
    """The outermost group of a slow machine, read with two events."""

    def __init__(self) -> None:
        self.host = BusyHost(counters={(9, 0): 1e9, (9, 1): 3e9}, files={
            "/proc/self/mountinfo": f"30 23 0:26 / {TOP} rw - cgroup2 cgroup2 rw\n",
            TOP: "", f"{TOP}/cpu.stat": "", f"{TOP}/cgroup.stat": "nr_descendants 0\n"})
        plans = [self._plan("task-clock,rate", CLOCK), self._plan("x=cycles/dt", CYCLES)]
        self.reader = GroupsReader(self.host, {"cpu_usec"}, GroupEvents(machine(self.host), plans))

    @staticmethod
    def _plan(text: str, attr: PerfAttr) -> EventPlan:
        request, = parse_requests(text)
        name = f"perf {request.signal(request.events[0]).removeprefix('added.')}"
        bundles = tuple(GroupBundle(cpu, (name,), (attr,)) for cpu in range(CPUS))
        return EventPlan(CountedEvents(request, {}), bundles, {})

    def read(self, pauses: Sequence[float]) -> GroupInterval:
        self.host.advance(1.0)
        self.host.pauses = list(reversed(pauses))
        return self.reader.read()


def cell(interval: GroupInterval, name: str) -> Cell:
    table = group_table(interval.rows, Energy({}, {}), 1, CPUS, (*event_columns(interval.counted),))
    every = group_table(interval.rows, Energy({}, {}), 1, CPUS)
    column = next(column for column in (*table.columns, *every.columns) if column.id == name)
    return table.cell(column, interval.rows[0])


def judge(value: GroupInterval) -> None:
    for name, factor in (("task-clock", 1), ("x", 3), ("CPU%", 1e-7)):
        seen = cell(value, name)
        if seen.value is None:
            assert seen.why is not None
            assert seen.why.reason is Reason.INTERRUPTED
            assert "may be off by" in seen.why.detail
        else:
            assert isinstance(seen.value, int | float)
            assert seen.value / factor == SURE
    assert cell(value, "task-clock").value is None or float(str(cell(value, "task-clock").value)) <= CPUS * 1e9 + 1


@given(st.lists(st.lists(st.sampled_from([1e-6, 1e-5, 0.01, 0.02, 0.1, 0.33]), max_size=16), min_size=3, max_size=5))
def test_a_rate_is_true_or_unknown_however_long_each_read_takes(readings: list[list[float]]) -> None:
    groups = Groups()
    for pauses in readings:
        interval = groups.read(pauses)
        if interval.seconds:
            judge(interval)
    groups.reader.close()


@pytest.mark.parametrize("at", range(12))
def test_an_interrupted_read_is_read_again(at: int) -> None:
    groups = Groups()
    groups.read(())
    groups.read(())
    disturbed = groups.read([1e-6] * at + [0.33])
    quiet = groups.read(())
    for interval in (disturbed, quiet):
        assert [cell(interval, name).value for name in ("task-clock", "x", "CPU%")] == pytest.approx(
            [CPUS * 1e9, CPUS * 3e9, CPUS * 100.0], rel=1e-4)


@pytest.mark.parametrize(("reads", "name"), [(8, "CPU%"), (20, "x")])
def test_the_reason_is_told_where_no_read_was_quick(reads: int, name: str) -> None:
    groups = Groups()
    groups.read(())
    groups.read(())
    groups.read([0.2] * 2 * reads)
    interval = groups.read(())
    why = cell(interval, name).why
    assert why is not None
    assert (why.reason, "-i" in why.remedy) == (Reason.INTERRUPTED, True)
