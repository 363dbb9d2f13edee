"""Finds the instances of every uncore PMU of a machine: their kind, numbers, package and die.

An uncore PMU has a file `cpumask` with the CPUs on which it is to be opened: one CPU for each instance
(kernel Documentation/ABI/testing/sysfs-bus-event_source-devices). Names: kernel arch/x86/events/intel/uncore.c,
arch/x86/events/amd/uncore.c, drivers/perf, nvidia-tegra{241,410}-pmu.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turbotui.dataclass import dataclass
from turbotui.events.devices import Devices
from turbotui.events.uncore.stacks import MAPPED, mapping_of
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import DEVICES, Pmu
from turbotui.machine.small_files import cpus_in, line_of
from turbotui.quantities.plain_numbers import hexadecimal, integer, whole_number
from turbotui.quantities.uncore.names import GRACE_PCIE, UNNAMED_FABRIC

_NVIDIA = re.compile(r"(nvidia_\w+?_pmu)_([0-9]{1,9})(?:_rc_([0-9]{1,9}))?", re.ASCII)
_UNNAMED = "nvidia_uncore_pmu"
_HISILICON = re.compile(r"(hisi)_s[ci]cl\d+_([a-z]\w*?)(\d{1,9})(?:_(\d{1,9}))?", re.ASCII)  # kernel hisi-pmu.rst
# amd_l3 keeps its digit, smmuv3_pmcg_2b400 does not
_NUMBERED = re.compile(r"(\w+?)_([0-9]{1,9}|[0-9a-f]{3,16})", re.ASCII)
BY_ADDRESS = ("smmuv3_pmcg", "arm_dmc620", "ali_drw", "mrvl_ddr_pmu", "mrvl_pcie_rc_pmu", "dwc_rootport")
"""Kinds that the kernel numbers by a hexadecimal address, which may look decimal (drivers/perf)."""
_ADDRESSED = re.compile(rf"({'|'.join(BY_ADDRESS)})_([0-9a-f]{{1,16}})", re.ASCII)
_CLOCK_DOMAIN = re.compile(r"(arm_ni)_([0-9]{1,9})_cd_([0-9]{1,9})", re.ASCII)  # drivers/perf/arm-ni.c
_ANYWHERE = ("smmuv3_pmcg", "arm_dmc620", "ali_drw", "mrvl_ddr_pmu", "mrvl_tad_pmu", "mrvl_pcie_rc_pmu", "dmar",
             "cxl_pmu_mem", "cxl_pmu_swp")
"""Kinds whose cpumask says only which CPU probed the driver (arm_smmuv3_pmu.c, arm_dmc620_pmu.c and the others:
raw_smp_processor_id) or came first (iommu/intel/perfmon.c, cxl_pmu.c), not where they are."""
# dmar0, imx8_ddr0, cxl_pmu_mem0.1; neither amd_l3
_ENDING = re.compile(r"([\w.]*[a-z]{2})([0-9]{1,9})(?:\.([0-9]{1,9}))?", re.ASCII)
_NOT_UNCORE = ("power", "power_core", "msr")  # energy and time, which other sources read for columns of their own
_IDLE = "cstate_"
_PRODUCT_SHIFT = 20  # PMIIDR: the product is bits 31:20 (Arm CoreSight PMU architecture, PMIIDR)
_FABRIC_PRODUCT = 0x2CF  # NVIDIA's coherency fabric
_OLYMPUS = (0x4E, 0x010)  # MIDR implementer and part of the CPUs around a Tegra410
UNKNOWN = -1
"""The id of a package or die that the machine does not tell."""


@dataclass(frozen=True, slots=True)
class UncoreUnit:
    """An instance of an uncore PMU: the PMU on one CPU of its cpumask."""

    pmu: Pmu  # its formats and events
    kind: str  # its name without instance numbers, or what its identifier says it is
    numbers: tuple[int, ...]  # its instance numbers, socket and root complex of NVIDIA's
    cpu: int  # the CPU of the cpumask that it is opened on
    # the CPUs whose share of the machine the unit counts (associated_cpus); empty if the PMU has no such file
    near: tuple[int, ...] = ()
    # package, die: where it is, in sysfs' ids; -1 where the machine does not say
    package: int = UNKNOWN
    die: int = UNKNOWN
    identifier: str = ""  # content of that file, "" without one
    # what is at the other end: "nr_gpu=2" of a link of NVIDIA's, "upi_1,die_1" of a link of Intel's, "0000:40", the
    # root bus, of a PCI Express stack of Intel's; "" for the others
    peer: str = ""

    @property
    def key(self) -> str:
        """The unit's name among all units, which stays when hot-plug moves the unit to another CPU of its die."""
        return f"{self.pmu.name}@{self.package}.{self.die}.{self.cpu}"

    @property
    def path(self) -> str:
        """The sysfs directory of the PMU."""
        return f"{DEVICES}/{self.pmu.name}"


def find_units(machine: Machine) -> tuple[UncoreUnit, ...]:
    """Return every unit of every uncore PMU, sorted by kind, position and number."""
    devices = Devices.of(machine.host)
    units = [unit for name in devices.names if name not in _NOT_UNCORE and not name.startswith(_IDLE)
             for unit in _units(machine, devices, name)]
    return tuple(sorted(units, key=lambda unit: (unit.kind, unit.package, unit.die, unit.numbers, unit.cpu)))


def _units(machine: Machine, devices: Devices, name: str) -> Iterator[UncoreUnit]:
    host = machine.host
    if not host.exists(f"{DEVICES}/{name}/cpumask"):
        return
    pmu = devices.exactly(name)
    if pmu is None or not pmu.cpumask:
        return
    identifier = line_of(host, f"{DEVICES}/{name}/identifier")
    olympus = (machine.model.implementer, machine.model.part) == _OLYMPUS
    kind, numbers = kind_of(name, identifier, olympus=olympus)
    peer = line_of(host, f"{DEVICES}/{name}/peer")
    mapped = name.startswith(MAPPED)
    for number, cpu in enumerate(pmu.cpumask):  # the kernel numbers dies in the order of their first CPUs
        package, die = (UNKNOWN, UNKNOWN) if kind in _ANYWHERE else place_of(machine, cpu)
        if package == UNKNOWN and numbers and _NVIDIA.fullmatch(name) and not name.startswith(_UNNAMED):
            package = numbers[0]  # the socket: the name's first number
        end = mapping_of(host, f"{DEVICES}/{name}", number) if mapped else peer
        yield UncoreUnit(pmu, kind, numbers, cpu, devices.covered(pmu), package, die, identifier, end)


def kind_of(name: str, identifier: str, *, olympus: bool) -> tuple[str, tuple[int, ...]]:
    """Return the kind of a PMU and its instance numbers.

    Args:
        name: in sysfs.
        identifier: content of that file, "" without one.
        olympus: whether the CPUs are those of a Tegra410.
    """
    match = _NVIDIA.fullmatch(name)
    if match is not None:
        stem, numbers = match[1], tuple(integer(part) for part in match.groups()[1:] if part is not None)
        if stem == _UNNAMED:
            return (UNNAMED_FABRIC if olympus and _is_fabric(identifier) else stem), numbers
        return (GRACE_PCIE if stem == "nvidia_pcie_pmu" and match[3] is None else stem), numbers
    match = _HISILICON.fullmatch(name)
    if match is not None:
        return f"{match[1]}_{match[2]}", tuple(integer(part) for part in match.groups()[2:] if part is not None)
    match = _ADDRESSED.fullmatch(name)
    if match is not None:
        return match[1], (hexadecimal(match[2]),)
    match = _CLOCK_DOMAIN.fullmatch(name)
    if match is not None:
        return match[1], (integer(match[2]), integer(match[3]))
    match = _NUMBERED.fullmatch(name)
    if match is not None:
        digits = match[2]
        return match[1], (integer(digits) if digits.isdecimal() else hexadecimal(digits),)
    match = _ENDING.fullmatch(name)
    if match is not None:
        return match[1], tuple(integer(part) for part in match.groups()[1:] if part is not None)
    return name, ()


def _is_fabric(identifier: str) -> bool:
    """Tell by its identifier whether a PMU that the kernel gives no specific name is a coherency fabric."""
    try:
        return hexadecimal(identifier) >> _PRODUCT_SHIFT == _FABRIC_PRODUCT
    except ValueError:
        return False


def place_of(machine: Machine, cpu: int) -> tuple[int, int]:
    """Return package and die of a CPU, measured or not; -1 if the machine does not tell."""
    if (known := machine.topology.places.get(cpu)) is not None:
        return known.package, known.die
    base = f"/sys/devices/system/cpu/cpu{cpu}/topology"
    return _number(machine.host, f"{base}/physical_package_id"), _number(machine.host, f"{base}/die_id")


def reader_of(machine: Machine, unit: UncoreUnit, mask: tuple[int, ...]) -> int | None:
    """Return the measured CPU that can open a unit now; None if no CPU can.

    Args:
        machine: the machine as it is now.
        unit: the unit as it was found.
        mask: the PMU's cpumask as it is now.
    """
    measured = machine.topology.places
    if unit.cpu in mask and unit.cpu in measured:
        return unit.cpu
    place = (unit.package, unit.die)
    # the unit's own CPU is offline: the kernel has moved the unit to another CPU of its die, which the mask names now
    moved = [cpu for cpu in mask if cpu != unit.cpu and (unit.kind in _ANYWHERE or place_of(machine, cpu) == place)]
    if unit.cpu not in mask and len(moved) == 1 and moved[0] in measured:
        return moved[0]
    # an associated CPU may open it too: the kernel counts on the right one (arm_cspmu.c, event_init)
    return next((cpu for cpu in unit.near if cpu in measured), None)


def mask_now(host: Host, name: str) -> tuple[int, ...]:
    """Read a PMU's cpumask again; empty if the PMU is gone."""
    return tuple(sorted(cpus_in(host, f"{DEVICES}/{name}/cpumask")))


def _number(host: Host, path: str) -> int:
    number = whole_number(line_of(host, path))
    return UNKNOWN if number is None else number
