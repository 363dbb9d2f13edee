"""The levels of metrics: those that a machine has, their instances, and the instances' labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope


@dataclass(frozen=True, slots=True)
class MetricLevel:
    """A level of metrics, whose word is part of their names."""

    word: str  # "machine", "package", "l3"; also the name of the label that tells instances apart
    scope: Scope | None  # the scope of the topology; None for core types, which cut across the topology

    def named(self, label: str) -> dict[str, str]:
        """Return the label of an instance; none for the machine."""
        return {self.word: label} if label else {}

    def holds(self, scope: Scope) -> bool:
        """Tell whether each instance of a scope lies within one instance of this level, so that counters add up."""
        if self.scope is None:
            return scope.rank <= Scope.MODULE.rank
        return scope.rank <= self.scope.rank


MACHINE: Final = MetricLevel("machine", Scope.SYSTEM)
PACKAGE: Final = MetricLevel("package", Scope.PACKAGE)
CORE_TYPE: Final = MetricLevel("core_type", None)
DIE: Final = MetricLevel("die", Scope.DIE)
L3: Final = MetricLevel("l3", Scope.L3)
CORE: Final = MetricLevel("core", Scope.CORE)
CPU: Final = MetricLevel("cpu", Scope.CPU)

USUAL: Final = (MACHINE, PACKAGE, CORE_TYPE, DIE, L3)
"""The levels that are exported by default, if a machine has them."""
ON_REQUEST: Final = {"core": (CORE,), "cpu": (CORE, CPU)}
"""The levels that --per adds."""


class LevelPlaces:
    """The instances of a topology in each wanted level that it has, computed once for a topology."""

    def __init__(self, topology: Topology, levels: Sequence[MetricLevel]) -> None:
        self.topology = topology
        self.levels = tuple(level for level in levels if _is_there(topology, level))
        self._keys = {level.word: _keys(topology, level) for level in self.levels}
        self._labels = {level.word: _labels(topology, level) for level in self.levels}
        self._parts: dict[tuple[str, Scope], dict[Hashable, list[int]]] = {}

    def labels(self, level: MetricLevel) -> Mapping[Hashable, str]:
        """Return the label of each instance of a level, by its key; "" for the machine."""
        return self._labels[level.word]

    def parts(self, level: MetricLevel, scope: Scope) -> Mapping[Hashable, Sequence[int]]:
        """Return the positions of a finer scope's instances in each instance of the level."""
        parts = self._parts.get((level.word, scope))
        if parts is None:
            parts = self._parts[level.word, scope] = {}
            keys = self._keys[level.word]
            for at, instance in enumerate(self.topology.instances(scope)):
                if instance.cpus[0] in keys:
                    parts.setdefault(keys[instance.cpus[0]], []).append(at)
        return parts

    def cpus(self, level: MetricLevel) -> Mapping[Hashable, int]:
        """Return the number of measured CPUs in each instance of a level."""
        return Counter(self._keys[level.word].values())


def _is_there(topology: Topology, level: MetricLevel) -> bool:
    if level.scope is None:
        return len(topology.core_types) > 1
    if level.scope in {Scope.DIE, Scope.L3}:
        finer = len(topology.instances(level.scope)) > len(topology.instances(Scope.PACKAGE))
        return finer and topology.has_several(level.scope)
    return True


def _keys(topology: Topology, level: MetricLevel) -> dict[int, Hashable]:
    """Return the key of the instance that contains each CPU."""
    if level.scope is None:
        kinds = {cpu: place.core_type for cpu, place in topology.places.items()}
        return {cpu: kind for cpu, kind in kinds.items() if kind is not None}
    return {cpu: topology.row(level.scope, cpu) for cpu in topology.cpus}


def _labels(topology: Topology, level: MetricLevel) -> dict[Hashable, str]:
    if level.scope is None:
        return {kind: kind for kind in topology.core_types}
    if level.scope is Scope.SYSTEM:
        return dict.fromkeys(topology.rows(Scope.SYSTEM), "")
    return dict(row_labels(topology, level.scope).items())


def row_labels(topology: Topology, scope: Scope) -> Mapping[RowId, str]:
    """Return the labels of a scope's instances: the id in sysfs, or all numbers of the key if ids repeat."""
    instances = topology.instances(scope)
    ids = [instance.label for instance in instances]
    alone = len(set(ids)) == len(ids) and min(ids, default=0) >= 0
    return {instance.row: str(instance.label) if alone else ".".join(map(str, instance.row.key))
            for instance in instances}


def cpu_places(topology: Topology) -> Sequence[Mapping[str, str]]:
    """Return the labels of `turbotui_cpu_info`: for each CPU, the instances that contain it."""
    scopes = (Scope.CORE, Scope.DIE, Scope.PACKAGE, Scope.L3, Scope.NODE)
    names = {scope: row_labels(topology, scope) for scope in scopes}
    return [{"cpu": str(cpu), **{scope.value: names[scope][topology.row(scope, cpu)] for scope in scopes},
             "core_type": (topology.places[cpu].core_type or "")} for cpu in topology.cpus]
