"""Reads files and directories that may be missing or unreadable, which count as empty."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import read_bytes
from turbotui.quantities.plain_numbers import integer, numbers_by_name
from turbotui.untrusted import decoded, one_line

_PAGE = 4096  # bytes, at least


def text_of(host: Host, path: str) -> str:
    """Read the text of a file, made visible; "" if it cannot be read."""
    try:
        return host.read_text(path)
    except HostError:
        return ""


class KeptFile:
    """A file of sysfs that stays open, because a read from its beginning makes its text anew.

    That is at most a page (kernel Documentation/filesystems/sysfs.rst, "Reading/Writing Attribute Data").
    """

    def __init__(self, host: Host, path: str) -> None:
        self._host = host
        self._path = path
        self._descriptor: int | None = None

    def text(self) -> str:
        """Read its text, made visible; "" if it cannot be opened now or read."""
        try:
            if self._descriptor is None:
                self._descriptor = self._host.open_file(self._path)
            return decoded(self._host.read_at(self._descriptor, _PAGE))
        except HostError:
            self.close()
            return ""

    def close(self) -> None:
        """Close it until it is read again."""
        if self._descriptor is not None:
            self._host.close(self._descriptor)
            self._descriptor = None


def bytes_of(host: Host, path: str, size: int) -> bytes:
    """Read up to `size` bytes of a file; none if it cannot be read."""
    try:
        return read_bytes(host, path, size)
    except HostError:
        return b""


def memory_of(host: Host) -> Mapping[str, int]:
    """Read the KiB of /proc/meminfo by name (proc_meminfo(5)); none if it cannot be read."""
    lines = [line.split() for line in text_of(host, "/proc/meminfo").splitlines()]
    return numbers_by_name((words[0].removesuffix(":"), words[1]) for words in lines if len(words) > 1)


def line_of(host: Host, path: str) -> str:
    """Read a file of one line, without surrounding blanks; "" if it cannot be read."""
    return one_line(text_of(host, path))


def cpus_in(host: Host, path: str) -> frozenset[int]:
    """Read a list of CPUs, "0-3,8"; none if the file cannot be read or has no such list."""
    try:
        return parse_cpulist(text_of(host, path))
    except ValueError:
        return frozenset()


def names_in(host: Host, path: str) -> tuple[str, ...]:
    """Return the visible names in a directory, sorted; none if it cannot be listed."""
    try:
        return host.list_dir(path)
    except HostError:
        return ()


def numbered_in(host: Host, path: str, word: str) -> list[str]:
    """Return the paths of a directory's entries `word` + number, in the order of the numbers."""
    matches = (re.fullmatch(rf"{word}([0-9]{{1,9}})", name) for name in names_in(host, path))
    return [f"{path}/{match[0]}" for match in sorted(filter(None, matches), key=lambda match: integer(match[1]))]
