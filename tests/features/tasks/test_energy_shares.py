from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turbotui.features.tasks.energy import share_out, why_not
from turbotui.features.tasks.tables import TaskRow
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import Energy


def machine(packages: int, cpus: int) -> Topology:
    return topology_of([
        CpuPlace(cpu=package * cpus + cpu, package=package, die=0, l3=package, node=package, module=cpu, core=cpu,
                 core_type=None, smt=0)
        for package in range(packages) for cpu in range(cpus)
    ])


def row(tid: int, loads: dict[int, int]) -> TaskRow:
    return TaskRow(tid, tid, "t", 1, tuple(loads), 0, {"run": sum(loads.values())}, 0, loads, 0, False)


LOADS = st.dictionaries(st.integers(0, 3), st.integers(1, 10**9), max_size=4)


@given(st.lists(LOADS, max_size=8), st.lists(st.floats(0, 500), min_size=2, max_size=2),
       st.dictionaries(st.integers(0, 3), st.floats(0, 1e10), max_size=4))
def test_nobody_gets_more_than_there_was(loads: list[dict[int, int]], joules: list[float],
                                         cycles: dict[int, float]) -> None:
    energy = Energy(dict(enumerate(joules)), cycles, {})
    rows = [row(number + 1, one) for number, one in enumerate(loads)]
    found = share_out(rows, energy, machine(2, 2), by_cycles=True, everything=True)
    assert sum(found.values()) <= sum(joules) * (1 + 1e-9) + 1e-300  # numbers that small are rounded by more
    assert all(value >= 0 for value in found.values())


def test_a_task_gets_its_share_of_the_cycles_of_each_package() -> None:
    energy = Energy({0: 10.0, 1: 40.0}, {0: 600.0, 1: 400.0, 2: 100.0, 3: 0.0}, {})
    one, other = row(1, {0: 250, 2: 50}), row(2, {1: 100})
    found = share_out([one, other], energy, machine(2, 2), by_cycles=True, everything=False)
    assert found == {one.key: 10.0 * 0.25 + 40.0 * 0.5, other.key: 10.0 * 0.1}


def test_without_cycles_busy_time_decides() -> None:
    energy = Energy({0: 10.0}, {}, {0: 4e9, 1: 1e9})
    one = row(1, {0: 10**9})
    assert share_out([one], energy, machine(1, 2), by_cycles=False, everything=False) == {one.key: 2.0}


def test_what_is_not_known_is_not_shared_out() -> None:
    one = row(1, {0: 5})
    why = Unavailable(Reason.VIRTUALISED, "no such PMU")
    assert share_out([one], Energy({}, {}, {}, why=why), machine(1, 2), by_cycles=True, everything=True) == {}
    no_total = Energy({0: 10.0}, {}, {})
    assert why_not(Energy({}, {}, {}, why=why), by_cycles=True, everything=True) is why
    told = why_not(no_total, by_cycles=True, everything=False)
    assert told is not None
    assert "aperf" in told.detail
    assert why_not(no_total, by_cycles=True, everything=True) is None
    assert share_out([one], no_total, machine(1, 2), by_cycles=True, everything=False) == {}
    assert share_out([one], no_total, machine(1, 2), by_cycles=True, everything=True) == {one.key: 10.0}


def test_another_time_at_the_same_power() -> None:
    one = row(1, {0: 250})
    found = share_out([one], Energy({0: 10.0}, {0: 1000.0}, {}, 2.0).over(0.5), machine(1, 2), by_cycles=True,
                      everything=False)
    assert found == {one.key: 2.5}
    assert Energy({0: 1.0}, {}, {}).over(3.0) == Energy({0: 1.0}, {}, {})
