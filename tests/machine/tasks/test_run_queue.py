"""What threads waited for, from switches and wake-ups in the order of time."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.tasks.run_queue import IDLE, LeaveReason, RunQueue, WaitSums
from turbotui.quantities.by_key import total_of
from turbotui.quantities.histograms import bucket_of

A, B, C = 101, 102, 103


def test_a_thread_that_was_pushed_off_waits_until_it_is_back() -> None:
    queue = RunQueue()
    queue.switched(100, A, B, LeaveReason.PUSHED)
    queue.switched(350, B, A, LeaveReason.ASLEEP)
    result = queue.take(400)
    assert result[A] == WaitSums(queued=250, times=1, longest=250, pushed=1, pushers={B: 1})
    assert result[B] == WaitSums(asleep=50)


def test_from_wake_up_to_cpu_is_a_wait_that_nobody_is_to_blame_for() -> None:
    queue = RunQueue()
    queue.switched(100, A, IDLE, LeaveReason.ASLEEP)
    queue.woken(600, A)
    queue.switched(610, IDLE, A, LeaveReason.PUSHED)
    assert queue.take(700) == {A: WaitSums(queued=10, times=1, longest=10, asleep=500)}


def test_storage_sleep_and_quota_are_distinguished() -> None:
    queue = RunQueue()
    queue.switched(0, A, B, LeaveReason.STORAGE)
    queue.switched(0, C, IDLE, LeaveReason.PUSHED)
    queue.woken(70, A)
    queue.runs(80, A)
    queue.runs(90, C)
    result = queue.take(100)
    assert (result[A].storage, result[A].queued) == (70, 10)
    assert (result[C].queued, result[C].held) == (90, 90)
    assert result[C].pusher == IDLE


def test_without_wake_ups_a_sleep_is_no_wait() -> None:
    queue = RunQueue()
    queue.switched(0, A, B, LeaveReason.AWAY)
    queue.runs(500, A)
    assert queue.take(600).get(A, WaitSums()).queued == 0


def test_a_second_wake_up_begins_no_second_wait() -> None:
    queue = RunQueue()
    queue.switched(0, A, B, LeaveReason.PUSHED)
    queue.woken(40, A)
    queue.runs(100, A)
    assert queue.take(100)[A].longest == 100


def test_a_wait_that_continues_is_in_each_interval_and_its_length_grows() -> None:
    queue = RunQueue()
    queue.switched(0, A, B, LeaveReason.PUSHED)
    first, second = queue.take(100)[A], queue.take(300)[A]
    assert (first.queued, first.longest, first.times) == (100, 100, 0)
    assert (second.queued, second.longest, second.times) == (200, 300, 0)
    queue.runs(350, A)
    assert queue.take(400)[A] == WaitSums(queued=50, times=1, longest=350)


def test_after_a_loss_nothing_is_made_up() -> None:
    queue = RunQueue()
    queue.switched(0, A, B, LeaveReason.PUSHED)
    queue.lost()
    queue.runs(1_000_000, A)
    assert queue.take(1_000_000)[A].queued == 0


def test_a_thread_that_ended_waits_for_nothing() -> None:
    queue = RunQueue()
    queue.switched(0, A, B, LeaveReason.ENDED)
    assert A not in queue.take(1000)


def test_waits_of_several_threads_are_added_and_the_greatest_stays() -> None:
    first = WaitSums(queued=5, times=1, longest=5, pushers={B: 1, C: 1})
    total = total_of(WaitSums(), [first, WaitSums(queued=7, longest=7, pushers={C: 1})])
    assert (total.queued, total.times, total.longest, total.pusher) == (12, 1, 7, C)


@given(st.lists(st.tuples(st.integers(1, 50), st.sampled_from([A, B, C]), st.sampled_from([IDLE, A, B, C]),
                          st.sampled_from(list(LeaveReason)), st.booleans()), max_size=60))
def test_no_thread_waits_longer_than_time_passes(steps: list[tuple[int, int, int, LeaveReason, bool]]) -> None:
    queue, now = RunQueue(), 0
    for step, before, after, left, wakes in steps:
        now += step
        if wakes:
            queue.woken(now, before)
        else:
            queue.switched(now, before, after, left)
    for waited in queue.take(now + 10).values():
        assert 0 <= waited.queued + waited.storage + waited.asleep <= now + 10
        assert waited.held <= waited.queued
        assert waited.longest <= now + 10


MS = 1_000_000


def test_who_ran_during_a_wait_is_known_to_the_ns_and_short_waits_are_only_counted() -> None:
    """A is pushed off by B; B, C, B and the idle task run until it is back."""
    queue = RunQueue()
    queue.switched(1 * MS, IDLE, A, LeaveReason.PUSHED, 3)
    queue.switched(2 * MS, A, B, LeaveReason.PUSHED, 3)
    queue.switched(4 * MS, B, C, LeaveReason.PUSHED, 3)
    queue.switched(7 * MS, C, B, LeaveReason.ASLEEP, 3)
    queue.switched(8 * MS, B, IDLE, LeaveReason.ASLEEP, 3)
    queue.switched(9 * MS, IDLE, A, LeaveReason.PUSHED, 3)
    queue.switched(9 * MS + 5_000, A, C, LeaveReason.PUSHED, 3)
    queue.switched(9 * MS + 9_000, C, A, LeaveReason.ASLEEP, 3)
    waited = queue.take(10 * MS)
    assert waited[A].behind == {B: 3 * MS, C: 3 * MS}
    assert waited[A].lengths == {bucket_of(7 * MS): 1, bucket_of(4_000): 1}
    assert waited[B].behind == {C: 3 * MS}
    cpus = queue.take_cpus()
    assert cpus == {3: WaitSums(queued=10 * MS + 4_000, times=3, longest=7 * MS)}
    assert cpus[3].lengths == {bucket_of(7 * MS): 1, bucket_of(3 * MS): 1, bucket_of(4_000): 1}
    assert cpus[3].behind == {B: 3 * MS, C: 6 * MS}
    assert queue.take_cpus() == {}


def test_a_wait_is_counted_with_its_whole_length_in_the_interval_in_which_it_ends() -> None:
    queue = RunQueue()
    queue.switched(0, A, B, LeaveReason.PUSHED)
    assert queue.take(5 * MS)[A].lengths == {}
    queue.switched(6 * MS, B, A, LeaveReason.ASLEEP)
    assert queue.take(7 * MS)[A].lengths == {bucket_of(6 * MS): 1}


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 2 * MS), st.booleans()), max_size=80))
def test_lengths_and_what_ran_meanwhile_are_those_of_a_plain_replay(switches: list[tuple[int, int, bool]]) -> None:
    """Each wait as perf sched timehist has it: from the switch-out in state R to the switch-in, by looking back."""
    queue, now, current = RunQueue(), 0, 1
    log: list[tuple[int, int, int, bool]] = []
    for thread, step, pushed in switches:
        if thread == current:
            continue
        now += step
        log.append((now, current, thread, pushed))
        queue.switched(now, current, thread, LeaveReason.PUSHED if pushed else LeaveReason.AWAY)
        current = thread
    lengths: dict[int, dict[int, int]] = {}
    behind: dict[int, dict[int, int]] = {}
    for at, (came, before, thread, _pushed) in enumerate(log):
        left = next(((time, pushed) for time, out, _next, pushed in reversed(log[:at]) if out == thread), None)
        if left is None or not left[1]:
            continue
        bucket = bucket_of(came - left[0])
        lengths.setdefault(thread, {})[bucket] = lengths.get(thread, {}).get(bucket, 0) + 1
        if came - left[0] >= 100_000:
            for (begin, _out, runs, _p), (end, *_rest) in pairwise(log[:at + 1]):
                if begin >= left[0]:
                    theirs = behind.setdefault(thread, {})
                    theirs[runs] = theirs.get(runs, 0) + end - begin
        assert before != thread
    waited = queue.take(now)
    assert {thread: sums.lengths for thread, sums in waited.items() if sums.lengths} == lengths
    assert {thread: sums.behind for thread, sums in waited.items() if sums.behind} == behind
