"""The thread that watches tasks for the screen: it opens late, answers requests, and leaves nothing open."""

from __future__ import annotations

import os
import queue
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from knownmachines import known_machine
from patience import PATIENCE
from watchedtasks import switches_allowed

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.screen_rows import lane_segments
from turbotui.features.tasks.tables import Grouping
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import ManualClock

real = [
    pytest.mark.real,
    pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here"),
]
THREADS = """
import sys, threading
go, done = threading.Event(), threading.Semaphore(0)
def work():
    go.wait()
    sum(range(2000))
    done.release()
    stay.wait()
stay = threading.Event()
ts = [threading.Thread(target=work, daemon=True) for _ in range(1000)]
[t.start() for t in ts]
print('ready', flush=True)
sys.stdin.readline()
go.set()
[done.acquire() for _ in ts]
print('done', flush=True)
sys.stdin.readline()
"""


@contextmanager
def watcher(machine: Machine, *applications: Application) -> Iterator[tuple[TaskWatcher, Callable[[], TaskSnapshot]]]:
    snapshots: queue.SimpleQueue[TaskSnapshot] = queue.SimpleQueue()
    task_watcher = TaskWatcher(machine, applications, snapshots.put)
    try:
        yield task_watcher, lambda: snapshots.get(timeout=PATIENCE)
    finally:
        task_watcher.stop()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_on_a_simulated_machine_a_snapshot_answers_its_request() -> None:
    machine = known_machine(simulated_host("laptop-old"))
    with watcher(machine, Application("all", everything=True)) as (task_watcher, snapshot):
        task_watcher.start(SnapshotRequest(Grouping.COMMAND))
        first = snapshot()
        task_watcher.snapshot(SnapshotRequest(Grouping.THREAD, 10.0, 40))
        second = snapshot()
    assert {row.name for row in first.reports[0].rows} >= {"background"}
    assert second.request.by is Grouping.THREAD
    assert second.lanes
    assert all(len(lane.stretches) == 40 and any(lane.stretches) for lane in second.lanes)
    assert not task_watcher.running


def test_lanes_are_of_the_time_that_was_watched_until_the_window_has_passed() -> None:
    clock = ManualClock(7_000_000_000)
    machine = known_machine(simulated_host("laptop-old", clock))
    with watcher(machine, Application("all", everything=True)) as (task_watcher, snapshot):
        task_watcher.start(SnapshotRequest())
        snapshot()
        for _ in range(25):
            clock.advance(0.1)
            task_watcher.snapshot(SnapshotRequest(Grouping.THREAD, 10.0, 40))
            early = snapshot()
        for _ in range(100):
            clock.advance(0.1)
            task_watcher.snapshot(SnapshotRequest(Grouping.THREAD, 10.0, 40))
            late = snapshot()
    assert {lane.unwatched for lane in early.lanes} == {30}  # 2.5 s of 10 s were watched
    for lane in early.lanes:
        assert lane.busy == pytest.approx((lane.row.whole_run or 0) / 2.5e9, abs=0.02)
        assert not any(lane.stretches[:30])
    assert early.lanes[0].busy > 0.3
    assert {lane.unwatched for lane in late.lanes} == {0}
    head = early.lanes[0]
    drawn = "".join(text for text, _ in lane_segments(head, 1))
    assert f"{100 * head.busy:4.0f}  {' ' * 30}" in drawn
    assert " " not in drawn[-10:]


def test_a_recorded_machine_says_so(tmp_path: object) -> None:
    host = LinuxHost(str(tmp_path))
    machine = read_machine(LinuxHost())
    recorded = Machine(host, machine.topology, machine.model, machine.platform, machine.privileges)
    with watcher(recorded, Application("all", everything=True)) as (task_watcher, snapshot):
        task_watcher.start(SnapshotRequest())
        [report] = snapshot().reports
    assert "recorded machine" in report.error
    assert report.rows == ()


class _Real:
    pytestmark = real


class TestReal(_Real):
    def test_a_thousand_threads_of_a_running_process(self) -> None:
        machine = read_machine(LinuxHost())
        before = descriptors()
        with subprocess.Popen([sys.executable, "-S", "-c", THREADS], stdin=subprocess.PIPE,  # noqa: S603 - ours
                              stdout=subprocess.PIPE, text=True, bufsize=1) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            with watcher(machine, Application("all", everything=True)) as (task_watcher, snapshot):
                task_watcher.start(SnapshotRequest())
                snapshot()
                process.stdin.write("go\n")
                assert process.stdout.readline() == "done\n"
                seen: set[int | None] = set()
                threads = {int(name) for name in os.listdir(f"/proc/{process.pid}/task")}
                for _ in range(5000):  # rings are taken at the latest after 50 ms
                    task_watcher.snapshot(SnapshotRequest())
                    seen |= {row.tid for row in snapshot().reports[0].rows if row.pid == process.pid}
                    if threads <= seen:
                        break
                assert threads <= seen
            process.stdin.write("end\n")
        assert descriptors() == before

    def test_what_cannot_be_watched_is_reported_and_the_rest_continues(self) -> None:
        machine = read_machine(LinuxHost())
        own = Application("own", pids=(os.getpid(),))
        with watcher(machine, own, Application("gone", pids=(4_194_305,)),
                     Application("odd", everything=True, events="no-such-event")) as (task_watcher, snapshot):
            task_watcher.start(SnapshotRequest(Grouping.PROCESS))
            reports = {report.application.name: report for report in snapshot().reports}
        assert reports["own"].error == ""
        assert "no process 4194305" in reports["gone"].error
        assert "no-such-event" in reports["odd"].error

    def test_nothing_is_open_before_the_start_and_after_the_stop(self) -> None:
        machine = read_machine(LinuxHost())
        before = descriptors()
        with watcher(machine, Application("own", pids=(os.getpid(),))) as (task_watcher, snapshot):
            assert descriptors() == before
            task_watcher.start(SnapshotRequest())
            snapshot()
            assert descriptors() > before
        assert descriptors() == before

    def test_a_process_that_ends_is_said_to_have_ended(self) -> None:
        machine = read_machine(LinuxHost())
        with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            with watcher(machine, Application("one", pids=(process.pid,))) as (task_watcher, snapshot):
                task_watcher.start(SnapshotRequest())
                assert not snapshot().reports[0].ended
                ended = os.pidfd_open(process.pid)
                process.stdin.close()
                select.select([ended], [], [])
                os.close(ended)
                task_watcher.snapshot(SnapshotRequest())
                assert snapshot().reports[0].ended
