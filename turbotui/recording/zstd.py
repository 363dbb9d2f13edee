"""Streams and frames of zstd (RFC 8878), by the standard library since Python 3.14, else by the system's libzstd."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
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
    import ctypes

    ERRORS: Final = (ValueError,)
    # values and names of zstd.h
    _FLUSH, _LEVEL_OF, _WINDOW_LOG_OF, _MOST_WINDOW_LOG_OF = 1, 100, 101, 100
    _PIECE = 1 << 17

    class _Input(ctypes.Structure):
        _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("position", ctypes.c_size_t))

    class _Output(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("position", ctypes.c_size_t))

    try:
        # dpkg, rpm and systemd need it; CDLL would give up Python's lock at each call, for 5 ms at times
        _library = ctypes.PyDLL("libzstd.so.1")
        for _name, _result, *_arguments in (
            ("ZSTD_isError", ctypes.c_uint, ctypes.c_size_t),
            ("ZSTD_getErrorName", ctypes.c_char_p, ctypes.c_size_t),
            ("ZSTD_createCCtx", ctypes.c_void_p),
            ("ZSTD_freeCCtx", ctypes.c_size_t, ctypes.c_void_p),
            ("ZSTD_CCtx_setParameter", ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
            ("ZSTD_compressStream2", ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(_Output), ctypes.POINTER(_Input),
             ctypes.c_int),
            ("ZSTD_compressBound", ctypes.c_size_t, ctypes.c_size_t),
            ("ZSTD_compress", ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
             ctypes.c_int),
            ("ZSTD_createDCtx", ctypes.c_void_p),
            ("ZSTD_freeDCtx", ctypes.c_size_t, ctypes.c_void_p),
            ("ZSTD_DCtx_setParameter", ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
            ("ZSTD_decompressStream", ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(_Output),
             ctypes.POINTER(_Input)),
        ):
            _function = getattr(_library, _name)
            _function.restype, _function.argtypes = _result, _arguments
    except (OSError, AttributeError) as error:  # there is none, or it is older than 1.4
        raise ImportError(str(error), name="libzstd") from error

    def _checked(code: int) -> int:
        if _library.ZSTD_isError(code):
            raise ValueError(_library.ZSTD_getErrorName(code).decode())
        return code

    def _allocated(context: int | None) -> int:
        if context is None:  # to which the library would write
            raise MemoryError("libzstd got no memory")
        return context

    class Compressor:
        """A stream of ticks of `size` bytes."""

        _context: int | None = None

        def __init__(self, size: int) -> None:
            self._context = _allocated(_library.ZSTD_createCCtx())
            for parameter, value in ((_LEVEL_OF, _STREAM_LEVEL), (_WINDOW_LOG_OF, _window_log(size))):
                _checked(_library.ZSTD_CCtx_setParameter(self._context, parameter, value))

        def __del__(self) -> None:
            _library.ZSTD_freeCCtx(self._context)

        def compress(self, parts: Sequence[bytes]) -> bytes:
            """Compress one piece, each part as a block of its own."""
            return b"".join([packed for part in parts for packed in self._packed(part)])

        def _packed(self, part: bytes) -> Iterator[bytes]:
            source, left = _Input(part, len(part), 0), 1
            buffer = ctypes.create_string_buffer(min(_PIECE, _library.ZSTD_compressBound(len(part))))
            while left:
                packed = _Output(ctypes.addressof(buffer), len(buffer), 0)
                left = _checked(_library.ZSTD_compressStream2(self._context, packed, source, _FLUSH))
                yield ctypes.string_at(buffer, packed.position)

    class Decompressor:
        """Unpacks what one `Compressor` made; raises one of `ERRORS` of anything else."""

        _context: int | None = None

        def __init__(self) -> None:
            self._context = _allocated(_library.ZSTD_createDCtx())
            self._rest = b""
            self._ended = False
            _checked(_library.ZSTD_DCtx_setParameter(self._context, _MOST_WINDOW_LOG_OF, _MOST_WINDOW_LOG))

        def __del__(self) -> None:
            _library.ZSTD_freeDCtx(self._context)

        def decompress(self, data: bytes, size: int) -> bytes:
            """Unpack one piece, to `size` bytes at most."""
            data = self._rest + data
            source, parts = _Input(data, len(data), 0), []
            while size and not self._ended:
                buffer = ctypes.create_string_buffer(min(_PIECE, size))
                unpacked = _Output(ctypes.addressof(buffer), len(buffer), 0)
                self._ended = not _checked(_library.ZSTD_decompressStream(self._context, unpacked, source))
                parts.append(ctypes.string_at(buffer, unpacked.position))
                size -= unpacked.position
                if unpacked.position < len(buffer) and source.position == len(data):
                    break
            self._rest = data[source.position:]
            return b"".join(parts)

    def pack(data: bytes) -> bytes:
        """One piece by itself."""
        buffer = ctypes.create_string_buffer(_library.ZSTD_compressBound(len(data)))
        size = _checked(_library.ZSTD_compress(ctypes.addressof(buffer), len(buffer), data, len(data), LEVEL))
        return ctypes.string_at(buffer, size)
