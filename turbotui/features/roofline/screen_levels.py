"""What a point of the roofline screen stands for, and what it is called."""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope


@dataclass(frozen=True, slots=True)
class Level:
    """What a point stands for: rows of a scope, or, without one, threads."""

    word: str
    scope: Scope | None


def levels_of(topology: Topology) -> tuple[Level, ...]:
    """The levels that differ on this machine, the finest first."""
    found = [Level("CPUs", Scope.CPU)] if len(topology.instances(Scope.CORE)) < len(topology.cpus) else []
    found.append(Level("cores", Scope.CORE))
    if topology.varies(Scope.PACKAGE):
        found.append(Level("packages", Scope.PACKAGE))
    return (*found, Level("whole machine", Scope.SYSTEM), Level("tasks", None))


def name_of(topology: Topology, row: RowId) -> str:
    """A row for people; a core with its package where there are several."""
    if row.scope is Scope.SYSTEM:
        return "machine"
    instance = topology.instance(row)
    if instance is None or not instance.cpus:
        return str(row.scope.value)
    if row.scope is Scope.CPU:
        return f"cpu {instance.cpus[0]}"
    if row.scope is Scope.CORE and topology.varies(Scope.PACKAGE):
        package = topology.instance(topology.row(Scope.PACKAGE, instance.cpus[0]))
        return f"package {'?' if package is None else package.label} core {instance.label}"
    return f"{row.scope.value} {instance.label}"
