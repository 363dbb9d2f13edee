"""Histograms of numbers in constant memory: 16 buckets for each power of two, so that a bucket is 1/16 wide at most.

Counts of equal buckets are added, so histograms of several threads, groups or intervals are merged without further
error (the log-linear buckets of HDR histograms and of Prometheus's native ones).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

Buckets: TypeAlias = dict[int, int]
"""The number of values by bucket."""
_BITS: Final = 4  # of the buckets of a power of two
_PER_POWER: Final = 1 << _BITS
LARGEST: Final = (1 << 48) - 1
"""Values are counted as this at most: 78 hours in ns."""
ERROR: Final = 1 / _PER_POWER
"""The width of a bucket as a share of its values, at most: a quantile is too high by less."""


def bucket_of(value: int) -> int:
    """The bucket of a number from 0 on; numbers below 32 have one each."""
    if value < 2 * _PER_POWER:
        return max(0, value)
    value = min(value, LARGEST)
    shift = value.bit_length() - _BITS - 1
    return (shift << _BITS) + (value >> shift)


BUCKETS: Final = bucket_of(LARGEST) + 1
"""The number of buckets that there can be."""


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """The lowest and the highest value of a bucket."""
    shift = max(0, (bucket >> _BITS) - 1)
    lowest = (bucket - (shift << _BITS)) << shift
    return lowest, lowest + (1 << shift) - 1


def merged_buckets(parts: Iterable[Mapping[int, int]]) -> Buckets:
    """The sum of several histograms."""
    total: Buckets = {}
    for part in parts:
        for bucket, count in part.items():
            total[bucket] = total.get(bucket, 0) + count
    return total


def quantile(buckets: Mapping[int, int], share: float) -> int | None:
    """The value that a share of all values does not exceed, as the highest of its bucket; None without values."""
    rank = max(1, math.ceil(share * sum(buckets.values())))
    for bucket in sorted(buckets):
        rank -= buckets[bucket]
        if rank <= 0:
            return bucket_bounds(bucket)[1]
    return None


def cumulative(buckets: Mapping[int, int], bounds: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Each bound, and the number of values up to it, as the classic histograms of Prometheus have them.

    Args:
        bounds: rising powers of two less one, which no bucket crosses.
    """
    left, total = sorted(buckets.items(), reverse=True), 0
    for bound in bounds:
        while left and bucket_bounds(left[-1][0])[1] <= bound:
            total += left.pop()[1]
        yield bound, total
