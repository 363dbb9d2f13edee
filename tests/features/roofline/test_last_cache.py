"""The size of the last cache by a sweep, and signs that a measured roof is invalid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knownmachines import known_machine

from turbotui.features.roofline.disturbance import Disturbance
from turbotui.features.roofline.sweep import find_third_level
from turbotui.features.roofline.working_sets import working_sets
from turbotui.machine.caches import Cache
from turbotui.machine.code.kernel_threads import Round, Rounds
from turbotui.machine.code.shapes import Kernel, LoopShape
from turbotui.machine.cpu_times import CpuTicks, busy_between, read_cpu_times, stolen_between
from turbotui.machine.linux import LinuxHost
from turbotui.simulated import ManualClock, simulated_host

_MIB = 1 << 20


def _cache(level: int, mib: float, cpus: int = 1) -> Cache:
    return Cache(level, int(mib * _MIB), frozenset(range(cpus)))


class _Memory:
    """Rates of a machine whose last cache holds so much, and what was asked."""

    def __init__(self, capacity: float, plateau: float = 30e9, memory: float = 15e9) -> None:
        self._capacity = capacity * _MIB
        self._rates = plateau, memory
        self.asked: list[int] = []

    def __call__(self, size: int) -> float:
        self.asked.append(size)
        plateau, memory = self._rates
        held = min(1.0, self._capacity / size) if size > self._capacity else 1.0
        # an LRU cache keeps nothing of a walk longer than itself; real ones keep some of one that is slightly so
        kept = max(0.0, 2 * held - 1)
        return 1.0 / (kept / plateau + (1 - kept) / memory)


@given(st.floats(6.0, 60.0), st.floats(1.3, 6.0))
def test_the_l3_of_a_virtual_machine_is_what_it_gets_of_it(capacity: float, faster: float) -> None:
    caches = (_cache(1, 0.046875), _cache(2, 2), _cache(3, 260, 2))
    rate = _Memory(capacity, plateau=15e9 * faster)
    value = find_third_level(caches, rate, None, virtual=True)
    third = next(cache for cache in value.caches if cache.level == 3)
    assert capacity / 2 <= third.size / _MIB <= capacity * 2
    assert "260 MiB reported" in value.note
    assert third.cpus == caches[2].cpus
    sets = {item.level: item.bytes for item in working_sets(value.caches, [0], None, memory=value.memory)}
    assert 2 * _MIB < sets["L3"] <= capacity * 1.01 * _MIB
    assert rate(sets["DRAM"]) == pytest.approx(15e9, rel=0.1)


def test_a_machine_that_gets_no_l3_has_no_roof_of_it() -> None:
    value = find_third_level((_cache(2, 2), _cache(3, 260)), _Memory(1.0), None, virtual=True)
    assert [cache.level for cache in value.caches] == [2]
    assert "no L3 roof" in value.note
    assert [item.level for item in working_sets(value.caches, [0], None, memory=value.memory)] == ["L2", "DRAM"]


def test_a_cache_that_the_hypervisor_hides_is_found() -> None:
    caches = (_cache(1, 0.03125), _cache(2, 1))
    hidden = find_third_level(caches, _Memory(32.0), None, virtual=True)
    assert [cache.level for cache in hidden.caches] == [1, 2, 3]
    assert "no L3 reported" in hidden.note
    rate = _Memory(32.0)
    bare = find_third_level(caches, rate, None, virtual=False)
    assert (bare.caches, rate.asked) == (caches, [])


def test_a_described_size_that_the_sweep_confirms_stays() -> None:
    caches = (_cache(2, 1), _cache(3, 32, 8))
    level = find_third_level(caches, _Memory(32.0), None, virtual=False)
    assert (level.caches, level.note) == (caches, "")


def test_a_sweep_takes_no_more_memory_than_there_is_and_ends_where_memory_begins() -> None:
    rate = _Memory(16.0)
    find_third_level((_cache(2, 2), _cache(3, 260)), rate, None, virtual=True)
    assert max(rate.asked) < 260 * _MIB
    small = _Memory(1000.0)
    find_third_level((_cache(2, 2), _cache(3, 260)), small, 256 * _MIB, virtual=True)
    assert max(small.asked) <= 64 * _MIB
    without = _Memory(16.0)
    assert find_third_level((), without, None, virtual=True).caches == ()
    assert without.asked == []


_STAT = """cpu  10 0 10 100 0 0 0 5 0 0
cpu0 10 0 10 60 20 0 0 0 7 0
cpu12 0 0 0 40 0 0 0 5 0 0
cpu13 1 x
intr 5
"""


def test_cpu_times_are_those_of_proc_stat(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "stat").write_text(_STAT, encoding="ascii")
    result = read_cpu_times(LinuxHost(str(tmp_path)))
    assert result == {0: CpuTicks(100, 80, 0), 12: CpuTicks(45, 40, 5)}
    assert read_cpu_times(LinuxHost(str(tmp_path / "proc"))) == {}


def test_what_ran_between_two_readings() -> None:
    older = {0: CpuTicks(100, 80, 0), 1: CpuTicks(100, 80, 0), 2: CpuTicks(100, 0, 0)}
    newer = {0: CpuTicks(200, 130, 10), 1: CpuTicks(200, 80, 0), 3: CpuTicks(1, 1, 0)}
    assert busy_between(older, newer, (0, 1, 2, 3)) == pytest.approx(1.5)
    assert stolen_between(older, newer, (0, 1, 2, 3)) == pytest.approx(0.1)
    assert (busy_between(older, older, (0,)), stolen_between({}, newer, (0,))) == (0.0, 0.0)


_KERNEL = Kernel(b"", 1, (0, 0), LoopShape(0, 64))


@pytest.mark.parametrize(("rounds", "words"), [
    ([(20.0, 1.0)] * 3, ""), ([(20.0, 0.5)] * 3, "never all ran at the same time"),
    ([(20.0, 1.0), (19.0, 1.0), (15.0, 1.0)], "fewer than 3 rounds agree"),
])
def test_rounds_that_do_not_agree_are_no_measurement(rounds: list[tuple[float, float]], words: str) -> None:
    machine = known_machine(simulated_host("guest", ManualClock(0)))  # its clock stands: nothing runs beside
    taken = tuple(Round(rate, 1e9, share, together=True) for rate, share in rounds)
    result = Disturbance(machine, machine.topology.cpus, "DRAM").clauses(Rounds(_KERNEL, taken))
    assert (words in " ".join(result)) if words else not result


def test_work_on_cpus_that_share_a_level_is_seen() -> None:
    clock = ManualClock(0)
    machine = known_machine(simulated_host("laptop-old+calculix", clock))
    clock.advance(5.0)
    rounds = Rounds(_KERNEL, (Round(1.0, 1e9, 1.0),) * 3)
    for level, sharing in (("", "the cores"), ("L1", "L1"), ("L3", "L3"), ("DRAM", "DRAM")):
        beside = Disturbance(machine, (0,), level)
        assert beside.clauses(rounds) == ()
        clock.advance(2.0)
        assert f"other work was on CPUs that share {sharing}" in beside.clauses(rounds)
    alone = Disturbance(machine, machine.topology.cpus, "DRAM")
    clock.advance(2.0)
    assert alone.clauses(replace(rounds)) == ()
