"""Tiers carry what happened in skipped ticks, and a set clock is told from a slewed one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_frames import CAPABILITIES, NOON, SECOND, snapshot, topology_of_cpus

from turbotui.recording.tiers import SLEW, STEP_SECONDS, SnapshotEncoder, Thinning, clock_step
from turbotui.sampling.snapshot import Snapshot

TOPOLOGY = topology_of_cpus(range(4))
Positions = dict[str, frozenset[int]]
POSITIONS = st.dictionaries(st.sampled_from(("work", "energy", "heat")), st.frozensets(st.integers(0, 3)), max_size=3)


@given(st.lists(st.tuples(POSITIONS, POSITIONS, st.integers(1, 30)), min_size=1, max_size=30))
def test_every_restart_reaches_the_next_kept_tick_and_no_other(steps: list[tuple[Positions, Positions, int]]) -> None:
    thinning, number = Thinning(10.0), 0
    carried: tuple[Positions, Positions] = {}, {}
    slot = None
    for fresh, unsure, passed in steps:
        number += passed
        tick = replace(snapshot(number, TOPOLOGY), fresh=fresh, unsure=unsure)
        for before, now in zip(carried, (fresh, unsure), strict=True):
            for name, positions in now.items():
                before[name] = before.get(name, frozenset()) | positions
        result = thinning.take(tick)
        assert (result is not None) == (number // 10 != slot)
        if result is not None:
            slot = number // 10
            for kept, before in zip((result.fresh, result.unsure), carried, strict=True):
                assert {name: at for name, at in kept.items() if at} == {name: at for name, at in before.items() if at}
            carried = {}, {}


def test_what_began_anew_before_cpus_came_or_went_has_no_difference_anywhere() -> None:
    thinning = Thinning(10.0)
    assert thinning.take(snapshot(0, TOPOLOGY)) is not None
    assert thinning.take(replace(snapshot(1, TOPOLOGY), fresh={"work": frozenset({3})})) is None
    assert thinning.take(snapshot(2, topology_of_cpus(range(2)))) is None
    returned = thinning.take(snapshot(12, topology_of_cpus(range(4))))
    assert returned is not None
    assert returned.fresh == {"work": frozenset(range(4))}


def test_what_is_no_longer_read_is_not_carried() -> None:
    thinning = Thinning(10.0)
    assert thinning.take(snapshot(0, TOPOLOGY)) is not None
    assert thinning.take(replace(snapshot(1, TOPOLOGY), fresh={"gone": frozenset({0})})) is None
    result = thinning.take(snapshot(10, TOPOLOGY))
    assert result is not None
    assert result.fresh == {}


def test_nothing_is_left_of_a_span_whose_last_tick_was_kept() -> None:
    thinning = Thinning(10.0)
    left = []
    for number in (0, 4, 10, 13, 20):
        thinning.take(snapshot(number, TOPOLOGY))
        rest = thinning.rest()
        left.append(None if rest is None else rest.seq)
    assert left == [None, 4, None, 13, None]


def apart(seconds: float, wall_seconds: float) -> tuple[Snapshot, Snapshot]:
    before = snapshot(0, TOPOLOGY, started_ns=5 * SECOND, wall_ns=NOON)
    return before, snapshot(1, TOPOLOGY, started_ns=5 * SECOND + round(seconds * SECOND),
                            wall_ns=NOON + round(wall_seconds * SECOND))


@pytest.mark.parametrize(("seconds", "step"), [
    (1.0, 0.0), (1.0, STEP_SECONDS * 0.99), (1.0, -STEP_SECONDS * 0.99), (10.0, STEP_SECONDS * 0.99),
    (1_000.0, 1_000.0 * SLEW * 0.99), (1_000.0, -1_000.0 * SLEW * 0.99), (3_600.0, 1.8),  # the kernel's most is 0.05 %
])
def test_a_slewed_clock_was_not_set(seconds: float, step: float) -> None:
    assert clock_step(*apart(seconds, seconds + step)) == 0.0


@pytest.mark.parametrize(("seconds", "step"), [
    (1.0, STEP_SECONDS * 1.01), (1.0, -STEP_SECONDS * 1.01), (1_000.0, 1_000.0 * SLEW * 1.01), (1.0, -3_600.0),
    (0.2, 0.5), (1.0, 0.102), (3_600.0, 3.7),
])
def test_a_clock_that_was_set_says_by_how_much(seconds: float, step: float) -> None:
    assert clock_step(*apart(seconds, seconds + step)) == pytest.approx(step, abs=1e-6)


def with_clock_set(number: int, at: int, step: int) -> Snapshot:
    """Tick `number`, one a second; the wall clock is set by `step` seconds at tick `at`."""
    return snapshot(number, TOPOLOGY, wall_ns=NOON + (number + (step if number >= at else 0)) * SECOND)


@given(st.integers(1, 40), st.integers(-1_000, 1_000))
def test_a_clock_that_is_set_takes_no_tick_from_a_tier(at: int, step: int) -> None:
    thinning = Thinning(10.0)
    kept = [number for number in range(41) if thinning.take(with_clock_set(number, at, step)) is not None]
    assert kept == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("step", [-3_600, -1, 1, 3_600])
def test_the_first_tick_of_a_set_clock_is_a_key_tick_by_which_a_time_is_found(step: int) -> None:
    encoder = SnapshotEncoder(key_every=100)
    ticks = [encoder.encode(with_clock_set(number, 5, step), CAPABILITIES) for number in range(10)]
    assert [tick.snapshot.seq for tick in ticks if tick is not None and tick.key] == [0, 5]
