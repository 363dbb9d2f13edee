"""A column computed for a whole level at once is the same, cell by cell, as computed for each row."""

from __future__ import annotations

import pytest
from watching import Watched

from turbotui.quantities.scope import Scope
from turbotui.sampling.frame import Frame


@pytest.mark.parametrize("shape", ["laptop-arrow", "turin-2s", "grace-2s", "guest"])
def test_filling_a_column_gives_what_each_cell_gives(shape: str) -> None:
    watched = Watched(shape)
    one = watched.frames(0.5, 1)[0]
    other = Frame(one.older, one.newer, one.census)
    for column in watched.columns:
        other.fill(column, 1 << 20)
        for scope in (Scope.CPU, Scope.CORE, Scope.PACKAGE, Scope.SYSTEM):
            for row in one.rows(scope):
                assert other.cell(column, row) == one.cell(column, row), (column.id, row)
