from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import Machine
from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.powercap import CLASS, Powercap

RANGE = 262_143_328_850
IDS = frozenset(
    {"energy.pkg", "energy.cores", "energy.gpu", "energy.ram", "energy.psys", "limit.pkg.pl1", "limit.pkg.pl2"}
)


def place(cpu: int, package: int, die: int = 0, core: int | None = None) -> CpuPlace:
    return CpuPlace(cpu, package, die, l3=package, node=package, module=cpu, core=cpu if core is None else core)


def zone(name: str, word: str, energy: int, **more: str) -> dict[str, str]:
    files = {
        "name": f"{word}\n",
        "energy_uj": f"{energy}\n",
        "max_energy_range_uj": f"{RANGE}\n",
        "enabled": "1\n",
        **more,
    }
    return {f"{CLASS}/{name}/{file}": text for file, text in files.items()}


def limits(long_term: int, short_term: int, first: str = "long_term", second: str = "short_term") -> dict[str, str]:
    return {
        "constraint_0_name": f"{first}\n", "constraint_0_power_limit_uw": f"{long_term}\n",
        "constraint_1_name": f"{second}\n", "constraint_1_power_limit_uw": f"{short_term}\n",
    }  # fmt: skip


CLIENT = {
    **zone("intel-rapl:0", "package-0", 1000, **limits(15_000_000, 51_000_000)),
    **zone("intel-rapl:0:0", "core", 200),
    **zone("intel-rapl:0:1", "uncore", 30),
    **zone("intel-rapl:1", "psys", 5000),
    **zone("intel-rapl-mmio:0", "package-0", 99_999),
    f"{CLASS}/intel-rapl/enabled": "1\n",
}
TWO = {
    **zone("intel-rapl:0", "package-1", 11), **zone("intel-rapl:0:0", "dram", 12),
    **zone("intel-rapl:1", "package-0", 21), **zone("intel-rapl:1:0", "dram", 22),
}  # fmt: skip
TWO_PACKAGES = topology_of([place(0, 0), place(1, 1)])


def test_counts_of_memory_that_the_driver_multiplied_by_a_rounded_unit() -> None:
    most = f"{0xFFFFFFFF * 15_300 // 1000}\n"  # as intel_rapl_common.c computes it for a dram zone of 15.3 uJ
    files = {**zone("intel-rapl:0", "package-0", 11), **zone("intel-rapl:0:0", "dram", 12, max_energy_range_uj=most)}
    signals = Powercap().probe(machine_of(files)[1]).signals
    memory, package = signals["energy.ram"], signals["energy.pkg"]
    assert isinstance(memory, Signal)
    assert isinstance(package, Signal)
    assert memory.delta(0, 15_300_000) == pytest.approx(1_000_000 * 2.0**-16)
    assert package.delta(0, 15_300_000) == pytest.approx(15.3)


def read(machine: Machine, cpu: int, wanted: frozenset[str] = IDS) -> dict[str, Raw]:
    reader = Powercap().open(machine, cpu, wanted)
    return dict(zip(reader.signals, reader.read(), strict=True))


def test_zones_by_name_and_the_mmio_copy_left_out() -> None:
    _, machine = machine_of(CLIENT)
    assert read(machine, 0) == {
        "energy.pkg": 1000, "energy.cores": 200, "energy.gpu": 30, "energy.ram": None, "energy.psys": 5000,
        "limit.pkg.pl1": 15_000_000, "limit.pkg.pl2": 51_000_000,
    }  # fmt: skip
    signals = Powercap().probe(machine).signals
    assert set(signals) == IDS | {"limit.pkg.pl4", "limit.pkg.tdp"}
    package, psys, limit, ram = (signals[s] for s in ("energy.pkg", "energy.psys", "limit.pkg.pl1", "energy.ram"))
    assert isinstance(package, Signal)
    assert isinstance(psys, Signal)
    assert isinstance(limit, Signal)
    assert isinstance(ram, Unavailable)
    assert (package.scope, psys.scope, ram.reason) == (Scope.PACKAGE, Scope.SYSTEM, Reason.NO_HARDWARE)
    assert package.delta(0, 2_500_000) == pytest.approx(2.5)
    assert limit.behavior is Behavior.GAUGE
    assert limit.value(15_000_000) == pytest.approx(15.0)
    # 262 kJ at twice 51 W last 2,570 s.
    assert package.wrap_seconds == pytest.approx(RANGE * 1e-6 / 102, rel=1e-6)


@pytest.mark.parametrize("vendor", ["AuthenticAMD", "HygonGenuine"])
def test_the_zone_core_of_amd_is_one_core_and_never_the_sum_of_a_package(vendor: str) -> None:
    _, machine = machine_of(CLIENT, model=CpuModel(architecture="x86_64", vendor=vendor, family=25, model=1))
    signals = Powercap().probe(machine).signals
    cores = signals["energy.cores"]
    assert isinstance(cores, Unavailable)
    assert "intel-rapl:0:0/energy_uj" in cores.detail
    assert "one core" in cores.detail
    assert "power_core" in cores.detail
    assert not cores.remedy  # where those are missing, they say themselves how to get them
    assert isinstance(signals["energy.pkg"], Signal)


def test_zones_of_core_complexes_are_one_counter_on_amd() -> None:
    files = {
        **zone("intel-rapl:0", "package-0-die-0", 5), **zone("intel-rapl:1", "package-0-die-1", 5),
        **zone("intel-rapl:2", "package-1-die-2", 7), **zone("intel-rapl:3", "package-1-die-3", 7),
    }  # fmt: skip
    topology = topology_of([place(0, 0, 0), place(1, 0, 1), place(2, 1, 2), place(3, 1, 3)])
    amd = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=26, model=2)
    _, machine = machine_of(files, topology, model=amd)
    package = Powercap().probe(machine).signals["energy.pkg"]
    assert isinstance(package, Signal)
    assert package.scope is Scope.PACKAGE
    assert [read(machine, cpu, frozenset({"energy.pkg"})) for cpu in (0, 2)] == [{"energy.pkg": 5}, {"energy.pkg": 7}]
    _, intel = machine_of(files, topology)
    assert getattr(Powercap().probe(intel).signals["energy.pkg"], "scope", None) is Scope.DIE


def test_a_package_is_found_by_the_name_not_by_the_number_of_its_zone() -> None:
    _, machine = machine_of(TWO, TWO_PACKAGES)
    wanted = frozenset({"energy.pkg", "energy.ram"})
    assert [read(machine, cpu, wanted) for cpu in (0, 1)] == [
        {"energy.pkg": 21, "energy.ram": 22},
        {"energy.pkg": 11, "energy.ram": 12},
    ]


def test_a_second_zone_of_one_name_is_noted_and_not_added() -> None:
    files = {**zone("intel-rapl:0", "package-0", 11), **zone("intel-rapl:0:0", "dram", 12),
             **zone("intel-rapl:0:1", "dram", 13), **zone("intel-rapl:1", "package-0", 21)}
    _, machine = machine_of(files, TWO_PACKAGES)
    note = Powercap().probe(machine).note
    assert "intel-rapl:1 (package-0): intel-rapl:0 has this name too" in note
    assert "intel-rapl:0:1 (dram): intel-rapl:0:0 has this name too" in note


def test_limits_are_known_by_their_names_and_not_by_their_order() -> None:
    _, machine = machine_of(zone("intel-rapl:0", "package-0", 1, **limits(51, 15, "short_term", "long_term")))
    assert read(machine, 0, frozenset({"limit.pkg.pl1", "limit.pkg.pl2"})) == {"limit.pkg.pl1": 15, "limit.pkg.pl2": 51}


def test_zones_of_dies_are_of_die_scope() -> None:
    files = {
        **zone("intel-rapl:0", "package-0-die-0", 1), **zone("intel-rapl:1", "package-0-die-1", 2),
        **zone("intel-rapl:1:0", "dram", 3),
    }  # fmt: skip
    _, machine = machine_of(files, topology_of([place(0, 0, 0), place(1, 0, 1)]))
    package = Powercap().probe(machine).signals["energy.pkg"]
    assert isinstance(package, Signal)
    assert package.scope is Scope.DIE
    assert read(machine, 1, frozenset({"energy.pkg", "energy.ram"})) == {"energy.pkg": 2, "energy.ram": 3}
    assert read(machine, 0, frozenset({"energy.ram"})) == {"energy.ram": None}


def test_sparse_package_ids_of_a_kernel_that_counts_from_zero() -> None:
    files = {**zone("intel-rapl:0", "package-0", 1), **zone("intel-rapl:1", "package-1", 2)}
    _, machine = machine_of(files, topology_of([place(0, 0), place(1, 3)]))
    assert [read(machine, cpu, frozenset({"energy.pkg"}))["energy.pkg"] for cpu in (0, 1)] == [1, 2]


def test_a_package_that_is_not_measured_is_not_taken_for_another() -> None:
    _, machine = machine_of(TWO, topology_of([place(1, 1)]))
    assert read(machine, 1, frozenset({"energy.pkg", "energy.ram"})) == {"energy.pkg": 11, "energy.ram": 12}


def test_root_only_energy_names_the_remedy_and_leaves_the_limits() -> None:
    files = {path: errno.EACCES if path.endswith("energy_uj") else text for path, text in CLIENT.items()}
    _, machine = machine_of(files)
    signals = Powercap().probe(machine).signals
    why = signals["energy.pkg"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NOT_PERMITTED
    assert "EACCES" in why.detail
    assert "CVE-2020-8694" in why.remedy
    assert "tmpfiles.d" in why.remedy
    assert isinstance(signals["limit.pkg.pl1"], Signal)


def test_the_counter_wraps_at_a_range_which_is_no_power_of_two() -> None:
    signal = Powercap().probe(machine_of(CLIENT)[1]).signals["energy.pkg"]
    assert isinstance(signal, Signal)
    assert signal.delta(RANGE - 5, 4) == signal.delta(RANGE - 5, 4, wraps=1) == pytest.approx(10e-6)  # 5, 1 to zero, 4
    assert signal.delta(4, 4, wraps=2) == pytest.approx(2 * (RANGE + 1) * 1e-6)


def test_zones_of_different_ranges_are_not_told_when_they_wrap() -> None:
    files = TWO | {f"{CLASS}/intel-rapl:1/max_energy_range_uj": "65532610987\n"}
    signal = Powercap().probe(machine_of(files, TWO_PACKAGES)[1]).signals["energy.pkg"]
    assert isinstance(signal, Signal)
    assert not signal.wrap_seconds
    assert signal.delta(10, 4) is None


def test_a_low_limit_does_not_make_ordinary_power_impossible() -> None:
    signal = Powercap().probe(machine_of(zone("intel-rapl:0", "package-0", 1, **limits(2_000_000, 2_000_000)))[1]
                              ).signals["energy.pkg"]
    assert isinstance(signal, Signal)
    assert signal.wrap_seconds == pytest.approx(RANGE * 1e-6 / 100, rel=1e-6)


def test_a_driver_that_is_unloaded_does_not_end_the_cpus_reader() -> None:
    host, machine = machine_of({**CLIENT, "/sys/devices/system/cpu/cpu0/online": "1\n"})
    source = Powercap()
    reader = source.open(machine, 0, frozenset({"energy.pkg", "limit.pkg.pl1"}))
    assert len(host.descriptors) == source.descriptors(frozenset({"energy.pkg", "limit.pkg.pl1"}), 1)
    host.remove(CLASS)
    assert list(reader.read()) == [None, None]
    reader.close()
    assert host.descriptors == {}


def test_limits_that_are_not_enabled_are_noted() -> None:
    _, machine = machine_of(zone("intel-rapl:0", "package-0", 1, enabled="0\n"))
    assert "not enabled" in Powercap().probe(machine).note


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (CpuModel(architecture="x86_64", vendor="GenuineIntel"), Reason.NO_DRIVER),
        (CpuModel(architecture="aarch64"), Reason.NO_HARDWARE),
        (CpuModel(architecture="x86_64", hypervisor=True), Reason.VIRTUALISED),
    ],
)
def test_absence_is_explained(model: CpuModel, reason: Reason) -> None:
    _, machine = machine_of({}, model=model)
    signals = Powercap().probe(machine).signals
    assert set(signals) == IDS | {"limit.pkg.pl4", "limit.pkg.tdp"}
    assert {s.reason for s in signals.values() if isinstance(s, Unavailable)} == {reason}


@given(st.integers(1000, 2**40), st.data())
def test_the_increases_are_exactly_what_was_used(range_uj: int, data: st.DataObject) -> None:
    files = zone("intel-rapl:0", "package-0", 1, max_energy_range_uj=f"{range_uj}\n")
    signal = Powercap().probe(machine_of(files)[1]).signals["energy.pkg"]
    assert isinstance(signal, Signal)
    counter = data.draw(st.integers(0, range_uj))
    for used in data.draw(st.lists(st.integers(0, range_uj), max_size=20)):
        before, counter = counter, (counter + used) % (range_uj + 1)
        assert signal.delta(before, counter, wraps=int(counter < before)) == pytest.approx(used * 1e-6)


def test_thermal_design_power_is_the_most_that_the_long_term_limit_can_be() -> None:
    zone = "/sys/class/powercap/intel-rapl:0"
    text = {f"{zone}/constraint_0_max_power_uw": "28000000\n", f"{zone}/constraint_1_max_power_uw": "64000000\n"}
    _, machine = machine_of(CLIENT | text)
    assert read(machine, 0, frozenset({"limit.pkg.tdp"})) == {"limit.pkg.tdp": 28_000_000}
    _, machine = machine_of(CLIENT | {f"{zone}/constraint_0_max_power_uw": "0\n"})
    assert isinstance(Powercap().probe(machine).signals["limit.pkg.tdp"], Unavailable)
