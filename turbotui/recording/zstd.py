"""Streams and frames of zstd (RFC 8878), by the standard library since Python 3.14, else by the package zstandard."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

LEVEL: Final = 3
_STREAM_LEVEL: Final = 1
"""The level for ticks: two fifths less CPU time than level 3, and 2 % more bytes."""
_WINDOW_TICKS: Final = 10
_WINDOW_LOGS: Final = (15, 20)
"""The least and the most window of a stream: 1 MiB holds ten ticks of 256 CPUs, and takes 1.7 MB in the compressor and
1.3 MB in each reader, which is more than the ticks of a few rows; 32 KiB take 0.36 and 0.19 MB."""
_MOST_WINDOW_LOG: Final = 23  # of what readers accept


def _window_log(size: int) -> int:
    """Return the binary logarithm of a window for ticks of so many bytes."""
    least, most = _WINDOW_LOGS
    return min(most, max(least, (_WINDOW_TICKS * size).bit_length()))


if sys.version_info >= (3, 14):
    from compression import zstd

    ERRORS: Final = (zstd.ZstdError, EOFError)
    _LIMITS = {zstd.DecompressionParameter.window_log_max: _MOST_WINDOW_LOG}

    class Compressor:
        """A stream of ticks of `size` bytes."""

        def __init__(self, size: int) -> None:
            self._stream = zstd.ZstdCompressor(options={
                zstd.CompressionParameter.compression_level: _STREAM_LEVEL,
                zstd.CompressionParameter.window_log: _window_log(size),
            })

        def compress(self, parts: Sequence[bytes]) -> bytes:
            """Compress one piece, each part as a block of its own."""
            return b"".join([self._stream.compress(part, zstd.ZstdCompressor.FLUSH_BLOCK) for part in parts])

    class Decompressor:
        """Unpacks what one `Compressor` made; raises one of `ERRORS` of anything else."""

        def __init__(self) -> None:
            self._stream = zstd.ZstdDecompressor(options=_LIMITS)

        def decompress(self, data: bytes, size: int) -> bytes:
            """Unpack one piece, to `size` bytes at most."""
            return self._stream.decompress(data, size)

    def pack(data: bytes) -> bytes:
        """One piece by itself."""
        return zstd.compress(data, LEVEL)

else:
    import io

    import zstandard

    ERRORS: Final = (zstandard.ZstdError,)

    class Compressor:
        """A stream of ticks of `size` bytes."""

        def __init__(self, size: int) -> None:
            options = zstandard.ZstdCompressionParameters.from_level(_STREAM_LEVEL, window_log=_window_log(size))
            self._stream = zstandard.ZstdCompressor(compression_params=options).compressobj()

        def compress(self, parts: Sequence[bytes]) -> bytes:
            """Compress one piece, each part as a block of its own."""
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

    class Decompressor:
        """Unpacks what one `Compressor` made; raises one of `ERRORS` of anything else."""

        def __init__(self) -> None:
            self._pieces = _Pieces()
            unpacking = zstandard.ZstdDecompressor(max_window_size=1 << _MOST_WINDOW_LOG)
            self._stream = unpacking.stream_reader(self._pieces)  # unlike decompressobj, stream_reader respects a size

        def decompress(self, data: bytes, size: int) -> bytes:
            """Unpack one piece, to `size` bytes at most."""
            self._pieces.piece = data
            return self._stream.read(size)

    def pack(data: bytes) -> bytes:
        """One piece by itself."""
        return zstandard.ZstdCompressor(level=LEVEL).compress(data)
