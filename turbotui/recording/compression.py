"""zstd compression, by the standard library since Python 3.14, else by the package zstandard.

Unpacked data is never longer than its reader allows, because lengths in a file are only claims, and never out of
proportion to what is packed, so that the time for a file is in proportion to its bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, Protocol

from turbotui.recording.framing import MOST_PAYLOAD, DamagedError

LEVEL: Final = 3
_STREAM_LEVEL: Final = 1
"""The level for ticks: two fifths less CPU time than level 3, and 2 % more bytes."""
WINDOW_LOG: Final = 20
"""The window of a stream, 1 MiB, holds ten ticks of 256 CPUs; readers refuse windows of more than 8 MiB."""
_MOST_WINDOW_LOG: Final = 23
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


if sys.version_info >= (3, 14):
    from compression import zstd

    _OPTIONS = {
        zstd.CompressionParameter.compression_level: _STREAM_LEVEL,
        zstd.CompressionParameter.window_log: WINDOW_LOG,
    }
    _LIMITS = {zstd.DecompressionParameter.window_log_max: _MOST_WINDOW_LOG}

    class _Compressor:
        def __init__(self) -> None:
            self._stream = zstd.ZstdCompressor(options=_OPTIONS)

        def compress(self, parts: Sequence[bytes]) -> bytes:
            return b"".join([self._stream.compress(part, zstd.ZstdCompressor.FLUSH_BLOCK) for part in parts])

    class _Decompressor:
        def __init__(self) -> None:
            self._stream = zstd.ZstdDecompressor(options=_LIMITS)

        def decompress(self, data: bytes, size: int) -> bytes:
            try:
                found = self._stream.decompress(data, size)
            except (zstd.ZstdError, EOFError) as error:
                raise DamagedError(f"a record cannot be unpacked: {error}") from error
            return _of_size(found, size)

    def pack(data: bytes) -> bytes:
        """One piece by itself."""
        return zstd.compress(data, LEVEL)

    def unpack(data: bytes) -> bytes:
        """Undo `pack`. Raises DamagedError if it is nothing that was packed, or longer than such a record may be."""
        try:
            found = zstd.ZstdDecompressor(options=_LIMITS).decompress(data, most_unpacked(data) + 1)
        except (zstd.ZstdError, EOFError) as error:
            raise DamagedError(f"a record cannot be unpacked: {error}") from error
        return _short_enough(found, most_unpacked(data))

else:
    import io

    import zstandard

    class _Compressor:
        def __init__(self) -> None:
            options = zstandard.ZstdCompressionParameters.from_level(_STREAM_LEVEL, window_log=WINDOW_LOG)
            self._stream = zstandard.ZstdCompressor(compression_params=options).compressobj()

        def compress(self, parts: Sequence[bytes]) -> bytes:
            stream = self._stream
            return b"".join([
                packed for part in parts
                for packed in (stream.compress(part), stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
            ])

    class _Pieces(io.BytesIO):
        """A file of the pieces that arrived; a read without any piece left ends the file for good."""

        def __init__(self) -> None:
            super().__init__()
            self.piece = b""

        def read(self, _size: int | None = -1) -> bytes:
            piece, self.piece = self.piece, b""
            return piece

    class _Decompressor:
        def __init__(self) -> None:
            self._pieces = _Pieces()
            unpacking = zstandard.ZstdDecompressor(max_window_size=1 << _MOST_WINDOW_LOG)
            self._stream = unpacking.stream_reader(self._pieces)  # unlike decompressobj, stream_reader respects a size

        def decompress(self, data: bytes, size: int) -> bytes:
            self._pieces.piece = data
            try:
                found = self._stream.read(size)
            except zstandard.ZstdError as error:
                raise DamagedError(f"a record cannot be unpacked: {error}") from error
            return _of_size(found, size)

    def pack(data: bytes) -> bytes:
        """One piece by itself."""
        return zstandard.ZstdCompressor(level=LEVEL).compress(data)

    def unpack(data: bytes) -> bytes:
        """Undo `pack`. Raises DamagedError if it is nothing that was packed, or longer than such a record may be."""
        pieces = _Pieces()
        pieces.piece = data
        unpacking = zstandard.ZstdDecompressor(max_window_size=1 << _MOST_WINDOW_LOG)
        try:
            found = unpacking.stream_reader(pieces).read(most_unpacked(data) + 1)
        except zstandard.ZstdError as error:
            raise DamagedError(f"a record cannot be unpacked: {error}") from error
        return _short_enough(found, most_unpacked(data))


def most_unpacked(data: bytes, times: int = _MOST_TIMES) -> int:
    """Return the most bytes that a packed piece may become.

    Args:
        data: the piece.
        times: bytes for each of its bytes.
    """
    return min(MOST_PAYLOAD, _FREE + times * len(data))


def stream_compressor() -> StreamCompressor:
    """Return a compressor whose first piece needs no context."""
    return _Compressor()


def stream_decompressor() -> StreamDecompressor:
    """Return a decompressor for the pieces of one compressor, from the first piece on."""
    return _Decompressor()


def _of_size(found: bytes, size: int) -> bytes:
    if len(found) != size:
        raise DamagedError(f"a record has {len(found)} bytes where it promises {size}")
    return found


def _short_enough(found: bytes, most: int) -> bytes:
    if len(found) > most:
        raise DamagedError(f"a record unpacks to more than {most:,} bytes")
    return found
