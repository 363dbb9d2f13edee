"""Kinds of core on machines that have more than one: P, E and LP on x86, capacity classes on Arm and RISC-V."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.machine.host import Host
from turbotui.machine.topology_sysfs import CpuFacts, SysfsReader

_PMU_KINDS = {"cpu_core": "P", "cpu_atom": "E", "cpu_lowpower": "LP"}
"""Core PMUs of hybrid x86 machines; each lists its CPUs in /sys/devices/NAME/cpus (turbostat-spec 3.6)."""

TYPE_ORDER = ("P", "E", "LP", "big", "mid", "little")
"""Kinds, strongest first; classes c1, c2 ... come after them by number."""

_CLASS_NAMES = {2: ("big", "little"), 3: ("big", "mid", "little")}


def core_kinds(host: Host, facts: Mapping[int, CpuFacts]) -> dict[int, str]:
    """The kind of each CPU's core; empty on a machine with one kind."""
    return _pmu_kinds(host) or _capacity_kinds(facts)


def _pmu_kinds(host: Host) -> dict[int, str]:
    """Two PMU folders make a hybrid machine, even while all CPUs of one kind are offline and its list is empty."""
    read = SysfsReader(host)
    there = {kind: pmu for pmu, kind in _PMU_KINDS.items() if read.text(f"/sys/devices/{pmu}/cpus") is not None}
    if len(there) < 2:
        return {}
    return {cpu: kind for kind, pmu in there.items() for cpu in read.cpus(f"/sys/devices/{pmu}/cpus") or ()}


def _capacity_kinds(facts: Mapping[int, CpuFacts]) -> dict[int, str]:
    """Classes of cpu_capacity (kernel Documentation/scheduler/sched-capacity.rst), by descending capacity.

    Capacities also differ between cores of one kind whose top frequencies differ. With more than three of them, the
    part numbers of /proc/cpuinfo tell the kinds if there are two or three parts.
    """
    capacities = {cpu: fact.capacity for cpu, fact in facts.items() if fact.capacity > 0}
    classes: Mapping[int, object] = capacities
    if len(set(capacities.values())) > 3:
        parts = {cpu: facts[cpu].part for cpu in capacities}
        if len(set(parts.values())) in _CLASS_NAMES and all(parts.values()):
            classes = parts
    strongest: dict[object, int] = {}
    for cpu, capacity in capacities.items():
        strongest[classes[cpu]] = max(capacity, strongest.get(classes[cpu], 0))
    if len(strongest) < 2:
        return {}
    order = sorted(strongest, key=lambda one: -strongest[one])
    names = _CLASS_NAMES.get(len(order)) or tuple(f"c{number}" for number in range(1, len(order) + 1))
    name_of = dict(zip(order, names, strict=True))
    return {cpu: name_of[classes[cpu]] for cpu in capacities}
