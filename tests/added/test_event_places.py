"""The level of the topology for which a PMU counts, and the CPU that opens it, from sysfs alone."""

from __future__ import annotations

from turbotui.events.encoded import EncodedEvent
from turbotui.machine.host import PerfAttr
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.scope import Scope
from turbotui.sources.event_places import Bundle, Family, families

# two packages of two dies; each die has two L3 slices of two CPUs
EIGHT = [CpuPlace(cpu, cpu // 8, cpu // 4, cpu // 2, cpu // 8, -1, cpu) for cpu in range(16)]


def uncore(pmu: str, cpus: tuple[int, ...], covers: tuple[int, ...] = (), *, per_package: bool = False,
           config: int = 1) -> EncodedEvent:
    return EncodedEvent("e", f"{pmu}/e/", pmu, PerfAttr(20, config), cpus=cpus, covers=covers, uncore=True,
                        per_package=per_package)


def family(*events: EncodedEvent, watched: Topology | None = None) -> Family:
    whole = topology_of(EIGHT)
    (result,) = families(watched or whole, [Bundle((("e", event),)) for event in events], whole)
    return result


def opened(result: Family) -> dict[int, list[int]]:
    return {reader: [placed.cpu for placed in row] for reader, row in result.rows.items()}


def test_one_cpu_a_package_is_a_package() -> None:
    result = family(uncore("imc_0", (0, 8)), uncore("imc_1", (0, 8)))
    assert result.scope is Scope.PACKAGE
    assert opened(result) == {0: [0, 0], 8: [8, 8]}
    assert not result.absent


def test_one_cpu_a_die_is_a_die_and_one_an_l3_is_an_l3() -> None:
    assert family(uncore("power", (0, 4, 8, 12))).scope is Scope.DIE
    assert family(uncore("amd_l3", tuple(range(0, 16, 2)))).scope is Scope.L3
    assert family(uncore("cstate_core", tuple(range(16)))).scope is Scope.CORE


def test_associated_cpus_say_how_far_one_pmu_reaches() -> None:
    assert family(uncore("fabric", (0,), tuple(range(8)))).scope is Scope.PACKAGE
    die = family(uncore("ring", (4,), (4, 5, 6, 7)))
    assert die.scope is Scope.DIE
    assert opened(die) == {4: [4]}
    assert sorted(die.absent) == [0, 8, 12]
    assert "the PMU ring counts for CPUs 4-7, not for die" in die.absent[0].detail
    # no level is like this: the coarsest one that has the CPU
    assert family(uncore("odd", (1,), (1, 2, 3))).scope in (Scope.PACKAGE, Scope.CORE)


def test_several_pmus_are_summed_where_they_are() -> None:
    result = family(uncore("a_0", (0,), tuple(range(8))), uncore("a_1", (8,), tuple(range(8, 16))),
                    uncore("a_2", (8,), tuple(range(8, 16))))
    assert opened(result) == {0: [0], 8: [8, 8]}


def test_what_counts_once_a_package_is_opened_once() -> None:
    result = family(uncore("cqm", (0, 4, 8, 12), per_package=True))
    assert result.scope is Scope.PACKAGE
    assert opened(result) == {0: [0], 8: [8]}


def test_the_platform_is_counted_once() -> None:
    result = family(uncore("power", (0, 8), config=5))
    assert result.scope is Scope.SYSTEM
    assert opened(result) == {0: [0]}


def test_a_pmu_of_a_cpu_that_is_not_watched_is_opened_there_and_read_here() -> None:
    some = topology_of([EIGHT[3], EIGHT[13]])
    assert opened(family(uncore("imc", (0, 8)), watched=some)) == {3: [0], 13: [8]}
    dies = family(uncore("power", (0, 4, 8, 12)), watched=some)
    assert dies.scope is Scope.DIE
    assert opened(dies) == {3: [0], 13: [12]}
    other = family(uncore("fabric_1", (8,), tuple(range(8, 16))), watched=topology_of([EIGHT[3]]))
    assert opened(other) == {}
    assert list(other.absent) == [3]


def test_core_events_are_opened_on_the_cpus_of_their_kind() -> None:
    everywhere = EncodedEvent("e", "cycles", "cpu", PerfAttr(0, 0))
    assert len(family(everywhere).rows) == 16
    big = EncodedEvent("e", "big/e/", "big", PerfAttr(4, 1), cpus=(0, 1))
    small = EncodedEvent("e", "small/e/", "small", PerfAttr(9, 1), cpus=(2, 3))
    result = family(big, small)
    assert opened(result) == {0: [0], 1: [1], 2: [2], 3: [3]}
    assert "2 PMUs (big ...) count for CPUs 0-3, not for cpu 9" in result.absent[9].detail
