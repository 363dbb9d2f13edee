"""Integrals are exact between changes and continuous at changes; forms are linear; temperatures relax."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.simulated import SHAPES
from turbotui.simulated.basis import Basis, Relaxation, form_of, scaled, sum_of
from turbotui.simulated.tables import core_table

rates = st.lists(st.floats(0, 1e9), min_size=3, max_size=3)
moments = st.integers(1, 10**8).map(lambda ticks: ticks / 1024)  # exact in binary, so that only the sums round


@given(st.lists(st.tuples(moments, rates), min_size=1, max_size=8))
def test_an_integral_is_the_sum_of_rate_times_time(turns: list[tuple[float, list[float]]]) -> None:
    basis = Basis(3)
    now, expected, current = 0.0, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for length, rate in turns:
        now += length
        expected = [value + speed * length for value, speed in zip(expected, current, strict=True)]
        before = [basis.at(index, now) for index in range(3)]
        basis.turn(now, rate)
        assert [basis.at(index, now) for index in range(3)] == pytest.approx(before)
        current = rate
    assert [basis.at(index, now) for index in range(3)] == pytest.approx(expected, rel=1e-9)
    form = ((0, 2.0), (2, -0.5))
    assert basis.value(form, now) == pytest.approx(2 * basis.at(0, now) - 0.5 * basis.at(2, now))


weights = st.dictionaries(st.integers(0, 2), st.floats(-1e3, 1e3).filter(lambda value: abs(value) > 1e-6 or value == 0))


@given(weights, weights, st.floats(0.5, 100), rates)
def test_forms_are_linear(one: dict[int, float], other: dict[int, float], factor: float, rate: list[float]) -> None:
    basis = Basis(3)
    basis.turn(0.0, rate)
    first, second = form_of(one), form_of(other)
    total = basis.value(sum_of(first, second), 10.0)
    assert total == pytest.approx(basis.value(first, 10.0) + basis.value(second, 10.0), rel=1e-6, abs=1e-3)
    assert basis.value(scaled(first, factor), 10.0) == pytest.approx(basis.value(first, 10.0) * factor)


@given(st.floats(0.1, 20), st.floats(20, 120), st.floats(20, 120), st.floats(0, 60))
def test_a_temperature_nears_its_target_and_never_passes_it(tau: float, start: float, to: float, after: float) -> None:
    heat = Relaxation(tau, start, start)
    heat.aim(0.0, to)
    assert min(start, to) - 1e-9 <= heat.at(after) <= max(start, to) + 1e-9
    assert heat.at(tau) - to == pytest.approx((start - to) / math.e, abs=1e-9)
    halfway = Relaxation(tau, start, start)
    halfway.aim(0.0, to)
    halfway.aim(after / 2, 150.0)
    halfway.aim(after / 2, to)
    assert halfway.at(after) == pytest.approx(heat.at(after))


@pytest.mark.parametrize("name", SHAPES)
def test_idle_time_is_split_completely_and_deeper_when_quieter(name: str) -> None:
    for kind in SHAPES[name].core_types:
        rows = core_table(kind, SHAPES[name].cores_per_package).idle
        for level, row in enumerate(rows):
            assert sum(row.states) == pytest.approx(1 - level / (len(rows) - 1), abs=1e-12)
            assert min(row.states) >= -1e-15
            assert row.at_least_c7 <= row.at_least_c6 <= row.at_least_c3 <= 1 - level / (len(rows) - 1)
        assert rows[0].at_least_c3 >= rows[100].at_least_c3 >= rows[400].at_least_c3
