"""Peak bandwidth of the PCI Express links that an uncore PMU counts, found by the PMU's name or root port."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from turbotui.events.uncore.discovery import UncoreUnit
from turbotui.events.uncore.root_ports import DEVICES, RootPort
from turbotui.events.uncore.stacks import speed_of
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
