"""Absurd readings never make a cell that is not a finite number: such cells are unknown."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from turbotui import recording
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Raw
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot

MACHINE = Path(__file__).parents[2] / "machines" / "laptop-simulated.tar.gz"
ODD: tuple[Raw, ...] = (None, 0, 0, 1, (1 << 31) - 1, (1 << 32) - 1, 1 << 53, (1 << 63) - 1, (1 << 64) - 1)

with recording.read(str(MACHINE)) as journal:
    CATALOG = journal.catalog
    KNOWN = next(frame for frame in journal.frames() if frame.older is not None)


def spoiled(snapshot: Snapshot, chance: random.Random) -> Snapshot:
    """The snapshot with odd words in place of a third of the readings, and stamps that stand still or go back."""

    def column(words: object) -> list[Raw]:
        return [chance.choice(ODD) if isinstance(word, int) and chance.random() < 0.3 else word
                for word in words]  # type: ignore[attr-defined] # a sequence of readings

    stamps = {name: [chance.choice((stamp, 0, stamp - 5 * 10**9)) if chance.random() < 0.2 else stamp for stamp in item]
              for name, item in snapshot.stamps.items()}
    return replace(snapshot, values={name: column(item) for name, item in snapshot.values.items()}, stamps=stamps)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_every_cell_is_a_number_or_unknown(seed: int) -> None:
    chance, older = random.Random(seed), KNOWN.older
    assert older is not None
    frame = Frame(spoiled(older, chance), spoiled(KNOWN.newer, chance), KNOWN.capabilities)
    known = 0
    for scope in (Scope.SYSTEM, Scope.PACKAGE, Scope.CORE, Scope.CPU):
        rows = frame.rows(scope)
        for column in CATALOG.columns:
            for value in frame.cells(column, rows):
                assert not isinstance(value, float) or math.isfinite(value), (column.id, scope, value)
                known += value is not None
            for row in rows[:3]:
                assert (frame.why(column, row) is None) == (frame.cell(column, row) is not None), (column.id, row)
    assert known > 100, "most of it is still known"
