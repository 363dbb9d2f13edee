"""What the memory controllers of a machine moved, by package: what its DRAM roof is judged by where it is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.events.uncore.discovery import UNKNOWN
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import Row, UncoreUnits, can_count
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.uncore.memory_traffic import TRAFFIC
from turbotui.quantities.uncore.metric import Metric
from turbotui.sampling.frame import Frame
from turbotui.sources.uncore import UncoreSource


class MemoryTraffic:
    """The counters of a machine's memory controllers, read beside a session's columns.

    Args:
        machine: real, simulated or recorded.
    """

    def __init__(self, machine: Machine) -> None:
        self._topology = machine.topology
        self._counters = UncoreCounters(machine)
        chosen = next(((units, metric) for metric in TRAFFIC for units in self._counters.kinds
                       if units.kind.id == metric.pmu and all(can_count(units.pmu, name) for name in metric.needs)),
                      None)
        self._units: UncoreUnits | None = None if chosen is None else chosen[0]
        self._metric: Metric | None = None if chosen is None else chosen[1]
        self._counters.keep(() if chosen is None else chosen[:1])
        if chosen is not None:
            units, metric = chosen
            self._counters.show(units, (metric,))

    def sources(self) -> Sequence[UncoreSource]:
        """The sources that are read beside the columns'."""
        return self._counters.sources()

    def signals(self) -> frozenset[SignalId]:
        """The signals of these sources."""
        return self._counters.signals()

    @property
    def document(self) -> str:
        """Where the traffic is from: "uncore_imc: (cas_count_read + cas_count_write) / dt"; "" where nobody counts."""
        return "" if self._metric is None else f"{self._metric.pmu}: {self._metric.formula}"

    def read(self, frame: Frame) -> Mapping[RowId, float]:
        """Bytes per second of the interval by package row; a package that is not known in full is not there."""
        if self._units is None or self._metric is None or frame.older is None:
            return {}
        found: dict[RowId, float] = {}
        for instance in frame.topology.instances(Scope.PACKAGE):
            units = tuple(unit for unit in self._units.units if unit.package in (instance.label, UNKNOWN))
            if not units or (units[0].package == UNKNOWN and len(frame.topology.instances(Scope.PACKAGE)) > 1):
                continue
            reading = self._counters.reading(frame, self._units, Row("", "", units, instance.label), self._metric)
            if reading.value is not None and not reading.partial:
                found[instance.row] = reading.value * 1e9
        return found

