"""Counts of several counters as one: scaled each by its own times, unknown while one of them had no turn."""

from __future__ import annotations

import pytest
from fakehost import FakeHost
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.host import PerfAttr
from turbotui.sources.event_reader import Count, EventReader, Part
from turbotui.sources.perf_group import GroupEvent, Times

RATE = 1_000_000.0
EVENT = GroupEvent("x", PerfAttr(9, 0), "x")


def opened(turns: dict[int, float]) -> tuple[FakeHost, EventReader]:
    host = FakeHost(counters={(9, 0): RATE}, turns=turns)
    return host, EventReader(host, [Part(cpu, (EVENT,)) for cpu in turns], [Count("x", Times.of("x"))])


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5), st.integers(1, 4))
def test_the_times_of_a_sum_scale_it_to_the_whole_time(shares: list[float], reads: int) -> None:
    host, reader = opened(dict(enumerate(shares)))
    last = (0, 0, 0)
    for _ in range(reads):
        host.advance(0.5)
        now = tuple(reader.read())
        value, enabled, running = (new - old for new, old in zip(now, last, strict=True))  # type: ignore[operator]
        assert enabled == len(shares) * 5 * 10**8
        assert value * enabled / running == pytest.approx(len(shares) * RATE / 2, rel=1e-3)
        last = now  # type: ignore[assignment]


def test_a_sum_without_a_turn_of_one_counter_stands_while_its_time_goes_on() -> None:
    host, reader = opened({0: 1.0, 1: 0.0})
    host.advance(2.0)
    assert list(reader.read()) == [0, 4 * 10**9, 0]
    reader.close()
    assert host.open == {}
