"""The catalog: every column of the CPU table in print order, turbostat's columns with turbotui's beside related ones.

To add a column, add one `Column(...)` to the module of its category. Two entries may share an id: the first whose
needs this machine can meet is used (package or core energy; a C1 register or the derivation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError, nearest
from turbotui.feature_list import installed_parts
from turbotui.quantities.catalog import (
    clock,
    core_clock,
    frequency,
    graphics,
    hsmp,
    idle,
    interrupts,
    kernel,
    limits,
    meters,
    power,
    pressure,
    roofline,
    thermal,
    topology,
    uncore,
)
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.signals import Signal, SignalId

_BEFORE_CPUIDLE = (
    *clock.COLUMNS,
    *topology.COLUMNS,
    *frequency.COLUMNS,
    *core_clock.COLUMNS,
    *limits.LICENCE_COLUMNS,
    *frequency.CACHE_COLUMNS[:2],
    *interrupts.COLUMNS,
    *frequency.CACHE_COLUMNS[2:],
    *kernel.COLUMNS,
    *pressure.COLUMNS,
)
_AFTER_CPUIDLE = (
    *idle.CORE_COLUMNS,
    *thermal.CORE_COLUMNS,
    *limits.CORE_COLUMNS,
    *power.CORE_COLUMNS,
    *thermal.PACKAGE_COLUMNS,
    *limits.PACKAGE_COLUMNS,
    *graphics.COLUMNS,
    *idle.PACKAGE_COLUMNS,
    *power.PACKAGE_COLUMNS,
)
_AFTER_UNCORE = (*idle.DIE_COLUMNS, *power.SYSTEM_COLUMNS, *hsmp.COLUMNS)

STATIC_COLUMNS: tuple[CounterColumn, ...] = (*_BEFORE_CPUIDLE, *_AFTER_CPUIDLE, *uncore.COLUMNS, *_AFTER_UNCORE,
                                             *roofline.COLUMNS, *roofline.LEVEL_COLUMNS)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The columns of one machine, each id once."""

    columns: tuple[CounterColumn, ...]
    by_id: Mapping[ColumnId, CounterColumn]

    def mapped(self, present: Callable[[CounterColumn], CounterColumn]) -> Catalog:
        """This catalog with a function applied to every column, to change units or marks."""
        columns = tuple(map(present, self.columns))
        return Catalog(columns, {column.id: column for column in columns})

    def get(self, name: ColumnId) -> CounterColumn | None:
        """The column of exactly that name, or None."""
        return self.by_id.get(name)

    def words(self) -> tuple[str, ...]:
        """Every word that `select` understands: column names, then category names."""
        groups = {group for column in self.columns for group in column.groups}
        groups |= {column.category.value for column in self.columns}
        return (*self.by_id, "all", *sorted(groups - set(self.by_id)))

    def select(self, words: Iterable[str]) -> tuple[CounterColumn, ...]:
        """The columns that names and category words select, in print order, with those of their errors.

        Raises:
            UsageError: a word is neither a column nor a category; the message names the closest ones.
        """
        wanted: set[ColumnId] = set()
        for word in words:
            ids = self._meant(word)
            if not ids:
                what = f'unknown column "{word}"{nearest(word, self.words(), 3)}' if word else "a column without a name"
                raise UsageError(f"{what} (the columns of this machine: turbotui columns)")
            wanted |= ids
        wanted |= self.errors_of(wanted)
        return tuple(column for column in self.columns if column.id in wanted)

    def errors_of(self, names: Iterable[ColumnId]) -> set[ColumnId]:
        """The columns that tell how far values of these columns may be off, which no output goes without."""
        return {error.id for name in names if (error := self.by_id[name].error) is not None}

    def _meant(self, word: str) -> set[ColumnId]:
        if word in self.by_id:
            return {word}
        if word == "all":
            return set(self.by_id)
        return {column.id for column in self.columns if word in column.groups or word == column.category.value}


def catalog_for(signals: Mapping[SignalId, Signal]) -> Catalog:
    """The catalog of a machine that offers these signals: the static columns and those that only this machine has."""
    chosen: dict[ColumnId, CounterColumn] = {}
    order = (*_BEFORE_CPUIDLE, *idle.cpuidle_columns(signals), *_AFTER_CPUIDLE, *uncore.uncore_columns(signals),
             *_AFTER_UNCORE, *meters.meter_columns(signals), *roofline.roofline_columns(signals),
             *installed_parts("columns", CounterColumn))
    for column in order:
        previous = chosen.get(column.id)
        if previous is None or (not _can(previous, signals) and _can(column, signals)):
            chosen[column.id] = column
    # a variant keeps the place where it stands in the tables: a core's watts among core columns
    kept = tuple(
        replace(column, default=False) if column.default and not column.instead_of.isdisjoint(signals) else column
        for column in order if chosen[column.id] is column)
    return Catalog(kept, {column.id: column for column in kept})


def _can(column: CounterColumn, signals: Mapping[SignalId, Signal]) -> bool:
    return all(name in signals for name in column.needs)
