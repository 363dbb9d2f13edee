"""What a spy's multiplexed sets count while its thread loses its CPU."""

from __future__ import annotations

import pytest
from fakehost import SlowHost, machine, pmu_files

from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.quantities.spy_signals import SpySignals
from turbotui.sources.spies import Spies


@pytest.mark.parametrize("at", range(8))
def test_nothing_is_lost_between_two_sets_where_the_thread_loses_its_cpu(at: int) -> None:
    """The change reads both sets, each with a pause before and after: one of these pauses is of 4 ms."""
    host = SlowHost(files={"/proc/cpuinfo": "", **pmu_files("cpu", 4, {})},
                    counters={(0, 0): 1e9, (0, 1): 2e9, (0, 4): 1e8})
    plan = SpyPlan((typed_spy("all", "cycles;branches"),), "cycles")
    source = Spies(plan)
    spied = machine(host)
    source.probe(spied)
    reader = source.open(spied, 0, frozenset({SpySignals("cycles").count}))
    assert reader.set_count == 2
    before, = reader.read()
    began = host.now
    for number in range(4):
        host.advance(0.05)
        reader.read()
        host.pauses = list(reversed([1e-6] * at + [0.004])) if number == 1 else []
        reader.rotate()
    after, = reader.read()
    assert isinstance(before, int)
    assert isinstance(after, int)
    assert after - before == pytest.approx(host.now - began, abs=50_000)
    reader.close()
    assert host.open == {}
