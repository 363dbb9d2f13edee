"""Counters that decreased: either they wrapped, or they were reset."""

from __future__ import annotations

import pytest

from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal
from turbotui.quantities.units import Unit
from turbotui.sampling.wraps import WrapCounter

NS = 10**9
ROW = RowId(Scope.PACKAGE, (0,))
ENERGY = Signal("energy.pkg", Scope.PACKAGE, Unit.JOULE, Behavior.COUNTER, Reduce.SUM, "MSR 0x611", width_bits=32,
                scale=2.0**-14, wrap_seconds=600.0)  # 436 W at most
FULL = 2**32


def seen(before: int, after: int, seconds: float, slept: float = 0.0) -> tuple[int, bool]:
    counter = WrapCounter()
    counter.see(ENERGY, ROW, before, NS)
    counter.see(ENERGY, ROW, after, NS + round(seconds * NS), round(slept * NS))
    return counter.take("energy.pkg", ROW)


@pytest.mark.parametrize(("before", "after", "seconds"), [
    (FULL - 1000, 5000, 1.0), (FULL - 100_000_000, 50_000_000, 60.0), (FULL - 300, 20, 0.001),
])
def test_what_it_can_have_counted_is_a_wrap(before: int, after: int, seconds: float) -> None:
    assert seen(before, after, seconds) == (1, False)


@pytest.mark.parametrize(("before", "after", "seconds"), [
    (FULL // 2, 100, 5.0), (4_000_000_000, 3_999_999_999, 60.0), (FULL // 2, 0, 0.001), (1000, FULL - 1, 1.0),
])
def test_what_it_cannot_have_counted_was_set(before: int, after: int, seconds: float) -> None:
    """Half of 2^32 counts in 5 s would be 26,214 W, and a word of ones is what broken registers give."""
    assert seen(before, after, seconds)[1]


@pytest.mark.parametrize("seconds", [0.001, 1.0, 599.0])
def test_what_stands_still_has_neither_wrapped_nor_been_set(seconds: float) -> None:
    assert seen(5000, 5000, seconds) == (0, False)


def test_after_a_sleep_nobody_knows() -> None:
    assert seen(FULL - 1000, 5000, 300.0, slept=299.0)[1]
    assert seen(5000, 6000, 300.0, slept=299.0) == (0, False), "what went on counting is known"


LARGEST = 4 * FULL / 600
"""Counts a second that are just plausible: four times the highest rate, at which the counter turns in 600 s."""


@pytest.mark.parametrize("seconds", [1.0, 10.0, 100.0])
def test_the_largest_plausible_increase_and_a_hair_more(seconds: float) -> None:
    most = LARGEST * (seconds + 0.005)  # 20 ms of register time at the highest rate: a quarter at four times that
    assert seen(0, int(most * 0.999), seconds) == (0, False)
    assert seen(0, int(most * 1.001), seconds) == (0, True)
    assert seen(FULL - 10, int(most * 0.999) - 10, seconds) == (1, False)
    assert seen(FULL - 10, int(most * 1.001) - 10, seconds) == (1, True)


def test_a_wrap_is_missed_as_soon_as_the_counter_could_turn_once() -> None:
    assert seen(5, 6, 600.0) == (0, False)
    assert seen(5, 6, 600.0 + 1e-9) == (0, True)


def test_whether_a_wrap_was_missed_is_asked_once_and_the_count_goes_on() -> None:
    counter = WrapCounter()
    for number, bits in enumerate((FULL - 5, 5, FULL - 5, 5)):
        counter.see(ENERGY, ROW, bits, (1 + 500 * number) * NS)
    assert counter.take("energy.pkg", ROW) == (2, False)
    counter.see(ENERGY, ROW, 6, (1 + 500 * 3 + 601) * NS)
    assert counter.take("energy.pkg", ROW) == (2, True)
    assert counter.take("energy.pkg", ROW) == (2, False)


def test_rows_and_unreadable_words_are_apart() -> None:
    counter, other = WrapCounter(), RowId(Scope.PACKAGE, (1,))
    assert counter.take("energy.pkg", ROW) == (0, False)
    counter.see(ENERGY, ROW, FULL - 5, NS)
    counter.see(ENERGY, other, 5, NS)
    counter.see(ENERGY, ROW, None, 2 * NS)
    counter.see(ENERGY, ROW, 5, 3 * NS)
    counter.see(ENERGY, other, 6, 3 * NS)
    assert (counter.take("energy.pkg", ROW), counter.take("energy.pkg", other)) == ((1, False), (0, False))
