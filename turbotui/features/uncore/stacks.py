"""The other ends of uncore units: devices of stacks, ends of UPI links, speeds of PCI Express links."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from turbotui.events.uncore.discovery import UncoreUnit
from turbotui.events.uncore.pci_names import names_of
from turbotui.events.uncore.root_ports import DEVICES, RootPort, read_root_ports
from turbotui.events.uncore.stacks import Stack, other_end, read_stack, speed_of
from turbotui.machine.host import Host
from turbotui.machine.small_files import names_in


def link_of(host: Host, unit: UncoreUnit, ports: tuple[RootPort, ...]) -> float | None:
    """Return the GB/s of a unit's links in one direction; None if unknown or if the unit is no link.

    Args:
        unit: a root complex, a root port, or a memory device on CXL.
        ports: the root ports of a Tegra410, with the root complex of each.
    """
    speeds = [speed_of(host, address) for address in _addresses(host, unit, ports)]
    known = [speed for speed in speeds if speed is not None]
    return math.fsum(known) if known else None


def _addresses(host: Host, unit: UncoreUnit, ports: tuple[RootPort, ...]) -> Iterator[str]:
    if unit.kind == "nvidia_pcie_pmu":
        yield from (port.address for port in ports if port.place and unit.pmu.name in port.place.pmus and port.devices)
    elif unit.kind == "dwc_rootport":
        yield from _root_port(host, unit.numbers[0])
    elif unit.kind == "cxl_pmu_mem":  # drivers/cxl/core/pmu.c: by the number of the memory device below a PCI device
        name = f"mem{unit.numbers[0]}"
        yield from (device for device in names_in(host, DEVICES) if host.exists(f"{DEVICES}/{device}/{name}"))


def _root_port(host: Host, number: int) -> Iterator[str]:
    """Return the port of a number of drivers/perf/dwc_pcie_pmu.c (domain, bus, device, function); "" if ambiguous.

    Kernels before 6.14 leave the domain out.
    """
    bus, device, function = number >> 8 & 0xFF, number >> 3 & 0x1F, number & 7
    ending = f":{bus:02x}:{device:02x}.{function}"
    known = [name for name in names_in(host, DEVICES) if name.endswith(ending)]
    if number >> 16:
        known = [name for name in known if re.fullmatch(rf"0*{number >> 16:x}", name.partition(":")[0])]
    if len(known) == 1:
        yield known[0]


STACKS: Final = "uncore_iio"
LINKS: Final = "uncore_upi"


class StackMap:
    """The stacks and links of a machine, each read once, when needed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stacks: dict[str, Stack] = {}
        self._links: dict[str, float | None] = {}
        self._notes: dict[str, str] = {}

    def _stack(self, unit: UncoreUnit) -> Stack:
        bus = unit.peer if unit.kind == STACKS else ""
        if bus not in self._stacks:
            self._stacks[bus] = read_stack(self._host, bus)
        return self._stacks[bus]

    def link(self, unit: UncoreUnit) -> float | None:
        """Return the GB/s of a unit's links in one direction; None if it has none, or if unknown."""
        if unit.kind == STACKS:
            return self._stack(unit).gigabytes
        if unit.key not in self._links:
            self._links[unit.key] = link_of(self._host, unit, self._ports)
        return self._links[unit.key]

    @cached_property
    def _ports(self) -> tuple[RootPort, ...]:
        return read_root_ports(self._host)

    def read(self, units: Iterable[UncoreUnit]) -> None:
        """Read all of them, so that a recording keeps their files."""
        for unit in units:
            if unit.kind == STACKS:
                self.note(unit)
            else:
                self.link(unit)

    def note(self, unit: UncoreUnit) -> str:
        """Describe the other end on one line: devices as lspci names them, or a link of another die."""
        if unit.kind == LINKS:
            return other_end(unit.peer)
        if unit.peer not in self._notes:
            devices = self._stack(unit).devices
            names = names_of(self._host, devices)
            addresses = (names.get(device, device).removeprefix("0000:") for device in devices)
            self._notes[unit.peer] = ", ".join(addresses)
        return self._notes[unit.peer]
