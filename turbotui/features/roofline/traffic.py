"""The memory controllers' traffic by package, by which the DRAM roof is judged if it is counted."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from turbotui.events.uncore.discovery import UNKNOWN
from turbotui.features.uncore.absence import why_none
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow
from turbotui.features.uncore.recorded import RecordedCounters
from turbotui.features.uncore.recorders import WORD, memory_metrics
from turbotui.machine.machine import Machine
from turbotui.quantities.definition import Definition
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.uncore.metric import Metric
from turbotui.recording.recorded_tables import RecordedTables, SourcesBeside
from turbotui.sampling.frame import Frame
from turbotui.sources.resctrl_bandwidth import TOTAL, ResctrlBandwidth
from turbotui.sources.source import Source

BY_CACHE: Final = ("mbm_total_bytes of all groups, by L3 cache: between it and memory of any package, without what "
                   "devices move")
"""The traffic that resctrl counts, with its granularity."""

BESIDE_HBM: Final = ("DRAM's bytes are those of DDR (uncore_imc): what HBM moves is not in them, so the intensity at "
                     "DRAM is too high where HBM holds data or caches it; the uncore table of HBM has its traffic")
"""The note on processors with memory in the package, which the bytes of DDR leave out."""


def _why_none(machine: Machine, here: UncoreCounters, *, is_recorded: bool) -> Unavailable:
    if is_recorded and memory_metrics(here):
        return Unavailable(Reason.NOT_READ, "this recording has no counters of memory controllers")
    if here.kinds:
        return Unavailable(Reason.NO_HARDWARE, "no uncore PMU of this machine counts the memory's bytes")
    return why_none(machine)


class MemoryTraffic:
    """The counters of a machine's memory controllers, read beside a session's columns, or recorded.

    Args:
        machine: real, simulated or recorded.
        recorded: a recording's definitions that were counted beside the catalog; None for live counters.
        by_cache: whether to use resctrl, which counts the traffic between L3 caches and memory, if no memory
            controller counts.

    Attributes:
        why_none: why no memory controller is counted; None if one is.
    """

    def __init__(self, machine: Machine, recorded: Iterable[Definition] | None = None, *,
                 by_cache: bool = False) -> None:
        self._topology = machine.topology
        self._by_cache: ResctrlBandwidth | None = None
        here = UncoreCounters(machine)
        self._hbm = any(units.kind.id == "uncore_hbm" for units in here.kinds)
        self._counters = here if recorded is None else RecordedCounters(machine, recorded)
        metrics = memory_metrics(self._counters)
        self._choices = metrics[:1] if recorded is None else metrics
        self._counters.keep([units for units, _metric in self._choices])
        self.why_none = None if metrics else _why_none(machine, here, is_recorded=recorded is not None)
        if recorded is None:
            for units, metric in self._choices:
                self._counters.show(units, (metric,))
            if by_cache and not metrics and isinstance(ResctrlBandwidth().probe(machine).signals[TOTAL], Signal):
                self._by_cache = ResctrlBandwidth()

    def sources(self) -> Sequence[Source]:
        """The sources that are read in addition to the columns'."""
        return self._counters.sources() if self._by_cache is None else (self._by_cache,)

    def signals(self) -> frozenset[SignalId]:
        """The signals of these sources."""
        return self._counters.signals() if self._by_cache is None else frozenset({TOTAL})

    @property
    def document(self) -> str:
        """The source of the traffic, "uncore_imc: (cas_count_read + cas_count_write) / dt"; "" if not counted."""
        if self._by_cache is not None:
            return f"resctrl: {BY_CACHE}"
        return "; ".join(f"{metric.pmu}: {metric.formula}" for _units, metric in self._choices[:1])

    @property
    def note(self) -> str:
        """The note on what the traffic leaves out; "" if it is the memory controllers' whole traffic."""
        if self._by_cache is not None:
            return f"DRAM's bytes by resctrl: {BY_CACHE}"
        return BESIDE_HBM if self._hbm and self._choices else ""

    def read(self, frame: Frame) -> Mapping[RowId, float]:
        """Return the bytes per second of the interval by package row, without packages that are only partly known."""
        if frame.older is None:
            return {}
        if self._by_cache is not None:
            return self._cached(frame)
        self._counters.follow(frame)
        return next(filter(None, (self._read(frame, units, metric) for units, metric in self._choices)), {})

    def _cached(self, frame: Frame) -> Mapping[RowId, float]:
        """Return the traffic by package, if each of its L3 caches is known."""
        if TOTAL not in frame.newer.values:
            return {}
        rates = frame.rates(TOTAL)
        cached = {}
        for instance in frame.topology.instances(Scope.PACKAGE):
            l3_rates = [rates[at] for at in frame.topology.parts(instance.row, Scope.L3)]
            known = [rate for rate in l3_rates if rate is not None]
            if known and len(known) == len(l3_rates):
                cached[instance.row] = math.fsum(known)
        return cached

    def _read(self, frame: Frame, counted: UncoreUnits, metric: Metric) -> Mapping[RowId, float]:
        rates: dict[RowId, float] = {}
        for instance in frame.topology.instances(Scope.PACKAGE):
            units = tuple(unit for unit in counted.units if unit.package in (instance.label, UNKNOWN))
            if not units or (units[0].package == UNKNOWN and len(frame.topology.instances(Scope.PACKAGE)) > 1):
                continue
            reading = self._counters.reading(frame, counted, UnitRow("", "", units, instance.label), metric)
            if reading.value is not None and not reading.partial:
                rates[instance.row] = reading.value * 1e9
        return rates


def _recorded(machine: Machine, tables: Container[str]) -> SourcesBeside:
    """Record the memory's traffic always, unless every uncore counter is recorded: for the roofline and `why`."""
    if WORD in tables:
        return SourcesBeside()
    traffic = MemoryTraffic(machine)
    return SourcesBeside(tuple(traffic.sources()), traffic.signals())


RECORDED: Final = (RecordedTables({}, _recorded),)
