"""The power limit of AMD sockets, as shown by the amd_hsmp driver's hwmon chips from Linux 6.16 on.

File: kernel Documentation/arch/x86/amd_hsmp.rst, "HSMP HWMON interface": one chip a socket, power1_cap in microwatts.
The firmware answers a mailbox message for each reading. Chips are registered socket by socket (drivers/platform/x86/
amd/hsmp/plat.c); where ACPI describes the sockets, each chip's device has its number (acpi.c, the _UID "ID00").
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from turbotui.machine.host import Host
from turbotui.machine.kernel_build import no_driver
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import numbered_in
from turbotui.quantities.plain_numbers import hexadecimal
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals
from turbotui.sources.sysfs_files import read_line

CLASS = "/sys/class/hwmon"
LIMIT: SignalId = "limit.pkg.pl1"
_DRIVER = "amd_hsmp_hwmon"
_DOCUMENT = "kernel Documentation/arch/x86/amd_hsmp.rst"
_UID = r"ID([0-9A-Fa-f]{2})"
_MICRO = 1e-6  # hwmon gives microwatts (Documentation/hwmon/sysfs-interface.rst)
_SINCE_FAMILY = 0x19  # amd_hsmp.rst: "Newer Fam19h EPYC server line of processors from AMD support HSMP"
_REMEDY = "modprobe amd_hsmp (Linux 6.16 or later, HSMP enabled in the firmware setup)"


class Hsmp(LocatedFiles):
    """The `Source` of the sockets' power limits by HSMP."""

    id = "hsmp"

    def _find(self, machine: Machine) -> LocatedSignals:
        packages = [instance.row for instance in machine.topology.instances(Scope.PACKAGE)]
        host = machine.host
        # by number, which is the order in which the driver registered them
        chips = [chip for chip in numbered_in(host, CLASS, "hwmon") if read_line(host, f"{chip}/name") == _DRIVER]
        if not chips:
            return LocatedSignals({LIMIT: _absent(machine)})
        if len(chips) != len(packages):
            detail = f"{CLASS}: {len(chips)} {_DRIVER} chips for {len(packages)} packages: which is whose is not known"
            return LocatedSignals({LIMIT: Unavailable(Reason.FAILED, detail)})
        paths = _by_package(machine.host, chips, packages)
        signal = Signal(LIMIT, Scope.PACKAGE, Unit.WATT, Behavior.GAUGE, Reduce.SUM, origin=f"{chips[0]}/power1_cap",
                        document=_DOCUMENT, scale=_MICRO)
        return LocatedSignals({LIMIT: LocatedSignal.at(signal, lambda cpu: paths.get(machine.topology.row(Scope.PACKAGE,
                                                                                                          cpu)))})


def _by_package(host: Host, chips: list[str], packages: list[RowId]) -> Mapping[RowId, str]:
    """The file of each package, by the sockets' ACPI numbers where all have one, else by the chips' order."""
    uids = [re.fullmatch(_UID, read_line(host, f"{chip}/device/firmware_node/uid") or "") for chip in chips]
    numbers = [hexadecimal(uid[1]) for uid in uids if uid is not None]
    if sorted(numbers) == list(range(len(chips))):
        chips = [chip for _, chip in sorted(zip(numbers, chips, strict=True))]
    return {row: f"{chip}/power1_cap" for row, chip in zip(packages, chips, strict=True)}


def _absent(machine: Machine) -> Unavailable:
    detail = f"{CLASS}: no chip is called {_DRIVER}"
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, f"{detail}: the firmware's mailbox is not given to guests")
    model = machine.model
    if model.vendor == "AuthenticAMD" and "EPYC" in model.name and (model.family or 0) >= _SINCE_FAMILY:
        return no_driver(machine.host, "amd_hsmp", "AMD_HSMP", detail, remedy=_REMEDY)
    return Unavailable(Reason.NO_HARDWARE, f"{detail}; AMD EPYC has the firmware behind it, from family 0x19 on")
