"""The levels of rows of a top-down analysis, and the CPUs of rows."""

from __future__ import annotations

from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.machine.topology_kinds import type_rank
from turbotui.quantities.scope import Scope


class RowLevel(Enum):
    """The level of a row; the value is the word of --per, except for regions, which come with their command."""

    MACHINE = "machine"
    PACKAGE = "package"
    KIND = "kind"
    CORE = "core"
    CPU = "cpu"
    THREAD = "thread"
    COMMAND = "command"
    REGION = "region"


MOVING: Final = (RowLevel.THREAD, RowLevel.COMMAND, RowLevel.REGION)
"""Levels of rows without CPUs of their own, because the scheduler moves them."""


@dataclass(frozen=True, slots=True)
class CpuSet:
    """The CPUs of a row, and its name."""

    level: RowLevel
    key: tuple[str, int]  # a key unique among all rows of all levels
    name: str  # the name for people
    cpus: tuple[int, ...]
    # package, core, cpu: sysfs's numbers; None if the row is coarser
    package: int | None = None
    core: int | None = None
    cpu: int | None = None
    kind: str = ""  # the core type "P", "E", "LP"; "" if there is one type
    # pid, tid: of a thread, which has no CPUs of its own; with a kind, the part of the thread on such cores
    pid: int | None = None
    tid: int | None = None

    @property
    def label(self) -> str:
        """The name; for a thread also its TID and core type, because many threads have the same name."""
        where = f" on {self.kind} cores" if self.kind else ""
        return self.name if self.tid is None else f"{self.name} {self.tid}{where}"


def places(topology: Topology, level: RowLevel) -> tuple[CpuSet, ...]:
    """Return the rows of one level, in topology order."""
    cpus = topology.cpus
    if level is RowLevel.MACHINE:
        return (CpuSet(level, ("machine", 0), "machine", cpus),)
    if level is RowLevel.PACKAGE:
        return tuple(CpuSet(level, ("package", instance.label), f"package {instance.label}", instance.cpus,
                            instance.label)
                     for instance in topology.instances(Scope.PACKAGE))
    if level is RowLevel.KIND:
        kinds = {cpu: topology.places[cpu].core_type or "" for cpu in cpus}
        return tuple(
            CpuSet(level, ("kind", at), f"{kind} cores" if kind else "all cores",
                   tuple(cpu for cpu in cpus if kinds[cpu] == kind), kind=kind)
            for at, kind in enumerate(sorted(set(kinds.values()), key=type_rank)))
    if level is RowLevel.CORE:
        return tuple(_core(topology, instance.cpus) for instance in topology.instances(Scope.CORE))
    if level is RowLevel.CPU:
        return tuple(CpuSet(level, ("cpu", cpu), f"cpu {cpu}", (cpu,), topology.places[cpu].label(Scope.PACKAGE),
                            topology.places[cpu].label(Scope.CORE), cpu, topology.places[cpu].core_type or "")
                     for cpu in cpus)
    return ()  # see MOVING


def _core(topology: Topology, cpus: tuple[int, ...]) -> CpuSet:
    place = topology.places[cpus[0]]
    package, core = place.label(Scope.PACKAGE), place.label(Scope.CORE)
    name = f"core {package}.{core}" if len(topology.instances(Scope.PACKAGE)) > 1 else f"core {core}"
    return CpuSet(RowLevel.CORE, ("core", cpus[0]), name, cpus, package, core, kind=place.core_type or "")
