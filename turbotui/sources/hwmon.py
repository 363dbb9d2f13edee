"""hwmon in sysfs: temperatures of cores, packages and core complexes, found by the label of each sensor.

Files: kernel Documentation/hwmon/sysfs-interface.rst, coretemp.rst, k10temp.rst in the same folder. Neither the number
of a hwmon directory nor that of a sensor means anything; which chip is which package:

- coretemp: the sensor labelled "Package id P" names it. P is the package id, or the position of the die where
  packages have several (drivers/hwmon/coretemp.c takes topology_logical_die_id).
- k10temp, zenpower: the PCI devices 18h.3, 19h.3 ... are the nodes in the order of the packages (AMD PPR, "Device 18h
  Function 3"), as many to each package.
"""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.machine.host import HostError
from turbotui.machine.kernel_build import no_driver
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.hwmon_chips import CCD, CLASS, CORE, PACKAGE, Sensor, find_sensors
from turbotui.sources.kinds import FoundOn, PerCpuSource
from turbotui.sources.source import Probe, Reader
from turbotui.sources.sysfs_files import FileReader, ValueFile
from turbotui.sources.unreadable import unreadable

_DOCUMENT = "kernel Documentation/hwmon/sysfs-interface.rst"
_CELSIUS = 1e-3  # millidegrees (sysfs-interface.rst)

_SCOPES: dict[SignalId, Scope] = {CORE: Scope.CORE, PACKAGE: Scope.PACKAGE, CCD: Scope.L3}
_AMD = frozenset({"AuthenticAMD", "HygonGenuine"})


class Hwmon(PerCpuSource):
    """The `Source` of CPU temperature sensors under hwmon."""

    id = "hwmon"
    title = "hwmon"
    gives = "temperatures of cores, packages and core complexes"

    def __init__(self) -> None:
        self._found = FoundOn(lambda machine: find_sensors(machine.host, machine.topology))

    def probe(self, machine: Machine) -> Probe:
        """Read the labels of all CPU sensors, and one sensor of each kind."""
        sensors, note = self._found.look(machine)
        return Probe({signal: _probed(machine, signal, sensors) for signal in _SCOPES}, note)

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for each sensor that the wanted signals can have on a reading CPU."""
        sensors, _note = self._found.last or ((), "")
        return readers * sum(_most_sensors(sensors, signal) for signal in _SCOPES if signal in wanted)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the sensors of the core, core complex and package around one CPU; None for one that has no sensor.

        Raises:
            CpuGone: the CPU is offline.
            HostError: EMFILE or ENFILE.
        """
        files = []
        sensors, _note = self._found.on(machine)
        for signal, scope in _SCOPES.items():
            if signal in wanted:
                row = machine.topology.row(scope, cpu)
                paths = tuple(s.path for s in sensors if s.signal == signal and s.row == row)
                files.append(ValueFile(signal, paths))
        return FileReader(machine.host, cpu, files, inside_cpu=False)


def _most_sensors(sensors: Sequence[Sensor], signal: SignalId) -> int:
    rows = [sensor.row for sensor in sensors if sensor.signal == signal]
    return max((rows.count(row) for row in set(rows)), default=1)


def _probed(machine: Machine, signal: SignalId, sensors: Sequence[Sensor]) -> Signal | Unavailable:
    failures = []
    for sensor in sensors:
        if sensor.signal != signal:
            continue
        try:
            machine.host.read_text(sensor.path)
        except HostError as error:
            failures.append(error)
            continue
        return Signal(
            signal, _SCOPES[signal], Unit.CELSIUS, Behavior.GAUGE, Reduce.MAX,
            origin=f"{sensor.path} ({sensor.chip}: {sensor.label})", document=_DOCUMENT, scale=_CELSIUS,
        )  # fmt: skip
    return unreadable(failures[0]) if failures else _absent(machine, signal)


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
