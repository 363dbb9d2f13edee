"""Start the collecting part on a machine without turbotui.

The text of this module goes there as an argument of `python3 -c`, through a login shell that may be any: it has no
exclamation mark, which csh(1) reads even in quotes, and no backslash, which fish(1) does.
"""

import datetime as dt
import importlib
import os
import sys
import typing
import zlib

READY = b"[there is no turbotui here: send its collecting part]"
MOST_BYTES = 1 << 23  # of the packed archive
MOST_UNPACKED = 1 << 25


def start() -> None:
    """Take the archive from stdin and run `turbotui` with the words of this command line, from memory.

    The archive is a file without a name, which is gone with this process (memfd_create(2)), and zipimport reads it.
    What follows the archive on stdin is left for the program.
    """
    os.write(1, READY)
    size = int.from_bytes(_taken(4), "big")
    if size > MOST_BYTES:
        sys.exit("turbotui: what came is no collecting part")
    try:
        memory = os.memfd_create("turbotui", os.MFD_CLOEXEC | 8)  # MFD_NOEXEC_SEAL: vm.memfd_noexec may demand it
    except OSError:  # before Linux 6.3
        memory = os.memfd_create("turbotui", os.MFD_CLOEXEC)
    with open(memory, "wb", closefd=False) as archive:
        archive.write(zlib.decompressobj().decompress(_taken(size), MOST_UNPACKED))
    _add_newer_names()
    sys.path.insert(0, f"/proc/self/fd/{memory}")
    sys.exit(importlib.import_module("turbotui.cli").main())


def _taken(size: int) -> bytes:
    """Exactly that many bytes of stdin."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            sys.exit("turbotui: the connection ended before the collecting part had come")
        data += piece
    return bytes(data)


def _add_newer_names() -> None:
    """Give Python 3.10 the names of 3.11 that the archive imports; those of `typing` are for checkers of types."""
    for module, name, value in (
        (dt, "UTC", dt.timezone.utc),  # noqa: UP017 - not there
        (typing, "Self", typing.Any),
        (typing, "dataclass_transform", lambda **_words: lambda function: function),
    ):
        if not hasattr(module, name):
            setattr(module, name, value)
