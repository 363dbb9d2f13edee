"""Metrics of the rows of a kind, only on request: totals of its counters and its gauges, of the greatest rows."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.levels import MetricLevel
from turbotui.features.export.live.totals import RecentTotals
from turbotui.quantities.row_kinds import Form, Quantity
from turbotui.quantities.signals import Behavior
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_tables import KindDefinition, KindRow
from turbotui.sampling.rows import RowIdentity

_UNITS: Mapping[Unit, str] = {
    Unit.SECOND: "seconds", Unit.BYTE: "bytes", Unit.JOULE: "joules", Unit.CYCLE: "cycles", Unit.RATIO: "ratio",
    Unit.HERTZ: "hertz", Unit.WATT: "watts", Unit.VOLT: "volts", Unit.AMPERE: "amperes", Unit.CELSIUS: "celsius",
    Unit.COULOMB: "coulombs"}


class RowMetrics:
    """The counters of at most `most` rows of a kind, as sums of increases since the start, and their gauges.

    Rows inside others are left out, because the others have their counts, unless the kind is unfolded. A gauge that was
    not read in the last interval has no value, and a counter none that was unknown in the last three.
    """

    def __init__(self, definition: KindDefinition, most: int) -> None:
        self.definition = definition
        self.levels = (MetricLevel(definition.source.kind.word, None),)
        aids = {aid for quantity in definition.source.quantities for aid in (quantity.gaps, quantity.unsure)}
        self._counters = [quantity for quantity in definition.source.quantities
                          if quantity.behavior is Behavior.COUNTER and quantity.id not in aids]
        self._gauges = [quantity for quantity in definition.source.quantities
                        if quantity.behavior is Behavior.GAUGE and quantity.form is not Form.TEXT
                        and quantity.id not in aids]
        self._most = most
        self._totals: dict[RowIdentity, RecentTotals] = {}  # and the newest gauges
        self._labels: dict[RowIdentity, Mapping[str, str]] = {}

    def feed(self, frame: Frame) -> None:
        """Add an interval; rows that have ended are forgotten, because others may have their names."""
        differences = frame.kind(self.definition.source.kind.id)
        if isinstance(differences, Unavailable) or differences.missed is not None or differences.older is None:
            for totals in self._totals.values():
                for counter in self._counters:
                    totals.add(counter.id, None)
                for gauge in self._gauges:
                    totals.values.pop(gauge.id, None)
            return
        kept: dict[RowIdentity, RecentTotals] = {}
        for slot, row in differences.newer.roster.rows.items():
            if slot in differences.newer.died or not self.definition.has_row(row):
                continue
            totals = kept[row.identity] = self._totals.get(row.identity) or RecentTotals()
            for counter in self._counters:
                if differences.lacks(counter.id, slot):
                    totals.values.pop(counter.id, None)  # a scrape has no marks
                else:
                    totals.add(counter.id, differences.deltas(counter.id)[slot])
            for gauge in self._gauges:
                level = None if differences.lacks(gauge.id, slot) else differences.level(gauge.id, slot)
                if level is None:
                    totals.values.pop(gauge.id, None)
                else:
                    totals.values[gauge.id] = level
            self._labels[row.identity] = self._labels_of(KindRow(differences, slot, row))
        self._totals = kept
        self._labels = {identity: labels for identity, labels in self._labels.items() if identity in kept}

    def _labels_of(self, row: KindRow) -> Mapping[str, str]:
        """Every identity, by the column's name; of rows that share it, their key, too."""
        labels = {column.id.lower(): str(value) for column in self.definition.columns
                  if column.identity and (value := column.compute(row)) is not None}
        return labels if row.row.key in labels.values() else {**labels, "key": row.row.key}

    def read(self) -> tuple[Sequence[ExposedMetric], Mapping[str, int]]:
        """The totals and gauges of the rows that are greatest in the first of them, and the number of the others."""
        exported = [*self._counters, *self._gauges]
        first = exported[0].id if exported else ""
        chosen = heapq.nlargest(self._most, self._totals, key=lambda row: self._totals[row].values.get(first, 0.0))
        return [self._metric(quantity, chosen) for quantity in exported], {
            self.definition.source.kind.id: len(self._totals) - len(chosen)}

    def _metric(self, quantity: Quantity, chosen: Sequence[RowIdentity]) -> ExposedMetric:
        level = self.levels[0]
        unit = _UNITS.get(quantity.unit, "")
        stem = quantity.id.replace(".", "_")
        name = f"turbotui_{level.word}_{stem}" + (f"_{unit}" if unit and not stem.endswith(unit) else "")
        samples = [(self._labels[row], value) for row in chosen
                   if (value := self._totals[row].values.get(quantity.id)) is not None]
        text = f"{quantity.id} of each of the {self.definition.source.kind.title}"
        return ExposedMetric(name, quantity.behavior.value, f"{text} ({quantity.document or quantity.origin})", samples,
                             level)
