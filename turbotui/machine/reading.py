"""Reads files and CPUID leaves once: opens, reads, closes."""

from __future__ import annotations

import contextlib
import errno
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from turbotui.machine.host import Host, HostError

_LEAF: Final = struct.Struct("<4I")
_SUBLEAF_SHIFT: Final = 32  # the cpuid device takes the subleaf in the upper half of the offset


class Leaf(NamedTuple):
    """The four registers of a CPUID leaf."""

    eax: int
    ebx: int
    ecx: int
    edx: int


class LeafReader(Protocol):
    """CPUID of one CPU; above the highest leaf, processors return another leaf's data."""

    def __call__(self, leaf: int, subleaf: int = 0) -> Leaf:
        """Return the registers of a leaf. Raises HostError if the leaf cannot be read."""


@contextlib.contextmanager
def closing(host: Host, descriptor: int) -> Iterator[int]:
    """Close a descriptor of a host after the block."""
    try:
        yield descriptor
    finally:
        host.close(descriptor)


def read_bytes(host: Host, path: str, size: int, offset: int = 0) -> bytes:
    """Read up to `size` bytes of a file. Raises HostError if the file cannot be opened or read."""
    with closing(host, host.open_file(path)) as descriptor:
        return host.read_at(descriptor, size, offset)


@contextlib.contextmanager
def cpuid_of(host: Host, cpu: int) -> Iterator[LeafReader]:
    """Open CPUID by the cpuid device: 16 bytes at the offset of the leaf (arch/x86/kernel/cpuid.c).

    Raises:
        HostError: the device cannot be opened.
    """
    path = f"/dev/cpu/{cpu}/cpuid"
    with closing(host, host.open_file(path)) as descriptor:

        def ask(leaf: int, subleaf: int = 0) -> Leaf:
            raw = host.read_at(descriptor, _LEAF.size, leaf | subleaf << _SUBLEAF_SHIFT)
            if len(raw) != _LEAF.size:
                raise HostError(errno.EIO, path)
            return Leaf(*_LEAF.unpack(raw))

        yield ask
