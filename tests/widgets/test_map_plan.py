"""The layout of the map: each CPU once, caches and kinds of core apart, packages and nodes named."""

from __future__ import annotations

import itertools

import pytest
from knownmachines import known_machine

from turbotui.machine.topology import Topology
from turbotui.quantities.scope import Scope
from turbotui.simulated import ManualClock, simulated_host
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.heat_map import drawing
from turbotui.widgets.map_plan import MapPlan, blocks_of, plan_map

MACHINES = ("laptop", "laptop-arrow", "sapphire-2s", "turin-2s", "forest-1s", "big-8s", "guest")
SIZES = ((80, 17), (120, 29), (200, 53))
"""Characters and lines that screens of 80x24, 120x36 and 200x60 leave for the map."""


def topology_of(shape: str) -> Topology:
    """A simulated machine's."""
    return known_machine(simulated_host(shape, ManualClock(), seed=7)).topology


def names_of(shape: str) -> list[str]:
    """The names of the blocks of the first package."""
    topology = topology_of(shape)
    return [block.name for block in blocks_of(topology, topology.instances(Scope.PACKAGE)[0].row)]


def painted(plan: MapPlan) -> list[str]:
    """Frames, captions and rules as text, with a + for each CPU."""
    lines = [[" "] * plan.width for _ in range(plan.height)]
    for y, items in drawing(plan).items():
        for x, text, _role in items:
            for at, char in enumerate(text):
                assert lines[y][x + at] == " ", "two things stand at one place"
                lines[y][x + at] = char
    for x, first in set(plan.places.values()):
        for y in range(first, first + plan.tall):
            assert lines[y][x] == " ", "a CPU stands on something else"
            lines[y][x] = "+"
    return ["".join(line) for line in lines]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("shape", MACHINES)
def test_every_cpu_has_a_place_in_its_package(shape: str, size: tuple[int, int]) -> None:
    topology = topology_of(shape)
    plan = plan_map(topology, *size)
    assert plan.width <= size[0]
    assert plan.height <= size[1]
    assert sorted(plan.places) == sorted(topology.cpus)
    painted(plan)
    for package, box in zip(topology.instances(Scope.PACKAGE), plan.boxes, strict=True):
        for cpu in package.cpus:
            x, y = plan.places[cpu]
            assert box.x < x < box.x + box.width - 1
            assert box.y < y < box.y + box.height - 1


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("shape", MACHINES)
def test_a_rule_stands_between_neighbours_of_two_caches_or_kinds(shape: str, size: tuple[int, int]) -> None:
    topology = topology_of(shape)
    plan = plan_map(topology, *size)
    lines = painted(plan)
    by_line: dict[int, list[tuple[int, int]]] = {}
    for cpu, (x, y) in plan.places.items():
        by_line.setdefault(y, []).append((x, cpu))

    def home(cpu: int) -> tuple[int, str | None]:
        return topology.index(Scope.L3, cpu), topology.places[cpu].core_type

    for y, result in by_line.items():
        marks = sorted(dict(result).items())  # of a core's CPUs at one place, one
        for (x, cpu), (other_x, other) in itertools.pairwise(marks):
            if topology.places[cpu].package == topology.places[other].package:
                assert (home(cpu) != home(other)) == ("│" in lines[y][x + 1 : other_x])


@pytest.mark.parametrize(("shape", "names"), [
    ("laptop", ["P", "E", "E · no L3"]),
    ("laptop-arrow", ["P", "E", "LP-E · no L3"]),
    ("turin-2s", [f"CCD {number}" for number in range(12)]),
    ("sapphire-2s", [""]),
    ("guest", [""]),
])
def test_blocks_are_named_by_what_tells_them_apart(shape: str, names: list[str]) -> None:
    assert names_of(shape) == names


def test_packages_say_their_node_and_blocks_their_cache() -> None:
    text = "\n".join(painted(plan_map(topology_of("turin-2s"), 120, 29)))
    for words in ("package 0 · node 0", "package 1 · node 1", "CCD 0 ─", "CCD 11 ─"):
        assert words in text


def test_the_cpus_of_a_core_share_a_mark_only_where_there_is_no_room() -> None:
    topology = topology_of("big-8s")
    assert [plan_map(topology, *size).folded for size in SIZES] == [True, False, False]
    plan = plan_map(topology, *SIZES[0])
    assert len(set(plan.places.values())) == len(topology.instances(Scope.CORE))


def test_siblings_stand_below_each_other() -> None:
    topology = topology_of("turin-2s")
    plan = plan_map(topology, 200, 53)
    for core in topology.instances(Scope.CORE):
        (x, y), (other_x, other_y) = (plan.places[cpu] for cpu in core.cpus)
        assert (other_x, other_y) == (x, y + 1)


def test_captions_are_titles_and_frames_are_rules() -> None:
    roles = {text: role for items in drawing(plan_map(topology_of("laptop-arrow"), 120, 29)).values()
             for _x, text, role in items}
    assert roles["LP-E · no L3"] is StyleRole.TITLE
    assert roles["│"] is StyleRole.RULE


def test_marks_are_taller_where_most_of_the_room_would_be_empty() -> None:
    topology = topology_of("laptop")
    low, high = plan_map(topology, 120, 12), plan_map(topology, 120, 30)
    assert (low.tall, high.tall) == (1, 4)
    assert high.height <= 30
