"""The numbers of packages behind verdicts: gathered by column, they equal the single cells."""

from __future__ import annotations

import pytest
from watched_machines import frames_of_machine

from turbotui.diagnosis.limits import COLUMNS, STAND_INS, Facts
from turbotui.diagnosis.package_facts import facts_of, limit_columns
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import ColumnId, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.sampling.frame import Frame

pytestmark = pytest.mark.usefixtures("few_cores")

NAMES = (*COLUMNS, *STAND_INS.values())


def number(frame: Frame, columns: dict[ColumnId, object], name: ColumnId, row: RowId) -> float | None:
    column = columns.get(name)
    value = frame.cell(column, row) if column is not None else None  # type: ignore[arg-type]  # a column of the catalog
    return value if isinstance(value, int | float) else None


def by_cells(frame: Frame, facts: Facts) -> tuple[object, ...]:
    """Return the numbers of a package's CPUs, computed cell by cell: fastest, loaded share, base, top and cap."""
    columns: dict[ColumnId, object] = dict(facts.columns)
    cpus = [row for row in frame.rows(Scope.CPU) if frame.topology.row(Scope.PACKAGE, row.key[0]) == facts.row]
    busy_by = "Busy%" if facts.cells.get("Busy%") is not None else "Load%"
    clock_by = "Bzy_MHz" if facts.cells.get("Bzy_MHz") is not None else "CurMHz"
    fastest: tuple[float, RowId] | None = None
    loaded: list[float] = []
    for row in cpus:
        mhz, busy, top = (number(frame, columns, name, row) for name in (clock_by, busy_by, "TopMHz"))
        if mhz is None or (busy is not None and busy < 20.0):
            continue
        fastest = (mhz, row) if fastest is None or mhz > fastest[0] else fastest
        if busy is not None and busy >= 90.0 and top:
            loaded.append(mhz / top)
    most = [max((value for row in cpus if (value := number(frame, columns, name, row)) is not None), default=None)
            for name in ("BaseMHz", "TopMHz", "MaxMHz")]
    return (fastest, max(loaded, default=None), *most)


@pytest.mark.parametrize("machine", ["guest", "laptop", "laptop-old", "sapphire-2s", "turin-2s", "grace-2s"])
def test_facts_are_what_each_cell_says(machine: str) -> None:
    _, frames = frames_of_machine(machine, 2, columns=NAMES)
    for frame in frames:
        known = limit_columns(frame.capabilities, catalog_for(frame.capabilities.signals))
        facts = facts_of(frame, known)
        assert [fact.row for fact in facts] == list(frame.rows(Scope.PACKAGE))
        for one in facts:
            cells: dict[ColumnId, Value] = {name: frame.cell(column, one.row) for name, column in known.columns.items()}
            for name, stand_in in STAND_INS.items():
                if stand_in not in known.why and all(other.cells.get(name) is not None for other in facts):
                    del cells[stand_in]
            assert one.cells == cells
            assert one.why == {name: frame.why(column, one.row) for name, column in known.columns.items()
                               if name in cells and cells[name] is None}
            assert by_cells(frame, one) == (one.fastest, one.loaded_share, one.base_mhz, one.top_mhz, one.cap_mhz)


def test_what_cannot_be_had_is_known_with_the_reason_of_the_first_signal_that_is_missing() -> None:
    _, frames = frames_of_machine("guest", 1, columns=("Load%",))
    catalog = catalog_for(frames[-1].capabilities.signals)
    known = limit_columns(frames[-1].capabilities, catalog)
    watts = catalog.get("PkgWatt")
    assert watts is not None
    assert watts not in known.there
    assert known.why["PkgWatt"] == frames[-1].capabilities.why_missing(watts.needs[0])
    assert {column.id for column in known.there}.isdisjoint(known.why)
