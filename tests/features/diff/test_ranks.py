"""Rank statistics compared with counts by hand, published values, and series with known results."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.features.diff.ranks import (
    cliffs_delta,
    effective_size,
    exact_p,
    holm,
    midranks,
    quantile,
    rank_test,
    standard_score,
    student_p,
)

NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))  # few different ones: ties
SAMPLES = st.lists(NUMBERS, min_size=1, max_size=5)


def dealt(first: list[float], second: list[float]) -> tuple[list[float], list[float]]:
    ranks = midranks([*first, *second])
    return ranks[: len(first)], ranks[len(first) :]


def delta(first: list[float], second: list[float]) -> float:
    return cliffs_delta(dealt(first, second)[1], len(first))


def autoregression(draw: random.Random, length: int, coefficient: float) -> list[float]:
    value, result = draw.gauss(0.0, 1.0), []
    for _ in range(length):
        result.append(value)
        value = coefficient * value + math.sqrt(1.0 - coefficient**2) * draw.gauss(0.0, 1.0)
    return result


@given(SAMPLES, SAMPLES)
def test_cliffs_delta_is_what_counting_pairs_gives(first: list[float], second: list[float]) -> None:
    signs = [(b > a) - (b < a) for a in first for b in second]
    assert delta(first, second) == pytest.approx(sum(signs) / len(signs))


@given(SAMPLES, SAMPLES)
def test_exact_p_is_what_dealing_out_in_every_way_gives(first: list[float], second: list[float]) -> None:
    both = [*first, *second]
    observed = abs(delta(first, second))
    ways = list(itertools.combinations(range(len(both)), len(first)))
    extreme = 0
    for chosen in ways:
        item = [both[at] for at in chosen]
        other = [both[at] for at in range(len(both)) if at not in chosen]
        extreme += abs(delta(item, other)) >= observed - 1e-12
    assert exact_p(*dealt(first, second)) == pytest.approx(extreme / len(ways), abs=0.0)


@given(st.lists(NUMBERS, min_size=1, max_size=40), st.lists(NUMBERS, min_size=1, max_size=40))
def test_a_comparison_turned_around_is_the_same(first: list[float], second: list[float]) -> None:
    test, other = rank_test(first, second), rank_test(second, first)
    assert test.effect == pytest.approx(-other.effect)
    assert test.p == pytest.approx(other.p)
    assert 0.0 <= test.p <= 1.0
    assert all(0.0 < size <= len(series) for size, series in zip(test.sizes, (first, second), strict=True))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=40), st.lists(st.integers(-50, 50), min_size=2, max_size=40))
def test_only_the_order_counts(first: list[int], second: list[int]) -> None:
    item, other = ([math.exp(value / 9) for value in values] for values in (first, second))
    assert rank_test(first, second) == rank_test(item, other)


def test_published_mann_whitney_values() -> None:
    # Hollander and Wolfe, Nonparametric Statistical Methods, table 4.1, and R's wilcox.test: one-sided 0.1272
    term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    assert exact_p(*dealt(term, early)) == pytest.approx(2 * 0.1272, abs=1e-4)
    # the example of scipy.stats.mannwhitneyu: U 17, exact 0.1111, by approximation 0.11134688653314041
    males, females = [19.0, 22.0, 16.0, 29.0, 24.0], [20.0, 11.0, 17.0, 12.0]
    assert exact_p(*dealt(males, females)) == pytest.approx(1 / 9)
    score = standard_score(*dealt(males, females), (5.0, 4.0))
    assert math.erfc(score / math.sqrt(2.0)) == pytest.approx(0.11134688653314041, rel=1e-9)
    assert delta(males, females) == pytest.approx(1.0 - 2.0 * 17 / 20)
    # the tables of critical values: 3 and 3 never reach 0.05, 4 and 4 do at U 0, 5 and 5 at U 2
    assert exact_p(*dealt([1, 2, 3], [4, 5, 6])) == pytest.approx(0.1)
    assert exact_p(*dealt([1, 2, 3, 4], [5, 6, 7, 8])) == pytest.approx(2 / 70)
    assert exact_p(*dealt([1, 2, 3, 4, 7], [5, 6, 8, 9, 10])) == pytest.approx(8 / 252)


def test_ties_shrink_the_spread_as_counted() -> None:
    first, second = [1.0, 1.0, 2.0, 3.0, 3.0, 3.0], [2.0, 3.0, 3.0, 4.0]
    both = [*first, *second]
    sums = [sum(midranks(both)[at] for at in chosen) for chosen in itertools.combinations(range(10), 6)]
    counted = (abs(sum(midranks(both)[:6]) - statistics.fmean(sums)) - 0.5) / statistics.pstdev(sums)
    assert standard_score(*dealt(first, second), (6.0, 4.0)) == pytest.approx(counted)


@pytest.mark.parametrize(("score", "freedom", "p"), [  # tables of Student's t, two-sided
    (12.706, 1, 0.05), (4.303, 2, 0.05), (2.228, 10, 0.05), (3.169, 10, 0.01), (1.960, 1e7, 0.05), (0.0, 7, 1.0),
])
def test_student_s_t(score: float, freedom: float, p: float) -> None:
    assert student_p(score, freedom) == pytest.approx(p, rel=5e-4)


@given(st.floats(0.0, 60.0))
def test_student_s_t_with_one_and_two_degrees_has_a_closed_form(score: float) -> None:
    assert student_p(score, 1.0) == pytest.approx(1.0 - 2.0 * math.atan(score) / math.pi, rel=1e-7, abs=1e-12)
    assert student_p(score, 2.0) == pytest.approx(1.0 - score / math.sqrt(2.0 + score * score), rel=1e-7, abs=1e-12)


def test_holm_as_worked_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.floats(0.001, 0.999))
def test_holm_rejects_what_stepping_down_rejects(chances: list[float], level: float) -> None:
    rejected: set[int] = set()
    for place, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[at] * (len(chances) - place) > level:
            break
        rejected.add(at)
    assert {at for at, p in enumerate(holm(chances)) if p <= level} == rejected


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=30))
def test_quartiles_are_those_of_the_library(values: list[float]) -> None:
    ordered = sorted(values)
    library = statistics.quantiles(ordered, n=4, method="inclusive")
    assert [quantile(ordered, share) for share in (0.25, 0.5, 0.75)] == pytest.approx(library)


@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression_is_what_theory_has(coefficient: float) -> None:
    draw = random.Random(11)
    length = 4000
    truth = length * (1.0 - coefficient) / (1.0 + coefficient)
    result = statistics.median(effective_size(autoregression(draw, length, coefficient)) for _ in range(9))
    assert 0.75 * truth <= result <= 1.05 * truth


def test_a_series_that_alternates_or_stands_still_counts_its_length() -> None:
    assert effective_size([1.0, -1.0] * 20) == 40.0
    assert effective_size([5.0] * 7) == 7.0
    assert effective_size([3.0]) == 1.0


@pytest.mark.parametrize(("length", "coefficient"), [(20, 0.0), (20, 0.9), (120, 0.6), (120, 0.97)])
def test_nothing_is_found_where_nothing_is_more_often_than_promised(length: int, coefficient: float) -> None:
    draw = random.Random(length)
    false = sum(rank_test(autoregression(draw, length, coefficient), autoregression(draw, length, coefficient)).p < 0.05
                for _ in range(400))
    assert false <= 0.05 * 400 + 3 * math.sqrt(400 * 0.05 * 0.95)


def test_without_the_autocorrelation_the_same_series_would_differ_all_the_time() -> None:
    draw = random.Random(4)
    naive = 0
    for _ in range(100):
        item, other = autoregression(draw, 120, 0.97), autoregression(draw, 120, 0.97)
        naive += math.erfc(standard_score(*dealt(item, other), (120.0, 120.0)) / math.sqrt(2.0)) < 0.05
    assert naive > 60


def test_a_real_shift_is_found() -> None:
    draw = random.Random(8)
    before = autoregression(draw, 120, 0.5)
    after = [value + 2.0 for value in autoregression(draw, 120, 0.5)]
    test = rank_test(before, after)
    assert test.p < 1e-6
    assert test.effect > 0.7


def test_the_least_p_is_that_of_samples_without_overlap() -> None:
    small = rank_test([1.0, 4.0, 2.0, 3.0], [5.0, 8.0, 2.5, 7.0, 6.0])
    assert small.least == pytest.approx(2 / math.comb(9, 4))
    draw = random.Random(2)
    noisy = [draw.random() for _ in range(40)]
    other = [draw.random() for _ in range(50)]
    assert rank_test(noisy, other).least <= rank_test(noisy, [value + 2.0 for value in other]).p < 1e-5
    rising = [float(at) for at in range(60)]
    assert rank_test(rising, [value + 100.0 for value in rising]).least > 0.05
