"""The plan: which CPU reads which signals from which source, within the limit on file descriptors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import sets_by_key
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.source import Source

_COMPARED = ("perf-msr", "perf-cstate", "msr")
"""Sources whose counters are divided by each other (busy time, clock, idle states); nothing is read between them."""

_SPARE_DESCRIPTORS = 64  # for the terminal, the interpreter, Textual and files that are open for a moment


@dataclass(frozen=True, slots=True)
class Task:
    """One source's readings on one CPU."""

    source: Source
    cpu: int
    wanted: frozenset[SignalId]


@dataclass(frozen=True, slots=True)
class Plan:
    """The signals that each CPU reads, by source, and the files that cover all CPUs."""

    # CPU -> its tasks in source order; every measured CPU has an entry, so that each has a worker
    tasks: Mapping[int, tuple[Task, ...]]
    # sources that read all CPUs at once, with the wanted signals
    shared: tuple[tuple[Source, frozenset[SignalId]], ...]
    dropped: Mapping[SignalId, Unavailable]  # signals that had to be given up, with reasons
    descriptors: int  # number of descriptors that stay open

    def signals(self) -> frozenset[SignalId]:
        """Every signal that is read."""
        return frozenset().union(*(wanted for _source, wanted in self.shared),
                                 *(task.wanted for tasks in self.tasks.values() for task in tasks))


def reading_cpus(signal: Signal, topology: Topology) -> tuple[int, ...]:
    """The CPU that reads each instance of a signal: one of its PMU's cpumask, else the instance's first CPU."""
    if signal.scope is Scope.SYSTEM and len(signal.readers) == 1 and signal.readers[0] in topology.places:
        return signal.readers  # one of many counters of its kind: not searched for among a thousand CPUs
    return topology.readers(signal.scope, signal.readers)


def make_plan(machine: Machine, capabilities: Capabilities, wanted: frozenset[SignalId]) -> Plan:
    """Assign every wanted signal to the CPUs that read it.

    Signals are assigned in source order until the descriptors run out; the rest is dropped with a reason. Not every
    user can raise the hard RLIMIT_NOFILE, so the limit is respected as it is.
    """
    topology = machine.topology
    budget = max(0, machine.privileges.most_descriptors - _SPARE_DESCRIPTORS)
    tasks: dict[int, list[Task]] = {cpu: [] for cpu in topology.cpus}
    shared: list[tuple[Source, frozenset[SignalId]]] = []
    dropped: dict[SignalId, Unavailable] = {}
    used = 0
    alike: dict[frozenset[SignalId], frozenset[SignalId]] = {}  # a thousand CPUs want the same: one set for all
    by_source = sets_by_key((capabilities.provider[name].id, name) for name in wanted if name in capabilities.signals
                            and capabilities.signals[name].behavior is not Behavior.CONSTANT)
    for source in capabilities.sources:
        if not (signals := frozenset(by_source.get(source.id, ()))):
            continue
        if source.shared:
            shared.append((source, signals))
            used += source.descriptors(signals, 1)
            continue
        by_cpu = sets_by_key((cpu, name) for name in signals
                             for cpu in reading_cpus(capabilities.signals[name], topology)
                             if cpu not in capabilities.signals[name].absent)
        need = sum(source.descriptors(frozenset(names), 1) for names in by_cpu.values())
        if used + need > budget:
            dropped.update(dict.fromkeys(signals, _too_many(source, need, used, budget)))
            continue
        used += need
        for cpu, names in by_cpu.items():
            chosen = frozenset(names)
            tasks[cpu].append(Task(source, cpu, alike.setdefault(chosen, chosen)))
    rank = _reading_order(capabilities.sources)
    in_order = {cpu: tuple(sorted(items, key=lambda task: rank[task.source.id])) for cpu, items in tasks.items()}
    return Plan(in_order, tuple(shared), dropped, used)


def _reading_order(sources: Sequence[Source]) -> Mapping[str, tuple[int, int]]:
    """The order in which a CPU reads its sources: as listed, with sources that are compared next to each other."""
    places = {source.id: number for number, source in enumerate(sources)}
    first = min((places[name] for name in _COMPARED if name in places), default=0)
    return {name: (first if name in _COMPARED else number, number) for name, number in places.items()}


def _too_many(source: Source, need: int, used: int, budget: int) -> Unavailable:
    return Unavailable(
        Reason.NO_DESCRIPTORS,
        f"{source.title} needs {need} file descriptors, {max(0, budget - used)} of {budget} are left",
        "raise the limit (ulimit -n), hide other columns, or watch fewer CPUs (--cpu)")
