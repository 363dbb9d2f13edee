"""The metrics table of AMD MI300A's firmware: its file, and its fields by a table of facts.

Kernel Documentation/arch/x86/amd_hsmp.rst, "Metrics table binary sysfs": amd_hsmp shows it if the firmware speaks
protocol 6, one file for each socket. Each read queries the firmware, and returns the whole table or nothing.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import read_bytes
from turbotui.machine.small_files import names_in
from turbotui.quantities.facts import FactFile
from turbotui.quantities.plain_numbers import hexadecimal, integer
from turbotui.quantities.unavailable import Reason, Unavailable

METRICS: Final = FactFile("machine/data/hsmp_metrics.toml")
SIZE: Final = 1404
"""Bytes of the table of protocol 6 (struct hsmp_metric_table, arch/x86/include/uapi/asm/amd_hsmp.h)."""
FILE: Final = "metrics_bin"
_PLATFORM: Final = "/sys/devices/platform"
_ACPI: Final = re.compile(r"AMDI0097:([0-9a-fA-F]{2})", re.ASCII)
_LEGACY: Final = f"{_PLATFORM}/amd_hsmp"
_SOCKET: Final = r"(?a)socket([0-9]{1,9})"
PAGE: Final = 4096  # a read of the file must have room for the whole table
_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class MetricField:
    """A field of the table."""

    offset: int  # bytes from the beginning
    words: str  # the text about the field; {} is the value
    decimals: int  # decimals of the value
    fraction: int = 0  # the number of fraction bits
    signed: bool = False  # whether the field is two's complement
    count: int = 1  # the number of consecutive values, of which the greatest is used

    def raw(self, table: bytes) -> int:
        """Return the greatest of the field's integers."""
        places = range(self.offset, self.offset + _BYTES * self.count, _BYTES)
        return max(int.from_bytes(table[at : at + _BYTES], "little", signed=self.signed) for at in places)

    def value(self, table: bytes) -> float:
        """Return the value in the unit of `words`."""
        return self.raw(table) / (1 << self.fraction)


@functools.cache
def metric_fields() -> dict[str, MetricField]:
    """Return the fields by their names in the kernel's header, in display order."""
    return {name: METRICS.row(MetricField, name, values) for name, values in METRICS.tables()}


def find_tables(host: Host) -> tuple[tuple[int, str], ...]:
    """Return the number of each socket with a table, and its file."""
    tables = [(hexadecimal(match[1]), f"{_PLATFORM}/{name}") for name in names_in(host, _PLATFORM)
              if (match := _ACPI.fullmatch(name))]
    tables += [(integer(match[1]), f"{_LEGACY}/{name}") for name in names_in(host, _LEGACY)
               if (match := re.fullmatch(_SOCKET, name))]
    return tuple(sorted((socket, f"{folder}/{FILE}") for socket, folder in tables if FILE in names_in(host, folder)))


def read_table(host: Host, path: str) -> bytes | Unavailable:
    """Read the table, or return why it cannot be read or understood."""
    try:
        return checked(read_bytes(host, path, PAGE), path)
    except HostError as error:
        permitted = error.name not in ("EACCES", "EPERM")
        return Unavailable(Reason.FAILED if permitted else Reason.NOT_PERMITTED, f"{path}: {error}",
                           "" if permitted else "run as root")


def checked(table: bytes, path: str) -> bytes | Unavailable:
    """Return the bytes if they are a table that the firmware has filled, else the reason."""
    if len(table) != SIZE:
        return Unavailable(Reason.UNKNOWN_MODEL, f"{path}: {len(table)} bytes, and the kernel describes a table of "
                           f"{SIZE} (protocol 6, MI300A)")
    if not any(table):
        return Unavailable(Reason.FAILED, f"{path}: the firmware has not filled the table")
    return table
