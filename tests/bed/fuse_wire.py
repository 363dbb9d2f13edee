"""The kernel's FUSE protocol (uapi linux/fuse.h), as much of it as a tree of files to read needs."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

_IN: Final = struct.Struct("<IIQQIIII")  # len opcode unique nodeid uid gid pid extlen
_OUT: Final = struct.Struct("<IiQ")  # len error unique
_ATTR: Final = struct.Struct("<6Q10I")
_ENTRY: Final = struct.Struct("<4Q2I")
_READ_IN: Final = struct.Struct("<QQI")
_IOCTL_IN: Final = struct.Struct("<QIIQII")  # fuse_ioctl_in
_OPEN_OUT: Final = struct.Struct("<QIi")

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
IOCTL = 39
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, DESTROY, BATCH_FORGET = 26, 27, 28, 29, 36, 38, 42
_SILENT: Final = frozenset({FORGET, INTERRUPT, BATCH_FORGET})

_DIRECT_IO: Final = 1  # FOPEN_DIRECT_IO: each read(2) comes here with the offset and size it was made with
_MAX_PAGES: Final = 1 << 22  # FUSE_MAX_PAGES, so that a read may be longer than 128 KiB
_BUFFER: Final = 1 << 17
_ROOT: Final = 1  # FUSE_ROOT_ID
_YEAR: Final = 31_536_000  # seconds that the kernel may keep what never changes


class Answer(Exception):  # noqa: N818 - an errno for the kernel, not a fault of the server
    """An error that the kernel gets instead of a result."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.number = number


@dataclass(frozen=True, slots=True)
class Node:
    """A path as the kernel sees it; `lasting` unless it may vanish or appear while the tree is mounted."""

    folder: bool
    mode: int
    lasting: bool


class Tree(Protocol):
    """The served tree; every method raises `Answer` for an errno."""

    def node(self, path: str) -> Node: ...

    def names(self, path: str) -> tuple[str, ...]: ...

    def open(self, path: str) -> int: ...

    def read(self, handle: int, size: int, offset: int) -> bytes: ...

    def release(self, handle: int) -> None: ...

    def control(self, handle: int, command: int) -> int: ...


class FuseServer:
    """Answers the requests of one mount until it is gone. One thread calls `serve`."""

    def __init__(self, descriptor: int, tree: Tree) -> None:
        self._descriptor = descriptor
        self._tree = tree
        self._paths: list[str] = ["", ""]  # by node id; 0 is none, 1 the root
        self._numbers: dict[str, int] = {"": _ROOT}
        self.requests = 0
        self._calls: Mapping[int, Callable[[int, bytes], bytes]] = {
            INIT: self._init, LOOKUP: self._lookup, GETATTR: self._getattr, OPEN: self._open, READ: self._read,
            RELEASE: self._release, OPENDIR: lambda _node, _body: _OPEN_OUT.pack(0, 0, 0), READDIR: self._readdir,
            RELEASEDIR: lambda _node, _body: b"", STATFS: lambda _node, _body: bytes(80),
            IOCTL: self._ioctl, DESTROY: lambda _node, _body: b"",
        }

    def serve(self) -> None:
        """Answer until the last user of the mount is gone."""
        descriptor = self._descriptor
        while True:
            try:
                request = os.read(descriptor, _BUFFER)
            except OSError as error:
                if error.errno in (errno.ENODEV, errno.ECONNABORTED):  # unmounted, or aborted
                    return
                if error.errno in (errno.ENOENT, errno.EINTR):  # the request was interrupted before it was read
                    continue
                raise
            self.requests += 1
            _length, opcode, unique, node, _uid, _gid, _pid, _ext = _IN.unpack_from(request)
            if opcode in _SILENT:
                continue
            number, body = 0, b""
            call = self._calls.get(opcode)
            if call is None:
                number = errno.ENOSYS
            else:
                try:
                    body = call(node, request[_IN.size :])
                except Answer as answer:
                    number = answer.number
            try:
                os.write(descriptor, _OUT.pack(_OUT.size + len(body), -number, unique) + body)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENODEV):  # nobody waits for it any more
                    raise

    def _init(self, _node: int, body: bytes) -> bytes:
        major, _minor, readahead = struct.unpack_from("<III", body)
        return struct.pack("<IIIIHHIIHHII24x", major, 31, readahead, _MAX_PAGES, 64, 48, 4096, 1, 256, 0, 0, 0)

    def _attributes(self, number: int, node: Node) -> bytes:
        mode = (stat.S_IFDIR if node.folder else stat.S_IFREG) | node.mode
        return _ATTR.pack(number, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 2 if node.folder else 1, 0, 0, 0, 4096, 0)

    def _lookup(self, parent: int, body: bytes) -> bytes:
        path = f"{self._paths[parent]}/{os.fsdecode(body[: body.index(0)])}"
        node = self._tree.node(path)
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self._paths)
            self._paths.append(path)
        keep = _YEAR if node.lasting else 0
        return _ENTRY.pack(number, 0, keep, keep, 0, 0) + self._attributes(number, node)

    def _getattr(self, number: int, _body: bytes) -> bytes:
        node = self._tree.node(self._paths[number])
        return struct.pack("<QII", _YEAR if node.lasting else 0, 0, 0) + self._attributes(number, node)

    def _open(self, number: int, _body: bytes) -> bytes:
        return _OPEN_OUT.pack(self._tree.open(self._paths[number]), _DIRECT_IO, 0)

    def _read(self, _node: int, body: bytes) -> bytes:
        handle, offset, size = _READ_IN.unpack_from(body)
        return self._tree.read(handle, size, offset)

    def _ioctl(self, _node: int, body: bytes) -> bytes:
        handle, _flags, command, _argument, _in, out = _IOCTL_IN.unpack_from(body)
        value = self._tree.control(handle, command)
        return struct.pack("<iIII", 0, 0, 0, 0) + (value.to_bytes(out, "little") if out else b"")

    def _release(self, _node: int, body: bytes) -> bytes:
        self._tree.release(int.from_bytes(body[:8], "little"))
        return b""

    def _readdir(self, number: int, body: bytes) -> bytes:
        _handle, offset, size = _READ_IN.unpack_from(body)
        result = bytearray()
        for place, name in enumerate(self._tree.names(self._paths[number])[offset:], offset + 1):
            raw = os.fsencode(name)
            entry = struct.pack("<QQII", 1 << 40 | place, place, len(raw), 0) + raw
            entry += bytes(-len(entry) % 8)
            if len(result) + len(entry) > size:
                break
            result += entry
        return bytes(result)
