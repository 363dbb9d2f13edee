"""Edges of the map of traffic between packages, memory, links and devices, by derived values of PMUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.events.uncore.discovery import UNKNOWN, UncoreUnit
from turbotui.features.uncore.counters import Reading, UncoreCounters
from turbotui.features.uncore.explaining import evidence_of
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow
from turbotui.machine.machine import Machine
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Column
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.tables import Cell, CellEvidence, Identity, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.uncore import EdgeKind, EdgeRow, Metric
from turbotui.sampling.frame import Frame

_UNIT: Final = "GB/s"
_SAME_MEMORY: Final = {"uncore_imc_free_running": "uncore_imc", "arm_cmn": "arm_dmc620"}
"""Kinds of PMU that count the same memory traffic as another kind, at the requester or less exactly."""
_TOGETHER: Final = Unavailable(Reason.NO_HARDWARE, "this PMU counts both directions together: see total")
NO_EDGES: Final = ("no uncore PMU here counts bytes between packages, memory and devices; "
                   "turbotui uncore shows what they count")
_WAITING: Final = Reading(why=Unavailable(Reason.NOT_READ, "waiting for the first reading"))


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of a machine."""

    key: str  # the edge's key in every interval
    place: EdgeRow  # the edge's definition: kind, label and names of the values
    units: UncoreUnits  # the kind of PMU
    row: UnitRow  # the units that count it, added
    package: int  # sysfs's id; -1 if unknown
    end: str  # the other end, for people

    @property
    def start(self) -> str:
        """The package, for people; "machine" for PMUs that do not tell their package."""
        return "machine" if self.package == UNKNOWN else f"package {self.package}"

    @property
    def source(self) -> str:
        """The PMUs that count the edge."""
        names = list(dict.fromkeys(unit.pmu.name for unit in self.row.units))
        return names[0] if len(names) == 1 else f"{len(names)} x {self.units.kind.id}"

    @property
    def together(self) -> bool:
        """Whether one value counts both directions."""
        return bool(self.place.inward) and self.place.inward == self.place.outward

    def metric(self, name: str) -> Metric | None:
        """Return the metric of a name if it can be counted here, else None."""
        return next((metric for metric in self.units.metrics if metric.what == name and metric.unit == _UNIT), None)

    def metrics(self) -> Iterator[Metric]:
        """Return all metrics that the edge needs."""
        for name in dict.fromkeys((self.place.inward, self.place.outward, self.place.peak)):
            metric = self.metric(name) if name else None
            if metric is not None:
                yield metric


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of an edge in an interval, in GB/s with the inputs of each value.

    Attributes:
        inward: into the package.
        outward: out of it.
        total: both.
        peak: the peak in each direction, or of both if they share it.
        sender: the edge at the other package whose outward traffic is this edge's inward traffic; None if counted here.
        share: the share of the peak, 0 to 1; None if unknown.
    """

    edge: Edge
    inward: Reading
    outward: Reading
    total: Reading
    peak: Reading
    sender: Edge | None = None

    @property
    def directions(self) -> tuple[Reading, ...]:
        """The readings that the share of the peak rests on."""
        both = self.edge.place.kind.shared or self.edge.together
        return (self.total,) if both else (self.inward, self.outward)

    @property
    def is_partial(self) -> bool:
        """Whether a part of its traffic is unknown that is counted here: an offline unit, or a direction."""
        return any(reading.partial or (reading.why is not None and reading.why.reason is not Reason.NO_HARDWARE)
                   for reading in self.directions)

    @property
    def share(self) -> float | None:
        """Share of the peak, of the busier direction where each has a peak of its own; None where neither is known."""
        peak = self.peak.value
        known = [reading.value for reading in self.directions if reading.value is not None]
        return max(known) / peak if known and peak else None


def find_edges(machine: Machine, kinds: Sequence[UncoreUnits]) -> tuple[Edge, ...]:
    """Return every edge that a PMU of the machine counts, sorted by package."""
    dies = {(place.package, place.die) for place in machine.topology.places.values()}
    packages = _Packages(tuple(sorted({package for package, _die in dies})), len(dies))
    edges = [edge for units in kinds for place in units.edges for edge in _edges(packages, units, place)]
    memory = {(edge.units.kind.id, edge.package) for edge in edges
              if edge.place.kind is EdgeKind.MEMORY and edge.units.metrics}
    order = list(EdgeKind)
    return tuple(sorted((edge for edge in edges if edge.place.kind is not EdgeKind.MEMORY
                         or (_SAME_MEMORY.get(edge.units.kind.id, ""), edge.package) not in memory),
                        key=lambda edge: (edge.package, order.index(edge.place.kind))))


def metrics_by_kind(edges: Sequence[Edge]) -> Mapping[str, tuple[Metric, ...]]:
    """Return the metrics that edges need, by the id of the kind of PMU."""
    by_kind: dict[str, dict[Metric, None]] = {}
    for edge in edges:
        by_kind.setdefault(edge.units.kind.id, {}).update(dict.fromkeys(edge.metrics()))
    return {kind: tuple(metrics) for kind, metrics in by_kind.items()}


@dataclass(frozen=True, slots=True)
class _Packages:
    """The packages of a machine, and its number of dies, by which links are named."""

    ids: tuple[int, ...]
    dies: int


def _edges(packages: _Packages, units: UncoreUnits, place: EdgeRow) -> Iterator[Edge]:
    if place.kind is EdgeKind.MEMORY:
        for package in dict.fromkeys(unit.package for unit in units.units):
            row = next(row for row in units.rows if (row.package, row.parent, row.is_machine) == (package, None, False))
            known = _placed(packages, package)
            name = place.label or "memory"
            yield Edge(f"{row.key}.{name}", place, units, row, known, name if known == UNKNOWN else f"{name} {known}")
        return
    for row in units.rows:
        if not row.is_sum:
            unit = row.units[0]
            key = f"{row.key}.{place.kind.value}.{place.label}"
            end = _end(packages, units, place, unit)
            yield Edge(key, place, units, row, _placed(packages, unit.package), end)


def _placed(packages: _Packages, package: int) -> int:
    """Return a unit's package; an unknown package is the only one of a single-package machine."""
    return packages.ids[0] if package == UNKNOWN and len(packages.ids) == 1 else package


def _end(packages: _Packages, units: UncoreUnits, place: EdgeRow, unit: UncoreUnit) -> str:
    """Return the other end of a unit's edge."""
    number = unit.pmu.name.removeprefix(f"{units.kind.id}_") if len(units.find(unit.package)) > 1 else ""
    label = " ".join(filter(None, (place.label or units.kind.title, number)))
    if place.kind is EdgeKind.PACKAGE:
        others = [package for package in packages.ids if package != unit.package]
        far = _far_end(unit) if len(packages.ids) == packages.dies else None
        other = far if far is not None else others[0] if len(others) == 1 else None
        return f"package {'?' if other is None else other} by {label}"
    if place.kind is EdgeKind.DEVICE:
        return f"{label} {unit.peer}".strip()
    return label + (f" ({unit.peer})" if unit.peer else "")


def _far_end(unit: UncoreUnit) -> int | None:
    """Return the package at the other end of a link, from sysfs-devices-mapping ("upi_1,die_3")."""
    return whole_number(unit.peer.rpartition("die_")[2]) if "die_" in unit.peer else None


def traffic_of(counters: UncoreCounters, frame: Frame | None, edges: Sequence[Edge]) -> tuple[Traffic, ...]:
    """Return the traffic of each edge in a frame's interval."""
    if frame is None:
        return tuple(Traffic(edge, _WAITING, _WAITING, _WAITING, _WAITING) for edge in edges)
    counters.follow(frame)
    traffic = [_traffic(counters, frame, edge) for edge in edges]
    return tuple(replace(row, inward=sent.outward, total=_sum(sent.outward, row.outward), sender=sent.edge)
                 if (sent := _sender(row, traffic)) is not None else row for row in traffic)


def _sender(row: Traffic, rows: Sequence[Traffic]) -> Traffic | None:
    """Return the other package's edge whose outward traffic is this edge's inward traffic, if not counted here."""
    place = row.edge.place
    if place.kind is not EdgeKind.PACKAGE or place.inward or not place.outward:
        return None
    alike = [traffic for traffic in rows if traffic.edge.place is place]
    others = [traffic for traffic in alike if traffic.edge.package != row.edge.package]
    # of more than two packages the sender is unknown
    return others[0] if len(alike) == 2 and len(others) == 1 else None


def _sum(first: Reading, other: Reading) -> Reading:
    """Add two directions; unknown if one is."""
    if first.value is None or other.value is None:
        return Reading(why=first.why or other.why)
    return Reading(first.value + other.value, None, first.estimated or other.estimated, first.partial or other.partial)


def _traffic(counters: UncoreCounters, frame: Frame, edge: Edge) -> Traffic:
    def read(name: str, absent: Unavailable) -> Reading:
        metric = edge.metric(name) if name else None
        return Reading(why=absent) if metric is None else counters.reading(frame, edge.units, edge.row, metric)

    title = edge.units.kind.title
    peak = read(edge.place.peak, Unavailable(Reason.NO_HARDWARE, f"{title} has no peak: {edge.units.kind.no_peak}"))
    if edge.together:
        both = read(edge.place.inward, _uncounted(title))
        return Traffic(edge, Reading(why=_TOGETHER), Reading(why=_TOGETHER), both, peak)
    inward, outward = (read(name, _uncounted(title)) for name in (edge.place.inward, edge.place.outward))
    return Traffic(edge, inward, outward, _sum(inward, outward), peak)


def _of_others(column: str, row: Traffic) -> CellEvidence:
    """Return the evidence of a cell that is computed from other cells of its row."""
    def text_of(reading: Reading) -> str:
        return "—" if reading.value is None else f"{reading.value:.3f}"

    if column == "total":
        if row.edge.together:
            return CellEvidence((f"= {row.edge.place.inward}, which counts both directions",))
        return CellEvidence(("= in + out", f"= {text_of(row.inward)} + {text_of(row.outward)}"))
    both = row.total in row.directions
    parts = text_of(row.total) if both else f"max({text_of(row.inward)}, {text_of(row.outward)})"
    return CellEvidence((f"= 100 * {'total' if both else 'max(in, out)'} / peak",
                         f"= 100 * {parts} / {text_of(row.peak)}"))


def _uncounted(title: str) -> Unavailable:
    detail = f"{title} counts no bytes of this direction, or this kernel does not name them"
    return Unavailable(Reason.NO_HARDWARE, detail)


_FROM: Final[Column[Traffic]] = Column("from", "", -1, (), lambda row: row.edge.start, width=10, identity=True,
                                       help="number of the package")
_TO: Final[Column[Traffic]] = Column("to", "", -1, (), lambda row: row.edge.end, width=22, identity=True,
                                     help="memory, another package, or the other end of a link or port")
_NUMBERS: Final[tuple[Column[Traffic], ...]] = (
    Column("in", _UNIT, 3, (), lambda row: row.inward.value, width=9,
           help="traffic into the package: reads of memory, or data received over a link or from devices"),
    Column("out", _UNIT, 3, (), lambda row: row.outward.value, width=9,
           help="traffic out of the package: writes to memory, or data sent over a link or to devices"),
    Column("total", _UNIT, 3, (), lambda row: row.total.value, width=9, help="traffic in both directions"),
    Column("peak", _UNIT, 1, (), lambda row: row.peak.value, width=9,
           help="peak bandwidth: of memory in both directions together, of a link in each direction"),
    Column("of peak", "%", 1, (), lambda row: None if row.share is None else 100.0 * row.share,
           width=8, of_peak=True,
           help="share of the peak: of memory by both directions together, of a link by the busier counted direction"),
)
_BY: Final[Column[Traffic]] = Column("by", "", -1, (), lambda row: row.edge.source, width=24,
                                     help="PMUs that count the traffic")
_READ: Final = {"in": "inward", "out": "outward", "total": "total", "peak": "peak"}


@dataclass(frozen=True, kw_only=True)
class TrafficTable(RowTable[Traffic]):
    """The edges over one interval, made by `traffic_table`."""

    counters: UncoreCounters = field(compare=False)

    @property
    def identity(self) -> Sequence[str]:
        return ("from", "to")

    def identify(self, row: Traffic) -> Identity:
        return Identity("edge", {"from": row.edge.start, "to": row.edge.end})

    def cell(self, column: Column[Any], row: Traffic) -> Cell:
        if column.id == "of peak":
            reading = row.peak if row.peak.value is None else row.total
            return Cell(column.compute(row), None if row.share is not None else reading.why,
                        any(part.estimated for part in row.directions), row.is_partial).held_against(column)
        if column.id not in _READ:
            return Cell(column.compute(row))
        own_reading: Reading = getattr(row, _READ[column.id])
        return Cell(own_reading.value, own_reading.why, own_reading.estimated, own_reading.partial)

    def evidence(self, column: Column[Any], row: Traffic) -> CellEvidence:
        edge, place = row.edge, row.edge.place
        if column.id in ("total", "of peak"):
            return _of_others(column.id, row)
        name = {"in": place.inward, "out": place.outward, "peak": place.peak}.get(column.id, "")
        if column.id == "in" and row.sender is not None:
            edge, name = row.sender, row.sender.place.outward
        if (metric := edge.metric(name)) is None:
            return CellEvidence()
        reading: Reading = getattr(row, _READ[column.id])
        return evidence_of(self.counters, edge.units, edge.row, metric, reading, ports=None)

    def reasons(self) -> tuple[str, ...]:
        """Return a sentence for each reason of unknown values, with its edges."""
        reasons = lists_by_key((why.sentence(), f"{row.edge.start}-{row.edge.end}") for row in self.rows
                               for column in _NUMBERS[:4]
                               if (why := self.cell(column, row).why) is not None and why is not _TOGETHER)
        return tuple(f"{', '.join(dict.fromkeys(edges[:3]))}{', ...' if len(edges) > 3 else ''}: {why}"
                     for why, edges in reasons.items())


def traffic_table(counters: UncoreCounters, traffic: Sequence[Traffic]) -> TrafficTable:
    """Make the table of the map's edges."""
    return TrafficTable("traffic", "edge", (_FROM, _TO, *_NUMBERS, _BY), tuple(traffic), counters=counters)
