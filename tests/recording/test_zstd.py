"""Streams of zstd: pieces of any size come back, and nobody's window takes more than a reader allows."""

from __future__ import annotations

import random

import pytest

from turbotui.recording import zstd

MAGIC, NO_SIZE, LAST_RAW_BYTE = b"\x28\xb5\x2f\xfd", b"\0", b"\x09\0\0a"  # RFC 8878 3.1.1
LARGEST = 23  # binary logarithm of bytes


@pytest.mark.parametrize("seed", range(4))
def test_every_piece_of_a_stream_comes_back(seed: int) -> None:
    some = random.Random(seed)
    packing, unpacking = zstd.Compressor(4000), zstd.Decompressor()
    for _ in range(30):
        parts = [some.randbytes(some.choice((0, 1, 50, 300_000))) + bytes(some.choice((0, 500_000))) for _ in range(3)]
        whole = b"".join(parts)
        assert unpacking.decompress(packing.compress(parts), len(whole)) == whole


def test_no_more_is_unpacked_than_is_asked_for() -> None:
    packed = zstd.pack(bytes(1_000_000))
    unpacking = zstd.Decompressor()
    assert [len(unpacking.decompress(piece, 400_000)) for piece in (packed, b"", b"")] == [400_000, 400_000, 200_000]
    assert len(packed) < 1_000


@pytest.mark.parametrize("junk", [b"", b"\0", bytes(100), b"what follows", zstd.pack(b"another")])
def test_what_follows_a_frame_is_no_part_of_it(junk: bytes) -> None:
    assert zstd.Decompressor().decompress(zstd.pack(b"abc" * 1000) + junk, 5_000) == b"abc" * 1000


def test_a_window_beyond_the_largest_is_refused() -> None:
    for size, refused in ((LARGEST, False), (LARGEST + 1, True)):
        frame = MAGIC + NO_SIZE + bytes([(size - 10) << 3]) + LAST_RAW_BYTE
        if refused:
            with pytest.raises(zstd.ERRORS):
                zstd.Decompressor().decompress(frame, 10)
        else:
            assert zstd.Decompressor().decompress(frame, 10) == b"a"


@pytest.mark.parametrize("data", [MAGIC, MAGIC + b"\xff" * 20, b"no frame of zstd"])
def test_what_is_no_frame_gives_nothing_or_an_error(data: bytes) -> None:
    try:
        assert zstd.Decompressor().decompress(data, 100) == b""
    except zstd.ERRORS:
        assert data != MAGIC
