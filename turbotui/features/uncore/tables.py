"""Uncore tables: a row for each unit and sum, a column for each metric, and a column of filters if any are set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.events.uncore.discovery import UNKNOWN
from turbotui.features.uncore.counters import Reading, UncoreCounters
from turbotui.features.uncore.explaining import evidence_of, unapplied_of
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow
from turbotui.features.uncore.ports import PortMap
from turbotui.features.uncore.stacks import LINKS, STACKS, StackMap
from turbotui.quantities.columns import PERCENT, Column, Value
from turbotui.quantities.marks import sign_above_peak
from turbotui.quantities.tables import Cell, CellEvidence, Identity, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.uncore import Metric
from turbotui.sampling.frame import Frame

PLACE: Final[Column[UnitRow]] = Column("place", "", -1, (), lambda row: row.label, width=8, identity=True,
                                       help="its place and number; Σ: the sum over the units of a package")
_IDENTITY: Final = ("place", "package", "die", "pmu", "cpu")
_ENDS: Final = {LINKS: ("to", "the die and the link at the other end"),
                STACKS: ("devices", "below the root ports of the stack")}
_NO_FRAME: Final = Reading(why=Unavailable(Reason.NOT_READ, "waiting for the first reading"))


@dataclass(frozen=True, slots=True)
class FullestUnit:
    """The unit of a table that is nearest to its peak, and its share of the peak."""

    words: str
    share: float


@dataclass(frozen=True, kw_only=True)
class UncoreTable(RowTable[UnitRow]):
    """One kind of uncore PMU over one interval, named after the kind; made by `uncore_table`."""

    counters: UncoreCounters
    units: UncoreUnits  # the kind
    frame: Frame | None  # the interval's frame; None before the first
    ports: PortMap | None = None  # the machine's root ports, for a column; None without that column
    _readings: dict[tuple[str, str], Reading] = field(default_factory=dict, compare=False, repr=False)

    @property
    def identity(self) -> Sequence[str]:
        """Words that identify a row: a unit's position, its PMU in sysfs, and the CPU on which it is opened."""
        return _IDENTITY

    def identify(self, row: UnitRow) -> Identity:
        """Identify a row; the units of a sum are those of its package."""
        names: dict[str, Value] = {"place": row.label}
        if row.package != UNKNOWN:
            names["package"] = row.package
        if row.is_sum:
            return Identity("machine" if row.package == UNKNOWN else "package", names)
        unit = row.units[0]
        if unit.die != UNKNOWN:
            names["die"] = unit.die
        return Identity("unit", {**names, "pmu": unit.pmu.name, "cpu": unit.cpu})

    def reading(self, row: UnitRow, metric: Metric) -> Reading:
        """Return a value with its inputs, computed once."""
        key = (row.key, metric.id)
        if key not in self._readings:
            self._readings[key] = (_NO_FRAME if self.frame is None
                                   else self.counters.reading(self.frame, self.units, row, metric))
        return self._readings[key]

    def values(self, column: Column[Any], rows: Sequence[UnitRow]) -> Sequence[Value]:
        return [self.reading(row, column).value if isinstance(column, Metric) else column.compute(row) for row in rows]

    def cell(self, column: Column[Any], row: UnitRow) -> Cell:
        if not isinstance(column, Metric):
            return Cell(column.compute(row))
        reading = self.reading(row, column)
        return Cell(reading.value, reading.why, reading.estimated, reading.partial).held_against(column)

    def evidence(self, column: Column[Any], row: UnitRow) -> CellEvidence:
        if not isinstance(column, Metric):
            return CellEvidence()
        return evidence_of(self.counters, self.units, row, column, self.reading(row, column), ports=self.ports)

    def own_rows(self, _column: Column[Any]) -> Sequence[UnitRow]:
        """Rows that hold each value once: the units, whose sums the other rows are."""
        return [row for row in self.rows if not row.is_sum]

    @property
    def counts(self) -> bool:
        """Whether any event of the kind is counted."""
        return bool(self._metrics)

    @property
    def _metrics(self) -> Sequence[Metric]:
        columns: Sequence[Column[Any]] = self.columns
        return [column for column in columns if isinstance(column, Metric)]

    def fullest(self) -> FullestUnit | None:
        """Return the unit nearest to its peak; None if no column of this kind has a peak."""
        loads = [column for column in self._metrics if column.scale is PERCENT]
        fullest = [(value, row, column) for column in loads for row in self.own_rows(column)
                   if isinstance(value := self.reading(row, column).value, int | float)]
        if not fullest:
            return None
        value, row, column = max(fullest, key=lambda load: load[0])
        which = f"{row.label} {column.heading[0].removesuffix('used').removesuffix('of peak')}".strip()
        return FullestUnit(f"{which} {value:.1f} %{sign_above_peak(value / 100)}", value / 100)

    def reasons(self) -> tuple[str, ...]:
        """Return a sentence for each reason of unknown values."""
        if not any(isinstance(column, Metric) for column in self.columns):
            return (no_events(self.units),)
        unfiltered: dict[str, dict[str, None]] = {}
        for row in self.rows:
            for why in (self.cell(column, row).why for column in self.columns):
                if why is not None:
                    sentence = why.sentence()
                    alike = re.sub(rf"{re.escape(self.name)}_\d+(?=[/ :])", self.name, sentence)
                    unfiltered.setdefault(alike, {})[sentence] = None
        return tuple(next(iter(same)) if len(same) == 1 else f"{alike} (of {len(same)} PMUs)"
                     for alike, same in unfiltered.items())

    def unfiltered(self) -> tuple[str, ...]:
        """Return a sentence for each column that counts more than the filters of its rows say."""
        unfiltered: dict[str, dict[str, None]] = {}
        for column in self._metrics:
            for row in self.own_rows(column):
                for sentence in unapplied_of(self.counters, row, column):
                    unfiltered.setdefault(sentence, {})[" ".join(column.heading).strip()] = None
        return tuple(f"{', '.join(titles)}: {sentence}" for sentence, titles in unfiltered.items())


@dataclass(frozen=True)  # compared by value, so that the column is the same in successive frames
class _Filters:
    counters: UncoreCounters
    units: UncoreUnits

    def __call__(self, row: UnitRow) -> str:
        return self.counters.filters_in_words(self.units, row)


@dataclass(frozen=True)
class _Notes:
    """What the maps of ports or stacks say of a row's unit."""

    noted: PortMap | StackMap

    def __call__(self, row: UnitRow) -> str:
        """The note; "" for a sum."""
        return "" if row.is_sum else self.noted.note(row.units[0])


def uncore_table(counters: UncoreCounters, units: UncoreUnits, frame: Frame | None,
                 ports: PortMap | None = None) -> UncoreTable:
    """Make the table of a kind."""
    counters.follow(frame)
    columns: tuple[Column[Any], ...] = (PLACE, *counters.shown(units))
    if any(counters.settings(unit.pmu.name) for unit in units.units):
        columns += (Column("filters", "", -1, (), _Filters(counters, units), width=0,
                           help="filters of the row's counts"),)
    if ports is not None and any("_rc_" in unit.pmu.name for unit in units.units):
        columns += (Column("root ports", "", -1, (), _Notes(ports), width=0,
                           help="root ports whose traffic the row counts"),)
    if units.kind.id in _ENDS and any(unit.peer for unit in units.units):
        name, words = _ENDS[units.kind.id]
        columns += (Column(name, "", -1, (), _Notes(counters.stacks), width=0, help=words),)
    return UncoreTable(units.kind.id, "unit", columns, units.rows, counters=counters, units=units, frame=frame,
                       ports=ports)


def no_events(units: UncoreUnits) -> str:
    """Say that no events of some PMUs are counted, and what to do."""
    fields = ", ".join(sorted(units.pmu.formats)) or "none"
    return (f"nothing is counted of {units.pmu.name}: the kernel names no events of these PMUs, and this processor's "
            f"are not known here; -e {units.kind.id}/event=0x1/ counts one by its terms (fields: {fields})")
