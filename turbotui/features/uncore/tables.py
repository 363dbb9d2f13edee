"""Panels as tables: a row for each unit and each sum, a column for each metric, the filters where there are some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from turbotui.events.uncore.discovery import UNKNOWN
from turbotui.features.uncore.board import Board
from turbotui.features.uncore.panels import Row, UncoreUnits
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import Cell, CellEvidence, Identity, RowTable
from turbotui.quantities.uncore import Metric
from turbotui.sampling.frame import Frame

_PLACE: Final[Column[Row]] = Column("place", "", -1, (), lambda row: row.label, width=8, identity=True,
                                    help="its place and number; Σ: the sum over the units of a package")
_IDENTITY: Final = ("place", "package", "die", "pmu", "cpu")


@dataclass(frozen=True, slots=True)
class PanelTable:
    """One kind of uncore PMU over one interval, as a `tables.Table`. Its name is that of the kind."""

    board: Board
    panel: UncoreUnits
    frame: Frame

    @property
    def name(self) -> str:
        """See `tables.Table.name`."""
        return self.panel.kind.id

    @property
    def identity(self) -> Sequence[str]:
        """See `tables.Table.identity`: where a unit is, its PMU in sysfs, the CPU that it is opened on."""
        return _IDENTITY

    @property
    def columns(self) -> Sequence[Column[Any]]:
        """See `tables.Table.columns`."""
        filters = Column("filters", "", -1, (), self._filters, width=0, help="what a row leaves out")
        filtered = any(self.board.settings(unit.pmu.name) for unit in self.panel.units)
        return (_PLACE, *self.board.shown(self.panel), *((filters,) if filtered else ()))

    def _filters(self, row: Row) -> str:
        return self.board.filters_said(self.panel, row)

    @property
    def rows(self) -> Sequence[Row]:
        """See `tables.Table.rows`."""
        return self.panel.rows

    def identify(self, row: Row) -> Identity:
        """See `tables.Table.identify`. The units of a sum are those of its package."""
        names: dict[str, Value] = {"place": row.label}
        if row.package != UNKNOWN:
            names["package"] = row.package
        if row.is_sum:
            return Identity("machine" if row.package == UNKNOWN else "package", names)
        unit = row.units[0]
        if unit.die != UNKNOWN:
            names["die"] = unit.die
        return Identity("unit", {**names, "pmu": unit.pmu.name, "cpu": unit.cpu})

    def values(self, column: Column[Any], rows: Sequence[Row]) -> Sequence[Value]:
        """See `tables.Table.values`."""
        return [self.cell(column, row).value for row in rows]

    def cell(self, column: Column[Any], row: Row) -> Cell:
        """See `tables.Table.cell`."""
        if not isinstance(column, Metric):
            return Cell(column.compute(row))
        reading = self.board.reading(self.frame, self.panel, row, column)
        return Cell(reading.value, reading.why, reading.estimated, reading.partial)

    def evidence(self, column: Column[Any], row: Row) -> CellEvidence:
        """See `tables.Table.evidence`."""
        del row
        return CellEvidence((f"= {column.formula}",) if column.formula else ())

    def own_rows(self, column: Column[Any]) -> Sequence[Row]:
        """See `tables.Table.own_rows`: the units, of which the sums are made."""
        del column
        return [row for row in self.rows if not row.is_sum]

    def formula(self, column: Column[Any]) -> str:
        """See `tables.Table.formula`."""
        return column.formula

    def reasons(self) -> tuple[str, ...]:
        """Why values are unknown, a sentence each."""
        cells = (self.cell(column, row) for row in self.rows for column in self.columns)
        return tuple(dict.fromkeys(cell.why.sentence() for cell in cells if cell.why is not None))


def no_units() -> RowTable[Row]:
    """The table of a machine that has no uncore PMU."""
    return RowTable("uncore", "unit", (_PLACE,), ())
