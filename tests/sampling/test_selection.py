"""--show, --hide and --enable in the order given (docs/specs/turbostat.md 1.4), and which columns a machine has."""

from __future__ import annotations

import pytest
from knownmachines import known_machine
from scripted import capabilities_of, counter, place

from turbotui.errors import UsageError
from turbotui.machine.topology import topology_of
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.selection import available_columns, choose_columns, default_columns, why_absent
from turbotui.simulated import simulated_host
from turbotui.sources import SOURCES

CAPABILITIES = capabilities_of(counter("tsc"), counter("irq.total"), counter("irq.nmi"),
                               missing={"smi": Unavailable(Reason.VIRTUALISED, "hidden")})
CATALOG: Catalog = catalog_for(CAPABILITIES.signals)
ONE = topology_of([place(0), place(1)])
TWO = topology_of([place(0, 0), place(1, 1)])
START = CATALOG.select(["CPU", "TSC_MHz", "IRQ"])


@pytest.mark.parametrize(
    ("choices", "shown"),
    [
        ([], ["CPU", "TSC_MHz", "IRQ"]),
        ([("show", "NMI")], ["NMI"]),
        ([("show", "NMI"), ("show", "CPU")], ["CPU", "NMI"]),
        ([("enable", "NMI")], ["CPU", "TSC_MHz", "IRQ", "NMI"]),
        ([("hide", "IRQ")], ["CPU", "TSC_MHz"]),
        ([("hide", "CPU"), ("show", "CPU")], ["CPU"]),
        ([("show", "CPU"), ("hide", "CPU")], []),
        ([("enable", "NMI"), ("show", "CPU")], ["CPU"]),
        ([("show", "NMI, CPU")], ["CPU", "NMI"]),
        ([("hide", "all")], []),
    ],
)
def test_choices_are_applied_from_left_to_right(choices: list[tuple[str, str]], shown: list[str]) -> None:
    assert [column.id for column in choose_columns(CATALOG, START, choices)] == shown


@pytest.mark.parametrize(("choices", "shown"), [
    ([("show", "NMI")], ["CPU", "NMI"]),
    ([("show", "NMI"), ("hide", "CPU")], ["NMI"]),
    ([("hide", "CPU"), ("show", "NMI")], ["NMI"]),
    ([("hide", "all"), ("show", "NMI,CPU")], ["CPU", "NMI"]),
])
def test_the_first_show_leaves_what_is_kept(choices: list[tuple[str, str]], shown: list[str]) -> None:
    assert [column.id for column in choose_columns(CATALOG, START, choices, kept=["CPU"])] == shown


@pytest.mark.parametrize(("words", "why"), [
    ("", "a column without a name"), ("CPU,", "a column without a name"), ("Nothing", "unknown column"),
    ("cpu", "unknown column"),
])
def test_a_word_that_is_no_column_is_refused(words: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        choose_columns(CATALOG, START, [("show", words)])


def test_a_column_is_there_when_its_signals_are() -> None:
    names = [column.id for column in available_columns(CATALOG, CAPABILITIES, ONE)]
    assert {"Core", "CPU", "TSC_MHz", "IRQ", "NMI", "IRQ/s"} <= set(names)
    assert not {"SMI", "Busy%", "PkgWatt", "Package", "Type"} & set(names)
    smi = why_absent(CATALOG.by_id["SMI"], CAPABILITIES, ONE)
    assert smi is not None
    assert smi.reason is Reason.VIRTUALISED


def test_a_level_of_one_instance_is_not_worth_a_column() -> None:
    package = CATALOG.by_id["Package"]
    assert why_absent(package, CAPABILITIES, TWO) is None
    absent = why_absent(package, CAPABILITIES, ONE)
    assert absent is not None
    assert "only one package" in absent.detail


def test_scripts_of_turbostat_see_only_what_they_know_by_default() -> None:
    plain = {column.id for column in default_columns(CATALOG, CAPABILITIES, ONE, extras=False)}
    assert {"Core", "CPU", "TSC_MHz", "IRQ", "NMI"} <= plain
    assert not any(CATALOG.by_id[name].extra for name in plain)
    assert plain <= {column.id for column in default_columns(CATALOG, CAPABILITIES, ONE, extras=True)}


@pytest.mark.parametrize("cpus", [None, frozenset({0, 1, 2, 4})])
def test_the_energy_of_packages_is_divided_by_what_all_of_their_cpus_did(cpus: frozenset[int] | None) -> None:
    machine = known_machine(simulated_host("laptop-old"), cpus)
    capabilities = probe_sources(machine, SOURCES)
    catalog = catalog_for(capabilities.signals)
    reasons = {name: why_absent(catalog.by_id[name], capabilities, machine.topology)
               for name in ("nJ/ins", "GFLOPS/W", "PkgWatt", "CorWatt", "IPC", "GFLOP/s") if name in catalog.by_id}
    refused = {name for name, why in reasons.items() if why is not None and "only 0-2,4 are measured" in why.detail}
    assert refused == (set() if cpus is None else {"nJ/ins", "GFLOPS/W"})
