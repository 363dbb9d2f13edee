"""Finds the root complex of a Tegra410's PCI devices in the configuration space of their root ports.

Each root port has a designated vendor-specific extended capability (PCI Express Base Specification, section 7.9.6) of
NVIDIA with bus, segment, port, root complex and socket (nvidia-tegra410-pmu.rst).
"""

from __future__ import annotations

import re
import struct

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import read_bytes
from turbotui.machine.small_files import line_of, names_in
from turbotui.quantities.unavailable import Reason, Unavailable

DEVICES = "/sys/bus/pci/devices"
_NVIDIA = 0x10DE
_BRIDGE = "0x060400"  # class code of a PCI-to-PCI bridge
_SPACE = 4096  # bytes of configuration space; without CAP_SYS_ADMIN sysfs gives the first 64
_PUBLIC = 64  # bytes that the kernel gives without CAP_SYS_ADMIN (drivers/pci/pci-sysfs.c)
_EXTENDED = 0x100  # where extended capabilities begin
_DESIGNATED = 0x0023  # PCI Express Base Specification, section 7.9.6: DVSEC
_ROOT_PORT_ID = 0x0004  # nvidia-tegra410-pmu.rst
_LENGTH = 0x11  # the last byte needed is the socket, at 0x10
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)


@dataclass(frozen=True, slots=True)
class PortAddress:
    """The socket, root complex and number of a root port, from the port's vendor-specific capability."""

    bus: int
    segment: int
    port: int
    complex: int
    socket: int

    @property
    def pmus(self) -> tuple[str, str]:
        """Return the names of the PMUs that count the port's requests and the requests to the port."""
        where = f"{self.socket}_rc_{self.complex}"
        return f"nvidia_pcie_pmu_{where}", f"nvidia_pcie_tgt_pmu_{where}"


@dataclass(frozen=True, slots=True)
class RootPort:
    """A root port as lspci names it; `place` is None if unknown, as always without root's rights."""

    address: str
    place: PortAddress | None
    devices: tuple[str, ...]
    why: Unavailable | None = None  # why the place is unknown


def parse_place(space: bytes) -> PortAddress | None:
    """Parse the port's position from its configuration space; None if truncated or without the capability."""
    offset, seen = _EXTENDED, set[int]()
    while _EXTENDED <= offset <= len(space) - 4 and offset not in seen:
        seen.add(offset)
        (header,) = struct.unpack_from("<I", space, offset)
        if header in (0, 0xFFFFFFFF):
            return None
        if header & 0xFFFF == _DESIGNATED and offset + _LENGTH <= len(space):
            word, number = struct.unpack_from("<IH", space, offset + 4)
            if word & 0xFFFF == _NVIDIA and number == _ROOT_PORT_ID and word >> 20 >= _LENGTH:
                return PortAddress(*space[offset + 0x0C : offset + _LENGTH])
        offset = header >> 20 & ~3
    return None


def read_root_ports(host: Host) -> tuple[RootPort, ...]:
    """Return every NVIDIA bridge at the top of the PCI tree with the devices below it, sorted by address."""
    bridges = {name: below(host, f"{DEVICES}/{name}") for name in names_in(host, DEVICES) if _is_bridge(host, name)}
    inner = {device for devices in bridges.values() for device in devices}
    return tuple(_root_port(host, name, devices) for name, devices in sorted(bridges.items()) if name not in inner)


def _is_bridge(host: Host, name: str) -> bool:
    vendor = line_of(host, f"{DEVICES}/{name}/vendor")
    return vendor == f"{_NVIDIA:#06x}" and line_of(host, f"{DEVICES}/{name}/class") == _BRIDGE


def _root_port(host: Host, name: str, devices: tuple[str, ...]) -> RootPort:
    path = f"{DEVICES}/{name}/config"
    try:
        space = read_bytes(host, path, _SPACE)
    except HostError as error:
        return RootPort(name, None, devices, Unavailable(Reason.FAILED, f"{path}: {error.strerror}"))
    if (place := parse_place(space)) is not None:
        return RootPort(name, place, devices)
    if len(space) <= _PUBLIC:
        return RootPort(name, None, devices, Unavailable(
            Reason.NOT_PERMITTED, f"the kernel gives others than root the first {len(space)} bytes of a port's "
            "configuration space, and the root complex is named after them", "run as root"))
    return RootPort(name, None, devices, Unavailable(
        Reason.NO_HARDWARE, "no capability of NVIDIA's in the port's configuration space names the root complex"))


def below(host: Host, path: str) -> tuple[str, ...]:
    """Return the addresses of the devices below a device, from its directory in sysfs."""
    return tuple(device for name in names_in(host, path) if _ADDRESS.fullmatch(name)
                 for device in (name, *below(host, f"{path}/{name}")))
