"""Tables of earlier intervals are bounded by their rows and by their bytes; the newest is always there."""

from __future__ import annotations

import os

from turbotui.sampling.kept_intervals import KeptIntervals


def test_large_rows_are_bounded_by_their_bytes() -> None:
    kept: KeptIntervals[bytes] = KeptIntervals(most_bytes=10_000)
    tables = {time: os.urandom(1_000) for time in range(1, 101)}
    for time, table in tables.items():
        kept.keep(time, 1, table)
    result = {time: there for time in tables if (there := kept.at(time - 1, time)) is not None}
    assert 8 <= len(result) <= 10, "nine packed, and the newest"
    assert result.items() <= tables.items()
    assert 100 in result
    assert min(result) < 50, "the older, the coarser"


def test_a_table_that_is_larger_than_all_may_be_is_kept_as_long_as_it_is_the_newest() -> None:
    kept: KeptIntervals[bytes] = KeptIntervals(most_bytes=10)
    for time in (1, 2, 3):
        kept.keep(time, 1, bytes(100))
    assert [kept.at(time - 1, time) is not None for time in (1, 2, 3)] == [False, False, True]
