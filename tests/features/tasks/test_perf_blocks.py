"""A reader that falls behind thins samples out: it loses moments, but no counts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from ringbytes import FORMAT, ended, lost, sample

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_records import NOBODY, Lost, Sample
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling

SLICES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 1000), st.sampled_from(["run"] * 20 + ["end", "lost"])),
                  max_size=400)


def booked(mode: Mode, blocks: list[bytes], *, behind: int) -> dict[int, list[int]]:
    decoder = Decoder(FORMAT, 2, shared=mode is Mode.CPUS, behind=behind)
    aggregate = SampleAggregator(TaskSampling(mode, SamplingMoment.SWITCHES, FORMAT, ()), {77: 100})
    for block in blocks:
        aggregate.feed([RingRecords(0, tuple(decoder.records(block)))])
    found: dict[int, list[int]] = {}
    for one in aggregate.entries():
        sums = found.setdefault(one.tid, [0, 0])
        found[one.tid] = [had + more for had, more in zip(sums, one.totals, strict=True)]
    return {tid: counts for tid, counts in found.items() if any(counts)}


def cut(records: list[bytes], places: set[int]) -> list[bytes]:
    edges = [0, *sorted(one for one in places if one < len(records)), len(records)]
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
    found = Decoder(FORMAT, 2, shared=True).records(block)
    assert len(found) < 400
    assert isinstance(found[-1], Sample)
    assert found[-1].reading.values == (10_000, 30_000)


def test_after_a_loss_nothing_is_put_together_with_what_came_before() -> None:
    block = sample(1, 5, 1, (1, 10)) + lost(7, 2) + sample(1, 6, 3, (9, 100)) + sample(1, 5, 4, (10, 110))
    kinds = [type(one) for one in Decoder(FORMAT, 2, shared=True, behind=0).records(block)]
    assert kinds == [Sample, Lost, Sample, Sample]
    assert booked(Mode.CPUS, [block], behind=0) == {5: [2, 20], -2: [8, 90]}
