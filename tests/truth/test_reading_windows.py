"""A loaded machine reads each counter in a window of its own; columns that are not counts must not depend on it."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sampled_machine import Watched
from test_explained import check

from turbotui.events.set_files import shipped_sets
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.event_columns import parse_requests
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Raw, Signal, SignalId
from turbotui.sampling.adding import open_request, open_set
from turbotui.sampling.frame import Frame

SHAPES = ("laptop-arrow", "laptop-old", "sapphire-2s", "turin-2s")
_ALONE = 8
"""Rows of a column whose cells are also computed by a frame that has computed nothing before."""
FORMULAS = ("ENERGY=energy.pkg/cycles", "CPI=cycles/instructions", "BOTH=(cycles+instructions)/tsc")


@functools.cache
def seen(shape: str) -> tuple[Watched, Frame]:
    watched = Watched(shape)
    columns = list(watched.columns)
    for text in FORMULAS:
        for request in parse_requests(text):
            if all(name in watched.capabilities.signals for name in request.others):
                added, watched.capabilities = open_request(watched.machine, watched.capabilities, request, ())
                columns += added.columns
    chosen, watched.capabilities = open_set(watched.machine, watched.capabilities, shipped_sets()["memory"], ())
    columns += [column for one in chosen if one.added is not None and one.why is None for column in one.added.columns]
    watched.columns = tuple(columns)
    return watched, watched.frames(0.7, 2)[-1]


def stretched(frame: Frame, times: Callable[[SignalId, int], int]) -> Frame:
    """Return the interval as if each instance of each counter had been read over a window scaled by a factor."""
    older, newer = frame.older, frame.newer
    assert older is not None
    values, stamps = dict(newer.values), dict(newer.stamps)
    for name, raw in newer.values.items():
        signal = frame.capabilities.signals[name]
        if signal.behavior is not Behavior.COUNTER:
            continue
        factors = [times(name, at) for at in range(len(raw))]
        before, began = older.values[name], older.stamps[name]
        values[name] = [longer(signal, a, b, factor) for a, b, factor in zip(before, raw, factors, strict=True)]
        stamps[name] = [a + (b - a) * factor for a, b, factor in zip(began, stamps[name], factors, strict=True)]
    return Frame(older, replace(newer, values=values, stamps=stamps, wraps={}), frame.capabilities)


def longer(signal: Signal, older: Raw, newer: Raw, factor: int) -> Raw:
    if not isinstance(older, int) or not isinstance(newer, int):
        return newer
    if signal.width_bits >= 64:
        return older + (newer - older) * factor
    size = (1 << signal.width_bits) - 1
    return (older & ~(size << signal.low_bit)) | (
        (signal.bits(older) + ((signal.bits(newer) - signal.bits(older)) & size) * factor & size) << signal.low_bit)


def some_rows(frame: Frame) -> list[RowId]:
    return [row for scope in Scope for row in dict.fromkeys((frame.rows(scope)[0], frame.rows(scope)[-1]))]


def same(item: Value, other: Value) -> bool:
    if isinstance(item, float | int) and isinstance(other, float | int):
        return item == pytest.approx(other, rel=1e-9, abs=1e-9)
    return item == other


@functools.cache
def ratios(shape: str) -> tuple[CounterColumn, ...]:
    """Columns but counts, which have twice the value after twice the time: no window but their own concerns them."""
    watched, frame = seen(shape)
    twice = stretched(frame, lambda _name, _at: 2)
    return tuple(column for column in watched.columns
                 if all(same(frame.cell(column, row), twice.cell(column, row)) for row in some_rows(frame)))


@pytest.mark.parametrize("shape", SHAPES)
@settings(deadline=None, max_examples=2, phases=[Phase.generate])  # busy machines; frames are large
@given(seed=st.integers(0, 1 << 30))
def test_ratios_and_rates_are_the_same_whatever_each_counters_window_is(shape: str, seed: int) -> None:
    _watched, frame = seen(shape)
    chance = random.Random(seed)
    clocks: dict[tuple[str, Scope, int], int] = {}

    def times(name: SignalId, at: int) -> int:
        provider = frame.capabilities.provider[name]
        key = (provider.id, Scope.SYSTEM, 0) if provider.shared else (
            provider.id, frame.capabilities.signals[name].scope, at)
        return clocks.setdefault(key, chance.choice((1, 2, 3)))

    apart = stretched(frame, times)
    compared = 0
    for column in ratios(shape):
        for row in some_rows(frame):
            before, after = frame.cell(column, row), apart.cell(column, row)
            assert same(before, after), (column.id, row, before, after)
            compared += before is not None
        rows = frame.rows(column.scope)
        together, few = list(apart.cells(column, rows)), range(0, len(rows), max(1, len(rows) // _ALONE))
        alone = [Frame(apart.older, apart.newer, apart.capabilities).cell(column, rows[at]) for at in few]
        assert [together[at] for at in few] == alone, column.id
    assert compared > 100


@pytest.mark.parametrize("shape", SHAPES)
def test_a_formula_over_several_windows_is_written_as_it_is_computed(shape: str) -> None:
    watched, frame = seen(shape)
    apart = stretched(frame, lambda name, at: 1 + (sum(map(ord, frame.capabilities.provider[name].id)) + at) % 3)
    assert sum(check(apart, column) for column in watched.columns if column.needs) > 50
