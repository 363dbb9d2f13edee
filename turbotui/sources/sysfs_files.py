"""Files of one value each that stay open and are read repeatedly with pread at offset 0.

sysfs makes the text anew at every read from offset 0 (kernel Documentation/filesystems/sysfs.rst, "Reading/Writing
Attribute Data"), so one system call a value is enough.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import read_bytes
from turbotui.machine.small_files import line_of
from turbotui.quantities.plain_numbers import integer_or_none
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sources.source import CpuGone
from turbotui.untrusted import decoded, one_line

CPU_DIR = "/sys/devices/system/cpu/cpu{cpu}"
"""Directory of one logical CPU (kernel Documentation/ABI/testing/sysfs-devices-system-cpu)."""

_SIZE = 256  # the longest value read here is a governor or driver name (CPUFREQ_NAME_LEN, linux/cpufreq.h: 16)
_GONE = frozenset({errno.ENODEV, errno.ENXIO, errno.ENOENT})
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE})

Decode: TypeAlias = Callable[[bytes], Raw]
"""Makes the raw value of a file's bytes; None if they are not what the file should hold."""


def number(data: bytes) -> int | None:
    """A whole number; None for anything else, as cpufreq's "<unknown>", or a clock, a limit or a count below 0."""
    found = integer_or_none(data)
    return None if found is None or found < 0 else found


def signed_number(data: bytes) -> int | None:
    """A whole number that may be negative: a temperature, the power of a battery."""
    return integer_or_none(data)


def text(data: bytes) -> str | None:
    """A line of text without its end; None if empty."""
    return one_line(decoded(data)) or None


def read_value(host: Host, path: str) -> bytes:
    """Read the beginning of a file, as much as a value takes.

    Raises:
        HostError: it cannot be opened or read.
    """
    try:
        return read_bytes(host, path, _SIZE)
    except HostError as error:
        raise HostError(error.errno or errno.EIO, path) from error


def read_number(host: Host, path: str) -> int | None:
    """Read the integer in a file; None if the file cannot be read or holds no integer."""
    try:
        return number(host.read_text(path).encode())
    except HostError:
        return None


def read_line(host: Host, path: str) -> str | None:
    """Read the text in a file, stripped; None if the file cannot be read or is empty."""
    return line_of(host, path) or None


def is_offline(host: Host, cpu: int) -> bool:
    """Whether a CPU is switched off or unplugged. A CPU that cannot be switched off has no `online` file."""
    directory = CPU_DIR.format(cpu=cpu)
    online = read_line(host, f"{directory}/online")
    return online == "0" if online is not None else not host.exists(directory)


@dataclass(frozen=True, slots=True)
class ValueFile:
    """The file of one signal.

    Attributes:
        signal: the signal.
        paths: usually one file; of several the greatest value counts; none: the value is None on this CPU.
        decode: applied to the bytes of each file.
        once: read when opened and not again; takes no descriptor.
    """

    signal: SignalId
    paths: tuple[str, ...]
    decode: Decode = number
    once: bool = False


class FileReader:
    """The open files of one reading CPU.

    A file that cannot be read gives None for its signal. When none of them can, and the CPU is gone, so is the reader.

    Args:
        host: the machine.
        cpu: the reading CPU.
        files: one for each signal.
        inside_cpu: the files belong to this CPU's own sysfs directory, so that they vanish with it.

    Raises:
        CpuGone: no file could be opened and the CPU is offline.
        HostError: EMFILE or ENFILE; nothing is left open.
    """

    def __init__(self, host: Host, cpu: int, files: Sequence[ValueFile], *, inside_cpu: bool) -> None:
        self._host = host
        self._cpu = cpu
        self._inside_cpu = inside_cpu
        self.signals = tuple(file.signal for file in files)
        self._entries: list[tuple[tuple[int, ...], Decode, Raw]] = []
        self._count = 0
        missed = False
        for file in files:
            descriptors: list[int] = []
            constant: Raw = None
            for path in file.paths:
                try:
                    descriptor = host.open_file(path)
                except HostError as error:
                    if error.errno in _EXHAUSTED:
                        for opened in descriptors:
                            host.close(opened)
                        self.close()
                        raise
                    missed = True
                    continue
                if file.once:
                    constant = self._once(descriptor, file.decode)
                else:
                    descriptors.append(descriptor)
            self._entries.append((tuple(descriptors), file.decode, constant))
            self._count += len(descriptors)
        if missed and not self._count and is_offline(host, cpu):
            raise CpuGone(f"CPU {cpu} is offline")

    def read(self) -> Sequence[Raw]:
        """Read each file by one pread.

        Raises:
            CpuGone: every open file is gone, and with them the CPU.
        """
        read_at = self._host.read_at
        values: list[Raw] = []
        failed = gone = 0
        for descriptors, decode, constant in self._entries:
            value = constant
            for descriptor in descriptors:
                try:
                    got = decode(read_at(descriptor, _SIZE, 0))
                except HostError as error:
                    failed += 1
                    gone += error.errno in _GONE
                    continue
                if value is None or (isinstance(value, int) and isinstance(got, int) and got > value):
                    value = got
            values.append(value)
        if failed and failed == self._count and self._is_gone(certain=gone == failed):
            raise CpuGone(f"CPU {self._cpu} went offline")
        return values

    def close(self) -> None:
        """Close every file."""
        for descriptors, _, _ in self._entries:
            for descriptor in descriptors:
                self._host.close(descriptor)
        self._entries = []

    def _is_gone(self, *, certain: bool) -> bool:
        """Tell whether the CPU is gone, when no file can be read any more.

        Files outside the CPU's own directory may go with their driver, and some errors do not say "gone" (cpufreq
        gives EBUSY for an offline policy): then the kernel is asked.
        """
        return (self._inside_cpu and certain) or is_offline(self._host, self._cpu)

    def _once(self, descriptor: int, decode: Decode) -> Raw:
        try:
            return decode(self._host.read_at(descriptor, _SIZE, 0))
        except HostError:
            return None
        finally:
            self._host.close(descriptor)
