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
from turbotui.machine.small_files import line_of, text_of
from turbotui.quantities.plain_numbers import integer_or_none
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sources.source import CpuGone
from turbotui.sources.unreadable import may_pass
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
    whole = integer_or_none(data)
    return None if whole is None or whole < 0 else whole


def signed_number(data: bytes) -> int | None:
    """A whole number that may be negative: a temperature, the power of a battery."""
    return integer_or_none(data)


def text(data: bytes) -> str | None:
    """A line of text without its end; None if empty."""
    return one_line(decoded(data)) or None


def read_value(host: Host, path: str) -> bytes:
    """Read the beginning of a file, as much as a value takes. Raises HostError if it cannot be opened or read."""
    try:
        return read_bytes(host, path, _SIZE)
    except HostError as error:
        raise HostError(error.errno or errno.EIO, path) from error


def read_number(host: Host, path: str) -> int | None:
    """Read the integer in a file; None if the file cannot be read or holds no integer."""
    return number(text_of(host, path).encode())


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
    """The file of one signal."""

    signal: SignalId
    # usually one file; of several the greatest value counts; none: the value is None on this CPU
    paths: tuple[str, ...]
    decode: Decode = number  # applied to the bytes of each file
    once: bool = False  # read when opened and not again; takes no descriptor


@dataclass(slots=True)
class _Entry:
    """One signal of a reader."""

    file: ValueFile  # its files
    descriptors: tuple[int, ...] = ()  # those that are open; of a file that is read once, only until it gave a value
    value: Raw = None  # of a file that is read once
    missing: tuple[str, ...] = ()  # paths that could not be opened and may be later


class FileReader:
    """The open files of one reading CPU.

    A file that cannot be read gives None for its signal, and is asked again: at every reading if it is open, in `retry`
    if it is not. When none can be read, and the CPU is gone, so is the reader.

    Args:
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
        self._entries = [_Entry(file, missing=file.paths) for file in files]
        self._count = 0
        missed = False
        for entry in self._entries:
            try:
                missed |= self._open(entry)
            except HostError:
                self.close()
                raise
        if missed and not self._count and is_offline(host, cpu):
            raise CpuGone(f"CPU {cpu} is offline")

    @property
    def incomplete(self) -> bool:
        """Whether a file is not open that may be opened later, or has not given the value for which it is read once."""
        return any(entry.missing or (entry.file.once and entry.descriptors) for entry in self._entries)

    def retry(self) -> None:
        """Open files that could not be opened, and read again those that are read once.

        Raises:
            HostError: EMFILE or ENFILE.
        """
        for entry in self._entries:
            if entry.missing:
                self._open(entry)
            elif entry.file.once and entry.descriptors:
                self._read_once(entry)

    def read(self) -> Sequence[Raw]:
        """Read each file by one pread."""
        read_at = self._host.read_at
        values: list[Raw] = []
        failed = gone = 0
        for entry in self._entries:
            value = entry.value
            if entry.file.once:
                values.append(value)
                continue
            decode = entry.file.decode
            for descriptor in entry.descriptors:
                try:
                    got = decode(read_at(descriptor, _SIZE, 0))
                except HostError as error:
                    failed += 1
                    gone += error.errno in _GONE
                    continue
                if value is None or (isinstance(value, int) and isinstance(got, int) and got > value):
                    value = got
            values.append(value)
        # files outside the CPU's own directory may go with their driver, and some errors do not say "gone" (cpufreq
        # gives EBUSY for an offline policy): then the kernel is asked
        if failed and failed == self._count and (
                (self._inside_cpu and gone == failed) or is_offline(self._host, self._cpu)):
            raise CpuGone(f"CPU {self._cpu} went offline")
        return values

    def close(self) -> None:
        """Close every file."""
        for entry in self._entries:
            for descriptor in entry.descriptors:
                self._host.close(descriptor)
        self._entries = []

    def _open(self, entry: _Entry) -> bool:
        """Open the missing files of a signal; tells whether one cannot be opened.

        Raises:
            HostError: EMFILE or ENFILE.
        """
        missed, later = False, []
        for path in entry.missing:
            try:
                descriptor = self._host.open_file(path)
            except HostError as error:
                if error.errno in _EXHAUSTED:
                    raise
                missed = True
                later += [path] if may_pass(error, self._host) else []
                continue
            entry.descriptors += (descriptor,)
            self._count += not entry.file.once
        entry.missing = tuple(later)
        if entry.file.once:
            self._read_once(entry)
        return missed

    def _read_once(self, entry: _Entry) -> None:
        """Take the value of files that are read once, and close them; one whose reading may work later stays open."""
        waiting = []
        for descriptor in entry.descriptors:
            try:
                entry.value = entry.file.decode(self._host.read_at(descriptor, _SIZE, 0))
            except HostError as error:
                if may_pass(error, self._host):
                    waiting.append(descriptor)
                    continue
            self._host.close(descriptor)
        entry.descriptors = tuple(waiting)
