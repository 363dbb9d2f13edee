"""The clock beside the switches: it rests where switches are many, and a thread that stays is still seen in time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from watchedtasks import switches_allowed

from turbotui.analysis.tasks.ledger import Ledger
from turbotui.machine.linux import LinuxHost
from turbotui.machine.perf_records import Sample
from turbotui.machine.tasks.following import Follower
from turbotui.machine.tasks.pace import LOOK_NS, Pace
from turbotui.machine.tasks.sets import LONGEST_NS, TICK_NS, choose


def test_the_clock_rests_while_samples_are_many_and_wakes_at_the_first_look_without() -> None:
    pace = Pace(0)
    seen = [(False, pace.close, pace.resting)]
    for number, samples in enumerate((5, 1_000, 200, 3), 1):
        changed = pace.look(number * LOOK_NS, samples)
        seen.append((changed, pace.close, pace.resting))
    # changed, whether to look again soon, resting
    assert seen == [(False, True, False), (False, False, False), (True, True, True), (False, True, True),
                    (True, False, False)]


def test_once_woken_it_stays_awake_for_a_while() -> None:
    pace = Pace(0)
    pace.look(LOOK_NS, 1_000)
    pace.look(2 * LOOK_NS, 0)
    assert not pace.look(3 * LOOK_NS, 1_000)
    assert not pace.resting
    assert pace.look(3 * LOOK_NS + 1_000_000_000, 1_000_000)
    assert pace.resting


@example([(1, 201), (2 * LOOK_NS, 0)])
@given(st.lists(st.tuples(st.integers(1, 2 * LOOK_NS), st.integers(0, 2_000)), max_size=60))
def test_it_never_rests_past_a_look_that_saw_nothing(looks: list[tuple[int, int]]) -> None:
    pace, now, quiet = Pace(0), 0, 0
    for spent, samples in looks:
        now += spent
        quiet = 0 if samples else quiet + spent
        pace.look(now, samples)
        assert not (pace.resting and quiet >= 2 * LOOK_NS)


def test_a_look_and_a_period_are_within_what_is_promised() -> None:
    assert LOOK_NS + TICK_NS <= LONGEST_NS


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
def test_a_task_that_switches_and_then_stays_is_sampled_all_along_and_every_nanosecond_is_booked() -> None:
    host = LinuxHost()
    cpus = sorted(os.sched_getaffinity(0))
    choice = choose(host, cpus[0], (), whole_cpus=False)
    follower = Follower(host, choice, cpus, pages=_PAGES)
    books = Ledger(choice, follower.roots)
    rested, runs = False, []
    with subprocess.Popen([sys.executable, "-S", "-c", BUSY, str(cpus[0])], stdin=subprocess.PIPE) as process:  # noqa: S603 - ours
        try:
            assert process.stdin is not None
            follower.add_process(process.pid)
            while process.poll() is None:
                follower.wait(follower.pause)
                taken = [one for batch in follower.take() for one in batch]
                books.feed(taken)
                runs += [one.reading.running for ring in taken for one in ring.records
                         if isinstance(one, Sample) and one.tid == process.pid]
                if follower.resting and not rested:
                    rested = True
                    process.stdin.write(b"\n")
                    process.stdin.flush()
            for batch in follower.take():
                books.feed(batch)
            books.close(follower.close_books())
        finally:
            follower.close()
            process.kill()
    assert rested
    assert not books.lost
    assert books.read is not None
    assert tuple(map(sum, zip(books.sums(), books.tail, strict=True))) == books.read
    stayed = [run for run in runs if run > max(runs) - 450_000_000]
    # only the looks of a test that itself waits for a CPU come late; without the clock there would be one sample
    assert len(stayed) >= 4
