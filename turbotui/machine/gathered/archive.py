"""A gathered machine's file: a tar archive (POSIX.1-1988 ustar) in gzip (RFC 1952), written and read in memory.

An archive that a person packed again may have the extended headers of POSIX.1-2001 (pax) or GNU tar's long names.

An archive may come from anybody: nothing of it is written to the disk, only plain files are accepted, and every size is
checked before memory is allocated. tarfile would accept every extension of the format, such as links and sparse files,
and takes ten times as long for the hundred thousand small files of a machine with a thousand CPUs.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from turbotui.quantities.plain_numbers import whole_number
from turbotui.untrusted import decoded, in_cell, original

TOP: Final = "gathered"
"""The only directory in the archive."""
LARGEST: Final = 1 << 26
"""The most bytes of a gathered machine's file; one of 1,024 CPUs has a fortieth."""
_MOST_UNPACKED: Final = 1 << 30
_MOST_TIMES: Final = 200
"""Bytes that a packed byte may become, beside the free ones; a machine of 1,024 CPUs packs to a 33rd."""
_FREE: Final = 1 << 26
_MOST_CONTENT: Final = 1 << 27
_MOST_FILES: Final = 400_000
_BLOCK: Final = 512
_CHUNK: Final = 1 << 20
GZIP: Final = b"\x1f\x8b\x08"
"""The first bytes of the file (RFC 1952, 2.3.1)."""
_GZIP: Final = 31  # wbits of zlib: 15, and 16 for a gzip header
_NAME, _SIZE, _SUM, _KIND, _MAGIC, _PREFIX = (slice(0, 100), slice(124, 136), slice(148, 156), slice(156, 157),
                                              slice(257, 263), slice(345, 500))
_USTAR, _GNU = b"ustar\0", b"ustar "
_FILE, _FOLDER = (b"0", b"\0"), b"5"
_OF_NEXT, _LONG_NAME = b"x", b"L"
_EXTENSIONS: Final = (_OF_NEXT, b"g", _LONG_NAME)
_LONGEST_EXTENSION: Final = 1 << 13
"""Bytes of an extended header: paths have 4,096 (PATH_MAX), and times take a hundred."""
_MOST_EXTENSIONS: Final = 8  # before one file
_DEEPEST: Final = 64  # parts of a path; sysfs and procfs have some ten


class GatheredError(Exception):
    """A file is no gathered machine; the message is a reason without the file's name."""


def pack(files: Mapping[str, bytes]) -> tuple[bytes, tuple[str, ...]]:
    """Pack files below `TOP` into a reproducible archive; also returns the paths that are too long for it."""
    buffer = io.BytesIO()
    long = []
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT, encoding="utf-8") as tar:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{TOP}/{original(path)}")
            entry.size = len(data)
            try:
                tar.addfile(entry, io.BytesIO(data))
            except ValueError:
                long.append(path)
    return gzip.compress(buffer.getvalue(), mtime=0), tuple(long)


def unpack(packed: bytes) -> dict[str, bytes]:
    """Return the files of an archive by their path below `TOP`.

    Raises:
        GatheredError: the archive is damaged, too large, or has unexpected entries.
    """
    stream = _Unpacking(packed)
    files: dict[str, bytes] = {}
    content = 0
    for path, size in _entries(stream):
        content += size
        if content > _MOST_CONTENT:
            raise GatheredError(f"it holds more than {_MOST_CONTENT} bytes")
        if len(files) >= _MOST_FILES:
            raise GatheredError(f"it holds more than {_MOST_FILES} files")
        if path in files:
            raise GatheredError(f"it holds {_shown(path)} twice")
        files[path] = stream.take(size)
        stream.take(-size % _BLOCK)
    return files


def _entries(stream: _Unpacking) -> Iterator[tuple[str, int]]:
    """Yield path and size of each file; the caller reads its blocks before the next one."""
    extended: dict[str, bytes] = {}
    extensions = 0
    while True:
        header = stream.take(_BLOCK)
        if not header.strip(b"\0"):
            stream.drain()
            return
        name, kind, size = _header(header)
        if kind in _EXTENSIONS:
            extensions += 1
            if extensions > _MOST_EXTENSIONS:
                raise GatheredError(f"it holds more than {_MOST_EXTENSIONS} extended headers of one file")
            extended |= _extension(stream, kind, size)
            continue
        extensions = 0
        if "path" in extended:
            name = _text(extended["path"])
        if "size" in extended:
            size = _size(extended["size"])
        extended = {}
        path = _path(name)
        if kind == _FOLDER and size == 0:
            continue
        if kind not in _FILE:
            raise GatheredError(f"it holds {_shown(name)}, which is no plain file")
        yield path, size


def _header(header: bytes) -> tuple[str, bytes, int]:
    """Parse name, kind and size of an entry."""
    magic = header[_MAGIC]
    if magic not in (_USTAR, _GNU):
        raise GatheredError("it is no archive of tar(1) as turbotui gather writes it")
    if _octal(header[_SUM]) != sum(header[: _SUM.start] + b" " * 8 + header[_SUM.stop :]):
        raise GatheredError("it is damaged: a checksum in it is wrong")
    name = _text(header[_NAME])
    prefix = _text(header[_PREFIX]) if magic == _USTAR else ""
    return f"{prefix}/{name}" if prefix else name, header[_KIND], _octal(header[_SIZE])


def _extension(stream: _Unpacking, kind: bytes, size: int) -> dict[str, bytes]:
    """Return what an extended header says of the next entry; a header for all entries has nothing that matters here.

    Raises:
        GatheredError: it is too long, damaged, or describes a sparse file.
    """
    if size > _LONGEST_EXTENSION:
        raise GatheredError(f"it holds an extended header of more than {_LONGEST_EXTENSION} bytes")
    data = stream.take(size)
    stream.take(-size % _BLOCK)
    if kind == _LONG_NAME:
        return {"path": data}
    tables = _records(data)
    if any(name.startswith("GNU.sparse") for name in tables):
        raise GatheredError("it holds a sparse file: pack it without --sparse")
    return {name: tables[name] for name in ("path", "size") if name in tables} if kind == _OF_NEXT else {}


def _records(data: bytes) -> dict[str, bytes]:
    """Parse the records of an extended header, "20 path=gathered/x" and a line end (POSIX.1-2001, pax)."""
    records: dict[str, bytes] = {}
    while data:
        digits, blank, rest = data.partition(b" ")
        length = _size(digits) if blank else 0
        name, equals, value = rest[: max(0, length - len(digits) - 1)].partition(b"=")
        if not equals or not value.endswith(b"\n") or length > len(data):
            raise GatheredError("it is damaged: an extended header in it is none")
        records[_text(name)] = value[:-1]
        data = data[length:]
    return records


def _size(digits: bytes) -> int:
    number = whole_number(_text(digits))
    if number is None or number > _MOST_UNPACKED:
        raise GatheredError("it is damaged: a number in it is none")
    return number


def _octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise GatheredError("it is damaged: a number in it is none")
    return int(digits, 8)


def _text(field: bytes) -> str:
    return in_cell(decoded(field.partition(b"\0")[0]))


def _path(name: str) -> str:
    """Return a name without `TOP`. Raises GatheredError if the name leads elsewhere."""
    parts = name.removesuffix("/").split("/")
    if parts[0] != TOP or any(part in ("", ".", "..") for part in parts) or len(parts) > _DEEPEST:
        raise GatheredError(f"it holds {_shown(name)}, and everything belongs below {TOP}/")
    return "/".join(parts[1:])


def _shown(name: str) -> str:
    return f'"{name if len(name) <= 80 else name[:77] + "..."}"'


class _Unpacking:
    def __init__(self, packed: bytes) -> None:
        self._inflate = zlib.decompressobj(_GZIP)
        self._packed = packed
        self._most = min(_MOST_UNPACKED, _FREE + _MOST_TIMES * len(packed))
        self._ready = memoryview(b"")
        self._total = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes. Raises GatheredError if the archive ends before."""
        parts = []
        while size:
            if not self._ready and not self._fill():
                raise GatheredError("it is damaged: it ends early")
            part = self._ready[:size]
            self._ready = self._ready[len(part) :]
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def drain(self) -> None:
        """Read to the end, where gzip has the checksum of the whole.

        Raises:
            GatheredError: the checksum is wrong, or something else follows.
        """
        if bytes(self._ready).strip(b"\0"):
            raise GatheredError("it is damaged: something follows its end")
        while self._fill():
            if bytes(self._ready).strip(b"\0"):
                raise GatheredError("it is damaged: something follows its end")
        if not self._inflate.eof:
            raise GatheredError("it is damaged: it ends early")

    def _fill(self) -> bool:
        if self._inflate.eof or not self._packed:
            return False
        try:
            unpacked = self._inflate.decompress(self._packed, _CHUNK)
        except zlib.error as error:
            raise GatheredError("it is no file of gzip(1), or a damaged one") from error
        self._packed = self._inflate.unconsumed_tail
        self._total += len(unpacked)
        if self._total > self._most:
            raise GatheredError(f"it unpacks to more than {self._most} bytes")
        self._ready = memoryview(unpacked)
        return bool(unpacked)
