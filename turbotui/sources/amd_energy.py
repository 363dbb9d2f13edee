"""Energy of AMD cores and sockets from the amd_energy hwmon driver of Linux 5.8 to 5.12.

File: kernel Documentation/hwmon/amd_energy.rst of those releases. energyN_input is in microjoules and does not wrap,
    because the driver extends the 32-bit registers itself. Label EcoreN is the core of CPU N, EsocketN the N-th socket.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals
from turbotui.sources.sysfs_files import read_line

CLASS = "/sys/class/hwmon"
_DRIVER = "amd_energy"
_DOCUMENT = "kernel Documentation/hwmon/amd_energy.rst (Linux 5.8 to 5.12)"
_INPUT = r"energy([0-9]{1,9})_input"
_LABEL = r"E(core|socket)([0-9]{1,9})"
_SCOPES: Mapping[SignalId, Scope] = {"energy.core": Scope.CORE, "energy.pkg": Scope.PACKAGE}


class AmdEnergy(LocatedFiles):
    """The `Source` of the amd_energy driver's counters."""

    id = "amd-energy"

    def _find(self, machine: Machine) -> LocatedSignals:
        directories = (f"{CLASS}/{name}" for name in names_in(machine.host, CLASS))
        directory = next((directory for directory in directories
                          if read_line(machine.host, f"{directory}/name") == _DRIVER), None)
        if directory is None:
            vendor = machine.model.vendor
            why = Unavailable(Reason.NO_DRIVER if vendor == "AuthenticAMD" else Reason.NO_HARDWARE,
                              f"{CLASS}: no chip is called {_DRIVER}; the driver was for AMD and left Linux in 5.13")
            return LocatedSignals(dict.fromkeys(_SCOPES, why))
        paths = _paths(machine, directory)
        signals: dict[SignalId, LocatedSignal | Unavailable] = {}
        for name, scope in _SCOPES.items():
            row_paths = {row: path for row, path in paths.items() if row.scope is scope}
            if not row_paths:
                signals[name] = Unavailable(Reason.NO_HARDWARE, f"{directory}: no label is that of a {scope.value}")
                continue
            signal = Signal(name, scope, Unit.JOULE, Behavior.COUNTER, Reduce.SUM, origin=f"{directory}/energy*_input",
                            document=_DOCUMENT, scale=1e-6)
            signals[name] = LocatedSignal.at(signal, _in_row(machine, scope, row_paths))
        return LocatedSignals(signals)


def _paths(machine: Machine, directory: str) -> dict[RowId, str]:
    """The file of each measured core and package."""
    topology = machine.topology
    packages = [instance.row for instance in topology.instances(Scope.PACKAGE)]
    paths: dict[RowId, str] = {}
    for name in names_in(machine.host, directory):
        match = re.fullmatch(_INPUT, name)
        label = match and re.fullmatch(_LABEL, read_line(machine.host, f"{directory}/energy{match[1]}_label") or "")
        if not label:
            continue
        number = integer(label[2])
        if label[1] == "core" and number in topology.places:
            paths[topology.row(Scope.CORE, number)] = f"{directory}/{name}"
        elif label[1] == "socket" and number < len(packages):
            paths[packages[number]] = f"{directory}/{name}"
    return paths


def _in_row(machine: Machine, scope: Scope, paths: Mapping[RowId, str]) -> Callable[[int], str | None]:
    return lambda cpu: paths.get(machine.topology.row(scope, cpu))
