"""Topologies of invented machines, each with one oddity."""

from __future__ import annotations

import errno
import time
from collections.abc import Mapping
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treehost import TreeHost

from turbotui.errors import MachineError, UsageError
from turbotui.machine.cpulist import format_cpulist, parse_cpulist, parse_cpumask
from turbotui.machine.topology import CpuPlace, Topology, read_topology, topology_of
from turbotui.machine.topology_groups import all_groups
from turbotui.machine.topology_sysfs import CpuFacts
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row

CPUS = "/sys/devices/system/cpu"

Facts: TypeAlias = Mapping[str, Mapping[int, int | str]]


def tree(online: list[int], topology: Facts, **more: str) -> dict[str, str]:
    """Files of a machine: topology/NAME of each CPU from {NAME: {cpu: value}}, and further files by full path."""
    files = {f"{CPUS}/online": format_cpulist(online) + "\n"}
    for name, values in topology.items():
        for cpu, value in values.items():
            files[f"{CPUS}/cpu{cpu}/topology/{name}"] = f"{value}\n"
    return files | more


def sets(topology: Topology, scope: Scope) -> list[tuple[int, ...]]:
    return [instance.cpus for instance in topology.instances(scope)]


def two_packages() -> dict[str, str]:
    """16 CPUs, 2 packages with the same sparse core ids, 2 threads; the second threads are numbered last."""
    cpus = range(16)
    core_of = {cpu: (cpu % 8) % 4 * 2 + (cpu % 4 == 3) * 10 for cpu in cpus}  # 0 2 4 16
    siblings = {cpu: format_cpulist({cpu % 8, cpu % 8 + 8}) for cpu in cpus}
    package = {cpu: cpu % 8 // 4 for cpu in cpus}
    members = {p: format_cpulist(c for c in cpus if package[c] == p) for p in (0, 1)}
    files = tree(
        list(cpus),
        {
            "physical_package_id": package,
            "die_id": dict.fromkeys(cpus, 0),
            "core_id": core_of,
            "cluster_id": dict.fromkeys(cpus, 65535),
            "core_cpus_list": siblings,
            "package_cpus_list": {cpu: members[package[cpu]] for cpu in cpus},
            "die_cpus_list": {cpu: members[package[cpu]] for cpu in cpus},
        },
    )
    for cpu in cpus:
        for index, level in ((0, 1), (1, 1), (2, 2), (3, 3)):
            files[f"{CPUS}/cpu{cpu}/cache/index{index}/level"] = f"{level}\n"
        files[f"{CPUS}/cpu{cpu}/cache/index3/id"] = f"{package[cpu]}\n"
        files[f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list"] = members[package[cpu]] + "\n"
    for node in (0, 1):
        files[f"/sys/devices/system/node/node{node}/cpulist"] = members[node] + "\n"
    return files


def test_two_packages_with_repeating_sparse_core_ids() -> None:
    topology = read_topology(TreeHost(two_packages()), None)
    assert topology.cpus == (0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)
    assert len(topology.instances(Scope.CORE)) == 8
    assert topology.row(Scope.CORE, 11) == RowId(Scope.CORE, (0, 0, 16))
    assert topology.row(Scope.CORE, 7) == RowId(Scope.CORE, (1, 0, 16))
    assert sets(topology, Scope.PACKAGE) == [(0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15)]
    assert topology.places[12] == CpuPlace(cpu=12, package=1, die=0, l3=1, node=1, module=-1, core=0, smt=1)
    assert [topology.varies(scope) for scope in Scope] == [True, True, False, True, False, True, True, False]
    assert topology.core_types == ()
    assert topology.notes == ()


def test_parts_are_positions_inside_the_outer_row() -> None:
    topology = read_topology(TreeHost(two_packages()), None)
    second = topology.row(Scope.PACKAGE, 4)
    assert topology.parts(second, Scope.CORE) == (4, 5, 6, 7)
    assert topology.parts(second, Scope.NODE) == (1,)
    assert topology.parts(topology.row(Scope.CORE, 9), Scope.CPU) == (2, 3)
    assert topology.parts(SYSTEM_ROW, Scope.PACKAGE) == (0, 1)
    assert topology.parts(cpu_row(8), Scope.PACKAGE) == ()  # the package begins with CPU 0
    assert topology.parts(RowId(Scope.PACKAGE, (7,)), Scope.CPU) == ()
    assert topology.instance(RowId(Scope.PACKAGE, (7,))) is None


def test_only_some_cpus_are_measured() -> None:
    topology = read_topology(TreeHost(two_packages()), frozenset({9, 12, 1}))
    assert topology.cpus == (1, 9, 12)
    assert sets(topology, Scope.CORE) == [(1, 9), (12,)]
    assert topology.places[12].smt == 1
    assert topology.row(Scope.CORE, 12) == RowId(Scope.CORE, (1, 0, 0))


def test_only_usable_cpus_are_measured() -> None:
    usable = frozenset({2, 3, 99})
    topology = read_topology(TreeHost(two_packages(), usable=usable), None)
    assert topology.cpus == (2, 3)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({99}, "CPU 99 is not there"),
        ({0, 7}, "CPU 7 is outside the CPUs this process may use (0-6,8-15)"),
        ({5}, "CPU 5 is offline; bring it up with: echo 1 > /sys/devices/system/cpu/cpu5/online"),
        (set(), "no CPU was named"),
    ],
)
def test_a_cpu_that_cannot_be_measured_is_named(wanted: set[int], words: str) -> None:
    files = two_packages() | {f"{CPUS}/online": "0-4,6-15\n", f"{CPUS}/present": "0-15\n"}
    host = TreeHost(files, usable=frozenset({*range(16)} - {7}))
    with pytest.raises(UsageError) as raised:
        read_topology(host, frozenset(wanted))
    assert words in str(raised.value).replace("0-4,6,8-15", "0-6,8-15")


def test_one_offline_cpu() -> None:
    files = two_packages()
    files |= {f"{CPUS}/online": "0-8,10-15\n", f"{CPUS}/present": "0-15\n", f"{CPUS}/possible": "0-31\n"}
    kept = {
        path: text for path, text in files.items() if not path.startswith((f"{CPUS}/cpu9/topology", f"{CPUS}/cpu9/c"))
    }
    for cpu in (1,):
        kept[f"{CPUS}/cpu{cpu}/topology/core_cpus_list"] = "1\n"
    topology = read_topology(TreeHost(kept), None)
    assert topology.offline == (9,)
    assert (len(topology.present), len(topology.possible)) == (16, 32)
    whole = read_topology(TreeHost(two_packages()), None)
    for scope in Scope:
        assert all(topology.row(scope, cpu) == whole.row(scope, cpu) for cpu in topology.cpus)


def test_several_dies_with_ids_of_each_package() -> None:
    cpus = range(8)
    dies = {cpu: format_cpulist({cpu // 2 * 2, cpu // 2 * 2 + 1}) for cpu in cpus}
    facts: Facts = {
        "physical_package_id": {cpu: cpu // 4 for cpu in cpus},
        "die_id": {cpu: cpu // 2 % 2 for cpu in cpus},
        "die_cpus_list": dies,
        "core_id": {cpu: cpu % 2 for cpu in cpus},
        "core_cpus_list": {cpu: cpu for cpu in cpus},
    }
    topology = read_topology(TreeHost(tree(list(cpus), facts)), None)
    assert sets(topology, Scope.DIE) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert topology.varies(Scope.DIE)
    assert topology.row(Scope.CORE, 7) == RowId(Scope.CORE, (1, 1, 1))
    assert len(topology.instances(Scope.CORE)) == 8


def test_dies_numbered_over_the_whole_machine() -> None:
    cpus = range(4)
    facts: Facts = {
        "physical_package_id": {cpu: cpu // 2 for cpu in cpus},
        "die_id": {cpu: cpu // 2 for cpu in cpus},
        "core_id": {cpu: cpu % 2 for cpu in cpus},
    }
    topology = read_topology(TreeHost(tree(list(cpus), facts)), None)
    assert [instance.row.key for instance in topology.instances(Scope.DIE)] == [(0, 0), (1, 1)]


def test_a_kernel_without_dies_gives_no_dies() -> None:
    cpus = range(4)
    facts: Facts = {
        "physical_package_id": dict.fromkeys(cpus, 36),
        "die_id": dict.fromkeys(cpus, -1),
        "die_cpus_list": {cpu: cpu for cpu in cpus},
        "core_id": {cpu: cpu for cpu in cpus},
    }
    topology = read_topology(TreeHost(tree(list(cpus), facts)), None)
    assert sets(topology, Scope.DIE) == [(0, 1, 2, 3)]
    assert not topology.varies(Scope.DIE)


def hybrid() -> dict[str, str]:
    """2 P-cores with 2 threads, 4 E-cores in a module, 2 LP-E-cores in a module without L3."""
    core = {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"} | {cpu: str(cpu) for cpu in range(4, 10)}
    module = {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"} | dict.fromkeys(range(4, 8), "4-7") | {8: "8-9", 9: "8-9"}
    facts: Facts = {
        "physical_package_id": dict.fromkeys(range(10), 0),
        "die_id": dict.fromkeys(range(10), 0),
        "core_id": {0: 0, 1: 0, 2: 4, 3: 4, 4: 8, 5: 9, 6: 10, 7: 11, 8: 32, 9: 33},
        "cluster_id": {0: 0, 1: 0, 2: 8, 3: 8, 4: 16, 5: 16, 6: 16, 7: 16, 8: 64, 9: 64},
        "core_cpus_list": core,
        "cluster_cpus_list": module,
    }
    files = tree(list(range(10)), facts)
    for cpu in range(10):
        files[f"{CPUS}/cpu{cpu}/cache/index0/level"] = "1\n"
        files[f"{CPUS}/cpu{cpu}/cache/index2/level"] = "2\n"
    for cpu in range(8):
        files[f"{CPUS}/cpu{cpu}/cache/index3/level"] = "3\n"
        files[f"{CPUS}/cpu{cpu}/cache/index3/id"] = "0\n"
        files[f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list"] = "0-7\n"
    files |= {"/sys/devices/cpu_core/cpus": "0-3\n", "/sys/devices/cpu_atom/cpus": "4-7\n"}
    return files | {"/sys/devices/cpu_lowpower/cpus": "8-9\n"}


def test_three_kinds_of_core() -> None:
    topology = read_topology(TreeHost(hybrid()), None)
    assert topology.core_types == ("P", "E", "LP")
    assert [topology.places[cpu].core_type for cpu in range(10)] == ["P"] * 4 + ["E"] * 4 + ["LP"] * 2
    assert sets(topology, Scope.MODULE) == [(0, 1), (2, 3), (4, 5, 6, 7), (8, 9)]
    assert [(l3.label, l3.cpus) for l3 in topology.instances(Scope.L3)] == [(0, tuple(range(8))), (-1, (8, 9))]


def test_kinds_stay_when_all_e_cores_are_offline() -> None:
    files = {path: text for path, text in hybrid().items() if not any(f"/cpu{cpu}/" in path for cpu in range(4, 10))}
    files |= {f"{CPUS}/online": "0-3\n", f"{CPUS}/present": "0-9\n"}
    files |= {"/sys/devices/cpu_atom/cpus": "\n", "/sys/devices/cpu_lowpower/cpus": "\n"}
    topology = read_topology(TreeHost(files), None)
    assert topology.core_types == ("P",)
    assert topology.offline == (4, 5, 6, 7, 8, 9)


@pytest.mark.parametrize(
    ("capacities", "kinds"),
    [
        ([1024, 1024], [None, None]),
        ([446, 1024], ["little", "big"]),
        ([280, 855, 1024], ["little", "mid", "big"]),
        ([100, 200, 300, 400], ["c4", "c3", "c2", "c1"]),
    ],
)
def test_capacity_classes(capacities: list[int], kinds: list[str | None]) -> None:
    files = tree(list(range(len(capacities))), {})
    files |= {f"{CPUS}/cpu{cpu}/cpu_capacity": f"{capacity}\n" for cpu, capacity in enumerate(capacities)}
    topology = read_topology(TreeHost(files), None)
    assert [topology.places[cpu].core_type for cpu in range(len(capacities))] == kinds
    assert topology.core_types == tuple(
        kind for kind in ("big", "mid", "little", "c1", "c2", "c3", "c4") if kind in kinds
    )


def test_a_guest_without_topology() -> None:
    files = {"/proc/stat": "cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\ncpu3 1 2 3\nintr 5\n"}
    topology = read_topology(TreeHost(files), None)
    assert topology.cpus == (0, 1, 3)
    assert sets(topology, Scope.CORE) == [(0,), (1,), (3,)]
    assert sets(topology, Scope.PACKAGE) == [(0, 1, 3)]
    assert topology.row(Scope.CORE, 3).key == (-1, -1, -1, 3)
    assert not any(topology.varies(scope) for scope in Scope if scope is not Scope.CPU)
    assert any("no package id" in note for note in topology.notes)
    assert any("no core id" in note for note in topology.notes)


def test_proc_cpuinfo_is_the_last_resort() -> None:
    block = "processor\t: {cpu}\nphysical id\t: {package}\ncore id\t: 0\n\n"
    text = "".join(block.format(cpu=cpu, package=cpu // 2) for cpu in range(4))
    topology = read_topology(TreeHost({"/proc/cpuinfo": text}), None)
    assert sets(topology, Scope.PACKAGE) == [(0, 1), (2, 3)]
    assert sets(topology, Scope.CORE) == [(0, 1), (2, 3)]


def test_no_cpu_at_all() -> None:
    with pytest.raises(MachineError, match="no CPU can be found on tree"):
        read_topology(TreeHost({}), None)
    with pytest.raises(MachineError, match="may use none"):
        read_topology(TreeHost(two_packages(), usable=frozenset({99})), None)


def test_each_cpus_own_online_file_where_there_is_no_list() -> None:
    files = tree([0], {"core_id": {cpu: cpu for cpu in range(3)}})
    del files[f"{CPUS}/online"]
    files |= {f"{CPUS}/cpu1/online": "0\n", f"{CPUS}/cpu2/online": "1\n"}
    topology = read_topology(TreeHost(files), None)
    assert (topology.cpus, topology.offline) == ((0, 2), (1,))


def test_sockets_of_books_without_package_ids() -> None:
    """As an old s390 kernel: no package id, core_id is a socket number that repeats per book, masks include offline."""
    sockets = {1: {0, 1, 2}, 2: {0, 1, 2}, 3: {3}, 8: {8, 9}, 9: {8, 9}}
    facts: Facts = {
        "physical_package_id": dict.fromkeys(sockets, -1),
        "book_id": {1: 3, 2: 3, 3: 3, 8: 4, 9: 4},
        "core_id": {1: 1, 2: 1, 3: 2, 8: 1, 9: 1},
        "core_siblings": {cpu: f"{sum(1 << item for item in mask):x}" for cpu, mask in sockets.items()},
        "thread_siblings": {cpu: f"{1 << cpu:x}" for cpu in sockets},
    }
    topology = read_topology(TreeHost(tree(list(sockets), facts, **{f"{CPUS}/present": "0-9\n"})), None)
    assert sets(topology, Scope.PACKAGE) == [(1, 2), (3,), (8, 9)]
    assert sets(topology, Scope.CORE) == [(1,), (2,), (3,), (8,), (9,)]
    assert topology.offline == (0, 4, 5, 6, 7)
    assert len({core.row for core in topology.instances(Scope.CORE)}) == 5


def test_a_sibling_mask_beats_different_core_ids() -> None:
    facts: Facts = {
        "core_id": {0: 0, 1: 1},
        "thread_siblings_list": {0: "0-1", 1: "0-1"},
        "physical_package_id": {0: 0, 1: 0},
    }
    topology = read_topology(TreeHost(tree([0, 1], facts)), None)
    assert sets(topology, Scope.CORE) == [(0, 1)]


def test_a_mask_that_leaves_its_own_cpu_out_is_not_believed() -> None:
    facts: Facts = {"core_id": {0: 0, 1: 1, 2: 1}, "thread_siblings_list": {0: "0", 1: "0", 2: "2"}}
    topology = read_topology(TreeHost(tree([0, 1, 2], facts)), None)
    assert sets(topology, Scope.CORE) == [(0,), (1, 2)]


def test_package_masks_split_equal_ids() -> None:
    masks = {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}
    facts: Facts = {"physical_package_id": dict.fromkeys(range(4), 0), "package_cpus_list": masks}
    topology = read_topology(TreeHost(tree(list(range(4)), facts)), None)
    assert sets(topology, Scope.PACKAGE) == [(0, 1), (2, 3)]
    assert topology.places[3].package == 0


def test_a_mask_over_two_chips_does_not_join_their_packages() -> None:
    facts: Facts = {"physical_package_id": {0: 0, 1: 8}, "core_siblings_list": dict.fromkeys(range(2), "0-1")}
    topology = read_topology(TreeHost(tree([0, 1], facts)), None)
    assert sets(topology, Scope.PACKAGE) == [(0,), (1,)]


def test_a_cpu_that_says_nothing_is_in_the_only_package() -> None:
    topology = read_topology(TreeHost(tree([0, 1, 2], {"physical_package_id": {0: 0, 1: 0}})), None)
    assert sets(topology, Scope.PACKAGE) == [(0, 1, 2)]


def test_level_3_caches_without_ids_or_lists() -> None:
    files = tree([0, 1, 2, 3], {"physical_package_id": dict.fromkeys(range(4), 0)})
    for cpu in range(4):
        files[f"{CPUS}/cpu{cpu}/cache/index1/level"] = "3\n"
        files[f"{CPUS}/cpu{cpu}/cache/index1/shared_cpu_map"] = ("3" if cpu < 2 else "c") + "\n"
    topology = read_topology(TreeHost(files), None)
    assert [(l3.label, l3.cpus) for l3 in topology.instances(Scope.L3)] == [(0, (0, 1)), (2, (2, 3))]
    assert any("level 3 caches have no ids" in note for note in topology.notes)


def test_nodes_from_the_links_beside_each_cpu() -> None:
    files = tree([0, 1], {})
    host = TreeHost(files, folders=[f"{CPUS}/cpu0/node0", f"{CPUS}/cpu1/node3"])
    assert [node.label for node in read_topology(host, None).instances(Scope.NODE)] == [0, 3]


def test_unreadable_and_odd_files_are_as_good_as_missing() -> None:
    files = two_packages()
    files[f"{CPUS}/cpu3/topology/core_id"] = "what?\n"
    files[f"{CPUS}/cpu3/topology/core_cpus_list"] = "3-\n"
    host = TreeHost(files, errors={f"{CPUS}/cpu2/topology/physical_package_id": errno.EACCES})
    topology = read_topology(host, None)
    assert len(topology.cpus) == 16
    assert topology.places[2].package == -1
    assert topology.index(Scope.PACKAGE, 2) == topology.index(Scope.PACKAGE, 1)
    assert topology.index(Scope.CORE, 3) == topology.index(Scope.CORE, 11)  # CPU 11 still names both


def test_a_topology_from_places_alone() -> None:
    places = [CpuPlace(cpu, 0, 0, 0, 0, -1, cpu % 2, smt=cpu // 2) for cpu in range(4)]
    topology = topology_of(places, offline=(4,))
    assert topology.cpus == (0, 2, 1, 3)
    assert topology.present == topology.possible == (0, 1, 2, 3, 4)
    assert topology == topology_of(reversed(places), offline=(4,))


def test_a_thousand_cpus_take_well_under_a_second() -> None:
    count = 1024
    packages = {0: format_cpulist(range(512)), 1: format_cpulist(range(512, count))}
    facts: Facts = {
        "physical_package_id": {cpu: cpu // 512 for cpu in range(count)},
        "die_id": dict.fromkeys(range(count), 0),
        "core_id": {cpu: cpu % 512 // 2 for cpu in range(count)},
        "cluster_id": {cpu: cpu % 512 // 2 for cpu in range(count)},
        "core_cpus_list": {cpu: f"{cpu & ~1}-{cpu | 1}" for cpu in range(count)},
        "package_cpus_list": {cpu: packages[cpu // 512] for cpu in range(count)},
        "die_cpus_list": {cpu: packages[cpu // 512] for cpu in range(count)},
        "cluster_cpus_list": {cpu: f"{cpu & ~1}-{cpu | 1}" for cpu in range(count)},
    }
    host = TreeHost(tree(list(range(count)), facts))
    started = time.process_time()
    topology = read_topology(host, None)
    assert time.process_time() - started < 1.0
    assert len(topology.instances(Scope.CORE)) == 512
    assert host.reads < 40 * count


@given(
    st.lists(
        st.tuples(st.integers(-1, 2), st.integers(-1, 2), st.integers(-1, 3), st.integers(-1, 3)),
        min_size=1,
        max_size=12,
    ),
    st.lists(st.frozensets(st.integers(0, 15), max_size=4), max_size=12),
)
@settings(max_examples=150, deadline=None)
def test_any_ids_and_masks_make_a_lawful_topology(
    ids: list[tuple[int, int, int, int]], masks: list[frozenset[int]]
) -> None:
    """Whatever sysfs says, every CPU has exactly one row at every scope and rows are unique."""
    names = ("physical_package_id", "die_id", "core_id", "cluster_id")
    facts: dict[str, dict[int, int | str]] = {
        name: {cpu: item[position] for cpu, item in enumerate(ids)} for position, name in enumerate(names)
    }
    facts["core_cpus_list"] = {cpu: format_cpulist(mask) for cpu, mask in enumerate(masks[: len(ids)])}
    facts["package_cpus_list"] = {cpu: format_cpulist(mask) for cpu, mask in enumerate(reversed(masks[: len(ids)]))}
    topology = read_topology(TreeHost(tree(list(range(len(ids))), facts)), None)
    assert sorted(topology.cpus) == list(range(len(ids)))
    for scope in Scope:
        instances = topology.instances(scope)
        assert sorted(cpu for instance in instances for cpu in instance.cpus) == sorted(topology.cpus)
        assert len({instance.row for instance in instances}) == len(instances)
        for outer in Scope:
            inside = [part for instance in topology.instances(outer) for part in topology.parts(instance.row, scope)]
            assert sorted(inside) == list(range(len(instances)))
    order = {cpu: position for position, cpu in enumerate(topology.cpus)}
    for core in topology.instances(Scope.CORE):
        assert [order[cpu] for cpu in core.cpus] == list(
            range(order[core.cpus[0]], order[core.cpus[0]] + len(core.cpus))
        )


def test_memory_for_a_machine_without_topology_files_grows_with_its_cpus_and_not_by_the_square() -> None:
    """Each of 8,192 CPUs had a list of all of them of its own, six times over: 2.15 GB (issue 11)."""
    facts = {cpu: CpuFacts(cpu) for cpu in range(3000)}
    for scope, groups in all_groups(facts).items():
        held = {id(group): len(group) for group in groups.values()}
        assert sum(held.values()) == len(facts), scope


def test_cpus_that_only_a_damaged_list_names_are_not_there() -> None:
    files = tree(list(range(65536)), {"physical_package_id": {0: 0, 1: 0}})
    stat = {"/proc/stat": "cpu  1 1 1 1\ncpu0 1 1 1 1\ncpu1 1 1 1 1\n"}
    for more in ({}, {f"{CPUS}/present": "0-1\n"}, stat):
        topology = read_topology(TreeHost(files | more), None)
        assert topology.cpus == (0, 1)
        assert any("names CPUs 2-65535" in note for note in topology.notes)


def test_a_million_cpus_are_refused_in_a_sentence_or_not_believed() -> None:
    alone = {f"{CPUS}/online": "0-999999\n"}
    with pytest.raises(MachineError, match="says '0-999999', which is no list of CPUs up to 65535"):
        read_topology(TreeHost(alone), None)
    topology = read_topology(TreeHost(alone | {"/proc/stat": "cpu0 1 1\ncpu1 1 1\n"}), None)
    assert topology.cpus == (0, 1)
    assert any("other files were asked instead" in note for note in topology.notes)
    rows = {"/proc/stat": "cpu0 1 1\ncpu1000000 1 1\n"}
    with pytest.raises(MachineError, match="no kernel has more than 65536"):
        read_topology(TreeHost(rows), None)


@pytest.mark.parametrize("mask", ["0-65536", "1048576", "0-18446744073709551615"])
def test_lists_beyond_any_kernel_are_no_lists(mask: str) -> None:
    with pytest.raises(ValueError, match="beyond any CPU"):
        parse_cpulist(mask)
    with pytest.raises(ValueError, match="beyond any CPU"):
        parse_cpumask(",".join(["ffffffff"] * 2049))


@pytest.mark.parametrize(("nodes", "together"), [([0, 0, 1, 1], 1), ([0, 1, 2, 3], 2), ([0, 0, 0, 0], 1)])
def test_how_many_nodes_a_package_has_whatever_is_measured(nodes: list[int], together: int) -> None:
    files = tree([0, 1, 2, 3], {"physical_package_id": {0: 0, 1: 0, 2: 1, 3: 1}})
    for node in set(nodes):
        selected = [cpu for cpu, own in enumerate(nodes) if own == node]
        files[f"/sys/devices/system/node/node{node}/cpulist"] = format_cpulist(selected) + "\n"
    for measured in (None, frozenset({0})):
        topology = read_topology(TreeHost(files), measured)
        assert topology.nodes_together == together
        assert topology.has_several(Scope.NODE) == (len(set(nodes)) > 1)
        assert topology.has_several(Scope.PACKAGE)
        assert topology.varies(Scope.PACKAGE) == (measured is None)


def test_the_places_of_cpus_in_a_level_are_those_of_each() -> None:
    topology = topology_of([CpuPlace(cpu, cpu % 2, 0, 0, 0, -1, cpu // 4) for cpu in (0, 3, 5, 6, 9)])
    for scope in Scope:
        assert topology.places_in(scope) == tuple(topology.index(scope, cpu) for cpu in topology.cpus)


MAP = "/proc/device-tree/cpus/cpu-map"


@pytest.mark.parametrize(
    ("parts", "more", "packages"),
    [
        ((0xD03, 0xD03), {}, [(0, 1), (2, 3)]),
        ((0xD03, 0xD08), {}, [(0, 1, 2, 3)]),  # no machine has sockets of unlike chips
        ((0xD03, 0xD03), {f"{MAP}/cluster0/core0/cpu": "1", f"{MAP}/cluster1/core0/cpu": "2"}, [(0, 1, 2, 3)]),
        ((0xD03, 0xD08), {f"{MAP}/socket0/cluster0/core0/cpu": "1"}, [(0, 1), (2, 3)]),
        ((0xD03, 0xD08), {f"{CPUS}/cpu0/topology/cluster_id": "0"}, [(0, 1), (2, 3)]),
    ],
)
def test_clusters_of_an_arm_chip_are_not_packages(
    parts: tuple[int, int], more: dict[str, str], packages: list[tuple[int, ...]]
) -> None:
    """What drivers/base/arch_topology.c calls packages before and after Linux 6.0."""
    halves = {cpu: cpu // 2 for cpu in range(4)}
    cpuinfo = "".join(f"processor\t: {cpu}\nCPU implementer\t: 0x41\nCPU part\t: {parts[half]:#x}\n\n"
                      for cpu, half in halves.items())
    files = tree([0, 1, 2, 3], {"physical_package_id": halves, "core_id": {cpu: cpu % 2 for cpu in halves},
                                "core_cpus_list": {cpu: cpu for cpu in halves},
                                "package_cpus_list": {cpu: ("0-1", "2-3")[half] for cpu, half in halves.items()}})
    topology = read_topology(TreeHost({**files, "/proc/cpuinfo": cpuinfo, **more}), None)
    assert sets(topology, Scope.PACKAGE) == packages
    assert len(topology.instances(Scope.CORE)) == 4
    assert any("are clusters of one" in note for note in topology.notes) is (len(packages) == 1)
    if len(packages) == 1:
        assert sets(topology, Scope.MODULE) == [(0, 1), (2, 3)]


def test_one_cpu_whose_files_fail_changes_no_other_row() -> None:
    """Its siblings' masks and the ids of its package tell where it is; a die of its own would shift sensors."""
    files = two_packages() | {"/proc/cpuinfo": "processor : 0\nphysical id : 0\ncore id : 0\n"}
    plain = read_topology(TreeHost(files), None)
    failing = {path: errno.EIO for path in files if path.startswith(f"{CPUS}/cpu0/topology/")}
    topology = read_topology(TreeHost({path: text for path, text in files.items() if path not in failing},
                                      errors=failing), None)
    for scope in Scope:
        assert sets(topology, scope) == sets(plain, scope), scope
        assert topology.rows(scope) == plain.rows(scope), scope
