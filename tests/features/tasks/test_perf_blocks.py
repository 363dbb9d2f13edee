"""A reader that falls behind thins samples out: it loses moments, but no counts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from ringbytes import FORMAT, cpu_switch, ended, group, last_counts, lost, record, sample, switch

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_merging import by_thread
from turbotui.machine.perf_records import NOBODY, Lost, Record, RecordError, Sample, Switched, parse_record
from turbotui.machine.perf_ring import unrolled
from turbotui.machine.sample_numbers import SampleNumbers
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling

SLICES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 1000), st.sampled_from(["run"] * 20 + ["end", "lost"])),
                  max_size=400)


def booked(mode: Mode, blocks: list[bytes], *, behind: int) -> dict[int, list[int]]:
    decoder = Decoder(FORMAT, 2, shared=mode is Mode.CPUS, behind=behind)
    aggregate = SampleAggregator(TaskSampling(mode, SamplingMoment.SWITCHES, FORMAT, ()), {77: 100})
    for block in blocks:
        aggregate.feed([RingRecords(0, tuple(decoder.records(block)))])
    result: dict[int, list[int]] = {}
    for totals in aggregate.entries():
        sums = result.setdefault(totals.tid, [0, 0])
        result[totals.tid] = [had + more for had, more in zip(sums, totals.totals, strict=True)]
    return {tid: counts for tid, counts in result.items() if any(counts)}


def cut(records: list[bytes], places: set[int]) -> list[bytes]:
    edges = [0, *sorted(place for place in places if place < len(records)), len(records)]
    return [b"".join(records[first:last]) for first, last in pairwise(edges)]


@given(SLICES, st.sets(st.integers(1, 400), max_size=4))
def test_counters_of_a_cpu_are_each_threads_own_whether_thinned_or_not(
        slices: list[tuple[int, int, str]], places: set[int]) -> None:
    records, switches, run = [], 0, 0
    for time, (tid, ran, what) in enumerate(slices, 1):
        switches, run = switches + 1, run + ran
        if what == "lost":
            records.append(lost(3, time))
        elif what == "end":
            records += [ended(tid, tid + 50, time), sample(tid, NOBODY, time, (switches, run))]
        else:
            records.append(sample(tid, tid, time, (switches, run)))
    blocks = cut(records, places)
    assert booked(Mode.CPUS, blocks, behind=0) == booked(Mode.CPUS, blocks, behind=1 << 30)


@given(SLICES, st.sets(st.integers(1, 400), max_size=4))
def test_a_threads_own_counters_are_whole_whether_thinned_or_not(
        slices: list[tuple[int, int, str]], places: set[int]) -> None:
    records: list[bytes] = []
    state: dict[int, list[int]] = {}
    for time, (tid, ran, _what) in enumerate(slices, 1):
        values = state.setdefault(tid, [0, 0])
        values[0] += 1
        values[1] += ran
        records.append(sample(1, tid, time, (values[0], values[1])))
    blocks = cut(records, places)
    assert booked(Mode.INHERITED, blocks, behind=0) == booked(Mode.INHERITED, blocks, behind=1 << 30) == state


def test_ten_thousand_switches_of_two_threads_become_few_samples() -> None:
    block = b"".join(sample(1, 5 + number % 2, number, (number, number * 3)) for number in range(1, 10_001))
    result = Decoder(FORMAT, 2, shared=True).records(block)
    assert len(result) < 400
    assert isinstance(result[-1], Sample)
    assert result[-1].reading.values == (10_000, 30_000)


def test_after_a_loss_nothing_is_put_together_with_what_came_before() -> None:
    block = sample(1, 5, 1, (1, 10)) + lost(7, 2) + sample(1, 6, 3, (9, 100)) + sample(1, 5, 4, (10, 110))
    kinds = [type(item) for item in Decoder(FORMAT, 2, shared=True, behind=0).records(block)]
    assert kinds == [Sample, Lost, Sample, Sample]
    assert booked(Mode.CPUS, [block], behind=0) == {5: [2, 20], -2: [8, 90]}


def reference(block: bytes) -> tuple[list[Record], int]:
    """The records of a block, parsed each by itself, and how many are damaged."""
    result, damaged, at = list[Record](), 0, 0
    while at < len(block):
        size = struct.unpack_from("H", block, at + 6)[0] if len(block) - at >= 8 else 0
        if size < 8 or size > len(block) - at:
            return result, damaged + 1
        try:
            result.append(parse_record(block[at : at + size], FORMAT))
        except RecordError:
            damaged += 1
        at += size
    return result, damaged


def spent(records: Sequence[Record]) -> dict[int, list[int]]:
    """What each thread of a CPU counted by the differences of successive samples, and under -1 the last sample."""
    result: dict[int, list[int]] = {}
    before: list[int] | None = None
    for item in records:
        if isinstance(item, Lost):
            before = None
        elif isinstance(item, Sample):
            counts = [item.reading.enabled, item.reading.running, *item.reading.values]
            if before is not None:
                sums = result.setdefault(item.tid, [0] * len(counts))
                result[item.tid] = [had + new - old for had, new, old in zip(sums, counts, before, strict=True)]
            before = counts
    return result | {-1: before or []}


WORD = st.integers(0, (1 << 64) - 1) | st.integers(0, 5)
TID = st.integers(0, 4) | st.just(NOBODY)
RECORDS = st.one_of(
    *[st.builds(lambda tid, time, values, enabled: record(9, struct.pack("QIIQII", 77, 1, tid, time, 0, 0)
                                                          + group(values, enabled=enabled)),
                TID, st.integers(0, 1 << 30), st.tuples(WORD, WORD), WORD)] * 6,
    st.builds(lost, st.integers(1, 9), st.integers(0, 1 << 30)),
    st.builds(ended, TID, TID, st.integers(0, 1 << 30)),
    st.builds(lambda tid, time: last_counts(tid, tid, time, (1, 2)), TID, st.integers(0, 1 << 30)),
    st.builds(lambda tid, time, out: switch(tid, time, out=out), TID, st.integers(0, 1 << 30), st.booleans()),
    st.builds(lambda tid, time, out: cpu_switch(tid, time, out=out), TID, st.integers(0, 1 << 30), st.booleans()))
DAMAGE = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=4)


def damaged_ring(records: Sequence[bytes], damage: Sequence[tuple[int, int]], start: int) -> bytes:
    """The bytes of records, some of them changed, as they come out of a ring in which they wrap."""
    block = bytearray(b"".join(records))
    for place, byte in damage:
        if block:
            block[place % len(block)] = byte
    size = 1 << (len(block).bit_length() + 1)
    ring = bytearray(size)
    for at, byte in enumerate(block):
        ring[(start + at) % size] = byte
    return unrolled(bytes(ring), 0, size, start, start + len(block))


@given(st.lists(RECORDS, max_size=60), DAMAGE, st.integers(0, 1 << 12))
def test_many_records_at_once_are_what_each_is_by_itself(records: list[bytes], damage: list[tuple[int, int]],
                                                         start: int) -> None:
    block = damaged_ring(records, damage, start)
    decoder = Decoder(FORMAT, 2, behind=1 << 30)
    assert (decoder.records(block), decoder.damaged) == reference(block)


@given(st.lists(RECORDS, max_size=60), DAMAGE, st.integers(0, 1 << 12))
def test_samples_of_a_cpu_that_are_merged_add_up_to_what_each_adds(records: list[bytes],
                                                                   damage: list[tuple[int, int]], start: int) -> None:
    block = damaged_ring(records, damage, start)
    decoder = Decoder(FORMAT, 2, shared=True, behind=0)
    result, (each, damaged) = decoder.records(block), reference(block)
    assert decoder.damaged == damaged
    assert spent(result) == spent(each)
    assert decoder.merged == len(each) - len(result)
    whole = [[item for item in some if not isinstance(item, Sample | Switched)] for some in (result, each)]
    assert whole[0] == whole[1]


@given(st.lists(RECORDS, max_size=60), DAMAGE, st.integers(0, 1 << 12))
def test_of_threads_own_samples_the_last_of_each_is_left(records: list[bytes], damage: list[tuple[int, int]],
                                                         start: int) -> None:
    block = damaged_ring(records, damage, start)
    decoder = Decoder(FORMAT, 2, behind=0)
    result, (each, damaged) = decoder.records(block), reference(block)
    assert decoder.damaged == damaged
    last = [{(item.event, item.tid): item for item in some if isinstance(item, Sample)} for some in (result, each)]
    assert last[0] == last[1]


def test_a_thousand_samples_are_merged_where_they_are_of_one_moment() -> None:
    for apart, most in ((1_000, 11), (1_000_000, 65)):  # ns between two switches
        plain = [sample(5 + number % 2, 5 + number % 2, number * apart, (number, number)) for number in range(1, 4_001)]
        named = [item + cpu_switch(5 + number % 2, number * apart, out=True) + cpu_switch(6, number * apart, out=False)
                 for number, item in enumerate(plain, 1)]
        for block in (plain, named):
            decoder = Decoder(FORMAT, 2, shared=True, behind=0, numbers=SampleNumbers({77: -1}))
            assert len(decoder.records(b"".join(block))) <= most


def test_slices_of_threads_that_have_given_back_their_numbers_are_not_merged() -> None:
    assert by_thread([NOBODY, 5, NOBODY, 5], [[10, 20, 30, 40]], [0]) == [(0, [10]), (2, [20]), (3, [40])]
