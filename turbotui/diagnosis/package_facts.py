"""The numbers of packages in an interval from which limits are judged, gathered a column at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.limits import COLUMNS, STAND_INS, WORKING, Facts
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame

_INSTEAD_OF: Final = {name: of for of, name in STAND_INS.items()}
_LOADED: Final = 90.0  # percent busy from which a CPU would run as fast as permitted


@dataclass(frozen=True, slots=True)
class LimitColumns:
    """The available columns of `COLUMNS` and their stand-ins, valid as long as the capabilities do not change."""

    capabilities: Capabilities  # of the machine
    columns: Mapping[ColumnId, CounterColumn]  # by id, in order
    there: tuple[CounterColumn, ...]  # the available ones
    why: Mapping[ColumnId, Unavailable]  # why the others are missing; in a guest most are


def limit_columns(capabilities: Capabilities, catalog: Catalog) -> LimitColumns:
    """Find the available columns behind a verdict."""
    columns = {name: column for name in (*COLUMNS, *STAND_INS.values()) if (column := catalog.get(name)) is not None}
    absent = {name: need for name, column in columns.items()
              for need in column.needs[::-1] if need not in capabilities.signals}  # the first of several wins
    there = tuple(column for name, column in columns.items() if name not in absent)
    return LimitColumns(capabilities, columns, there,
                        {name: capabilities.why_missing(need) for name, need in absent.items()})


def facts_of(frame: Frame, known: LimitColumns) -> list[Facts]:
    """Gather the numbers of all packages, a column at a time.

    Stand-ins are left out if what they stand in for is known for every package.
    """
    packages, levels = frame.rows(Scope.PACKAGE), _Levels(frame, known)
    values: dict[ColumnId, Sequence[Value]] = {}
    for column in known.there:
        if (instead_of := values.get(_INSTEAD_OF.get(column.id, ""))) is None or None in instead_of:
            values[column.id] = (frame.cells(column, packages) if column.scope is Scope.PACKAGE
                                 else [frame.cell(column, row) for row in packages])
    facts_list: list[Facts] = []
    for at, row in enumerate(packages):
        cells: dict[ColumnId, Value] = dict.fromkeys(known.why)
        why = dict(known.why)
        for name, column_values in values.items():
            value = cells[name] = column_values[at]
            reason = frame.why(known.columns[name], row) if value is None else None
            if reason is not None:
                why[name] = reason
        facts_list.append(_facts(levels, row, cells, why))
    return facts_list


def _facts(levels: _Levels, row: RowId, cells: Mapping[ColumnId, Value], why: Mapping[ColumnId, Unavailable]) -> Facts:
    """The numbers of one package, with those that are taken from its CPUs."""
    frame = levels.frame
    cpus = frame.topology.parts(row, Scope.CPU)
    working = levels.at("Busy%" if cells.get("Busy%") is not None else "Load%", cpus)
    clocks = levels.at("Bzy_MHz" if cells.get("Bzy_MHz") is not None else "CurMHz", cpus)
    base, top, cap = (levels.at(name, cpus) for name in ("BaseMHz", "TopMHz", "MaxMHz"))
    fastest: tuple[float, int] | None = None
    loaded: list[float] = []
    for cpu, mhz, busy, highest in zip(cpus, clocks, working, top, strict=True):
        if mhz is None or (busy is not None and busy < WORKING):
            continue
        if fastest is None or mhz > fastest[0]:
            fastest = mhz, cpu
        if busy is not None and busy >= _LOADED and highest:
            # each CPU is compared with its own highest clock: an E core at its highest is slower than a P core
            loaded.append(mhz / highest)
    return Facts(
        row=row,
        cells=cells,
        fastest=None if fastest is None else (fastest[0], frame.rows(Scope.CPU)[fastest[1]]),
        loaded_share=max(loaded, default=None),
        loaded=any(busy is not None and busy >= _LOADED for busy in working),
        base_mhz=_greatest(base),
        top_mhz=_greatest(top),
        cap_mhz=_greatest(cap),
        why=why,
        columns=levels.known.columns,
    )


class _Levels:
    """Columns of all CPUs of a frame, each computed once for all packages."""

    def __init__(self, frame: Frame, known: LimitColumns) -> None:
        self.frame = frame
        self.known = known
        self._numbers: dict[ColumnId, Sequence[float | None] | None] = {}

    def at(self, name: ColumnId, places: Sequence[int]) -> Sequence[float | None]:
        """A column of the CPUs at these positions of the topology; None if unknown."""
        if name not in self._numbers:
            self._numbers[name] = self._read(name)
        numbers = self._numbers[name]
        return [None] * len(places) if numbers is None else [numbers[place] for place in places]

    def _read(self, name: ColumnId) -> Sequence[float | None] | None:
        column = self.known.columns.get(name)
        if column is None or name in self.known.why:
            return None
        cells = self.frame.cells(column, self.frame.rows(Scope.CPU))
        return [value if isinstance(value, (int, float)) else None for value in cells]


def _greatest(numbers: Sequence[float | None]) -> float | None:
    return max((number for number in numbers if number is not None), default=None)
