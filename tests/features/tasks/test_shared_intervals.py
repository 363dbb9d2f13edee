"""Intervals that are watched once and shown for several applications."""

from __future__ import annotations

import pytest

from turbotui.features.tasks.shared_intervals import SharedIntervals


@pytest.mark.parametrize("beginning", [False, True])
def test_each_interval_ends_once_and_the_first_is_whole_only_from_its_beginning(beginning: bool) -> None:
    intervals = SharedIntervals(beginning=beginning)
    result = [(intervals.end(who), intervals.known) for who in "abbaaa"]
    assert result == [(True, beginning), (False, beginning), (True, True), (False, True), (True, True), (True, True)]
    assert not SharedIntervals(beginning=beginning).known
