"""PCI Express root ports of simulated servers, with a device below each.

Those of NVIDIA's Arm servers have the configuration space that names their root complex; Intel's have one on each stack
but the last.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.simulated.shapes import MachineShape
from turbotui.simulated.tree import File, Node, fixed_texts, folder

VENDOR: Final = 0x10DE
_DEVICE: Final = 0x22D0
_PUBLIC: Final = 64
"""Bytes of configuration space that an unprivileged reader gets (linux drivers/pci/pci-sysfs.c)."""
_CAPABILITY: Final = 0x240
"""Where the designated vendor-specific capability stands; any place above 0x100 would do."""


@dataclass(frozen=True, slots=True)
class SimulatedRootPort:
    """One root port, as its DVSEC describes it (nvidia-tegra410-pmu.rst)."""

    segment: int
    bus: int
    port: int
    complex: int
    socket: int


_PORTS: Final = cast("Mapping[str, Sequence[Sequence[int]]]", FactFile("simulated/nvidia_ports.toml").find("t410"))
ROOT_PORTS: Final = tuple(SimulatedRootPort(*row) for row in _PORTS["ports"])
"""The reference map of a two-socket machine (docs/specs/nvidia.md 5)."""


def configuration_space(port: SimulatedRootPort) -> bytes:
    """Return 4096 bytes: a type 1 header, the PCI Express capability, an advanced-error capability, the DVSEC."""
    space = bytearray(4096)
    struct.pack_into("<HH", space, 0x00, VENDOR, _DEVICE)
    space[0x06] = 0x10  # status: has a capability list
    space[0x0A], space[0x0B] = 0x04, 0x06  # class 0604: PCI-to-PCI bridge
    space[0x0E] = 0x01  # header type 1
    space[0x34] = 0x40  # first capability
    struct.pack_into("<BBH", space, 0x40, 0x10, 0x00, 4 << 4 | 2)  # PCI Express, root port, version 2
    struct.pack_into("<I", space, 0x4C, port.port << 24 | 0x045)  # link capabilities: port number in 31:24
    struct.pack_into("<I", space, 0x100, 0x0001 | 2 << 16 | _CAPABILITY << 20)  # advanced error reporting, next
    struct.pack_into("<I", space, _CAPABILITY, 0x0023 | 1 << 16)  # designated vendor-specific, last
    struct.pack_into("<I", space, _CAPABILITY + 4, VENDOR | 0x14 << 20)
    struct.pack_into("<H", space, _CAPABILITY + 8, 0x0004)
    fields = (port.bus, port.segment, port.port, port.complex, port.socket)
    space[_CAPABILITY + 0x0C : _CAPABILITY + 0x11] = bytes(fields)
    return bytes(space)


def _ids(vendor: str, device: str, kind: str, **more: object) -> dict[str, Node]:
    """The files that tell which device it is, and more with fixed texts."""
    return fixed_texts(**{"vendor": vendor, "device": device, "class": kind, **more})


def _endpoint(port: SimulatedRootPort) -> tuple[str, dict[str, Node]]:
    """Make the device below a root port: network adapters on the first root complex, drives on the others."""
    vendor, device, kind = (0x15B3, 0x1023, 0x020000) if port.complex == 0 else (0x144D, 0xA826, 0x010802)
    files = _ids(f"{vendor:#06x}", f"{device:#06x}", f"{kind:#08x}", numa_node=port.socket)
    return f"{port.segment:04x}:{port.bus + 1:02x}:00.0", files


def root_ports(shape: MachineShape) -> Mapping[str, Node]:
    """/sys/bus/pci/devices of a Tegra410 machine; empty elsewhere."""
    if shape.nvidia != "t410":
        return {}
    ports: dict[str, Node] = {}
    for port in ROOT_PORTS:
        if port.socket < shape.packages:
            space = configuration_space(port)
            below, files = _endpoint(port)
            ports[below] = folder(files)
            ports[f"{port.segment:04x}:{port.bus:02x}:00.0"] = folder({
                **_ids(f"{VENDOR:#06x}", f"{_DEVICE:#06x}", "0x060400", numa_node=port.socket,
                       current_link_speed="32.0 GT/s PCIe", current_link_width=16),
                "config": File(lambda _now, space=space: space, public=_PUBLIC),  # type: ignore[misc]
                below: folder(files),
            })
    return ports


_DEVICES: Final = (("0x15b3:1021", "0x020000", 16), ("0x144d:a826", "0x010802", 4), ("0x144d:a826", "0x010802", 4))
"""An adapter and two drives: kind, class, lanes."""


def root_bus(package: int, stack: int) -> str:
    """Return the segment and bus of a stack's root ports."""
    return f"{package // 2:04x}:{package % 2 * 0x80 + stack * 0x20:02x}"


def intel_root_ports(shape: MachineShape) -> Mapping[str, Node]:
    """/sys/bus/pci/devices of the machine: a port and a device on each stack but the last."""
    ports: dict[str, Node] = {}
    for package in range(shape.packages):
        for stack, (device, kind, width) in enumerate(_DEVICES):
            bus = root_bus(package, stack)
            segment, _, number = bus.partition(":")
            below = f"{segment}:{int(number, 16) + 1:02x}:00.0"
            link = {"current_link_speed": "16.0 GT/s PCIe", "current_link_width": width}
            files = _ids(device[:6], f"0x{device[7:]}", kind, **link)
            port = _ids("0x8086", "0x352a", "0x060400", **link)
            ports[below] = folder(files)
            ports[f"{bus}:01.0"] = folder({**port, below: folder(files)})
    return ports
