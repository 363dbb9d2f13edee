"""Levels: the ends of scales on machines with known numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from simulated_session import SimulatedSession

from turbotui.quantities.columns import CounterColumn, Scale
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import CALM, LEVELS, STEPS, FrameLevels, cell_role_of, role_of, step_of

WANTED = ("Busy%", "Load%", "Bzy_MHz", "CoreTmp", "PkgTmp", "PkgWatt", "PL1", "TDP", "TopMHz", "BaseMHz", "TjMax",
          "CorWatt", "IRQ/s")


@contextmanager
def watched(shape: str) -> Iterator[tuple[SimulatedSession, Frame]]:
    """A machine after some ticks."""
    session, frames = SimulatedSession(shape, small=True), list[Frame]()
    session.want(WANTED)
    session.start(frames.append)
    try:
        session.tick(3)
        yield session, frames[-1]
    finally:
        session.stop()


def column_of(session: SimulatedSession, name: str) -> CounterColumn:
    """A column by its name."""
    column = session.catalog.get(name)
    assert column is not None
    return column


def test_steps_cover_the_whole_and_what_lies_beyond() -> None:
    assert [step_of(share) for share in (-0.2, 0.0, 0.111, 0.112, 0.5, 0.999, 1.0, 1.7)] == [0, 0, 0, 1, 4, 8, 8, 8]
    assert [role_of(step / STEPS + 0.01) for step in range(STEPS)] == list(LEVELS)


def test_numbers_are_calm_as_long_as_they_are_not_much() -> None:
    roles = [cell_role_of(step / STEPS + 0.01) for step in range(STEPS)]
    assert roles == [StyleRole.PLAIN] * CALM + list(LEVELS[CALM:])


def test_ends_are_numbers_or_columns_and_the_first_that_is_known_is_taken() -> None:
    row = {"limit": 250.0, "none": None, "text": "auto", "endless": 1e9}
    assert Scale((100.0,)).ends(row.get) == (0.0, 100.0)
    assert Scale(("none", "text", "limit")).ends(row.get) == (0.0, 250.0)
    assert Scale(("endless", "limit"), most=4000.0).ends(row.get) == (0.0, 250.0)
    assert Scale(("none",)).ends(row.get) is None
    assert Scale((100.0,), low=("none", 30.0)).ends(row.get) == (30.0, 100.0)
    assert Scale((100.0,), low=("limit",)).ends(row.get) is None


@pytest.mark.parametrize("shape", ["laptop", "sapphire-2s", "turin-2s"])
def test_ends_are_those_of_each_row(shape: str) -> None:
    with watched(shape) as (session, frame):
        levels = FrameLevels(session.catalog.get)
        busy, clock, watts = (column_of(session, name) for name in ("Busy%", "Bzy_MHz", "PkgWatt"))
        top, base, limit = (column_of(session, name) for name in ("TopMHz", "BaseMHz", "PL1"))
        for row in (*frame.rows(Scope.CPU), SYSTEM_ROW):
            assert levels.ends(frame, busy, row) == (0.0, 100.0)
            assert levels.ends(frame, clock, row) == (frame.cell(base, row) or 0.0, frame.cell(top, row))
        for row in (*frame.rows(Scope.PACKAGE), SYSTEM_ROW):
            highest = frame.cell(limit, row)
            assert levels.ends(frame, watts, row) == (None if highest is None else (0.0, highest))


def test_kinds_of_core_have_their_own_clocks() -> None:
    with watched("laptop") as (session, frame):
        levels, clock = FrameLevels(session.catalog.get), column_of(session, "Bzy_MHz")
        tops = {levels.ends(frame, clock, cpu_row(cpu)) for cpu in frame.topology.cpus}
        assert len(tops) == 3
        assert None not in tops


def test_roles_of_many_rows_are_those_of_each() -> None:
    with watched("laptop") as (session, frame):
        levels, rows = FrameLevels(session.catalog.get), frame.rows(Scope.CPU)
        for name in WANTED:
            column = column_of(session, name)
            values = frame.cells(column, rows)
            shares = [levels.share(frame, column, row, value) for row, value in zip(rows, values, strict=True)]
            expected = [StyleRole.PLAIN if share is None else cell_role_of(share) for share in shares]
            assert list(levels.roles(frame, column, rows, values)) == expected
        heat = column_of(session, "CoreTmp")
        hottest = frame.cell(column_of(session, "TjMax"), SYSTEM_ROW)
        assert levels.roles(frame, heat, rows[:1], (hottest,)) == [LEVELS[-1]]


def test_what_has_no_scale_or_no_end_has_no_level() -> None:
    with watched("guest") as (session, frame):
        levels, row = FrameLevels(session.catalog.get), cpu_row(0)
        interrupts, watts, load = (column_of(session, name) for name in ("IRQ/s", "PkgWatt", "Load%"))
        assert levels.share(frame, interrupts, row, 1e9) is None
        assert levels.share(frame, watts, row, 100.0) is None
        assert levels.share(frame, load, row, None) is None
        assert levels.share(frame, load, row, 50.0) == 0.5
        assert levels.roles(frame, watts, (row, row), (1e6, None)) == [StyleRole.PLAIN] * 2


def test_a_row_that_is_not_there_is_no_trouble() -> None:
    with watched("guest") as (session, frame):
        gone = RowId(Scope.CPU, (999,))
        assert FrameLevels(session.catalog.get).share(frame, column_of(session, "Load%"), gone, 90.0) == 0.9
