"""PCI Express root ports of simulated Intel servers: one on each stack but the last, with a device below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.simulated.shapes import MachineShape
from turbotui.simulated.tree import Node, fixed, folder

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
            link = {"current_link_speed": fixed("16.0 GT/s PCIe"), "current_link_width": fixed(width)}
            files: dict[str, Node] = {"vendor": fixed(device[:6]), "device": fixed(f"0x{device[7:]}"),
                                      "class": fixed(kind), **link}
            port: dict[str, Node] = {"vendor": fixed("0x8086"), "device": fixed("0x352a"), "class": fixed("0x060400"),
                                     **link}
            ports[below] = folder(files)
            ports[f"{bus}:01.0"] = folder({**port, below: folder(files)})
    return ports
