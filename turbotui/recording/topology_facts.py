"""Topologies as JSON (docs/specs/journal.md 4.2)."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.machine.topology import CpuPlace, Key, Topology
from turbotui.machine.topology_kinds import CoreKinds, KindsAnswer
from turbotui.quantities.scope import Scope
from turbotui.recording.framing import DamagedError
from turbotui.recording.said import Said, whole

_NUMBERS = ("cpu", "package", "die", "l3", "node", "module", "core", "smt")
_MOST_CPUS = 1 << 16


def topology_facts(topology: Topology) -> dict[str, object]:
    """A topology as JSON has it."""
    kinds = topology.kinds
    keys = {
        scope.value: [topology.keys[scope][cpu] for cpu in topology.cpus] for scope in Scope
        if any(topology.keys[scope][cpu] != topology.places[cpu].key(scope) for cpu in topology.cpus)
    }
    return {
        "places": [
            {**{name: getattr(topology.places[cpu], name) for name in _NUMBERS}, "type": topology.places[cpu].core_type}
            for cpu in topology.cpus
        ],
        "keys": keys,
        "offline": topology.offline,
        "present": topology.present,
        "possible": topology.possible,
        "core_types": topology.core_types,
        "kinds": {"answer": kinds.answer.value, "of": {str(cpu): kind for cpu, kind in kinds.of.items()},
                  "by": kinds.by},
        "ids": {scope.value: sorted(ids) for scope, ids in topology.ids.items()},
        "nodes_together": topology.nodes_together,
        "notes": topology.notes,
        "chiplets": [[*key, name] for key, name in sorted(topology.chiplets.items())],
    }


def topology_from(said: Said) -> Topology:
    """The topology of `topology_facts`.

    Raises:
        DamagedError: it is none.
    """
    places: dict[int, CpuPlace] = {}
    for one in said["places"].items():
        kind = one.get("type")
        numbers = {name: one[name].integer() for name in _NUMBERS}
        places[numbers["cpu"]] = CpuPlace(**numbers, core_type=None if kind is None else kind.text())
    if not 0 < len(places) <= _MOST_CPUS:
        raise DamagedError(f"a recording of {len(places)} CPUs is not possible")
    kinds = said["kinds"]
    return Topology(
        cpus=tuple(places),
        places=places,
        keys={scope: _keys(said["keys"].get(scope.value), scope, places) for scope in Scope},
        offline=said["offline"].integers(),
        present=said["present"].integers(),
        possible=said["possible"].integers(),
        core_types=said["core_types"].texts(),
        kinds=CoreKinds(kinds["answer"].one_of(KindsAnswer),
                        {whole(cpu): kind.text() for cpu, kind in kinds["of"].entries().items()}, kinds["by"].text()),
        ids={Said(name, "topology.ids").one_of(Scope): frozenset(ids.integers())
             for name, ids in said["ids"].entries().items()},
        nodes_together=said["nodes_together"].integer(),
        notes=said["notes"].texts(),
        chiplets=_chiplets(said.get("chiplets")),
    )


def _chiplets(said: Said | None) -> Mapping[Key, str]:
    """Names of L3 caches; none in recordings of before."""
    found: dict[Key, str] = {}
    for one in () if said is None else said.items():
        parts = one.items()
        if not parts:
            raise DamagedError(f"{one.where} of the recording names no L3 cache")
        found[tuple(number.integer() for number in parts[:-1])] = parts[-1].text()
    return found


def _keys(said: Said | None, scope: Scope, places: Mapping[int, CpuPlace]) -> Mapping[int, Key]:
    if said is None:
        return {cpu: place.key(scope) for cpu, place in places.items()}
    keys = [one.integers() for one in said.items()]
    if len(keys) != len(places):
        raise DamagedError(f"{said.where} of the recording names {len(keys)} of {len(places)} CPUs")
    return dict(zip(places, keys, strict=True))

