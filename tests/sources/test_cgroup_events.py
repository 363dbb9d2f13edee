"""Counters of control groups that take turns with others: each CPU's count is scaled by that CPU's own times."""

from __future__ import annotations

import pytest
from fakehost import FakeHost
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.host import PerfAttr
from turbotui.sources.cgroup_events import GroupBundle, GroupCounters

FOLDER = "/sys/fs/cgroup/a.slice"
RATE = 1_000_000.0
EVENTS = (PerfAttr(9, 0), PerfAttr(9, 1))


def counters(host: FakeHost, cpus: int, parts: bool = False) -> GroupCounters:
    bundles = [GroupBundle(cpu, ("x", "y"), EVENTS, (f"x of {cpu}",) if parts else ()) for cpu in range(cpus)]
    return GroupCounters(host, FOLDER, bundles)


def made(turns: dict[int, float]) -> FakeHost:
    return FakeHost(counters={(9, 0): RATE, (9, 1): RATE / 4}, files={FOLDER: ""}, turns=turns)


@given(st.dictionaries(st.integers(0, 5), st.floats(0.01, 1.0), min_size=1), st.integers(1, 4))
def test_a_count_is_that_of_the_whole_time_however_few_turns_a_cpu_had(turns: dict[int, float], reads: int) -> None:
    host = made(turns)
    group = counters(host, 6, parts=True)
    for _ in range(reads):
        host.advance(0.5)
        totals = group.read()
    seconds = reads * 0.5
    assert totals["x"].count == pytest.approx(6 * RATE * seconds, rel=1e-3)
    assert totals["y"].count == pytest.approx(6 * RATE / 4 * seconds, rel=1e-3)
    assert totals["x"].enabled == 6 * round(seconds * 1e9)
    assert totals["x"].running == pytest.approx(sum(turns.get(cpu, 1.0) for cpu in range(6)) * seconds * 1e9, rel=1e-6)
    for cpu in range(6):
        assert totals[f"x of {cpu}"].count == pytest.approx(RATE * seconds, rel=1e-3)


def test_a_cpu_without_a_turn_is_taken_for_the_mean_of_the_others() -> None:
    host = made({0: 1.0, 1: 0.25, 2: 0.0})
    group = counters(host, 3)
    host.advance(2.0)
    total = group.read()["x"]
    assert total.count == pytest.approx(3 * 2 * RATE)
    assert (total.enabled, total.running) == (6 * 10**9, round(2.5 * 10**9))


def test_where_no_cpu_had_a_turn_the_count_stands_and_its_time_goes_on() -> None:
    host = made({0: 0.0, 1: 0.0})
    group = counters(host, 2)
    host.advance(2.0)
    total = group.read()["x"]
    assert (total.count, total.enabled, total.running) == (0, 4 * 10**9, 0)
    group.close()
    assert host.open == {}
