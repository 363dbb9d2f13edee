"""The levels of a machine's memory: the machine, its packages, NUMA nodes and L3 caches, one inside the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.small_files import names_in
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.by_key import sets_by_key
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.scope import Scope

NODES: Final = "/sys/devices/system/node"


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A part of a machine with memory or caches."""

    key: str
    parent: str  # the key of the level around it; "" of the machine
    scope: Scope
    number: int  # sysfs's id; 0 of the machine
    domain: str = ""  # of resctrl, which counts it; "" if nothing does
    node: int | None = None  # the node whose pages are the row's

    @property
    def in_cache(self) -> bool:
        """Whether it is a node that shares its L3 cache with others."""
        return self.parent.startswith("L3 ")


def memory_levels(host: Host, places: Sequence[CpuPlace]) -> Iterator[MemoryLevel]:
    """Yield the levels of a machine, each before those inside it.

    Packages are levels where they are more than one and are no nodes, nodes where there are more than one.
    """
    package_of = sets_by_key((place.node, place.package) for place in places)
    caches = sets_by_key((place.l3, place.node) for place in places if place.l3 >= 0)
    packages = {place.package for place in places}
    matches = (re.fullmatch(r"node([0-9]{1,4})", name) for name in names_in(host, NODES))
    nodes = sorted({*package_of, *(integer(match[1]) for match in matches if match)} - {-1})
    one_to_one = len(package_of) == len(packages)
    yield MemoryLevel("machine", "", Scope.SYSTEM, 0, node=nodes[0] if len(nodes) == 1 else None)

    def package_row(package: int) -> str:
        return "machine" if one_to_one or len(packages) < 2 else f"package {package}"

    for package in sorted(packages):
        if package_row(package) != "machine":
            yield MemoryLevel(package_row(package), "machine", Scope.PACKAGE, package)
    inside = {node: number for number, members in caches.items() if len(members) > 1 for node in members}
    for number in sorted(set(inside.values())):
        package = next(place.package for place in places if place.l3 == number)
        yield MemoryLevel(f"L3 {number:02d}", package_row(package), Scope.L3, number, domain=f"L3 {number:02d}")
    for node in nodes if len(nodes) > 1 else ():
        of = package_of.get(node, set())
        parent = package_row(next(iter(of))) if len(of) == 1 else "machine"
        cache = f"L3 {inside[node]:02d}" if node in inside else ""
        yield MemoryLevel(f"node {node}", cache or parent, Scope.NODE, node, node=node,
                          domain=cache and f"{cache} node {node}")
    for place in {place.l3: place for place in places if place.l3 >= 0 and place.l3 not in inside.values()}.values():
        yield MemoryLevel(f"L3 {place.l3:02d}", f"node {place.node}" if len(nodes) > 1 else package_row(place.package),
                          Scope.L3, place.l3, domain=f"L3 {place.l3:02d}")
