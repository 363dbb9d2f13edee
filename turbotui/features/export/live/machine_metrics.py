"""The scrape of a machine: fed with frames, it adds up counters and tells what each metric is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from turbotui.dataclass import dataclass
from turbotui.features.export.live import about
from turbotui.features.export.live.column_metrics import COLUMN, column_metrics
from turbotui.features.export.live.exposition import MOST_BYTES, MOST_SERIES, Exposed, with_labels, within
from turbotui.features.export.live.families import (
    COUNTERS,
    GAUGES,
    LOWEST_RATIO,
    CounterFamily,
    GaugeFamily,
    metric_name,
)
from turbotui.features.export.live.levels import MACHINE, ON_REQUEST, PACKAGE, USUAL, LevelPlaces, MetricLevel
from turbotui.features.export.live.meter_metrics import MeterMetrics
from turbotui.features.export.live.spreads import columns_of_spreads, known_spreads, signals_of_spreads, spread
from turbotui.features.export.live.totals import CounterTotals, known_counters, signals_of_counters
from turbotui.features.score.model import Baseline
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost


class AskedPart(Protocol):
    """What a person asks for that is none of the machine's levels."""

    @property
    def levels(self) -> Sequence[MetricLevel]:
        """The levels of its metrics."""

    def read(self) -> tuple[Sequence[Exposed], Mapping[str, int]]:
        """The metrics now, and of what how many were left out."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What a person wants exported.

    Attributes:
        per: "core" or "cpu" for these levels too; "" for neither.
        series, size: the limits of what nobody asked for.
        baselines: that fit the machine.
        columns: of the catalog, as gauges too.
        parts: what is told beside the machine: groups, tasks.
    """

    per: str = ""
    series: int = MOST_SERIES
    size: int = MOST_BYTES
    baselines: Sequence[Baseline] = ()
    columns: Sequence[CounterColumn] = ()
    parts: Sequence[AskedPart] = ()


_EXPORTED = frozenset({name for one in COUNTERS for name in one.signals} | {one.signal for one in GAUGES})
"""The signals of all metrics, those too that a machine lacks."""


class MachineMetrics:
    """The metrics of one machine. One thread feeds frames and asks.

    Args:
        machine: as it was at the start.
        capabilities: which signals it offers.
        catalog: its columns.
        request: what is exported.
    """

    def __init__(self, machine: Machine, capabilities: Capabilities, catalog: Catalog, request: ExportRequest) -> None:
        self._machine = machine
        self._capabilities = capabilities
        self._catalog = catalog
        self._request = request
        self._asked = ON_REQUEST.get(request.per, ())
        self._levels = (*USUAL, *self._asked)
        self._counters = known_counters(capabilities, self._levels)
        self._spreads = known_spreads(capabilities, catalog)
        self._gauges = tuple(one for one in GAUGES if one.signal in capabilities.signals and one.level in self._levels)
        self._totals = CounterTotals()
        self._meters = MeterMetrics(capabilities.signals)
        self._places: LevelPlaces | None = None
        self._info = about.machine_info(machine)
        self._reasons: tuple[Capabilities, Mapping[str, str]] | None = None

    @property
    def seconds(self) -> float:
        """Of what was fed."""
        return self._totals.seconds

    @property
    def columns(self) -> Sequence[ColumnId]:
        """The columns that have to be read."""
        return (*columns_of_spreads(self._spreads), *self._lowest(), *(one.id for one in self._request.columns))

    @property
    def signals(self) -> frozenset[SignalId]:
        """The signals that have to be read beside those of the columns."""
        wanted = signals_of_counters(self._counters, self._capabilities) | signals_of_spreads(self._spreads)
        wanted |= {one.signal for one in self._gauges} | self._meters.signals
        return frozenset(wanted & self._capabilities.signals.keys())

    def _lowest(self) -> Sequence[ColumnId]:
        column = self._catalog.get(LOWEST_RATIO)
        known = self._capabilities.signals.keys()
        return (LOWEST_RATIO,) if column is not None and set(column.needs) <= known else ()

    def feed(self, frame: Frame) -> None:
        """Add the increases of the newest frame."""
        self._totals.feed(frame, self._places_of(frame.topology), self._counters)
        self._meters.feed(frame)

    def metrics(self, frame: Frame | None, cost: OwnCost) -> Sequence[Exposed]:
        """What a scrape tells now, within the limits.

        Args:
            frame: the newest; None before the first: facts alone are known then.
            cost: of the collector.
        """
        marks = about.marks_of(self._machine.host.kind)
        common = sum(len(name) + len(value) + 4 for name, value in marks.items())
        parts = [part.read() for part in self._request.parts]
        found = [one for one in (*self._all(frame, cost), *(one for some, _ in parts for one in some)) if one.samples]
        left_out = {**self._meters.left_out, **{word: number for _, others in parts for word, number in others.items()}}
        asked = (*self._asked, COLUMN, *(level for part in self._request.parts for level in part.levels))
        kept = within(found, asked, common, series=self._request.series, size=self._request.size, others=left_out)
        return tuple(with_labels(kept, marks))

    def _reasons_in(self, capabilities: Capabilities) -> Mapping[str, str]:
        if self._reasons is None or self._reasons[0] is not capabilities:
            self._reasons = capabilities, about.source_reasons(self._machine, capabilities, _EXPORTED)
        return self._reasons[1]

    def _places_of(self, topology: Topology) -> LevelPlaces:
        if self._places is None or self._places.topology is not topology:
            self._places = LevelPlaces(topology, self._levels)
        return self._places

    def _all(self, frame: Frame | None, cost: OwnCost) -> Iterator[Exposed]:
        places = self._places_of(self._machine.topology if frame is None else frame.topology)
        yield self._info
        yield from about.counts(places)
        yield from about.collector(frame, cost, self.seconds)
        capabilities = self._capabilities if frame is None else frame.capabilities
        yield from about.sources_up(self._reasons_in(capabilities), frame)
        yield about.baseline_ratios(self._request.baselines)
        yield from self._meters.metrics(frame)
        for level in places.levels:
            for family in self._counters:
                if level in family.levels:
                    yield self._counter(family, level, places)
            if frame is not None:
                yield from self._gauges_of(frame, level, places)
                if level in (MACHINE, PACKAGE, *self._asked):
                    yield from column_metrics(frame, self._request.columns, level, places)

    def _counter(self, family: CounterFamily, level: MetricLevel, places: LevelPlaces) -> Exposed:
        labels, totals = places.labels(level), self._totals.of(family, level)
        signal = self._capabilities.signals.get(family.signals[0])
        document = "" if signal is None else signal.document
        samples = [(level.named(label), totals[key]) for key, label in labels.items() if key in totals]
        return Exposed(metric_name(level, family.stem), "counter", _help(family.text, document), samples, level)

    def _gauges_of(self, frame: Frame, level: MetricLevel, places: LevelPlaces) -> Iterator[Exposed]:
        for family in self._gauges:
            if family.level is level and family.signal in frame.capabilities.signals:
                yield self._gauge(frame, family, places)
        catalog, labels = self._catalog, places.labels(level)
        for one in self._spreads:
            if level in one.levels:
                column = catalog.get(one.column) if one.column else None
                found = spread(frame, one, places, level, catalog)
                samples = [({**level.named(labels[key]), "stat": stat}, value)
                           for key, values in found.items() if key in labels for stat, value in values.items()]
                document = "proc(5)" if column is None else column.document
                yield Exposed(metric_name(level, one.stem), "gauge", _help(one.text, document), samples, level,
                             spread=True)
        if level is MACHINE:
            yield from self._lowest_ratio(frame)

    def _gauge(self, frame: Frame, family: GaugeFamily, places: LevelPlaces) -> Exposed:
        signal = self._capabilities.signals[family.signal]
        labels = places.labels(family.level)
        owners = places.owners(family.level, signal.scope)
        samples = [(family.level.named(labels[key]), value)
                   for key, value in zip(owners, frame.levels(family.signal), strict=True)
                   if key is not None and value is not None]
        return Exposed(metric_name(family.level, family.stem), "gauge", _help(family.text, signal.document), samples,
                      family.level)

    def _lowest_ratio(self, frame: Frame) -> Iterator[Exposed]:
        for name in self._lowest():
            column = self._catalog.by_id[name]
            value = frame.cell(column, SYSTEM_ROW)
            if isinstance(value, int | float):
                yield Exposed("turbotui_machine_lowest_performance_ratio", "gauge", _help(
                    "APERF/MPERF of the slowest CPU that was busy for half of the last interval", column.document),
                    [({}, float(value))], MACHINE)


def _help(text: str, document: str) -> str:
    return f"{text} ({document})" if document else text
