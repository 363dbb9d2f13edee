"""The uncore counters: kinds of PMU, the events counted for each, filters, and the values of a frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.events.encoded import EncodedEvent
from turbotui.events.perf_encoder import PerfEncoder
from turbotui.events.uncore.corrections import corrected_scale
from turbotui.events.uncore.discovery import UncoreUnit
from turbotui.events.uncore.fields import settings_in_words
from turbotui.events.uncore.unapplied import unapplied
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow, find_kinds, raw_metric, typed_metric
from turbotui.features.uncore.stacks import StackMap
from turbotui.machine.caches import read_caches
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.memory_peak import MemoryPeak
from turbotui.machine.pmus import EventError
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.uncore import ALONE, CLOCKS, DRAM, ELAPSED, L3_UNIT, LINK, UNITS, Metric, filter_of
from turbotui.sampling.frame import Frame
from turbotui.sampling.reasons import problem
from turbotui.sources.perf_group import Times
from turbotui.sources.uncore import UncoreRequest, UncoreSource

AllSettings: TypeAlias = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""The filters of each PMU by its name, and their values by theirs."""

_FEWEST: Final = 4
"""Counters that every uncore PMU has at least: AMD's data fabric has 4 in its first version."""
_UNLINKED = ("no PCI Express link is up below it, sysfs does not say its speed (current_link_speed, ..._width), or "
             "only root may read which root ports it counts")
_UNSIZED = "its unit depends on the size of the L3, which sysfs does not say (cache/index*/size) or which differs here"
_EMPTY = "a divisor is zero: nothing of it happened in this interval"
_LARGE: Final = 32 << 20  # bytes of the L3 of one complex
_LARGE_NS, _SMALL_NS = 10.0, 30.0  # L3LatScalingFactor of Zen 4 (AMD PPR 55901, L3PMCxAC)


@dataclass(frozen=True, slots=True)
class Reading:
    """The value of one cell, with its inputs."""

    value: float | None = None  # in the metric's unit; None where it is unknown
    why: Unavailable | None = None  # why the value is None
    estimated: bool = False  # whether a counter ran only part of the interval and was scaled
    partial: bool = False  # whether some units of a sum are unknown, so that it is too small
    # the inputs of the formula: increases, and the interval in ns
    inputs: Mapping[str, float | None] = field(default_factory=dict)
    ran: float | None = None  # the part of the interval in which the counters ran, 0 to 1


def bundles_of(metrics: Sequence[Metric]) -> tuple[tuple[str, ...], ...]:
    """Return the sets of events that must be counted together: each metric's, unless part of another one's."""
    parts = {frozenset(part) for metric in metrics for part in _together(metric)}
    sets = sorted(parts, key=lambda names: (-len(names), sorted(names)))
    kept: list[frozenset[str]] = []
    for each in sets:
        if not any(each <= other for other in kept):
            kept.append(each)
    names = dict.fromkeys(name for metric in metrics for name in metric.needs)
    # no clock leads a group: clocks have no filters, and members' filters are compared with the leader's
    order = {name: (name in CLOCKS, place) for place, name in enumerate(names)}
    return tuple(tuple(sorted(each, key=order.__getitem__)) for each in kept)


def _together(metric: Metric) -> Sequence[Sequence[str]]:
    """Return a metric's events in as few groups as any PMU can count; only events of a plain sum may be split."""
    needs = metric.needs
    if metric.pmu in ALONE:
        return [(name,) for name in needs]
    if not metric.additive:
        return [needs] if needs else []
    alike = lists_by_key((filter_of(name), name) for name in needs)
    return [names[at : at + _FEWEST] for names in alike.values() for at in range(0, len(names), _FEWEST)]


def is_counted(metric: Metric, bundles: Sequence[frozenset[str]]) -> bool:
    """Tell whether a metric can be computed from the counts of bundles."""
    return all(any(bundle.issuperset(part) for bundle in bundles) for part in _together(metric))


class UncoreCounters:
    """The uncore events that are counted, as the user has chosen."""

    unread: ClassVar[str] = "was not read in this interval: it is read while a screen shows it"
    """The reason why a PMU has no reading in a frame."""

    def __init__(self, machine: Machine) -> None:
        self.kinds: tuple[UncoreUnits, ...] = find_kinds(machine)
        self._encoder = PerfEncoder(machine.host)
        self._model = machine.model
        self.stacks = StackMap(machine.host)
        self._latencies = SampledLatency(machine.host)
        self._memory = MemoryPeak(machine)
        self._shown: dict[str, tuple[Metric, ...]] = {units.kind.id: units.starting for units in self.kinds}
        self._beside: dict[str, tuple[Metric, ...]] = {}
        self._settings: dict[str, Mapping[str, int]] = {}
        self._sources: dict[str, UncoreSource] = {}
        self._made = 0
        self._names: dict[tuple[int, str, tuple[str, ...]], _Behind] = {}

    # Shown columns

    def shown(self, units: UncoreUnits) -> tuple[Metric, ...]:
        """Return the metrics of a kind that are columns of its table."""
        return self._shown[units.kind.id]

    def show(self, units: UncoreUnits, metrics: Sequence[Metric]) -> None:
        """Show these metrics, in the kind's order; typed events come last."""
        chosen = [metric for metric in (*units.metrics, *units.raw) if metric in metrics]
        self._shown[units.kind.id] = tuple(dict.fromkeys((*chosen, *metrics)))

    def count_beside(self, wanted: Mapping[str, Sequence[Metric]]) -> None:
        """Also count these metrics, by their kind's id, without columns in any table; {} to stop."""
        self._beside = {kind: tuple(metrics) for kind, metrics in wanted.items()}

    def typed(self, units: UncoreUnits, text: str) -> Metric:
        """Return the metric of a typed event: as `typed_metric` takes it, or a name of the vendor's tables.

        Raises:
            EventError: as `typed_metric`; or tables named by the user cannot be used.
        """
        try:
            return typed_metric(units, text)
        except EventError:
            event = text.strip().strip("/").rpartition("/")[2].lower()
            if (pmu := self._encoder.pmu_with(units.pmu.name, event)) is None:
                raise
            return raw_metric(units.kind.id, pmu, event)

    def keep(self, kinds: Sequence[UncoreUnits]) -> None:
        """Drop all other kinds."""
        self.kinds = tuple(kinds)

    def settings(self, pmu: str) -> Mapping[str, int]:
        """Return the filters of a PMU that are not at their defaults."""
        return self._settings.get(pmu, {})

    def filters_in_words(self, units: UncoreUnits, row: UnitRow) -> str:
        """Describe what a row's filters leave out; "" if the row counts everything."""
        if not row.is_sum:
            return settings_in_words(units.pmu, self.settings(row.units[0].pmu.name))
        filtered = sum(bool(self.settings(unit.pmu.name)) for unit in row.units)
        return f"{filtered} of {len(row.units)} filtered" if filtered else ""

    def set_filters(self, pmus: Sequence[str], settings: Mapping[str, int]) -> None:
        """Count with these filters from now on; the caller has checked them (`events.uncore.filters`)."""
        for pmu in pmus:
            self._settings[pmu] = {name: value for name, value in settings.items() if value}

    @property
    def every_setting(self) -> AllSettings:
        """The filters of all PMUs that are not at their defaults."""
        every = ((pmu, tuple(sorted(settings.items()))) for pmu, settings in self._settings.items() if settings)
        return tuple(sorted(every))

    @every_setting.setter
    def every_setting(self, every: AllSettings) -> None:
        self._settings = {pmu: dict(settings) for pmu, settings in every}

    def look_up(self) -> None:
        """Read every file that values depend on, so that a recording keeps them."""
        self.stacks.read([unit for units in self.kinds for unit in units.units])
        self._memory.of(1, 1)
        for units in self.kinds:
            if any(L3_UNIT in metric.expression.names for metric in units.metrics):
                for unit in units.units:
                    self._latencies.unit_of(unit.cpu)

    # Reading

    def sources(self) -> tuple[UncoreSource, ...]:
        """Return one source for each PMU with shown values; unchanged sources stay the same objects."""
        sources: list[UncoreSource] = []
        for units in self.kinds:
            bundles = bundles_of((*self.shown(units), *self._beside.get(units.kind.id, ())))
            by_pmu = lists_by_key((unit.pmu.name, unit) for unit in units.units)
            if bundles:
                sources += [self._source(tuple(same), bundles) for same in by_pmu.values()]
        return tuple(sources)

    def _source(self, units: tuple[UncoreUnit, ...], bundles: tuple[tuple[str, ...], ...]) -> UncoreSource:
        name = units[0].pmu.name
        settings = tuple(self.settings(name).items())
        known = self._sources.get(name)
        if known is None or (known.order.bundles, known.order.settings) != (bundles, settings):
            self._made += 1
            self._names.clear()
            known = self._sources[name] = UncoreSource(UncoreRequest(units, bundles, settings, self._made))
        return known

    def signals(self) -> frozenset[SignalId]:
        """Return the signals that shown values need."""
        return frozenset(name for source in self.sources() for name in source.order.signals())

    def order_of(self, unit: UncoreUnit) -> UncoreRequest | None:
        """Return the request of a unit's PMU; None if nothing is counted."""
        source = self._sources.get(unit.pmu.name)
        return None if source is None else source.order

    def follow(self, frame: Frame | None) -> None:
        """Adopt the counted events of a frame, for recordings, in which the user chooses no events."""

    def encoded(self, unit: UncoreUnit, event: str) -> EncodedEvent | str:
        """Encode an event of a unit with its filters, or return why that is impossible."""
        if (order := self.order_of(unit)) is None:
            return f"{unit.pmu.name} {self.unread}"
        try:
            return self._encoder.encode(order.written(event))[0]
        except EventError as error:
            return str(error)

    def unapplied(self, unit: UncoreUnit, event: str) -> tuple[str, ...]:
        """The filters of a unit that the kernel does not apply to an event."""
        encoded = self.encoded(unit, event) if self.settings(unit.pmu.name) else ""
        return () if isinstance(encoded, str) else unapplied(unit.pmu, encoded.attr, self.settings(unit.pmu.name))

    def scale(self, unit: UncoreUnit, event: str) -> float:
        """Return the factor from counts of an event to its unit."""
        encoded = self.encoded(unit, event)
        if isinstance(encoded, str):
            return 1.0
        return corrected_scale(unit.pmu.name, encoded.unit, encoded.scale, self._model)

    # Values of a frame

    def reading(self, frame: Frame, units: UncoreUnits, row: UnitRow, metric: Metric) -> Reading:
        """Compute one cell; for a sum of units, increases are added and clocks averaged before the formula."""
        parts = [self._increases(frame, unit, metric) for unit in row.units]
        known = [part for part in parts if isinstance(part, dict)]
        if not known:
            why = next((part for part in parts if isinstance(part, Unavailable)), None)
            return Reading(why=why or Unavailable(Reason.NOT_READ, f"{units.kind.title} is not read yet"))
        known = _in_one_interval(known)
        inputs: dict[str, float | None] = {}
        for name in known[0]:
            values = [part[name] for part in known]
            mean = name in (ELAPSED, _RAN) or metric.is_clock(name)
            inputs[name] = math.fsum(values) / len(values) if mean else math.fsum(values)
        ran = inputs.pop(_RAN)
        if UNITS in metric.expression.names:
            inputs[UNITS] = float(len(known))
        if LINK in metric.expression.names:
            inputs[LINK] = self._links(row)
        if L3_UNIT in metric.expression.names:
            inputs[L3_UNIT] = self._sampled(row)
        if DRAM in metric.expression.names:
            inputs[DRAM] = self._memory.of(len(row.units), len(units.units))
        value = metric.expression.evaluate(inputs)
        why = None if value is not None else _no_value(metric, inputs)
        estimated = any(part[_RAN] < 1.0 for part in known)
        return Reading(value, why, estimated, len(known) < len(parts), inputs, ran)

    def _links(self, row: UnitRow) -> float | None:
        """Return the GB/s of a row's links that are up, in one direction; None if unknown."""
        speeds = [speed for unit in row.units if (speed := self.stacks.link(unit)) is not None]
        return math.fsum(speeds) if speeds else None

    def _sampled(self, row: UnitRow) -> float | None:
        """Return the ns of one count of sampled latency; None unless the same for all L3s of a row."""
        values = {self._latencies.unit_of(unit.cpu) for unit in row.units}
        return values.pop() if len(values) == 1 else None

    def _behind(self, order: UncoreRequest, unit: UncoreUnit, metric: Metric) -> _Behind | None:
        """Return the signals behind a formula; None if they are not counted."""
        key = (order.number, unit.key, metric.needs)
        if key not in self._names:
            bundles = [frozenset(events) for events in order.bundles]
            if not is_counted(metric, bundles):
                return None
            at = {event: next(at for at, bundle in enumerate(bundles) if bundle.issuperset(part))
                  for part in _together(metric) for event in part}
            self._names[key] = _Behind({event: order.signal(unit, bundle, event) for event, bundle in at.items()},
                                       tuple(order.times(unit, bundle) for bundle in dict.fromkeys(at.values())))
        return self._names[key]

    def _increases(self, frame: Frame, unit: UncoreUnit, metric: Metric) -> dict[str, float] | Unavailable:
        """Return the increases of a metric's events, the interval by the counters' clock, and their running share."""
        order = self.order_of(unit)
        behind = None if order is None else self._behind(order, unit, metric)
        if behind is None:
            return Unavailable(Reason.NOT_READ, f"{unit.pmu.name} {self.unread}")
        increases: dict[str, float] = {}
        for name, signal in behind.events.items():
            delta = self._rise(frame, unit, signal)
            if isinstance(delta, Unavailable):
                return delta
            increases[name] = delta
        enabled, ran = 0.0, 1.0
        for times in behind.times:
            pair = [self._rise(frame, unit, signal) for signal in (times.enabled, times.running)]
            whole, running = pair
            if isinstance(whole, Unavailable) or isinstance(running, Unavailable):
                return next(reason for reason in pair if isinstance(reason, Unavailable))
            if not whole:
                detail = f"{unit.pmu.name}: its counters were not enabled in this interval"
                return Unavailable(Reason.NEVER_RAN, detail)
            enabled += whole / len(behind.times)
            ran = min(ran, running / whole)
        increases[ELAPSED] = enabled * 1e9
        increases[_RAN] = ran
        return increases

    def _rise(self, frame: Frame, unit: UncoreUnit, signal: SignalId) -> float | Unavailable:
        """Return the increase of a unit's signal in a frame's interval."""
        if (known := frame.capabilities.signals.get(signal)) is None:
            return frame.capabilities.missing.get(signal) or Unavailable(Reason.NOT_READ,
                                                                         f"{unit.pmu.name} {self.unread}")
        delta = frame.deltas(signal)[0]  # the scope is the whole machine, with one instance
        if delta is not None:
            return delta
        return problem(frame, known, frame.topology.cpus[:1]) or Unavailable(Reason.NEVER_RAN,
            f"{known.origin} never got a hardware counter in this interval")


def _in_one_interval(parts: Sequence[dict[str, float]]) -> list[dict[str, float]]:
    """Bring the increases of units to their mean interval, so that the rate of a sum is the sum of the units' rates."""
    # units are read one after the other: their intervals differ by the time of a reading, and twofold after a late one
    spans = [part[ELAPSED] for part in parts]
    if min(spans) == max(spans):
        return list(parts)
    mean = math.fsum(spans) / len(spans)
    return [{name: value if name == _RAN else mean if name == ELAPSED else value * mean / part[ELAPSED]
             for name, value in part.items()} for part in parts]


@dataclass(frozen=True, slots=True)
class _Behind:
    """The signals behind a formula: those of its events, and the times of their groups."""

    events: Mapping[str, SignalId]
    times: tuple[Times, ...]


def _no_value(metric: Metric, inputs: Mapping[str, float | None]) -> Unavailable:
    """Return why a formula of known counts has no value."""
    if LINK in inputs and inputs[LINK] is None:
        return Unavailable(Reason.NO_HARDWARE, _UNLINKED)
    if L3_UNIT in inputs and inputs[L3_UNIT] is None:
        return Unavailable(Reason.NO_HARDWARE, _UNSIZED)
    if DRAM in inputs and inputs[DRAM] is None:
        return Unavailable(Reason.NO_HARDWARE, MemoryPeak.why)
    return Unavailable(Reason.OUT_OF_RANGE, f"{metric.formula}: {_EMPTY}")


_RAN = "the part of the interval in which the counters ran"


class SampledLatency:
    """Nanoseconds of one count of Zen 4's sampled L3 latency; each L3 is looked up once, when needed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._units: dict[int, float | None] = {}

    def unit_of(self, cpu: int) -> float | None:
        """Return the unit of a CPU's L3; None if sysfs does not describe the L3."""
        if cpu not in self._units:
            size = next((cache.size for cache in read_caches(self._host, cpu) if cache.level == 3), None)
            self._units[cpu] = None if size is None else _LARGE_NS if size >= _LARGE else _SMALL_NS
        return self._units[cpu]
