from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from every_row import of_every
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import Machine
from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.hwmon import CLASS, ChipRow, Hwmon, chip_rows
from turbotui.sources.source import CpuGone

IDS = frozenset({"temp.core", "temp.pkg", "temp.ccd"})
AMD = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x1A, model=0x02)


def place(cpu: int, package: int = 0, core: int = 0, die: int = 0, l3: int = 0) -> CpuPlace:
    return CpuPlace(cpu, package, die, l3, node=package, module=core, core=core)


def chip(entry: str, name: str, sensors: Mapping[str | None, int], slot: str | None = None) -> dict[str, str]:
    """Sensors: label to millidegrees, numbered from 1 in the order given; a label of None has no label file."""
    files = {f"{CLASS}/{entry}/name": f"{name}\n"}
    for number, (label, value) in enumerate(sensors.items(), start=1):
        files[f"{CLASS}/{entry}/temp{number}_input"] = f"{value}\n"
        if label is not None:
            files[f"{CLASS}/{entry}/temp{number}_label"] = f"{label}\n"
    if slot:
        files[f"{CLASS}/{entry}/device/uevent"] = f"DRIVER={name}\nPCI_CLASS=60000\nPCI_SLOT_NAME={slot}\n"
    return files


def read(machine: Machine, cpu: int, wanted: frozenset[str] = IDS) -> dict[str, Raw]:
    reader = Hwmon().open(machine, cpu, wanted)
    return dict(zip(reader.signals, reader.read(), strict=True))


def cores_of(machine: Machine) -> dict[int, Raw]:
    return {cpu: read(machine, cpu)["temp.core"] for cpu in machine.topology.cpus}


TWO_INTEL = {
    # The second package comes first, core ids are sparse and not in order, another chip is between.
    **chip("hwmon2", "coretemp", {"Package id 1": 71000, "Core 8": 68000, "Core 0": 60000}),
    **chip("hwmon3", "nvme", {"Composite": 33000, "Core 0": 1}),
    **chip("hwmon5", "coretemp", {"Package id 0": 51000, "Core 0": 40000, "Core 8": 48000}),
}
TWO_INTEL_PLACES = [place(0, 0, 0), place(1, 0, 8), place(2, 1, 0), place(3, 1, 8)]


def test_coretemp_by_label_over_two_packages_with_the_same_core_ids() -> None:
    _, machine = machine_of(TWO_INTEL, topology_of(TWO_INTEL_PLACES))
    assert cores_of(machine) == {0: 40000, 1: 48000, 2: 60000, 3: 68000}
    assert [read(machine, cpu)["temp.pkg"] for cpu in (0, 3)] == [51000, 71000]
    probe = Hwmon().probe(machine)
    core, ccd = probe.signals["temp.core"], probe.signals["temp.ccd"]
    assert isinstance(core, Signal)
    assert core.scope is Scope.CORE
    assert core.value(40500) == pytest.approx(40.5)
    assert isinstance(ccd, Unavailable)
    assert probe.note == ""


def test_measuring_one_package_does_not_give_it_the_others_temperature() -> None:
    topology = topology_of([place(2, 1, 0)], present=(0, 2))
    files = {**TWO_INTEL, "/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n"}
    _, machine = machine_of(files, topology)
    assert read(machine, 2) == {"temp.core": 60000, "temp.pkg": 71000, "temp.ccd": None}


def test_sparse_package_ids() -> None:
    topology = topology_of([place(0, 0, 0), place(1, 0, 8), place(2, 6, 0), place(3, 6, 8)])
    _, machine = machine_of(TWO_INTEL, topology)
    assert cores_of(machine) == {0: 40000, 1: 48000, 2: 60000, 3: 68000}


def test_packages_of_two_dies_have_a_chip_for_each_die() -> None:
    files = {
        **chip("hwmon0", "coretemp", {"Package id 0": 50000, "Core 0": 41000}),
        **chip("hwmon1", "coretemp", {"Package id 1": 55000, "Core 0": 42000}),
    }
    _, machine = machine_of(files, topology_of([place(0, 0, 0, die=0), place(1, 0, 0, die=1)]))
    assert cores_of(machine) == {0: 41000, 1: 42000}
    # The package is as hot as its hotter die.
    assert read(machine, 0)["temp.pkg"] == 55000
    source = Hwmon()
    source.probe(machine)
    assert source.descriptors(frozenset({"temp.pkg"}), 1) == 2


def test_processors_without_a_package_sensor_are_identified_by_their_platform_device() -> None:
    files = {
        **chip("hwmon0", "coretemp", {"Core 0": 61000}),
        **chip("hwmon1", "coretemp", {"Core 0": 41000}),
        "/sys/devices/platform/coretemp.0/hwmon/hwmon1/name": "coretemp\n",
        "/sys/devices/platform/coretemp.1/hwmon/hwmon0/name": "coretemp\n",
    }
    _, machine = machine_of(files, topology_of([place(0, 0, 0), place(1, 1, 0)]))
    assert cores_of(machine) == {0: 41000, 1: 61000}


def test_a_core_without_a_sensor_is_unknown() -> None:
    _, machine = machine_of(
        chip("hwmon0", "coretemp", {"Package id 0": 50000, "Core 4": 41000}),
        topology_of([place(0, core=4), place(1, core=5)]),
    )
    assert cores_of(machine) == {0: 41000, 1: None}


def test_two_cores_of_one_id_in_a_package_get_no_sensor_rather_than_the_wrong_one() -> None:
    places = [place(0, core=0), place(1, core=0), place(2, core=1)]
    keys = {scope: {p.cpu: p.key(scope) for p in places} for scope in Scope}
    keys[Scope.CORE] = {0: (0, 0, 0, 0), 1: (0, 0, 0, 1), 2: (0, 0, 1)}
    files = chip("hwmon0", "coretemp", {"Package id 0": 50000, "Core 0": 41000, "Core 1": 42000})
    _, machine = machine_of(files, topology_of(places, keys=keys))
    assert cores_of(machine) == {0: None, 1: None, 2: 42000}


def test_two_amd_packages_in_the_order_of_their_pci_devices() -> None:
    files = {
        **chip("hwmon1", "k10temp", {"Tctl": 72000, "Tccd1": 61000, "Tccd5": 65000}, "0000:00:19.3"),
        **chip("hwmon4", "k10temp", {"Tctl": 52000, "Tccd1": 41000, "Tccd2": 42000}, "0000:00:18.3"),
    }
    places = [
        place(0, 0, 0, l3=0), place(1, 0, 8, l3=1), place(2, 1, 0, l3=16), place(3, 1, 8, l3=17),
    ]  # fmt: skip
    _, machine = machine_of(files, topology_of(places), AMD)
    assert [read(machine, cpu)["temp.pkg"] for cpu in range(4)] == [52000, 52000, 72000, 72000]
    assert [read(machine, cpu)["temp.ccd"] for cpu in range(4)] == [41000, 42000, 61000, 65000]
    probe = Hwmon().probe(machine)
    assert "only Tctl" in probe.note
    core = probe.signals["temp.core"]
    assert isinstance(core, Unavailable)
    assert core.reason is Reason.NO_HARDWARE


def test_a_die_with_two_caches_has_one_sensor_for_both_and_tdie_goes_before_tctl() -> None:
    files = chip("hwmon1", "k10temp", {"Tctl": 80000, "Tdie": 53000, "Tccd10": 50000, "Tccd2": 41000}, "0000:00:18.3")
    _, machine = machine_of(files, topology_of([place(n, core=n, l3=n) for n in range(4)]), AMD)
    assert [read(machine, cpu)["temp.ccd"] for cpu in range(4)] == [41000, 41000, 50000, 50000]
    assert read(machine, 0)["temp.pkg"] == 53000


def test_sensors_that_do_not_divide_among_the_caches_are_not_guessed_at() -> None:
    files = chip("hwmon1", "k10temp", {"Tdie": 53000, "Tccd1": 1, "Tccd2": 2}, "0000:00:18.3")
    _, machine = machine_of(files, topology_of([place(n, core=n, l3=n) for n in range(3)]), AMD)
    probe = Hwmon().probe(machine)
    assert isinstance(probe.signals["temp.ccd"], Unavailable)
    assert "2 Tccd sensors for 3 L3 caches" in probe.note
    three = chip("hwmon2", "k10temp", {"Tdie": 1}, "0000:00:19.3") | chip(
        "hwmon3", "k10temp", {"Tdie": 1}, "0000:00:1a.3"
    )
    _, machine = machine_of(files | three, topology_of([place(0, 0), place(1, 1)]), AMD)
    assert isinstance(Hwmon().probe(machine).signals["temp.pkg"], Unavailable)


def test_caches_of_cpus_that_are_not_measured_still_count_among_the_sensors() -> None:
    files = chip("hwmon1", "k10temp", {"Tdie": 53000, "Tccd1": 41000, "Tccd2": 42000}, "0000:00:18.3")
    for cpu in (0, 1):
        files[f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"] = "0\n"
        files[f"/sys/devices/system/cpu/cpu{cpu}/cache/index3/id"] = f"{cpu}\n"
    _, machine = machine_of(files, topology_of([place(1, core=1, l3=1)], present=(0, 1)), AMD)
    assert read(machine, 1)["temp.ccd"] == 42000


def test_an_arm_board_has_one_sensor_for_all_its_cpus() -> None:
    _, machine = machine_of(
        chip("hwmon0", "cpu_thermal", {None: 47000}), topology_of([place(0)]), CpuModel(architecture="aarch64")
    )
    assert read(machine, 0)["temp.pkg"] == 47000


ARM = CpuModel(architecture="aarch64")


def package_of(*chips: Mapping[str, str], model: CpuModel = ARM) -> Raw:
    """The package's temperature on a machine of one package with these chips."""
    _, machine = machine_of({path: text for files in chips for path, text in files.items()}, topology_of([place(0)]),
                            model)
    return read(machine, 0)["temp.pkg"]


def test_the_only_package_is_as_hot_as_the_hottest_zone_of_its_cpus() -> None:
    little, big = chip("hwmon0", "littlecore_thermal", {None: 41000}), chip("hwmon1", "bigcore0_thermal", {None: 47000})
    soc = chip("hwmon2", "soc_thermal", {None: 60000})
    assert package_of(little, big, soc) == 47000
    assert package_of(soc) == 60000  # nothing is nearer to the CPUs
    # Zones of one name are sensors of one chip (drivers/thermal/thermal_hwmon.c).
    assert package_of(chip("hwmon0", "cpu_thermal", {None: 41000, "": 43000})) == 43000
    for name in ("cpu0_thermal", "cpu7_bottom_thermal", "cpuss1_thermal", "cluster0_thermal", "ap_thermal_cpu1"):
        assert package_of(chip("hwmon0", name, {None: 47000})) == 47000, name
    for name in ("gpu_thermal", "nvme", "acpitz", "litcpu_reg_thermal", "cpu_fan"):
        assert package_of(chip("hwmon0", name, {None: 47000})) is None, name


def test_sensors_of_firmware_are_the_cpus_by_their_labels() -> None:
    juno = chip("hwmon0", "scpi_sensors", {"pmic": 50000, "soc": 60000, "big": 45000, "LITTLE": 44000, "gpu0": 70000})
    assert package_of(juno) == 45000
    assert package_of(chip("hwmon0", "scpi_sensors", {"pmic": 50000, "soc": 60000})) == 60000
    assert package_of(chip("hwmon0", "apm_xgene", {"SoC Temperature": 52000})) == 52000
    apple = chip("hwmon0", "macsmc_hwmon", {"Charge Regulator Temp": 33000, "NAND Flash Temperature": 38000})
    _, machine = machine_of(apple, topology_of([place(0)]), ARM)
    assert isinstance(Hwmon().probe(machine).signals["temp.pkg"], Unavailable)
    assert "hwmon0 (macsmc_hwmon): no sensor of a measured CPU" in Hwmon().probe(machine).note


def test_amd_before_zen_has_no_labels() -> None:
    assert package_of(chip("hwmon0", "k10temp", {None: 47000}, "0000:00:18.3"), model=AMD) == 47000
    assert package_of(chip("hwmon0", "k8temp", {None: 41000, "": 44000}, "0000:00:18.3"), model=AMD) == 44000
    two = chip("hwmon1", "k8temp", {None: 40000}, "0000:00:19.3") | chip(
        "hwmon0", "k8temp", {None: 50000}, "0000:00:18.3")
    _, machine = machine_of(two, topology_of([place(0, 0), place(1, 1, 1)]), AMD)
    assert [read(machine, cpu)["temp.pkg"] for cpu in (0, 1)] == [50000, 40000]


@pytest.mark.parametrize(("name", "label"), [
    ("via_cputemp", "Core {}"), ("zhaoxin_cputemp", "Core {}"), ("ibmpowernv", "Core {}"),
    ("ibmpowernv", "Core {}-15")])
def test_sensors_that_are_numbered_by_cpus_are_of_the_core_of_that_cpu(name: str, label: str) -> None:
    files = {**chip("hwmon0", name, {label.format(8): 61000}), **chip("hwmon1", name, {label.format(4): 41000}),
             **chip("hwmon2", name, {label.format(77): 99000})}
    _, machine = machine_of(files, topology_of([place(4, core=0), place(5, core=0), place(8, core=1)]), CpuModel())
    assert cores_of(machine) == {4: 41000, 5: 41000, 8: 61000}


def test_a_zone_of_all_cpus_belongs_to_no_package_of_two() -> None:
    _, machine = machine_of(chip("hwmon0", "cpu_thermal", {None: 47000}), topology_of([place(0, 0), place(1, 1)]), ARM)
    assert read(machine, 0)["temp.pkg"] is None
    loongson = {**chip("hwmon0", "cpu_hwmon", {"CPU 0 Temperature": 41000, "CPU 1 Temperature": 52000})}
    _, machine = machine_of(loongson, topology_of([place(0, 0), place(1, 1, 1)]), CpuModel())
    assert [read(machine, cpu)["temp.pkg"] for cpu in (0, 1)] == [41000, 52000]


def test_two_chips_of_one_package_are_noted() -> None:
    files = chip("hwmon0", "coretemp", {"Package id 0": 51000}) | chip("hwmon1", "coretemp", {"Package id 0": 57000})
    _, machine = machine_of(files, topology_of([place(0)]))
    assert read(machine, 0)["temp.pkg"] == 57000
    assert "hwmon0 and hwmon1 (coretemp) are both of package 0" in Hwmon().probe(machine).note


@of_every(chip_rows())
def test_a_row_of_a_chip_is_of_something(row: ChipRow) -> None:
    assert row.of in {"cpus", "soc", "core", "package"}
    assert re.compile(row.label).groups >= (row.of in {"core", "package"})
    assert re.compile(row.chip)


def test_unknown_chips_are_ignored() -> None:
    _, machine = machine_of(chip("hwmon0", "nct6775", {"CPUTIN": 47000, "Core 0": 5, "Package id 0": 6}))
    assert read(machine, 0) == {"temp.core": None, "temp.pkg": None, "temp.ccd": None}


@pytest.mark.parametrize(
    ("model", "signal", "reason", "remedy"),
    [
        (CpuModel(vendor="GenuineIntel"), "temp.core", Reason.NO_DRIVER, "modprobe coretemp"),
        (AMD, "temp.pkg", Reason.NO_DRIVER, "modprobe k10temp"),
        (AMD, "temp.core", Reason.NO_HARDWARE, ""),
        (replace(AMD, hypervisor=True), "temp.pkg", Reason.VIRTUALISED, ""),
    ],
)
def test_absence_is_explained(model: CpuModel, signal: str, reason: Reason, remedy: str) -> None:
    _, machine = machine_of({}, model=model)
    why = Hwmon().probe(machine).signals[signal]
    assert isinstance(why, Unavailable)
    assert (why.reason, why.remedy) == (reason, remedy)


def test_temperatures_below_zero_and_sensors_that_fail() -> None:
    files = chip("hwmon0", "coretemp", {"Package id 0": -3000, "Core 0": 41000})
    host, machine = machine_of(files, topology_of([place(0)]))
    assert read(machine, 0)["temp.pkg"] == -3000
    reader = Hwmon().open(machine, 0, frozenset({"temp.core", "temp.pkg"}))
    host.files[f"{CLASS}/hwmon0/temp2_input"] = errno.EAGAIN
    assert list(reader.read()) == [None, -3000]
    host.remove(f"{CLASS}/hwmon0")
    host.files["/sys/devices/system/cpu/cpu0/online"] = "1\n"
    assert list(reader.read()) == [None, None]
    host.files["/sys/devices/system/cpu/cpu0/online"] = "0\n"
    with pytest.raises(CpuGone):
        reader.read()
    reader.close()


def test_the_sensors_are_looked_for_once_and_again_for_another_topology() -> None:
    host, machine = machine_of(TWO_INTEL, topology_of(TWO_INTEL_PLACES))
    source = Hwmon()
    source.probe(machine)
    texts = host.texts
    source.open(machine, 0, IDS)
    assert host.texts == texts
    source.open(machine.with_topology(topology_of(TWO_INTEL_PLACES[:2])), 0, IDS)
    assert host.texts > texts
