"""Groups CPUs by shared core, module, L3, die and package, from the ids and masks of each CPU.

Masks are physical facts and take precedence over ids, which repeat, are missing, or mean something else on some
machines (s390 numbers sockets per book and has no package id; old Arm kernels have masks but no ids of dies).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.topology_sysfs import UNSAID, CpuFacts, Mask
from turbotui.quantities.by_key import lists_by_key, sets_by_key
from turbotui.quantities.scope import Scope

Group = tuple[int, ...]
Groups = Mapping[int, Group]
"""For every CPU, the ascending CPUs that it shares something with, itself included; one tuple for each group.

Groups are identified by their first CPU, because a tuple of thousands is hashed again each time it is a key.
"""

Key = tuple[int, ...]


class _Union:
    def __init__(self, cpus: Iterable[int]) -> None:
        self._parent = {cpu: cpu for cpu in cpus}

    def find(self, cpu: int) -> int:
        root = cpu
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[cpu] != root:
            self._parent[cpu], cpu = root, self._parent[cpu]
        return root

    def join(self, first: int, second: int) -> None:
        roots = sorted((self.find(first), self.find(second)))
        self._parent[roots[1]] = roots[0]

    def groups(self) -> Groups:
        members = lists_by_key((self.find(cpu), cpu) for cpu in sorted(self._parent))
        return {cpu: group for group in map(tuple, members.values()) for cpu in group}


def distinct(groups: Groups) -> Iterable[Group]:
    """Return the groups without repetitions."""
    return {group[0]: group for group in groups.values()}.values()


def share(masks: Mapping[int, Mask], ids: Mapping[int, Hashable | None], *,
          within: Callable[[int, int], bool] | None = None) -> Groups:
    """Return the sets of CPUs that share one thing.

    CPUs of one mask share it if `within` allows. A CPU without a mask, or outside its own mask, shares it with the
    first CPU of its id that has a mask, else with all of its id; without an id, it is alone.

    Args:
        masks: the mask of each CPU; CPUs without a key (offline) are left out.
        ids: the id of the thing on the whole machine; None if unknown.
        within: whether the second CPU may be joined to the first.
    """
    masks = {cpu: mask if mask is not None and cpu in mask else None for cpu, mask in masks.items()}
    union = _Union(masks)
    seen: set[tuple[frozenset[int], Hashable | None]] = set()
    first_of_id: dict[Hashable, int] = {}
    for cpu in sorted(masks):
        mask, label = masks[cpu], ids[cpu]
        if mask is None:
            continue
        if label is not None:
            first_of_id.setdefault(label, cpu)
        if (mask, label) in seen:
            continue  # already known from another CPU of the same set
        seen.add((mask, label))
        for other in mask:
            if other in masks and (within is None or within(cpu, other)):
                union.join(cpu, other)
    for cpu in sorted(masks):
        label = ids[cpu]
        if masks[cpu] is None and label is not None:
            union.join(first_of_id.setdefault(label, cpu), cpu)
    return union.groups()


def package_groups(facts: Mapping[int, CpuFacts]) -> Groups:
    """Group packages: masks inside equal ids (a mask may span chips, as POWER's node does); else all are one."""
    ids = {cpu: (fact.drawer, fact.book, fact.package) for cpu, fact in facts.items()}
    labels = {label for label in ids.values() if label[-1] != UNSAID}
    if len(labels) == 1:  # a CPU without facts can only be in the only package
        ids = {cpu: min(labels) if label[-1] == UNSAID else label for cpu, label in ids.items()}

    def same_or_unsaid(first: int, second: int) -> bool:
        first_ids, two = ids[first], ids[second]
        return first_ids == two or first_ids[-1] == UNSAID or two[-1] == UNSAID

    return share({cpu: fact.package_mask for cpu, fact in facts.items()}, ids, within=same_or_unsaid)


def die_groups(facts: Mapping[int, CpuFacts], packages: Groups) -> Groups:
    """Group dies, only by ids: kernels without dies have -1 and a mask of each CPU alone (arm64)."""
    ids = {cpu: (packages[cpu][0], fact.die) for cpu, fact in facts.items()}
    masks = {cpu: fact.die_mask if fact.die != UNSAID else None for cpu, fact in facts.items()}
    return share(masks, ids, within=lambda first, second: ids[first] == ids[second])


def core_groups(facts: Mapping[int, CpuFacts], dies: Groups) -> Groups:
    """Group cores: SMT siblings by mask, else by id within the die; a CPU without both is a core of its own."""
    ids = {cpu: None if fact.core == UNSAID else (dies[cpu][0], fact.core) for cpu, fact in facts.items()}
    return share({cpu: fact.core_mask for cpu, fact in facts.items()}, ids)


def module_groups(facts: Mapping[int, CpuFacts], dies: Groups, cores: Groups) -> Groups:
    """Group modules (clusters), only by ids; otherwise a module is a core."""
    ids: dict[int, Hashable | None] = {}
    masks: dict[int, Mask] = {}
    for cpu, fact in facts.items():
        unsaid = fact.module == UNSAID
        ids[cpu] = None if unsaid else (dies[cpu][0], fact.module)
        masks[cpu] = frozenset(cores[cpu]) if unsaid else fact.module_mask
    return share(masks, ids)


def l3_groups(facts: Mapping[int, CpuFacts], packages: Groups, dies: Groups) -> Groups:
    """Group L3 caches by mask, else by id within the package; CPUs without one are grouped by die."""
    ids: dict[int, Hashable | None] = {}
    for cpu, fact in facts.items():
        if not fact.has_l3:
            ids[cpu] = ("none", dies[cpu][0])
        elif fact.l3 != UNSAID:
            ids[cpu] = ("id", packages[cpu][0], fact.l3)
        else:
            ids[cpu] = ("die", dies[cpu][0])
    return share({cpu: fact.l3_mask if fact.has_l3 else None for cpu, fact in facts.items()}, ids)


def unique_keys(groups: Groups, base: Mapping[int, Key], *, alone: bool) -> dict[int, Key]:
    """Return one key for each group: its first CPU's ids, with its lowest CPU if ids are not unique.

    Args:
        alone: whether a CPU without an id is a group of its own (cores), whose key then has the CPU from the start, and
            stays when another one comes online.
    """
    holders = lists_by_key((base[group[0]], group) for group in distinct(groups))
    # All keys or none are extended; otherwise one of two equals would be renamed when the other goes offline.
    collide = any(len(same) > 1 for same in holders.values())
    keys: dict[int, Key] = {}
    for key, same in holders.items():
        for group in same:
            own = (*key, group[0]) if collide or (alone and key[-1] == UNSAID) else key
            keys.update(dict.fromkeys(group, own))
    return keys


def all_groups(facts: Mapping[int, CpuFacts]) -> dict[Scope, Groups]:
    """Return the sets of CPUs of every scope."""
    packages = package_groups(facts)
    dies = die_groups(facts, packages)
    cores = core_groups(facts, dies)
    return {
        Scope.CPU: {cpu: (cpu,) for cpu in facts},
        Scope.CORE: cores,
        Scope.MODULE: module_groups(facts, dies, cores),
        Scope.L3: l3_groups(facts, packages, dies),
        Scope.DIE: dies,
        Scope.NODE: share(dict.fromkeys(facts), {cpu: fact.node for cpu, fact in facts.items()}),
        Scope.PACKAGE: packages,
        Scope.SYSTEM: dict.fromkeys(facts, tuple(sorted(facts))),
    }


def grouping_notes(facts: Mapping[int, CpuFacts], groups: Mapping[Scope, Groups]) -> list[str]:
    """Return notes on missing or contradictory topology files, and what was assumed instead."""
    notes = []
    silent = [cpu for cpu, fact in facts.items() if fact.package == UNSAID]
    if silent:
        how = "what sibling masks say" if all(facts[cpu].package_mask for cpu in silent) else "one package"
        notes.append(f"no package id for CPUs {format_cpulist(silent)}; {how} was taken instead")
    silent = [cpu for cpu, fact in facts.items() if fact.core == UNSAID]
    if silent:
        how = "what sibling masks say" if all(facts[cpu].core_mask for cpu in silent) else "a core for each"
        notes.append(f"no core id for CPUs {format_cpulist(silent)}; {how} was taken instead")
    by_id = sets_by_key(((groups[Scope.DIE][cpu][0], fact.core), groups[Scope.CORE][cpu][0])
                        for cpu, fact in facts.items() if fact.core != UNSAID)
    if any(len(cores) > 1 for cores in by_id.values()):
        notes.append("core ids repeat where sibling masks tell the cores apart; the masks were believed")
    if not any(fact.has_l3 for fact in facts.values()):
        notes.append("no level 3 cache is described; L3 rows are dies")
    elif any(fact.has_l3 and fact.l3 == UNSAID for fact in facts.values()):
        notes.append("level 3 caches have no ids; each is named after its lowest CPU")
    return notes
