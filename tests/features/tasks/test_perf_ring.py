from __future__ import annotations

import mmap
import struct
from tempfile import TemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ringbytes import FORMAT, WITH_LOST, comm, ended, fork, group, last_counts, lost, record, sample, trailer

from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_records import (
    Exited,
    Forked,
    LastCounts,
    Lost,
    OtherRecord,
    RecordError,
    Sample,
    Switched,
    ThreadNamed,
    Throttled,
    parse_reading,
    parse_record,
)
from turbotui.machine.perf_ring import Ring, unrolled

PAGE = mmap.PAGESIZE
WORDS = st.integers(0, 2**64 - 1)


def test_a_sample_gives_thread_cpu_time_and_all_counters() -> None:
    result = parse_record(sample(10, 11, 5_000, (1, 2, 3), cpu=7), FORMAT)
    assert isinstance(result, Sample)
    assert (result.pid, result.tid, result.time, result.cpu, result.event) == (10, 11, 5_000, 7, 77)
    assert result.reading.values == (1, 2, 3)
    assert result.reading.lost == ()


def test_a_kernel_that_counts_losses_says_them_for_each_event() -> None:
    result = parse_record(sample(10, 11, 5_000, (1, 2), lost=(8, 9)), WITH_LOST)
    assert isinstance(result, Sample)
    assert (result.reading.values, result.reading.lost) == ((1, 2), (8, 9))


def test_records_beside_samples() -> None:
    assert parse_record(fork(20, 10, 21, 11, 6), FORMAT) == Forked(20, 10, 21, 11, 6, 77)
    assert parse_record(ended(20, 21, 6), FORMAT) == Exited(20, 21, 6, 0, 77)
    assert parse_record(comm(20, 21, "näme".encode(), 6), FORMAT) == ThreadNamed(20, 21, "näme", 6, executed=True,
                                                                                 event=77)
    assert parse_record(lost(12, 6), FORMAT) == Lost(12, 6)
    assert parse_record(record(13, struct.pack("Q", 4) + trailer(0, 0, 6)), FORMAT) == Lost(4, 6)
    assert parse_record(record(14, trailer(3, 4, 6, 1), misc=3 << 13), FORMAT) == Switched(3, 4, 1, True, 6, 77)
    assert parse_record(record(14, trailer(3, 4, 6, 1)), FORMAT) == Switched(3, 4, 1, False, 6, 77)
    assert parse_record(record(5, struct.pack("QQQ", 1, 2, 3) + trailer(3, 4, 6)), FORMAT) == Throttled(True, 6)
    assert parse_record(record(99, b"\0" * 16 + trailer(3, 4, 6)), FORMAT) == OtherRecord(99, 6)


@given(st.lists(WORDS, min_size=1, max_size=20), WORDS, WORDS)
def test_any_group_is_read_back(values: list[int], enabled: int, running: int) -> None:
    data = group(tuple(values), enabled, running)
    reading, end = parse_reading(data, FORMAT)
    assert (reading.values, reading.enabled, reading.running, end) == (tuple(values), enabled, running, len(data))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_record_or_a_record_error(data: bytes) -> None:
    try:
        parse_record(data, FORMAT)
    except RecordError:
        return
    assert struct.unpack_from("IHH", data)[2] == len(data)


@given(st.integers(1, 39))
def test_a_sample_cut_short_is_an_error(missing: int) -> None:
    whole = sample(1, 1, 1, (1, 2))
    cut = whole[:-missing]
    with pytest.raises(RecordError):
        parse_record(struct.pack("IHH", 9, 0, len(cut)) + cut[8:], FORMAT)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 127), st.integers(0, 5))
def test_records_come_out_as_they_went_in_wherever_the_ring_wraps(bodies: list[int], place: int, laps: int) -> None:
    size = 1024
    records = [record(99, bytes([number]) * 8 * length) for number, length in enumerate(bodies)]
    tail = laps * size + place * 8
    ring = bytearray(64 + size)
    head = tail
    for data in records:
        for byte in data:
            ring[64 + head % size] = byte
            head += 1
    assert unrolled(bytes(ring), 64, size, tail, head) == b"".join(records)


def test_a_header_that_cannot_be_ends_the_block_and_is_counted() -> None:
    for length in (0, 7, 64):
        decoder = Decoder(FORMAT, 2)
        good = ended(20, 21, 6)
        assert len(decoder.records(good + struct.pack("IHH", 9, 0, length) + bytes(8))) == 1
        assert decoder.damaged == 1


def test_the_last_counts_of_a_thread() -> None:
    result = parse_record(last_counts(20, 21, 9, (3, 500)), FORMAT)
    assert isinstance(result, LastCounts)
    assert (result.pid, result.tid, result.time, result.event, result.reading.values) == (20, 21, 9, 77, (3, 500))


def test_last_counts_that_two_writers_mixed_up_are_damaged() -> None:
    mixed = bytearray(last_counts(20, 21, 9, (3, 500)))
    struct.pack_into("II", mixed, 8, 20, 22)
    with pytest.raises(RecordError):
        parse_record(bytes(mixed), FORMAT)


RECORDS = st.lists(st.one_of(
    st.tuples(st.integers(0, 9), st.integers(0, 99)).map(lambda pair: sample(1, pair[0], pair[1], (pair[1], 7))),
    st.tuples(st.integers(0, 9), st.integers(0, 99)).map(lambda pair: sample(1, pair[0], pair[1], (1, 2, 3))),
    st.integers(0, 99).map(lambda time: comm(1, 2, b"name", time)),
    st.integers(0, 99).map(lambda time: lost(3, time)),
    st.just(record(9, b"\0" * 16)),
), max_size=30)


@given(RECORDS, st.integers(0, 511))
def test_a_mapped_ring_gives_what_parsing_each_record_gives(records: list[bytes], place: int) -> None:
    with TemporaryFile() as file:
        file.truncate(2 * PAGE)
        file.seek(1024)
        file.write(struct.pack("QQQQ", 0, 0, PAGE, PAGE))
        file.flush()
        ring = Ring(file.fileno(), 1)
        try:
            ring._tail.value = place * 8
            kept, head = [], place * 8
            for data in records:
                if head - place * 8 + len(data) > PAGE:
                    break
                for byte in data:
                    ring._map[PAGE + head % PAGE] = byte
                    head += 1
                kept.append(data)
            struct.pack_into("Q", ring._map, 1024, head)
            expected, wrong = [], 0
            for data in kept:
                try:
                    expected.append(parse_record(data, FORMAT))
                except RecordError:
                    wrong += 1
            decoder = Decoder(FORMAT, 2)
            assert decoder.records(ring.take()) == expected
            assert decoder.damaged == wrong
            assert ring.waiting == 0
        finally:
            ring.close()
