"""The table of control groups: values with marks, reasons of unknown values, and evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.columns import ALL, BY_CYCLES, COLUMNS, ENERGY, JOULES, MINE, SWITCHES, GroupColumn
from turbotui.features.groups.event_columns import ENABLED, PERF, counted_share, cycles_in, is_scaled
from turbotui.features.groups.files import Quantity
from turbotui.features.groups.model import CGROUP, WHOLE, GroupRow
from turbotui.quantities.columns import Value
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import Energy

GROUPS: Final = "groups"
"""The name of the table."""
_WORK: Final = "cpu_usec"
"""The quantity by which energy is shared."""
NO_ENERGY: Final = Unavailable(Reason.NOT_READ, "the packages' energy was not read beside the groups")
_UNCOUNTED: Final = Unavailable(
    Reason.NOT_READ, "the packages' energy is shared by cycles in this interval, and this group's were not counted",
    "leave --add cycles out: all groups have an estimate by CPU time then")
_ELSEWHERE: Final = Unavailable(
    Reason.NO_DRIVER, "the group is not in the tree of the controller that counts it (hybrid or version 1)")
_NESTED: Final = frozenset({("memory_bytes",), ("anon_bytes",), ("file_bytes",)})
"""Needs of columns whose value of a group includes that of the groups in it."""
_GROWTH: Final = 1.05  # groups are read one after the other, some ms apart
_NOT_YET: Final = Unavailable(Reason.NOT_READ, "nothing counted the event yet: its column was not shown")
_IS_WHOLE: Final = Unavailable(Reason.NOT_SET, "the kernel counts it for groups within the outermost one only")
_NO_NUMBER: Final = Unavailable(Reason.OUT_OF_RANGE, "nothing to divide by was counted in this interval")
_NO_RUN_DELAY: Final = Unavailable(
    Reason.NO_DRIVER, "version 2 counts no run delay of a group, and version 1 only where kernel.sched_schedstats is 1",
    "see PSIcpu%: for which share of the time a task of the group waited for a CPU; turbotui tasks --waits says who")

_NO_SWITCHES: Final = Unavailable(
    Reason.NO_DRIVER, "no file of a control group counts context switches",
    "turbotui groups --add context-switches counts them by perf; turbotui tasks --cgroup GROUP says whose")


def group_table(rows: Iterable[GroupRow], energy: Energy, packages: int, cpus: int,
                columns: Sequence[GroupColumn] = COLUMNS) -> RowTable[GroupRow]:
    """Make the table of an interval.

    Args:
        rows: all groups, the outermost one included.
        packages: the number of the machine's packages.
        cpus: the number of its CPUs, measured or not, whose time is what energy is shared by, as among tasks.
    """
    rows = tuple(rows)
    joules, whole = energy.total(packages), next((row for row in rows if row.group.path == WHOLE), None)
    why = energy.reason(joules)
    shared = None
    if joules is not None and cpus and energy.span > 0:
        shared = SharedEnergy(joules, cpus * 1e6, energy.span, energy.over(energy.span).joules,
                              None if energy.part is not None else whole)
    largest = cache(partial(_largest_parts, rows))

    def judge(column: GroupColumn, row: GroupRow, value: Value) -> Cell:
        cell = judged(column, row, value, why if shared is None else shared.why(row))
        part = largest(column.needs[0]).get(row.group.path) if column.needs in _NESTED else None
        if value is None or part is None:
            return cell
        return replace(cell, disputed=_held_against(part, row, *column.needs))

    return GroupTable(GROUPS, CGROUP, tuple(columns), rows, judge, basis, shared)


def _largest_parts(rows: Sequence[GroupRow], quantity: Quantity) -> Mapping[str, GroupRow]:
    """Return of each group, by its path, the group in it that has most of a quantity."""
    parts: dict[str, GroupRow] = {}
    for row in rows:
        if quantity in row.values and row.group.parent is not None:
            most = parts.get(row.group.parent)
            if most is None or row.values[quantity] > most.values[quantity]:
                parts[row.group.parent] = row
    return parts


def _held_against(part: GroupRow, row: GroupRow, quantity: Quantity) -> tuple[str, ...]:
    """What contradicts a group's memory: a group in it that has more, beyond what it can get between two reads.

    The kernel has of its outermost group in version 1 only page cache and anonymous memory (mem_cgroup_usage in
    mm/memcontrol-v1.c), and of the groups in it what it allocated for their tasks, too.
    """
    whole, more = row.values[quantity], part.values[quantity]
    if more <= whole * _GROWTH:
        return ()
    old = row.group.path == WHOLE and row.files.get(quantity) == "memory.usage_in_bytes"  # of version 2 / is complete
    why = ": of the outermost group the kernel leaves out what it allocated itself" if old else ""
    sentence = f"{part.group.path} in it has {more / (1 << 20):,.0f} MiB, and this group {whole / (1 << 20):,.0f}{why}"
    return (sentence,)


@dataclass(frozen=True, slots=True)
class SharedEnergy:
    """The energy that is shared among groups."""

    joules: float  # of all packages
    work: float  # time of all CPUs, idle or not, in microseconds per second
    seconds: float  # the length of the interval
    packages: Mapping[int, float]  # joules of each package
    whole: GroupRow | None  # the outermost group

    @property
    def is_by_cycles(self) -> bool:
        """Whether cycles of all groups together were counted: what is shared by them is not shared by time as well."""
        return self.whole is not None and self.by_cycles(self.whole) is not None

    def why(self, row: GroupRow) -> Unavailable | None:
        """Why a group's part is unknown, beyond its own readings; None if it is not."""
        if not self.is_by_cycles or self.by_cycles(row) is not None:
            return None
        return next((why for package in self.packages if (why := row.why(cycles_in(package)))), _UNCOUNTED)

    def by_cycles(self, row: GroupRow) -> float | None:
        """Return a group's joules by its cycles in each package; None if its cycles are not counted."""
        cycles = 0.0
        for package, joules in self.packages.items():
            name = cycles_in(package)
            own, every = row.rate(name), None if self.whole is None else self.whole.rate(name)
            if own is None or every is None:
                return None
            cycles += joules * own / every if every else 0.0
        return cycles


@dataclass(frozen=True)  # no slots: CPython issue 90562
class GroupTable(RowTable[GroupRow]):
    """The control groups of an interval; cells that need it get their row's part of the energy."""

    shared: SharedEnergy | None = None  # the packages' energy; None if unknown

    def values(self, column: GroupColumn, rows: Sequence[GroupRow]) -> Sequence[Value]:
        return [column.compute(self._row(column, row)) for row in rows]

    def cell(self, column: GroupColumn, row: GroupRow) -> Cell:
        return super().cell(column, self._row(column, row))

    def evidence(self, column: GroupColumn, row: GroupRow) -> CellEvidence:
        return super().evidence(column, self._row(column, row))

    def _row(self, column: GroupColumn, row: GroupRow) -> GroupRow:
        if self.shared is None or ENERGY not in column.needs or JOULES in row.increases:
            return row
        shared, work, own = self.shared, row.rate(_WORK), self.shared.by_cycles(row)
        if work is None or (own is None and self.shared.is_by_cycles):
            return row
        more = {JOULES: shared.joules, MINE: work, ALL: shared.work, **({} if own is None else {BY_CYCLES: own})}
        return replace(row, increases={**row.increases, **more}, spans={**row.spans, f"Δt {JOULES}": shared.seconds},
                       estimated=row.estimated | {ENERGY})


def judged(column: GroupColumn, row: GroupRow, value: Value, energy: Unavailable | None) -> Cell:
    """Return a value with its marks, or the reason why there is none."""
    if value is not None:
        return Cell(value, estimated=not row.estimated.isdisjoint(column.needs) or is_scaled(row, column.needs))
    return Cell(None, _why(column, row, energy))


def _why(column: GroupColumn, row: GroupRow, energy: Unavailable | None) -> Unavailable:
    if ENERGY in column.needs and row.why(_WORK) is None:
        return energy or NO_ENERGY
    if SWITCHES in column.needs:
        return _NO_SWITCHES
    if "waited_usec" in column.needs and "waited_usec" not in row.files:
        return _NO_RUN_DELAY
    for need in column.needs:
        why = row.why(need)
        if why is not None:
            return _IS_WHOLE if row.group.path == WHOLE and why.reason is Reason.NO_DRIVER else why
    if any(need.startswith(PERF) and need not in row.files for need in column.needs):
        return _NOT_YET
    if any(need not in row.files for need in column.needs if need != ENERGY):
        return _ELSEWHERE
    reason = "" if column.doubt is None else column.doubt(row)
    return Unavailable(Reason.OUT_OF_RANGE, reason) if reason else _NO_NUMBER


def basis(column: GroupColumn, row: GroupRow) -> CellEvidence:
    """Return the files and increases behind a cell."""
    readings: list[tuple[str, ...]] = []
    for need in column.needs:
        file = row.files.get(need)
        if file is None:
            continue
        if need.startswith(PERF):
            readings += _counted(row, need)
        elif need in row.increases:
            readings.append((f"{need} of {file}: +{row.increases[need]:,.0f} in {row.span(need) or 0.0:.3f} s",))
        elif need in row.values:
            readings.append((f"{need} of {file}: {row.values[need]:,.0f}",))
    if ENERGY in column.needs and BY_CYCLES in row.increases:
        readings.append((f"energy of all packages: {row.increases[JOULES]:,.2f} J, shared by cycles in each package",
                         *(f"{name}: +{count:,.0f}" for name, count in row.increases.items()
                           if name.startswith(cycles_in(0)[:-1]))))
    elif ENERGY in column.needs and JOULES in row.increases:
        readings.append((f"energy of all packages: {row.increases[JOULES]:,.2f} J",
                         f"CPU time: {row.increases[MINE]:,.0f} us a second of the CPUs' {row.increases[ALL]:,.0f}"))
    remarks = [f"group {row.group.path}"]
    if any(need.startswith(PERF) for need in column.needs):
        remarks.append("counted on every CPU while a task of the group, or of groups in it, ran there")
    return CellEvidence(readings=tuple(readings), remarks=tuple(remarks))


def _counted(row: GroupRow, need: str) -> list[tuple[str, ...]]:
    """Return the evidence for the count of an event."""
    if need not in row.increases:
        return []
    share = counted_share(row, need)
    ran = row.increases.get(f"{need}{ENABLED}", 0.0) * 1e-9
    percent = 100.0 if share is None else share * 100.0
    scaled = ": the count is scaled to all of it" if percent < 100.0 else ""
    return [(f"{need}: +{row.increases[need]:,.0f} in {row.span(need) or 0.0:.3f} s",
             f"the group was on CPUs for {ran:.3f} s, the counter for {percent:.1f} % of that{scaled}")]


def sum_held_against_package(table: RowTable[GroupRow], energy: Energy, packages: int) -> str:
    """Compare the sum of the top-level groups' estimates with the packages' joules; "" without estimates."""
    joules = energy.total(packages)
    watt = next((column for column in table.columns if column.id == "Watt"), None)
    if joules is None or watt is None or energy.span <= 0:
        return ""
    outer = [row for row in table.rows if row.group.parent == WHOLE]
    watts = [value for value in table.values(watt, outer) if isinstance(value, int | float)]
    if not watts:
        return ""
    # the difference ran only in the outermost group: mostly threads of the kernel (docs/specs/groups.md 1.4)
    whole, inside = joules / energy.span, math.fsum(watts)
    shared = table.shared if isinstance(table, GroupTable) else None
    by = "cycles" if shared is not None and shared.is_by_cycles else "CPU time"
    rest = "idle or rest" if len(watts) == len(outer) else "idle, rest or in groups whose part is unknown"
    return f"Watt~ by {by}: {inside:.2f} of packages' {whole:.2f} W in groups, {max(0.0, whole - inside):.2f} {rest}"
