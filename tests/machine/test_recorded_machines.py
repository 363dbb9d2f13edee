"""Topologies of real machines, compared as sets of CPUs with what hwloc and lscpu print for the same trees."""

from __future__ import annotations

import functools
import re
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest
from treehost import TreeHost

from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.topology import Topology, read_topology
from turbotui.quantities.scope import Scope

MACHINES = Path(__file__).parents[2] / "../shared/machines"
HWLOC = sorted(MACHINES.glob("hwloc/*.console"))
LSCPU = sorted(MACHINES.glob("lscpu/*.expected.txt"))
TREES = sorted([*MACHINES.glob("hwloc/*.tar.*"), *MACHINES.glob("lscpu/*.tar.*")])
ABSENT = "the recorded machines (sibling folder shared/machines) are not there"

Partition = set[frozenset[int]]

BULLDOZER = 21
"""AMD family 15h: hwloc shows the two halves of a compute unit as cores; the kernel (thread_siblings) and lscpu call
the unit one core with two threads, and so do we. The unit is hwloc's shared L2 there."""


def partition(topology: Topology, scope: Scope) -> Partition:
    return {frozenset(instance.cpus) for instance in topology.instances(scope)}


@functools.cache
def topology_of_tree(path: Path) -> tuple[Topology, TreeHost]:
    host = TreeHost.from_tar(path)
    return read_topology(host, None), host


class Console:
    """The indented tree that hwloc prints: for each kind of object its P# (or -1) and the CPUs (PUs) below it.

    A NUMANode is printed beside its CPUs, first among the children of the object whose CPUs it has.
    """

    LINE = re.compile(
        r"( *)(Machine|Package|Die|L3Cache|L2Cache|NUMANode|Core|PU|Group\(Cluster\)|Group)\b(?:.*?\(P#(\d+)|)"
    )

    def __init__(self, text: str) -> None:
        self.objects: dict[str, list[tuple[int, set[int]]]] = defaultdict(list)
        self.cpus: set[int] = set()
        stack: list[tuple[int, set[int]]] = []
        for line in text.splitlines():
            if line.startswith(("depth", "Special")):
                break
            match = self.LINE.match(line)
            if match is None:
                continue
            indent, kind = len(match[1]), match[2]
            while stack and stack[-1][0] >= indent:
                stack.pop()
            number = int(match[3]) if match[3] else -1
            if kind == "PU":
                self.cpus.add(number)
                for _, below in stack:
                    below.add(number)
                continue
            below = stack[-1][1] if kind == "NUMANode" and stack else set()
            self.objects[kind].append((number, below))
            if kind != "NUMANode":
                stack.append((indent, below))

    def partition(self, kind: str) -> Partition:
        return {frozenset(cpus) for _, cpus in self.objects[kind] if cpus}

    def numbers(self, kind: str) -> dict[frozenset[int], int]:
        return {frozenset(cpus): number for number, cpus in self.objects[kind] if cpus and number >= 0}


def test_recorded_machines_are_found() -> None:
    if not MACHINES.exists():
        pytest.skip(ABSENT)
    assert len(HWLOC) >= 6
    assert len(LSCPU) >= 5


@pytest.mark.parametrize("console", HWLOC, ids=lambda path: path.stem)
def test_topology_is_what_hwloc_prints(console: Path) -> None:
    topology, host = topology_of_tree(console.with_suffix(".tar.bz2"))
    expected = Console(console.read_text())
    assert set(topology.cpus) == expected.cpus
    assert partition(topology, Scope.PACKAGE) == expected.partition("Package")
    assert {
        frozenset(package.cpus): package.label for package in topology.instances(Scope.PACKAGE)
    } == expected.numbers("Package")
    # hwloc leaves a die out that is its whole package
    assert partition(topology, Scope.DIE) == (expected.partition("Die") or expected.partition("Package"))
    assert partition(topology, Scope.L3) == expected.partition("L3Cache")
    assert partition(topology, Scope.NODE) == expected.partition("NUMANode")
    assert {frozenset(node.cpus): node.label for node in topology.instances(Scope.NODE)} == expected.numbers("NUMANode")
    model = read_cpu_model(host)
    halved = model.vendor == "AuthenticAMD" and model.family == BULLDOZER
    assert partition(topology, Scope.CORE) == expected.partition("L2Cache" if halved else "Core")
    if not halved:
        assert {frozenset(core.cpus): core.label for core in topology.instances(Scope.CORE)} == expected.numbers("Core")
    if "Group(Cluster)" in expected.objects:
        assert partition(topology, Scope.MODULE) == expected.partition("Group(Cluster)")
        modules = {frozenset(module.cpus): module.label for module in topology.instances(Scope.MODULE)}
        assert modules == expected.numbers("Group(Cluster)")


Columns = dict[str, dict[int, str]]


def lscpu_tables(text: str) -> list[Columns]:
    """The parsable tables as {column: {CPU: value}}; the first has logical numbers, the last raw ids."""
    tables = []
    for part in text.split("# CPU,")[1:]:
        lines = part.splitlines()
        names = lines[0].split(",")
        columns: Columns = {name: {} for name in names if name}
        columns["CPU"] = {}
        for line in lines[1:]:
            if not line or line.startswith("#"):
                break
            number, *values = line.split(",")
            columns["CPU"][int(number)] = number
            for name, value in zip(names, values, strict=True):
                if name and value:
                    columns[name][int(number)] = value
        tables.append(columns)
    return tables


def grouped(values: dict[int, str]) -> Partition:
    groups: dict[str, set[int]] = defaultdict(set)
    for cpu, value in values.items():
        groups[value].add(cpu)
    return {frozenset(group) for group in groups.values()}


def lscpu_columns(text: str) -> Columns:
    """The table whose numbers are unique over the machine.

    That is the one with logical numbers, except on a machine of several models: lscpu numbers each model from 0 there,
    and the raw ids are to be believed; its core ids are per socket.
    """
    tables = lscpu_tables(text)
    if text.count("Model name:") == 1:
        return tables[0]
    columns = tables[-1]
    columns["Core"] = {cpu: f"{columns['Socket'][cpu]}/{core}" for cpu, core in columns["Core"].items()}
    return columns


@pytest.mark.parametrize("expected", LSCPU, ids=lambda path: path.name.split(".")[0])
def test_topology_is_what_lscpu_prints(expected: Path) -> None:
    topology, host = topology_of_tree(expected.with_name(expected.name.replace(".expected.txt", ".tar.gz")))
    text = expected.read_text()
    columns = lscpu_columns(text)
    assert set(topology.cpus) == columns["CPU"].keys()
    assert partition(topology, Scope.CORE) == grouped(columns["Core"])
    clusters = any("are clusters of one" in note for note in topology.notes)  # which lscpu calls sockets
    sockets = Scope.MODULE if clusters else Scope.PACKAGE
    for name, scope in {"Socket": sockets, "Node": Scope.NODE, "L3": Scope.L3}.items():
        if columns.get(name):
            assert partition(topology, scope) == grouped(columns[name]), name
        else:
            assert not topology.varies(scope), name
    raw = lscpu_tables(text)[-1].get("L3", {})
    if host.exists("/sys/devices/system/cpu/cpu0/cache/index3/id"):
        assert {cpu: str(place.l3) for cpu, place in topology.places.items()} == raw
    offline = re.search(r"Off-line CPU\(s\) list: *(\S+)", text)
    assert topology.offline == (() if offline is None else tuple(int(cpu) for cpu in offline[1].split(",")))


def test_gb10_has_two_kinds_of_core_in_two_clusters() -> None:
    path = MACHINES / "hwloc/nvidia-dgx-gb10.tar.bz2"
    if not path.exists():
        pytest.skip(ABSENT)
    topology, host = topology_of_tree(path)
    halves = {frozenset(range(10)), frozenset(range(10, 20))}
    assert partition(topology, Scope.L3) == halves
    assert partition(topology, Scope.MODULE) == halves
    assert len(topology.instances(Scope.CORE)) == 20
    assert topology.core_types == ("big", "little")
    parts = re.findall(r"CPU part\s*: (\w+)", host.read_text("/proc/cpuinfo"))
    kinds = {"0xd85": "big", "0xd87": "little"}  # Cortex-X925, Cortex-A725
    assert [topology.places[cpu].core_type for cpu in range(20)] == [kinds[part] for part in parts]


def test_a_phone_has_three_classes_of_core() -> None:
    path = MACHINES / "lscpu/arm-A510-A710-A715-X3.tar.gz"
    if not path.exists():
        pytest.skip(ABSENT)
    topology, _ = topology_of_tree(path)
    kinds = [topology.places[cpu].core_type for cpu in range(8)]
    assert kinds == ["little"] * 3 + ["mid"] * 4 + ["big"]
    # lscpu says three sockets: arch_topology.c before Linux 6.0 called clusters packages
    clusters = {frozenset({0, 1, 2}), frozenset({3, 4, 5, 6}), frozenset({7})}
    assert partition(topology, Scope.PACKAGE) == {frozenset(range(8))}
    assert partition(topology, Scope.MODULE) == clusters
    assert len(topology.instances(Scope.CORE)) == 8
    assert any("3 packages that the kernel tells are clusters of one" in note for note in topology.notes)


@pytest.mark.parametrize("tree", TREES, ids=lambda path: path.name.split(".")[0])
def test_every_tree_obeys_the_laws_of_a_topology(tree: Path) -> None:
    topology, _ = topology_of_tree(tree)
    everything = topology.instances(Scope.SYSTEM)[0].row
    for scope in Scope:
        instances = topology.instances(scope)
        assert sorted(cpu for instance in instances for cpu in instance.cpus) == sorted(topology.cpus)
        assert len({instance.row for instance in instances}) == len(instances)
        assert topology.parts(everything, scope) == tuple(range(len(instances)))
        for position, instance in enumerate(instances):
            assert topology.instance(instance.row) == instance
            assert all(topology.index(scope, cpu) == position for cpu in instance.cpus)


@pytest.mark.parametrize("tree", TREES, ids=lambda path: path.name.split(".")[0])
def test_every_tree_can_lose_a_cpu_and_keep_its_rows(tree: Path) -> None:
    """Offline as the kernel does it: out of `online`, no topology folder, out of every node's list."""
    topology, host = topology_of_tree(tree)
    siblings = next((core.cpus for core in topology.instances(Scope.CORE) if len(core.cpus) > 1), topology.cpus[-1:])
    victim = siblings[-1]
    cpu = f"/sys/devices/system/cpu/cpu{victim}"
    kept = {path: text for path, text in host.files.items() if not path.startswith((f"{cpu}/topology", f"{cpu}/cache"))}
    kept[f"{cpu}/online"] = "0\n"
    rest = [other for other in topology.cpus if other != victim]
    kept["/sys/devices/system/cpu/online"] = ",".join(str(other) for other in sorted(rest)) + "\n"
    after = read_topology(TreeHost(kept), None)
    assert after.cpus == tuple(rest)
    assert victim in after.offline
    for scope in (Scope.CORE, Scope.DIE, Scope.PACKAGE):
        assert {other: after.row(scope, other) for other in rest} == {
            other: topology.row(scope, other) for other in rest
        }


@pytest.mark.parametrize("tree", TREES, ids=lambda path: path.name.split(".")[0])
def test_every_tree_without_its_topology_files_still_has_its_cpus(tree: Path) -> None:
    topology, host = topology_of_tree(tree)
    kept = {path: text for path, text in host.files.items() if "/topology/" not in path and "/cache/" not in path}
    kept["/sys/devices/system/cpu/online"] = ",".join(str(cpu) for cpu in sorted(topology.cpus)) + "\n"
    bare = read_topology(TreeHost(kept), None)
    assert set(bare.cpus) == set(topology.cpus)
    assert bare.notes


def test_trees_are_read_from_archives_with_links() -> None:
    tree = next(iter(TREES), None)
    if tree is None:
        pytest.skip(ABSENT)
    with tarfile.open(tree) as tar:
        some = next(member for member in tar if member.isfile() and member.size)
        stream = tar.extractfile(some)
        assert stream is not None
        text = stream.read().decode("utf-8", "replace")
    host = TreeHost.from_tar(tree)
    assert host.read_text("/" + some.name.split("/", 1)[1]) == text
