"""Spies: each pinned worker counts the event sets of its own CPU, which may change while they are counted."""

from __future__ import annotations

import threading
from dataclasses import replace

from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.quantities.spy_signals import SAMPLES, SETS, SpySignals
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.source import Probe
from turbotui.sources.spy_reader import SpyEffort, SpyReader
from turbotui.sources.spy_sets import Arrangement, arrange

_DOCUMENT = "perf_event_open(2); Antao et al., Monitoring Performance and Power with the Cache-aware Roofline Model"

NOT_SPIED = Unavailable(Reason.NOT_READ, "the spy of this CPU does not count it", "give this CPU a set with it")
NO_SPY = Unavailable(Reason.NOT_READ, "no spy is on this CPU", "give it a set of events")


class Spies(PerCpuSource):
    """The event sets of a plan, on each CPU that it names.

    `follow` changes the plan while workers read; they take it over between two of their readings.
    """

    id = "spies"
    title = "spies"
    gives = "event sets of each CPU's own"
    counts_from_open = True

    def __init__(self, plan: SpyPlan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self._arrangement: Arrangement | None = None
        self._efforts: list[SpyEffort] = []

    @property
    def plan(self) -> SpyPlan:
        """The plan in force, or from the next interval on."""
        return self._plan

    @property
    def definition(self) -> SpyPlan:
        return self._plan

    @property
    def arrangement(self) -> Arrangement:
        """The plan in force on the machine; empty before the first probe."""
        arrangement = self._arrangement
        return Arrangement(self._plan) if arrangement is None else arrangement

    def follow(self, plan: SpyPlan) -> None:
        """Count by a plan from the next probe on."""
        self._plan = plan

    def effort(self) -> SpyEffort:
        """Return the number of system calls of all readers so far."""
        with self._lock:
            return SpyEffort(sum(part.reads for part in self._efforts), sum(part.opened for part in self._efforts))

    def probe(self, machine: Machine) -> Probe:
        """Try each event and each set once."""
        arrangement = arrange(machine, self._plan)
        signals: dict[SignalId, Signal | Unavailable] = {}
        rotating = self._plan.rotating
        counted = {cpu: arrangement.counted(cpu) for cpu in machine.topology.cpus}
        several = any(len(sets) > 1 for sets in arrangement.sets.values())
        for name in self._plan.events:
            ids = SpySignals(name)
            why = arrangement.refused.get(name)
            absent = {cpu: NOT_SPIED if cpu in arrangement.sets else NO_SPY for cpu, names in counted.items()
                      if name not in names}
            for id_ in (*ids.measured, *(ids.joined if name in rotating and several else ())):
                signals[id_] = replace(_signal(ids, id_), absent=absent) if why is None else why
        if arrangement.sets:
            absent = {cpu: NO_SPY for cpu in counted if cpu not in arrangement.sets}
            for id_, origin in ((SAMPLES, "readings of a spy"), (SETS, "multiplexed sets on the CPU")):
                signals[id_] = Signal(id_, Scope.CPU, Unit.COUNT, Behavior.GAUGE, Reduce.MAX, origin, _DOCUMENT,
                                      absent=absent)
        self._arrangement = arrangement
        return Probe(signals, "; ".join(arrangement.notes))

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """Return the counters of the two largest sets of a CPU: for a moment, an old and a new set are open."""
        if not wanted:
            return 0
        sizes = [sorted((sum(len(group) for group in spy_set) for spy_set in sets), reverse=True)[:2]
                 for sets in self.arrangement.sets.values()]
        return readers * max((sum(size) if len(size) > 1 else 2 * sum(size) for size in sizes), default=0)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> SpyReader:
        effort = SpyEffort()
        reader = SpyReader(lambda: self.arrangement, machine.host, cpu, wanted, effort)
        with self._lock:
            self._efforts.append(effort)
        return reader


def _signal(ids: SpySignals, id_: SignalId) -> Signal:
    gauge = id_ in (ids.last, ids.along)
    time = id_ in (ids.enabled, ids.running)
    scaled = id_ == ids.count
    return Signal(
        id=id_,
        scope=Scope.CPU,
        unit=Unit.SECOND if time else Unit.COUNT,
        behavior=Behavior.GAUGE if gauge else Behavior.COUNTER,
        reduce=Reduce.SUM,
        origin=f"perf {ids.event} on cpu {{cpu}}",
        document=_DOCUMENT,
        scale=1e-9 if time else 1.0,
        enabled=ids.enabled if scaled else "",
        running=ids.running if scaled else "",
    )
