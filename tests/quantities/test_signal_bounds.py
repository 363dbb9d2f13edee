"""What a number of a signal can be at most: what a late reading adds to a share of 100 % is no fault of the counter."""

from __future__ import annotations

import pytest

from turbotui.quantities.bounds import bounds_of_kind
from turbotui.quantities.units import Unit


@pytest.mark.parametrize(("name", "unit", "counter"), [
    ("cpuidle.1.time", Unit.SECOND, True),
    ("cgroup.psi.cpu", Unit.SECOND, True),
    ("hsmp.c0", Unit.RATIO, False),
    ("meter.battery.0.capacity", Unit.RATIO, False),
])
def test_times_and_shares_are_at_most_all_there_is_and_a_tenth(name: str, unit: Unit, counter: bool) -> None:
    bounds = bounds_of_kind(name, unit, counter)
    assert [bounds.admits(value) for value in (0.0, 1.0, 1.1)] == [True] * 3
    assert [bounds.admits(value) for value in (-0.01, 1.2)] == [False] * 2


def test_a_clock_of_0_is_no_answer_and_a_temperature_of_0_is() -> None:
    clock, heat = bounds_of_kind("cpufreq.cur", Unit.HERTZ, False), bounds_of_kind("heat", Unit.CELSIUS, False)
    assert [clock.admits(value) for value in (0.0, 1e9, 20e9, 21e9)] == [False, True, True, False]
    assert [heat.admits(value) for value in (-60.5, -60.0, 0.0, 200.0, 200.5)] == [False, True, True, True, False]
