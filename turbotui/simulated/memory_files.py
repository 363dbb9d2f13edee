"""/sys/firmware/dmi/entries: the memory modules as firmware describes them (DMTF DSP0134 3.7, 7.18)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from turbotui.simulated.shapes import MachineShape
from turbotui.simulated.tree import File, Folder, folder

_LENGTH: Final = 0x5C  # of the structure since version 3.3
_DIMM: Final = 0x09  # form factor
_DDR: Final = 0x22  # memory type DDR5; nothing here reads it
_LARGE: Final = 0x7FFF  # size: see the extended one


def memory_modules(shape: MachineShape) -> Mapping[str, Folder]:
    """One module in each channel; as in the kernel only root may read them (drivers/firmware/dmi-sysfs.c)."""
    count = shape.packages * shape.memory_channels
    found: dict[str, Folder] = {}
    for number in range(count):
        package, channel = divmod(number, shape.memory_channels)
        raw = _structure(number, shape, (shape.memory_gib << 10) // count, package, channel)
        found[f"17-{number}"] = folder({"raw": _file(raw)})
    return found


def persistent_memory(shape: MachineShape) -> Mapping[str, File]:
    """/sys/firmware/acpi/tables: the NFIT of a machine with persistent memory, which nothing reads but its presence."""
    return {"NFIT": File(lambda _now: b"NFIT", 0o400)} if shape.tiers in ("pmem", "2lm") else {}


def _file(raw: bytes) -> File:
    return File(lambda _now: raw, 0o400)


def _structure(number: int, shape: MachineShape, mib: int, package: int, channel: int) -> bytes:
    body = bytearray(_LENGTH)
    struct.pack_into("<BBH", body, 0, 17, _LENGTH, 0x1100 + number)
    struct.pack_into("<HHH", body, 0x08, 72, 64, min(_LARGE, mib))
    struct.pack_into("<BBBBB", body, 0x0E, _DIMM, 0, 1, 2, _DDR)
    struct.pack_into("<H", body, 0x15, shape.memory_mts)
    struct.pack_into("<IH", body, 0x1C, mib, shape.memory_mts)
    texts = (f"CPU{package}_DIMM_{chr(ord('A') + channel)}1", f"NODE {package} CHANNEL {channel} DIMM 0")
    return bytes(body) + b"".join(text.encode() + b"\0" for text in texts) + b"\0"
