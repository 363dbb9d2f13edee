"""Samples that another program's sampler numbered: set right by records of switches, and never taken for a thread."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE, least_disturbed
from ringbytes import FORMAT, cpu_switch, fork, sample
from watchedtasks import busy_loops, in_namespaces, intervals

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.totals_table import IDLE_PART, MISNUMBERED_PART, OUTSIDE_PART
from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_records import GroupReading, Sample
from turbotui.machine.sample_numbers import SampleNumbers
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.machine.tasks.tracer import Closing

OWN, THEIRS = 77, 501


def booked(block: bytes, *, named: bool, behind: int = 1 << 30
           ) -> tuple[dict[int, list[int]], dict[str, tuple[int, ...]]]:
    """What each thread has, and what is in no row, after a block of the ring of a CPU."""
    decoder = Decoder(FORMAT, 2, shared=True, behind=behind, numbers=SampleNumbers({OWN: -1}), named=named)
    aggregate = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {OWN: -1})
    aggregate.feed([RingRecords(0, tuple(decoder.records(block)))])
    apart = {what: tuple(mark.totals) for what, mark in aggregate.apart().items()}
    return {totals.tid: totals.totals for totals in aggregate.entries() if totals.tid > 0}, apart


def test_what_another_program_numbers_is_in_no_row() -> None:
    block = (sample(5, 5, 10, (1, 100)) + sample(0, 0, 20, (2, 150), event=THEIRS)
             + sample(4, 4, 30, (3, 170), event=THEIRS) + sample(5, 5, 40, (4, 200)))
    assert booked(block, named=False) == ({5: [2, 130]}, {MISNUMBERED_PART: (2, 70)})


def test_the_record_of_its_switch_names_the_thread() -> None:
    """Also of a sample that has the right identifier, because the other program's has none."""
    block = (sample(0, 0, 10, (1, 100), event=THEIRS) + cpu_switch(5, 11, out=True) + cpu_switch(0, 12, out=False)
             + sample(4, 4, 20, (2, 130), event=OWN) + cpu_switch(0, 21, out=True) + cpu_switch(6, 22, out=False)
             + sample(0, 0, 30, (3, 200), event=THEIRS) + cpu_switch(6, 31, out=True))
    assert booked(block, named=True) == ({5: [1, 100], 6: [1, 70]}, {IDLE_PART: (1, 30)})
    numbers = SampleNumbers({OWN: -1})
    Decoder(FORMAT, 2, shared=True, numbers=numbers, named=True).records(block)
    assert numbers.doubted, "records of switches are asked for as long as they name others than samples do"


OFTEN = st.sampled_from([True] * 9 + [False])
SLICES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 1000), st.booleans() | st.just(False), OFTEN), min_size=1,
                  max_size=300)


@given(SLICES, st.integers(1, 40))
def test_threads_have_the_same_whoever_numbers_their_samples(
        slices: list[tuple[int, int, bool, bool]], piece: int) -> None:
    ours, theirs, run = b"", b"", 0
    for number, (tid, ran, foreign, coming) in enumerate(slices, 1):
        run += ran
        ours += sample(tid, tid, 10 * number, (number, run))
        theirs += sample(*((tid + 90, tid + 90) if foreign else (tid, tid)), 10 * number, (number, run),
                         event=THEIRS if foreign else OWN)
        theirs += cpu_switch(tid, 10 * number + 1, out=True) + cpu_switch(7, 10 * number + 2, out=False) * coming
    assert booked(theirs, named=True) == booked(ours, named=False) == booked(theirs, named=True, behind=0)
    decoder = Decoder(FORMAT, 2, shared=True, numbers=SampleNumbers({OWN: -1}), named=True)
    aggregate, at = SampleAggregator(TaskSampling(Mode.CPUS, SamplingMoment.SWITCHES, FORMAT, ()), {OWN: -1}), 0
    while at < len(theirs):  # the last sample of a piece waits for its record
        end = min(len(theirs), at + 160 + 16 * piece)
        records, used = decoder.part(theirs[at:end], more=end < len(theirs))
        assert used
        aggregate.feed([RingRecords(0, tuple(records))])
        at += used
    assert {entry.tid: entry.totals for entry in aggregate.entries() if entry.tid > 0} == booked(ours, named=False)[0]
    assert not aggregate.misnumbered


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 1000), OFTEN), min_size=1, max_size=300), st.integers(0, 1))
def test_a_ring_goes_on_with_the_records_that_it_had_when_they_ended(
        slices: list[tuple[int, int, bool]], behind: int) -> None:
    block, plain, run = b"", b"", 0
    for number, (tid, ran, coming) in enumerate(slices, 1):
        run += ran
        plain += sample(tid, tid, 10 * number, (number, run))
        block += sample(tid, tid, 10 * number, (number, run))
        block += cpu_switch(tid, 10 * number + 1, out=True) + cpu_switch(7, 10 * number + 2, out=False) * coming
    assert booked(block, named=False, behind=behind << 30) == booked(plain, named=False)
    decoder = Decoder(FORMAT, 2, shared=True, behind=behind << 30, numbers=SampleNumbers({OWN: -1}))
    assert all(isinstance(record, Sample) for record in decoder.records(block))
    assert decoder.checked == len(slices)


@pytest.mark.parametrize("event", [OWN, THEIRS])
def test_among_many_samples_the_one_of_another_is_named_and_noticed(event: int) -> None:
    """Its identifier is another's, or only its thread is."""
    block, numbers = b"", SampleNumbers({OWN: -1})
    for number in range(1, 41):
        strange = number == 17
        given = 90 if strange and event == OWN else 5
        block += sample(given, given, 10 * number, (number, number * 7), event=event if strange else OWN)
        block += cpu_switch(5, 10 * number + 1, out=True) + cpu_switch(5, 10 * number + 2, out=False)
    assert booked(block, named=True, behind=0) == ({5: [40, 280]}, {})
    Decoder(FORMAT, 2, shared=True, behind=0, numbers=numbers, named=True).records(block)
    assert numbers.doubted


def test_a_program_in_the_same_namespace_is_trusted_after_some_samples() -> None:
    numbers = SampleNumbers({OWN: -1})
    for _ in range(20):
        numbers.compare([THEIRS], [5 << 32], [5 << 32])
        numbers.compare([THEIRS + 1], [0 << 32], [5 << 32])
        numbers.compare([THEIRS + 2], [0 << 32], [0 << 32])
    assert numbers.strange({OWN, THEIRS, THEIRS + 1, THEIRS + 2}) == {THEIRS + 1, THEIRS + 2}
    assert numbers.doubted
    numbers.doubted = False
    numbers.compare([THEIRS], [6 << 32], [6 << 32])
    assert not numbers.strange({OWN, THEIRS})
    assert not numbers.doubted
    for _ in range(20):
        numbers.compare([THEIRS + 1], [8 << 32], [8 << 32])
    assert numbers.strange({THEIRS + 1}), "it has the same number in both namespaces by chance"
    numbers.doubted = False
    numbers.compare([OWN], [5 << 32], [6 << 32])
    assert numbers.doubted, "the other program's samples have no identifier"


def test_a_time_by_another_clock_is_that_of_the_sample_before() -> None:
    numbers = SampleNumbers({OWN: 5})
    decoder = Decoder(FORMAT, 2, numbers=numbers)
    numbers.now = 100
    result = decoder.records(sample(5, 5, 10, (1, 100)) + sample(5, 5, 10**9, (2, 150), event=THEIRS)
                             + sample(5, 5, 30, (3, 170), event=THEIRS))
    assert [item.time for item in result] == [10, 10, 30]
    assert numbers.foreign == 2


def test_counters_of_threads_are_their_own_whoever_numbers_the_samples() -> None:
    aggregate = SampleAggregator(TaskSampling(Mode.INHERITED, SamplingMoment.SWITCHES, FORMAT, ()), {OWN: 5, 78: 8})
    decoder = Decoder(FORMAT, 2, numbers=SampleNumbers({OWN: 5, 78: 8}))
    aggregate.feed([RingRecords(0, tuple(decoder.records(
        fork(5, 5, 6, 5, 5) + sample(5, 6, 10, (1, 50)) + sample(5, 6, 20, (2, 70), event=THEIRS)
        + sample(5, 5, 30, (1, 10), event=THEIRS) + sample(1, 1, 40, (2, 90), event=THEIRS))))])
    assert {(item.root, item.tid): item.totals for item in aggregate.entries()} == {(5, 6): [2, 70], (5, 5): [1, 10]}
    assert aggregate.misnumbered == 1, "thread 1 is nobody here"
    aggregate.close([Closing(5, 0, GroupReading(100, 80, (3, 80)))])
    assert aggregate.sums() == (3, 80)


@pytest.fixture
def burners() -> Iterator[list[int]]:
    with busy_loops() as pids:
        yield pids


@in_namespaces
@least_disturbed
def test_two_that_watch_from_two_namespaces_each_have_their_own_numbers(burners: list[int]) -> None:
    """Whichever was opened first, the kernel gives one of them the other's numbers."""
    watch = [sys.executable, "-m", "turbotui", "tasks", "--all", "-i", "0.5", "-n", "3", "--format", "json"]
    outside, inside = (subprocess.Popen([*by, *watch], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ours
                       for by in ([], ["unshare", "-p", "-f", "--kill-child", "--mount-proc"]))
    try:
        seen, hidden = outside.communicate(timeout=PATIENCE), inside.communicate(timeout=PATIENCE)
    finally:
        outside.kill()
        inside.kill()
    if inside.returncode and "unshare" in hidden[1]:
        pytest.skip(f"no namespace can be made here: {hidden[1]}")
    assert (outside.returncode, inside.returncode) == (0, 0), (seen, hidden)
    whole = intervals(seen[0])[-1]
    assert {row["pid"] for row in whole["tasks"] if row["Time_s"]} >= set(burners)
    idle = whole["not_in_rows"].get(IDLE_PART, {"Time_s": 0.0})
    assert idle["Time_s"] < 0.1 * whole["sum"]["Time_s"], "no task's time is the idle task's"
    within = intervals(hidden[0])[-1]
    assert within["not_in_rows"][OUTSIDE_PART]["Time_s"] > 0.5 * len(burners) * within["seconds"]
    assert all(row["tid"] is None or row["tid"] < 500 for row in within["tasks"])
