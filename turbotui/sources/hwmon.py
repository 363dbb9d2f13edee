"""hwmon in sysfs: temperatures of cores, packages and core complexes, found by the labels of sensors.

Files: kernel Documentation/hwmon/sysfs-interface.rst, coretemp.rst, k10temp.rst in the same folder. Neither the number
of a hwmon directory nor that of a sensor means anything; which chip is which package:

- coretemp: the sensor labelled "Package id P" names it. P is the package id, or the position of the die where
  packages have several (drivers/hwmon/coretemp.c takes topology_logical_die_id).
- k10temp, zenpower, k8temp: the PCI devices 18h.3, 19h.3 ... are the nodes in the order of the packages (AMD PPR,
  "Device 18h Function 3"), as many to each package. Before Zen their sensors have no labels (k10temp.c, k8temp.c).
- others: machine/data/hwmon_chips.toml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.kernel_build import no_driver
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in, text_of
from turbotui.machine.topology import Instance, Topology
from turbotui.quantities.by_key import lists_by_key, sets_by_key
from turbotui.quantities.facts import FactFile
from turbotui.quantities.plain_numbers import hexadecimal, integer
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals, pattern_of
from turbotui.sources.sysfs_files import CPU_DIR, ValueFile, read_line, read_number, signed_number

CLASS = "/sys/class/hwmon"
CORE: SignalId = "temp.core"
PACKAGE: SignalId = "temp.pkg"
CCD: SignalId = "temp.ccd"

_PLATFORM = "/sys/devices/platform"
_INPUT = r"temp([0-9]{1,9})_input"
_CORE_LABEL = r"Core ([0-9]{1,9})"
_PACKAGE_LABEL = r"(?:Package|Physical) id ([0-9]{1,9})"  # "Physical id" before Linux 4.11 (coretemp.c)
_CCD_LABEL = r"Tccd([0-9]{1,9})"
_CORETEMP_DEVICE = r"coretemp\.([0-9]{1,9})"
_SLOT = r"(?m)^PCI_SLOT_NAME=([0-9a-f]{1,8}):([0-9a-f]{1,8}):([0-9a-f]{1,8})\.([0-9a-f]{1,8})$"

_CORETEMP = "coretemp"
_AMD_CHIPS = frozenset({"k10temp", "zenpower", "k8temp"})

CHIPS: Final = FactFile("machine/data/hwmon_chips.toml")


@dataclass(frozen=True, slots=True)
class ChipRow:
    """A row of `CHIPS`, which explains the keys."""

    chip: str
    of: str
    document: str
    label: str = ""
    sensor: str = ""


@cache
def chip_rows() -> tuple[ChipRow, ...]:
    """Read the table of chips."""
    return tuple(CHIPS.row(ChipRow, name, values) for name, values in CHIPS.tables())


@dataclass(frozen=True, slots=True)
class Sensor:
    """One temperature file and whose temperature it is."""

    signal: SignalId
    row: RowId
    path: str
    chip: str
    label: str


@dataclass(frozen=True, slots=True)
class _Chip:
    """One hwmon directory: label and path of each temperature, "" for a sensor without a label."""

    entry: str
    name: str
    directory: str
    sensors: tuple[tuple[str, str], ...]

    def first(self, *labels: str) -> tuple[str, str] | None:
        """The first of these labels that a sensor has, and its path."""
        return next(((label, path) for label in labels for own, path in self.sensors if own == label), None)


@dataclass(frozen=True, slots=True)
class _Ids:
    """Ids of packages and L3 caches of the whole machine, because positions count unmeasured ones too."""

    packages: tuple[int, ...]
    l3: Mapping[int, tuple[int, ...]]


def find_sensors(host: Host, topology: Topology) -> tuple[tuple[Sensor, ...], str]:
    """All sensors of measured instances, and a line about sensors that could not be assigned."""
    chips = _chips(host)
    ids = _ids(host, topology) if chips else _Ids((), {})
    notes: list[str] = []
    intel = [chip for chip in chips if chip.name == _CORETEMP]
    numbers = _coretemp_numbers(host, intel)
    for number in sorted(set(numbers.values())):
        alike = [entry for entry in numbers if numbers[entry] == number]
        if len(alike) > 1:
            notes.append(f"{' and '.join(alike)} (coretemp) are both of package {number}: the hotter one counts")
    parts = [*(_coretemp(chip, numbers, topology, ids) for chip in intel), _amd(host, chips, topology, ids),
             _others(chips, topology, ids)]
    notes += [note for _sensors, note in parts if note]
    return tuple(sensor for sensors, _note in parts for sensor in sensors), "; ".join(notes)


def _chips(host: Host) -> list[_Chip]:
    chips = []
    for entry in names_in(host, CLASS):
        # Before Linux 3.13 drivers put their files into the device's directory (Documentation/hwmon).
        for directory in (f"{CLASS}/{entry}", f"{CLASS}/{entry}/device"):
            name = read_line(host, f"{directory}/name")
            if name and (name == _CORETEMP or name in _AMD_CHIPS or _rows(name)):
                chips.append(_Chip(entry, name, f"{CLASS}/{entry}", _sensors(host, directory)))
                break
    return chips


def _rows(name: str) -> list[ChipRow]:
    """The rows of `CHIPS` for a chip of this name."""
    return [row for row in chip_rows() if re.fullmatch(row.chip, name.replace("-", "_"))]


def _sensors(host: Host, directory: str) -> tuple[tuple[str, str], ...]:
    matches = (re.fullmatch(_INPUT, name) for name in names_in(host, directory))
    return tuple((read_line(host, f"{directory}/temp{match[1]}_label") or "", f"{directory}/{match[0]}")
                 for match in matches if match is not None)


def _others(chips: Sequence[_Chip], topology: Topology, ids: _Ids) -> tuple[list[Sensor], str]:
    """Sensors of the chips in `CHIPS`, and a line about chips none of whose sensors could be assigned."""
    by_chip: dict[str, list[Sensor]] = {}
    without: list[str] = []
    for chip in chips:
        rows = _rows(chip.name)
        of_chip = [(row.of, Sensor(*owner, path, chip.name, label)) for row in rows for label, path in chip.sensors
                   if (owner := _owner(row, label, path, topology, ids)) is not None]
        for of, sensor in of_chip:
            by_chip.setdefault(of, []).append(sensor)
        if rows and not of_chip:
            without.append(f"{chip.directory} ({chip.name})")
    if "cpus" in by_chip:
        by_chip.pop("soc", None)
    note = f"{', '.join(without)}: no sensor of a measured CPU or package" if without else ""
    return [sensor for sensors in by_chip.values() for sensor in sensors], note


def _owner(row: ChipRow, label: str, path: str, topology: Topology, ids: _Ids) -> tuple[SignalId, RowId] | None:
    """Whose temperature a sensor of a chip in `CHIPS` is; None if nobody's, or if that is not known."""
    match = re.fullmatch(row.label or ".*", label)
    if match is None or not path.endswith(row.sensor):
        return None
    if row.of == "core":
        cpu = integer(match[1])
        return (CORE, topology.row(Scope.CORE, cpu)) if cpu in topology.places else None
    position = integer(match[1]) if row.of == "package" else 0
    if position >= len(ids.packages) or (row.of != "package" and len(ids.packages) > 1):
        return None
    packages = {instance.row.key[0]: instance.row for instance in topology.instances(Scope.PACKAGE)}
    package = packages.get(ids.packages[position])
    return None if package is None else (PACKAGE, package)


def _ids(host: Host, topology: Topology) -> _Ids:
    l3 = sets_by_key((place.package, place.l3) for place in topology.places.values())
    for cpu in set(topology.present) - set(topology.offline) - set(topology.cpus):
        directory = CPU_DIR.format(cpu=cpu)
        package = read_number(host, f"{directory}/topology/physical_package_id")
        if package is not None:
            cache = read_number(host, f"{directory}/cache/index3/id")
            l3.setdefault(package, set()).update(() if cache is None else (cache,))
    return _Ids(tuple(sorted(l3)), {package: tuple(sorted(caches)) for package, caches in l3.items()})


def _coretemp_numbers(host: Host, chips: Sequence[_Chip]) -> dict[str, int]:
    """The P of each coretemp chip: by its package label, else by the platform device it hangs on."""
    numbers = {chip.entry: integer(match[1]) for chip in chips for label, _ in chip.sensors
               if (match := re.fullmatch(_PACKAGE_LABEL, label)) is not None}
    if len(numbers) < len(chips):
        for device in names_in(host, _PLATFORM):
            match = re.fullmatch(_CORETEMP_DEVICE, device)
            if match is None or not host.exists(f"{_PLATFORM}/{device}/hwmon"):
                continue
            for entry in names_in(host, f"{_PLATFORM}/{device}/hwmon"):
                numbers.setdefault(entry, integer(match[1]))
    return numbers


def _owned_cores(number: int | None, numbers: set[int], topology: Topology, ids: _Ids) -> tuple[Instance, ...]:
    """The cores that a coretemp chip with this number measures; empty if unknown."""
    cores = topology.instances(Scope.CORE)
    dies = topology.instances(Scope.DIE)
    places = topology.places
    if len(dies) > len(topology.instances(Scope.PACKAGE)):
        if number is None or not numbers <= set(range(len(dies))):
            return ()
        inside = set(dies[number].cpus)
        return tuple(core for core in cores if core.cpus[0] in inside)
    package = number
    if number is None:
        package = ids.packages[0] if len(ids.packages) == 1 else None
    elif not numbers <= set(ids.packages):
        # Package ids are sparse and the kernel counts from 0: numbers are positions.
        package = ids.packages[number] if numbers <= set(range(len(ids.packages))) else None
    return tuple(core for core in cores if places[core.cpus[0]].package == package)


def _coretemp(chip: _Chip, numbers: Mapping[str, int], topology: Topology, ids: _Ids) -> tuple[list[Sensor], str]:
    if not (owned := _owned_cores(numbers.get(chip.entry), set(numbers.values()), topology, ids)):
        return [], f"{chip.directory} (coretemp) belongs to no measured package"
    by_core_id = lists_by_key((core.label, core.row) for core in owned)
    package = topology.row(Scope.PACKAGE, owned[0].cpus[0])
    sensors = []
    for label, path in chip.sensors:
        if (match := re.fullmatch(_CORE_LABEL, label)) is not None:
            rows = by_core_id.get(integer(match[1]), [])
            # A core id that is not unique even within its package would name a sensor wrongly.
            sensors += [Sensor(CORE, rows[0], path, chip.name, label)] if len(rows) == 1 else []
        elif re.fullmatch(_PACKAGE_LABEL, label):
            sensors.append(Sensor(PACKAGE, package, path, chip.name, label))
    return sensors, ""


def _amd(host: Host, chips: Sequence[_Chip], topology: Topology, ids: _Ids) -> tuple[list[Sensor], str]:
    chips = [chip for chip in chips if chip.name in _AMD_CHIPS]
    if not chips:
        return [], ""
    # zenpower replaces k10temp; if both are bound, one would count as another package
    name = min(chip.name for chip in chips)
    slots = {chip.entry: _slot(host, chip) for chip in chips}
    # without an address, all chips of a machine with one package belong to that package
    placed = [(slots[chip.entry] or (), chip) for chip in chips if chip.name == name
              and (slots[chip.entry] or len(ids.packages) == 1)]
    each, rest = divmod(len(placed), len(ids.packages))
    if rest or not each:
        return [], f"{len(placed)} placed {name} chips for {len(ids.packages)} packages: which is whose is not known"
    placed.sort(key=lambda pair: pair[0])
    rows = {instance.row.key[0]: instance.row for instance in topology.instances(Scope.PACKAGE)}
    sensors: list[Sensor] = []
    notes: list[str] = []
    for position, package in enumerate(ids.packages):
        if package not in rows:
            continue
        group = [chip for _, chip in placed[position * each : (position + 1) * each]]
        for chip in group:
            labelled = chip.first("Tdie", "Tctl")
            for label, path in chip.sensors if labelled is None else (labelled,):
                if not label or labelled is not None:
                    sensors.append(Sensor(PACKAGE, rows[package], path, chip.name, label))
            if labelled is not None and labelled[0] == "Tctl":
                notes.append(f"package {package}: only Tctl, which some parts offset from the real temperature")
        die_sensors, note = _complexes(group, package, topology, ids)
        sensors += die_sensors
        notes += [note] if note else []
    return sensors, "; ".join(notes)


def _complexes(group: Sequence[_Chip], package: int, topology: Topology, ids: _Ids) -> tuple[list[Sensor], str]:
    """The Tccd sensors of one package for its L3 caches in the order of their ids, one or two caches to each."""
    complexes = [(position, integer(match[1]), chip.name, label, path) for position, chip in enumerate(group)
                 for label, path in chip.sensors if (match := re.fullmatch(_CCD_LABEL, label)) is not None]
    if not complexes:
        return [], ""
    complexes.sort(key=lambda complex_: complex_[:2])
    caches = ids.l3[package]
    each, rest = divmod(len(caches), len(complexes))
    if rest or not each or min(caches) < 0:
        return [], f"package {package}: {len(complexes)} Tccd sensors for {len(caches)} L3 caches, not assigned"
    rows = {instance.label: instance.row for instance in topology.instances(Scope.L3)
            if topology.places[instance.cpus[0]].package == package}
    sensors = []
    for order, (_, _, chip, label, path) in enumerate(complexes):
        sensors += [Sensor(CCD, rows[cache], path, chip, label) for cache in caches[order * each : (order + 1) * each]
                    if cache in rows]
    return sensors, ""


def _slot(host: Host, chip: _Chip) -> tuple[int, ...] | None:
    """Domain, bus, device and function of the PCI device that a chip hangs on."""
    match = re.search(_SLOT, text_of(host, f"{chip.directory}/device/uevent"))
    return None if match is None else tuple(hexadecimal(part) for part in match.groups())


_DOCUMENT = "kernel Documentation/hwmon/sysfs-interface.rst"
_CELSIUS = 1e-3  # millidegrees (sysfs-interface.rst)

_SCOPES: dict[SignalId, Scope] = {CORE: Scope.CORE, PACKAGE: Scope.PACKAGE, CCD: Scope.L3}
_AMD = frozenset({"AuthenticAMD", "HygonGenuine"})


class Hwmon(LocatedFiles):
    """The `Source` of CPU temperature sensors under hwmon: of a core, core complex and package around a CPU."""

    id = "hwmon"

    def _find(self, machine: Machine) -> LocatedSignals:
        """Read the labels of all CPU sensors."""
        sensors, note = find_sensors(machine.host, machine.topology)
        return LocatedSignals({signal: _located(machine, signal, sensors) for signal in _SCOPES}, note)


def _file(topology: Topology, signal: SignalId, sensors: Sequence[Sensor], cpu: int) -> ValueFile:
    row = topology.row(_SCOPES[signal], cpu)
    paths = tuple(sensor.path for sensor in sensors if sensor.signal == signal and sensor.row == row)
    return ValueFile(signal, paths, signed_number)


def _located(machine: Machine, signal: SignalId, sensors: Sequence[Sensor]) -> LocatedSignal | Unavailable:
    sensor = next((sensor for sensor in sensors if sensor.signal == signal), None)
    if sensor is None:
        return _absent(machine, signal)
    alike = [sensor for sensor in sensors if sensor.signal == signal]
    label = sensor.label if len(alike) == 1 else ""
    named = f"{sensor.chip}: {label}" if label else sensor.chip
    facts = Signal(signal, _SCOPES[signal], Unit.CELSIUS, Behavior.GAUGE, Reduce.MAX,
        origin=f"{pattern_of(sensor.path for sensor in alike)} ({named})", document=_DOCUMENT, scale=_CELSIUS)
    rows = [sensor.row for sensor in sensors if sensor.signal == signal]
    return LocatedSignal(facts, partial(_file, machine.topology, signal, sensors),
                         max((rows.count(row) for row in set(rows)), default=1))


def _absent(machine: Machine, signal: SignalId) -> Unavailable:
    what = {CORE: "a core", PACKAGE: "a package", CCD: "a core complex"}[signal]
    detail = f"{CLASS}: no sensor is labelled as that of {what}"
    if machine.model.hypervisor:
        return Unavailable(Reason.VIRTUALISED, f"{detail}; guests are not shown the processor's sensors")
    vendor = machine.model.vendor
    if vendor == "GenuineIntel" and signal != CCD:
        return no_driver(machine.host, "coretemp", "SENSORS_CORETEMP", detail)
    if vendor in _AMD and signal != CORE:
        return no_driver(machine.host, "k10temp", "SENSORS_K10TEMP", detail)
    if vendor in _AMD | {"GenuineIntel"}:
        return Unavailable(Reason.NO_HARDWARE, f"{detail}; processors of {vendor} have none")
    return Unavailable(Reason.NO_DRIVER, detail)
