"""Whose waits for a CPU are long, and behind whom."""

from __future__ import annotations

import pytest
from prochost import ProcHost

from turbotui.diagnosis.wait_tails import ThreadNames, tail_sentence
from turbotui.machine.tasks.run_queue import IDLE, LeaveReason, RunQueue, WaitSums
from turbotui.quantities.histograms import bucket_of

MS = 1_000_000
WEB, BATCH, BUILD = 11, 22, 33
NAMES = {WEB: "web", BATCH: "batch.slice", BUILD: "build"}


def waits(*lengths: int, behind: dict[int, int], cpus: dict[int, int]) -> WaitSums:
    result: dict[int, int] = {}
    for length in lengths:
        result[bucket_of(length)] = result.get(bucket_of(length), 0) + 1
    return WaitSums(times=len(lengths), ended=sum(lengths), lengths=result, behind=behind, cpus=cpus)


def test_the_one_that_waited_longest_in_sum_its_tail_and_who_ran_meanwhile() -> None:
    threads = {WEB: waits(*[MS] * 98, 8 * MS, 8 * MS, behind={BATCH: 71 * MS, BUILD: 19 * MS, WEB: 10 * MS},
                          cpus={4: 40 * MS, 5: 30 * MS, 6: 20 * MS, 7: 10 * MS, 0: MS}),
               BATCH: waits(2 * MS, behind={WEB: MS}, cpus={4: MS})}
    assert tail_sentence(threads, NAMES.__getitem__, wakeups=True) == (
        "p99 of web's waits for a CPU is 8.1 ms; 71 % of it behind batch.slice on CPUs 4-7")
    assert "waits after losing a CPU" in tail_sentence(threads, NAMES.__getitem__, wakeups=False)
    own = {WEB: waits(MS, behind={WEB: MS}, cpus={3: MS})}
    assert tail_sentence(own, NAMES.__getitem__, wakeups=True).endswith("100 % of it behind its own tasks on CPU 3")


def test_nobody_and_short_waits() -> None:
    assert tail_sentence({}, NAMES.__getitem__, wakeups=True) == ""
    assert tail_sentence({WEB: WaitSums(queued=9 * MS)}, NAMES.__getitem__, wakeups=True) == ""
    short = {WEB: waits(1_000, behind={}, cpus={})}
    assert tail_sentence(short, NAMES.__getitem__, wakeups=True) == "p99 of web's waits for a CPU is 0.0 ms"


def test_from_switches_to_the_sentence() -> None:
    queue = RunQueue()
    queue.switched(0, IDLE, WEB, LeaveReason.PUSHED, 2)
    for start in range(1, 101, 10):
        queue.switched(start * MS, WEB, BATCH, LeaveReason.PUSHED, 2)
        queue.switched((start + 6) * MS, BATCH, BUILD, LeaveReason.AWAY, 2)
        queue.switched((start + 8) * MS, BUILD, WEB, LeaveReason.AWAY, 2)
    assert tail_sentence(queue.take(200 * MS), NAMES.__getitem__, wakeups=False) == (
        "p99 of web's waits after losing a CPU is 8.1 ms; 75 % of it behind batch.slice on CPU 2")


@pytest.mark.parametrize(("second", "expected"), [
    ("0::/batch.slice/b.service\n", ["a.service", "b.service"]), ("0::/web.slice/a.service\n", ["nginx", "cc1"])])
def test_groups_name_threads_where_there_are_several_else_commands(second: str, expected: list[str]) -> None:
    host = ProcHost({"/proc/11/cgroup": "0::/web.slice/a.service\n", "/proc/22/cgroup": second,
                     "/proc/11/task/11/comm": "nginx\n", "/proc/22/task/22/comm": "cc1\n"})
    names = ThreadNames(host, {WEB: WaitSums(ended=5), BATCH: WaitSums(ended=3)})
    assert [names(WEB), names(BATCH)] == expected
    assert names(99) == "tasks that ended"
