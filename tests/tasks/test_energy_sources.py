"""What the energy of tasks is shared out by is given by the sources that are asked for it, on every machine."""

from __future__ import annotations

import pytest

from turbotui.analysis.tasks.energy import ENERGY_SOURCES, energy_signals
from turbotui.machine.machine import read_machine
from turbotui.machine.simulated import SHAPES, simulated_host
from turbotui.sampling.census import take_census
from turbotui.sources import SOURCES


@pytest.mark.parametrize("name", SHAPES)
def test_no_other_source_is_needed(name: str) -> None:
    machine = read_machine(simulated_host(name))
    few = tuple(source for source in SOURCES if source.id in ENERGY_SOURCES)
    assert len(few) == len(ENERGY_SOURCES), "an id that no source has"
    assert energy_signals(take_census(machine, few)) == energy_signals(take_census(machine, SOURCES))
