"""The table of resctrl groups, with columns for the machine's events, summed over the domains of a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.groups.columns import GroupColumn
from turbotui.features.groups.files import OCCUPANCY, Quantity
from turbotui.features.groups.model import CONTROL, DOMAIN, GroupRow
from turbotui.quantities.columns import PERCENT, Column, Value
from turbotui.quantities.tables import Cell, CellEvidence, Identity, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

RESCTRL: Final = "resctrl"
"""The name of the table."""
_DOCUMENT: Final = "kernel Documentation/filesystems/resctrl.rst"
_TOTAL, _LOCAL, _ENERGY = "mbm_total_bytes", "mbm_local_bytes", "core_energy"
_CYCLES, _UOPS, _STALLS_HIT, _STALLS_MISS = "unhalted_core_cycles", "uops_retired", "stalls_llc_hit", "stalls_llc_miss"
_GIGA: Final = 1e9
_MANY_DOMAINS: Final = 4
_NO_SUCH: Final = Unavailable(Reason.NO_HARDWARE, "info/*_MON/mon_features of resctrl has no such event here")
_NO_NUMBER: Final = Unavailable(Reason.OUT_OF_RANGE, "nothing to divide by was counted in this interval")


def _sum(row: GroupRow, event: Quantity, part: Callable[[GroupRow, Quantity], float | None]) -> float | None:
    """Sum an event over the domains of a row that know it; None if none does."""
    known = [value for domain in row.domains if (value := part(row, f"{domain} {event}")) is not None]
    return math.fsum(known) if known else None


def _rate(row: GroupRow, event: Quantity) -> float | None:
    return _sum(row, event, GroupRow.rate)


def _held(event: Quantity, divisor: float) -> Callable[[GroupRow], Value]:
    def compute(row: GroupRow) -> Value:
        value = _sum(row, event, lambda held_row, quantity: held_row.values.get(quantity))
        return None if value is None else value / divisor

    return compute


def _per_second(event: Quantity, divisor: float = 1.0) -> Callable[[GroupRow], Value]:
    def compute(row: GroupRow) -> Value:
        rate = _rate(row, event)
        return None if rate is None else rate / divisor if divisor != 1.0 else rate

    return compute


def _part(part: Quantity, whole: Quantity) -> Callable[[GroupRow], Value]:
    def compute(row: GroupRow) -> Value:
        amount, all_of_it = _rate(row, part), _rate(row, whole)
        return None if amount is None or not all_of_it else amount / all_of_it * 100.0

    return compute


def _remote(row: GroupRow) -> Value:
    total, local = _rate(row, _TOTAL), _rate(row, _LOCAL)
    return None if total is None or local is None or not total else (total - local) / total * 100.0


def _each(row: GroupRow) -> Value:
    joules, operations = _rate(row, _ENERGY), _rate(row, _UOPS)
    return None if joules is None or not operations else joules / operations * _GIGA


def _column(title: str, unit: str, needs: tuple[Quantity, ...], compute: Callable[[GroupRow], Value], help_text: str, *,
            decimals: int = 2, shown: bool = True, share: bool = False) -> GroupColumn:
    return Column(title, unit, decimals, needs, compute, help=help_text, document=_DOCUMENT, width=8, default=shown,
                  scale=PERCENT if share else None)


_IDENTITY: Final[tuple[GroupColumn, ...]] = (
    Column("Path", "", -1, (), lambda row: row.group.path, width=30, priority=9, default=False, identity=True,
           help="The path of the group below the mount of resctrl."),
    Column("Domain", "", -1, (), lambda row: row.group.domain or None, width=8, priority=9, default=False,
           identity=True, help="The L3 cache or package to which the row's counts belong."),
    Column("Group", "", -1, (), lambda row: row.group.name, width=20, priority=0, identity=True,
           help="The group (CTRL_MON: with all that is in it), a MON group in it, or one of its domains."),
)
_KNOWN: Final[tuple[GroupColumn, ...]] = (
    _column("L3", "MiB", (OCCUPANCY,), _held(OCCUPANCY, 2.0**20),
            "Bytes that the group's tasks occupy in the L3 cache now."),
    _column("MemBW", "GB/s", (_TOTAL,), _per_second(_TOTAL, _GIGA),
            "Bytes that missed the L3 cache of the domain, from all memory."),
    _column("LocalBW", "GB/s", (_LOCAL,), _per_second(_LOCAL, _GIGA),
            "Bytes that missed the L3 cache, from memory of the same socket or node."),
    _column("Remote%", "%", (_TOTAL, _LOCAL), _remote,
            "Share of the bytes that came from memory of other sockets or nodes.", decimals=1, share=True),
    _column("CorWatt", "W", (_ENERGY,), _per_second(_ENERGY),
            "Power of the cores while they ran the group, with their L1 and L2 caches: measured by the processor's "
            "telemetry for each RMID. L3, memory and devices are not in it."),
    _column("nJ/uop", "nJ", (_ENERGY, _UOPS), _each, "Energy of the cores for each micro-operation."),
    _column("Uops", "G/s", (_UOPS,), _per_second(_UOPS, _GIGA), "Micro-operations retired."),
    _column("StallL3%", "%", (_STALLS_HIT, _CYCLES), _part(_STALLS_HIT, _CYCLES),
            "Share of the cycles in which the core waited for loads that hit the L3 cache.", decimals=1,
            share=True),
    _column("StallMem%", "%", (_STALLS_MISS, _CYCLES), _part(_STALLS_MISS, _CYCLES),
            "Share of the cycles in which the core waited for loads that missed the L3 cache.", decimals=1,
            share=True),
    _column("Activity", "F/s", ("activity",), _per_second("activity"),
            "Work done, independently of the clock, as the dynamic capacitance that was switched.", shown=False),
)
_SPOKEN_FOR: Final = frozenset(need for column in _KNOWN for need in column.needs)


def resctrl_columns(events: Iterable[Quantity]) -> tuple[GroupColumn, ...]:
    """Return the columns whose events a machine has, and a plain rate for each event without a column."""
    events = tuple(events)
    fitting = tuple(column for column in _KNOWN if set(column.needs) <= set(events))
    others = tuple(
        _column(event, "/s", (event,), _per_second(event), f"The event {event} of resctrl, a second.", decimals=0,
                shown=False)
        for event in events if event not in _SPOKEN_FOR or not any(event in column.needs for column in fitting))
    return (*_IDENTITY, *fitting, *others)


class ResctrlTable(RowTable[GroupRow]):
    """The resctrl groups of an interval."""

    def identify(self, row: GroupRow) -> Identity:
        """Identify a row: domains, MON groups and CTRL_MON groups are different kinds of rows."""
        return replace(super().identify(row), kind=row.group.kind)

    def own_rows(self, _column: Column[GroupRow]) -> Sequence[GroupRow]:
        """Rows that hold each value once: the domains, whose sums the groups are."""
        return [row for row in self.rows if row.group.kind == DOMAIN]


def resctrl_table(rows: Iterable[GroupRow], columns: Sequence[GroupColumn]) -> ResctrlTable:
    """Make the table of an interval."""
    return ResctrlTable(RESCTRL, CONTROL, tuple(columns), tuple(rows), _judged, _basis)


def _quantities(column: GroupColumn, row: GroupRow) -> list[Quantity]:
    """Return the quantities behind a cell, in every domain that has them."""
    return [f"{domain} {need}" for need in column.needs for domain in row.domains if f"{domain} {need}" in row.files]


def _judged(column: GroupColumn, row: GroupRow, value: Value) -> Cell:
    made_of = _quantities(column, row)
    missing = next((why for quantity in made_of if (why := row.why(quantity)) is not None), None)
    if value is not None:
        return Cell(value, partial=missing is not None)
    if column.identity:
        return Cell(None, Unavailable(Reason.NOT_SET, "the row is of all domains of the group"))
    return Cell(None, missing or (_NO_NUMBER if made_of else _NO_SUCH))


def _basis(column: GroupColumn, row: GroupRow) -> CellEvidence:
    readings = []
    for quantity in _quantities(column, row):
        why = row.why(quantity)
        if why is not None:
            readings.append((f"{quantity}: {why.sentence()}",))
        elif quantity in row.increases:
            readings.append((f"{quantity}: +{row.increases[quantity]:,.4g} in {row.span(quantity) or 0.0:.3f} s",))
        else:
            readings.append((f"{quantity}: {row.values[quantity]:,.0f}",))
    return CellEvidence(readings=tuple(readings), remarks=(f"resctrl group {row.group.path}",))


def has_many_domains(rows: Iterable[GroupRow]) -> bool:
    """Tell whether groups have so many domains that only their sums are shown first."""
    return any(len(row.domains) > _MANY_DOMAINS for row in rows)
