"""The energy meter: its joules are the machine's, its gaps are reported, and it names all signals that it needs."""

from __future__ import annotations

import pytest
from model_truth import truth_of
from patience import ENDED_BY_THE_TEST

from turbotui.machine.machine import read_machine
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.energy import ENERGY_SOURCES, Energy, EnergyMeter, energy_signals
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.simulated import SHAPES, ManualClock, simulated_host
from turbotui.sources import SOURCES


@pytest.mark.parametrize("name", SHAPES)
def test_no_other_source_is_needed(name: str) -> None:
    machine = read_machine(simulated_host(name))
    few = tuple(source for source in SOURCES if source.id in ENERGY_SOURCES)
    assert len(few) == len(ENERGY_SOURCES), "an id that no source has"
    assert energy_signals(probe_sources(machine, few)) == energy_signals(probe_sources(machine, SOURCES))


async def test_the_joules_are_those_of_each_package() -> None:
    clock = ManualClock(0)
    host = simulated_host("sapphire-2s", clock)
    machine = read_machine(host)
    capabilities = probe_sources(machine, SOURCES)
    sampler = Sampler(machine, capabilities, energy_signals(capabilities), ENDED_BY_THE_TEST)
    meter = EnergyMeter(capabilities)
    truth: list[list[float]] = []

    class Box:
        @staticmethod
        def put(frame: Frame) -> None:
            meter.feed(frame)
            truth.append([truth_of(host).package_truth(number).joules for number in range(2)])
            if len(truth) <= 3:
                clock.advance(1.5)
                sampler.end_interval()

    sampler.bus.attach(Box())
    await sampler.run(3)
    energy = meter.take()
    true = [after - before for before, after in zip(truth[0], truth[-1], strict=True)]
    assert [energy.joules[0], energy.joules[1]] == pytest.approx(true, rel=1e-3)
    assert energy.spans == pytest.approx({0: 4.5, 1: 4.5})
    assert energy.total(2) == pytest.approx(sum(energy.joules.values()))
    assert energy.span == pytest.approx(4.5)
    assert energy.reason(energy.total(2)) is None
    assert set(energy.cycles) == set(machine.topology.cpus)
    again = meter.take()
    assert again.total(2) is None
    assert again.why is not None
    assert again.why.reason is Reason.FIRST_TICK


def test_a_machine_without_energy_says_why() -> None:
    capabilities = probe_sources(read_machine(simulated_host("guest")), SOURCES)
    energy = EnergyMeter(capabilities).take()
    assert energy.reason(energy.total(1)) == capabilities.why_missing("energy.pkg")


def test_a_package_that_was_known_for_a_part_of_the_time_has_its_own_power() -> None:
    both = Energy({0: 1.0}, {}, 0.5).plus(Energy({0: 2.0, 1: 3.0}, {}, 0.25))
    assert both == Energy({0: 3.0, 1: 3.0}, {}, 0.75, spans={0: 0.75, 1: 0.25})
    assert both.over(1.5).joules == {0: 6.0, 1: 18.0}
    assert both.total(2) == 3.0 + 9.0
    assert both.total(3) is None
    assert both.reason(both.total(3)) is not None


def test_what_has_no_energy_adds_nothing_to_what_has() -> None:
    why = Unavailable(Reason.NOT_PERMITTED, "no")
    none = Energy({}, {}, 1.0, why)
    assert none.total(1) is None
    assert none.plus(none).why is why
    assert none.plus(Energy({0: 2.0}, {}, 1.0)).why is None
