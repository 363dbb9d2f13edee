"""Names of AMD's L3 caches: by the kernel's dies, by numbers of caches, or none."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from treehost import TreeHost

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import read_machine
from turbotui.machine.topology import CpuPlace, chiplet_names, read_topology
from turbotui.quantities.scope import RowId, Scope
from turbotui.recording.cpu_layout import topology_facts, topology_from
from turbotui.recording.json_values import JsonValue
from turbotui.simulated import simulated_host
from turbotui.tables.row_names import row_name

NAPLES = Path(__file__).parents[2] / "../shared/machines/lscpu/x86_64-epyc_7451.tar.gz"


def model(family: int, number: int, *, vendor: str = "AuthenticAMD", hypervisor: bool = False) -> CpuModel:
    return CpuModel(architecture="x86_64", vendor=vendor, family=family, model=number, hypervisor=hypervisor)


def place(package: int, die: int, l3: int) -> CpuPlace:
    return CpuPlace(0, package, die, l3, 0, 0, 0)


def test_a_complex_in_each_die_counted_in_each_package() -> None:
    places = [place(package, package, l3) for package in (0, 1) for l3 in (16 * package, 16 * package + 1)]
    assert chiplet_names(places, model(26, 0x02)) == {
        (0, 0, 0): "CCD 0", (0, 0, 1): "CCD 1", (1, 1, 16): "CCD 0", (1, 1, 17): "CCD 1"}


def test_two_complexes_in_a_die_have_neighbouring_numbers() -> None:
    rome = model(23, 0x31)
    assert list(chiplet_names([place(0, 0, l3) for l3 in (0, 1, 6, 7)], rome).values()) == [
        "CCD 0 CCX 0", "CCD 0 CCX 1", "CCD 1 CCX 0", "CCD 1 CCX 1"]
    one_of_each = chiplet_names([place(0, 0, 1), place(0, 0, 2)], rome)  # the other complex is not there
    assert list(one_of_each.values()) == ["CCD 0 CCX 1", "CCD 1 CCX 0"]


def test_dies_of_the_kernel_are_believed() -> None:
    bergamo = model(25, 0xA0)
    result = chiplet_names([place(0, 0, 0), place(0, 0, 3), place(0, 4, 8), place(0, 4, 9)], bergamo)
    assert list(result.values()) == ["CCD 0 CCX 0", "CCD 0 CCX 1", "CCD 1 CCX 0", "CCD 1 CCX 1"]


@pytest.mark.parametrize("other", [
    model(23, 0x01), model(25, 0x50), model(6, 0x8F, vendor="GenuineIntel"), model(26, 0x02, hypervisor=True)])
def test_what_has_no_such_dies_or_hides_them_has_no_names(other: CpuModel) -> None:
    assert chiplet_names([place(0, 0, 0), place(0, 0, 1)], other) == {}


def test_one_cache_and_caches_without_numbers_have_none() -> None:
    assert chiplet_names([place(0, 0, 3)], model(26, 0x02)) == {}
    assert chiplet_names([place(0, 0, -1), place(0, 0, 1)], model(26, 0x02)) == {}


def test_names_are_rows_words_and_are_recorded() -> None:
    topology = read_machine(simulated_host("turin-2s")).topology
    row = topology.rows(Scope.L3)[13]
    assert row_name(topology, row, inside=True) == "CCD 1"
    assert row_name(topology, row) == "CCD 1 of package 1"
    facts = json.loads(json.dumps(topology_facts(topology)))
    assert topology_from(JsonValue(facts, "topology")).chiplets == topology.chiplets
    del facts["chiplets"]  # a recording of before
    assert topology_from(JsonValue(facts, "topology")).chiplets == {}
    bare = dataclasses.replace(topology, chiplets={})
    assert row_name(bare, RowId(Scope.L3, row.key)).startswith("L3 ")


@pytest.mark.skipif(not NAPLES.exists(), reason="the recorded machines (sibling folder shared/machines) are not there")
def test_dies_of_the_first_zen_are_no_core_dies() -> None:
    assert read_topology(TreeHost.from_tar(NAPLES), None).chiplets == {}
