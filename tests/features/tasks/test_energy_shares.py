from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watched_machines import frames_of_machine

from turbotui.features.tasks.applications import EVERYTHING, Application
from turbotui.features.tasks.energy import share_out, why_not
from turbotui.features.tasks.report import Apart, Report
from turbotui.features.tasks.tables import TaskRow, with_own_keys
from turbotui.features.tasks.task_table import joules_together
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import Energy, energy_of
from turbotui.sampling.frame import Frame


def machine(packages: int, cpus: int) -> Topology:
    return topology_of([
        CpuPlace(cpu=package * cpus + cpu, package=package, die=0, l3=package, node=package, module=cpu, core=cpu,
                 core_type=None, smt=0)
        for package in range(packages) for cpu in range(cpus)
    ])


def row(tid: int, loads: dict[int, int]) -> TaskRow:
    return TaskRow(tid, tid, "t", 1, tuple(loads), 0, {"run": sum(loads.values())}, 0, loads, 0, False)


def report(*rows: TaskRow, seconds: float = 1.0, names: tuple[str, ...] = ("run", "cycles"), everything: bool = False,
           apart: dict[str, dict[int, int]] | None = None) -> Report:
    application = EVERYTHING[0] if everything else Application("web", pids=(5,))
    return Report(application, rows=rows, seconds=seconds, names=names,
                  apart={what: Apart({}, loads) for what, loads in (apart or {}).items()})


LOADS = st.dictionaries(st.integers(0, 3), st.integers(1, 10**9), max_size=4)


@given(st.lists(LOADS, max_size=8), st.lists(st.floats(0, 500), min_size=2, max_size=2),
       st.dictionaries(st.integers(0, 3), st.floats(0, 1e10), max_size=4))
def test_nobody_gets_more_than_there_was(loads: list[dict[int, int]], joules: list[float],
                                         cycles: dict[int, float]) -> None:
    energy = Energy(dict(enumerate(joules)), cycles)
    rows = [row(number + 1, item) for number, item in enumerate(loads)]
    for names in (("run",), ("run", "cycles")):
        result = share_out(report(*rows, everything=True, names=names), energy, machine(2, 2))
        assert sum(result.values()) <= sum(joules) * (1 + 1e-9) + 1e-300  # numbers that small are rounded by more
        assert all(value >= 0 for value in result.values())


@given(st.lists(LOADS, min_size=1, max_size=4), LOADS, LOADS, st.floats(1, 500),
       st.sampled_from([("run",), ("run", "cycles")]))
def test_on_whole_cpus_rows_and_what_is_in_no_row_are_the_whole(
        loads: list[dict[int, int]], idle: dict[int, int], outside: dict[int, int], joules: float,
        names: tuple[str, ...]) -> None:
    """Whatever other readers of the same counters say."""
    rows = [row(number + 1, item) for number, item in enumerate(loads)]
    idle = {**dict.fromkeys(range(4), 1), **idle}
    whole = report(*rows, names=names, everything=True, apart={"idle": idle, "outside": outside})
    result = share_out(whole, Energy({0: joules, 1: 2 * joules}, dict.fromkeys(range(4), 5.0), 0.5), machine(2, 2))
    power = 2 * (joules + 2 * joules)  # a second of what was read over half of one
    assert abs(sum(result.values()) - power) <= 1e-9 * power
    assert result.keys() == {*(task_row.key for task_row in rows), "idle", "outside"}
    first = sum(load for cpu, load in rows[0].loads.items() if cpu < 2)
    every = sum(load for item in (*loads, idle, outside) for cpu, load in item.items() if cpu < 2)
    alone = share_out(whole, Energy({0: joules}, {}, 1.0), machine(1, 2))[rows[0].key]
    assert abs(alone - joules * first / every) <= 1e-9 * joules


def test_threads_that_had_one_number_have_joules_of_their_own() -> None:
    first, second = with_own_keys([row(1, {0: 250}), row(1, {1: 100})])
    assert first.key != second.key
    energy = Energy({0: 10.0}, {0: 600.0, 1: 400.0})
    assert share_out(report(first, second), energy, machine(1, 2)) == {first.key: 2.5, second.key: 1.0}


def test_a_task_gets_its_share_of_the_cycles_of_each_package() -> None:
    energy = Energy({0: 10.0, 1: 40.0}, {0: 600.0, 1: 400.0, 2: 100.0, 3: 0.0})
    task_row, other = row(1, {0: 250, 2: 50}), row(2, {1: 100})
    result = share_out(report(task_row, other), energy, machine(2, 2))
    assert result == {task_row.key: 10.0 * 0.25 + 40.0 * 0.5, other.key: 10.0 * 0.1}


def test_a_package_of_which_a_cpu_was_not_read_shares_nothing_by_its_other_cpus() -> None:
    half = Energy({0: 10.0, 1: 40.0}, {0: 600.0, 2: 100.0, 3: 0.0}, unread=frozenset({1}))
    item, other = row(1, {0: 250}), row(2, {2: 50})
    assert share_out(report(item, other), half, machine(2, 2)) == {other.key: 20.0}
    by_time = share_out(report(item, names=("run",)), half, machine(2, 2))
    assert by_time == {item.key: 10.0 * 250 / 2e9}
    # known in a second half, it has that rate over the whole
    later = replace(half, seconds=1.0).plus(Energy({0: 10.0}, {0: 400.0, 1: 500.0}, 1.0))
    assert later.unread == frozenset()
    assert share_out(report(item, seconds=2.0), later, machine(2, 2)) == {item.key: 20.0 * 250 / (1000 + 2 * 500)}
    sums = Energy({0: 10.0}, {0: 500.0, 1: 500.0})
    assert joules_together(report(item, other), share_out(report(item, other), sums, machine(2, 2))) is None
    assert joules_together(report(item), share_out(report(item), sums, machine(2, 2))) == 2.5


@pytest.mark.parametrize("names", [("run",), ("run", "cycles")])
@pytest.mark.parametrize("everything", [False, True])
def test_measured_cpus_do_not_get_what_others_used(names: tuple[str, ...], *, everything: bool) -> None:
    machine_of_two, frames = frames_of_machine("laptop-old", 1, columns=("PkgWatt", "Bzy_MHz"), cpus=frozenset({0, 1}))
    task = report(row(1, {0: 10**9}), names=names, everything=everything, apart={"idle": {1: 10**9}})
    spent = energy_of(frames[-1])
    why = why_not(task, spent)
    assert spent.joules[0] > 0
    assert why is not None
    assert "of which only 0-1 are measured" in why.detail
    assert share_out(task, spent, machine_of_two.topology) == {}


def test_a_cpu_without_cycles_is_named_and_one_read_late_has_those_of_the_interval() -> None:
    _machine, frames = frames_of_machine("laptop-old", 2, columns=("PkgWatt", "Bzy_MHz"))
    _first, before, last = frames
    aperf = last.newer.values["aperf"]
    torn = Frame(last.older, replace(last.newer, values={**last.newer.values, "aperf": [None, *aperf[1:]]}),
                 last.capabilities)
    cpu = last.topology.cpus[0]
    assert energy_of(last).unread == frozenset()
    assert energy_of(torn).unread == {cpu}
    both_times = energy_of(torn).plus(energy_of(last))
    assert both_times.unread == frozenset()
    assert both_times.over(2.0).cycles[cpu] == pytest.approx(2.0 * energy_of(last).cycles[cpu])
    both = Frame(before.older, last.newer, last.capabilities)  # what a CPU's reading after a late one spans
    rate = both.rates("aperf")[0]
    assert rate is not None
    assert energy_of(both).cycles[cpu] == pytest.approx(rate * (both.seconds or 0.0))


def test_without_cycles_time_decides() -> None:
    item = row(1, {0: 10**9})
    assert share_out(report(item, seconds=2.5, names=("run",)), Energy({0: 10.0}, {}), machine(1, 2)) == {item.key: 2.0}


def test_what_is_not_known_is_not_shared_out() -> None:
    task_row = row(1, {0: 5})
    why = Unavailable(Reason.VIRTUALISED, "no such PMU")
    everything = report(task_row, everything=True)
    assert share_out(everything, Energy({}, {}, why=why), machine(1, 2)) == {}
    no_total = Energy({0: 10.0}, {})
    assert why_not(everything, Energy({}, {}, why=why)) is why
    unavailable = why_not(report(task_row), no_total)
    assert unavailable is not None
    assert "aperf" in unavailable.detail
    assert why_not(everything, no_total) is None
    assert share_out(report(task_row), no_total, machine(1, 2)) == {}
    assert share_out(everything, no_total, machine(1, 2)) == {task_row.key: 10.0}


def test_another_time_at_the_same_power() -> None:
    item = row(1, {0: 250})
    assert share_out(report(item, seconds=0.5), Energy({0: 10.0}, {0: 1000.0}, 2.0), machine(1, 2)) == {item.key: 2.5}
    assert Energy({0: 1.0}, {}).over(3.0) == Energy({0: 1.0}, {})
