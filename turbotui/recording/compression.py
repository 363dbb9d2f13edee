"""Compression by zstd, or by zlib where no zstd is: in a collector that was sent to a machine without turbotui.

The first byte of what is packed says by which. Unpacked data is never longer than its reader allows, because lengths in
a file are only claims, and never out of proportion to what is packed, so that the time for a file is in proportion to
its bytes.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from turbotui.recording.framing import MOST_PAYLOAD, DamagedError

try:
    from turbotui.recording import zstd

    _ZSTD = True
    _ERRORS: tuple[type[Exception], ...] = (zlib.error, *zstd.ERRORS)
except ImportError:  # before Python 3.14 it is a library that a machine may not have
    _ZSTD = False
    _ERRORS = (zlib.error,)

_ZLIB_MARK: Final = b"\x78"  # CMF of a window of 32 KiB (RFC 1950 2.2); a zstd frame begins with 0x28 (RFC 8878 3.1.1)
_ZLIB_LEVEL: Final = 1
_MOST_TIMES: Final = 1024
TICK_TIMES: Final = 4096
"""Bytes for each packed byte of a tick: of clocks, at least, some bits are new in each tick, and few counters share a
clock. Rows at rest can be denser, and are written as a key tick."""
"""Bytes that a packed byte may become. What recordings hold packs to a 50th at most (files of 1,024 CPUs at rest)."""
_FREE: Final = 1 << 16  # bytes that any record may unpack to


class StreamCompressor(Protocol):
    """Compresses a sequence of pieces, each in the context of the pieces before it."""

    def compress(self, parts: Sequence[bytes]) -> bytes:
        """Compress one piece, each part as a block of its own, so that it can be unpacked without those that follow."""


class StreamDecompressor(Protocol):
    """Unpacks the pieces of one `StreamCompressor`, in order."""

    def decompress(self, data: bytes, size: int) -> bytes:
        """Unpack one piece of `size` bytes.

        Raises:
            DamagedError: `data` is no such piece.
        """


class _ZlibCompressor:
    def __init__(self) -> None:
        self._stream = zlib.compressobj(_ZLIB_LEVEL)

    def compress(self, parts: Sequence[bytes]) -> bytes:
        stream = self._stream
        return b"".join([packed for part in parts
                         for packed in (stream.compress(part), stream.flush(zlib.Z_SYNC_FLUSH))])


class _ZlibDecompressor:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj()

    def decompress(self, data: bytes, size: int) -> bytes:
        stream = self._stream
        return stream.decompress(stream.unconsumed_tail + data, size) if size else b""


class _Decompressor:
    """Unpacks a stream by what its first byte says."""

    def __init__(self) -> None:
        self._stream: StreamDecompressor | None = None

    def decompress(self, data: bytes, size: int) -> bytes:
        if (stream := self._stream) is None:
            stream = self._stream = _stream_of(data)
        with _damage():
            unpacked = stream.decompress(data, size)
        if len(unpacked) != size:
            raise DamagedError(f"a record has {len(unpacked)} bytes where it promises {size}")
        return unpacked


def _stream_of(data: bytes) -> StreamDecompressor:
    if data.startswith(_ZLIB_MARK):
        return _ZlibDecompressor()
    if not _ZSTD:
        raise DamagedError("a record is packed by zstd: install libzstd (Debian: libzstd1)")
    return zstd.Decompressor()


@contextlib.contextmanager
def _damage() -> Iterator[None]:
    """Say of what cannot be unpacked that it is damaged."""
    try:
        yield
    except _ERRORS as error:
        raise DamagedError(f"a record cannot be unpacked: {error}") from error


def pack(data: bytes) -> bytes:
    """One piece by itself."""
    return zstd.pack(data) if _ZSTD else zlib.compress(data)


def unpack(data: bytes, most: int = MOST_PAYLOAD) -> bytes:
    """Undo `pack`. Raises DamagedError if it is nothing that was packed, or more than `most` or a record may be."""
    most = min(most, most_unpacked(data))
    with _damage():
        unpacked = _stream_of(data).decompress(data, most + 1)
    if len(unpacked) > most:
        raise DamagedError(f"a record unpacks to more than {most:,} bytes")
    return unpacked


def most_unpacked(data: bytes, times: int = _MOST_TIMES) -> int:
    """Return the most bytes that a packed piece may become.

    Args:
        data: the piece.
        times: bytes for each of its bytes.
    """
    return min(MOST_PAYLOAD, _FREE + times * len(data))


def stream_compressor(size: int = 0) -> StreamCompressor:
    """Return a compressor for pieces of about `size` bytes (0: small ones), the first of which needs no context."""
    return zstd.Compressor(size) if _ZSTD else _ZlibCompressor()


def stream_decompressor() -> StreamDecompressor:
    """Return a decompressor for the pieces of one compressor, from the first piece on."""
    return _Decompressor()
