from __future__ import annotations

import errno

import pytest
from prochost import Content, machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.uncore_frequency import DIRECTORY, UncoreFrequency


def two_packages(dies: int = 1) -> Topology:
    """One CPU for each die; package ids 0 and 2."""
    places: list[CpuPlace] = []
    for package in (0, 2):
        for die in range(dies):
            cpu = len(places)
            places.append(CpuPlace(cpu, package, die, cpu, cpu, cpu, cpu))
    return topology_of(places)


def die(package: int, number: int, khz: Content) -> dict[str, Content]:
    return {f"{DIRECTORY}/package_{package:02d}_die_{number:02d}/current_freq_khz": khz}


def cluster(name: str, ids: tuple[int, int, int], khz: Content) -> dict[str, Content]:
    words = dict(zip(("package_id", "domain_id", "fabric_cluster_id"), ids, strict=True))
    files: dict[str, Content] = {f"{DIRECTORY}/{name}/{word}": f"{number}\n" for word, number in words.items()}
    return {**files, f"{DIRECTORY}/{name}/current_freq_khz": khz}


def test_legacy_one_clock_a_package() -> None:
    _, machine = machine_of({**die(0, 0, "2400000\n"), **die(2, 0, "1800000\n")}, topology=two_packages())
    source = UncoreFrequency()
    signal = source.probe(machine).signals["uncore.cur"]
    assert isinstance(signal, Signal)
    assert signal.scope is Scope.PACKAGE
    read = [source.open(machine, cpu, frozenset({"uncore.cur"})).read()[0] for cpu in (0, 1)]
    assert [signal.value(raw) for raw in read] == [2400e6, 1800e6]


def test_legacy_every_die_is_read_not_only_the_first() -> None:
    files: dict[str, Content] = {}
    for number, (package, which) in enumerate(((0, 0), (0, 1), (2, 0), (2, 1))):
        files |= die(package, which, f"{1000 + number}000\n")
    _, machine = machine_of(files, topology=two_packages(dies=2))
    source = UncoreFrequency()
    signal = source.probe(machine).signals["uncore.cur"]
    assert isinstance(signal, Signal)
    assert signal.scope is Scope.DIE
    assert [source.open(machine, cpu, frozenset({"uncore.cur"})).read()[0] for cpu in range(4)] == [
        1000000, 1001000, 1002000, 1003000,
    ]  # fmt: skip


def test_tpmi_clusters_become_signals_by_domain_and_cluster() -> None:
    files = {
        **cluster("uncore00", (0, 1, 0), "800000\n"),
        **cluster("uncore01", (0, 0, 0), "900000\n"),
        **cluster("uncore02", (2, 0, 0), "1000000\n"),
        **cluster("uncore10", (2, 1, 0), "1100000\n"),
        f"{DIRECTORY}/package_00_die_00/max_freq_khz": "2500000\n",
    }
    _, machine = machine_of(files, topology=two_packages())
    source = UncoreFrequency()
    signals = source.probe(machine).signals
    assert list(signals) == ["uncore.cur", "uncore.0.0.cur", "uncore.1.0.cur"]
    assert isinstance(signals["uncore.cur"], Unavailable)
    wanted = frozenset({"uncore.0.0.cur", "uncore.1.0.cur"})
    for cpu, expected in ((0, [900000, 800000]), (1, [1000000, 1100000])):
        reader = source.open(machine, cpu, wanted)
        assert reader.signals == ("uncore.0.0.cur", "uncore.1.0.cur")
        assert list(reader.read()) == expected


def test_a_cluster_that_only_one_package_has() -> None:
    files = {**cluster("uncore00", (0, 0, 0), "1\n"), **cluster("uncore01", (2, 7, 3), "5\n")}
    _, machine = machine_of(files, topology=two_packages())
    source = UncoreFrequency()
    assert isinstance(source.probe(machine).signals["uncore.7.3.cur"], Signal)
    assert list(source.open(machine, 0, frozenset({"uncore.7.3.cur"})).read()) == [None]


def test_two_directories_with_the_same_ids_are_told_not_added() -> None:
    files = {**cluster("uncore00", (0, 0, 0), "1\n"), **cluster("uncore01", (0, 0, 0), "5\n")}
    _, machine = machine_of(files, topology=two_packages())
    source = UncoreFrequency()
    assert "uncore01" in source.probe(machine).note
    assert list(source.open(machine, 0, frozenset({"uncore.0.0.cur"})).read()) == [1]


def test_a_clock_of_zero_is_unknown_and_where_all_are_zero_it_cannot_be_had() -> None:
    """The driver prints 0 where the register behind the file faults (issue 11)."""
    files = die(0, 0, "0\n") | die(2, 0, "0\n")
    _, machine = machine_of(files, topology=two_packages())
    why = UncoreFrequency().probe(machine).signals["uncore.cur"]
    assert isinstance(why, Unavailable)
    assert "reads 0" in why.detail
    _, machine = machine_of(die(0, 0, "0\n") | die(2, 0, "1800000\n"), topology=two_packages())
    source = UncoreFrequency()
    assert isinstance(source.probe(machine).signals["uncore.cur"], Signal)
    assert [list(source.open(machine, cpu, frozenset({"uncore.cur"})).read()) for cpu in (0, 1)] == [[None], [1800000]]


def test_root_only() -> None:
    _, machine = machine_of(die(0, 0, errno.EACCES), topology=two_packages())
    why = UncoreFrequency().probe(machine).signals["uncore.cur"]
    assert isinstance(why, Unavailable)
    assert (why.reason, why.remedy) == (Reason.NOT_PERMITTED, "run as root")


def test_a_kernel_without_a_current_clock() -> None:
    _, machine = machine_of({f"{DIRECTORY}/package_00_die_00/max_freq_khz": "1\n"}, topology=two_packages())
    why = UncoreFrequency().probe(machine).signals["uncore.cur"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_DRIVER


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (CpuModel(architecture="x86_64", vendor="GenuineIntel"), Reason.NO_DRIVER),
        (CpuModel(architecture="x86_64", vendor="GenuineIntel", hypervisor=True), Reason.VIRTUALISED),
        (CpuModel(architecture="aarch64", vendor="Arm"), Reason.NO_HARDWARE),
    ],
)
def test_without_the_driver(model: CpuModel, reason: Reason) -> None:
    _, machine = machine_of({}, model=model)
    why = UncoreFrequency().probe(machine).signals["uncore.cur"]
    assert isinstance(why, Unavailable)
    assert why.reason is reason
