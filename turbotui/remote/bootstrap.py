"""Start the collecting part on a machine without turbotui.

The text of this module goes there as an argument of `python3 -c`, through a login shell that may be any: it has no
exclamation mark, which csh(1) reads even in quotes, and no backslash, which fish(1) does.
"""

import bisect
import builtins
import dataclasses
import datetime as dt
import importlib
import inspect
import itertools
import os
import sys
import typing
import zlib

READY = b"[there is no turbotui here: send its collecting part]"
PLACE, ROWS = bisect.bisect_right, zip  # as this Python has them
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
    """Give Python 3.9 and 3.10 what the archive uses of 3.11; the names of `typing` are for checkers of types."""
    for module, name, value in (
        (dt, "UTC", dt.timezone.utc),  # noqa: UP017 - not there
        (typing, "Self", typing.Any),
        (typing, "TypeAlias", typing.Any),
        (typing, "ParamSpec", typing.TypeVar),
        (typing, "dataclass_transform", lambda **_words: lambda function: function),
        (inspect, "get_annotations", lambda cls: vars(cls).get("__annotations__", {})),
        (itertools, "pairwise", _pairs),
    ):
        if not hasattr(module, name):
            setattr(module, name, value)
    if not hasattr(dataclasses.Field, "kw_only"):  # Python 3.9
        builtins.__dict__["zip"], bisect.__dict__["bisect_right"] = _strict_zip, _keyed_place
        dataclasses.__dict__["Field"] = type("Field", (dataclasses.Field,), {"kw_only": dataclasses.MISSING})


def _pairs(values: typing.Iterable[typing.Any]) -> typing.Any:
    """`itertools.pairwise`."""
    these, next_ones = itertools.tee(values)
    return ROWS(these, itertools.islice(next_ones, 1, None))


def _keyed_place(values: typing.Any, value: typing.Any, low: int = 0, high: typing.Any = None, *,
                 key: typing.Any = None) -> int:
    """`bisect.bisect_right` with `key`."""
    return PLACE(values if key is None else [*map(key, values)], value, low, len(values) if high is None else high)


def _strict_zip(*parts: typing.Any, strict: bool = False) -> typing.Any:
    """`zip` with `strict`."""
    if not strict:
        return ROWS(*parts)
    rows = [*itertools.zip_longest(*parts, fillvalue=_strict_zip)]
    if any(value is _strict_zip for value in itertools.chain(*rows[-1:])):
        raise ValueError("zip() argument is shorter or longer than another one")
    return iter(rows)
