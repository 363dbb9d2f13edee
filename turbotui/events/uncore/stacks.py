"""PCI Express stacks of Intel servers: the devices on the root bus that a PMU counts, and the links' speeds.

The files dieN of a PMU tell its bus, or the other end of its link (kernel Documentation/ABI/testing/
sysfs-devices-mapping): "0000:40" of uncore_iio_N, "upi_1,die_1" of uncore_upi_N.
"""

from __future__ import annotations

import math
import re
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.uncore.root_ports import DEVICES, below
from turbotui.machine.host import Host
from turbotui.machine.small_files import line_of, names_in
from turbotui.quantities.plain_numbers import decimal, whole_number

MAPPED: Final = ("uncore_iio_", "uncore_upi_")
"""Beginnings of the names of PMUs that have files dieN."""
_BRIDGE: Final = "0x0604"  # PCI-to-PCI bridge; a device's class has two digits more, for the programming interface
_WORKERS: Final = ("0x01", "0x02", "0x03", "0x0b40", "0x12")
"""Classes of integrated devices that move data: storage, network, display, co-processors, accelerators."""
_SPEED: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) GT/s", re.ASCII)
_CODING: Final = ((5.0, 8 / 10), (32.0, 128 / 130), (64.0, 242 / 256))
"""The part of the transfers that is data, by the highest rate (PCI Express 6.0, sections 4.2.1 to 4.2.3)."""
_LINK = re.compile(r"upi_([0-9]{1,9}),die_([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stack:
    """The devices on a root bus, and the speed of its links."""

    devices: tuple[str, ...]  # addresses of the devices below the root ports, and of integrated devices that move data
    gigabytes: float | None  # GB/s that the root ports' links carry in one direction; None if no link tells its speed


def mapping_of(host: Host, folder: str, die: int) -> str:
    """Read the file dieN of a PMU: a root bus, or the other end of a link; "" if there is no such file."""
    return line_of(host, f"{folder}/die{die}")


def other_end(mapping: str) -> str:
    """Format the other end of a UPI link for people; "" if the text is no such end."""
    match = _LINK.fullmatch(mapping)
    return f"die {match[2]} #{match[1]}" if match is not None else ""


def read_stack(host: Host, bus: str) -> Stack:
    """Read the devices and links of a root bus, given as "0000:40"."""
    ports: list[str] = []
    speeds: list[float] = []
    for name in names_in(host, DEVICES) if bus else ():
        if not name.startswith(f"{bus}:"):
            continue
        path = f"{DEVICES}/{name}"
        kind = line_of(host, f"{path}/class")
        if kind.startswith(_BRIDGE):
            under = below(host, path)
            ports += [device for device in under if not line_of(host, f"{DEVICES}/{device}/class").startswith(_BRIDGE)]
            speed = speed_of(host, name)
            if under and speed is not None:
                speeds.append(speed)
        elif kind.startswith(_WORKERS):
            ports.append(name)
    return Stack(tuple(ports), math.fsum(speeds) if speeds else None)


def speed_of(host: Host, address: str) -> float | None:
    """Return the GB/s of data that a PCI device's link carries in one direction; None if unknown."""
    path = f"{DEVICES}/{address}"
    return link_speed(line_of(host, f"{path}/current_link_speed"), line_of(host, f"{path}/current_link_width"))


def link_speed(rate: str, width: str) -> float | None:
    """Return the GB/s of data that a link of this rate and width carries in one direction; None if unknown."""
    match, lanes = _SPEED.match(rate), whole_number(width)
    if match is None or not lanes:
        return None
    transfers = decimal(match[1])
    part = next((part for most, part in _CODING if transfers <= most), None)
    return None if part is None else transfers * lanes * part / 8
