"""The topology: all CPUs, the measured ones, and the core, die, node and package of each.

Row keys by scope: CPU (cpu,), CORE (package, die, core_id), MODULE (package, die, cluster_id), L3 (package, die,
cache id), DIE (package, die), NODE (node,), PACKAGE (package,), SYSTEM (). On a machine that gives two instances of a
scope the same ids, one more number, the lowest CPU, is appended to every key of that scope.

On AMD, cores that share an L3 are a core complex (CCX); a core die (CCD) contains one or, on Zen 2 and Zen 4c, two of
them (AMD PPR of families 17h, 19h and 1Ah, "core complex die"; rows of `data/amd.toml`). Kernels from 6.9 on report
CCDs as dies if CPUID leaf 8000_0026h describes them (Documentation/arch/x86/topology.rst). Before, the numbers of L3
caches identify them: these are APIC numbers without their lowest bits (arch/x86/kernel/cpu/cacheinfo.c), so two
complexes of a CCD have adjacent ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, UsageError
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel, read_cpu_model
from turbotui.machine.host import Host
from turbotui.machine.processors import amd_processor
from turbotui.machine.topology_groups import Groups, all_groups, distinct, grouping_notes, unique_keys
from turbotui.machine.topology_kinds import CoreKinds, KindsAnswer, core_kinds, type_rank
from turbotui.machine.topology_sysfs import CPUS, UNSAID, CpuFacts, OnlineCpus, read_facts
from turbotui.quantities.by_key import lists_by_key, sets_by_key
from turbotui.quantities.scope import RowId, Scope

Key: TypeAlias = tuple[int, ...]
"""The key of a `RowId`."""
_LABELS: Final = {Scope.CPU: "cpu", Scope.CORE: "core", Scope.MODULE: "module", Scope.L3: "l3", Scope.DIE: "die",
                  Scope.NODE: "node", Scope.PACKAGE: "package"}


@dataclass(frozen=True, slots=True)
class CpuPlace:
    """The position of one CPU, in sysfs's ids; -1 for unknown ones."""

    cpu: int  # Linux logical CPU number
    package: int  # topology/physical_package_id
    die: int  # topology/die_id; AMD numbers dies over the whole machine, Intel per package
    l3: int  # cache/indexN/id of the level 3 cache, or its lowest online CPU if caches have no id
    node: int  # NUMA node
    module: int  # topology/cluster_id
    core: int  # topology/core_id; repeats in every package and may be sparse
    core_type: str | None = None  # "P", "E", "LP", an Arm capacity class, or None on machines with one core type
    smt: int = 0  # index among the online CPUs of its core, from 0

    def label(self, scope: Scope) -> int:
        """Return sysfs's id of the instance of `scope` that contains this CPU; -1 if none, and for SYSTEM."""
        if scope is Scope.SYSTEM:
            return -1
        label: int = getattr(self, _LABELS[scope])
        return label

    def key(self, scope: Scope) -> Key:
        """Return the row key by ids alone; the module's docstring has the layout of each scope."""
        if scope is Scope.SYSTEM:
            return ()
        if scope in (Scope.CORE, Scope.MODULE, Scope.L3):
            return (self.package, self.die, self.label(scope))
        if scope is Scope.DIE:
            return (self.package, self.die)
        return (self.label(scope),)


@dataclass(frozen=True, slots=True)
class Instance:
    """One core, die, package ...: its row, its id in sysfs, and its measured CPUs in topology order."""

    row: RowId
    label: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Level:
    """The instances of one scope and the position of the instance that holds each CPU."""

    instances: tuple[Instance, ...]
    rows: tuple[RowId, ...]
    positions: Mapping[int, int]
    by_key: Mapping[Key, int]


@dataclass(frozen=True)
class Topology:
    """The machine's measured CPUs; two topologies are equal if their facts are."""

    # measured CPUs in print order: ascending, SMT siblings directly after their first sibling
    # (docs/specs/turbostat.md 6.3)
    cpus: tuple[int, ...]
    places: Mapping[int, CpuPlace]  # the position of each measured CPU
    keys: Mapping[Scope, Mapping[int, Key]]  # for each scope, the row key of each measured CPU
    offline: tuple[int, ...] = ()  # present CPUs that are not online, ascending
    present: tuple[int, ...] = ()  # CPUs that are plugged in, ascending
    possible: tuple[int, ...] = ()  # CPUs that the kernel could ever bring up, ascending
    core_types: tuple[str, ...] = ()  # the core types of the measured CPUs, strongest first; empty if none are known
    # whether the machine has several core types, measured or not, and the evidence
    kinds: CoreKinds = field(default_factory=CoreKinds)
    # for each scope, the ids of the machine's online CPUs, measured or not
    ids: Mapping[Scope, frozenset[int]] = field(default_factory=dict)
    nodes_together: int = 1  # the most NUMA nodes of one package, measured or not
    notes: tuple[str, ...] = ()  # sentences about unknown facts, and what was assumed instead
    # names of L3 caches by row key, "CCD 3", if they have names
    chiplets: Mapping[Key, str] = field(default_factory=dict)
    _levels: Mapping[Scope, _Level] = field(init=False, repr=False, compare=False)
    _parts: dict[tuple[Scope, Scope], Mapping[Key, tuple[int, ...]]] = field(init=False, repr=False, compare=False)
    _readers: dict[tuple[Scope, tuple[int, ...]], tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index every scope once, so that all later queries are dictionary lookups."""
        object.__setattr__(self, "_levels", {scope: self._level(scope) for scope in Scope})
        object.__setattr__(self, "_parts", {})
        object.__setattr__(self, "_readers", {})

    def _level(self, scope: Scope) -> _Level:
        keys = self.keys[scope]
        instances = tuple(Instance(RowId(scope, key), self.places[cpus[0]].label(scope), tuple(cpus))
                          for key, cpus in lists_by_key((keys[cpu], cpu) for cpu in self.cpus).items())
        by_key = {instance.row.key: position for position, instance in enumerate(instances)}
        rows = tuple(instance.row for instance in instances)
        return _Level(instances, rows, {cpu: by_key[keys[cpu]] for cpu in self.cpus}, by_key)

    def instances(self, scope: Scope) -> tuple[Instance, ...]:
        """Return all instances of a scope, in the order of their first CPU.

        Every CPU has a row at every scope: missing modules are cores, missing L3s dies, missing dies packages; see
        `varies` for whether a level is real and worth a column.
        """
        return self._levels[scope].instances

    def rows(self, scope: Scope) -> tuple[RowId, ...]:
        """Return the rows of all instances of a scope, in the same order; always the same tuple."""
        return self._levels[scope].rows

    def index(self, scope: Scope, cpu: int) -> int:
        """Return the position in `instances(scope)` of the instance that contains a measured CPU.

        Raises:
            KeyError: the CPU is not measured.
        """
        return self._levels[scope].positions[cpu]

    def row(self, scope: Scope, cpu: int) -> RowId:
        """Return the row of the instance of `scope` that contains a measured CPU.

        Raises:
            KeyError: the CPU is not measured.
        """
        level = self._levels[scope]
        return level.instances[level.positions[cpu]].row

    def instance(self, row: RowId) -> Instance | None:
        """Return the instance with this row id; None if it does not exist (any more)."""
        level = self._levels[row.scope]
        position = level.by_key.get(row.key)
        return None if position is None else level.instances[position]

    def parts(self, outer: RowId, scope: Scope) -> tuple[int, ...]:
        """Return the positions of the instances of `scope` inside `outer`, ascending; empty without `outer`."""
        cached = self._parts.get((outer.scope, scope))
        if cached is None:  # for all rows at once: a search for each of a thousand cores takes seconds
            keys = self.keys[outer.scope]
            # where its first CPU is, so that nothing is counted twice if levels do not nest
            inside = lists_by_key((keys[part.cpus[0]], at) for at, part in enumerate(self._levels[scope].instances))
            cached = self._parts[outer.scope, scope] = {key: tuple(cpus) for key, cpus in inside.items()}
        return cached.get(outer.key, ())

    def places_in(self, scope: Scope) -> tuple[int, ...]:
        """Return the position in `instances(scope)` of each CPU's instance, in the order of `cpus`."""
        return tuple(self._levels[scope].positions.values())

    def readers(self, scope: Scope, named: tuple[int, ...]) -> tuple[int, ...]:
        """Return the CPU that reads for each instance of a scope: one of those named, else the first."""
        cached = self._readers.get((scope, named))
        # asked for each cell
        if cached is None:
            allowed = frozenset(named)
            cached = self._readers[scope, named] = tuple(next((cpu for cpu in instance.cpus if cpu in allowed),
                instance.cpus[0]) for instance in self._levels[scope].instances)
        return cached

    @property
    def restricted(self) -> frozenset[int] | None:
        """The measured CPUs, if they are not all that are online; None if they are."""
        measured = frozenset(self.cpus)
        return measured if self.ids.get(Scope.CPU, measured) - measured else None

    def online(self, scope: Scope) -> int:
        """Return the number of the machine's packages, nodes or CPUs that are online, measured or not."""
        return max(len(self.ids.get(scope, ())), len(self.instances(scope)))

    def varies(self, scope: Scope) -> bool:
        """Tell whether the measured CPUs have more than one id of this kind."""
        return len({instance.label for instance in self.instances(scope) if instance.label >= 0}) > 1

    def has_several(self, scope: Scope) -> bool:
        """Tell whether the machine has more than one id of this kind, measured or not, and so is worth a column."""
        return len(self.ids.get(scope, ())) > 1


def topology_of(
    places: Iterable[CpuPlace],
    *,
    keys: Mapping[Scope, Mapping[int, Key]] | None = None,
    offline: Sequence[int] = (),
    present: Sequence[int] | None = None,
    possible: Sequence[int] | None = None,
    kinds: CoreKinds | None = None,
    everywhere: Iterable[CpuPlace] | None = None,
    notes: Sequence[str] = (),
    chiplets: Mapping[Key, str] | None = None,
) -> Topology:
    """Order the measured CPUs and build their topology.

    Args:
        keys: row keys if the ids alone do not identify instances; None for `CpuPlace.key`.
        offline: present CPUs that are not online.
        present: the present CPUs; None for the measured and the offline ones.
        possible: the possible CPUs; None for the present ones.
        kinds: the core types; None for those of `places`.
        everywhere: the positions of all online CPUs; None for `places`.
    """
    by_cpu = {place.cpu: place for place in sorted(places, key=lambda place: place.cpu)}
    if keys is None:
        keys = {scope: {cpu: place.key(scope) for cpu, place in by_cpu.items()} for scope in Scope}
    cores = lists_by_key((keys[Scope.CORE][cpu], cpu) for cpu in by_cpu)
    if present is None:
        present = sorted({*by_cpu, *offline})
    online = tuple(by_cpu.values() if everywhere is None else everywhere)
    nodes = sets_by_key((place.package, place.node) for place in online)
    own = {cpu: place.core_type for cpu, place in by_cpu.items() if place.core_type is not None}
    if kinds is None:
        kinds = CoreKinds(KindsAnswer.SEVERAL, own, "what was given") if own else CoreKinds(KindsAnswer.ONE)
    return Topology(
        cpus=tuple(cpu for siblings in cores.values() for cpu in siblings),
        places=MappingProxyType(by_cpu),
        keys=keys,
        offline=tuple(offline),
        present=tuple(present),
        possible=tuple(present if possible is None else possible),
        core_types=tuple(sorted(set(own.values()), key=type_rank)),
        kinds=kinds,
        ids={scope: frozenset(label for place in online if (label := place.label(scope)) >= 0) for scope in Scope},
        nodes_together=max(map(len, nodes.values()), default=1),
        notes=tuple(notes),
        chiplets=chiplets or {},
    )


def read_topology(host: Host, cpus: frozenset[int] | None, model: CpuModel | None = None) -> Topology:
    """Read the topology of a machine; missing or odd files do not fail, but are noted in `Topology.notes`.

    Args:
        cpus: the CPUs to measure; None for every online CPU that this process may use.
        model: the processor's model; None to read /proc/cpuinfo.

    Raises:
        MachineError: no CPU can be found.
        UsageError: a CPU of `cpus` does not exist, is offline or may not be used by this process.
    """
    facts = read_facts(host)
    if not facts.cpus:
        raise MachineError(
            f"no CPU can be found on {host.name}: {CPUS}/online, /proc/stat and /proc/cpuinfo name none; "
            "mount /sys and /proc")
    measured = _measured(host, facts, cpus)
    groups = all_groups(facts.cpus)
    model = read_cpu_model(host) if model is None else model
    kinds = core_kinds(host, facts.cpus, model)
    thread = {cpu: at for core in distinct(groups[Scope.CORE]) for at, cpu in enumerate(core)}
    places = {cpu: _place(fact, groups, kinds.of.get(cpu), thread[cpu]) for cpu, fact in facts.cpus.items()}
    keys: dict[Scope, Mapping[int, Key]] = {}
    for scope in Scope:
        of_ids = {cpu: place.key(scope) for cpu, place in places.items()}
        keys[scope] = unique_keys(groups[scope], of_ids, alone=scope in (Scope.CORE, Scope.MODULE))
    return topology_of(
        [places[cpu] for cpu in measured],
        keys={scope: {cpu: of_scope[cpu] for cpu in measured} for scope, of_scope in keys.items()},
        offline=sorted(facts.present - facts.cpus.keys()),
        present=sorted(facts.present),
        possible=sorted(facts.possible),
        kinds=kinds,
        everywhere=places.values(),
        notes=(*facts.notes, *grouping_notes(facts.cpus, groups)),
        chiplets=chiplet_names(places.values(), model),
    )


def _measured(host: Host, facts: OnlineCpus, wanted: frozenset[int] | None) -> list[int]:
    """Return the CPUs to measure: online, usable by this process, and wanted (docs/specs/turbostat.md 6.2)."""
    online = facts.cpus.keys()
    usable = host.usable_cpus()
    allowed = online if usable is None else online & usable
    if not allowed:
        raise MachineError(
            f"this process may use none of the online CPUs {format_cpulist(online)}; give it some with taskset, "
            "or change its cpuset")
    for cpu in sorted(wanted or ()):
        if cpu not in facts.present and cpu not in online:
            raise UsageError(f"CPU {cpu} is not there: this machine has CPUs {format_cpulist(facts.present)}")
        if cpu not in online:
            raise UsageError(f"CPU {cpu} is offline; bring it up with: echo 1 > {CPUS}/cpu{cpu}/online")
        if cpu not in allowed:
            raise UsageError(
                f"CPU {cpu} is outside the CPUs this process may use ({format_cpulist(allowed)}); change its affinity "
                "with taskset, or its cpuset")
    if wanted is not None and not wanted:
        raise UsageError("no CPU was named to be measured; name some, or leave the choice of CPUs out")
    return sorted(allowed if wanted is None else wanted)


def _place(fact: CpuFacts, groups: Mapping[Scope, Groups], kind: str | None, smt: int) -> CpuPlace:
    l3 = fact.l3
    if fact.has_l3 and l3 == UNSAID:
        l3 = groups[Scope.L3][fact.cpu][0]
    return CpuPlace(cpu=fact.cpu, package=fact.package, die=fact.die, l3=l3, node=fact.node, module=fact.module,
                    core=fact.core, core_type=kind, smt=smt)


class L3Place(Protocol):
    """The place of a CPU among chiplets; numbers below 0 are unknown."""

    @property
    def package(self) -> int:
        """Number of its package."""

    @property
    def die(self) -> int:
        """Number of its die."""

    @property
    def l3(self) -> int:
        """Number of its L3 cache."""


def chiplet_names(places: Iterable[L3Place], model: CpuModel) -> Mapping[tuple[int, ...], str]:
    """Names of L3 caches by package, die and number: "CCD 3", "CCD 3 CCX 1"; CCDs are numbered in each package.

    Args:
        places: of all online CPUs.
        model: of the processor; caches of a virtual machine get no names, because its host made them up.
    """
    complexes = _complexes(model)
    caches = {(place.package, place.die, place.l3) for place in places}
    if not complexes or len(caches) < 2 or any(l3 < 0 for _, _, l3 in caches):
        return {}
    names: dict[tuple[int, ...], str] = {}
    for package in {package for package, _, _ in caches}:
        package_caches = sorted(cache for cache in caches if cache[0] == package)
        by_die = len({die for _, die, _ in package_caches}) > 1
        dies = lists_by_key((cache[1] if by_die else cache[2] // complexes, cache)
                            for cache in sorted(package_caches, key=lambda cache: cache[2]))
        for number, parts in enumerate(dies.values()):
            for at, cache in enumerate(parts):
                inside = at if by_die else cache[2] % complexes
                names[cache] = f"CCD {number}" if complexes == 1 else f"CCD {number} CCX {inside}"
    return names


def _complexes(model: CpuModel) -> int:
    """Complexes in a CCD; 0 if the processor has none or the number is unknown."""
    if model.vendor not in AMD_VENDORS or model.family is None or model.model is None or model.hypervisor:
        return 0
    row = amd_processor(model.vendor, model.family, model.model)
    return 0 if row is None else row.complexes
