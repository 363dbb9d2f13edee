"""Columns of many rows at once equal those computed row by row."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import capabilities_of, counter, place, snapshot
from watched_machines import frames_of_machine

from turbotui.machine.topology import topology_of
from turbotui.quantities.bulk import BulkNumbers, RowsDifferError
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import STEP_BACK, Behavior, Raw
from turbotui.quantities.traced import at_least
from turbotui.quantities.units import Unit
from turbotui.sampling import arithmetic
from turbotui.sampling.frame import Frame
from turbotui.sampling.sweep import BulkInputs, Selection

MANY = 64
"""Readings that are packed."""


@pytest.mark.parametrize("shape", ["big-8s", "laptop", "turin-2s", "grace-2s"])
def test_every_cell_of_a_level_is_that_of_its_row_alone(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _machine, frames = frames_of_machine(shape, 1, cpus=frozenset(range(96)) if shape != "laptop" else None)
    frame = frames[-1]
    catalog, bulk = catalog_for(frame.capabilities.signals), BulkInputs
    asked: list[object] = []

    def watched(*arguments: object) -> BulkInputs:
        asked.append(arguments)
        return bulk(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("turbotui.sampling.sweep.BulkInputs", watched)
    for column in catalog.columns:
        rows = frame.rows(column.scope)
        together = frame.cells(column, rows)
        alone = [Frame(frame.older, frame.newer, frame.capabilities).cell(column, row) for row in rows[:12]]
        assert list(map(repr, together[:12])) == list(map(repr, alone)), column.id
    assert asked


def test_a_column_asked_of_a_part_of_the_rows_is_that_of_all() -> None:
    _machine, frames = frames_of_machine("big-8s", 1, columns=["Busy%", "Bzy_MHz", "CoreTmp"],
                                         cpus=frozenset(range(96)))
    frame = frames[-1]
    catalog = catalog_for(frame.capabilities.signals)
    rows = frame.topology.rows(catalog.by_id["Busy%"].scope)
    some = rows[5:40:3]
    for name in ("Busy%", "Bzy_MHz", "CoreTmp"):
        part = Selection(some).cells(frame, catalog.by_id[name])
        every = frame.cells(catalog.by_id[name], rows)
        assert list(part) == [every[rows.index(row)] for row in some]


NUMBERS = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=6)


@given(items=NUMBERS, number=st.floats(-1e6, 1e6).filter(bool))
def test_operators_work_row_by_row(items: Sequence[float], number: float) -> None:
    bulk = BulkNumbers(items)
    assert (number - bulk).items == [number - item for item in items]
    assert (bulk * number + bulk).items == [item * number + item for item in items]
    assert (bulk / number - number).items == [item / number - number for item in items]
    assert (number + bulk).items == [number + item for item in items]
    assert (-bulk).items == [-item for item in items]
    assert round(bulk).items == [round(item) for item in items]
    limited: object = at_least(0.0, bulk)  # type: ignore[arg-type]
    assert isinstance(limited, BulkNumbers)
    assert limited.items == [max(0.0, item) for item in items]
    if all(items):
        assert (number / bulk).items == [number / item for item in items]


def test_a_decision_is_of_all_rows_or_none() -> None:
    bulk = BulkNumbers([1.0, 2.0, 3.0])
    assert bulk > 0.5
    assert not bulk > 3.0
    assert bulk
    assert not BulkNumbers([0.0, 0.0])
    decisions: tuple[Callable[[], bool], ...] = (
        lambda: bulk > 2.0, lambda: bulk <= BulkNumbers([1.0, 1.0, 4.0]), lambda: bulk == 2.0,
        lambda: bool(BulkNumbers([0.0, 1.0])))
    for decide in decisions:
        with pytest.raises(RowsDifferError):
            decide()


def test_what_would_need_one_number_is_refused() -> None:
    bulk = BulkNumbers([1.0, 2.0])
    uses: tuple[Callable[[], object], ...] = (
        lambda: float(bulk), lambda: int(bulk), lambda: f"{bulk}", lambda: str(bulk), lambda: 0 + bulk)
    for use in uses:
        with pytest.raises(RowsDifferError):
            use()
    with pytest.raises(TypeError):
        hash(bulk)


WORDS = st.lists(st.one_of(st.integers(0, 1 << 20), st.integers(0, (1 << 64) - 1)), min_size=MANY, max_size=MANY)


@given(older=WORDS, newer=WORDS)
def test_packed_counters_rise_as_others_do(older: list[Raw], newer: list[Raw]) -> None:
    _same(older, newer)


@given(older=WORDS, step=st.integers(0, 1 << 40), back=st.booleans())
def test_packed_counters_that_rise_do_as_others_do(older: list[Raw], step: int, *, back: bool) -> None:
    low = [int(word or 0) % (1 << 62) for word in older]
    newer = [word + step + at for at, word in enumerate(low)]
    if back:
        newer[MANY // 2] = low[MANY // 2] - 1 if low[MANY // 2] else 0
    _same(list(low), list(newer))


@pytest.mark.parametrize("texts", [["powersave", "powersave"], ["a", "b"], ["a", 1], [None, "a"], [1, None]])
def test_texts_and_missing_readings_are_no_counters_that_rose(texts: list[Raw]) -> None:
    assert arithmetic.rises(texts, texts) is None
    assert arithmetic.rises(texts, texts) is None


def _same(older: list[Raw], newer: list[Raw]) -> None:
    before, after = arithmetic.packed(older), arithmetic.packed(newer)
    assert isinstance(before, array)
    assert arithmetic.rises(before, after) == arithmetic.rises(older, newer)
    words: list[int] = [int(word or 0) for word in older]
    assert arithmetic.seconds(before, after) == arithmetic.seconds(words, [int(word or 0) for word in newer])  # type: ignore[arg-type]


@given(low=st.integers(0, 20), width=st.sampled_from([7, 12, 40, 64]), saturates=st.booleans(),
       raw=st.lists(st.one_of(st.integers(0, (1 << 64) - 1), st.just(127 << 16)), min_size=2, max_size=2))
def test_a_gauge_of_all_cpus_is_that_of_each(low: int, width: int, raw: list[Raw], *, saturates: bool) -> None:
    signal = replace(counter("odd", Scope.CPU, behavior=Behavior.GAUGE), low_bit=low if width < 64 else 0,
                     width_bits=width, offset=100.0, scale=-1.0, unit=Unit.CELSIUS if saturates else Unit.BITS)
    frame = Frame(None, snapshot(topology_of([place(0), place(1)]), {"odd": raw}, {}), capabilities_of(signal))
    assert frame.levels_read("odd") == list(map(signal.value, raw))


@pytest.mark.parametrize("odd", [0, 1 << 56, 1])
def test_the_time_from_no_stamp_is_unknown_and_zeros_across_words_are_no_such(odd: int) -> None:
    older = [255 << 40, *[odd] * 2, *[(1 << 56) + at for at in range(MANY)]]
    spans = arithmetic.seconds(arithmetic.packed(older), arithmetic.packed([stamp + 10**9 for stamp in older]))
    assert spans == [None if not stamp else 1.0 for stamp in older]


def test_what_is_no_word_is_not_packed() -> None:
    for odd in (None, "x", -1, 1 << 64):
        column: list[Raw] = [*range(MANY), odd]
        assert arithmetic.packed(column) is column
    short: list[Raw] = [*range(MANY - 1)]
    assert arithmetic.packed(short) is short
    assert STEP_BACK == 1 << 63  # the top bit of a word: what fell by less is seen by it
