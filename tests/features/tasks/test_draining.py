"""Rings of megabytes are decoded piece by piece, in the order of time and completely."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from tempfile import TemporaryFile

from hypothesis import given
from hypothesis import strategies as st
from ringbytes import FORMAT, comm, ended, last_counts, record, sample

from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_records import Record
from turbotui.machine.perf_ring import Ring
from turbotui.machine.tasks.draining import Draining, in_order

PAGES = 256
SIZE = PAGES * mmap.PAGESIZE


@contextmanager
def ring_of(data: bytes) -> Iterator[Ring]:
    """A mapped ring that the kernel has written this into."""
    with TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE + SIZE)
        file.seek(1024)
        file.write(struct.pack("QQQQ", len(data), 0, mmap.PAGESIZE, SIZE))
        file.seek(mmap.PAGESIZE)
        file.write(data)
        file.flush()
        ring = Ring(file.fileno(), PAGES)
        try:
            yield ring
        finally:
            ring.close()


def batches_of(blocks: Sequence[bytes]) -> tuple[list[list[Record]], list[Decoder]]:
    with ExitStack() as stack:
        decoders = [Decoder(FORMAT, 2, behind=1 << 30) for _ in blocks]
        rings = [stack.enter_context(ring_of(block)) for block in blocks]
        drained = [Draining(ring, decoder, cpu)
                   for cpu, (ring, decoder) in enumerate(zip(rings, decoders, strict=True))]
        result = [[record for taken in batch for record in taken.records] for batch in in_order(drained)]
        assert all(ring.waiting == 0 for ring in rings)
    return result, decoders


@given(st.lists(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=40), max_size=4),
       st.integers(1, 60))
def test_batches_hold_every_record_once_in_the_order_of_time(rings: list[list[tuple[int, int]]], times: int) -> None:
    def made(kind: int, time: int) -> bytes:
        return (ended(5, 5, time), comm(5, 5, b"n" * 70, time), last_counts(5, 5, time, (1, 2)),
                record(2, struct.pack("QQ", 1, 2) + bytes(32)[:8] + struct.pack("QIIQ", time, 0, 0, 77)))[kind]

    blocks, times_of = [], []
    for ring in rings:
        now, block, written = 0, b"", []
        for step, kind in ring * times:
            now += step
            block += made(kind, now)
            written.append(now)
        blocks.append(block[:SIZE] if len(block) <= SIZE else b"")
        times_of.append(written if len(block) <= SIZE else [])
    result, decoders = batches_of(blocks)
    assert [decoder.damaged for decoder in decoders] == [0] * len(blocks)
    assert sorted(item.time for batch in result for item in batch) == sorted(time for item in times_of for time in item)
    for earlier, later in pairwise(result):
        assert max(item.time for item in earlier) <= min(item.time for item in later)


def test_no_batch_is_as_large_as_a_full_ring() -> None:
    item = b"".join(ended(5, 5, time) for time in range(SIZE // 64))
    result, _ = batches_of([item] * 4)
    assert sum(map(len, result)) == 4 * (SIZE // 64)
    assert max(map(len, result)) < SIZE // 64, "four full rings are never in memory together"


def test_what_cannot_be_a_record_ends_what_a_ring_has_and_is_counted() -> None:
    good = b"".join(sample(1, 5, time, (time, time)) for time in range(1, 2_001))
    result, decoders = batches_of([good + struct.pack("IHH", 9, 0, 7) + bytes(300_000)])
    assert sum(map(len, result)) >= 1  # thinned out, for a reader with more before it is behind
    assert result[-1][-1].time == 2_000
    assert decoders[0].damaged == 1
