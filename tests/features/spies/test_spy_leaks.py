"""A CPU that goes offline while its spy changes sets leaves no open counter."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.sources.source import CpuGone
from turbotui.sources.spies import Spies


class Failing:
    """A simulated machine whose counters fail from a certain read on."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self.reads_left = 1_000_000

    def __getattr__(self, name: str) -> object:
        return getattr(self._host, name)

    def read_counter(self, descriptor: int, size: int) -> bytes:
        self.reads_left -= 1
        if self.reads_left < 0:
            raise HostError(errno.ENODEV, "read of a perf counter")
        return self._host.read_counter(descriptor, size)


@pytest.mark.parametrize("reads", range(4))
def test_every_counter_is_closed_whichever_read_fails(reads: int) -> None:
    clock = ManualClock(0)
    host = simulated_host("laptop-old", clock, seed=7)
    clock.advance(5.0)
    failing = Failing(host)
    machine: Machine = replace(read_machine(host), host=failing)  # type: ignore[arg-type]  # the rest is the simulation's
    spies = Spies(SpyPlan((typed_spy("0", "cycles;branches"),)))
    wanted = frozenset(spies.probe(machine).signals)
    before = host.open_descriptors
    reader = spies.open(machine, 0, wanted)
    assert host.open_descriptors > before
    clock.advance(0.1)
    failing.reads_left = reads

    def sample() -> None:
        for _ in range(4):
            reader.read()
            reader.rotate()

    with pytest.raises(CpuGone):
        sample()
    reader.close()
    assert host.open_descriptors == before
