"""Histograms of waits: buckets, quantiles within a sixteenth, merging."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.histograms import (
    BUCKETS,
    ERROR,
    LARGEST,
    bucket_bounds,
    bucket_of,
    cumulative,
    merged_buckets,
    quantile,
)

VALUES = st.lists(st.one_of(st.integers(0, 100), st.integers(0, 10**7), st.integers(0, LARGEST)), max_size=80)


@given(st.integers(0, LARGEST))
def test_a_value_is_in_its_bucket_which_is_a_sixteenth_wide(value: int) -> None:
    lowest, highest = bucket_bounds(bucket_of(value))
    assert lowest <= value <= highest
    assert highest - lowest <= ERROR * lowest
    assert bucket_of(lowest) == bucket_of(highest) == bucket_of(value)
    assert bucket_of(highest + 1) == bucket_of(value) + 1 or highest == LARGEST


def test_there_are_few_buckets_and_what_is_longer_is_in_the_last() -> None:
    assert BUCKETS < 800
    assert bucket_of(LARGEST) == bucket_of(10**30) == BUCKETS - 1
    assert bucket_of(-5) == 0


@given(VALUES, st.sampled_from([0.5, 0.9, 0.99, 0.999]))
def test_a_quantile_is_the_value_of_its_rank_or_less_than_a_sixteenth_more(values: list[int], share: float) -> None:
    result = quantile(Counter(map(bucket_of, values)), share)
    if not values:
        assert result is None
        return
    exact = sorted(values)[max(1, math.ceil(share * len(values))) - 1]
    assert result is not None
    assert exact <= result <= exact * (1 + ERROR)


@given(VALUES, VALUES)
def test_merging_is_the_histogram_of_all_values(first: list[int], second: list[int]) -> None:
    both = merged_buckets((Counter(map(bucket_of, first)), Counter(map(bucket_of, second))))
    assert both == Counter(map(bucket_of, first + second))


@given(VALUES)
def test_cumulative_counts_at_powers_of_two_are_exact(values: list[int]) -> None:
    bounds = [(1 << power) - 1 for power in range(0, 49, 4)]
    result = list(cumulative(Counter(map(bucket_of, values)), bounds))
    assert result == [(bound, sum(value <= bound for value in values)) for bound in bounds]


@pytest.mark.parametrize(("share", "expected"), [(0.5, 2), (0.75, 3), (1.0, 4)])
def test_quantiles_of_few_values(share: float, expected: int) -> None:
    assert quantile({1: 1, 2: 1, 3: 1, 4: 1}, share) == expected
