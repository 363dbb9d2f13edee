"""A column computed for many rows at once equals, cell by cell, that computed for each row."""

from __future__ import annotations

import gc
import random
import weakref

import pytest
from sampled_machine import Watched

from turbotui.quantities.scope import Scope
from turbotui.sampling.frame import Frame

SCOPES = (Scope.CPU, Scope.CORE, Scope.PACKAGE, Scope.SYSTEM)


@pytest.mark.parametrize("shape", ["laptop-arrow", "turin-2s", "grace-2s", "guest"])
def test_a_column_of_many_rows_gives_what_each_cell_gives(shape: str) -> None:
    watched = Watched(shape)
    frame = watched.frames(0.5, 1)[0]
    levels, some = (Frame(frame.older, frame.newer, frame.capabilities) for _ in range(2))
    every = [row for scope in SCOPES for row in frame.rows(scope)]
    chosen = tuple(random.Random(1).sample(every, min(40, len(every))))
    for column in watched.columns:
        expected = {row: frame.cell(column, row) for row in every}
        for scope in SCOPES:
            rows = frame.rows(scope)
            assert dict(zip(rows, levels.cells(column, rows), strict=True)) == {row: expected[row] for row in rows}
        assert list(some.cells(column, chosen)) == [expected[row] for row in chosen], column.id
        assert list(levels.cells(column, chosen)) == [expected[row] for row in chosen], column.id


def test_a_frame_that_nobody_holds_is_gone_at_once() -> None:
    watched = Watched("guest")
    frame = watched.frames(0.5, 1)[0]
    copy = Frame(frame.older, frame.newer, frame.capabilities)
    for column in watched.columns:
        for scope in SCOPES:
            copy.cells(column, copy.rows(scope))
            copy.cells(column, tuple(reversed(copy.rows(scope))))
            copy.partial(column, copy.rows(scope)[0])
    gone = weakref.ref(copy)
    gc.disable()  # a cycle would only be found by a collection
    try:
        del copy
        assert gone() is None
    finally:
        gc.enable()
