"""Slices by the times of switches: every ns between two records belongs to one thread, however records are cut."""

from __future__ import annotations

import struct
from collections.abc import Set as AbstractSet
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from ringbytes import record

from turbotui.machine.perf_records import NOBODY
from turbotui.machine.tasks.slices import CpuSlices, KnownTimes, RunTimes, added

WHAT = st.sampled_from(["runs"] * 20 + ["dies", "lost"])
SLICES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 10_000), WHAT), max_size=300)
START = 1_000


OUT = 1 << 13


def leaves(tid: int, following: int, time: int) -> bytes:
    return record(15, struct.pack("IIIIQ", following, following, tid, tid, time), OUT | 1)


def comes(tid: int, before: int, time: int) -> bytes:
    return record(15, struct.pack("IIIIQ", before, before, tid, tid, time), 2)


def tick(tid: int, time: int) -> bytes:
    return record(9, struct.pack("IIQ", tid, tid, time), 1)


def exit_of(tid: int, time: int) -> bytes:
    return record(4, struct.pack("IIIIQ", tid, 1, tid, 1, time) + struct.pack("IIQ", tid, tid, time))


def lost(time: int) -> bytes:
    return record(2, struct.pack("QQ", 7, 3) + struct.pack("IIQ", 0, 0, time))


def read(records: list[bytes], places: AbstractSet[int] = frozenset(),
         known: KnownTimes | None = None) -> tuple[dict[int, int], int]:
    """Return the time that each thread ran, and the time for which the thread is unknown."""
    slices = CpuSlices(START)
    edges = [0, *sorted(place for place in places if place < len(records)), len(records)]
    ran, unknown = [], 0
    for first, last in pairwise(edges):
        ran.append(slices.read(b"".join(records[first:last]), known or KnownTimes()))
        unknown += sum(end - max(START, begin) for begin, end in slices.unknown if end > START)
    assert slices.damaged == 0
    return {tid: spent for tid, spent in added(ran).items() if spent}, unknown


def written(slices: list[tuple[int, int, str]]) -> tuple[list[bytes], dict[int, int], int]:
    """The records of slices, what each thread ran in them, and how much of it went with the records that are lost."""
    threads = [100 + number if what == "dies" else tid for number, (tid, _length, what) in enumerate(slices)] + [0]
    time, records, expected, unknown = START, list[bytes](), dict[int, int](), 0
    for number, (_tid, length, what) in enumerate(slices):
        begin, time, thread = time, time + length, threads[number]
        if what == "dies":
            records.append(exit_of(thread, begin))
        if what == "lost":
            records.append(lost(begin))
            unknown += length
        elif thread:
            expected[thread] = expected.get(thread, 0) + length
        if number % 3 == 1 and what == "runs":
            records.append(tick(thread, begin + length // 2))
        text = NOBODY if what == "dies" else thread
        records += [leaves(text, threads[number + 1], time), comes(threads[number + 1], text, time + 3)]
    return records, {tid: spent for tid, spent in expected.items() if spent}, unknown


@given(SLICES, st.sets(st.integers(1, 300), max_size=5))
def test_every_slice_is_its_threads_however_blocks_are_cut(
        slices: list[tuple[int, int, str]], places: set[int]) -> None:
    records, expected, unknown = written(slices)
    assert read(records, places) == (expected, unknown)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 10_000)), min_size=1, max_size=300),
       st.sets(st.integers(1, 300), max_size=5), st.integers(0, 300_000))
def test_slices_of_a_cpu_that_never_idles_add_up_too(slices: list[tuple[int, int]], places: set[int],
                                                     known_for: int) -> None:
    threads, time, until = [*(tid for tid, _length in slices), 1], START, START + known_for
    records, expected, known = list[bytes](), dict[int, int](), KnownTimes()
    known.known(1, until)
    for number, (tid, length) in enumerate(slices):
        begin, time, following = time, time + length, threads[number + 1]
        records += [leaves(tid, following, time), comes(following, tid, time + 3)]
        expected[tid] = expected.get(tid, 0) + (max(0, time - max(begin, until)) if tid == 1 else length)
    assert read(records, places, known) == ({tid: spent for tid, spent in expected.items() if spent}, 0)


@given(SLICES, st.integers(START, START + 1_000_000), st.integers(1, 5))
def test_what_is_known_otherwise_is_left_out_to_the_nanosecond(
        slices: list[tuple[int, int, str]], until: int, tid: int) -> None:
    records, expected, _unknown = written(slices)
    cut = KnownTimes()
    cut.known(tid, until)
    time, after = START, 0
    for thread, length, what in slices:
        if thread == tid and what == "runs":
            after += max(0, time + length - max(time, until))
        time += length
    result, _ = read(records, known=cut)
    assert result.pop(tid, 0) == after
    expected.pop(tid, None)
    assert result == expected


def test_the_idle_tasks_time_is_no_threads_where_nothing_tells_that_it_left() -> None:
    slices = CpuSlices(START)
    result = slices.read(b"".join([
        leaves(5, 0, 1_500), comes(6, 0, 9_000), leaves(6, 0, 9_100), leaves(0, 5, 20_000), comes(5, 0, 20_006),
        leaves(5, 0, 21_000)]), KnownTimes())
    assert result == {5: 1_500, 6: 100}
    assert slices.guessed == {6}  # 5 was seen from the idle task's end on
    later = slices.read(b"".join([comes(6, 0, 30_000), leaves(6, 0, 30_100)]), KnownTimes())
    assert later == {6: 106}, "as long as the way out of idle that was seen"
    assert slices.guessed == {6}


def test_words_that_are_no_record_end_the_block_and_the_next_slice_is_unknown() -> None:
    slices = CpuSlices(START)
    assert slices.read(leaves(5, 6, 1_500) + b"\0" * 16, KnownTimes()) == {5: 500}
    assert slices.damaged == 1
    assert slices.read(leaves(6, 5, 1_700) + leaves(5, 6, 1_800), KnownTimes()) == {5: 100}
    assert slices.unknown == [(1_500, 1_700)]


def test_a_cut_forgets_what_no_slice_reaches_back_to() -> None:
    cut = KnownTimes()
    cut.known(1, 100)
    cut.known(2, 200)
    cut.forget(150)
    assert cut.at == {2: 200}


def test_what_is_not_covered_is_the_part_in_unknown_spans_and_all_of_a_cpu_that_is_not_watched() -> None:
    ran = RunTimes({}, {0: ((100, 200), (300, 400))}, frozenset({0}), 500)
    assert ran.uncovered(0, 150, 350) == 100
    assert ran.uncovered(0, 210, 290) == 0
    assert ran.uncovered(1, 210, 290) == 80
