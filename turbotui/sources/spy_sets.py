"""Sets of each CPU's spy: events encoded for this machine, sets that fit, and why an event is not counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from turbotui.counting.counters import TOO_MANY, CountTarget, open_counters
from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.events.leaders import leader_first
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, circumstances, explain_perf
from turbotui.machine.pmus import EventError
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.scope import Scope
from turbotui.quantities.spies import SpyPlan, Target
from turbotui.quantities.unavailable import Reason, Unavailable

SpySet = tuple[tuple[EncodedEvent, ...], ...]
"""Events counted in one interval, by PMU: each PMU's events are one group."""



@dataclass(frozen=True, slots=True)
class Arrangement:
    """The event sets of a plan on a machine."""

    plan: SpyPlan  # what was asked for
    # for each spied CPU its sets, which are multiplexed
    sets: Mapping[int, tuple[SpySet, ...]] = field(default_factory=dict)
    refused: Mapping[str, Unavailable] = field(default_factory=dict)  # event -> why no CPU counts it
    notes: tuple[str, ...] = ()  # sentences: entries that name no CPU here, sets that were split

    def counted(self, cpu: int) -> frozenset[str]:
        """Return the events that this CPU's spy counts at some time."""
        return frozenset(event.name for spy_set in self.sets.get(cpu, ()) for group in spy_set
                         for event in group if event.name)


def cpus_of(target: Target, topology: Topology) -> frozenset[int]:
    """Return the measured CPUs of a target."""
    cpus = frozenset(topology.cpus)
    if target.cpus is not None:
        return cpus & target.cpus
    for scope, label in ((Scope.PACKAGE, target.package), (Scope.CORE, target.core)):
        if label is not None:
            inside = (instance.cpus for instance in topology.instances(scope) if instance.label == label)
            cpus &= {cpu for members in inside for cpu in members}
    return cpus


def arrange(machine: Machine, plan: SpyPlan) -> Arrangement:
    """Encode every event, try each once, and split sets that do not fit, leaving nothing open."""
    return _Arranger(machine, plan).result()


class _Arranger:
    def __init__(self, machine: Machine, plan: SpyPlan) -> None:
        self._machine = machine
        self._plan = plan
        self._host: Host = machine.host
        self._facts: Circumstances = circumstances(machine)
        from turbotui.events.engines import open_engine  # noqa: PLC0415 - most starts spy on nothing

        self._engine = open_engine(machine.host)
        self._encoded: dict[str, tuple[EncodedEvent, ...] | Unavailable] = {}
        self._opens: dict[EncodedEvent, Unavailable | None] = {}
        self._split: dict[tuple[object, ...], tuple[SpySet, ...]] = {}
        self._refused: dict[str, Unavailable] = {}
        self._notes: list[str] = []

    def result(self) -> Arrangement:
        sets: dict[int, tuple[SpySet, ...]] = {}
        for spy in self._plan.spies:
            cpus = cpus_of(spy.on, self._machine.topology)
            if not cpus:
                self._notes.append(f"{spy.on.text}: no such CPU is measured here")
            for cpu in sorted(cpus):
                parts = tuple(part for events in spy.sets for part in self._sets_of(cpu, events, may_split=spy.split))
                sets[cpu] = tuple(dict.fromkeys(parts))
        counted = {event.name for several in sets.values() for spy_set in several for group in spy_set
                   for event in group}
        refused = {name: why for name, why in self._refused.items() if name not in counted}
        sets = {cpu: several for cpu, several in sets.items() if several}
        return Arrangement(self._plan, sets, refused, tuple(dict.fromkeys(self._notes)))

    def _sets_of(self, cpu: int, names: Sequence[str], *, may_split: bool) -> tuple[SpySet, ...]:
        reference = self._on(cpu, self._plan.reference)
        others = (name for name in dict.fromkeys(names) if name != self._plan.reference)
        events = tuple(event for name in others if (event := self._on(cpu, name)) is not None)
        if not events and reference is None:
            return ()
        key = (reference, events, may_split)
        if key not in self._split:
            self._split[key] = self._fit(cpu, reference, events, may_split=may_split)
        return self._split[key]

    def _on(self, cpu: int, name: str) -> EncodedEvent | None:
        """Encode an event for this CPU's PMU; None, with the reason kept, if that is impossible."""
        if name not in self._encoded:
            self._encoded[name] = self._encode(name)
        events = self._encoded[name]
        if isinstance(events, Unavailable):
            self._refused[name] = events
            return None
        event = next((candidate for candidate in events if not candidate.cpus or cpu in candidate.cpus), None)
        if event is None:
            self._refused.setdefault(name, Unavailable(Reason.NO_HARDWARE, f"{name}: this kind of core lacks it"))
            return None
        if event not in self._opens:
            error = self._refusal(cpu, leader_first((event,)))
            self._opens[event] = None if error is None else explain_perf(error, f"perf {event.name}", self._facts,
                                                                         event.attr.type)
        why = self._opens[event]
        if why is not None:
            self._refused[name] = why
        return event if why is None else None

    def _encode(self, name: str) -> tuple[EncodedEvent, ...] | Unavailable:
        from turbotui.events.kinds_of_core import are_unlike  # noqa: PLC0415 - as above
        from turbotui.events.libpfm.errors import LibpfmAbsentError, PfmError  # noqa: PLC0415 - as above
        from turbotui.sources.event_bundles import counted, counting  # noqa: PLC0415 - as above

        try:
            events = tuple(counted(self._engine.encode(name)))
        except (EventError, LibpfmAbsentError, PfmError) as error:
            return Unavailable(Reason.FAILED, str(error).rstrip("."))
        unlike = list(dict.fromkeys(event.string for event in events))
        if len(unlike) > 1:
            return Unavailable(Reason.FAILED, f"{name} stands for {len(unlike)} events, {unlike[0]} among them",
                               "write them one by one")
        kinds = [event for event in events if self._cpus_spied(name) & set(event.cpus)]
        if are_unlike(kinds):
            pmus = ", ".join(dict.fromkeys(event.pmu for event in kinds))
            return Unavailable(Reason.FAILED, f"{name} is another event on each kind of core ({pmus}), and their sum "
                               "counts nothing", "name the PMU, or spy on one kind")
        if any(event.uncore for event in events):
            return Unavailable(Reason.NO_HARDWARE, f"{name} counts for many CPUs at once, which no spy does",
                               "add it as a column of its own (--add)")
        if len({event.group for event in events}) > 1 or any(event.group is not None for event in events):
            return Unavailable(Reason.FAILED, f"{name} is a group: write its events one by one, a set is a group")

        return tuple(replace(event, name=name, attr=counting(event)) for event in events)

    def _cpus_spied(self, name: str) -> set[int]:
        """Return the CPUs on which an entry asks for an event."""
        every = self._plan.reference == name
        wanted = (spy for spy in self._plan.spies if every or any(name in events for events in spy.sets))
        return {cpu for spy in wanted for cpu in cpus_of(spy.on, self._machine.topology)}

    def _fit(self, cpu: int, reference: EncodedEvent | None, events: Sequence[EncodedEvent], *,
             may_split: bool) -> tuple[SpySet, ...]:
        """Pack the events in order into as few sets as the kernel accepts, with the reference in each."""
        always = () if reference is None else (reference,)
        whole = _by_pmu((*always, *events))
        if all(self._opens_together(cpu, group) for group in whole):
            return (whole,)
        if not may_split:
            names = ", ".join(event.name for event in events)
            self._notes.append(f"{names} do not fit into one set here, and are multiplexed")
        parts: list[list[EncodedEvent]] = [[]]
        for event in events:
            trial = _by_pmu((*always, *parts[-1], event))
            if parts[-1] and not all(self._opens_together(cpu, group) for group in trial):
                parts.append([])
            parts[-1].append(event)
        return tuple(_by_pmu((*always, *part)) for part in parts)

    def _opens_together(self, cpu: int, group: Sequence[EncodedEvent]) -> bool:
        """Tell whether the kernel accepts these events as one group; refusals for other reasons do not count."""
        error = self._refusal(cpu, group)
        return error is None or error.errno not in TOO_MANY

    def _refusal(self, cpu: int, group: Sequence[EncodedEvent]) -> HostError | None:
        """Open a group and close it again; return why that fails, None if it works."""
        try:
            open_counters(self._host, (event.attr for event in group), CountTarget(cpu=cpu)).close()
        except HostError as error:
            return error
        return None


def _by_pmu(events: Sequence[EncodedEvent]) -> SpySet:
    """Split events into groups of one PMU each, because a group over several PMUs counts nothing (Linux 6.18)."""
    groups = lists_by_key((event.pmu or event.attr.type, event) for event in events)
    return tuple(leader_first(group) for group in groups.values())

