"""The clock event beside switches: it rests while switches are frequent, and long-running threads are still sampled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from patience import least_disturbed
from watchedtasks import switches_allowed

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.machine.linux import LinuxHost
from turbotui.machine.perf_records import Sample
from turbotui.machine.tasks.clock_throttle import POLL_NS, ClockThrottle
from turbotui.machine.tasks.sets import LONGEST_NS, TICK_NS, choose
from turbotui.machine.tasks.tracer import TaskTracer


def test_the_clock_rests_while_samples_are_many_and_wakes_at_the_first_poll_without() -> None:
    throttle = ClockThrottle(0)
    seen = [(False, throttle.close, throttle.resting)]
    for number, samples in enumerate((5, 1_000, 200, 3), 1):
        changed = throttle.update(number * POLL_NS, samples)
        seen.append((changed, throttle.close, throttle.resting))
    # changed, whether to look again soon, resting
    assert seen == [(False, True, False), (False, False, False), (True, True, True), (False, True, True),
                    (True, False, False)]


def test_once_woken_it_stays_awake_for_a_while() -> None:
    throttle = ClockThrottle(0)
    throttle.update(POLL_NS, 1_000)
    throttle.update(2 * POLL_NS, 0)
    assert not throttle.update(3 * POLL_NS, 1_000)
    assert not throttle.resting
    assert throttle.update(3 * POLL_NS + 1_000_000_000, 1_000_000)
    assert throttle.resting


@example([(1, 201), (2 * POLL_NS, 0)])
@example([(POLL_NS // 2, 51), (1, 41), (2 * POLL_NS, 0)])
@given(st.lists(st.tuples(st.integers(1, 2 * POLL_NS), st.integers(0, 2_000)), max_size=60))
def test_it_never_rests_past_a_poll_that_saw_nothing(polls: list[tuple[int, int]]) -> None:
    throttle, now, quiet = ClockThrottle(0), 0, 0
    for spent, samples in polls:
        now += spent
        quiet = 0 if samples else quiet + spent
        throttle.update(now, samples)
        assert not (throttle.resting and quiet >= 2 * POLL_NS)


def test_a_poll_and_a_period_are_within_what_is_promised() -> None:
    assert POLL_NS + TICK_NS <= LONGEST_NS


_PAGES = 4096  # 16 MiB a ring: all of the hundred thousand switches, however long this test itself waits for a CPU
BUSY = """
import os, sys, threading, time
os.sched_setaffinity(0, {int(sys.argv[1])})
(a, b), (c, d) = os.pipe(), os.pipe()
def back():
    while byte := os.read(a, 1): os.write(d, byte)
t = threading.Thread(target=back); t.start()
go = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), go.set())).start()
for _ in range(50_000):
    if go.is_set(): break
    os.write(b, b'x'); os.read(c, 1)
os.close(b); t.join()
end = time.thread_time() + 0.5
while time.thread_time() < end: pass
"""


@pytest.mark.real
@pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here")
@least_disturbed
def test_a_task_that_switches_and_then_stays_is_sampled_all_along_and_every_nanosecond_is_booked() -> None:
    host = LinuxHost()
    cpus = sorted(os.sched_getaffinity(0))
    choice = choose(host, cpus[0], (), whole_cpus=False)
    tracer = TaskTracer(host, choice, cpus, pages=_PAGES)
    aggregate = SampleAggregator(choice, tracer.roots)
    rested, runs = False, []
    with subprocess.Popen([sys.executable, "-S", "-c", BUSY, str(cpus[0])], stdin=subprocess.PIPE) as process:  # noqa: S603 - ours
        try:
            assert process.stdin is not None
            tracer.add_process(process.pid)
            while process.poll() is None:
                tracer.wait(tracer.pause)
                taken = [records for batch in tracer.take() for records in batch]
                aggregate.feed(taken)
                runs += [record.reading.running for ring in taken for record in ring.records
                         if isinstance(record, Sample) and record.tid == process.pid]
                if tracer.resting and not rested:
                    rested = True
                    process.stdin.write(b"\n")
                    process.stdin.flush()
            for batch in tracer.take():
                aggregate.feed(batch)
            aggregate.close(tracer.final_readings())
        finally:
            tracer.close()
            process.kill()
    assert rested
    assert not aggregate.lost
    assert aggregate.read is not None
    assert tuple(map(sum, zip(aggregate.sums(), aggregate.tail, strict=True))) == aggregate.read
    stayed = [run for run in runs if run > max(runs) - 450_000_000]
    # only the polls of a test that itself waits for a CPU come late; without the clock there would be one sample
    assert len(stayed) >= 4
