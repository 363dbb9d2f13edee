"""The real kernel: threads and processes too short for a sample are counted to their end."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from patience import least_disturbed
from watchedtasks import Done, switches_allowed, tasks

from turbotui.errors import MachineError
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.totals_table import MISNUMBERED_PART
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.launching import HeldCommand
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.tasks.last_counts import reports_last_counts
from turbotui.machine.tasks.sets import Mode, SamplingMoment

NOBODY = 65534
CPU = min(os.sched_getaffinity(0))
reported = pytest.mark.skipif(not reports_last_counts(LinuxHost(), CPU),
                              reason="this kernel does not report the counts of threads that end")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here"),
]


def as_nobody() -> dict[str, Any]:
    """Return what makes a child another user; skip if that user cannot run this interpreter."""
    if os.geteuid() != 0:
        pytest.skip("becomes another user")
    user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        done = subprocess.run([sys.executable, "-c", "import turbotui"], check=False, capture_output=True, **user)
    except OSError:
        pytest.skip("another user cannot run this interpreter")
    if done.returncode:
        pytest.skip("another user cannot load turbotui from here")
    return user


def everything_is_in_rows(done: Done, at_least: int) -> None:
    [table] = done.tables
    assert table["damaged"] == 0
    assert len(table["tasks"]) >= at_least
    assert len({row["tid"] for row in table["tasks"]}) == len(table["tasks"])
    for name, total in table["final_read"].items():
        rows = [row[name] for row in table["tasks"]]
        assert min(rows) >= 0
        assert sum(rows) == pytest.approx(total, rel=0.01), name


TRUES = 'i=0; while [ "$i" -lt 200 ]; do /bin/true; i=$((i+1)); done'
ONE_BY_ONE = "import threading\nfor _ in range(300): t = threading.Thread(target=int); t.start(); t.join()"
TOGETHER = """
import threading
for _ in range(60):
    gate = threading.Barrier(8)
    ts = [threading.Thread(target=gate.wait) for _ in range(8)]
    [t.start() for t in ts]; [t.join() for t in ts]
"""
PROGRAMS = [pytest.param(("sh", "-c", TRUES), 201, id="processes"),
            pytest.param((sys.executable, "-S", "-c", ONE_BY_ONE), 301, id="threads one by one"),
            pytest.param((sys.executable, "-S", "-c", TOGETHER), 481, id="eight that end at once")]


@reported
@pytest.mark.parametrize(("words", "tasks_of_it"), PROGRAMS)
@least_disturbed
def test_rows_are_the_final_read(words: Sequence[str], tasks_of_it: int) -> None:
    everything_is_in_rows(tasks("--json", "-e", "page-faults", "--", *words), tasks_of_it)


@reported
@pytest.mark.parametrize(("words", "tasks_of_it"), PROGRAMS)
@least_disturbed
def test_rows_are_the_final_read_for_an_ordinary_user_too(words: Sequence[str], tasks_of_it: int) -> None:
    done = tasks("--json", "-e", "page-faults", "--", *words, **as_nobody())
    if "may not be sampled" in done.err:
        pytest.skip("kernel.perf_event_paranoid forbids it")
    everything_is_in_rows(done, tasks_of_it)


class OlderHost(LinuxHost):
    """This machine, refusing what kernels before 6.12 do: counters that are handed on and sampled with values."""

    def __init__(self, *, root: bool) -> None:
        super().__init__()
        self._root = root

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        if attr.flags & 1 << 1 and attr.sample_type & 1 << 4:  # inherit, PERF_SAMPLE_READ
            raise HostError(errno.EINVAL, "perf_event_open")
        if pid == -1 and not self._root:
            raise HostError(errno.EACCES, "perf_event_open")
        return super().perf_event_open(attr, pid, cpu, group)


SPINS = """
import os, time
for _ in range(3):
    if not os.fork():
        end = time.thread_time() + 0.05
        while time.thread_time() < end: pass
        os._exit(0)
for _ in range(3): os.wait()
for _ in range(40):
    if not os.fork(): os._exit(0)
    os.wait()
"""


def watched(host: LinuxHost, application: Application) -> tuple[Report, Mapping[str, int]]:
    watching = WatchedApplications(read_machine(host))
    held = HeldCommand(application.command)
    try:
        try:
            watched_application = watching.add(application, child=held.pid)
        except MachineError:
            held.close()
            raise
        watching.waiting.add(held.descriptor)
        held.go()
        while held.status is None:
            watching.round(watching.pause)
        watching.finish()
        read = watched_application.aggregate.read
        return (watching.report(watched_application, Grouping.THREAD, whole=True),
                {} if read is None else dict(zip(watched_application.aggregate.names, read, strict=True)))
    finally:
        watching.close()


@pytest.mark.parametrize("root", [True, False])
@least_disturbed
def test_before_linux_6_12_descendants_are_followed(root: bool) -> None:
    if root and os.geteuid() != 0:
        pytest.skip("whole CPUs need root or CAP_PERFMON")
    for _again in range(3):
        report, read = watched(OlderHost(root=root), Application("", command=(sys.executable, "-S", "-c", SPINS)))
        if not report.lost and MISNUMBERED_PART not in report.apart:
            break
    else:
        pytest.skip("the tasks of this machine switch too often to sample all of them, or are sampled by others too")
    assert report.choice is not None
    assert (report.choice.mode, report.choice.when) == (
        (Mode.CPUS, SamplingMoment.SWITCHES) if root else (Mode.INHERITED, SamplingMoment.ENDS))
    assert len(report.rows) == 44, "and nobody else"
    children = sorted(report.rows, key=lambda row: row.pid or 0)[1:]  # the command itself may well run as long
    assert sum(row.run_seconds == pytest.approx(0.05, abs=0.015) for row in children) == 3
    assert report.sums == {name: sum(row.counts[name] for row in report.rows) for name in report.names}
    if not root:
        assert sum(row.counts["run"] for row in report.rows) == pytest.approx(read["run"], rel=0.01)
        assert not report.apart
    else:
        assert report.apart["others"].counts["run"] > 0, "this test, which waits"


def test_before_linux_6_12_events_of_a_command_that_cannot_be_known_apart_are_refused() -> None:
    with pytest.raises(MachineError, match=r"before Linux 6\.12"):
        watched(OlderHost(root=False), Application("", command=("true",), events="page-faults"))
