"""The metrics of a machine: adds up the counters of frames, and returns the present value of each metric."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from turbotui.dataclass import dataclass
from turbotui.features.export.live import about
from turbotui.features.export.live.exposition import MOST_BYTES, MOST_SERIES, ExposedMetric, with_labels, within
from turbotui.features.export.live.families import (
    LOWEST_RATIO,
    SPREADS,
    CounterFamily,
    GaugeFamily,
    SpreadFamily,
    metric_name,
)
from turbotui.features.export.live.levels import MACHINE, ON_REQUEST, PACKAGE, USUAL, LevelPlaces, MetricLevel
from turbotui.features.export.live.row_metrics import RowMetrics
from turbotui.features.export.live.totals import (
    ALL_COUNTERS,
    ALL_GAUGES,
    CounterTotals,
    RecentTotals,
    known_counters,
    signals_of_counters,
)
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.meters import PowerMeter, WattPlace, meters_of
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.signals import Signal, SignalId
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.tables.openmetrics import base_factor, metric_names

BUSY_TIMES: Final = ("stat.user", "stat.nice", "stat.system", "stat.irq", "stat.softirq")
"""Fields of /proc/stat for which a CPU is busy (proc(5)); the first two include guest time."""
_BUSY_COLUMN: Final = "Busy%"
_HARDLY: Final = 1.0  # per cent


def known_spreads(capabilities: Capabilities, catalog: Catalog) -> tuple[SpreadFamily, ...]:
    """Return the spreads whose column a machine has; of alternatives, the first."""
    families: list[SpreadFamily] = []
    taken: set[tuple[str, str]] = set()
    for family in SPREADS:
        names = {(family.stem, level.word) for level in family.levels}
        if names.isdisjoint(taken) and set(_needs(family, catalog)) <= capabilities.signals.keys():
            taken |= names
            families.append(family)
    return tuple(families)


def _needs(family: SpreadFamily, catalog: Catalog) -> Sequence[SignalId]:
    column = catalog.get(family.column) if family.column else None
    if column is None:
        return ("stat.user",) if not family.column else ("column that is not there",)
    return column.needs


def spread(frame: Frame, family: SpreadFamily, places: LevelPlaces, level: MetricLevel,
           catalog: Catalog) -> Mapping[Hashable, Mapping[str, float]]:
    """Return the three values of each instance, by their names, leaving out instances of which a part is unknown."""
    values, rows = _values(frame, family, catalog), frame.rows(family.scope)
    columns = [column for name in ((family.column, _BUSY_COLUMN) if family.busy else (family.column,))
               if (column := catalog.get(name)) is not None]
    doubtful = [column for column in columns if frame.gaps_behind(column)]
    spreads = {}
    for key, positions in places.parts(level, family.scope).items():
        known = sorted(value * family.factor for at in positions if (value := values[at]) is not None)
        unread = len(known) < len(positions) and any(  # and not only idle, or without such a counter
            values[at] is None and (not columns or any(frame.lost(column, rows[at]) for column in doubtful))
            for at in positions)
        if known and not unread:
            p95 = known[math.ceil(0.95 * len(known)) - 1]  # the smallest that 95 % of them do not exceed
            spreads[key] = {"min": known[0], "p95": p95, "max": known[-1]}
    return spreads


def _values(frame: Frame, family: SpreadFamily, catalog: Catalog) -> Sequence[float | None]:
    column = catalog.get(family.column) if family.column else None
    if column is None:
        return busy_shares(frame)
    rows = frame.rows(family.scope)
    values = [None if isinstance(value, str) else value for value in frame.cells(column, rows)]
    busy = catalog.get(_BUSY_COLUMN) if family.busy else None
    if busy is None:
        return values
    return [value if isinstance(share, int | float) and share >= _HARDLY else None
            for value, share in zip(values, frame.cells(busy, rows), strict=True)]


def busy_shares(frame: Frame) -> Sequence[float | None]:
    """Return the busy share of each CPU, 0 to 1, by /proc/stat; None if unknown."""
    known = [name for name in BUSY_TIMES if name in frame.capabilities.signals]
    if not known:
        return [None] * len(frame.topology.cpus)
    spans = frame.spans(known[0])
    times = zip(*(frame.deltas(name) for name in known), strict=True)
    return [min(1.0, sum(parts) / span) if span and None not in parts else None
            for span, parts in zip(spans, times, strict=True)]


_MOST: Final = 16
"""The most meters: a large machine has four cards, two sockets, four supplies."""
_ENERGY, _POWER, _STATE = "energy", "power", "state"


class MeterMetrics:
    """The metrics of a machine's meters, at most 16, kind by kind."""

    def __init__(self, signals: Mapping[SignalId, Signal]) -> None:
        meters = [meter for meter in meters_of(signals) if meter.kind.place is not WattPlace.NOTHING
                  and meter.quantities & {_ENERGY, _POWER}]
        self._meters = meters[:_MOST]
        self._left_out = len(meters) - len(self._meters)
        self._joules = RecentTotals()
        self.signals = frozenset(meter.signal(word) for meter in self._meters
                                 for word in (_quantity(meter), _STATE) if word in meter.quantities)

    @property
    def left_out(self) -> Mapping[str, int]:
        """The number of power meters that are not exported, by the kind of what is left out."""
        return {"meters": self._left_out}

    def feed(self, frame: Frame) -> None:
        """Add the joules of an interval."""
        for meter in self._meters:
            if _quantity(meter) == _ENERGY and frame.older is not None:
                self._joules.add(meter.column, frame.inputs(SYSTEM_ROW).delta(meter.signal(_ENERGY)))

    def metrics(self, frame: Frame | None) -> Iterator[ExposedMetric]:
        """Return the metrics of a frame; none before the first one."""
        yield ExposedMetric("turbotui_meter", "info",
                            "A meter of power beside the processor: place is platform for all that "
                            "the machine takes, part for a part of it", [
                                ({"meter": meter.column, "kind": meter.kind.words, "label": meter.label,
                                  "place": meter.kind.place.value}, 1.0) for meter in self._meters])
        yield ExposedMetric("turbotui_meter_energy_joules", "counter", "Energy of a meter that counts it", [
            ({"meter": name}, joules) for name, joules in self._joules.values.items()])
        if frame is not None:
            inputs = frame.inputs(SYSTEM_ROW)
            watts = {meter.column: inputs.value(meter.signal(_POWER))
                     for meter in self._meters if _quantity(meter) == _POWER}
            yield ExposedMetric("turbotui_meter_watts", "gauge", "Power of a meter that counts no energy", [
                ({"meter": name}, value) for name, value in watts.items() if value is not None])


def _quantity(meter: PowerMeter) -> str:
    """Return the quantity of a meter to export: energy, which misses nothing, else the momentary power."""
    return _ENERGY if _ENERGY in meter.quantities else _POWER


COLUMN: Final = MetricLevel("column", None)
"""A word in the metrics' names, which keeps them distinct, and in the limits, which exempt columns."""
_PREFIX: Final = "turbotui_"


def column_metrics(frame: Frame, columns: Sequence[CounterColumn], level: MetricLevel,
                   places: LevelPlaces) -> Iterator[ExposedMetric]:
    """Return gauges of columns for each instance of a level, except for columns of coarser levels and texts."""
    names, labels = metric_names(columns), places.labels(level)
    for column in columns:
        if level.scope is None or column.scope.rank > level.scope.rank or column.decimals < 0:
            continue
        rows, factor = frame.rows(level.scope), base_factor(column)
        cells = zip(rows, frame.bare_cells(column, rows), strict=True)
        samples = [(level.named(labels[row]), value * factor) for row, value in cells if isinstance(value, int | float)]
        name = names[column.id].removeprefix(_PREFIX)
        document = f" ({column.document})" if column.document else ""
        yield ExposedMetric(f"{_PREFIX}{level.word}_column_{name}", "gauge", f"{column.help}{document}", samples,
                            COLUMN)


class RequestedPart(Protocol):
    """A requested part of the export beside the machine's levels."""

    @property
    def levels(self) -> Sequence[MetricLevel]:
        """The levels of the part's metrics."""

    def read(self) -> tuple[Sequence[ExposedMetric], Mapping[str, int]]:
        """Return the present metrics, and the numbers of things left out, by their kind."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The user's request for an export."""

    per: str = ""  # "core" or "cpu" to add these levels; "" for neither
    # series, size: the limits of parts that were not requested
    series: int = MOST_SERIES
    size: int = MOST_BYTES
    facts: Sequence[ExposedMetric] = ()  # what features know of the machine beside its counters
    columns: Sequence[CounterColumn] = ()  # columns of the catalog to export as gauges
    parts: Sequence[RequestedPart] = ()  # parts beside the machine's levels: groups, tasks


_EXPORTED = frozenset({name for counter in ALL_COUNTERS for name in counter.signals}
                      | {gauge.signal for gauge in ALL_GAUGES})
"""The signals of all metrics, including those that a machine lacks."""


class MachineMetrics:
    """The metrics of one machine, fed and queried by one thread."""

    def __init__(self, machine: Machine, capabilities: Capabilities, catalog: Catalog, request: ExportRequest) -> None:
        self._machine = machine
        self._capabilities = capabilities
        self._catalog = catalog
        self._request = request
        self._asked = ON_REQUEST.get(request.per, ())
        self._levels = (*USUAL, *self._asked)
        self._counters = known_counters(capabilities, self._levels)
        self._spreads = known_spreads(capabilities, catalog)
        self._gauges = tuple(gauge for gauge in ALL_GAUGES
                             if gauge.signal in capabilities.signals and gauge.level in self._levels)
        self._totals = CounterTotals()
        self._meters = MeterMetrics(capabilities.signals)
        self._places: LevelPlaces | None = None
        self._info = about.machine_info(machine)
        self._reasons: tuple[Capabilities, Mapping[str, str]] | None = None
        self._read = tuple(sorted(self.signals))

    @property
    def seconds(self) -> float:
        """The seconds of all frames that were fed."""
        return self._totals.seconds

    @property
    def columns(self) -> Sequence[ColumnId]:
        """Return the columns to read."""
        return (*dict.fromkeys(family.column for family in self._spreads if family.column), *self._lowest(),
                *(column.id for column in self._request.columns))

    @property
    def signals(self) -> frozenset[SignalId]:
        """Return the signals to read beside those of the columns."""
        wanted = signals_of_counters(self._counters, self._capabilities) | (
            frozenset() if all(family.column for family in self._spreads) else frozenset(BUSY_TIMES))
        wanted |= {gauge.signal for gauge in self._gauges} | self._meters.signals
        return frozenset(wanted & self._capabilities.signals.keys())

    def _lowest(self) -> Sequence[ColumnId]:
        column = self._catalog.get(LOWEST_RATIO)
        known = self._capabilities.signals.keys()
        return (LOWEST_RATIO,) if column is not None and set(column.needs) <= known else ()

    def feed(self, frame: Frame) -> None:
        """Add the increases of the newest frame."""
        self._totals.feed(frame, self._places_of(frame.topology), self._counters)
        self._meters.feed(frame)
        for part in self._request.parts:
            if isinstance(part, RowMetrics):
                part.feed(frame)

    def metrics(self, frame: Frame | None, cost: OwnCost) -> Sequence[ExposedMetric]:
        """Return the metrics of a scrape, within the limits; before the first frame only facts are known."""
        marks = about.marks_of(self._machine.host.kind)
        common = sum(len(name) + len(value) + 4 for name, value in marks.items())
        parts = [part.read() for part in self._request.parts]
        metrics = [metric for metric in (*self._all(frame, cost), *(metric for some, _ in parts for metric in some))
                   if metric.samples]
        left_out = {**self._meters.left_out, **{word: number for _, others in parts for word, number in others.items()}}
        asked = (*self._asked, COLUMN, *(level for part in self._request.parts for level in part.levels))
        kept = within(metrics, asked, common, series=self._request.series, size=self._request.size, others=left_out)
        return tuple(with_labels(kept, marks))

    def _places_of(self, topology: Topology) -> LevelPlaces:
        if self._places is None or self._places.topology is not topology:
            self._places = LevelPlaces(topology, self._levels)
        return self._places

    def _all(self, frame: Frame | None, cost: OwnCost) -> Iterator[ExposedMetric]:
        places = self._places_of(self._machine.topology if frame is None else frame.topology)
        yield self._info
        yield from about.counts(places)
        yield from about.collector(frame, cost, self.seconds)
        capabilities = self._capabilities if frame is None else frame.capabilities
        if self._reasons is None or self._reasons[0] is not capabilities:
            self._reasons = capabilities, about.source_reasons(capabilities, _EXPORTED)
        yield from about.sources_up(self._reasons[1], frame, self._read)
        yield from self._request.facts
        yield from self._meters.metrics(frame)
        for level in places.levels:
            for family in self._counters:
                if level in family.levels:
                    yield self._counter(family, level, places)
            if frame is not None:
                yield from self._gauges_of(frame, level, places)
                if level in (MACHINE, PACKAGE, *self._asked):
                    yield from column_metrics(frame, self._request.columns, level, places)

    def _counter(self, family: CounterFamily, level: MetricLevel, places: LevelPlaces) -> ExposedMetric:
        labels, totals = places.labels(level), self._totals.of(family, level)
        signal = self._capabilities.signals.get(family.signals[0])
        document = "" if signal is None else signal.document
        samples = [(level.named(label), totals[key]) for key, label in labels.items() if key in totals]
        return ExposedMetric(metric_name(level, family.stem), "counter", _help(family.text, document), samples, level)

    def _gauges_of(self, frame: Frame, level: MetricLevel, places: LevelPlaces) -> Iterator[ExposedMetric]:
        for family in self._gauges:
            if family.level is level and family.signal in frame.capabilities.signals:
                yield self._gauge(frame, family, places)
        catalog, labels = self._catalog, places.labels(level)
        for spread_family in self._spreads:
            if level in spread_family.levels:
                column = catalog.get(spread_family.column) if spread_family.column else None
                by_place = spread(frame, spread_family, places, level, catalog)
                samples = [({**level.named(labels[key]), "stat": stat}, value)
                           for key, values in by_place.items() if key in labels for stat, value in values.items()]
                document = "proc(5)" if column is None else column.document
                yield ExposedMetric(metric_name(level, spread_family.stem), "gauge",
                                    _help(spread_family.text, document), samples, level,
                                    spread=True)
        if level is MACHINE:
            yield from self._lowest_ratio(frame)

    def _gauge(self, frame: Frame, family: GaugeFamily, places: LevelPlaces) -> ExposedMetric:
        signal = self._capabilities.signals[family.signal]
        labels = places.labels(family.level)
        values = frame.levels(family.signal)
        samples = [(family.level.named(labels[key]), value)
                   for key, positions in places.parts(family.level, signal.scope).items()
                   for at in positions if (value := values[at]) is not None]
        return ExposedMetric(metric_name(family.level, family.stem), "gauge", _help(family.text, signal.document),
                             samples,
                             family.level)

    def _lowest_ratio(self, frame: Frame) -> Iterator[ExposedMetric]:
        for name in self._lowest():
            column = self._catalog.by_id[name]
            (value,) = frame.bare_cells(column, (SYSTEM_ROW,))
            if isinstance(value, int | float):
                yield ExposedMetric("turbotui_machine_lowest_performance_ratio", "gauge", _help(
                    "APERF/MPERF of the slowest CPU that was busy for half of the last interval", column.document),
                    [({}, float(value))], MACHINE)


def _help(text: str, document: str) -> str:
    return f"{text} ({document})" if document else text
