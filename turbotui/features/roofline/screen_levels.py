"""The levels of points on the roofline screen, and their names."""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope


@dataclass(frozen=True, slots=True)
class Level:
    """A level of points: rows of a scope, or threads without a scope."""

    word: str
    scope: Scope | None


def levels_of(topology: Topology) -> tuple[Level, ...]:
    """Return the distinct levels of this machine, the finest first."""
    found = [Level("CPUs", Scope.CPU)] if len(topology.instances(Scope.CORE)) < len(topology.cpus) else []
    found.append(Level("cores", Scope.CORE))
    if topology.varies(Scope.PACKAGE):
        found.append(Level("packages", Scope.PACKAGE))
    return (*found, Level("whole machine", Scope.SYSTEM), Level("tasks", None))


def name_of(topology: Topology, row: RowId) -> str:
    """Name a row for people; a core has its package if there are several."""
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
