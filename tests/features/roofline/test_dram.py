"""The DRAM roof: from firmware and kernel, else from the family's maximum, else a reason."""

from __future__ import annotations

import pytest
from knownmachines import known_machine

from turbotui.features.roofline.dram import FamilyMemory, bandwidth, dram_of
from turbotui.features.roofline.measuring import threads_of
from turbotui.features.roofline.theory import machine_roofs
from turbotui.machine.memory import MemoryFacts, Module
from turbotui.simulated import simulated_host
from turbotui.simulated.shape_table import SHAPES

_FAMILY = FamilyMemory("2 channels of DDR4-2666", 2, 2666, 2 * 8 * 2666e6, "a data sheet")
_NO_SMBIOS = "there is no SMBIOS"


def _modules(*names: str, mts: int = 3200, bits: int = 64) -> tuple[Module, ...]:
    return tuple(Module(f"slot {number} {name}", name, bits, mts) for number, name in enumerate(names))


def test_modules_of_one_channel_count_once() -> None:
    facts = MemoryFacts(_modules("channela", "channela", "channelb"), 0, "")
    dram = bandwidth(facts, _FAMILY, 1)
    assert (dram.rate, dram.at_most) == (2 * 8 * 3200e6, False)
    assert "2 channels with 3 modules at 3200 MT/s x 64 bits" in dram.note


def test_a_channel_runs_as_fast_as_its_slowest_module() -> None:
    slow = Module("slot 9", "channela", 64, 2400)
    assert bandwidth(MemoryFacts((*_modules("channela", "channelb"), slow), 0, ""), None, 1).rate == 8 * (
        2400e6 + 3200e6
    )


def test_narrow_channels_of_soldered_memory() -> None:
    names = [f"controller{literal}-channel{letter}" for literal in (0, 1) for letter in "abcd"]
    assert bandwidth(MemoryFacts(_modules(*names, mts=7467, bits=16), 0, ""), None, 1).rate == 8 * 2 * 7467e6


def test_modules_that_name_no_channel_are_an_upper_limit() -> None:
    two = bandwidth(MemoryFacts(_modules("", ""), 0, ""), _FAMILY, 1)
    assert (two.rate, two.at_most) == (2 * 8 * 3200e6, True)
    four = bandwidth(MemoryFacts(_modules("", "", "", ""), 0, ""), _FAMILY, 1)
    assert (four.rate, four.at_most) == (2 * 8 * 3200e6, True)  # the family has two channels, whatever is plugged in
    assert "the most of the family" in four.note
    counted = bandwidth(MemoryFacts(_modules("", "", "", ""), 2, ""), None, 1)
    assert (counted.rate, counted.at_most) == (2 * 8 * 3200e6, False)
    assert "EDAC" in counted.note


def test_without_firmware_the_family_is_the_limit_and_without_both_there_is_no_roof() -> None:
    family = bandwidth(MemoryFacts((), 0, _NO_SMBIOS), _FAMILY, 2)
    assert (family.rate, family.at_most) == (2 * 2 * 8 * 2666e6, True)
    assert "not this machine's modules" in family.note
    assert _NO_SMBIOS in family.note
    counted = bandwidth(MemoryFacts((), 1, _NO_SMBIOS), _FAMILY, 1)
    assert (counted.rate, counted.at_most) == (8 * 2666e6, True)
    none = bandwidth(MemoryFacts((), 4, _NO_SMBIOS), None, 1)
    assert none.rate is None
    assert _NO_SMBIOS in none.note
    unknown = bandwidth(MemoryFacts((*_modules("channela"), Module("s", "channelb", 64, None)), 0, ""), None, 1)
    assert unknown.rate is None
    assert "does not say how fast" in unknown.note


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.memory_channels])
def test_a_simulated_machine_tells_its_memory(name: str) -> None:
    shape = SHAPES[name]
    machine = known_machine(simulated_host(name))
    dram = dram_of(machine)
    assert dram.rate == shape.packages * shape.memory_channels * 8 * shape.memory_mts * 1e6
    assert not dram.at_most
    roofs = machine_roofs(machine, "all", threads_of(machine, "all", None))
    (slant,) = [item for item in roofs.bandwidths if item.level == "DRAM"]
    assert slant.rate == dram.rate
    first = frozenset(cpu for cpu in machine.topology.cpus if machine.topology.places[cpu].package == 0)
    half = machine_roofs(machine, "package", threads_of(machine, "package", first))
    assert next(item.rate for item in half.bandwidths if item.level == "DRAM") == dram.rate / shape.packages


@pytest.mark.parametrize(("name", "at_most"), [("laptop", 2 * 8 * 7467e6), ("grace-2s", 2 * 512e9),
                                               ("vera-2s", 2 * 1.2e12)])
def test_a_machine_that_tells_nothing_has_its_familys_maximum(name: str, at_most: float) -> None:
    machine = known_machine(simulated_host(name))
    roofs = machine_roofs(machine, "all", threads_of(machine, "all", None))
    slant = roofs.bandwidths[-1]
    assert (slant.level, slant.rate, slant.at_most) == ("DRAM", at_most, True)
    assert any("maximum of the family" in note for note in roofs.notes)


def test_a_core_that_memory_outruns_has_no_dram_roof() -> None:
    machine = known_machine(simulated_host("forest-1s"))
    roof_set = machine_roofs(machine, "one", (0,))
    assert "DRAM" not in roof_set.levels
    assert any("no DRAM roof: memory gives 409.6 GB/s" in note for note in roof_set.notes)


def test_a_guest_has_no_dram_roof() -> None:
    dram = dram_of(known_machine(simulated_host("guest")))
    assert dram.rate is None
    assert "virtual machine" in dram.note
