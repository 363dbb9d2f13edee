"""The rounds of kernel threads: by CPU time, together, and over parts of large sets."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.code.kernel_threads import UNDISTURBED, Round, Rounds, _combine, _Task, _Timing, _Walk
from turbotui.machine.code.mapping import Buffer
from turbotui.machine.code.shapes import Kernel, LoopShape

_SECOND = 1_000_000_000


def test_threads_that_share_are_never_credited_with_running_alone() -> None:
    """Two threads of 10 units: one ran the first second alone, the other the second: 10 units a second, not 20."""
    apart = [_Timing(0, _SECOND, _SECOND, 10, 4e9), _Timing(_SECOND, _SECOND, _SECOND, 10, 2e9)]
    assert _combine(apart, shared=True).rate == pytest.approx(10.0)
    assert _combine(apart, shared=False).rate == pytest.approx(20.0)
    assert _combine(apart, shared=True).hertz == 3e9


@given(st.lists(st.tuples(st.floats(0.05, 1.0), st.floats(1e6, 1e12)), min_size=1, max_size=8))
def test_what_belongs_to_a_core_does_not_look_slow_on_a_busy_machine(threads: list[tuple[float, float]]) -> None:
    """Each thread had its CPU for a share of a second only; what it did in that time is its rate."""
    timings = [_Timing(0, _SECOND, round(share * _SECOND), round(rate * share), 1e9) for share, rate in threads]
    result = _combine(timings, shared=False)
    assert result.rate == pytest.approx(sum(rate for _share, rate in threads), rel=1e-4)
    assert not result.disturbed
    shared = _combine(timings, shared=True)
    assert shared.rate <= result.rate * (1 + 1e-4)
    assert shared.disturbed == (min(share for share, _rate in threads) < UNDISTURBED)


def _rounds(*rounds: tuple[float, float]) -> Rounds:
    """Rounds of several threads with (rate, share of the time on their CPUs)."""
    kernel = Kernel(b"", 1, (0, 0), LoopShape(0, 64))
    return Rounds(kernel, tuple(Round(rate, 1e9, share, together=True) for rate, share in rounds))


def test_a_disturbed_round_is_not_the_best_while_there_is_another() -> None:
    rounds = _rounds((30.0, 0.5), (20.0, 1.0), (19.8, 0.98), (10.0, 1.0))
    assert rounds.best.rate == 20.0
    assert rounds.agreeing == 2
    assert rounds.spread == pytest.approx(2 / 3)
    only = _rounds((30.0, 0.5), (31.0, 0.6))
    assert (only.best.rate, only.best.disturbed, only.agreeing) == (31.0, True, 0)


class _Page:
    """Notes where a kernel would walk."""

    def __init__(self) -> None:
        self.walked: list[tuple[int, int, int]] = []

    def run(self, iterations: int, base: int, size: int) -> None:
        self.walked.append((iterations, base, size))


class _Place:
    address = 1 << 30


@given(st.integers(1, 2000).map(lambda number: number * 64), st.integers(1, 300), st.integers(0, 400 << 20),
       st.lists(st.integers(1, 500), min_size=1, max_size=5))
def test_large_sets_are_walked_in_whole_steps_and_never_beyond_their_end(step: int, mib: int, place: int,
                                                                         rounds: list[int]) -> None:
    size = max((mib << 20) // step * step, step)
    page = _Page()
    walk = _Walk(cast(Any, _Task(cast(Any, page), size, step, size, 0.0, 1, b"", cast(Any, None))),
                 cast(Buffer, _Place()), place)
    for iterations in rounds:
        page.walked.clear()
        walk.cpu_ns(iterations)
        assert sum(times * length for times, _base, length in page.walked) == iterations * walk.work
        for _times, base, length in page.walked:
            assert length > 0
            assert length % step == 0
            assert base - _Place.address >= 0
            assert base - _Place.address + length <= size
