"""Rank statistics of two series: how far one lies above the other, and whether chance explains that.

Successive readings resemble each other, so a minute of one-second readings tells less than sixty independent ones. The
test uses the number of independent readings that follows from the series' autocorrelation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import mul
from typing import Final

from turbotui.dataclass import dataclass

EXACT_SIZE: Final = 25
"""The most values for the exact test; larger samples are compared by approximation."""

_TRUSTED_LAGS: Final = 4  # autocorrelations at lags beyond this part of the series are noise (Box and Jenkins)
_NEAR_ONE: Final = 0.999_999
_FRACTION_STEPS: Final = 400
_SMALL: Final = 1e-300


@dataclass(frozen=True, slots=True)
class RankTest:
    """The comparison of two samples by ranks."""

    effect: float  # Cliff's delta, from -1 (all of the second are smaller) over 0 to 1 (all are greater)
    p: float  # the probability of an effect at least as great by chance, in either direction
    sizes: tuple[float, float]  # the independent readings in each sample
    least: float  # the p of samples of these sizes without any overlap, which is the least possible


def rank_test(first: Sequence[float], second: Sequence[float]) -> RankTest:
    """Compare two series, each in order of time, with at least one finite value each.

    The p is that of the Mann-Whitney test, corrected for ties: exact for small samples without autocorrelation. With
    autocorrelation it is that of the approximation with as many independent readings as there are, by Student's t as
    their number is itself estimated, and never less than the exact one.
    """
    ranks = midranks([*first, *second])
    first_ranks, second_ranks = ranks[: len(first)], ranks[len(first) :]
    sizes = (effective_size(first_ranks), effective_size(second_ranks))
    effect = cliffs_delta(second_ranks, len(first))
    exact = least = 0.0
    if len(first) <= EXACT_SIZE and len(second) <= EXACT_SIZE:
        exact, least = exact_p(first_ranks, second_ranks), min(1.0, 2.0 / math.comb(len(ranks), len(first_ranks)))
        if sizes[0] >= len(first) and sizes[1] >= len(second):
            return RankTest(effect, exact, sizes, least)
    freedom = _freedom(sizes)
    p = max(exact, student_p(standard_score(first_ranks, second_ranks, sizes), freedom))
    apart = (0.5 - 0.5 / (len(first) * len(second))) / math.sqrt(_variance(sizes))
    return RankTest(effect, p, sizes, min(p, max(least, student_p(apart, freedom))))


def cliffs_delta(theirs: Sequence[float], others: int) -> float:
    """Return the share of pairs in which the second is greater, less the share in which it is smaller (Cliff 1993).

    The first argument has the midranks of the second series among both, the other one the size of the first.
    """
    size = len(theirs)
    return (2.0 * sum(theirs) - size * (size + 1)) / (size * others) - 1.0


def midranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for at in order[begin:end]:
            ranks[at] = (begin + end + 1) / 2.0
        begin = end
    return ranks


def exact_p(first_ranks: Sequence[float], second_ranks: Sequence[float]) -> float:
    """Return the two-sided p over every way to divide the joint midranks into samples of these sizes.

    The ways are counted by their sum of ranks, as the product of (1 + y x^rank) over all ranks. The coefficient of
    each power of y is one long integer, with a field of bits for each power of x. Midranks are doubled to be integers.
    """
    doubled = [round(2.0 * rank) for rank in (*first_ranks, *second_ranks)]
    size = len(first_ranks)
    field = len(doubled) + 1  # no count reaches 2 ** len(doubled)
    ways = [1] + [0] * size
    for rank in doubled:
        for taken in range(size, 0, -1):
            ways[taken] += ways[taken - 1] << (rank * field)
    middle = size * sum(doubled)  # twice the sum of ranks, times the number of ranks
    observed = abs(sum(doubled[:size]) * len(doubled) - middle)
    count, extreme, at = ways[size], 0, 0
    mask = (1 << field) - 1
    while count:
        if abs(at * len(doubled) - middle) >= observed:
            extreme += count & mask
        count >>= field
        at += 1
    return extreme / math.comb(len(doubled), size)


def standard_score(first_ranks: Sequence[float], second_ranks: Sequence[float], sizes: tuple[float, float]) -> float:
    """Return the Mann-Whitney statistic's distance from its mean in standard deviations, corrected for ties.

    Args:
        sizes: the independent readings in each; the samples' lengths if all are independent.
    """
    count = len(first_ranks) + len(second_ranks)
    tied = sum(times**3 - times for times in Counter((*first_ranks, *second_ranks)).values())
    spread = 1.0 - tied / (count**3 - count)
    if spread <= 0.0:
        return 0.0  # all values are equal
    pairs = len(first_ranks) * len(second_ranks)
    deviation = max(0.0, abs(cliffs_delta(second_ranks, len(first_ranks))) / 2.0 - 0.5 / pairs)
    return deviation / math.sqrt(spread * _variance(sizes))


def _variance(sizes: tuple[float, float]) -> float:
    """Return the variance by chance of the share of pairs in which the second is greater, without ties."""
    size, other = sizes
    return (1.0 / size + 1.0 / other + 1.0 / (size * other)) / 12.0


def effective_size(series: Sequence[float]) -> float:
    """Return the number of independent readings that tell as much about the mean as this series.

    The smaller of two estimates: of a first-order autoregression, whose coefficient is corrected for its bias in short
    series (Kendall 1954), and of the sum of autocorrelations up to where pairs of them are not positive any more (Geyer
    1992), corrected for the mean that they were taken around. Series that alternate count no more than their length.
    """
    length = len(series)
    mean = math.fsum(series) / length
    around = [value - mean for value in series]
    variance = math.fsum(map(mul, around, around))
    if variance <= 0.0 or length < 3:
        return float(length)
    times = max(_first_order(around, variance), _sum_of_pairs(around, variance))
    return length / min(max(times, 1.0), length)


def _correlation(around: Sequence[float], variance: float, lag: int) -> float:
    return math.fsum(map(mul, around, around[lag:])) / variance


def _first_order(around: Sequence[float], variance: float) -> float:
    """Return the factor by which a first-order autoregression inflates the variance of the mean."""
    correction = _correlation(around, variance, 1)
    if correction <= 0.0:
        return 1.0
    correction = min(correction + (1.0 + 4.0 * correction) / len(around), _NEAR_ONE)
    return (1.0 + correction) / (1.0 - correction)


def _sum_of_pairs(around: Sequence[float], variance: float) -> float:
    """Return the inflation of the mean's variance by the initial sequence of positive, falling pairs."""
    total, before = -1.0, math.inf
    for lag in range(0, max(2, len(around) // _TRUSTED_LAGS), 2):
        pair = _correlation(around, variance, lag) + _correlation(around, variance, lag + 1)
        if pair <= 0.0:
            break
        before = min(pair, before)
        total += 2.0 * before
    return total / max(0.1, 1.0 - total / len(around))


def _freedom(sizes: tuple[float, float]) -> float:
    """Return the degrees of freedom of a difference of two means (Welch 1947)."""
    parts = [1.0 / size for size in sizes]
    below = sum(part * part / max(size - 1.0, 1e-3) for part, size in zip(parts, sizes, strict=True))
    return sum(parts) * sum(parts) / below


def student_p(score: float, freedom: float) -> float:
    """Return the probability that Student's t with (fractional) degrees of freedom is as far from 0."""
    return _incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + score * score))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function (DLMF 8.17), for x from 0 to 1."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of DLMF 8.17.22, by the modified Lentz method."""
    upper, lower = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    value = lower
    for step in range(1, _FRACTION_STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for part in (even, odd):
            lower = 1.0 / _not_zero(1.0 + part * lower)
            upper = _not_zero(1.0 + part / upper)
            value *= upper * lower
        if abs(upper * lower - 1.0) < 1e-14:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _SMALL else _SMALL


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust p values for their number (Holm 1979), so that the chance of any false one is that of a single test."""
    adjusted = [0.0] * len(chances)
    highest = 0.0
    for place, at in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min(1.0, (len(chances) - place) * chances[at]))
        adjusted[at] = highest
    return adjusted


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the interpolated quantile of a sorted sample (type 7 of Hyndman and Fan 1996)."""
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
